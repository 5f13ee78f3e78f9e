//! Statements by indexes: the same answers as without, whatever was planned, found or too much.

use crate::fixture::{Random, code, fixture, rows, tag};
use weft_format::{Code, Value};
use weft_sql::EngineChoice;
use weft_sql::Session;

impl Random {
    /// A small integer, or NULL.
    fn value(&mut self) -> String {
        match self.below(12) {
            0 => "NULL".into(),
            n => (n as i64 - 4).to_string(),
        }
    }

    fn condition(&mut self) -> String {
        let (v, w) = (self.value(), self.value());
        match self.below(9) {
            0 | 1 => format!("a = {v}"),
            2 => format!("a = {v} AND b = {w}"),
            3 => format!("a IN ({v}, {w}, 3)"),
            4 => format!("a = {v} AND b > {w}"),
            5 => format!("b BETWEEN {v} AND {w}"),
            6 => format!("a IS NULL AND b = {w}"),
            7 => format!("c = 'c{v}' AND a >= {w}"),
            _ => format!("b >= {v} AND b < {w} AND c <> 'c1'"),
        }
    }
}

/// What the indexes of one table are on.
const EXPRESSIONS: [&str; 12] = [
    "a + b",
    "lower(c)",
    "abs(a)",
    "a * 2 - b",
    "coalesce(a, b, 0)",
    "CASE WHEN a > b THEN a ELSE b END",
    "c || 'x'",
    "a % 3",
    "- a",
    "a::bigint * 1000000",
    "d * 2",
    "length(c) + a",
];

impl Random {
    fn expression(&mut self) -> &'static str {
        EXPRESSIONS[self.below(EXPRESSIONS.len() as u64) as usize]
    }

    fn condition_on_expression(&mut self) -> String {
        let (expr, v, w) = (self.expression(), self.value(), self.value());
        let (v, w) = match expr {
            "lower(c)" => (format!("'c{v}'"), format!("'c{w}'")),
            "c || 'x'" => (format!("'C{v}x'"), format!("'C{w}x'")),
            _ => (v, w),
        };
        match self.below(10) {
            0..=2 => format!("{expr} = {v}"),
            3 => format!("{expr} IN ({v}, {w}, {v})"),
            4 => format!("{expr} BETWEEN {v} AND {w}"),
            5 => format!("{expr} > {v} AND {expr} <= {w} AND b <> 2"),
            6 => format!("lower(c) = 'c{}' AND b = {} AND {expr} < {v}", self.value(), self.value()),
            7 => format!("a - b = {} AND a > 0", self.value()),
            8 => format!("{expr} IS NULL AND b = {}", self.value()),
            _ => format!("({expr} = {v} OR {expr} = {w})"),
        }
    }
}

/// A table with indexes and one without get the same statements and must give the same answers.
#[test]
fn an_index_changes_no_answer() {
    let fixture = fixture();
    let mut session = fixture.db.session();
    for name in ["x", "y"] {
        session.execute(&format!("CREATE TABLE {name} (id int PRIMARY KEY, a int, b int, c text)")).unwrap();
    }
    session.execute("CREATE INDEX ON x (a, b); CREATE INDEX ON x (b); CREATE INDEX ON x (c, a)").unwrap();
    let mut random = Random(0x5eed_1e55);
    let both = |session: &mut Session, sql: &str| {
        let (x, y) = (session.execute(&sql.replace('@', "x")), session.execute(&sql.replace('@', "y")));
        match (x, y) {
            (Ok(x), Ok(y)) => assert_eq!(crate::fixture::show(&x[0]), crate::fixture::show(&y[0]), "{sql}"),
            (x, y) => assert_eq!(x.err().map(|e| e.code()), y.err().map(|e| e.code()), "{sql}"),
        }
    };
    for round in 0..1500 {
        let (id, a, b) = (random.below(200), random.value(), random.value());
        let condition = random.condition();
        let sql = match random.below(16) {
            0..=4 => format!("INSERT INTO @ VALUES ({id}, {a}, {b}, 'c{a}') ON CONFLICT DO NOTHING"),
            5 => format!("UPDATE @ SET a = {a}, b = {b} WHERE id = {id}"),
            6 => format!("UPDATE @ SET b = b + 1 WHERE {condition}"),
            7 => format!("DELETE FROM @ WHERE {condition} AND id % 3 = 0"),
            8 => format!("SELECT count(*) FROM @ WHERE {condition}"),
            9 => format!("SELECT id, a FROM @ WHERE {condition} ORDER BY b, id LIMIT 5"),
            10 => format!("SELECT a, b FROM @ WHERE a = {a} ORDER BY b LIMIT {}", random.below(6)),
            11 => "SELECT b FROM @ ORDER BY b DESC LIMIT 7 OFFSET 2".into(),
            12 => format!("SELECT a, b FROM @ WHERE a >= {a} ORDER BY a, b LIMIT 4"),
            13 if !session.in_transaction() => "BEGIN".into(),
            13 | 14 if session.in_transaction() => ["COMMIT", "ROLLBACK"][random.below(2) as usize].into(),
            _ => format!("SELECT * FROM @ WHERE {condition} ORDER BY id DESC"),
        };
        if sql.contains('@') {
            both(&mut session, &sql);
        } else {
            session.execute(&sql).unwrap();
        }
        if round % 300 == 299 && !session.in_transaction() {
            session.execute("VACUUM").unwrap();
        }
    }
    let _ = session.execute("COMMIT");
    assert_eq!(fixture.db.kernel().check().unwrap(), Vec::<String>::new());
}

/// A table with indexes on expressions and one without get the same statements, in either engine, and must give the
/// same answers; but that the indexes refuse rows that they cannot have.
#[test]
fn an_index_on_an_expression_changes_no_answer() {
    let fixture = fixture();
    let mut session = fixture.db.session();
    for name in ["x", "y"] {
        session
            .execute(&format!("CREATE TABLE {name} (id int PRIMARY KEY, a int, b int, c text, d double precision)"))
            .unwrap();
    }
    for expr in EXPRESSIONS {
        session.execute(&format!("CREATE INDEX ON x (({expr}))")).unwrap();
    }
    session.execute("CREATE INDEX ON x (lower(c), b, (a + b)); CREATE INDEX ON x ((a - b), id) WHERE a > 0").unwrap();
    let mut random = Random(0x5eed_1e56);
    let both = |session: &mut Session, sql: &str| {
        let (x, y) = (session.execute(&sql.replace('@', "x")), session.execute(&sql.replace('@', "y")));
        match (x, y) {
            (Ok(x), Ok(y)) => assert_eq!(crate::fixture::show(&x[0]), crate::fixture::show(&y[0]), "{sql}"),
            (x, y) => assert_eq!(x.err().map(|e| e.code()), y.err().map(|e| e.code()), "{sql}"),
        }
    };
    for round in 0..1500 {
        let (id, a, b) = (random.below(200), random.value(), random.value());
        let condition = random.condition_on_expression();
        let (expr, other) = (random.expression(), random.expression());
        let sql = match random.below(17) {
            0..=4 => format!("INSERT INTO @ VALUES ({id}, {a}, {b}, 'C{a}', {b} / 2.0) ON CONFLICT DO NOTHING"),
            5 => format!("UPDATE @ SET a = {a}, b = {b} WHERE id = {id}"),
            6 => format!("UPDATE @ SET b = b + 1, c = upper(c) WHERE {condition}"),
            7 => format!("DELETE FROM @ WHERE {condition} AND id % 3 = 0"),
            8 => format!("SELECT count(*) FROM @ WHERE {condition}"),
            9 => format!("SELECT id, {expr} FROM @ WHERE {condition} ORDER BY {expr}, id LIMIT 5"),
            10 => format!("SELECT {expr} FROM @ WHERE {condition} ORDER BY {expr} DESC LIMIT {}", random.below(6)),
            11 => format!("SELECT {expr} FROM @ ORDER BY {expr} LIMIT 7 OFFSET 2"),
            12 => format!(
                "SELECT {expr} AS e, count(*) FROM @ WHERE {condition} AND {other} IS NOT NULL GROUP BY 1 ORDER BY 1"
            ),
            13 if !session.in_transaction() => "BEGIN".into(),
            13 | 14 if session.in_transaction() => ["COMMIT", "ROLLBACK"][random.below(2) as usize].into(),
            15 => format!("SET engine = {}", ["auto", "query", "auto"][random.below(3) as usize]),
            _ => format!("SELECT * FROM @ WHERE {condition} ORDER BY id DESC"),
        };
        if sql.contains('@') {
            both(&mut session, &sql);
        } else {
            session.execute(&sql).unwrap();
        }
        if round % 300 == 299 && !session.in_transaction() {
            session.execute("VACUUM").unwrap();
        }
    }
    let _ = session.execute("COMMIT");
    assert_eq!(fixture.db.kernel().check().unwrap(), Vec::<String>::new());
}

/// EXPLAIN names the index and the expression; the query engine tells its scan.
#[test]
fn plans_say_that_an_expression_is_looked_up() {
    let fixture = fixture();
    let mut session = fixture.db.session();
    session.execute("CREATE TABLE z (id int PRIMARY KEY, a int, b text)").unwrap();
    session.execute("INSERT INTO z SELECT i, i % 7, 'B' || i FROM generate_series(1, 5000) AS s(i)").unwrap();
    session.execute("CREATE INDEX z_b ON z (lower(b)); CREATE INDEX z_a ON z ((a + id), (coalesce(a, 0)))").unwrap();
    let mut explain = |sql: &str| crate::fixture::show(&session.execute(&format!("EXPLAIN ANALYZE {sql}")).unwrap()[0]);
    for (sql, expected) in [
        ("SELECT id FROM z WHERE lower(b) = 'b77'", "Index z_b: lower(b) ="),
        ("SELECT id FROM z WHERE a + id > 100 AND (a + id) < 103", "Index z_a: (a + id) >, (a + id) <"),
        ("SELECT id FROM z WHERE a + id = 9 AND coalesce(a, 0) = 2", "Index z_a: (a + id) =, COALESCE(a, 0) ="),
        ("SELECT id FROM z ORDER BY lower(b) DESC LIMIT 2", "Index z_b: last rows in order"),
        ("SELECT count(*), min(id) FROM z WHERE lower(b) IN ('b77', 'b78')", "told=[lower(b) IN ('b77', 'b78')]"),
        ("SELECT min(id) FROM z WHERE coalesce(a, 0) = 2 AND a + id = 9", "(a + id) = 9"),
        ("SELECT min(id) FROM z WHERE coalesce(a, 0) = 2 AND a + id = 9", "COALESCE(a, 0) = 2"),
    ] {
        let shown = explain(sql);
        assert!(shown.contains(expected), "{sql}: {shown}");
    }
    // By the index the scan returns the row alone.
    let shown = explain("SELECT min(a) FROM z WHERE lower(b) = 'b4000'");
    assert!(shown.contains("output_rows=1, blocks=0"), "{shown}");
    // The query engine knows all of them again.
    session.execute("CREATE TABLE x (id int PRIMARY KEY, a int, b int, c text, d double precision)").unwrap();
    session.execute("SET engine = query").unwrap();
    for expr in EXPRESSIONS {
        session.execute(&format!("CREATE INDEX ON x (({expr}))")).unwrap();
        let constant =
            if expr.contains('c') && !expr.contains("coalesce") && !expr.contains("length") { "'x'" } else { "5" };
        let sql = format!("EXPLAIN SELECT count(*) FROM x WHERE {expr} = {constant}");
        let shown = crate::fixture::show(&session.execute(&sql).unwrap()[0]);
        assert!(shown.contains("told=["), "{expr}: {shown}");
    }
}

/// What an index finds too much of is run by the query engine, under the same prepared statement.
#[test]
fn too_many_candidates_go_to_the_query_engine() {
    let fixture = fixture();
    let mut session = fixture.db.session();
    session.execute("CREATE TABLE t (id int PRIMARY KEY, a int, b int); CREATE INDEX ON t (a, b)").unwrap();
    session.execute("INSERT INTO t SELECT i, i % 2, i FROM generate_series(1, 20000) AS s(i)").unwrap();
    session.execute("INSERT INTO t VALUES (0, 7, 7)").unwrap();
    let prepared = session.prepare("SELECT count(*) FROM t WHERE a = $1").unwrap();
    for (a, count) in [(1, 10_000), (7, 1), (0, 10_000), (5, 0)] {
        let outcome = session.execute_prepared(&prepared, &[Value::Int(a)]).unwrap();
        assert_eq!(outcome.single(), Some(Value::Int(count)));
    }
    assert_eq!(rows(&mut session, "SELECT b FROM t WHERE a = 1 ORDER BY b DESC LIMIT 2"), "19999 19997");
    assert_eq!(
        rows(&mut session, "SELECT id FROM t WHERE a = 1 AND id % 5000 = 4999 ORDER BY b"),
        "4999 9999 14999 19999"
    );
    let far = "SELECT id FROM t WHERE a = 1 AND id > 19990 ORDER BY b LIMIT 2";
    assert_eq!(rows(&mut session, far), "19991 19993");
    assert_eq!(tag(&mut session, "UPDATE t SET b = -b WHERE a = 1"), "UPDATE 10000");
    assert_eq!(tag(&mut session, "DELETE FROM t WHERE a = 1 AND b < -5"), "DELETE 9997");
    assert_eq!(rows(&mut session, "SELECT b FROM t WHERE a = 1 ORDER BY b"), "-5 -3 -1");
    session.execute("SET engine = point").unwrap();
    assert_eq!(session.settings().engine, EngineChoice::Point);
    assert_eq!(rows(&mut session, "SELECT count(*) FROM t WHERE a = 0"), "10000");
}

/// Errors of unique indexes name table and constraint; a statement that fails leaves nothing.
#[test]
fn unique_violations_say_what_they_are() {
    let fixture = fixture();
    let mut session = fixture.db.session();
    session.execute("CREATE TABLE t (id int PRIMARY KEY, a int UNIQUE, b int, CONSTRAINT pair UNIQUE (a, b))").unwrap();
    session.execute("INSERT INTO t VALUES (1, 1, 1)").unwrap();
    let error = session.execute("INSERT INTO t VALUES (2, 2, 2), (3, 1, 3)").unwrap_err();
    assert_eq!((error.code(), error.table(), error.constraint()), (Code::UniqueViolation, Some("t"), Some("t_a_key")));
    assert_eq!(error.message(), "duplicate key value violates unique constraint \"t_a_key\"");
    assert_eq!(rows(&mut session, "SELECT count(*) FROM t"), "1");
    assert_eq!(code(&mut session, "DROP INDEX pair"), Code::DependentObjects);
    assert_eq!(code(&mut session, "CREATE INDEX pair ON t (b)"), Code::DuplicateTable);
    session.execute("DROP TABLE t").unwrap();
    assert_eq!(code(&mut session, "DROP INDEX pair"), Code::UndefinedObject);
    assert_eq!(rows(&mut session, "SELECT count(*) FROM weft_indexes"), "0");
}
