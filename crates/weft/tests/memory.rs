//! One memory limit: data far beyond it gives the same answers, and the process stays within 1.1 times the limit beside
//! what it needs when it is empty.
//!
//! ```text
//!   limit 256 MiB     2 M rows of about 150 bytes (8 M in the full run), as many bytes again in the index
//!   peak of the process − peak of an empty, queried database ≤ 1.1 · limit     both with all of the program in memory
//! ```
//!
//! glibc keeps freed blocks for later, in a heap per thread; opening a database has larger ones returned at once, and
//! keeps heaps few (`weft_env::keep_little_freed_memory`). The environment says nothing.
//!
//! `WEFT_TEST_FULL=1` takes more rows. The test has a file, and so a process, of its own: the peak is the process's.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test reads its process's own statistics")]

mod process;

use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

use weft::{Code, Database, Options, Outcome, Session, value_text};

const LIMIT_BYTES: u64 = 256 << 20;
/// Rows of one INSERT.
const CHUNK_ROWS: u64 = 50_000;
/// `k = id · STEP % rows` is a permutation: far from each other in the order of ids.
const STEP: u64 = 514_229;

#[test]
fn the_process_stays_within_its_limit() {
    if !process::is_child() {
        let mut child = process::child("the_process_stays_within_its_limit");
        assert!(child.status().unwrap().success(), "the child says why");
        return;
    }
    process::load_program();
    let full = std::env::var_os("WEFT_TEST_FULL").is_some();
    let rows: u64 = if full { 8_000_000 } else { 2_000_000 };
    let dir = tempfile::tempdir().unwrap();
    let database = Database::open_with(dir.path().join("db"), Options::with_memory_limit(LIMIT_BYTES)).unwrap();
    let mut session = database.session().unwrap();
    let s = &mut session;
    assert_eq!(rows_of(s, "SELECT count(*), sum(g) FROM generate_series(1, 1000) g(g)"), "1000|500500");
    let empty = process::peak_bytes();
    begun();

    fill(s, rows);
    told("loaded", empty);
    let sum = rows * (rows - 1) / 2;
    assert_eq!(rows_of(s, "SELECT count(*), sum(id), sum(k) FROM t"), format!("{rows}|{sum}|{sum}"));
    told("counted", empty);
    s.execute("CREATE UNIQUE INDEX t_k ON t (k)").unwrap();
    told("indexed", empty);
    look_up(s, rows);
    told("looked up", empty);
    copy(s, rows, &dir.path().join("t.csv"));
    told("copied", empty);
    load_pages(s, rows / 4);
    told("loaded pages", empty);
    query(s, rows, empty);
    change(&database, s, rows);
    told("changed", empty);
    documents(s, empty);
    repeated(s);
    told("repeated", empty);
    database.checkpoint().unwrap();
    told("checkpoint", empty);
    query(s, rows, empty);
    look_up(s, rows);
    drop(session);
    database.close().unwrap();
    let database = Database::open_with(dir.path().join("db"), Options::with_memory_limit(LIMIT_BYTES)).unwrap();
    told("opened again", empty);
    assert_eq!(rows_of(&mut database.session().unwrap(), "SELECT count(*) FROM t WHERE v = 1"), "60000");
    let used = told("in all", empty);
    assert!(used * 10 <= LIMIT_BYTES * 11, "{used} bytes are more than 1.1 times {LIMIT_BYTES}");
}

fn fill(s: &mut Session, rows: u64) {
    s.execute("CREATE TABLE t (id bigint PRIMARY KEY, k bigint NOT NULL, v integer NOT NULL, t text NOT NULL)")
        .unwrap();
    // Sixteen numbers that look random: some 130 characters that compress little.
    let text = (1..=16).map(|part| format!("to_hex((id * {}) % 1000000007)", 7919 * part * part + 104_729));
    let text = text.collect::<Vec<_>>().join(" || '-' || ");
    for first in (0..rows).step_by(CHUNK_ROWS as usize) {
        let last = (first + CHUNK_ROWS).min(rows) - 1;
        let sql = format!(
            "INSERT INTO t SELECT id, id * {STEP} % {rows}, 0, {text} FROM (SELECT g::bigint AS id \
             FROM generate_series({first}, {last}) s(g)) s"
        );
        s.execute(&sql).unwrap();
    }
}

/// All rows into another table by one statement, to a file, and from the file: they pass in parts. As a result they
/// would have to be in memory all at once.
fn copy(s: &mut Session, rows: u64, file: &Path) {
    let sum = format!("{rows}|{}", rows * (rows - 1) / 2);
    s.execute("CREATE TABLE u (k bigint PRIMARY KEY, id bigint NOT NULL, t text NOT NULL)").unwrap();
    s.execute("INSERT INTO u SELECT k, id, t FROM t").unwrap();
    assert_eq!(rows_of(s, "SELECT count(*), sum(k) FROM u"), sum);
    s.execute(&format!("COPY u TO '{}' (FORMAT csv)", file.display())).unwrap();
    s.execute("DROP TABLE u; CREATE TABLE u (k bigint PRIMARY KEY, id bigint NOT NULL, t text NOT NULL)").unwrap();
    s.execute(&format!("COPY u FROM '{}' (FORMAT csv)", file.display())).unwrap();
    assert_eq!(rows_of(s, "SELECT count(*), sum(k) FROM u"), sum);
    s.execute("DROP TABLE u").unwrap();
    let error = s.execute("SELECT id, t FROM t").map(|_| ()).expect_err("300 MB of texts are held");
    assert_eq!(error.code(), Code::OutOfMemory, "{error}");
}

/// Rows into a row table by one statement: more than the memory of rows has room for. They are on its pages before the
/// commit, and a load that was given up is not seen.
fn load_pages(s: &mut Session, rows: u64) {
    let sum = |first: u64, rows: u64| first * rows + rows * (rows - 1) / 2;
    s.execute("CREATE TABLE p (id bigint PRIMARY KEY, k bigint NOT NULL, t text NOT NULL) USING row").unwrap();
    let load =
        |first: u64| format!("INSERT INTO p SELECT id, k, t FROM t WHERE id >= {first} AND id < {first} + {rows}");
    s.execute(&load(0)).unwrap();
    s.execute(&format!("BEGIN; {}", load(rows))).unwrap();
    assert_eq!(rows_of(s, "SELECT count(*), sum(id) FROM p"), format!("{}|{}", 2 * rows, sum(0, 2 * rows)));
    s.execute("ROLLBACK").unwrap();
    assert_eq!(rows_of(s, "SELECT count(*), sum(id) FROM p"), format!("{rows}|{}", sum(0, rows)));
    s.execute(&load(rows)).unwrap();
    let error = s.execute(&load(rows / 2)).map(|_| ()).expect_err("all keys are there");
    assert_eq!(error.code(), Code::UniqueViolation, "{error}");
    s.execute(&format!("UPDATE p SET k = -1 WHERE id = {rows}; DELETE FROM p WHERE id = 0")).unwrap();
    assert_eq!(rows_of(s, &format!("SELECT k FROM p WHERE id IN (0, {rows})")), "-1");
    assert_eq!(rows_of(s, "SELECT count(*), sum(id) FROM p"), format!("{}|{}", 2 * rows - 1, sum(0, 2 * rows)));
    s.execute("DROP TABLE p").unwrap();
}

/// Rows by the index, and values that nobody has.
fn look_up(s: &mut Session, rows: u64) {
    for number in 0..2_000 {
        let id = number * 7_919 % rows;
        let k = id * STEP % rows;
        assert_eq!(rows_of(s, &format!("SELECT id FROM t WHERE k = {k}")), id.to_string());
        assert_eq!(rows_of(s, &format!("SELECT id FROM t WHERE k = {}", rows + number)), "");
    }
}

/// Queries whose state is larger than their memory: groups, sorts and joins spill. A window holds on to the texts that
/// pass it, and so is refused.
fn query(s: &mut Session, rows: u64, empty: u64) {
    let last = rows - 1;
    let groups = "SELECT count(*), sum(c) FROM (SELECT t, count(*) AS c FROM t GROUP BY t) g";
    assert_eq!(rows_of(s, groups), format!("{rows}|{rows}"));
    told("grouped", empty);
    let sorted = format!("SELECT k FROM t ORDER BY k OFFSET {}", rows - 2);
    assert_eq!(rows_of(s, &sorted), format!("{}\n{last}", rows - 2));
    told("sorted", empty);
    let joined = "SELECT count(*), sum(a.id) FROM t a JOIN t b ON a.k = b.k AND a.id = b.id";
    assert_eq!(rows_of(s, joined), format!("{rows}|{}", rows * last / 2));
    told("joined", empty);
    let joined = "SELECT count(*), sum(a.id) FROM t a JOIN t b ON a.t = b.t AND a.id = b.id";
    assert_eq!(rows_of(s, joined), format!("{rows}|{}", rows * last / 2));
    let sorted = format!("SELECT left(t, 5) FROM t ORDER BY t OFFSET {last}");
    let greatest = rows_of(s, "SELECT left(max(t), 5) FROM t");
    assert_eq!(rows_of(s, &sorted), greatest);
    let numbered = "SELECT count(*), max(n) FROM (SELECT row_number() OVER (ORDER BY t) AS n FROM t) w";
    let error = s.execute(numbered).map(|_| ()).expect_err("300 MB of texts are held");
    assert_eq!(error.code(), Code::OutOfMemory, "{error}");
    let numbered = "SELECT count(*), max(n) FROM (SELECT row_number() OVER (ORDER BY k) AS n FROM t) w";
    assert_eq!(rows_of(s, numbered), format!("{rows}|{rows}"));
    told("long texts", empty);
}

/// Single updates, large ones, deletes, and a transaction that is too large.
fn change(database: &Database, s: &mut Session, rows: u64) {
    for number in 0..10_000 {
        let id = number * 7_919 % rows;
        s.execute(&format!("UPDATE t SET v = 1 WHERE id = {id}")).unwrap();
    }
    s.execute("UPDATE t SET v = 0 WHERE v = 1").unwrap();
    for part in 0..3 {
        let first = part * (rows / 3);
        s.execute(&format!("UPDATE t SET v = v + 1 WHERE id >= {first} AND id < {}", first + 20_000)).unwrap();
    }
    s.execute("DELETE FROM t WHERE id < 0").unwrap();
    let mut other = database.session().unwrap();
    // Rows that get another key are staged one by one.
    let all = other.execute("UPDATE t SET id = -1 - id").map(|_| ());
    let error = all.expect_err("all rows at once are more than the row tables' memory");
    assert_eq!(error.code(), Code::OutOfMemory, "{error}");
    assert_eq!(rows_of(s, "SELECT count(*) FROM t WHERE v = 1"), "60000");
}

/// Wide values of every kind: a column of them is too large for a result, and other statements pass them on in parts.
fn documents(s: &mut Session, empty: u64) {
    let (rows, wide) = (20_000, "repeat(md5(id::text), 96)");
    let columns = "(id bigint PRIMARY KEY, b bytea, j json, o jsonb, a text[])";
    s.execute(&format!("CREATE TABLE d {columns}; CREATE TABLE e {columns}")).unwrap();
    for first in (0..rows).step_by(2_000) {
        let last = first + 1_999;
        let json = format!("'{{\"a\": \"' || {wide} || '\"}}'");
        let values = format!("id, {wide}::bytea, ({json})::json, ({json})::jsonb, ARRAY[md5(id::text), {wide}]");
        s.execute(&format!("INSERT INTO d SELECT {values} FROM generate_series({first}, {last}) g(id)")).unwrap();
    }
    told("documents", empty);
    for column in ["b", "j", "o", "a"] {
        let error = s.execute(&format!("SELECT {column} FROM d")).map(|_| ()).expect_err("60 MB are held");
        assert_eq!(error.code(), Code::OutOfMemory, "{column}: {error}");
        let sorted = format!("SELECT id, {column} AS x FROM d ORDER BY md5(id::text) OFFSET {}", rows - 1);
        let sorted = format!("SELECT id, length(x::text) > 3072 FROM ({sorted}) w");
        if column == "a" {
            // What a sort spills of arrays has the texts of all rows that were in memory.
            let error = s.execute(&sorted).map(|_| ()).expect_err("60 MB of arrays are sorted");
            assert_eq!(error.code(), Code::OutOfMemory, "{error}");
            continue;
        }
        let last = rows_of(s, &format!("SELECT id FROM d ORDER BY md5(id::text) OFFSET {}", rows - 1));
        assert_eq!(rows_of(s, &sorted), format!("{last}|t"), "{column}");
        told(column, empty);
    }
    let whole = |suffix: &str| {
        let columns = format!("b = ({wide} || '{suffix}')::bytea AND o ->> 'a' = {wide} AND a[2] = {wide}");
        format!("SELECT count(*) FROM e WHERE {columns} AND length(j::text) = 3081")
    };
    s.execute("INSERT INTO e SELECT * FROM d").unwrap();
    assert_eq!(rows_of(s, &whole("")), rows.to_string());
    told("copied", empty);
    s.execute("UPDATE e SET o = o, b = b || 'x'::bytea").unwrap();
    assert_eq!(rows_of(s, &whole("x")), rows.to_string());
    told("updated", empty);
    s.execute("DROP TABLE d; DROP TABLE e").unwrap();
}

/// Few texts in many rows: a join holds them once, the table has them in each row.
fn repeated(s: &mut Session) {
    s.execute("CREATE TABLE few (n bigint PRIMARY KEY, t text); CREATE TABLE many (id bigint PRIMARY KEY, t text)")
        .unwrap();
    s.execute("INSERT INTO few SELECT n, repeat(n::text, 10000) FROM generate_series(0, 7) g(n)").unwrap();
    let joined = "SELECT id, t FROM generate_series(1, 2000) g(id) JOIN few ON n = id % 8";
    s.execute(&format!("INSERT INTO many {joined}")).unwrap();
    let sums = "SELECT count(*), sum(length(t)) FROM many";
    assert_eq!(rows_of(s, sums), "2000|20000000");
    s.execute("UPDATE many SET t = t || 'x'").unwrap();
    assert_eq!(rows_of(s, sums), "2000|20002000");
    s.execute("DROP TABLE few; DROP TABLE many").unwrap();
}

/// A statement's result: values with `|` between them, rows with line ends.
fn rows_of(s: &mut Session, sql: &str) -> String {
    text_of(&s.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))[0])
}

fn text_of(outcome: &Outcome) -> String {
    let lines = outcome.rows.iter().map(|row| {
        let values = row.iter().zip(outcome.columns.iter());
        let texts = values.map(|(value, column)| value_text(value, column.data_type).unwrap_or_else(|| "NULL".into()));
        texts.collect::<Vec<_>>().join("|")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn begun() -> Instant {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    *BEGUN.get_or_init(Instant::now)
}

/// Prints what the process took at most beyond an empty database, bytes.
fn told(what: &str, empty: u64) -> u64 {
    let used = process::peak_bytes().saturating_sub(empty);
    println!(
        "{:>6.1} s {what:>14}: peak {:>4} MiB beside {} MiB of an empty database",
        begun().elapsed().as_secs_f64(),
        used >> 20,
        empty >> 20
    );
    used
}
