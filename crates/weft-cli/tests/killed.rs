//! SIGKILL under pgbench: what a client was told is there afterwards, and the sums of TPC-B's tables agree.
//!
//! ```text
//!   serve ─ pgbench, 8 clients ─ SIGKILL at a random moment ─ serve again ─ look ─ pgbench ─ SIGKILL ...
//!            └ a line in its log after each COMMIT that was acknowledged
//! ```
//!
//! 1. Every acknowledged transaction is in `pgbench_history`; beyond them, at most one per client and kill.
//! 2. The balances of accounts, tellers and branches are the sums of the history's deltas.
//! 3. `weft check` finds nothing in the end.
//!
//! `WEFT_KILLS` is the number of kills (4). `WEFT_KILL_BYTES` makes the database about so large first, so that the time
//! a restart takes, which is printed, means something (0).

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

mod served;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use served::{Served, needs, skip};

const CLIENTS: u64 = 8;
/// Bytes on disk of a row of `ballast`: random hexadecimal digits take half of their length.
const BALLAST_ROW_BYTES: u64 = 144;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |value| value.parse().unwrap())
}

/// Lines in the files that pgbench wrote: one per transaction that was acknowledged to it.
fn acknowledged(dir: &Path, prefix: &str) -> u64 {
    let mut lines = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            lines += std::fs::read_to_string(entry.path()).unwrap().lines().count() as u64;
        }
    }
    lines
}

fn bytes_of(dir: &Path) -> u64 {
    std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

/// A table of about so many bytes that nothing compresses.
fn make_ballast(served: &Served, bytes: u64) {
    if bytes == 0 {
        return;
    }
    let digits: Vec<String> = (0..8).map(|part| format!("md5((g * 8 + {part})::text)")).collect();
    served.ask("CREATE TABLE ballast (id bigint PRIMARY KEY, filler text)");
    served.ask(&format!(
        "INSERT INTO ballast SELECT g, {} FROM generate_series(1, {}) AS s(g)",
        digits.join(" || "),
        bytes / BALLAST_ROW_BYTES
    ));
}

/// Lets pgbench write until the server is killed; how many transactions were acknowledged to it.
fn write_until_killed(served: Served, dir: &Path, round: u64, pause: Duration) -> u64 {
    let prefix = format!("round-{round}-");
    let mut pgbench = served
        .client("pgbench")
        .current_dir(dir)
        .args([
            "-n",
            "-c",
            &CLIENTS.to_string(),
            "-j",
            "2",
            "-M",
            "prepared",
            "-T",
            "60",
            "-l",
            "--log-prefix",
            &prefix,
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(pause);
    served.kill();
    assert!(!pgbench.wait().unwrap().success(), "pgbench has lost its connections");
    acknowledged(dir, &prefix)
}

#[test]
fn nothing_acknowledged_is_lost() {
    for program in ["psql", "pgbench"] {
        if let Err(reason) = needs(program) {
            return skip("the kill test", &reason);
        }
    }
    let kills = number("WEFT_KILLS", 4);
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    let mut served = Served::start(&db);
    make_ballast(&served, number("WEFT_KILL_BYTES", 0));
    let made = served.client("pgbench").args(["-i", "-s", "1", "-q"]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut told = 0;
    let mut restarts = Vec::new();
    for round in 1..=kills {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        told += write_until_killed(served, dir.path(), round, Duration::from_millis(300 + state % 1500));
        served = Served::start(&db);
        restarts.push(served.ready_after);
        let sums = "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history), \
                    (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(delta) FROM pgbench_history), \
                    (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(delta) FROM pgbench_history)";
        assert_eq!(served.ask(sums), "t|t|t", "after kill {round}");
        let there: u64 = served.ask("SELECT count(*) FROM pgbench_history").parse().unwrap();
        assert!(there >= told, "after kill {round}: {told} acknowledged, {there} there");
        assert!(there <= told + CLIENTS * round, "after kill {round}: {told} acknowledged, {there} there");
    }
    drop(served);
    let checked = Command::new(env!("CARGO_BIN_EXE_weft")).arg("check").arg(&db).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    restarts.sort();
    println!(
        "{kills} kills, {told} transactions there, {} MB; ready again after {:?} (median), {:?} (most)",
        bytes_of(&db) >> 20,
        restarts[restarts.len() / 2],
        restarts[restarts.len() - 1]
    );
    assert!(told > kills, "transactions were under way");
}
