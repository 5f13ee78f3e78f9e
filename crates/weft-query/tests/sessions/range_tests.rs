//! Statements by ranges of the primary key: the answers of the query engine, from either end, beside own writes, by
//! every method that gives out rows by their keys.

use weft_format::{Code, Value};
use weft_kernel::EngineOptions;
use weft_sql::Session;

use crate::fixture::{Fixture, Random, code, fixture_with, rows, show, tag};

impl Random {
    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// A condition on the key (g, k).
    fn bounds(&mut self) -> String {
        let (k, to) = (self.below(80) as i64 - 5, self.below(80) as i64);
        let g = self.of(&["a", "b", "b'", "", "zz"]).replace('\'', "''");
        let op = self.of(&["<", "<=", ">", ">=", "="]);
        match self.below(8) {
            0 => format!("g = '{g}'"),
            1 => format!("g = '{g}' AND k BETWEEN {k} AND {to}"),
            2 => format!("g = '{g}' AND k {op} {k} AND k > {to}"),
            3 => format!("g {op} '{g}' AND g < 'b'"),
            4 => format!("g >= 'a' AND g {op} '{g}'"),
            5 => format!("g = '{g}' AND {k} {op} k AND k <> {to}"),
            6 => format!("g = '{g}' AND k {op} {}", self.of(&["NULL", "3000000000", "2.5", "'7'"])),
            _ => "true".into(),
        }
    }

    fn select(&mut self) -> (String, bool) {
        let bounds = self.bounds();
        let filter = self.of(&["", "", " AND v > 3", " AND x IS NOT NULL"]);
        if self.below(5) == 0 {
            return (format!("SELECT count(*) FROM t WHERE {bounds}{filter}"), true);
        }
        let columns = self.of(&["*", "k", "v, g", "x || g, k + 1", "g, k, v"]);
        let order =
            self.of(&["", " ORDER BY g, k", " ORDER BY g DESC, k DESC", " ORDER BY v, g, k DESC", " ORDER BY k, g"]);
        let limit =
            if order.is_empty() { "" } else { self.of(&["", " LIMIT 1", " LIMIT 7", " LIMIT 5 OFFSET 3", " LIMIT 0"]) };
        (format!("SELECT {columns} FROM t WHERE {bounds}{filter}{order}{limit}"), !order.is_empty())
    }
}

/// 240 rows, some changed, some gone, part of them in files.
fn table(method: &str, random: &mut Random) -> (Fixture, Session) {
    let fixture = fixture_with(EngineOptions { workers: 0, row_table_bytes: 4_000, ..EngineOptions::default() });
    let mut session = fixture.db.session();
    tag(&mut session, &format!("CREATE TABLE t (v int, g text, k int, x text, PRIMARY KEY (g, k)) USING {method}"));
    for stretch in 0..3 {
        let insert = "INSERT INTO t SELECT g % 7, (ARRAY['a', 'b', 'b''', ''])[g % 4 + 1], g / 4, \
                      nullif('x' || g % 3, 'x0') \
                      FROM generate_series(0, 239) AS s(g) WHERE g % 3 = ";
        tag(&mut session, &format!("{insert}{stretch}"));
        tag(&mut session, &format!("UPDATE t SET v = v + 1 WHERE k % 10 = {}", random.below(10)));
        tag(&mut session, &format!("DELETE FROM t WHERE k % 11 = {}", random.below(11)));
        if stretch < 2 {
            fixture.db.kernel().run_jobs().unwrap();
        }
    }
    (fixture, session)
}

/// What a statement says by an engine; sorted where it gives no order.
fn answer(session: &mut Session, engine: &str, sql: &str, is_ordered: bool) -> Result<Vec<String>, Code> {
    session.set("engine", engine).unwrap();
    let outcome = session.execute(sql).map_err(|error| error.code())?.pop().unwrap();
    let mut lines: Vec<String> = outcome.rows.iter().map(|row| format!("{row:?}")).collect();
    if !is_ordered {
        lines.sort();
    }
    lines.push(outcome.tag.to_string());
    Ok(lines)
}

#[test]
fn ranges_give_the_answers_of_scans() {
    for (seed, method) in [(11, "column"), (12, "row"), (13, "column"), (14, "row")] {
        let mut random = Random(seed);
        let (_fixture, mut session) = table(method, &mut random);
        for number in 0..200 {
            let is_in_transaction = random.below(3) == 0;
            if is_in_transaction {
                session.execute("BEGIN").unwrap();
                for _ in 0..random.below(4) {
                    let k = random.below(70);
                    tag(&mut session, &format!("UPDATE t SET v = v + 5 WHERE k = {k}"));
                    tag(&mut session, &format!("DELETE FROM t WHERE g = 'b' AND k = {}", k + 1));
                    tag(&mut session, &format!("INSERT INTO t VALUES (9, 'aa', {k}, 'own') ON CONFLICT DO NOTHING"));
                }
            }
            let (sql, is_ordered) = random.select();
            let found = answer(&mut session, "auto", &sql, is_ordered);
            // A statement that fails ends the transaction; its error is compared outside of one.
            if found.is_ok() || !is_in_transaction {
                assert_eq!(found, answer(&mut session, "query", &sql, is_ordered), "{method} {number}: {sql}");
            }
            if is_in_transaction {
                session.execute("ROLLBACK").unwrap();
            }
        }
    }
}

#[test]
fn rows_of_a_range_are_changed_as_by_scans() {
    for (seed, method) in [(21, "column"), (22, "row")] {
        let mut random = Random(seed);
        let (_fixture, mut session) = table(method, &mut random);
        for _ in 0..60 {
            let (bounds, filter) = (random.bounds(), random.of(&["", " AND v > 3"]));
            let sql = match random.below(3) {
                0 => format!("DELETE FROM t WHERE {bounds}{filter} RETURNING *"),
                1 => format!("UPDATE t SET v = v + 1, x = 'new' WHERE {bounds}{filter} RETURNING g, k, v"),
                _ => format!("SELECT * FROM t WHERE {bounds}{filter} FOR UPDATE"),
            };
            let mut outcome = |engine: &str| {
                session.execute("BEGIN").unwrap();
                let found = answer(&mut session, engine, &sql, false);
                let state = found.is_ok().then(|| rows(&mut session, "SELECT * FROM t ORDER BY g, k"));
                session.execute("ROLLBACK").unwrap();
                (found, state)
            };
            assert_eq!(outcome("auto"), outcome("query"), "{method}: {sql}");
        }
    }
}

#[test]
fn plans_say_that_a_range_is_read() {
    let (_fixture, mut session) = table("column", &mut Random(3));
    let mut plan = |sql: &str| show(&session.execute(&format!("EXPLAIN {sql}")).unwrap().pop().unwrap());
    for (sql, expected) in [
        (
            "SELECT v FROM t WHERE g = 'a' AND k > 3 AND v > 1",
            "Point engine: rows of t by a range of the primary key   Keys: g = 'a'   Keys: k > 3   Filter: v > 1   \
             Columns read: v",
        ),
        (
            "SELECT v FROM t WHERE g > 'a' ORDER BY g DESC LIMIT 3",
            "Point engine: rows of t by a range of the primary key   Order: of the key, backward   Keys: g > 'a'   \
             Columns read: v",
        ),
        (
            "SELECT k FROM t WHERE g BETWEEN 'a' AND 'b' ORDER BY v",
            "Point engine: rows of t by a range of the primary key   Keys: g BETWEEN 'a' AND 'b'   Sort: in memory   \
             Columns read: k, v",
        ),
        ("DELETE FROM t WHERE g = 'a'", "Point engine: delete on t by a range of the primary key   Keys: g = 'a'"),
    ] {
        assert_eq!(plan(sql), expected, "{sql}");
    }
    for sql in [
        "SELECT v FROM t WHERE g > 'a'",
        "SELECT v FROM t WHERE k = 3",
        "SELECT v FROM t ORDER BY g",
        "SELECT v FROM t WHERE v = 3 LIMIT 3",
        "SELECT sum(v) FROM t WHERE g = 'a'",
    ] {
        assert!(plan(sql).starts_with("Query engine"), "{sql}: {}", plan(sql));
    }
}

/// What an index finds by a condition that the range would have to test row by row is found by the index.
#[test]
fn indexes_that_are_bounded_by_more_go_before_ranges() {
    let fixture = fixture_with(EngineOptions { workers: 0, ..EngineOptions::default() });
    let mut session = fixture.db.session();
    tag(
        &mut session,
        "CREATE TABLE t (a int, b int, email text, made int, done boolean, PRIMARY KEY (a, b));
         CREATE INDEX by_email ON t (email); CREATE INDEX by_made ON t (made); CREATE INDEX of_a ON t (a, made);
         CREATE INDEX open ON t (email) WHERE NOT done;
         INSERT INTO t SELECT g % 3, g, 'x' || g % 50, g % 7, g % 9 <> 0 FROM generate_series(1, 200) AS s(g)",
    );
    let range = "by a range of the primary key";
    for (sql, expected) in [
        ("SELECT b FROM t WHERE a = 1 AND email = 'x4'", "by index by_email"),
        ("SELECT b FROM t WHERE a = 1 AND made = 4", "by index of_a"),
        ("SELECT b FROM t WHERE made BETWEEN 2 AND 3 ORDER BY a, b LIMIT 5", "by index by_made"),
        ("SELECT b FROM t WHERE NOT done ORDER BY a, b LIMIT 5", "by index open"),
        ("SELECT b FROM t WHERE a = 1 ORDER BY made LIMIT 5", "by index of_a"),
        ("SELECT b FROM t WHERE a = 1 ORDER BY b LIMIT 5", range),
        ("SELECT b FROM t WHERE a = 1 AND b > 7 AND email > 'x4'", range),
        ("SELECT b FROM t WHERE a BETWEEN 1 AND 2", range),
        ("DELETE FROM t WHERE a = 1 AND email = 'x4'", "by index by_email"),
    ] {
        let plan = rows(&mut session, &format!("EXPLAIN {sql}"));
        assert!(plan.contains(expected), "{sql}: {plan}");
        if sql.starts_with("SELECT") {
            let is_ordered = sql.contains("ORDER BY a");
            let found = answer(&mut session, "auto", sql, is_ordered);
            if !sql.contains("ORDER BY made") {
                assert_eq!(found, answer(&mut session, "query", sql, is_ordered), "{sql}");
            }
            session.set("engine", "auto").unwrap();
        }
    }
}

/// Keys are compared when the statement ends.
#[test]
fn keys_of_a_range_move_together() {
    let (_fixture, mut session) = table("column", &mut Random(4));
    for method in ["column", "row"] {
        tag(
            &mut session,
            &format!(
                "CREATE TABLE moved_{method} (id int PRIMARY KEY, v int) USING {method};
                 INSERT INTO moved_{method} SELECT g, g FROM generate_series(1, 10) AS s(g)"
            ),
        );
        assert_eq!(
            tag(&mut session, &format!("UPDATE moved_{method} SET id = id + 1 WHERE id BETWEEN 3 AND 10")),
            "UPDATE 8"
        );
        assert_eq!(
            tag(&mut session, &format!("UPDATE moved_{method} SET id = id - 1 WHERE id IN (4, 5, 6)")),
            "UPDATE 3"
        );
        assert_eq!(
            rows(&mut session, &format!("SELECT id, v FROM moved_{method} ORDER BY id")),
            "1|1 2|2 3|3 4|4 5|5 7|6 8|7 9|8 10|9 11|10"
        );
        // Found by an index.
        tag(&mut session, &format!("UPDATE moved_{method} SET v = 0 WHERE id > 6; CREATE INDEX ON moved_{method} (v)"));
        let moved = format!("UPDATE moved_{method} SET id = id + 1 WHERE v = 0");
        assert_eq!(tag(&mut session, &moved), "UPDATE 5");
    }
}

/// The ends of the key's type: more than the greatest is nothing, at most the greatest is everything.
#[test]
fn the_ends_of_a_type_bound_ranges() {
    let (_fixture, mut session) = table("column", &mut Random(4));
    for method in ["column", "row"] {
        tag(
            &mut session,
            &format!(
                "CREATE TABLE ends_{method} (a smallint, b int, PRIMARY KEY (a, b)) USING {method};
                 INSERT INTO ends_{method} VALUES (1, 1), (32767, 2147483647), (32767, 5), (-32768, -2147483648)"
            ),
        );
        for (condition, expected) in [
            ("a > 32767 AND a <= 32767", "0"),
            ("a >= 32767 AND a <= 32767", "2"),
            ("a = 32767 AND b > 2147483647", "0"),
            ("a = 32767 AND b >= 2147483647", "1"),
            ("a = 32767 AND b <= 2147483647", "2"),
            ("a = -32768 AND b < -2147483648", "0"),
            ("a = -32768 AND b <= -2147483648", "1"),
            ("a > 32767", "0"),
        ] {
            let count = format!("SELECT count(*) FROM ends_{method} WHERE {condition}");
            assert_eq!(rows(&mut session, &count), expected, "{count}");
            let first = format!("SELECT a, b FROM ends_{method} WHERE {condition} ORDER BY a, b LIMIT 5");
            assert_eq!(session.execute(&first).unwrap()[0].tag.to_string(), format!("SELECT {expected}"), "{first}");
            let delete = format!("DELETE FROM ends_{method} WHERE {condition} RETURNING a");
            session.execute("BEGIN").unwrap();
            assert_eq!(tag(&mut session, &delete), format!("DELETE {expected}"), "{delete}");
            session.execute("ROLLBACK").unwrap();
        }
    }
}

/// Too many rows are left to the query engine, more and more of them at once; a short range is read here again.
#[test]
fn ranges_of_too_many_rows_are_left_to_the_query_engine() {
    let (_fixture, mut session) = table("column", &mut Random(5));
    session.execute("CREATE TABLE many (k bigint PRIMARY KEY, v int)").unwrap();
    session.execute("INSERT INTO many SELECT g, g % 5 FROM generate_series(1, 20000) AS s(g)").unwrap();
    let prepared = session.prepare("SELECT k FROM many WHERE k BETWEEN $1 AND $2 ORDER BY k DESC").unwrap();
    for (number, (from, to)) in
        [(1, 9), (1, 20_000), (5, 8), (100, 19_000), (4, 4), (9, 2), (3, 15_000), (7, 12)].into_iter().enumerate()
    {
        let found = session.execute_prepared(&prepared, &[Value::Int(from), Value::Int(to)]).unwrap();
        let keys: Vec<Vec<Value>> = found.rows.iter().collect();
        let expected: Vec<Vec<Value>> = (from..=to).rev().map(|k| vec![Value::Int(k)]).collect();
        assert!(keys == expected, "{number}: {from} to {to}");
    }
    session.execute("SET engine = point").unwrap();
    assert_eq!(rows(&mut session, "SELECT count(*) FROM many WHERE k BETWEEN 11 AND 19990"), "19980");
    assert_eq!(code(&mut session, "SELECT count(*) FROM many WHERE k > 11"), Code::FeatureNotSupported);
}
