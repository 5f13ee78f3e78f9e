//! Bulk statements whose rows are more than the memory of queries: built in parts, or refused.

use crate::fixture::{Fixture, code, fixture_of_memory, rows, tag};
use weft_format::Code;
use weft_sql::Session;

const MEMORY_BYTES: usize = 4 << 20;
/// Rows of a hundred characters: five parts of a quarter of the memory each.
const ROWS: &str = "SELECT (g * 7919) % 50000 AS id, lpad(g::text, 100, 'x') AS t FROM generate_series(1, 50000) r(g)";

fn with_table() -> (Fixture, Session) {
    let fixture = fixture_of_memory(MEMORY_BYTES);
    let mut session = fixture.db.session();
    session.execute("CREATE TABLE t (id bigint PRIMARY KEY, t text NOT NULL)").unwrap();
    (fixture, session)
}

const SUM: &str = "SELECT count(*), sum(id), min(t), max(length(t)) FROM t";

fn sum() -> String {
    format!("50000|{}|{:x>100}|100", 50_000u64 * 49_999 / 2, 10000)
}

#[test]
fn rows_of_a_query_become_files_while_it_runs() {
    let (_fixture, mut s) = with_table();
    assert_eq!(tag(&mut s, &format!("INSERT INTO t {ROWS}")), "INSERT 0 50000");
    assert_eq!(rows(&mut s, SUM), sum());
    let txn = s.database().kernel().begin().unwrap();
    assert!(txn.table("t").unwrap().table.parts().len() >= 4, "a file for each part");
    txn.rollback();
    // From itself: what is read is what was there before.
    assert_eq!(tag(&mut s, "INSERT INTO t SELECT id + 50000, t FROM t"), "INSERT 0 50000");
    assert_eq!(rows(&mut s, "SELECT count(*), max(id) FROM t"), "100000|99999");
}

#[test]
fn a_key_of_another_part_is_found_and_nothing_stays() {
    let (_fixture, mut s) = with_table();
    for key in ["(g * 7919) % 49999", "g % 49999", "CASE WHEN g = 50000 THEN 1 ELSE g END"] {
        let sql = format!("INSERT INTO t SELECT {key}, lpad(g::text, 100, 'x') FROM generate_series(1, 50000) r(g)");
        assert_eq!(code(&mut s, &sql), Code::UniqueViolation, "{key}");
        assert_eq!(rows(&mut s, "SELECT count(*) FROM t"), "0");
    }
    // The last part meets a row that cannot be made.
    let failing = format!("INSERT INTO t SELECT id + 0 / (id - 12345), t FROM ({ROWS}) q WHERE id >= 0");
    assert_eq!(code(&mut s, &failing), Code::DivisionByZero);
    assert_eq!(tag(&mut s, &format!("INSERT INTO t {ROWS}")), "INSERT 0 50000");
    assert_eq!(rows(&mut s, SUM), sum());
}

#[test]
fn bulk_statements_follow_each_other_in_a_transaction() {
    let (_fixture, mut s) = with_table();
    s.execute("BEGIN").unwrap();
    tag(&mut s, &format!("INSERT INTO t {ROWS}"));
    s.execute("SAVEPOINT a").unwrap();
    tag(&mut s, &format!("INSERT INTO t SELECT id + 100000, t FROM ({ROWS}) q"));
    assert_eq!(rows(&mut s, "SELECT count(*) FROM t"), "100000");
    s.execute("ROLLBACK TO a").unwrap();
    assert_eq!(tag(&mut s, "INSERT INTO t SELECT g, 'few' FROM generate_series(60001, 60003) r(g)"), "INSERT 0 3");
    s.execute("SAVEPOINT b").unwrap();
    assert_eq!(code(&mut s, "INSERT INTO t SELECT 7, 'there' FROM generate_series(1, 1) r(g)"), Code::UniqueViolation);
    s.execute("ROLLBACK TO b; DELETE FROM t WHERE t = 'none'; COMMIT").unwrap();
    assert_eq!(rows(&mut s, "SELECT count(*), max(id) FROM t"), "50003|60003");
}

#[test]
fn copy_reads_a_file_in_parts() {
    let (fixture, mut s) = with_table();
    let file = fixture.dir.with_extension("csv");
    s.execute(&format!("COPY ({ROWS}) TO '{}' (FORMAT csv)", file.display())).unwrap();
    assert_eq!(tag(&mut s, &format!("COPY t FROM '{}' (FORMAT csv)", file.display())), "COPY 50000");
    assert_eq!(rows(&mut s, SUM), sum());
    assert_eq!(code(&mut s, &format!("COPY t FROM '{}' (FORMAT csv)", file.display())), Code::UniqueViolation);
    #[allow(clippy::disallowed_methods, reason = "the test removes its own file")]
    std::fs::remove_file(file).unwrap();
    assert_eq!(rows(&mut s, SUM), sum());
}

/// A pipe is written to, and not replaced by a file of its name; so is a device.
#[test]
#[allow(clippy::disallowed_methods, reason = "the test makes and removes its own pipe")]
fn copy_to_a_pipe_leaves_it_there() {
    use std::io::Read;
    use std::os::unix::fs::FileTypeExt;

    let (fixture, mut s) = with_table();
    let pipe = fixture.dir.with_extension("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Open for both, so that neither end waits for the other.
    let mut reader = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    s.execute(&format!("COPY (SELECT 7, 'seven') TO '{}'", pipe.display())).unwrap();
    let mut bytes = [0; 8];
    reader.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"7\tseven\n");
    assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
    std::fs::remove_file(&pipe).unwrap();
}

#[test]
fn results_and_rows_that_must_be_whole_are_refused() {
    let (_fixture, mut s) = with_table();
    tag(&mut s, &format!("INSERT INTO t {ROWS}"));
    for sql in ["SELECT t FROM t", "DELETE FROM t RETURNING t", "UPDATE t SET t = t || 'y' RETURNING t"] {
        let error = s.execute(sql).map(|_| ()).unwrap_err();
        assert_eq!(error.code(), Code::OutOfMemory, "{sql}: {error}");
        assert!(error.hint_text().is_some_and(|hint| hint.contains("raise memory_limit")), "{sql}: {error}");
    }
    s.execute("CREATE TABLE u (id bigint PRIMARY KEY, t text UNIQUE)").unwrap();
    assert_eq!(code(&mut s, "INSERT INTO u SELECT id, t FROM t"), Code::OutOfMemory);
    assert_eq!(tag(&mut s, "INSERT INTO u SELECT id, t FROM t WHERE id < 10000"), "INSERT 0 10000");
    assert_eq!(rows(&mut s, SUM), sum());
    assert_eq!(rows(&mut s, "SELECT count(t) FROM t WHERE id < 5000"), "5000");
    let some = s.execute("SELECT t FROM t WHERE id < 5000").unwrap();
    assert_eq!(some[0].rows.len(), 5000);
}
