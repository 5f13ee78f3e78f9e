//! Casts of values within documents: numbers that scans read as they are stored, and all else, have the values and the
//! errors that casts of texts have.
//!
//! ```text
//!   (s.doc->>'m')::int                       in parts, which the scan reads
//!   (s.doc->>'m' || '')::int                 of the text
//!   FROM s, jsonb_array_elements(s.doc->'a') AS r                 aggregated within rows
//!   FROM s, LATERAL (SELECT * FROM ... OFFSET 0) AS r             element by element
//! ```

use crate::fixture::{Fixture, open, show, sql_options};
use weft_kernel::EngineOptions;
use weft_sql::{QueryOptions, Session};

/// A generator of Knuth's.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// A value: mostly a number that every type has; of some kinds also what is cast with other results, or not at all.
    fn value(&mut self, kinds: u64) -> String {
        match self.below(10 + kinds) {
            0 => "null".into(),
            10 => format!("\"{}\"", self.below(99)),
            11 => format!("\" {} \"", self.below(99)),
            12 => format!("{}.50", self.below(99)),
            13 => "3000000000".into(),
            14 => "1.0".into(),
            15 => "123456789012345678901234567890".into(),
            16 => "true".into(),
            17 => r#""x""#.into(),
            18 => "[1]".into(),
            19 => r#"{"x": 1}"#.into(),
            20 => r#""""#.into(),
            21 => format!("1{}", "0".repeat(400)),
            _ => self.below(200).to_string(),
        }
    }

    fn document(&mut self, kinds: u64) -> String {
        let mut elements = Vec::new();
        for _ in 0..self.below(5) {
            elements.push(match self.below(8) {
                0 => "{}".into(),
                1 => self.value(kinds),
                _ => format!(r#"{{"m": {}, "n": {}, "k": "t{}"}}"#, self.value(kinds), self.below(50), self.below(3)),
            });
        }
        let array = match self.below(12) {
            0 => String::new(),
            _ => format!(r#", "a": [{}]"#, elements.join(", ")),
        };
        format!(r#"{{"m": {}, "g": "g{}"{array}}}"#, self.value(kinds), self.below(4))
    }
}

/// Documents in columns and in memory, of which some are gone. So many kinds of values are among them.
fn documents(seed: u64, kinds: u64) -> (Fixture, Session) {
    let options = EngineOptions { workers: 0, row_table_bytes: 20_000, ..EngineOptions::default() };
    // Two partitions, whatever machine this is.
    let fixture = open(options, sql_options(QueryOptions { parallelism: 2, ..QueryOptions::default() }));
    let mut session = fixture.db.session();
    session.set("engine", "query").unwrap();
    let mut random = Random(seed);
    session.execute("CREATE TABLE s (id int PRIMARY KEY, doc jsonb, k int)").unwrap();
    for stretch in 0..3 {
        let row = |id| format!("({}, '{}', {})", stretch * 200 + id, random.document(kinds), random.below(5));
        let values: Vec<String> = (0..200).map(row).collect();
        session.execute(&format!("INSERT INTO s VALUES {}", values.join(", "))).unwrap();
        if stretch < 2 {
            fixture.db.kernel().run_jobs().unwrap();
        }
    }
    session.execute("DELETE FROM s WHERE id % 17 = 3; UPDATE s SET k = 9 WHERE id % 23 = 4").unwrap();
    (fixture, session)
}

/// What a query gives: its rows, or its error.
fn outcome(session: &mut Session, sql: &str) -> Result<String, String> {
    match session.execute(sql) {
        Ok(mut outcomes) => Ok(show(&outcomes.pop().unwrap())),
        Err(error) => Err(format!("{}: {}", error.code().sqlstate(), error.message())),
    }
}

/// In which `CAST(value, type)` stands for a cast, and `ELEMENTS(f)` for the elements of `f`, as `r`.
const QUERIES: &[&str] = &[
    "SELECT sum(CAST(s.doc->>'m', int)), count(CAST(s.doc->>'m', bigint)) FROM s",
    "SELECT id, CAST(doc->>'m', float8), CAST(doc->>'m', smallint) FROM s ORDER BY 1",
    "SELECT id FROM s WHERE CAST(doc->>'m', int) > 100 AND k < 4 ORDER BY 1",
    "SELECT id FROM s WHERE CAST(doc #>> '{m}', float8) BETWEEN 10 AND 60 ORDER BY 1",
    "SELECT doc->>'g', max(CAST(doc->>'m', bigint)) FROM s GROUP BY 1 ORDER BY 1",
    "SELECT id, CASE WHEN jsonb_typeof(doc->'m') = 'number' THEN CAST(doc->>'m', float8) END FROM s ORDER BY 1",
    "SELECT count(*) FROM s AS o JOIN s ON o.id = CAST(s.doc->>'m', int)",
    "SELECT count(*) FROM s AS a JOIN s AS b ON CAST(a.doc->>'m', int) = b.id",
    "SELECT count(*), count(b.id) FROM s AS a LEFT JOIN s AS b
     ON CAST(a.doc->>'m', bigint) = CAST(b.doc->>'m', bigint)",
    "WITH w AS (SELECT * FROM s) SELECT count(*) FROM w, s AS b WHERE CAST(w.doc->>'m', smallint) = b.id AND b.k < 3",
    "SELECT CAST(d->>'m', int) FROM (SELECT doc AS d, id FROM s ORDER BY id LIMIT 9) q ORDER BY 1",
    "SELECT sum(CAST(r->>'m', float8)), count(*), min(CAST(r->>'n', int)) FROM s, ELEMENTS(s.doc->'a')",
    "SELECT s.doc->>'g', count(*), max(CAST(r->>'m', int)), avg(CAST(r->>'n', float8)) FROM s, ELEMENTS(s.doc->'a')
     GROUP BY 1 ORDER BY 1",
    "SELECT s.k, count(*), count(r->>'k') FILTER (WHERE CAST(r->>'n', int) > 20), count(DISTINCT r->>'k')
     FROM s, ELEMENTS(s.doc->'a') GROUP BY s.k ORDER BY 1",
    "SELECT s.k + 1, max(CAST(r->>'n', float8) * 2 + s.k) FROM s, ELEMENTS(s.doc->'a')
     WHERE CAST(r->>'n', int) > s.k AND s.doc->>'g' < 'g3' GROUP BY s.k + 1 ORDER BY 1",
    "SELECT s.doc->>'g', sum(CAST(r->>'m', bigint)) FROM s, ELEMENTS(s.doc->'a')
     WHERE jsonb_typeof(r->'m') = 'number' AND r->>'m' ~ '^[0-9]{1,9}$' GROUP BY 1 ORDER BY 1",
    "SELECT r->>'k', sum(CAST(r->>'n', int)) FROM s, ELEMENTS(s.doc->'a') WHERE s.id > 100 AND s.k < 4
     GROUP BY 1 ORDER BY 1",
    "SELECT s.k, count(*) FROM s, ELEMENTS(s.doc->'a') WHERE CAST(s.doc->>'m', bigint) > 50 GROUP BY s.k ORDER BY 1",
    "SELECT s.k, count(*) FROM s, ELEMENTS(s.doc->'a') GROUP BY s.k HAVING max(CAST(r->>'n', int)) > 40 ORDER BY 1",
    "SELECT s.id, sum(CAST(r->>'m', float8)) FROM s, ELEMENTS(s.doc->'a') GROUP BY s.id ORDER BY 2 DESC, 1 LIMIT 7",
    "SELECT bool_or(CAST(r->>'n', int) > 48), string_agg(r->>'k', ',' ORDER BY s.id, CAST(r->>'n', int))
     FROM s, ELEMENTS(s.doc->'a') WHERE s.id < 40 AND r->>'k' IS NOT NULL",
    "SELECT s.doc->>'g', stddev(CAST(r->>'n', int)), sum(CAST(r->>'n', int)::numeric)
     FROM s, ELEMENTS(s.doc->'a') GROUP BY GROUPING SETS ((1), ()) ORDER BY 1",
];

/// A query as it is written, and so that nothing is read in parts.
fn written(query: &str, is_plain: bool) -> String {
    let mut sql = String::new();
    let mut rest = query;
    while let Some((before, after)) = rest.split_once("CAST(") {
        let (value, after) = after.split_once(", ").unwrap();
        let (to, after) = after.split_once(')').unwrap();
        let value = if is_plain { format!("({value} || '')") } else { format!("({value})") };
        sql = format!("{sql}{before}{value}::{to}");
        rest = after;
    }
    sql.push_str(rest);
    let Some((before, after)) = sql.split_once("ELEMENTS") else { return sql };
    let (given, after) = after.split_at(after.find(')').unwrap() + 1);
    let call = format!("jsonb_array_elements{given}");
    match is_plain {
        true => format!("{before}LATERAL (SELECT * FROM {call} OFFSET 0) AS e (r){after}"),
        false => format!("{before}{call} AS e (r){after}"),
    }
}

#[test]
fn casts_in_parts_are_those_of_texts() {
    let (mut given, mut refused) = (0, 0);
    for kinds in [0, 1, 2, 4, 5, 6, 12] {
        let (_fixture, mut session) = documents(kinds + 3, kinds);
        for query in QUERIES {
            let expected = outcome(&mut session, &written(query, true));
            let sql = written(query, false);
            // The second time the plan is kept.
            for _ in 0..2 {
                let found = outcome(&mut session, &sql);
                match (&found, &expected) {
                    (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{kinds} kinds: {sql}"),
                    // Of several values that are wrong another one may be met first.
                    (Err(found), Err(expected)) => assert_eq!(found[..6], expected[..6], "{kinds} kinds: {sql}"),
                    _ => panic!("{kinds} kinds: {sql}: {found:?} instead of {expected:?}"),
                }
            }
            *if expected.is_ok() { &mut given } else { &mut refused } += 1;
        }
    }
    assert!(given > 60 && refused > 20, "{given} answers and {refused} errors");
}

#[test]
fn one_wrong_value_is_named() {
    let (fixture, mut session) = documents(5, 0);
    let wrong = [
        ("\"x\"", "float8", r#"invalid input syntax for type double precision: "x""#),
        ("\"x\"", "int", r#"invalid input syntax for type integer: "x""#),
        ("1.5", "bigint", r#"invalid input syntax for type bigint: "1.5""#),
        ("3000000000", "int", r#"value "3000000000" is out of range for type integer"#),
        ("40000", "smallint", r#"value "40000" is out of range for type smallint"#),
    ];
    for (number, (value, to, message)) in wrong.into_iter().enumerate() {
        session
            .execute(&format!(r#"INSERT INTO s VALUES (9000, '{{"m": {value}, "a": [{{"m": {value}}}]}}', 1)"#))
            .unwrap();
        if number % 2 == 0 {
            fixture.db.kernel().checkpoint().unwrap();
            fixture.db.kernel().run_jobs().unwrap();
        }
        for sql in [
            format!("SELECT sum((doc->>'m')::{to}) FROM s WHERE id = 9000"),
            format!(
                "SELECT k, sum((r->>'m')::{to}) FROM s, jsonb_array_elements(doc->'a') r WHERE id > 600 GROUP BY k"
            ),
            format!("SELECT sum((r->>'m')::{to}) FROM s, jsonb_array_elements(doc->'a') r WHERE doc->>'g' IS NULL"),
        ] {
            let error = session.execute(&sql).unwrap_err();
            assert_eq!(error.message(), message, "{sql}");
        }
        session.execute("DELETE FROM s WHERE id = 9000").unwrap();
    }
}

#[test]
fn plans_show_the_parts_that_scans_read() {
    let (_fixture, mut session) = documents(5, 0);
    let mut plan = |sql: &str| show(&session.execute(&format!("EXPLAIN {sql}")).unwrap().pop().unwrap());
    let shown = plan("SELECT sum((doc->>'m')::bigint) FROM s");
    assert!(shown.contains("columns=[], fields=[doc->>'m', doc->>'m' unless bigint]"), "{shown}");
    let shown = plan("SELECT doc->>'g', max((r->>'m')::float8) FROM s, jsonb_array_elements(doc->'a') r GROUP BY 1");
    assert!(shown.contains("ElementAggregateExec: gby=["), "{shown}");
    assert!(!shown.contains("UnnestExec") && shown.contains("columns=[], fields=[doc->>'g'"), "{shown}");
    let filtered = "SELECT k, count((r->>'m')::float8) FROM s, jsonb_array_elements(doc->'a') r
        WHERE doc->>'g' = 'g1' AND (r->>'n')::int > 5 GROUP BY k";
    let shown = plan(filtered);
    assert!(shown.contains("ElementAggregateExec") && shown.contains("only_arrays"), "{shown}");
    assert!(shown.contains("columns=[k], fields=["), "{shown}");
    // An order of elements is not one of states.
    let shown = plan("SELECT array_agg(r->>'m' ORDER BY r->>'n') FROM s, jsonb_array_elements(doc->'a') r");
    assert!(shown.contains("UnnestExec") && !shown.contains("ElementAggregateExec"), "{shown}");
}

/// What stands below may be partitioned by the groups already.
#[test]
fn elements_of_what_is_grouped_are_aggregated() {
    let (_fixture, mut session) = documents(5, 0);
    for (sql, plain) in [
        (
            "SELECT k, sum(x) FROM (SELECT k, unnest(ids) AS x
               FROM (SELECT k, array_agg(id) AS ids FROM s GROUP BY k) q) w GROUP BY k ORDER BY 1",
            "SELECT k, sum(id) FROM s GROUP BY k ORDER BY 1",
        ),
        (
            "SELECT k, count(*) FROM (SELECT k, unnest(array[1, 2]) AS x FROM (SELECT DISTINCT k FROM s) q) w
             GROUP BY k ORDER BY 1",
            "SELECT k, count(DISTINCT k) * 2 FROM s GROUP BY k ORDER BY 1",
        ),
    ] {
        assert_eq!(outcome(&mut session, sql), outcome(&mut session, plain), "{sql}");
    }
    // So that this is what is tested: rows are partitioned by their group where they are grouped first.
    let grouped = "EXPLAIN SELECT k, sum(x) FROM (SELECT k, count(*) AS x FROM s GROUP BY k) q GROUP BY k";
    let shown = show(&session.execute(grouped).unwrap().pop().unwrap());
    assert!(shown.contains("Partitioned"), "{shown}");
}
