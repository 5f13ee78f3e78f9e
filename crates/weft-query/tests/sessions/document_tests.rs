//! Elements of arrays in documents: what scans read of them is what functions make of whole documents.
//!
//! ```text
//!   FROM s, jsonb_array_elements(s.doc->'a') AS r                                    the fields of elements
//!   FROM s, LATERAL (SELECT * FROM jsonb_array_elements(s.doc->'a') OFFSET 0) AS r   whole documents, row by row
//! ```

use crate::fixture::{Fixture, code, fixture, fixture_with, rows, show};
use weft_format::{Code, Value};
use weft_kernel::EngineOptions;
use weft_sql::Session;

/// A generator of Knuth's.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }

    fn scalar(&mut self) -> String {
        match self.below(6) {
            0 => "null".into(),
            1 => "true".into(),
            2 => format!("\"t{}\"", self.below(9)),
            3 => format!("{}.{}0", self.below(50), self.below(10)),
            _ => self.below(1_000).to_string(),
        }
    }

    /// An element: its `x` is a number where it is there, so that it can be cast.
    fn element(&mut self) -> String {
        match self.below(9) {
            0 => self.scalar(),
            1 => format!("[{}, {}]", self.scalar(), self.scalar()),
            2 => "{}".into(),
            3 => format!(r#"{{"x": null, "o": {{"y": {}}}}}"#, self.scalar()),
            4 => format!(r#"{{"x": {}, "o": {}}}"#, self.below(100), self.scalar()),
            _ => format!(r#"{{"x": {}.5, "s": {}, "o": {{"y": {}}}}}"#, self.below(100), self.scalar(), self.scalar()),
        }
    }

    /// A document: its `a` is an array where it is there.
    fn document(&mut self) -> String {
        let count = self.below(5);
        let elements: Vec<String> = (0..count).map(|_| self.element()).collect();
        match self.below(12) {
            0 => "{}".into(),
            1 => r#"{"a": []}"#.into(),
            2 => format!(r#"{{"n": {}}}"#, self.scalar()),
            3 => self.one_of(&["[]", "7", r#""text""#, "null"]).into(),
            _ => format!(r#"{{"n": {}, "a": [{}]}}"#, self.below(9), elements.join(", ")),
        }
    }
}

/// A table of random documents: some in columns, some in memory, some gone.
fn documents(seed: u64) -> (Fixture, Session) {
    let fixture = fixture_with(EngineOptions { workers: 0, row_table_bytes: 20_000, ..EngineOptions::default() });
    let mut session = fixture.db.session();
    session.set("engine", "query").unwrap();
    let mut random = Random(seed);
    session.execute("CREATE TABLE s (id int PRIMARY KEY, doc jsonb, k int)").unwrap();
    for stretch in 0..4 {
        let mut values: Vec<String> = Vec::new();
        for id in 0..300 {
            let document = if random.below(30) == 0 { "NULL".into() } else { format!("'{}'", random.document()) };
            values.push(format!("({}, {document}, {})", stretch * 300 + id, random.below(5)));
        }
        session.execute(&format!("INSERT INTO s VALUES {}", values.join(", "))).unwrap();
        if stretch < 3 {
            fixture.db.kernel().run_jobs().unwrap();
        }
    }
    session.execute("DELETE FROM s WHERE id % 17 = 3; UPDATE s SET k = 9 WHERE id % 23 = 4").unwrap();
    (fixture, session)
}

/// The plan, a line for each operator.
fn plan(session: &mut Session, sql: &str) -> String {
    show(&session.execute(&format!("EXPLAIN {sql}")).unwrap().pop().unwrap())
}

/// In which `ELEMENTS(f)` stands for the elements of `f`, as `r`.
const QUERIES: &[&str] = &[
    "SELECT max((r->>'x')::numeric), count(*), count(r->>'x'), count(r->'o'->>'y') FROM s, ELEMENTS(s.doc->'a')",
    "SELECT s.id, r->>'x', r->'o'->>'y', r->'o', r->0, r #>> '{o,y}' FROM s CROSS JOIN LATERAL ELEMENTS(s.doc->'a')
     ORDER BY 1, 2, 3, 4, 5",
    "SELECT s.k, sum((r->>'x')::float8), min(r->>'s') FROM s, LATERAL ELEMENTS(s.doc->'a') GROUP BY s.k ORDER BY 1",
    "SELECT s.id, s.doc->>'n', r FROM s, ELEMENTS(s.doc->'a') WHERE (r->>'x')::numeric > 40 AND s.k < 4 ORDER BY 1, 3",
    "SELECT s.id, r, r->>'x', s.doc FROM s, ELEMENTS(s.doc->'a') WHERE s.id BETWEEN 400 AND 700 ORDER BY 1, 2, 3",
    "SELECT count(*) FROM s, ELEMENTS(s.doc->'a') WHERE s.doc->>'n' = '7' AND r->>'x' IS NOT NULL",
    "SELECT count(*) FROM s, ELEMENTS(s.doc->'a'), s AS o WHERE o.id = (r->>'x')::float8::int AND o.k > 1",
    "SELECT count(*) FROM s AS o JOIN s ON o.id = s.id + 1, ELEMENTS(s.doc->'a') WHERE o.k = (r->>'x')::numeric",
    "SELECT count(*) FROM s, ELEMENTS(s.doc->'a')",
    "SELECT count(*) FROM s, ELEMENTS(s.doc->'nothing') WHERE r->>'x' = '1'",
    "SELECT x, count(*) FROM (SELECT r->>'x' AS x, r->>'s' AS y FROM s, ELEMENTS(s.doc->'a')) q GROUP BY x ORDER BY 1",
    "SELECT s.id, r->>'x' FROM s LEFT JOIN LATERAL ELEMENTS(s.doc->'a') ON true ORDER BY 1, 2",
    "SELECT count(*) FROM s, ELEMENTS(s.doc->'a') WHERE s.k = (SELECT min(k) FROM s) AND r->>'x' < '5'",
];

fn written(query: &str, function: &str, is_fenced: bool) -> String {
    let (before, after) = query.split_once("ELEMENTS").unwrap();
    let end = after.find(')').unwrap() + 1;
    let (given, after) = after.split_at(end);
    let call = format!("{function}{given}");
    if !is_fenced {
        return format!("{before}{call} AS e (r){after}");
    }
    let before = before.trim_end().trim_end_matches("LATERAL");
    format!("{before} LATERAL (SELECT * FROM {call} OFFSET 0) AS e (r){after}")
}

#[test]
fn elements_that_scans_read_are_those_of_whole_documents() {
    for seed in 1..3 {
        let (_fixture, mut session) = documents(seed);
        for query in QUERIES {
            let sql = written(query, "jsonb_array_elements", false);
            let whole = written(query, "jsonb_array_elements", true);
            let expected = rows(&mut session, &whole);
            assert!(!expected.is_empty(), "{whole}");
            assert_eq!(rows(&mut session, &sql), expected, "seed {seed}: {sql}");
            // The plan is kept.
            assert_eq!(rows(&mut session, &sql), expected, "seed {seed}, again: {sql}");
        }
        let query = "SELECT s.k, max(r), count(*), count(r) FROM s, ELEMENTS(s.doc->'a') GROUP BY s.k ORDER BY 1";
        let [sql, whole] = [false, true].map(|is_fenced| written(query, "jsonb_array_elements_text", is_fenced));
        assert_eq!(rows(&mut session, &sql), rows(&mut session, &whole), "seed {seed}");
    }
}

#[test]
fn plans_show_the_elements_that_scans_read() {
    let (_fixture, mut session) = documents(7);
    let shown = plan(&mut session, &written(QUERIES[0], "jsonb_array_elements", false));
    let fields = "columns=[], fields=[doc->'a'[*]->>'x', doc->'a'[*]->'o'->>'y']";
    assert!(shown.contains(fields) && !shown.contains("Lateral"), "{shown}");
    let shown = plan(&mut session, &written(QUERIES[2], "jsonb_array_elements", false));
    assert!(
        shown.contains(
            "columns=[k], fields=[doc->'a'[*]->>'x', doc->'a'[*]->>'x' unless double precision, doc->'a'[*]->>'s']"
        ),
        "{shown}"
    );
    let texts = plan(&mut session, "SELECT min(r) FROM s, jsonb_array_elements_text(s.doc->'a') AS r");
    assert!(texts.contains("columns=[], fields=[doc->'a'[*]]"), "{texts}");
    let whole = plan(&mut session, &written(QUERIES[0], "jsonb_array_elements", true));
    assert!(whole.contains("LateralExec") && !whole.contains("[*]"), "{whole}");
}

#[test]
fn what_is_no_array_raises_an_error_unless_it_was_left_out() {
    let (fixture, mut session) = documents(11);
    session.execute(r#"INSERT INTO s VALUES (9001, '{"a": {"x": 1}, "n": 90}', 7)"#).unwrap();
    let max = |condition: &str| format!("SELECT max(r->>'x') FROM s, jsonb_array_elements(s.doc->'a') r {condition}");
    for _ in 0..2 {
        let error = session.execute(&max("")).unwrap_err();
        assert_eq!(error.message(), "cannot extract elements from an object");
        assert_eq!(error.code(), Code::InvalidParameterValue);
        for left_out in ["WHERE s.k <> 7", "WHERE s.doc->>'n' <> '90'", "WHERE s.id < 9000 AND s.k + 0 < 8"] {
            let sql = max(left_out);
            let fenced = "LATERAL (SELECT * FROM jsonb_array_elements(s.doc->'a') OFFSET 0) AS e (r)";
            let whole = sql.replace("jsonb_array_elements(s.doc->'a') r", fenced);
            assert_eq!(rows(&mut session, &sql), rows(&mut session, &whole), "{left_out}");
        }
        assert_eq!(code(&mut session, &max("WHERE s.k = 7")), Code::InvalidParameterValue);
        assert_eq!(code(&mut session, &max("WHERE s.doc->>'n' = '90'")), Code::InvalidParameterValue);
        // In columns it is as in memory.
        fixture.db.kernel().checkpoint().unwrap();
        fixture.db.kernel().run_jobs().unwrap();
    }
    session.execute(r#"UPDATE s SET doc = '{"a": null}' WHERE id = 9001"#).unwrap();
    let error = session.execute(&max("")).unwrap_err();
    assert_eq!(error.message(), "cannot extract elements from a scalar");
    session.execute("DELETE FROM s WHERE id = 9001").unwrap();
    session.execute(&max("")).unwrap();
}

/// A table in key order, of which each file has a stretch of numbers.
fn ordered() -> (Fixture, Session) {
    let fixture = fixture_with(EngineOptions { workers: 0, row_table_bytes: 20_000, ..EngineOptions::default() });
    let mut session = fixture.db.session();
    session.set("engine", "query").unwrap();
    session.execute("CREATE TABLE o (id int PRIMARY KEY, doc jsonb)").unwrap();
    for stretch in 0..5 {
        session
            .execute(&format!(
                r#"INSERT INTO o SELECT g, jsonb_build_object('n', g, 's', 's' || (100000 + g), 'b', g < 900,
                     'o', jsonb_build_object('f', g * 0.25))
                     FROM generate_series({0} * 300, {0} * 300 + 299) AS s (g)"#,
                stretch
            ))
            .unwrap();
        fixture.db.kernel().checkpoint().unwrap();
        fixture.db.kernel().run_jobs().unwrap();
    }
    (fixture, session)
}

/// How many blocks an execution skipped.
fn skipped(session: &mut Session, sql: &str) -> u64 {
    let shown = show(&session.execute(&format!("EXPLAIN ANALYZE {sql}")).unwrap().pop().unwrap());
    let (_, after) = shown.split_once("blocks_pruned=").unwrap_or_else(|| panic!("{shown}"));
    after.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

#[test]
fn blocks_are_skipped_by_conditions_on_documents() {
    let (_fixture, mut session) = ordered();
    // The condition, how many rows satisfy it, and whether blocks are skipped.
    for (condition, count, skips) in [
        ("(doc->>'n')::int < 100", 100, true),
        ("1400 <= (doc->>'n')::bigint", 100, true),
        ("(doc->>'n')::int = 700 AND doc->>'s' <> 'x'", 1, true),
        ("doc->>'s' = 's100700'", 1, true),
        ("doc->>'s' > 's101490'", 9, true),
        ("doc->>'nothing' IS NOT NULL", 0, true),
        ("doc->'n' IS NULL", 0, true),
        ("doc->>'n' IS NOT NULL", 1500, false),
        (r#"doc @> '{"n": 5}'"#, 1, true),
        (r#"doc @> '{"o": {"f": 1.25}}'"#, 1, true),
        (r#"doc @> '{"b": false}'"#, 600, true),
        (r#"doc @> '{"s": "s100003"}'"#, 1, true),
        ("(doc->>'n')::numeric < 10", 10, false),
    ] {
        let sql = format!("SELECT count(*) FROM o WHERE {condition}");
        assert_eq!(rows(&mut session, &sql), count.to_string(), "{condition}");
        assert_eq!(skipped(&mut session, &sql) > 0, skips, "{condition}: {}", plan(&mut session, &sql));
    }
    for (condition, told) in [
        ("(doc->>'n')::int < 9 AND 's2' <> doc->>'s'", "told=[doc->>'s' <> 's2' AND doc->>'n' < 9]"),
        (r#"doc @> '{"o": {"f": 1.5}, "n": null, "s": "x"}'"#, "told=[doc->'o'->>'f' = 1.5 AND doc->>'s' = 'x']"),
    ] {
        let shown = plan(&mut session, &format!("SELECT id FROM o WHERE {condition}"));
        assert!(shown.contains(told), "{shown}");
    }
}

#[test]
fn a_cast_raises_its_error_in_blocks_that_a_condition_could_skip() {
    let (fixture, mut session) = ordered();
    let sql = "SELECT count(*) FROM o WHERE (doc->>'n')::int < 100";
    for wrong in [r#""abc""#, "1.5", "3000000000", "{}", "true", "[700]"] {
        session.execute(&format!(r#"UPDATE o SET doc = '{{"n": {wrong}}}' WHERE id = 1450"#)).unwrap();
        for _ in 0..2 {
            assert!(session.execute(sql).is_err(), "{wrong}");
            fixture.db.kernel().checkpoint().unwrap();
            fixture.db.kernel().run_jobs().unwrap();
        }
    }
    for fine in ["null", r#""1450""#, "-7", "1450"] {
        session.execute(&format!(r#"UPDATE o SET doc = '{{"n": {fine}}}' WHERE id = 1450"#)).unwrap();
        let expected = if fine == "-7" { "101" } else { "100" };
        for _ in 0..2 {
            assert_eq!(rows(&mut session, sql), expected, "{fine}");
            fixture.db.kernel().checkpoint().unwrap();
            fixture.db.kernel().run_jobs().unwrap();
        }
    }
}

#[test]
fn conditions_on_random_documents_leave_what_they_left() {
    for seed in 21..23 {
        let (_fixture, mut session) = documents(seed);
        let mut random = Random(seed);
        for _ in 0..60 {
            let operator = random.one_of(&["=", "<>", "<", "<=", ">", ">="]);
            let field = random.one_of(&["doc->>'n'", "doc->>'a'", "doc->'a'->>'x'", "doc->>'nothing'"]);
            let condition = match random.below(4) {
                0 => format!("{field} IS {}NULL", random.one_of(&["", "NOT "])),
                1 => format!("doc @> '{{\"n\": {}}}'", random.scalar()),
                _ => format!("{field} {operator} '{}'", random.scalar().trim_matches('"')),
            };
            // The same, of which a scan is told nothing.
            let hidden = condition.replacen("doc", "coalesce(doc, NULL::jsonb)", 1);
            let [told, hidden] = [&condition, &hidden].map(|of| format!("SELECT count(*), sum(id) FROM s WHERE {of}"));
            assert_eq!(rows(&mut session, &told), rows(&mut session, &hidden), "seed {seed}: {told}");
        }
    }
}

/// Of a view that reads files, those of other tables are not looked at when a table is named.
#[test]
fn paths_of_one_table_are_read_alone() {
    let fixture = fixture();
    let mut s = fixture.db.session();
    for table in ["a", "b"] {
        s.execute(&format!(
            "CREATE TABLE {table} (k int PRIMARY KEY, d jsonb); \
             INSERT INTO {table} SELECT n, jsonb_build_object('n', n, 'name', 'name ' || n % 7, \
             'tags', jsonb_build_array(n, n + 1)) FROM generate_series(1, 500) AS g(n)"
        ))
        .unwrap();
    }
    s.execute("VACUUM").unwrap();
    for (condition, rows_of_view) in [
        ("table_name = 'a'", "5/5"),
        ("presence > 1 AND 'b' = table_name", "5/5"),
        ("table_name = 'a' OR table_name = 'c'", "5/10"),
        ("table_name >= 'b'", "5/10"),
        ("column_name = 'd' AND table_name < 'b'", "5/10"),
    ] {
        let sql = format!("EXPLAIN ANALYZE SELECT path FROM weft_document_paths WHERE {condition}");
        let shown = rows(&mut s, &sql);
        assert!(shown.contains(&format!("({rows_of_view})")), "{condition}: {shown}");
    }
    assert_eq!(
        rows(&mut s, "SELECT count(*) FROM weft_document_paths WHERE table_name = 'a' AND table_name = 'b'"),
        "0"
    );
    let prepared = s.prepare("SELECT count(*) FROM weft_document_paths WHERE table_name = $1").unwrap();
    for (name, expected) in [("a", "5"), ("b", "5"), ("c", "0"), ("a", "5")] {
        assert_eq!(show(&s.execute_prepared(&prepared, &[Value::Text(name.into())]).unwrap()), expected, "{name}");
    }
}

/// Of a large table some blocks are looked at, from all over it, and of many paths some are told of.
#[test]
fn paths_of_large_tables_are_of_some_blocks() {
    let fixture = fixture();
    let mut s = fixture.db.session();
    s.execute(
        "CREATE TABLE large (k int PRIMARY KEY, d jsonb); INSERT INTO large SELECT n, jsonb_build_object('n', n, \
         'block ' || n / 8192, 'name ' || n % 7) FROM generate_series(0, 39999) AS g(n)",
    )
    .unwrap();
    s.execute("VACUUM").unwrap();
    let table = fixture.db.kernel().tables().into_iter().find(|table| table.def.name == "large").unwrap();
    let fields = table.table.fields().unwrap();
    let seen = |block_count_max, row_count_max| {
        let paths = fields.paths(1, block_count_max, row_count_max).unwrap();
        let (mut names, mut bytes) = (Vec::new(), paths.summary.untold_bytes);
        paths.summary.each(&mut |row| {
            names.extend(row.path.split('"').nth(1).map(str::to_owned));
            bytes += row.bytes;
        });
        assert_eq!((paths.file_rows, paths.summary.has_untold), (40_000, names.len() < paths_of(block_count_max)));
        (paths.summary.rows, names.join(" "), bytes)
    };
    fn paths_of(blocks: usize) -> usize {
        blocks.min(5)
    }
    let (rows_seen, names, all_bytes) = seen(1_000, 1_000);
    assert_eq!((rows_seen, &names[..]), (40_000, "block 0 block 1 block 2 block 3 block 4"));
    assert_eq!((seen(5, 1_000).0, seen(5, 1_000).2), (40_000, all_bytes));
    let (rows_seen, names, _) = seen(2, 1_000);
    assert_eq!((rows_seen, &names[..]), (16_384, "block 1 block 3"));
    assert_eq!((seen(1, 1_000).0, &seen(1, 1_000).1[..]), (8_192, "block 2"));
    let nothing = seen(0, 1_000);
    assert_eq!((nothing.0, &nothing.1[..], nothing.2), (0, "", 0));
    // The object, its number, and one of the other paths.
    let (rows_seen, names, bytes) = seen(5, 3);
    assert_eq!((rows_seen, &names[..], bytes), (40_000, "block 0", all_bytes));
}
