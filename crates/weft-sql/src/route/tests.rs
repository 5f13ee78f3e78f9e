use super::*;

/// What is a read, and so for any node.
const READS: &[&str] = &[
    "SELECT 1",
    "select v from t where id = $1",
    "SELECT sum(v), count(*) FILTER (WHERE v > 0) FROM t GROUP BY a HAVING max(v) > 1 ORDER BY 1 LIMIT 3",
    "SELECT * FROM t JOIN u USING (id) LEFT JOIN LATERAL (SELECT * FROM w WHERE w.id = t.id) x ON true",
    "WITH x AS (SELECT * FROM t) SELECT * FROM x",
    "WITH RECURSIVE x AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM x WHERE n < 9) SELECT n FROM x",
    "SELECT 1 UNION SELECT 2 EXCEPT SELECT 3",
    "(SELECT 1) ORDER BY 1",
    "VALUES (1, 'a'), (2, 'b')",
    "TABLE t",
    "SELECT now(), clock_timestamp(), random(), version(), current_user, current_database()",
    "SELECT pg_catalog.lower('A'), upper(x), coalesce(a, b), date_trunc('day', d) FROM t",
    "SELECT row_number() OVER (PARTITION BY a ORDER BY b), lag(a) OVER w FROM t WINDOW w AS (ORDER BY a)",
    "SELECT * FROM generate_series(1, 10) g, unnest(ARRAY[1, 2]) u",
    "SELECT jsonb_agg(x), string_agg(a, ',') FROM t",
    "SELECT 'FOR UPDATE', \"insert\" FROM \"update\" -- nextval('s')",
    "EXPLAIN SELECT * FROM t",
    "EXPLAIN ANALYZE SELECT * FROM t",
    "EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM t",
    "COPY t TO STDOUT",
    "COPY (SELECT * FROM t) TO STDOUT WITH (FORMAT csv)",
    "SELECT pg_typeof(1), pg_size_pretty(10)",
    "SELECT 1; SELECT 2;",
    "",
    "-- nothing",
];

/// What is for the writer, by its kind.
const OTHERS: &[(&str, &str)] = &[
    // Writes, in the forms that routers have taken for reads.
    ("INSERT INTO t VALUES (1)", "Write"),
    ("INSERT INTO temp_readings SELECT 1 AS temp", "Write"),
    ("UPDATE t SET v = 1 RETURNING v", "Write"),
    ("DELETE FROM t", "Write"),
    ("MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN DELETE", "Write"),
    ("TRUNCATE t", "Write"),
    ("WITH x AS (INSERT INTO t VALUES (1) RETURNING id) SELECT * FROM x", "Write"),
    ("WITH x AS (DELETE FROM t RETURNING id) SELECT 1", "Write"),
    ("SELECT * FROM (WITH x AS (UPDATE t SET v = 1 RETURNING v) SELECT * FROM x) y", "Write"),
    ("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", "Write"),
    ("SELECT * FROM t FOR UPDATE", "Write"),
    ("SELECT * FROM t FOR NO KEY UPDATE", "Write"),
    ("SELECT * FROM t FOR SHARE", "Write"),
    ("SELECT * FROM t FOR KEY SHARE NOWAIT", "Write"),
    ("SELECT * FROM (SELECT * FROM t FOR UPDATE SKIP LOCKED) x", "Write"),
    ("SELECT (SELECT v FROM t WHERE id = 1 FOR UPDATE)", "Write"),
    ("WITH x AS (SELECT * FROM t FOR UPDATE) SELECT * FROM x", "Write"),
    ("SELECT * INTO u FROM t", "Write"),
    ("SELECT nextval('s')", "Write"),
    ("SELECT a FROM t WHERE b = (SELECT pg_catalog.nextval('s'))", "Write"),
    ("SELECT setval('s', 7)", "Write"),
    ("VALUES (nextval('s'))", "Write"),
    ("EXPLAIN ANALYZE INSERT INTO t VALUES (1)", "Write"),
    ("EXPLAIN DELETE FROM t", "Write"),
    ("COPY t FROM STDIN", "Write"),
    ("COPY (INSERT INTO t VALUES (1) RETURNING id) TO STDOUT", "Write"),
    ("CREATE TABLE t (id int)", "Write"),
    ("CREATE TABLE u AS SELECT * FROM t", "Write"),
    ("CREATE INDEX ON t (v)", "Write"),
    ("DROP TABLE t", "Write"),
    ("GRANT SELECT ON t TO ann", "Write"),
    ("VACUUM", "Write"),
    ("ANALYZE t", "Write"),
    ("LOCK TABLE t", "Write"),
    ("REFRESH MATERIALIZED VIEW m", "Write"),
    ("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "Write"),
    ("SELEC 1", "Write"),
    ("SELECT 'open", "Write"),
    ("DO $$ BEGIN END $$", "Write"),
    ("SELECT 1; INSERT INTO t VALUES (1)", "Write"),
    // Effects that a node would not refuse.
    ("SELECT pg_advisory_lock(1)", "Effect"),
    ("SELECT v FROM t WHERE pg_try_advisory_xact_lock(id)", "Effect"),
    ("SELECT pg_advisory_unlock_all()", "Effect"),
    ("SELECT * FROM t, pg_advisory_lock(7)", "Effect"),
    ("SELECT currval('s')", "Effect"),
    ("SELECT pg_cancel_backend(7)", "Effect"),
    ("SELECT pg_reload_conf()", "Effect"),
    ("NOTIFY jobs", "Effect"),
    ("CHECKPOINT", "Effect"),
    ("COPY t TO '/tmp/t.csv'", "Effect"),
    ("DISCARD PLANS", "Effect"),
    // Answers that nodes have of their own.
    ("SELECT * FROM pg_stat_activity", "Elsewhere"),
    ("SELECT relname FROM pg_class", "Elsewhere"),
    ("SELECT * FROM information_schema.tables", "Elsewhere"),
    ("SELECT * FROM weft_nodes", "Elsewhere"),
    ("SELECT * FROM pg_temp.x", "Elsewhere"),
    ("COPY pg_settings TO STDOUT", "Elsewhere"),
    ("SELECT pg_backend_pid()", "Elsewhere"),
    ("SELECT pg_is_in_recovery()", "Elsewhere"),
    ("SELECT weft_last_commit()", "Elsewhere"),
    ("SELECT weft_published_commit()", "Elsewhere"),
    ("SELECT * FROM set_config('timezone', 'UTC', false)", "Sticks"),
    ("SELECT 1 FROM t, pg_catalog.set_config('timezone', v, false)", "Sticks"),
    ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "Effect"),
    ("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "Within"),
    ("SELECT current_setting('a.b')", "Elsewhere"),
    ("SELECT my_function(v) FROM t", "Elsewhere"),
    ("SELECT public.lower('A')", "Elsewhere"),
    ("SELECT * FROM my_rows(1)", "Elsewhere"),
    ("SHOW search_path", "Elsewhere"),
    ("SHOW ALL", "Elsewhere"),
    // What stays in the session.
    ("CREATE TEMP TABLE x (id int)", "Sticks"),
    ("CREATE TEMPORARY TABLE x AS SELECT 1", "Sticks"),
    ("CREATE TEMP VIEW x AS SELECT 1", "Sticks"),
    ("CREATE TABLE pg_temp.x (id int)", "Sticks"),
    ("SELECT 1 AS a INTO TEMP x", "Sticks"),
    ("DECLARE c CURSOR WITH HOLD FOR SELECT 1", "Sticks"),
    ("LISTEN jobs", "Sticks"),
    ("SET SESSION AUTHORIZATION ann", "Sticks"),
    ("SELECT set_config(a, b, false) FROM t", "Sticks"),
    // A setting beside something else: which one counts is not told.
    ("INSERT INTO t VALUES (length(set_config('a.b', 'c', false)))", "Sticks"),
    ("WITH x AS (INSERT INTO t VALUES (1) RETURNING id) SELECT set_config('a.b', 'c', false)", "Sticks"),
    ("SELECT nextval('s'), set_config('a.b', 'c', false)", "Sticks"),
    ("SELECT pg_advisory_lock(1), pg_catalog.set_config('a.b', 'c', false)", "Sticks"),
    ("UPDATE t SET v = 1 RETURNING set_config('a.b', 'c', false)", "Sticks"),
    ("CREATE TABLE t AS SELECT set_config('a.b', 'c', false)", "Sticks"),
    ("CREATE FUNCTION f() RETURNS text LANGUAGE sql AS 'SELECT set_config(''a.b'', ''c'', false)'", "Sticks"),
    ("SELECT set_config('a.b', 'c', false); INSERT INTO t VALUES ('set_config')", "Write"),
    ("PREPARE p AS SELECT 1", "Prepared"),
    ("EXECUTE p", "Prepared"),
    ("DEALLOCATE p", "Prepared"),
    ("DEALLOCATE ALL", "Prepared"),
    ("DISCARD ALL", "Discard"),
    ("SET search_path = a, b", "Set"),
    ("SET LOCAL timezone TO 'UTC'", "Set"),
    ("SET TIME ZONE 'UTC'", "Set"),
    ("SET ROLE ann", "Set"),
    ("RESET ROLE", "Set"),
    ("RESET ALL", "Set"),
    ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "Set"),
    ("SELECT set_config('a.b', 'c', false)", "Set"),
    ("SELECT set_config('a.b', v, true) FROM t", "Set"),
    // Transactions.
    ("BEGIN", "Begin"),
    ("START TRANSACTION ISOLATION LEVEL REPEATABLE READ", "Begin"),
    ("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY", "Begin"),
    ("COMMIT", "End"),
    ("ROLLBACK", "End"),
    ("END", "End"),
    ("SAVEPOINT a", "Within"),
    ("ROLLBACK TO SAVEPOINT a", "Within"),
    ("FETCH 3 FROM c", "Within"),
    ("SET TRANSACTION READ ONLY", "Within"),
    ("DECLARE c CURSOR FOR SELECT 1", "Within"),
];

/// What a session may not go on without, at another connection.
#[test]
fn what_binds_a_session_to_its_connection() {
    for (text, binds) in [
        ("SELECT 1", false),
        ("INSERT INTO t VALUES (1, lower('A')), (2, now()::text)", false),
        ("SELECT nextval('s')", false),
        ("SHOW timezone", false),
        ("SELECT relname FROM pg_class WHERE pg_table_is_visible(oid)", false),
        ("SET timezone = 'UTC'", false),
        ("UPDATE t SET v = row_number FROM (SELECT row_number() OVER () FROM t) x", false),
        ("SELECT become_leader()", true),
        ("INSERT INTO t SELECT become_leader()", true),
        ("SELECT * FROM become_leader()", true),
        ("INSERT INTO t VALUES (pg_try_advisory_lock(1))", true),
        ("SELECT currval('s')", true),
        ("CREATE TEMP TABLE x (a int)", true),
        ("PREPARE p AS SELECT 1", true),
    ] {
        assert_eq!(routed(text).iter().any(|statement| statement.binds), binds, "{text}");
    }
}

#[test]
fn reads_go_anywhere() {
    for text in READS {
        assert_eq!(route_of(text), Route::Anywhere, "{text}: {:?}", routed(text));
    }
}

#[test]
fn what_is_no_read_goes_to_the_writer() {
    for (text, kind) in OTHERS {
        assert!(matches!(route_of(text), Route::Writer(_)), "{text}");
        let last = format!("{:?}", routed(text).last().unwrap().kind);
        assert!(last.starts_with(kind), "{text}: {last}");
    }
    assert!(READS.len() + OTHERS.len() >= 100);
}

#[test]
fn a_transaction_that_reads_is_told_from_others() {
    for (text, wanted) in [
        ("BEGIN READ ONLY", true),
        ("START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", true),
        ("BEGIN TRANSACTION READ ONLY", true),
        ("BEGIN", false),
        ("BEGIN READ WRITE", false),
        ("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY", false),
        ("BEGIN READ ONLY AS OF '2026-11-27 10:00'", false),
    ] {
        assert_eq!(routed(text)[0].kind, Kind::Begin { reads: wanted }, "{text}");
    }
    assert_eq!(routed("COMMIT AND CHAIN")[0].kind, Kind::End { chain: true });
}

#[test]
fn settings_are_named() {
    let named = |text: &str| -> Vec<(String, Option<String>)> {
        match routed(text).remove(0).kind {
            Kind::Set(set) => set.into_iter().map(|one| (one.name.unwrap_or_default(), one.value)).collect(),
            other => panic!("{text}: {other:?}"),
        }
    };
    let one = |name: &str, value: Option<&str>| vec![(name.to_owned(), value.map(str::to_owned))];
    assert_eq!(named("SET freshness = 'none'"), one("freshness", Some("none")));
    assert_eq!(named("SET Freshness TO latest"), one("freshness", Some("latest")));
    assert_eq!(named("SET TIME ZONE 'UTC'"), one("timezone", None));
    assert_eq!(named("SET ROLE ann"), one("role", Some("ann")));
    assert_eq!(named("RESET app.user"), one("app.user", None));
    assert_eq!(named("RESET ALL"), one("", None));
    assert_eq!(named("SELECT set_config('App.User', 'ann', false)"), one("app.user", Some("ann")));
    let texts = named("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY");
    assert_eq!(texts.len(), 2);
    for (text, is_local) in [
        ("SET LOCAL freshness = 'none'", true),
        ("SET SESSION freshness = 'none'", false),
        ("SET freshness TO 'none'", false),
        ("SELECT set_config('freshness', 'none', true)", true),
        ("SELECT set_config('freshness', 'none', false)", false),
        ("SET LOCAL TIME ZONE 'UTC'", true),
        ("SET LOCAL ROLE ann", true),
        ("RESET freshness", false),
    ] {
        let Kind::Set(set) = routed(text).remove(0).kind else { panic!("{text}") };
        assert_eq!(set[0].is_local, is_local, "{text}");
    }
}
