//! The examples run as tests, each in a directory of its own.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../examples/arrow_append.rs"]
#[allow(dead_code, reason = "only `run` is called here")]
mod arrow_append;
#[path = "../examples/cancel_and_retry.rs"]
#[allow(dead_code, reason = "only `run` is called here")]
mod cancel_and_retry;
#[path = "../examples/prepared.rs"]
#[allow(dead_code, reason = "only `run` is called here")]
mod prepared;
#[path = "../examples/quickstart.rs"]
#[allow(dead_code, reason = "only `run` is called here")]
mod quickstart;

fn in_new_directory(run: fn(&str) -> weft::Result<()>) {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path().join("db").to_str().unwrap()).unwrap();
}

#[test]
fn quickstart_runs() {
    in_new_directory(quickstart::run);
}

#[test]
fn prepared_runs() {
    in_new_directory(prepared::run);
}

#[test]
fn arrow_append_runs() {
    in_new_directory(arrow_append::run);
}

#[test]
fn cancel_and_retry_runs() {
    in_new_directory(cancel_and_retry::run);
}
