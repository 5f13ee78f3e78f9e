//! Statements of sessions, run by either engine.

use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType as ArrowType, Field, Schema as ArrowSchema};
use weft_format::{Code, DataType, Error, Value};
use weft_kernel::EngineOptions;
use weft_sql::{QueryOptions, Session, SqlEngine};

use crate::fixture::{code, fixture, fixture_with, rows, show, sql_options, tag};

/// A parameter has the type of what it stands beside, but not its scale.
#[test]
fn parameters_beside_numerics_keep_their_digits() {
    let fixture = fixture();
    let mut s = fixture.db.session();
    s.execute("CREATE TABLE n (n numeric(10,2) PRIMARY KEY, m numeric); INSERT INTO n VALUES (0.02, 0.015), (1.5, 1)")
        .unwrap();
    for engine in ["auto", "query"] {
        tag(&mut s, &format!("SET engine = {engine}"));
        for (sql, expected) in [
            ("SELECT n FROM n WHERE n = $1", ""),
            ("SELECT n FROM n WHERE m IN (1.5, $1)", "0.02"),
            ("SELECT n + $1 FROM n ORDER BY 1", "0.035 1.515"),
            ("SELECT CASE WHEN n > 1 THEN 1.5 ELSE $1 END FROM n ORDER BY 1", "0.015 1.5"),
            ("SELECT CAST($1 AS numeric(10,2))", "0.02"),
            ("SELECT v FROM (VALUES (1.5), ($1)) AS w (v) ORDER BY 1", "0.015 1.5"),
        ] {
            if engine == "query" && !sql.contains("FROM") {
                continue;
            }
            let prepared = s.prepare(sql).unwrap();
            let outcome = s.execute_prepared(&prepared, &[Value::Text("0.015".into())]).unwrap();
            assert_eq!(show(&outcome), expected, "{sql} by {engine}");
        }
    }
    let equal = s.prepare("SELECT n FROM n WHERE n = $1").unwrap();
    let outcome = s.execute_prepared(&equal, &[Value::Text("0.02".into())]).unwrap();
    assert_eq!(show(&outcome), "0.02");
    tag(&mut s, "SET engine = auto");
    let insert = s.prepare("INSERT INTO n VALUES (3, 1.5), (4, $1) RETURNING replace(m::text, 'x', 'y')").unwrap();
    let outcome = s.execute_prepared(&insert, &[Value::Text("0.015".into())]).unwrap();
    assert_eq!(show(&outcome), "1.5 0.015");
    assert_eq!(rows(&mut s, "SELECT m FROM n WHERE n > 2 ORDER BY n"), "1.5 0.015");
    s.execute("CREATE TABLE a (k int, x int); CREATE TABLE b (k int, y int); INSERT INTO b VALUES (30, 1), (40, 2)")
        .unwrap();
    let joined = s.prepare("SELECT k FROM a FULL JOIN b USING (k) WHERE k = $1").unwrap();
    assert_eq!(show(&s.execute_prepared(&joined, &[Value::Int(30)]).unwrap()), "30");
}

#[test]
fn rows_are_written_and_read_by_key() {
    let fixture = fixture();
    let mut s = fixture.db.session();
    tag(
        &mut s,
        "CREATE TABLE t (id bigint PRIMARY KEY, name varchar(5) NOT NULL, price numeric(10,2) DEFAULT 1.5 CHECK \
             (price >= 0), at timestamp) USING column",
    );
    assert_eq!(
        tag(&mut s, "INSERT INTO t VALUES (1, 'a', 2, '2013-01-01 05:15'), (2, 'b  ', DEFAULT, NULL)"),
        "INSERT 0 2"
    );
    assert_eq!(tag(&mut s, "INSERT INTO t (name, id) VALUES ('abc    ', 3)"), "INSERT 0 1");
    s.execute("SET engine = point").unwrap();
    assert_eq!(rows(&mut s, "SELECT * FROM t WHERE id = 1"), "1|a|2.00|2013-01-01 05:15:00");
    assert_eq!(rows(&mut s, "SELECT name, price * 2 AS p FROM t AS x WHERE x.id = 3"), "abc  |3.00");
    assert_eq!(rows(&mut s, "SELECT id FROM t WHERE id IN (3, 1, 3, 9) AND price < 2"), "3");
    assert_eq!(rows(&mut s, "SELECT id FROM t WHERE id = 99"), "");
    assert_eq!(
        tag(&mut s, "UPDATE t SET price = price + 1, name = upper(name) WHERE id = 1 AND price = 2"),
        "UPDATE 1"
    );
    assert_eq!(rows(&mut s, "UPDATE t SET id = 10 WHERE id = 1 RETURNING id, name, price"), "10|A|3.00");
    assert_eq!(rows(&mut s, "DELETE FROM t WHERE id = 2 RETURNING *"), "2|b  |1.50|NULL");
    assert_eq!(tag(&mut s, "DELETE FROM t WHERE id = 2"), "DELETE 0");
    assert_eq!(code(&mut s, "SELECT count(*) FROM t"), Code::FeatureNotSupported);
    assert_eq!(code(&mut s, "UPDATE t SET price = 1"), Code::FeatureNotSupported);
    s.execute("RESET engine").unwrap();
    assert_eq!(rows(&mut s, "SELECT count(*), sum(price) FROM t"), "2|4.50");
    s.execute("SET engine = query").unwrap();
    assert_eq!(rows(&mut s, "SELECT id, name FROM t WHERE id = 10"), "10|A");
    assert_eq!(tag(&mut s, "UPDATE t SET price = 7 WHERE id = 10"), "UPDATE 1");
    assert_eq!(rows(&mut s, "SELECT price FROM t ORDER BY id"), "1.50 7.00");
}

#[test]
fn constraints_name_what_they_refuse() {
    let fixture = fixture();
    let mut s = fixture.db.session();
    tag(
        &mut s,
        "CREATE TABLE t (a smallint, b varchar(3) NOT NULL, c int CHECK (c > a), CONSTRAINT odd CHECK (a % 2 = \
             1), PRIMARY KEY (a))",
    );
    tag(&mut s, "INSERT INTO t VALUES (1, 'x', 5)");
    for (sql, expected, name) in [
        ("INSERT INTO t VALUES (1, 'y', 5)", Code::UniqueViolation, Some("t_pkey")),
        ("INSERT INTO t VALUES (2, 'y', 5)", Code::CheckViolation, Some("odd")),
        ("INSERT INTO t VALUES (3, 'y', 2)", Code::CheckViolation, Some("t_c_check")),
        ("INSERT INTO t (a) VALUES (3)", Code::NotNullViolation, None),
        ("INSERT INTO t VALUES (3, 'long', 9)", Code::StringTooLong, None),
        ("INSERT INTO t VALUES (40000, 'x', 9)", Code::NumericOutOfRange, None),
        ("INSERT INTO t VALUES ('x', 'x', 9)", Code::InvalidText, None),
        ("INSERT INTO t VALUES (3, 'x', 1/0)", Code::DivisionByZero, None),
        ("INSERT INTO t VALUES (3, 'x', true)", Code::DatatypeMismatch, None),
        ("INSERT INTO t VALUES (3, 'x', 1, 1)", Code::SyntaxError, None),
        ("INSERT INTO t (a, a) VALUES (3, 3)", Code::DuplicateColumn, None),
        ("INSERT INTO t (z) VALUES (3)", Code::UndefinedColumn, None),
        ("UPDATE t SET c = 0 WHERE a = 1", Code::CheckViolation, Some("t_c_check")),
        ("UPDATE t SET b = NULL WHERE a = 1", Code::NotNullViolation, None),
        ("UPDATE t SET c = 2147483647 + c WHERE a = 1", Code::NumericOutOfRange, None),
        ("SELECT * FROM missing WHERE a = 1", Code::UndefinedTable, None),
        ("SELECT nope FROM t WHERE a = 1", Code::UndefinedColumn, None),
        ("CREATE TABLE u (a int, UNIQUE NULLS NOT DISTINCT (a))", Code::FeatureNotSupported, None),
        ("CREATE TABLE u (a int, a int)", Code::DuplicateColumn, None),
        ("CREATE TABLE u (a int DEFAULT 'x')", Code::InvalidText, None),
        ("CREATE TABLE u (a int CHECK (a + 1))", Code::DatatypeMismatch, None),
        ("CREATE TABLE t (a int)", Code::DuplicateTable, None),
        ("CREATE TABLE u (a int) USING lineage", Code::UndefinedObject, None),
    ] {
        let error = s.execute(sql).map(|_| ()).expect_err(sql);
        assert_eq!(error.code(), expected, "{sql}: {error}");
        assert_eq!(error.constraint(), name, "{sql}: {error}");
    }
    assert_eq!(rows(&mut s, "SELECT * FROM t WHERE a = 1"), "1|x|5");
    assert_eq!(s.execute("SELECT a,\n nope FROM t WHERE a = 1").unwrap_err().position(), Some(12));
}

#[test]
fn upserts_update_what_is_there() {
    let fixture = fixture();
    let mut s = fixture.db.session();
    tag(&mut s, "CREATE TABLE t (a int, b int, n int DEFAULT 0, PRIMARY KEY (a, b))");
    let upsert = "INSERT INTO t VALUES (1, 1, 5), (1, 2, 6) ON CONFLICT (b, a) DO UPDATE SET n = t.n + \
             excluded.n WHERE t.n < 10 RETURNING a, b, n";
    assert_eq!(rows(&mut s, upsert), "1|1|5 1|2|6");
    assert_eq!(rows(&mut s, upsert), "1|1|10 1|2|12");
    assert_eq!(rows(&mut s, upsert), "");
    assert_eq!(
        tag(&mut s, "INSERT INTO t VALUES (1, 1, 0), (2, 2, 0), (2, 2, 1) ON CONFLICT DO NOTHING"),
        "INSERT 0 1"
    );
    let twice = "INSERT INTO t VALUES (7, 7, 0), (7, 7, 1) ON CONFLICT (a, b) DO UPDATE SET n = 1";
    assert_eq!(code(&mut s, twice), Code::CardinalityViolation);
    assert_eq!(rows(&mut s, "SELECT * FROM t WHERE a = 7 AND b = 7"), "");
    assert_eq!(code(&mut s, "INSERT INTO t VALUES (1, 1, 0) ON CONFLICT (a) DO NOTHING"), Code::InvalidColumnReference);
    assert_eq!(
        code(&mut s, "INSERT INTO t VALUES (1, 1, 0) ON CONFLICT (a, b) DO UPDATE SET n = n + 1"),
        Code::AmbiguousColumn
    );
    assert_eq!(
        tag(&mut s, "INSERT INTO t VALUES (1, 1) ON CONFLICT ON CONSTRAINT t_pkey DO UPDATE SET n = DEFAULT"),
        "INSERT 0 1"
    );
    assert_eq!(rows(&mut s, "SELECT n FROM t WHERE b = 1 AND a = 1"), "0");
    let from_query =
        "INSERT INTO t SELECT a, b, n + 1 FROM t WHERE a = 1 ON CONFLICT (a, b) DO UPDATE SET n = excluded.n";
    assert_eq!(tag(&mut s, from_query), "INSERT 0 2");
    assert_eq!(rows(&mut s, "SELECT n FROM t WHERE b = 1 AND a = 1"), "1");
}

#[test]
fn transactions_are_all_or_nothing() {
    let fixture = fixture();
    let (mut a, mut b) = (fixture.db.session(), fixture.db.session());
    tag(&mut a, "CREATE TABLE t (id int PRIMARY KEY, v int)");
    a.execute("BEGIN; INSERT INTO t VALUES (1, 1)").unwrap();
    assert_eq!(rows(&mut a, "SELECT v FROM t WHERE id = 1"), "1");
    assert_eq!(rows(&mut a, "SELECT count(*) FROM t"), "1");
    assert_eq!(rows(&mut b, "SELECT v FROM t WHERE id = 1"), "");
    assert_eq!(code(&mut a, "INSERT INTO t VALUES (1, 1)"), Code::UniqueViolation);
    assert_eq!(code(&mut a, "SELECT 1"), Code::FailedTransaction);
    assert_eq!(tag(&mut a, "COMMIT"), "ROLLBACK");
    assert_eq!(rows(&mut a, "SELECT v FROM t WHERE id = 1"), "");
    tag(&mut a, "INSERT INTO t VALUES (1, 1)");
    a.execute("BEGIN; UPDATE t SET v = 2 WHERE id = 1; SAVEPOINT x").unwrap();
    assert_eq!(code(&mut a, "UPDATE t SET v = v / 0 WHERE id = 1"), Code::DivisionByZero);
    assert_eq!(tag(&mut a, "ROLLBACK TO x"), "ROLLBACK");
    a.execute("UPDATE t SET v = v + 1 WHERE id = 1; COMMIT").unwrap();
    assert_eq!(rows(&mut b, "SELECT v FROM t WHERE id = 1"), "3");
    b.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT v FROM t WHERE id = 1").unwrap();
    a.execute("UPDATE t SET v = 4 WHERE id = 1").unwrap();
    assert_eq!(rows(&mut b, "SELECT v FROM t WHERE id = 1"), "3");
    assert_eq!(code(&mut b, "UPDATE t SET v = 5 WHERE id = 1"), Code::SerializationFailure);
    tag(&mut b, "ROLLBACK");
    assert_eq!(tag(&mut b, "UPDATE t SET v = v + 1 WHERE id = 1"), "UPDATE 1");
    a.execute("BEGIN READ ONLY").unwrap();
    assert_eq!(code(&mut a, "DELETE FROM t WHERE id = 1"), Code::ReadOnlyTransaction);
    tag(&mut a, "ROLLBACK");
    assert_eq!(tag(&mut a, "COMMIT"), "COMMIT");
    assert_eq!(rows(&mut a, "SELECT v FROM t WHERE id = 1"), "5");
}

#[test]
fn ddl_belongs_to_its_transaction() {
    let fixture = fixture();
    let (mut a, mut b) = (fixture.db.session(), fixture.db.session());
    a.execute("BEGIN; CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(rows(&mut a, "SELECT id FROM t WHERE id = 1"), "1");
    assert_eq!(code(&mut b, "SELECT id FROM t WHERE id = 1"), Code::UndefinedTable);
    tag(&mut a, "ROLLBACK");
    assert_eq!(code(&mut a, "SELECT id FROM t WHERE id = 1"), Code::UndefinedTable);
    a.execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)").unwrap();
    let by_key = b.prepare("SELECT * FROM t WHERE id = $1").unwrap();
    assert_eq!(show(&b.execute_prepared(&by_key, &[Value::Int(1)]).unwrap()), "1");
    a.execute("DROP TABLE t; CREATE TABLE t (id text PRIMARY KEY, n int); INSERT INTO t VALUES ('1', 7)").unwrap();
    assert_eq!(show(&b.execute_prepared(&by_key, &[Value::Text("1".into())]).unwrap()), "1|7");
    assert_eq!(tag(&mut a, "DROP TABLE IF EXISTS nothing, t"), "DROP TABLE");
    assert_eq!(b.execute_prepared(&by_key, &[Value::Int(1)]).unwrap_err().code(), Code::UndefinedTable);
    assert_eq!(tag(&mut a, "CREATE TABLE u AS SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, NULL"), "SELECT 2");
    assert_eq!(rows(&mut a, "SELECT a, b FROM u ORDER BY a"), "1|x 2|NULL");
}

#[test]
fn parameters_take_the_types_of_their_places() {
    let fixture = fixture();
    let mut s = fixture.db.session();
    tag(&mut s, "CREATE TABLE t (id bigint PRIMARY KEY, p numeric(8,2), d date, f float8)");
    let insert = s.prepare("INSERT INTO t VALUES ($1, $2, $3, $4) RETURNING *").unwrap();
    let numeric = weft_expr::text::NUMERIC_DEFAULT;
    assert_eq!(insert.param_types(), [DataType::BigInt, numeric, DataType::Date, DataType::DoublePrecision]);
    let text = |text: &str| Value::Text(text.into());
    let params = [Value::Int(1), text("1.255"), text("2013-05-06"), Value::Int(2)];
    assert_eq!(show(&s.execute_prepared(&insert, &params).unwrap()), "1|1.26|2013-05-06|2");
    let short = s.execute_prepared(&insert, &params[..2]).unwrap_err();
    assert_eq!(short.code(), Code::UndefinedParameter);
    let wrong = s.execute_prepared(&insert, &[Value::Bool(true), Value::Null, Value::Null, Value::Null]).unwrap_err();
    assert_eq!(wrong.code(), Code::DatatypeMismatch);
    s.execute("PREPARE q AS SELECT d FROM t WHERE id = $1").unwrap();
    assert_eq!(rows(&mut s, "EXECUTE q(1)"), "2013-05-06");
    assert_eq!(code(&mut s, "EXECUTE r(1)"), Code::UndefinedPrepared);
}

#[test]
fn conflicting_statements_are_run_again() {
    let fixture = fixture();
    let mut s = fixture.db.session();
    tag(&mut s, "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let mut session = fixture.db.session();
            std::thread::spawn(move || {
                for _ in 0..200 {
                    session.execute("UPDATE t SET n = n + 1 WHERE id = 1").unwrap();
                    session.execute("INSERT INTO t VALUES (2, 1) ON CONFLICT (id) DO UPDATE SET n = t.n + 1").unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(rows(&mut s, "SELECT id, n FROM t WHERE id IN (1, 2)"), "1|800 2|800");
}

#[test]
fn batches_are_appended_and_tested() {
    let fixture = fixture();
    let mut s = fixture.db.session();
    tag(&mut s, "CREATE TABLE t (id int PRIMARY KEY, name varchar(8) NOT NULL, n int DEFAULT 3 CHECK (n < 10))");
    let batch = |from: i64, count: usize, name: &str| {
        let fields = vec![Field::new("name", ArrowType::Utf8, true), Field::new("id", ArrowType::Int64, true)];
        let names = StringArray::from(vec![name; count]);
        let ids = Int64Array::from_iter_values(from..from + count as i64);
        RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), vec![Arc::new(names), Arc::new(ids)]).unwrap()
    };
    assert_eq!(s.append("t", &[batch(0, 100, "a")]).unwrap(), 100);
    assert_eq!(s.append("t", &[batch(1000, 30_000, "b"), batch(50_000, 10, "c")]).unwrap(), 30_010);
    assert_eq!(rows(&mut s, "SELECT count(*), sum(n) FROM t"), "30110|90330");
    assert_eq!(rows(&mut s, "SELECT name, n FROM t WHERE id = 50009"), "c|3");
    assert_eq!(s.append("t", &[batch(99, 1, "a")]).unwrap_err().code(), Code::UniqueViolation);
    assert_eq!(s.append("t", &[batch(200, 1, "too long for it")]).unwrap_err().code(), Code::StringTooLong);
    assert_eq!(s.append("t", &[batch(1 << 40, 1, "a")]).unwrap_err().code(), Code::NumericOutOfRange);
    assert_eq!(rows(&mut s, "SELECT count(*) FROM t"), "30110");
}

/// What the point engine cannot show of new rows is planned by the query engine: with the literals, not their template.
#[test]
fn literals_are_written_whatever_engine_shows_them() {
    let fixture = fixture();
    let mut s = fixture.db.session();
    s.execute("CREATE TABLE t (a int PRIMARY KEY, b text)").unwrap();
    assert_eq!(rows(&mut s, "INSERT INTO t VALUES (1, 'ab'), (2, NULL) RETURNING reverse(b), a"), "ba|1 NULL|2");
    assert_eq!(rows(&mut s, "INSERT INTO t VALUES (3, 'ab') RETURNING (SELECT count(*) FROM t), a"), "2|3");
    assert_eq!(rows(&mut s, "SELECT * FROM t ORDER BY a"), "1|ab 2|NULL 3|ab");
}

#[test]
fn many_literals_mean_what_few_mean() {
    let fixture = fixture();
    let mut s = fixture.db.session();
    let columns =
        "(a smallint, b numeric(6,2), c varchar(4), d date DEFAULT '2000-01-01', e bool, f float8, PRIMARY KEY (a))";
    tag(&mut s, &format!("CREATE TABLE many {columns}; CREATE TABLE few {columns}"));
    let tuples = [
        "(1, 1.005, 'it''s', true, 1e3)",
        "(-2.4, '7', NULL, 'f', '-inf')",
        "(3, -0.125, 5, FALSE, .5)",
        "('4', 1, 'é   ', NULL, 7)",
    ];
    let many = format!("INSERT INTO many (a, b, c, e, f) VALUES {} RETURNING a", tuples.join(", "));
    assert_eq!(rows(&mut s, &many), "1 -2 3 4");
    for tuple in tuples {
        tag(&mut s, &format!("INSERT INTO few (a, b, c, e, f) VALUES {tuple}"));
    }
    let all = rows(&mut s, "SELECT * FROM many ORDER BY a");
    assert_eq!(all, rows(&mut s, "SELECT * FROM few ORDER BY a"));
    assert!(all.starts_with("-2|7.00|NULL|2000-01-01|f|-Infinity 1|1.01|it's|2000-01-01|t|1000"), "{all}");
    let upsert =
        "INSERT INTO many (a, b) VALUES (1, 9), (2, 9), (3, 9), (9, 9) ON CONFLICT (a) DO UPDATE SET b = excluded.b";
    assert_eq!(tag(&mut s, upsert), "INSERT 0 4");
    for (sql, code, position) in [
        ("INSERT INTO many (a) VALUES (11), (12), (13), ('x')", Code::InvalidText, Some(48)),
        ("INSERT INTO many (a) VALUES (11), (12), (13), (99999)", Code::NumericOutOfRange, Some(48)),
        ("INSERT INTO many (a) VALUES (11), (12), (13), (true)", Code::DatatypeMismatch, Some(48)),
        ("INSERT INTO many (a) VALUES (11), (12), (13), (14) RETURNING z", Code::UndefinedColumn, Some(62)),
        ("INSERT INTO many (a) VALUES (11), (12), (13), (14) RETURNIN a", Code::SyntaxError, Some(52)),
        ("INSERT INTO many (a) VALUES (11), (12), (13), (1)", Code::UniqueViolation, None),
        ("INSERT INTO many (a) VALUES (11), (12), (13, 14), (1)", Code::SyntaxError, None),
    ] {
        let error = s.execute(sql).map(|_| ()).expect_err(sql);
        assert_eq!((error.code(), error.position()), (code, position), "{sql}: {error}");
    }
    assert_eq!(rows(&mut s, "SELECT count(*) FROM many"), "6");
}

#[test]
fn explain_names_the_engine() {
    let fixture = fixture();
    let mut s = fixture.db.session();
    tag(&mut s, "CREATE TABLE t (id int PRIMARY KEY, n int)");
    assert_eq!(
        rows(&mut s, "EXPLAIN SELECT n FROM t WHERE id = 1 AND n > 2"),
        "Point engine: point lookup on t by primary key   Key: id = 1   Filter: n > 2   Columns read: n"
    );
    assert!(rows(&mut s, "EXPLAIN SELECT sum(n) FROM t").starts_with("Query engine"));
    assert!(rows(&mut s, "EXPLAIN UPDATE t SET n = 1 WHERE n > 2").starts_with("Query engine"));
    assert!(rows(&mut s, "EXPLAIN ANALYZE INSERT INTO t VALUES (1, 1)").contains("Rows: 1"));
    assert_eq!(rows(&mut s, "SELECT n FROM t WHERE id = 1"), "1");
}

#[test]
fn isolation_levels_are_named_and_kept() {
    let fixture = fixture();
    let (mut a, mut b) = (fixture.db.session(), fixture.db.session());
    tag(&mut a, "CREATE TABLE t (id int PRIMARY KEY, v int, w int)");
    tag(&mut a, "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2)");
    let level = |session: &mut Session| rows(session, "SHOW transaction_isolation");
    // A snapshot per statement: the second read sees the commit, the update is made on the newest version.
    a.execute("BEGIN; SELECT v FROM t WHERE id = 1").unwrap();
    tag(&mut b, "UPDATE t SET v = 10 WHERE id = 1");
    assert_eq!(rows(&mut a, "SELECT v FROM t WHERE id = 1"), "10");
    tag(&mut b, "UPDATE t SET v = 11 WHERE id = 1");
    assert_eq!(rows(&mut a, "UPDATE t SET v = v + 1 WHERE v = 11 RETURNING v"), "12");
    assert_eq!(code(&mut a, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"), Code::ActiveTransaction);
    tag(&mut a, "ROLLBACK");
    a.execute("BEGIN; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE").unwrap();
    assert_eq!(level(&mut a), "serializable");
    assert_eq!(rows(&mut a, "SELECT sum(v) FROM t"), "13");
    b.execute("BEGIN ISOLATION LEVEL SERIALIZABLE; UPDATE t SET v = 3 WHERE id = 2; COMMIT").unwrap();
    tag(&mut a, "UPDATE t SET w = 13 WHERE id = 1");
    assert_eq!(code(&mut a, "COMMIT"), Code::SerializationFailure);
    assert_eq!(level(&mut a), "read committed");
    a.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN").unwrap();
    assert_eq!(level(&mut a), "repeatable read");
    a.execute("SELECT 1; COMMIT; SET default_transaction_isolation = 'read uncommitted'").unwrap();
    assert_eq!(level(&mut a), "read committed");
    // Different columns of one row, by key and by scan.
    a.execute("BEGIN; UPDATE t SET v = 100 WHERE id = 1").unwrap();
    b.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; UPDATE t SET w = w + 200 WHERE w = 1; COMMIT").unwrap();
    assert_eq!(rows(&mut a, "SELECT v, w FROM t WHERE id = 1"), "100|201");
    tag(&mut a, "COMMIT");
    assert_eq!(rows(&mut b, "SELECT v, w FROM t WHERE id = 1"), "100|201");
}

#[test]
fn a_join_larger_than_memory_spills() {
    let fixture = fixture_with(EngineOptions::default());
    let queries = QueryOptions { memory_bytes: 16 << 20, ..QueryOptions::default() };
    let db = SqlEngine::new(Arc::clone(fixture.db.kernel()), sql_options(queries));
    let mut s = db.session();
    tag(&mut s, "CREATE TABLE a (id int PRIMARY KEY, v bigint); CREATE TABLE b (id int PRIMARY KEY, v bigint)");
    for table in ["a", "b"] {
        let rows = "SELECT i, i::bigint * 7919 % 1000003 FROM generate_series(1, 900000) g(i)";
        tag(&mut s, &format!("INSERT INTO {table} {rows}"));
    }
    let join = "SELECT count(*), sum(a.id), min(a.v + b.v) FROM a JOIN b ON a.v = b.v";
    let expected = "900000|405000450000|2";
    assert_eq!(rows(&mut s, join), expected);
    assert_eq!(rows(&mut s, join), expected);
    assert!(rows(&mut s, &format!("EXPLAIN {join}")).contains("HashJoin"), "a new plan tries the fast join first");
}

#[test]
fn short_statements_go_on_while_queries_wait() {
    let fixture = fixture_with(EngineOptions {
        transaction_slots: 3,
        query_slots: 1,
        admission_timeout: std::time::Duration::from_millis(30),
        ..EngineOptions::default()
    });
    let (mut a, mut b) = (fixture.db.session(), fixture.db.session());
    tag(&mut a, "CREATE TABLE t (id int PRIMARY KEY, v int)");
    tag(&mut a, "INSERT INTO t VALUES (1, 1)");
    let query = fixture.db.kernel().admit_query(None).unwrap();
    assert_eq!(code(&mut b, "SELECT sum(v) FROM t"), Code::TooManyTransactions);
    assert_eq!(rows(&mut b, "SELECT v FROM t WHERE id = 1"), "1");
    drop(query);
    assert_eq!(rows(&mut b, "SELECT sum(v) FROM t"), "1");
    let open: Vec<_> = (0..3).map(|_| fixture.db.kernel().begin().unwrap()).collect();
    assert_eq!(code(&mut b, "SELECT v FROM t WHERE id = 1"), Code::TooManyTransactions);
    drop(open);
    assert_eq!(rows(&mut b, "SELECT v FROM t WHERE id = 1"), "1");
}

/// Statements of the query engine that wait for a row keep no slot that its holder's next query needs.
#[test]
fn who_waits_for_a_row_holds_no_query_slot() {
    let fixture = fixture_with(EngineOptions {
        query_slots: 2,
        admission_timeout: std::time::Duration::from_millis(300),
        ..EngineOptions::default()
    });
    let mut holder = fixture.db.session();
    tag(&mut holder, "CREATE TABLE t (id int PRIMARY KEY, v int UNIQUE, w int)");
    tag(&mut holder, "CREATE TABLE s (id int PRIMARY KEY, v int, w int)");
    tag(&mut holder, "INSERT INTO t SELECT i, i, i FROM generate_series(1, 100) g(i)");
    tag(&mut holder, "INSERT INTO s SELECT i, i, i FROM generate_series(1, 100) g(i)");
    for statement in [
        "UPDATE t SET w = w + 1 WHERE w = 1",
        "UPDATE t SET w = w + 1 WHERE w < 3 RETURNING id",
        "DELETE FROM t WHERE w % 100 = 1",
        "SELECT id FROM t WHERE w + 0 = 1 FOR UPDATE",
        "UPDATE t SET w = t.w + 1 FROM s WHERE s.w = t.w AND s.w < 3",
        "INSERT INTO t SELECT id, v, w FROM s WHERE w = 1",
        "INSERT INTO t SELECT id, v, w FROM s WHERE w = 1 ON CONFLICT (id) DO UPDATE SET w = 0",
        "DELETE FROM t USING s WHERE s.w = t.w AND s.w = 1",
    ] {
        tag(&mut holder, "BEGIN");
        tag(&mut holder, "UPDATE t SET w = w WHERE id = 1");
        std::thread::scope(|scope| {
            let waiters: Vec<_> = (0..4)
                .map(|_| {
                    let mut session = fixture.db.session();
                    scope.spawn(move || session.execute(&format!("BEGIN; {statement}; ROLLBACK")))
                })
                .collect();
            let waiting = || -> u64 {
                let in_queues = fixture.db.kernel().locks().iter().map(|lock| lock.waiters.len() as u64).sum::<u64>();
                in_queues + fixture.db.kernel().status().queries.waiting
            };
            while waiting() < 4 {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            assert_eq!(rows(&mut holder, "SELECT sum(w) FROM t"), "5050", "beside {statement}");
            tag(&mut holder, "ROLLBACK");
            for waiter in waiters {
                let answer = waiter.join().unwrap();
                let is_taken = |error: &Error| error.code() == Code::UniqueViolation && statement.starts_with("INSERT");
                assert!(answer.as_ref().err().is_none_or(is_taken), "{statement}: {answer:?}");
            }
        });
        assert_eq!(fixture.db.kernel().status().queries.taken, 0);
    }
}

#[test]
fn rows_are_locked_for_update() {
    let fixture = fixture();
    let (mut a, mut b) = (fixture.db.session(), fixture.db.session());
    tag(&mut a, "CREATE TABLE jobs (id int PRIMARY KEY, state text, n int)");
    tag(&mut a, "INSERT INTO jobs SELECT i, 'new', i * 10 FROM generate_series(1, 300) s(i)");
    tag(&mut b, "SET lock_timeout = '20ms'");
    for query in [
        "SELECT n FROM jobs WHERE id = 1 FOR UPDATE",
        "SELECT n FROM jobs WHERE n < 15 ORDER BY 1 FOR NO KEY UPDATE",
        "SELECT n FROM jobs AS j WHERE n + 0 < 15 FOR UPDATE OF j",
    ] {
        tag(&mut a, "BEGIN");
        assert_eq!(rows(&mut a, query), "10");
        assert_eq!(code(&mut b, "UPDATE jobs SET n = 0 WHERE id = 1"), Code::LockTimeout);
        assert_eq!(code(&mut b, "SELECT * FROM jobs WHERE id = 1 FOR SHARE NOWAIT"), Code::LockTimeout);
        assert_eq!(rows(&mut b, "SELECT * FROM jobs WHERE id = 1 FOR SHARE SKIP LOCKED"), "");
        assert_eq!(rows(&mut b, "SELECT n FROM jobs WHERE id = 1"), "10");
        tag(&mut a, "COMMIT");
    }
    // A queue: each worker gets its own first job, also when many are taken.
    let next = "SELECT id, state FROM jobs WHERE state = 'new' ORDER BY 1 LIMIT 1 FOR UPDATE SKIP LOCKED";
    tag(&mut a, "BEGIN");
    assert_eq!(rows(&mut a, next), "1|new");
    tag(&mut b, "BEGIN");
    assert_eq!(rows(&mut b, next), "2|new");
    assert_eq!(rows(&mut a, &next.replace("LIMIT 1", "LIMIT 2 OFFSET 1")), "3|new 4|new");
    tag(&mut b, "ROLLBACK");
    assert_eq!(rows(&mut a, "SELECT count(*) FROM jobs"), "300");
    assert_eq!(rows(&mut a, "SELECT id FROM jobs WHERE id <= 250 ORDER BY id DESC LIMIT 1 FOR UPDATE"), "250");
    a.execute("SELECT id FROM jobs WHERE id <= 250 FOR UPDATE").unwrap();
    tag(&mut b, "BEGIN");
    assert_eq!(rows(&mut b, next), "251|new");
    tag(&mut b, "COMMIT");
    tag(&mut a, "COMMIT");
    for refused in
        ["SELECT state, count(*) FROM jobs GROUP BY state FOR UPDATE", "SELECT DISTINCT state FROM jobs FOR SHARE"]
    {
        assert_eq!(code(&mut a, refused), Code::FeatureNotSupported, "{refused}");
    }
    assert_eq!(code(&mut a, "SELECT * FROM jobs FOR UPDATE OF other"), Code::UndefinedTable);
    tag(&mut a, "BEGIN READ ONLY");
    assert_eq!(code(&mut a, "SELECT * FROM jobs FOR UPDATE"), Code::ReadOnlyTransaction);
}

#[test]
fn settings_and_upkeep() {
    let fixture = fixture();
    let mut s = fixture.db.session();
    assert_eq!(rows(&mut s, "SHOW transaction isolation level"), "read committed");
    assert_eq!(rows(&mut s, "SET statement_timeout = '5s'; SHOW statement_timeout"), "5s");
    assert_eq!(rows(&mut s, "SET TIME ZONE 'UTC'; SHOW timezone"), "UTC");
    assert_eq!(rows(&mut s, "RESET ALL; SHOW statement_timeout"), "0");
    assert_eq!(tag(&mut s, "CREATE TABLE t (a int); INSERT INTO t VALUES (1), (1); CHECKPOINT"), "CHECKPOINT");
    assert_eq!(tag(&mut s, "VACUUM t"), "VACUUM");
    assert_eq!(rows(&mut s, "SELECT a FROM t; "), "1 1");
    assert_eq!(tag(&mut s, "CREATE TEMP TABLE u (b int)"), "CREATE TABLE");
    assert_eq!(s.execute("").unwrap().len(), 0);
    assert!(fixture.db.kernel().check().unwrap().is_empty());
}

/// The times of the hot paths; run by name, in release.
#[test]
#[ignore = "measures"]
fn measure_hot_paths() {
    let fixture = fixture();
    let mut s = fixture.db.session();
    let columns: Vec<String> =
        (0..30).map(|n| if n < 15 { format!("c{n} int") } else { format!("c{n} text") }).collect();
    s.execute(&format!("CREATE TABLE t (id bigint PRIMARY KEY, {})", columns.join(", "))).unwrap();
    let values: Vec<String> = (0..30).map(|n| if n < 15 { n.to_string() } else { format!("'text {n}'") }).collect();
    let values = values.join(", ");
    let time = |name: &str, count: u32, work: &mut dyn FnMut(u32)| {
        let start = std::time::Instant::now();
        (0..count).for_each(work);
        println!("{name}: {:.2} us", start.elapsed().as_secs_f64() * 1e6 / f64::from(count));
    };
    time("insert of one row, literals", 5_000, &mut |n| {
        s.execute(&format!("INSERT INTO t VALUES ({n}, {values})")).unwrap();
    });
    let list: Vec<String> = (0..1000).map(|n| format!("({}, {values})", n + 10_000_000)).collect();
    let thousand = format!("INSERT INTO t VALUES {}", list.join(", "));
    time("insert of 1000 rows, literals", 20, &mut |n| {
        let text = thousand.replace("(10", &format!("({}", n + 10));
        s.execute(&text).unwrap();
    });
    let update = s.prepare("UPDATE t SET c1 = $2, c2 = $3, c20 = $4 WHERE id = $1").unwrap();
    time("update by key, prepared", 20_000, &mut |n| {
        let id = Value::Int(i64::from(n % 5_000));
        s.execute_prepared(&update, &[id, Value::Int(1), Value::Int(2), Value::Text("new".into())]).unwrap();
    });
    let upsert = s
        .prepare(
            "INSERT INTO t (id, c1, c20) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET c1 = \
             excluded.c1, c20 = excluded.c20",
        )
        .unwrap();
    time("upsert, prepared", 20_000, &mut |n| {
        let id = Value::Int(i64::from(n % 5_000));
        s.execute_prepared(&upsert, &[id, Value::Int(1), Value::Text("new".into())]).unwrap();
    });
    let select = s.prepare("SELECT c1, c2, c20 FROM t WHERE id = $1").unwrap();
    time("point select of 3 columns, prepared", 200_000, &mut |n| {
        let outcome = s.execute_prepared(&select, &[Value::Int(i64::from(n % 5_000))]).unwrap();
        assert_eq!(outcome.rows.len(), 1);
    });
    time("point select of 3 columns, cached text", 200_000, &mut |_| {
        assert_eq!(s.execute("SELECT c1, c2, c20 FROM t WHERE id = 77").unwrap()[0].rows.len(), 1);
    });
    s.execute("CHECKPOINT").unwrap();
    time("point select of 3 columns, from files", 200_000, &mut |n| {
        let outcome = s.execute_prepared(&select, &[Value::Int(i64::from(n % 5_000))]).unwrap();
        assert_eq!(outcome.rows.len(), 1);
    });
    time("begin and rollback of the kernel", 200_000, &mut |_| fixture.db.kernel().begin().unwrap().rollback());
    let sum = s.prepare("SELECT sum(c1) FROM t").unwrap();
    time("sum of 6000 rows, prepared", 500, &mut |_| drop(s.execute_prepared(&sum, &[]).unwrap()));
}

#[test]
fn a_request_to_cancel_is_for_what_runs_when_it_is_made() {
    let fixture = fixture();
    let mut session = fixture.db.session();
    let token = session.cancel_token();
    let query = "SELECT count(*) FROM generate_series(1, 3) a(x)";
    // Nothing runs: nothing is cancelled.
    token.cancel();
    assert_eq!(rows(&mut session, query), "3");
    // The message of a statement has come, the statement has not begun.
    let attended = session.attend();
    token.cancel();
    assert_eq!(session.check_cancelled().unwrap_err().sqlstate(), "57014");
    assert_eq!(session.execute(query).unwrap_err().sqlstate(), "57014");
    drop(attended);
    token.cancel();
    assert_eq!(rows(&mut session, query), "3");
    // The time limit ends with its statement.
    session.set("statement_timeout", "1").unwrap();
    let _ = session.execute(query);
    std::thread::sleep(std::time::Duration::from_millis(3));
    let _attended = session.attend();
    session.check_cancelled().unwrap();
}

#[test]
fn domains_are_made_of_domains_so_deep_and_no_deeper() {
    let fixture = fixture();
    let mut s = fixture.db.session();
    tag(&mut s, "CREATE DOMAIN d1 AS integer CHECK (VALUE > 0)");
    for depth in 2..=64 {
        tag(&mut s, &format!("CREATE DOMAIN d{depth} AS d{}", depth - 1));
    }
    assert_eq!(code(&mut s, "CREATE DOMAIN d65 AS d64"), Code::StatementTooComplex);
    assert_eq!(rows(&mut s, "SELECT 7::d64"), "7");
    assert_eq!(code(&mut s, "SELECT (-7)::d64"), Code::CheckViolation);
}
