//! Plans that are kept with a prepared statement: they answer as plans made for the values do, and are made once.
//!
//! Each statement runs with one set of parameters after the other, with what is kept and, after `forget`, planned for
//! the values alone, as a first execution is. Rows or SQLSTATE must be the same.

#![allow(clippy::disallowed_methods, reason = "tests run on the real machine")]

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_format::Value;

use crate::fixture::{fixture, fixture_with, rows, show};
use weft_kernel::EngineOptions;
use weft_sql::text::print;
use weft_sql::{Prepared, Session};

/// How often physical plans of the query engine were made for a statement, and whether one is kept.
fn planned(prepared: &Prepared) -> (u64, bool) {
    prepared.planning().unwrap_or_else(|| panic!("{} is not run by the query engine", prepared.source()))
}

/// Parameters: `|` between them, `~` is NULL.
fn values(text: &str) -> Vec<Value> {
    let value = |part: &str| if part == "~" { Value::Null } else { Value::Text(part.into()) };
    if text.is_empty() { Vec::new() } else { text.split('|').map(value).collect() }
}

/// The rows in order of their texts, or the SQLSTATE.
fn answer(session: &mut Session, prepared: &Prepared, params: &[Value]) -> String {
    match session.execute_prepared(prepared, params) {
        Ok(outcome) => {
            let shown = show(&outcome);
            let mut lines: Vec<&str> = shown.split(' ').collect();
            lines.sort_unstable();
            lines.join(" ")
        }
        Err(error) => error.sqlstate().to_owned(),
    }
}

fn fill(session: &mut Session) {
    for sql in [
        "CREATE TABLE t (k int PRIMARY KEY, b bigint, i int, s smallint, f double precision, r real, n numeric(10,2), \
         x text, v varchar(10), c char(4), d date, at timestamp, z timestamptz, u uuid, flag boolean, y bytea, \
         a int[]) \
         WITH (row_table_bytes = 4096, column_table_bytes = 4096, bucket_bytes = 8192, granularity_bytes = 32768)",
        "INSERT INTO t SELECT g, g::bigint * 1000000007, g % 7, g % 5, g / 3.0, g % 9, g * 1.25, 'x' || g % 11, \
         'v' || g % 3, 'c' || g % 4, date '2020-01-01' + g % 400, \
         timestamp '2020-01-01 00:00' + g * interval '1 hour', \
         timestamptz '2020-01-01 00:00+00' + g * interval '1 hour', \
         ('00000000-0000-0000-0000-0000000000' || lpad((g % 90)::text, 2, '0'))::uuid, g % 2 = 0, \
         ('y' || g % 3)::bytea, ARRAY[g % 3, g % 4] FROM generate_series(1, 800) AS s(g)",
        "UPDATE t SET b = NULL, i = NULL, x = NULL, n = NULL, d = NULL WHERE k % 13 = 0",
        "CREATE TABLE o (i int PRIMARY KEY, w int, name text)",
        "INSERT INTO o SELECT g, g * 10, 'x' || g FROM generate_series(0, 9) AS s(g)",
        "CREATE INDEX ON t (lower(x))",
        "CREATE INDEX ON t (i, s)",
        "CREATE VIEW w AS SELECT k, i, x FROM t WHERE k > 100",
        "CHECKPOINT",
        "INSERT INTO t (k, i, x) VALUES (801, 3, 'X3'), (802, NULL, NULL)",
    ] {
        session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// Statements whose plan is made with open parameters, and kept: with the third execution none is made any more.
const OPEN: &[(&str, &[&str])] = &[
    ("SELECT sum(i), count(*), min(f) FROM t WHERE k BETWEEN $1 AND $2", &["10|20", "1|800", "500|400", "7|7", "~|5"]),
    ("SELECT count(*) FROM t WHERE b >= $1 AND b < $2", &["1000000007|9000000063", "0|5", "~|~", "-5|90000000000000"]),
    ("SELECT x, count(*) FROM t WHERE i = $1 GROUP BY x", &["3", "0", "99", "~", "6"]),
    ("SELECT i, sum(k) FROM t WHERE x = $1 GROUP BY i ORDER BY i", &["x1", "x2", "nothing", "~", "X3"]),
    ("SELECT count(*) FROM t WHERE x IN ($1, $2, $3, 'x4', 'x5')", &["x1|x2|x3", "a|b|c", "~|x1|x9", "x6|x7|x8"]),
    ("SELECT count(*) FROM t WHERE k IN ($1, $2)", &["1|2", "2000|3", "~|9", "801|802"]),
    ("SELECT count(*) FROM t WHERE x LIKE $1 AND k > 3", &["x1%", "%0", "_", "~", "X%"]),
    ("SELECT sum(i * $1) FROM t WHERE k < $2", &["2|10", "-3|900", "~|7", "5|~", "2147483647|100"]),
    ("SELECT count(*) FROM t WHERE NOT (i > $1)", &["3", "-1", "9", "~"]),
    ("SELECT count(*) FROM t WHERE i + $1 > k", &["5", "100", "~", "-7", "2147483647"]),
    ("SELECT count(*) FROM t WHERE f > $1 AND r <= $2", &["10|5", "1e300|1", "NaN|3", "~|1", "-5|8"]),
    ("SELECT count(*) FROM t WHERE s = $1", &["3", "4", "~", "0"]),
    ("SELECT count(*) FROM t WHERE d >= $1 AND d < $2", &["2020-02-01|2020-03-01", "2021-01-01|2022-01-01", "~|~"]),
    ("SELECT count(*) FROM t WHERE at > $1", &["2020-01-10 12:00", "2030-01-01 00:00", "~", "2020-01-01 01:00"]),
    ("SELECT count(*) FROM t WHERE z > $1", &["2020-01-10 12:00+00", "2030-01-01 00:00+00", "~"]),
    (
        "SELECT count(*) FROM t WHERE u = $1",
        &[
            "00000000-0000-0000-0000-000000000007",
            "00000000-0000-0000-0000-000000000099",
            "~",
            "00000000-0000-0000-0000-000000000011",
        ],
    ),
    ("SELECT count(*), sum(o.w) FROM t JOIN o ON t.i = o.i WHERE o.w > $1 AND t.k < $2", &["20|500", "1000|1", "0|90"]),
    ("SELECT count(*), sum(o.w) FROM t JOIN o ON t.i = o.i WHERE t.i = $1", &["3", "0", "99", "~", "5"]),
    ("SELECT i, count(*) FROM t WHERE k < $1 GROUP BY ROLLUP (i) ORDER BY i", &["50", "700", "~", "9"]),
    ("SELECT count(o.w), count(*) FROM t LEFT JOIN o ON t.i = o.i AND o.w > $1", &["20", "1000", "~", "-1"]),
    ("SELECT count(*) FROM t WHERE lower(x) = $1", &["x3", "x10", "none", "~"]),
    ("SELECT k, i - $1 FROM t WHERE k < $2 ORDER BY k", &["1|9", "100|4", "~|6"]),
    ("SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM o WHERE o.i = t.i AND o.w > $1)", &["20", "70", "0"]),
    ("SELECT count(*) FROM t WHERE i IN (SELECT i FROM o WHERE w < $1)", &["20", "1000", "0", "50"]),
    ("SELECT x, sum(k) FROM t GROUP BY x HAVING sum(k) > $1", &["3000", "100000000", "0"]),
    ("WITH q AS (SELECT k, i FROM t WHERE i > $1) SELECT count(*), max(k) FROM q WHERE k < $2", &["2|90", "5|700"]),
    ("SELECT count(*) FROM w WHERE i = $1 AND k < $2", &["3|200", "6|100", "0|9000"]),
    ("SELECT count(*) FROM t WHERE i <> $1::bigint", &["1", "-9", "3000000000", "~"]),
    ("SELECT count(*) FROM t WHERE i = $1::smallint AND b > $2::int", &["1|0", "6|2147483647", "~|1"]),
    ("SELECT count(*) FROM t WHERE k > $1 AND i > 2 AND (x = $2 OR x = $3)", &["5|x1|x2", "400|x1|none", "1|x3|x4"]),
];

/// Statements that depend on the values of some parameters, on the clock, or on more than the kept plan knows.
const CLOSED: &[(&str, &[&str])] = &[
    ("SELECT k FROM t WHERE n = $1 ORDER BY k LIMIT 5", &["12.50", "0.00", "125", "~", "12.504"]),
    ("SELECT count(*) FROM t WHERE k > $1::bigint", &["5", "790", "2147483647", "3000000000", "-3000000000", "~"]),
    ("SELECT count(*) FROM t WHERE $1::bigint <= s", &["1", "4", "40000", "-40000", "~"]),
    ("SELECT k FROM t WHERE i = $1 ORDER BY k LIMIT $2 OFFSET $3", &["3|2|0", "3|3|1", "5|2|0", "3|~|~", "0|0|0"]),
    ("SELECT k FROM t ORDER BY k LIMIT $1", &["3", "1", "~", "3", "0", "-1"]),
    ("SELECT count(*) FROM t WHERE i = ANY($1)", &["{1,2}", "{}", "{3,NULL}", "~", "{1,2}"]),
    ("SELECT count(*) FROM t WHERE $1::int IS NULL OR i = $1", &["~", "3", "~", "4", "9"]),
    ("SELECT count(*) FROM t WHERE x = $1::int::text", &["3", "~", "x", "5"]),
    ("SELECT count(*) FROM t WHERE k > $1 AND k > 50", &["10", "90", "~", "700", "20"]),
    ("SELECT count(*) FROM t WHERE k > $1 AND k < $1", &["10", "90", "~"]),
    ("SELECT round(f::numeric, $1::int) FROM t WHERE k < 9", &["0", "2", "1", "-1"]),
    ("SELECT count(*) FROM t WHERE i = coalesce($1, 3)", &["~", "2", "5", "~"]),
    ("SELECT count(*) FROM t WHERE at > $1::timestamp - interval '1 day'", &["2020-01-10 00:00", "2021-01-01 00:00"]),
    ("SELECT count(*) FROM t WHERE at < now() AND k < $1", &["10", "100", "~"]),
    ("SELECT i % $1, count(*) FROM t GROUP BY i % $1 ORDER BY 1", &["2", "3", "0", "~"]),
    ("SELECT k FROM t WHERE k < 20 ORDER BY i + $1, k", &["1", "5", "~"]),
    ("SELECT count(*) FROM t WHERE i > (SELECT min(w) / $1 FROM o WHERE w > $2)", &["10|20", "0|1", "5|0"]),
    ("SELECT $1::int + 1, $2::text || 'x'", &["1|a", "2147483647|b", "~|~"]),
    ("SELECT * FROM (VALUES ($1::int, 'a'), (2, $2)) AS q(a, b)", &["1|b", "5|~"]),
    ("SELECT i FROM o WHERE i < $1 UNION SELECT $2::int", &["3|7", "1|1", "~|2"]),
    (
        "SELECT k, row_number() OVER (PARTITION BY i ORDER BY k), lag(k, $1) OVER (ORDER BY k) FROM t WHERE k < $2",
        &["1|9", "2|20", "3|5"],
    ),
    ("SELECT count(*) FROM t WHERE flag = $1 AND k < $2", &["true|100", "false|100", "~|5"]),
    ("SELECT count(*) FROM t WHERE c = $1", &["c1", "c1  ", "c9", "~"]),
    ("SELECT count(*) FROM t WHERE v = $1 AND y = $2", &["v1|\\x7931", "v2|\\x", "~|~"]),
    ("SELECT count(*) FROM t WHERE a = $1", &["{1,1}", "{2,0}", "~"]),
    ("SELECT count(*) FROM t WHERE 10 / $1 > i", &["2", "0", "~", "3"]),
    ("SELECT count(*) FROM t WHERE i NOT IN ($1, $2, 5)", &["1|2", "~|3", "0|0"]),
    ("SELECT count(*) FROM t WHERE x || $1 = 'x1y'", &["y", "z", "~"]),
    ("SELECT string_agg(x, $1 ORDER BY k) FROM t WHERE k < $2", &["-|5", "+|9", "~|4"]),
    ("SELECT sum(i) FILTER (WHERE k > $1), count(DISTINCT i) FROM t WHERE k < $2", &["5|90", "50|60", "~|9"]),
    ("SELECT count(*) FROM t WHERE x IS DISTINCT FROM $1", &["x1", "~", "zz"]),
    ("SELECT count(*) FROM t, generate_series(1, 3) AS s(g) WHERE k = g * $1", &["1", "5", "~"]),
];

/// Runs a statement by its kept plans and by fresh ones, several times with each set of parameters; gives how often
/// plans were made in the last round, and whether one is kept.
fn compare(session: &mut Session, sql: &str, sets: &[&str]) -> std::result::Result<(u64, bool), String> {
    let prepare = |session: &mut Session| session.prepare(sql).map_err(|error| format!("{sql}: {error}"));
    let prepared = prepare(session)?;
    let mut before = 0;
    for round in 0..3 {
        if round == 2 {
            before = planned(&prepared).0;
        }
        for set in sets {
            let params = values(set);
            let kept = answer(session, &prepared, &params);
            session.database().forget();
            let once = prepare(session)?;
            assert!(!Arc::ptr_eq(&once, &prepared), "what is kept was forgotten");
            let fresh = answer(session, &once, &params);
            if kept != fresh {
                return Err(format!("{sql} with {set} in round {round}: kept {kept}, fresh {fresh}"));
            }
        }
    }
    let (after, is_warm) = planned(&prepared);
    Ok((after - before, is_warm))
}

#[test]
fn kept_plans_answer_as_fresh_ones() {
    let fixture = fixture();
    let mut session = fixture.db.session();
    fill(&mut session);
    session.execute("SET engine = query").unwrap();
    let mut wrong = Vec::new();
    for (sql, sets) in OPEN {
        match compare(&mut session, sql, sets) {
            Ok((0, true)) => {}
            Ok((made, is_warm)) => wrong.push(format!("{sql} is planned {made} times more, warm: {is_warm}")),
            Err(difference) => wrong.push(difference),
        }
    }
    wrong.extend(CLOSED.iter().filter_map(|(sql, sets)| compare(&mut session, sql, sets).err()));
    assert!(wrong.is_empty(), "{} statements:\n{}", wrong.len(), wrong.join("\n"));
}

/// Values decide what is read: a plan made for many rows prunes for few.
#[test]
fn a_kept_plan_reads_what_the_values_ask_for() {
    let fixture = fixture();
    let mut session = fixture.db.session();
    fill(&mut session);
    session.execute("VACUUM").unwrap();
    session.execute("SET engine = query").unwrap();
    let blocks = |session: &mut Session, sql: &str| {
        let shown = rows(session, sql);
        let (_, rest) = shown.rsplit_once("output_rows=").expect("a scan tells its rows");
        rest.split([',', ']']).next().unwrap().to_owned()
    };
    assert_eq!(blocks(&mut session, "EXPLAIN ANALYZE SELECT sum(i) FROM t WHERE k BETWEEN 10 AND 20"), "11");
    let sql = "SELECT sum(i), count(*) FROM t WHERE k BETWEEN $1 AND $2";
    let prepared = session.prepare(sql).unwrap();
    let read = |session: &mut Session, from: i64, to: i64| {
        let outcome = session.execute_prepared(&prepared, &[Value::Int(from), Value::Int(to)]).unwrap();
        outcome.rows.iter().next().unwrap()[1].clone()
    };
    for (from, to) in [(1, 800), (1, 800), (10, 20), (1, 0), (800, 900), (5, 5)] {
        let expected = (to.min(802) - from + 1).max(0);
        assert_eq!(read(&mut session, from, to), Value::Int(expected), "{from} to {to}");
    }
    assert_eq!(planned(&prepared), (2, true), "one plan with values, one with open parameters");
}

/// Executions at once do not see each other's parameters.
#[test]
fn executions_at_once_have_their_own_values() {
    let fixture = fixture();
    fill(&mut fixture.db.session());
    // The sum reads a slot, the condition is the leaf's.
    let sql = "SELECT sum(k + $1), count(*) FROM t WHERE k <= $2";
    std::thread::scope(|scope| {
        for thread in 0..4_i64 {
            let db = &fixture.db;
            scope.spawn(move || {
                let mut session = db.session();
                for round in 0..60 {
                    let (plus, to) = (thread * 1000 + round, 1 + (thread * 131 + round * 17) % 800);
                    let outcome = session.execute_params(sql, &[Value::Int(plus), Value::Int(to)]).unwrap();
                    let expected = format!("{}|{to}", to * (to + 1) / 2 + plus * to);
                    assert_eq!(show(&outcome), expected, "thread {thread}, round {round}");
                }
            });
        }
    });
    let mut session = fixture.db.session();
    let prepared = session.prepare(sql).unwrap();
    let _ = answer(&mut session, &prepared, &values("1|1"));
    let (made, is_warm) = planned(&prepared);
    assert!(made < 60 && is_warm, "plans are kept for those that run at once: {made}");
}

/// A query that is not read to its end gives its template back.
#[test]
fn a_query_that_fails_leaves_its_template() {
    let fixture = fixture();
    let mut session = fixture.db.session();
    fill(&mut session);
    let prepared = session.prepare("SELECT sum(k * $1) FROM t WHERE k > $2").unwrap();
    for set in ["1|5", "2|6", "2147483647|1", "3|5", "2147483647|1", "1|790"] {
        let expected = if set.starts_with("2147") { "22003" } else { "" };
        assert!(answer(&mut session, &prepared, &values(set)).starts_with(expected), "{set}");
    }
    assert_eq!(planned(&prepared), (2, true));
}

/// What a kept plan was made for may change: tables, names, rights.
#[test]
fn kept_plans_end_with_what_they_were_made_for() {
    let fixture = fixture();
    let mut session = fixture.db.session();
    session.execute("CREATE TABLE t (k int PRIMARY KEY, i int); SET engine = query").unwrap();
    session.execute("INSERT INTO t SELECT g, g % 10 FROM generate_series(1, 100) AS s(g)").unwrap();
    let prepared = session.prepare("SELECT count(*), sum(i) FROM t WHERE i < $1").unwrap();
    let expect = |session: &mut Session, expected: &str| {
        for _ in 0..4 {
            assert_eq!(answer(session, &prepared, &values("5")), expected);
        }
    };
    expect(&mut session, "50|100");
    session.execute("ALTER TABLE t ADD COLUMN l int DEFAULT 7").unwrap();
    expect(&mut session, "50|100");
    session.execute("CREATE INDEX ON t (i)").unwrap();
    expect(&mut session, "50|100");
    session.execute("BEGIN; ALTER TABLE t DROP COLUMN i; ALTER TABLE t RENAME COLUMN l TO i").unwrap();
    expect(&mut session, "0|NULL");
    session.execute("ROLLBACK").unwrap();
    expect(&mut session, "50|100");
    session.execute("DROP TABLE t; CREATE TABLE t (k int PRIMARY KEY, i double precision)").unwrap();
    session.execute("INSERT INTO t VALUES (1, 4.5), (2, 9.5)").unwrap();
    expect(&mut session, "1|4.5");
    session.execute("CREATE SCHEMA other; CREATE TABLE other.t (k int PRIMARY KEY, i bigint)").unwrap();
    session.execute("INSERT INTO other.t VALUES (1, 1), (2, 2), (3, 9000000000)").unwrap();
    expect(&mut session, "1|4.5");
    session.execute("SET search_path = other, public").unwrap();
    expect(&mut session, "2|3");
    session.execute("SET timezone = 'UTC'; RESET search_path").unwrap();
    expect(&mut session, "1|4.5");
    session.execute("TRUNCATE t").unwrap();
    expect(&mut session, "0|NULL");
    session.execute("CREATE ROLE reader; INSERT INTO t VALUES (7, 1)").unwrap();
    expect(&mut session, "1|1");
    session.execute("SET ROLE reader").unwrap();
    expect(&mut session, "42501");
    session.execute("RESET ROLE; GRANT SELECT ON t TO reader; SET ROLE reader").unwrap();
    expect(&mut session, "1|1");
    session.execute("RESET ROLE; REVOKE SELECT ON t FROM reader; SET ROLE reader").unwrap();
    expect(&mut session, "42501");
    session.execute("RESET ROLE; GRANT SELECT (k) ON t TO reader; SET ROLE reader").unwrap();
    expect(&mut session, "42501");
    session.execute("RESET ROLE").unwrap();
    expect(&mut session, "1|1");
}

/// Own writes and snapshots are those of the execution, as is a table that grows past one partition.
#[test]
fn kept_plans_read_the_present() {
    let fixture = fixture();
    let mut session = fixture.db.session();
    session.execute("CREATE TABLE t (k int PRIMARY KEY, i int); SET engine = query").unwrap();
    let prepared = session.prepare("SELECT count(*), sum(i + $2) FROM t WHERE k > $1").unwrap();
    let expect = |session: &mut Session, expected: &str| {
        assert_eq!(answer(session, &prepared, &values("0|1")), expected);
    };
    expect(&mut session, "0|NULL");
    expect(&mut session, "0|NULL");
    session.execute("INSERT INTO t VALUES (1, 1)").unwrap();
    expect(&mut session, "1|2");
    session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ").unwrap();
    expect(&mut session, "1|2");
    fixture.db.session().execute("INSERT INTO t VALUES (2, 2)").unwrap();
    expect(&mut session, "1|2");
    session.execute("INSERT INTO t VALUES (3, 3)").unwrap();
    expect(&mut session, "2|6");
    session.execute("COMMIT").unwrap();
    expect(&mut session, "3|9");
    session.execute("INSERT INTO t SELECT g, 0 FROM generate_series(10, 90009) AS s(g)").unwrap();
    for _ in 0..20 {
        expect(&mut session, "90003|90009");
    }
    session.execute("DELETE FROM t WHERE k > 9").unwrap();
    for _ in 0..20 {
        expect(&mut session, "3|9");
    }
}

/// A database with a schema per customer: the same text, names found elsewhere.
#[test]
fn sessions_that_look_elsewhere_keep_plans_of_their_own() {
    const TEXT: &str = "SELECT count(*), min(x) FROM t WHERE i > 0";
    let fixture = fixture();
    let mut sessions = Vec::new();
    for schema in ["one", "two"] {
        let mut session = fixture.db.session();
        for sql in [
            format!("CREATE SCHEMA {schema}"),
            format!("CREATE TABLE {schema}.t (k int PRIMARY KEY, i int, x text)"),
            format!("INSERT INTO {schema}.t SELECT g, g, '{schema}' FROM generate_series(1, 9) AS s(g)"),
            format!("SET search_path = {schema}; SET engine = query"),
        ] {
            session.execute(&sql).unwrap();
        }
        sessions.push((session, schema));
    }
    for _ in 0..4 {
        for (session, schema) in &mut sessions {
            assert_eq!(rows(session, TEXT), format!("9|{schema}"));
        }
    }
    for (session, _) in &mut sessions {
        let prepared = session.prepare(TEXT).unwrap();
        assert!(planned(&prepared).0 <= 2, "planned {} times", planned(&prepared).0);
    }
}

/// UPDATE, DELETE and INSERT from a query read by plans with open parameters, too.
#[test]
fn statements_that_write_read_by_kept_plans() {
    let fixture = fixture();
    let mut session = fixture.db.session();
    session.execute("CREATE TABLE t (k int PRIMARY KEY, i int, x text); SET engine = query").unwrap();
    session.execute("INSERT INTO t SELECT g, g, 'a' FROM generate_series(1, 50) AS s(g)").unwrap();
    let update = session.prepare("UPDATE t SET i = i + $1, x = $2 WHERE k BETWEEN $3 AND $4").unwrap();
    for (set, count) in [("1|b|1|10", 10), ("2|c|5|6", 2), ("~|d|7|7", 1), ("5|~|8|9", 2), ("0|e|60|70", 0)] {
        let outcome = session.execute_prepared(&update, &values(set)).unwrap();
        assert_eq!(outcome.tag.row_count(), count, "{set}");
    }
    assert_eq!(
        rows(&mut session, "SELECT k, i, x FROM t WHERE k < 12 ORDER BY k"),
        "1|2|b 2|3|b 3|4|b 4|5|b 5|8|c 6|9|c 7|NULL|d 8|14|NULL 9|15|NULL 10|11|b 11|11|a"
    );
    let delete = session.prepare("DELETE FROM t WHERE i > $1 AND x = $2").unwrap();
    for (set, count) in [("40|a", 10), ("30|a", 10), ("~|a", 0), ("20|b", 0), ("20|a", 10)] {
        assert_eq!(session.execute_prepared(&delete, &values(set)).unwrap().tag.row_count(), count, "{set}");
    }
    let insert = session.prepare("INSERT INTO t SELECT k + $1, i, $2 FROM t WHERE k < $3").unwrap();
    for (set, count) in [("100|p|3", 2), ("200|q|4", 3), ("300|~|2", 1), ("400|r|0", 0)] {
        assert_eq!(session.execute_prepared(&insert, &values(set)).unwrap().tag.row_count(), count, "{set}");
    }
    assert_eq!(
        rows(&mut session, "SELECT k, i, x FROM t WHERE k > 100 ORDER BY k"),
        "101|2|p 102|3|p 201|2|q 202|3|q 203|4|q 301|2|NULL"
    );
}

/// EXPLAIN ANALYZE tells the parts of each layer that a scan read and left out: all of them, as the view has them.
#[test]
fn scans_tell_what_they_read_of_each_layer() {
    // Nobody moves parts between one look and the next.
    let fixture = fixture_with(EngineOptions { workers: 0, ..EngineOptions::default() });
    let mut session = fixture.db.session();
    fill(&mut session);
    session.execute("VACUUM").unwrap();
    session.execute("INSERT INTO t (k, i) SELECT g, 1 FROM generate_series(10001, 10300) AS s(g); CHECKPOINT").unwrap();
    session.execute("INSERT INTO t (k, i) VALUES (20001, 1); SET engine = query").unwrap();
    let layers = |session: &mut Session, sql: &str| -> Vec<(String, u64, u64)> {
        let shown = rows(session, sql);
        let (_, rest) = shown.split_once("layers=[").unwrap_or_else(|| panic!("{shown}"));
        let layer = |text: &str| {
            let (name, counts) = text.split_once(": ").unwrap();
            let (read, pruned) = counts.split_once(" read, ").unwrap();
            (name.to_owned(), read.parse().unwrap(), pruned.trim_end_matches(" pruned").parse().unwrap())
        };
        rest.split(']').next().unwrap().split("; ").map(layer).collect()
    };
    let few = layers(&mut session, "EXPLAIN ANALYZE SELECT sum(i) FROM t WHERE k BETWEEN 100 AND 110");
    let all = layers(&mut session, "EXPLAIN ANALYZE SELECT sum(i) FROM t");
    let there = "SELECT CASE WHEN layer LIKE '%row%' THEN 'row tables' ELSE layer END, sum(parts) FROM weft_layers \
                 WHERE \"table\" = 't' GROUP BY 1";
    let there: BTreeMap<String, u64> = session.execute(there).unwrap()[0]
        .rows
        .iter()
        .map(|row| match (&row[0], print(row[1].as_ref(), weft_format::DataType::BigInt)) {
            (Value::Text(name), parts) => (name.to_string(), parts.parse().unwrap()),
            other => panic!("{other:?}"),
        })
        .collect();
    for (name, read, pruned) in &all {
        assert_eq!((*read, *pruned), (there.get(name).copied().unwrap_or(0), 0), "{name} of {all:?}, {there:?}");
    }
    let names: Vec<&str> = few.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["row tables", "incremental", "transition", "baseline"]);
    for ((name, read, pruned), (_, whole, _)) in few.iter().zip(&all) {
        assert_eq!(read + pruned, *whole, "{name}: {few:?}");
    }
    let pruned: u64 = few.iter().map(|(_, _, pruned)| pruned).sum();
    let read: u64 = few.iter().skip(1).map(|(_, read, _)| read).sum();
    assert!(pruned > 2 && (1..=3).contains(&read), "{few:?}");
    assert!(!rows(&mut session, "EXPLAIN SELECT sum(i) FROM t").contains("layers="));
}

/// What a kept plan with open parameters saves, and what telling the scheduler costs; run by name, in release.
#[test]
#[ignore = "measures"]
fn measure_templates() {
    use weft_kernel::sched::{OperatorKind, PlanForecast, Stage};

    let fixture = fixture();
    let mut s = fixture.db.session();
    s.execute("CREATE TABLE t (k bigint PRIMARY KEY, c1 int, c2 int, c3 text)").unwrap();
    s.execute("INSERT INTO t SELECT g, g % 7, g % 11, 'text ' || g FROM generate_series(1, 100000) AS s(g)").unwrap();
    s.execute("VACUUM").unwrap();
    let time = |name: &str, count: i64, work: &mut dyn FnMut(i64)| {
        let start = std::time::Instant::now();
        (0..count).for_each(work);
        println!("{name}: {:.2} us", start.elapsed().as_secs_f64() * 1e6 / count as f64);
    };
    let sql = "SELECT sum(c1), sum(c2), max(c3), count(*) FROM t WHERE k BETWEEN $1 AND $2";
    let prepared = s.prepare(sql).unwrap();
    let range = |n: i64| [Value::Int(n * 37 % 90_000), Value::Int(n * 37 % 90_000 + 200)];
    s.execute_prepared(&prepared, &range(0)).unwrap();
    time("key range, kept plan", 20_000, &mut |n| drop(s.execute_prepared(&prepared, &range(n)).unwrap()));
    assert!(planned(&prepared).0 <= 3);
    time("key range, planned each time", 1_000, &mut |n| {
        let [from, to] = range(n);
        let (Value::Int(from), Value::Int(to)) = (from, to) else { unreachable!("both are integers") };
        let sql = format!("SELECT sum(c1), sum(c2), max(c3), count(*) FROM t WHERE k BETWEEN {from} AND {to}");
        drop(s.execute(&sql).unwrap());
    });
    let stage = |kind, cost_us| Stage { kind, cost_us, parallelism: 1 };
    let stages = vec![stage(OperatorKind::Scan, 50.0), stage(OperatorKind::Aggregate, 20.0)];
    let (forecast, load) = (Arc::new(PlanForecast::new(stages)), fixture.db.kernel().load());
    time("telling the scheduler of a query", 200_000, &mut |_| {
        let run = load.begin(Arc::clone(&forecast));
        drop(run.waiting());
        run.finish(&[(OperatorKind::Scan, 50.0, 60.0), (OperatorKind::Aggregate, 20.0, 25.0)]);
    });
}
