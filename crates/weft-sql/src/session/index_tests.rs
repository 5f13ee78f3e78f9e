//! Statements by indexes: the same answers as without, whatever was planned, found or too much.

use super::tests::{code, fixture, rows, tag};
use super::*;
use crate::settings::EngineChoice;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

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
            (Ok(x), Ok(y)) => assert_eq!(super::tests::show(&x[0]), super::tests::show(&y[0]), "{sql}"),
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

/// What an index finds too much of is run by the column engine, under the same prepared statement.
#[test]
fn too_many_candidates_go_to_the_column_engine() {
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
    session.execute("SET engine = row").unwrap();
    assert_eq!(session.settings().engine, EngineChoice::Row);
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
