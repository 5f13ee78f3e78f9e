//! Hostile inputs: SQL text, CSV files and damaged database files (`tests/hostile`).
//!
//! ```text
//!   a case ── on a thread of its own, with a clock ──▶ an error with SQLSTATE and remedy, or the right answer
//!                                                     never a panic, a hang, a wrong row, a lost row
//! ```
//!
//! 1. After each statement and each file the known rows are exactly as before, and again after the database was
//!    reopened.
//! 2. A damaged directory is refused, or a query or `check` names the damage, or every row is right; after the damage
//!    is undone every row is there.
//!
//! `WEFT_HOSTILE=words` runs the cases whose names hold the words; `WEFT_HOSTILE_TIMES=1` prints how long each took.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test damages files, watches threads, and fails where it cannot go on"
)]

#[path = "hostile/cases.rs"]
mod cases;
#[path = "hostile/damage.rs"]
mod damage;
#[path = "hostile/directory.rs"]
mod directory;
#[path = "hostile/files.rs"]
mod files;
#[path = "hostile/statements.rs"]
mod statements;
#[path = "hostile/truth.rs"]
mod truth;
#[path = "hostile/watch.rs"]
mod watch;

#[test]
fn statements_give_errors_and_lose_nothing() {
    let _alone = watch::alone();
    statements::run();
}

#[test]
fn files_for_copy_give_errors_and_leave_the_table() {
    let _alone = watch::alone();
    files::run();
}

#[test]
fn damaged_files_are_named_or_harmless() {
    let _alone = watch::alone();
    damage::run();
}

/// A thread of a program that embeds Weft has 2 MiB of stack if nobody asks for more; an overflow would end the
/// process.
#[test]
fn deep_statements_fit_on_the_stack_of_any_thread() {
    let _alone = watch::alone();
    let asked = || {
        let union = |parts: usize| (1..=parts).map(|part| format!("SELECT {part} AS n")).collect::<Vec<_>>();
        let dir = tempfile::tempdir().unwrap();
        let database = weft::Database::open(dir.path()).unwrap();
        let mut session = database.session().unwrap();
        for parts in [200, 390] {
            let all = union(parts).join(" UNION ALL ");
            let text = format!("SELECT count(*), sum(n) FROM ({all}) AS q WHERE n > $1");
            let query = session.prepare(&text).unwrap();
            for _ in 0..2 {
                let result = session.execute_prepared(&query, &[weft::Value::Int(0)]).unwrap();
                let (count, sum) = (parts as i64, (parts * (parts + 1) / 2) as i64);
                let found = result.rows.iter().next();
                assert_eq!(found, Some(vec![weft::Value::Int(count), weft::Value::Int(sum)]));
            }
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(asked).unwrap().join().unwrap();
}
