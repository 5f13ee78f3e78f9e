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
