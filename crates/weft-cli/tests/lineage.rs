//! `weft bench lineage --quick`: every experiment runs on every method, and its tables make sense.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

use std::process::{Command, Output};

fn weft(arguments: &[&str]) -> Output {
    let all = [&["bench", "lineage"], arguments].concat();
    Command::new(env!("CARGO_BIN_EXE_weft")).args(all).output().unwrap()
}

/// The first row of the table whose head begins with a title: its cells as numbers.
fn first_row(text: &str, title: &str) -> Vec<f64> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&format!("| {title}")));
    let row = lines.nth(2).unwrap_or_else(|| panic!("no table {title} in {text}"));
    row.split('|').skip(2).filter_map(|cell| cell.trim().replace(',', "").parse().ok()).collect()
}

#[test]
fn every_experiment_runs() {
    let output = weft(&["--quick", "--rows=3000", "--active=3000,500,50", "--millis=50", "--threads=2", "--json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Four methods, and three ratios; configurations of lineage; columns and rows.
    let tables = [
        ("fig7, transactions/s", 7),
        ("table7, ms a scan", 7),
        ("table7, scan beside", 7),
        ("fig9, transactions/s", 7),
        ("fig10, transactions/s", 7),
        ("fig10, scans/s", 7),
        ("fig8", 4),
        ("table8", 3),
        ("table9", 3),
    ];
    for (title, count) in tables {
        let row = first_row(&text, title);
        assert!(row.len() == count && row.iter().all(|value| *value >= 0.0), "{title}: {row:?}");
    }
    let is_merge_wait = |line: &&str| line.contains("| lineage for a merge |");
    let waits: Vec<&str> = text.lines().filter(is_merge_wait).collect();
    assert!(!waits.is_empty() && waits.iter().all(|line| line.contains("| 0 | 0 | 0 |")), "{waits:?}");
    assert!(text.lines().any(|line| line.starts_with("{\"table\": \"fig7, transactions/s\"")), "{text}");
}

#[test]
fn what_is_wrong_is_named() {
    for (arguments, message) in [
        (&["--only", "fig1"][..], "there is no experiment fig1"),
        (&["--methods", "row"], "there is no method row"),
        (&["--active", "10,10"], "--active needs three numbers"),
        (&["--durability", "never"], "--durability is async, full or both"),
        (&["--quick", "--full"], "exclude each other"),
        (&["--threads", "0"], "need 1 at least"),
        (&["--page-rows", "8"], "--page-rows needs 16 to 65536"),
    ] {
        let output = weft(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(message), "{arguments:?}: {error}");
    }
}
