//! The query engine, statements that write many rows, and COPY, against real tables in a directory of their own.

#![allow(clippy::disallowed_methods)]

use std::path::PathBuf;
use std::sync::Arc;

use weft_env::Env;
use weft_format::{DataType, Error, Value, ValueRef};
use weft_kernel::{Engine, EngineOptions};
use weft_sql::{Outcome, Session, SqlEngine, SqlOptions};

struct Db {
    dir: PathBuf,
    kernel: Arc<Engine>,
    sql: Arc<SqlEngine>,
}

impl Db {
    fn new(name: &str) -> Db {
        let dir = std::env::temp_dir().join(format!("weft-sql-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let methods = vec![weft_tables::column_method(), weft_tables::row_method(), weft_tables::lineage_method()];
        let kernel =
            Engine::open(Env::real(), &dir, methods, EngineOptions::default()).expect("an empty directory opens");
        let sql = SqlEngine::new(Arc::clone(&kernel), SqlOptions::new(weft_query::query_engine));
        Db { dir, kernel, sql }
    }

    fn session(&self) -> Session {
        let mut session = self.sql.session();
        session.set("engine", "query").expect("the setting exists");
        session
    }

    fn file(&self, name: &str, content: &[u8]) -> String {
        let path = self.dir.with_extension(name);
        std::fs::write(&path, content).expect("the temporary directory is writable");
        path.display().to_string()
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        let _ = self.kernel.close();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn shown(value: ValueRef<'_>, data_type: DataType) -> String {
    match value {
        ValueRef::Null => "NULL".into(),
        value => weft_sql::text::print(value, data_type),
    }
}

fn rows(outcome: &Outcome) -> String {
    let line = |row: Vec<Value>| {
        let values = row.iter().zip(outcome.columns.iter()).map(|(v, c)| shown(v.as_ref(), c.data_type));
        values.collect::<Vec<_>>().join(",")
    };
    outcome.rows.iter().map(line).collect::<Vec<_>>().join(" ")
}

fn run(session: &mut Session, sql: &str) -> Result<Outcome, Error> {
    Ok(session.execute(sql)?.pop().expect("one statement gives one outcome"))
}

/// The rows of a query; or the tag of another statement; or `!SQLSTATE`.
fn answer(session: &mut Session, sql: &str) -> String {
    match run(session, sql) {
        Ok(outcome) if outcome.columns.is_empty() => outcome.tag.to_string(),
        Ok(outcome) => rows(&outcome),
        Err(error) => format!("!{}", error.sqlstate()),
    }
}

#[track_caller]
fn expect(session: &mut Session, cases: &[(&str, &str)]) {
    for (sql, wanted) in cases {
        let got = match run(session, sql) {
            Ok(outcome) if outcome.columns.is_empty() => outcome.tag.to_string(),
            Ok(outcome) => rows(&outcome),
            Err(error) if wanted.starts_with('!') => format!("!{}", error.sqlstate()),
            Err(error) => format!("!{} {error}", error.sqlstate()),
        };
        assert_eq!(got, *wanted, "{sql}");
    }
}

fn filled(db: &Db) -> Session {
    let mut session = db.session();
    expect(
        &mut session,
        &[
            (
                "CREATE TABLE t (id bigint PRIMARY KEY, a integer, b text, d date, n numeric(10,2), \
                 f double precision, \
                 ok boolean, ts timestamp)",
                "CREATE TABLE",
            ),
            (
                "INSERT INTO t VALUES (1, 10, 'x', '2022-01-08', 10.50, 1.5, true, '2023-11-14 22:13:20'), \
                 (2, 20, 'y', '2022-01-09', 20.50, 2.5, false, '2023-11-14 22:15:00'), \
                 (3, NULL, 'x', '2022-01-10', NULL, 0, NULL, NULL)",
                "INSERT 0 3",
            ),
            ("CREATE TABLE u (id bigint PRIMARY KEY, v text)", "CREATE TABLE"),
            ("INSERT INTO u VALUES (1, 'one'), (3, 'three')", "INSERT 0 2"),
            ("CREATE TABLE h (x integer, y text)", "CREATE TABLE"),
            ("INSERT INTO h VALUES (5, 'five'), (6, 'six')", "INSERT 0 2"),
        ],
    );
    session
}

#[test]
fn answers_have_postgresql_types_and_values() {
    let db = Db::new("types");
    let mut session = filled(&db);
    expect(
        &mut session,
        &[
            (
                "SELECT count(*), sum(a), sum(id), avg(a), min(b), max(d) FROM t",
                "3,30,6,15.0000000000000000,x,2022-01-10",
            ),
            ("SELECT b, count(*) FROM t GROUP BY b ORDER BY count(*) DESC, b", "x,2 y,1"),
            ("SELECT 7 / 2, -7 / 2, 7 % 3", "3,-3,1"),
            ("SELECT CAST(2.5 AS int), 2.5::float8::int, 3.5::float8::int, '12'::int", "3,2,4,12"),
            ("SELECT d - date '2022-01-01', d + 1, d - 1 FROM t WHERE id = 1", "7,2022-01-09,2022-01-07"),
            (
                "SELECT d + interval '1 day', d + interval '1 hour' FROM t WHERE id = 1",
                "2022-01-09 00:00:00,2022-01-08 01:00:00",
            ),
            ("SELECT ts - ts, extract(year FROM d) FROM t WHERE id = 1", "00:00:00,2022"),
            (
                "SELECT timestamp '0001-01-01', timestamp '9999-12-31 23:59:59.999999'",
                "0001-01-01 00:00:00,9999-12-31 23:59:59.999999",
            ),
            ("SELECT id FROM t WHERE id IN (SELECT id FROM u) ORDER BY id", "1 3"),
            ("SELECT t.b, u.v FROM t LEFT JOIN u ON t.id = u.id ORDER BY t.id", "x,one y,NULL x,three"),
            ("SELECT id FROM t ORDER BY a DESC", "3 2 1"),
            ("SELECT id FROM t ORDER BY a NULLS FIRST LIMIT 1", "3"),
            ("SELECT id FROM t ORDER BY id FETCH FIRST 2 ROWS ONLY", "1 2"),
            ("SELECT DISTINCT b FROM t ORDER BY b", "x y"),
            (
                "SELECT upper(b), length(b), coalesce(a, 0), round(n, 1) FROM t ORDER BY id",
                "X,1,10,10.5 Y,1,20,20.5 X,1,0,NULL",
            ),
            ("SELECT CASE WHEN a > 10 THEN 1/0 ELSE 0 END FROM t WHERE id = 1", "0"),
            ("VALUES (1, 'a'), (2, NULL)", "1,a 2,NULL"),
            ("SELECT * FROM h ORDER BY x", "5,five 6,six"),
            ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT sum(n) FROM r", "15"),
            ("SELECT s.count FROM (SELECT count(*) FROM t) s", "3"),
            ("SELECT a FROM t WHERE id = '2'", "20"),
            ("SELECT count(*) FROM t WHERE ok", "1"),
            ("SELECT count(*) FROM t WHERE NOT ok OR a IS NULL", "2"),
            ("SELECT count(*) FROM t WHERE d BETWEEN '2022-01-09' AND '2022-01-10' AND n IS NOT NULL", "1"),
        ],
    );
    let outcome =
        run(&mut session, "SELECT 1, count(*), a, a, upper(b), 'x' AS y FROM t GROUP BY a, b LIMIT 1").expect("runs");
    let names: Vec<&str> = outcome.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["?column?", "count", "a", "a", "upper", "y"]);
    let types: Vec<DataType> = outcome.columns.iter().map(|column| column.data_type).collect();
    assert_eq!(types[..3], [DataType::Integer, DataType::BigInt, DataType::Integer]);
}

#[test]
fn mistakes_have_their_sqlstates() {
    let db = Db::new("mistakes");
    let mut session = filled(&db);
    expect(
        &mut session,
        &[
            ("SELECT 2147483647 + 1", "!22003"),
            ("SELECT 9223372036854775807 + 1", "!22003"),
            ("SELECT a * 2000000000 FROM t", "!22003"),
            ("SELECT -(-9223372036854775807 - 1) FROM t", "!22003"),
            ("SELECT a / 0 FROM t", "!22012"),
            ("SELECT f / 0 FROM t", "!22012"),
            ("SELECT sum(1 / (a - 10)) FROM t", "!22012"),
            ("SELECT 'abc'::int", "!22P02"),
            ("SELECT '2024-02-30'::date", "!22008"),
            ("SELECT nope FROM t", "!42703"),
            ("SELECT * FROM nope", "!42P01"),
            ("SELECT nofunc(a) FROM t", "!42883"),
            ("SELECT a, count(*) FROM t", "!42803"),
            ("SELECT id FROM t, u", "!42702"),
            ("SELECT (SELECT id FROM t)", "!21000"),
            ("SELECT __rowid FROM h", "!42703"),
            ("SELECT 123456::numeric(4,2)", "!22003"),
            ("SELECT * INTO t FROM t", "!42P07"),
        ],
    );
    let error = run(&mut session, "SELECT id,\n  nope FROM t").expect_err("there is no such column");
    assert_eq!(error.position(), Some(14));
}

#[test]
fn deep_and_wide_expressions_end_in_an_answer_or_an_error() {
    let db = Db::new("deep");
    let mut session = filled(&db);
    let sum = vec!["1"; 500].join(" + ");
    assert_eq!(answer(&mut session, &format!("SELECT {sum}")), "500");
    let huge = vec!["a"; 20_000].join(" + ");
    assert_eq!(answer(&mut session, &format!("SELECT {huge} FROM t")), "!54001");
    let list: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
    assert_eq!(answer(&mut session, &format!("SELECT count(*) FROM t WHERE id IN ({})", list.join(","))), "3");
}

#[test]
fn prepared_statements_see_each_new_snapshot() {
    let db = Db::new("prepared");
    let mut session = filled(&db);
    let count = session.prepare("SELECT count(*), sum(a) FROM t WHERE id > $1 AND b <> $2").expect("plans");
    let parameters = [Value::Int(1), Value::Text("y".into())];
    let first = session.execute_prepared(&count, &parameters).expect("runs");
    assert_eq!(rows(&first), "1,NULL");
    for id in 10..30 {
        answer(&mut session, &format!("INSERT INTO t (id, a, b) VALUES ({id}, 1, 'z')"));
        let again = session.execute_prepared(&count, &parameters).expect("runs again");
        assert_eq!(rows(&again), format!("{},{}", id - 8, id - 9));
        assert_eq!(answer(&mut session, "SELECT count(*) FROM t"), (id - 6).to_string());
    }
    expect(&mut session, &[("BEGIN", "BEGIN"), ("DELETE FROM t WHERE id >= 10", "DELETE 20")]);
    assert_eq!(answer(&mut session, "SELECT count(*) FROM t"), "3", "own deletes are seen");
    assert_eq!(answer(&mut db.session(), "SELECT count(*) FROM t"), "23", "others do not see them");
    expect(&mut session, &[("ROLLBACK", "ROLLBACK"), ("SELECT count(*) FROM t", "23")]);
}

#[test]
fn updates_and_deletes_with_any_where() {
    let db = Db::new("writes");
    let mut session = filled(&db);
    expect(
        &mut session,
        &[
            ("UPDATE t SET a = a + 1, b = upper(b) WHERE b = 'x' RETURNING id, a, b", "1,11,X 3,NULL,X"),
            ("UPDATE t SET id = id + 1", "UPDATE 3"),
            ("SELECT id FROM t ORDER BY id", "2 3 4"),
            ("UPDATE t SET id = id - 1 WHERE id > 0", "UPDATE 3"),
            ("UPDATE t SET b = (SELECT max(v) FROM u) WHERE id IN (SELECT id FROM u)", "UPDATE 2"),
            ("SELECT id, b FROM t ORDER BY id", "1,three 2,y 3,three"),
            ("UPDATE t SET b = u.v FROM u WHERE u.id = t.id", "UPDATE 2"),
            ("SELECT id, b FROM t ORDER BY id", "1,one 2,y 3,three"),
            ("UPDATE t AS q SET a = 7 FROM t AS o WHERE o.id > q.id", "UPDATE 2"),
            ("SELECT id, a FROM t ORDER BY id", "1,7 2,7 3,NULL"),
            ("UPDATE t SET (a, b) = (1, 'p') WHERE id = 1", "UPDATE 1"),
            ("UPDATE t SET a = DEFAULT WHERE id = 1", "UPDATE 1"),
            ("UPDATE t SET n = 1.005 WHERE id = 1 RETURNING n", "1.01"),
            ("UPDATE t SET id = NULL WHERE id = 1", "!23502"),
            ("UPDATE t SET id = 2 WHERE id = 1", "!23505"),
            ("UPDATE t SET a = 1 / 0", "!22012"),
            ("UPDATE t SET nope = 1", "!42703"),
            ("UPDATE t SET a = 1, a = 2", "!42601"),
            ("UPDATE h SET x = x * 10, y = y || '!' WHERE y LIKE 'f%' RETURNING *", "50,five!"),
            ("DELETE FROM h WHERE x = 6 RETURNING y", "six"),
            ("SELECT * FROM h", "50,five!"),
            ("DELETE FROM t USING u WHERE u.id = t.id AND u.v = 'one' RETURNING t.id, u.v", "1,one"),
            ("DELETE FROM t WHERE id IN (SELECT id FROM u WHERE v = 'none')", "DELETE 0"),
            ("DELETE FROM t WHERE false", "DELETE 0"),
            ("DELETE FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id)", "DELETE 1"),
            ("SELECT id FROM t ORDER BY id", "2"),
            ("DELETE FROM t", "DELETE 1"),
            ("SELECT count(*) FROM t", "0"),
        ],
    );
}

#[test]
fn failing_statements_leave_nothing_behind() {
    let db = Db::new("atomic");
    let mut session = db.session();
    expect(
        &mut session,
        &[
            (
                "CREATE TABLE c (k int PRIMARY KEY, v varchar(3) NOT NULL, w int DEFAULT 5 CHECK (w > 0))",
                "CREATE TABLE",
            ),
            ("INSERT INTO c (k, v) SELECT x, 'a' || x FROM generate_series(1, 9) AS g(x)", "INSERT 0 9"),
            ("SELECT count(*), sum(w), max(v) FROM c", "9,45,a9"),
            ("UPDATE c SET w = 9 - k", "!23514"),
            ("UPDATE c SET v = 'long' WHERE k = 9", "!22001"),
            ("UPDATE c SET v = NULL", "!23502"),
            ("INSERT INTO c SELECT k + 5, v, w FROM c", "!23505"),
            ("INSERT INTO c SELECT k + 100, v FROM c", "INSERT 0 9"),
            ("INSERT INTO c (v, k) SELECT v, k + 200 FROM c WHERE k < 3 RETURNING k, w", "201,5 202,5"),
            ("INSERT INTO c (k, v) SELECT 1", "!42601"),
            ("INSERT INTO c (k, v) SELECT 1, 'a', 2", "!42601"),
            ("INSERT INTO c SELECT true, 'a'", "!42804"),
            ("SELECT count(*), sum(w) FROM c", "20,100"),
        ],
    );
}

#[test]
fn large_inserts_build_files_and_read_back() {
    let db = Db::new("large");
    let mut session = db.session();
    expect(
        &mut session,
        &[
            ("CREATE TABLE g (k bigint PRIMARY KEY, v text)", "CREATE TABLE"),
            ("INSERT INTO g SELECT x, 'value ' || x FROM generate_series(1, 100000) AS s(x)", "INSERT 0 100000"),
            ("SELECT count(*), sum(k), max(v) FROM g", "100000,5000050000,value 99999"),
            ("INSERT INTO g SELECT * FROM g", "!23505"),
            ("INSERT INTO g SELECT k + 100000, v FROM g", "INSERT 0 100000"),
            ("UPDATE g SET v = 'u' WHERE k % 1000 = 0", "UPDATE 200"),
            ("SELECT count(*), count(DISTINCT k) FROM g WHERE v = 'u'", "200,200"),
            ("DELETE FROM g WHERE k > 1000", "DELETE 199000"),
            ("SELECT count(*), min(k), max(k) FROM g", "1000,1,1000"),
        ],
    );
}

#[test]
fn copy_reads_what_it_wrote() {
    let db = Db::new("copy");
    let mut session = filled(&db);
    answer(&mut session, "INSERT INTO t (id, b) VALUES (4, ''), (5, 'a\"b,c'), (6, E'two\\nlines')");
    let out = db.file("out.csv", b"");
    expect(
        &mut session,
        &[
            (&format!("COPY t TO '{out}' WITH (FORMAT csv, HEADER)"), "COPY 6"),
            (
                "CREATE TABLE t2 (id bigint PRIMARY KEY, a int, b text, d date, n numeric(10,2), f float8, ok bool, \
                 ts timestamp)",
                "CREATE TABLE",
            ),
            (&format!("COPY t2 FROM '{out}' WITH (FORMAT csv, HEADER)"), "COPY 6"),
            ("SELECT count(*) FROM (SELECT * FROM t EXCEPT SELECT * FROM t2) AS missing", "0"),
            ("SELECT count(*) FROM (SELECT * FROM t2 EXCEPT SELECT * FROM t) AS extra", "0"),
            ("SELECT id FROM t2 WHERE b = ''", "4"),
            (
                &format!("COPY (SELECT id, b FROM t WHERE id < 3 ORDER BY id) TO '{out}' CSV HEADER DELIMITER ';'"),
                "COPY 2",
            ),
        ],
    );
    assert_eq!(std::fs::read_to_string(&out).expect("the file is there"), "id;b\n1;x\n2;y\n");
    let _ = std::fs::remove_file(out);
}

#[test]
fn copy_names_the_line_and_column_of_a_mistake() {
    let db = Db::new("copybad");
    let mut session = db.session();
    expect(
        &mut session,
        &[("CREATE TABLE c (k int PRIMARY KEY, v text, w int DEFAULT 3 CHECK (w < 9))", "CREATE TABLE")],
    );
    let cases: &[(&[u8], &str, &str)] = &[
        (b"1,a,1\n2,b\n", "22P04", "line 2"),
        (b"1,a,1\n2,b,2,3\n", "22P04", "line 2"),
        (b"1,a,1\nx,b,2\n", "22P02", "line 2, column k"),
        (b"1,a,1\n2,\"b,2\n", "22P04", "line 2"),
        (b"1,a,1\n2,\xff,2\n", "22021", "line 2, column v"),
        (b"1,a,1\n,b,2\n", "23502", "k"),
        (b"1,a,1\n1,b,2\n", "23505", "1"),
        (b"1,a,1\n2,b,99\n", "23514", "line 2"),
        (b"1,a,99999999999\n", "22003", "line 1, column w"),
    ];
    for (content, state, place) in cases {
        let file = db.file("bad.csv", content);
        let error = run(&mut session, &format!("COPY c FROM '{file}' (FORMAT csv)")).expect_err("the file is wrong");
        assert_eq!(error.sqlstate(), *state, "{error}");
        assert!(error.to_string().contains(place), "{error} names {place}");
        assert_eq!(answer(&mut session, "SELECT count(*) FROM c"), "0", "a failed COPY leaves nothing");
        let _ = std::fs::remove_file(file);
    }
    let good = db.file("good.csv", b"\xef\xbb\xbf1,\"a \"\"q\"\", \nb\"\r\n2,\r\n3,\"\"\r\n\r\n");
    expect(
        &mut session,
        &[
            (&format!("COPY c (k, v) FROM '{good}' WITH (FORMAT csv)"), "COPY 3"),
            ("SELECT k, v IS NULL, length(v), w FROM c ORDER BY k", "1,f,9,3 2,t,NULL,3 3,f,0,3"),
            (&format!("COPY c FROM '{good}.none' WITH (FORMAT csv)"), "!58P01"),
            (&format!("COPY c FROM '{good}'"), "!22P04"),
        ],
    );
    let _ = std::fs::remove_file(good);
}

#[test]
fn explain_names_the_engine_and_what_the_scan_does() {
    let db = Db::new("explain");
    let mut session = filled(&db);
    let plan = answer(&mut session, "EXPLAIN SELECT sum(a) FROM t WHERE id > 1 AND b IN ('x', 'y') AND a + 1 > 2");
    assert!(plan.starts_with("Query engine"), "{plan}");
    assert!(plan.contains("table=t") && plan.contains("id > 1") && plan.contains("b IN ('x', 'y')"), "{plan}");
    let plan = answer(&mut session, "EXPLAIN ANALYZE SELECT sum(a) FROM t WHERE id > 1");
    assert!(plan.contains("parts=") && plan.contains("1 rows in"), "{plan}");
}

/// The q-error that EXPLAIN ANALYZE tells of the only scan of a plan.
fn q_error(plan: &str) -> f64 {
    let (_, told) = plan.split_once("q-error ").unwrap_or_else(|| panic!("each scan is told of: {plan}"));
    told.split_whitespace().next().and_then(|error| error.parse().ok()).expect("a number")
}

#[test]
fn a_scan_is_estimated_by_what_its_columns_values_are_like() {
    let db = Db::new("estimates");
    let mut session = db.session();
    let conditions = [
        "few = 2",
        "few IN (1, 3)",
        "few <> 1",
        "skew = 'most'",
        "skew = 'less' AND k <= 10000",
        "k < 500",
        "k BETWEEN 900 AND 1100",
        "k > 1900 AND k <= 1950",
        "some IS NULL",
        "some IS NOT NULL",
        "some < 100",
        "day >= DATE '2024-02-01' AND day < DATE '2024-03-01'",
    ];
    for method in ["column", "row", "lineage"] {
        let made = [
            format!(
                "CREATE TABLE t_{method} (k int PRIMARY KEY, few int, skew text, some int, day date) USING {method}"
            ),
            format!(
                "INSERT INTO t_{method} SELECT i, i % 4, CASE WHEN i % 10 < 7 THEN 'most' WHEN i % 10 < 9 THEN 'less' \
                 ELSE 'v' || i END, CASE WHEN i % 2 = 0 THEN i / 2 END, DATE '2024-01-01' + i / 10 \
                 FROM generate_series(1, 2000) AS g(i)"
            ),
        ];
        made.iter().for_each(|text| drop(session.execute(text).expect("the table is made")));
        for after in ["ANALYZE", "VACUUM ANALYZE"] {
            session.execute(after).expect("it is counted");
            for condition in conditions {
                let plan = answer(
                    &mut session,
                    &format!("EXPLAIN ANALYZE SELECT count(k), min(few) FROM t_{method} WHERE {condition}"),
                );
                let error = q_error(&plan);
                assert!(error < 1.5, "{method}, {after}: {condition}: {error}\n{plan}");
            }
        }
    }
}

#[test]
fn cancelled_queries_end() {
    let db = Db::new("cancel");
    let mut session = filled(&db);
    answer(&mut session, "CREATE TABLE s (k bigint PRIMARY KEY)");
    answer(&mut session, "INSERT INTO s SELECT x FROM generate_series(1, 50000) AS g(x)");
    session.set("statement_timeout", "200").expect("the setting exists");
    let slow = "SELECT count(*) FROM s a, s b WHERE a.k * b.k % 1000003 = 7";
    assert_eq!(answer(&mut session, slow), "!57014");
    session.set("statement_timeout", "0").expect("the setting exists");
    let token = session.cancel_token();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        token.cancel();
    });
    assert_eq!(answer(&mut session, slow), "!57014");
    stopper.join().expect("the thread ends");
    assert_eq!(answer(&mut session, "SELECT count(*) FROM s"), "50000");
}

/// `cargo test --release -p weft-sql --test query_engine -- --ignored --nocapture warm_path`
#[test]
#[ignore = "a measurement; its numbers depend on the machine"]
fn warm_path_measured() {
    let db = Db::new("warm");
    let mut session = db.session();
    answer(&mut session, "CREATE TABLE w (k bigint PRIMARY KEY, c integer, e bigint)");
    let insert = "INSERT INTO w SELECT x, x % 1000, x FROM generate_series(1, 1000000) AS s(x)";
    assert_eq!(answer(&mut session, insert), "INSERT 0 1000000");
    answer(&mut session, "CREATE TABLE tiny (k bigint PRIMARY KEY, c integer)");
    answer(&mut session, "INSERT INTO tiny VALUES (1, 1), (2, 2)");
    for sql in [
        "SELECT sum(c) FROM tiny",
        "SELECT sum(c) FROM w",
        "SELECT sum(e) FROM w",
        "SELECT count(*) FROM w",
        "SELECT count(*) FROM w WHERE c = 7",
        "SELECT c, count(*) FROM w GROUP BY c ORDER BY 2 DESC, 1 LIMIT 5",
        "SELECT k FROM w ORDER BY k DESC LIMIT 3",
        "SELECT now()",
    ] {
        let cold = std::time::Instant::now();
        let prepared = session.prepare(sql).expect("plans");
        session.execute_prepared(&prepared, &[]).expect("runs");
        let cold = cold.elapsed();
        let mut times = Vec::new();
        for _ in 0..200 {
            let start = std::time::Instant::now();
            session.execute_prepared(&prepared, &[]).expect("runs");
            times.push(start.elapsed());
        }
        times.sort_unstable();
        println!("{sql}: first {cold:?}, then p50 {:?}, p90 {:?}", times[100], times[180]);
    }
}
