//! `weft bench xbench --quick`: every experiment runs and its lines make sense.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

use std::process::{Command, Output};

const WEFT: &str = env!("CARGO_BIN_EXE_weft");

const TINY: &[&str] = &[
    "bench",
    "xbench",
    "--quick",
    "--rows=2000",
    "--wide-rows=200",
    "--row-bytes=1000",
    "--sizes=1",
    "--ratios=1,20,100",
    "--projections=1,5,30",
    "--seconds=1",
    "--queries=20",
    "--update-seconds=1",
    "--soak-seconds=3",
    "--window-seconds=1",
    "--memory-limit=256MB",
];

/// One line, as far as the test reads it.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    experiment: String,
    configuration: String,
    x: String,
    metric: String,
    value: f64,
}

fn weft(arguments: &[&str]) -> Output {
    Command::new(WEFT).args(arguments).output().unwrap()
}

/// The value of a field of a flat JSON object.
fn field(line: &str, name: &str) -> String {
    let start = line.split(&format!("\"{name}\": ")).nth(1).unwrap_or_else(|| panic!("{line} has {name}"));
    start.split([',', '}']).next().unwrap().trim_matches('"').to_owned()
}

fn experiment(names: &str, more: &[&str]) -> Vec<Line> {
    let dir = tempfile::tempdir().unwrap();
    let place = ["--dir", dir.path().to_str().unwrap(), "--only", names];
    let output = weft(&[TINY, &place, more].concat());
    assert!(output.status.success(), "{names}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Line> = text
        .lines()
        .map(|line| {
            assert!(line.starts_with('{') && line.ends_with('}') && field(line, "system") == "weft", "{line}");
            Line {
                experiment: field(line, "experiment"),
                configuration: field(line, "configuration"),
                x: field(line, "x"),
                metric: field(line, "metric"),
                value: field(line, "value").parse().unwrap(),
            }
        })
        .collect();
    assert!(lines.iter().all(|line| line.value.is_finite() && line.value >= 0.0), "{lines:?}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "databases are removed");
    lines
}

/// The values of a metric in one configuration, as printed.
fn values(lines: &[Line], experiment: &str, configuration: &str, metric: &str) -> Vec<(String, f64)> {
    let is =
        |line: &&Line| line.experiment == experiment && line.configuration == configuration && line.metric == metric;
    lines.iter().filter(is).map(|line| (line.x.clone(), line.value)).collect()
}

fn xs(values: &[(String, f64)]) -> Vec<&str> {
    values.iter().map(|(x, _)| x.as_str()).collect()
}

/// What this build knows: an option that it does not know is told by the database itself and ends the experiment.
fn knows(sql: &str) -> bool {
    let dir = tempfile::tempdir().unwrap();
    weft(&[dir.path().join("db").to_str().unwrap(), "-c", sql]).status.success()
}

/// The forms of increments.
const CONFIGURATIONS: [&str; 3] = ["columns", "rows", "fine"];

fn schedulers() -> &'static [&'static str] {
    if knows("SET scheduler = 'greedy'") { &["cost", "greedy", "off"] } else { &["default"] }
}

#[test]
fn updates_of_shares_and_queries_after_them() {
    let lines = experiment("fig1,fig6,fig7b", &["--configurations", &CONFIGURATIONS.join(",")]);
    for configuration in &CONFIGURATIONS {
        let of = |experiment, metric| values(&lines, experiment, configuration, metric);
        for (updates, queries) in [("fig1", "fig1"), ("fig6", "fig7a")] {
            if updates == "fig1" && *configuration == "fine" {
                assert_eq!(of("fig1", "update_s"), [], "figure 1 compares rows with columns");
                continue;
            }
            let spent = of(updates, "update_s");
            assert_eq!(xs(&spent), ["1", "20", "100"]);
            assert!(spent[0].1 > 0.0 && spent.is_sorted_by(|a, b| a.1 <= b.1), "shares add up: {spent:?}");
            let queries = of(queries, "query_ms");
            assert_eq!(xs(&queries), ["0", "1", "20", "100"]);
            assert!(queries.iter().all(|(_, ms)| *ms > 0.0), "{queries:?}");
            let sums = of(updates, "sum");
            assert_eq!(sums, values(&lines, updates, CONFIGURATIONS[0], "sum"), "all have the same rows");
            assert!(sums.len() == 4 && sums[0].1 != sums[3].1);
        }
        assert_eq!(xs(&of("fig7b", "query_ms")), ["1", "5", "30"]);
    }
    assert_eq!(xs(&values(&lines, "fig7b", "none", "query_ms")), ["1", "5", "30"]);
}

#[test]
fn sizes_of_jobs() {
    let known = knows("SELECT written_bytes FROM weft_jobs LIMIT 0")
        && knows("CREATE TABLE t (a bigint PRIMARY KEY) WITH (compaction = 'whole')");
    if !known {
        let output = weft(&[TINY, &["--only", "fig8", "--compactions", "default"]].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains("weft_jobs"), "the database says what it lacks: {error}");
        return;
    }
    // Row tables of 64 kB: 200 rows make some jobs.
    let lines = experiment("fig8", &["--row-table-bytes", "65536"]);
    for configuration in ["fine-compaction", "whole"] {
        let (mean, most) = (
            values(&lines, "fig8", configuration, "job_mean_bytes"),
            values(&lines, "fig8", configuration, "job_max_bytes"),
        );
        assert!(!mean.is_empty() && mean.len() == most.len(), "{lines:?}");
        assert!(mean.iter().zip(&most).all(|(mean, most)| mean.1 <= most.1), "{mean:?} {most:?}");
        assert!(most.iter().any(|(_, bytes)| *bytes > 1e4), "{most:?}");
        let written: f64 = values(&lines, "fig8", configuration, "written_bytes").iter().map(|(_, bytes)| bytes).sum();
        let amplified = values(&lines, "fig8", configuration, "write_amplification");
        assert!(written > 1e4 && !amplified.is_empty() && amplified.iter().all(|(_, times)| *times > 0.0), "{lines:?}");
    }
}

#[test]
fn latencies_under_the_mix() {
    let schedulers = schedulers();
    let lines = experiment("table1,paced,fig9", &["--schedulers", &schedulers.join(",")]);
    let quantiles = ["p50", "p75", "p99", "p99.9", "p99.99"];
    for scheduler in schedulers {
        for (experiment, statements) in [
            ("table1", &["sql3"][..]),
            ("paced", &["sql3"]),
            ("fig9", &["insert", "update", "sql3", "sql4", "sql5", "upsert"]),
        ] {
            if experiment == "fig9" && *scheduler == "off" {
                continue;
            }
            let rates = values(&lines, experiment, scheduler, "writes_per_s");
            assert!(rates.iter().all(|(_, rate)| *rate > 1.0), "{rates:?}");
            for (at, statement) in statements.iter().enumerate() {
                let of: Vec<f64> =
                    quantiles.iter().map(|name| values(&lines, experiment, scheduler, name)[at].1).collect();
                assert_eq!(values(&lines, experiment, scheduler, "p50")[at].0, *statement);
                assert!(of[0] > 0.0 && of.is_sorted(), "{experiment} {scheduler} {statement}: {of:?}");
            }
        }
    }
}

#[test]
fn a_soak_in_windows() {
    let lines = experiment("soak", &[]);
    let of = |metric| values(&lines, "soak", "default", metric);
    let (p99, resident, space) = (of("reads_p99"), of("resident"), of("space"));
    assert_eq!(p99[0].0, "0");
    assert!((1..=3).contains(&p99.len()) && p99.iter().all(|(_, ms)| *ms > 0.0), "{p99:?}");
    assert!(!resident.is_empty() && resident.iter().all(|(_, bytes)| *bytes > 1e6), "{resident:?}");
    assert!(!space.is_empty() && of("live_bytes")[0].1 > 1e4 && of("memory_limit")[0].1 == (256u64 << 20) as f64);
}

#[test]
fn merge_on_read_leaves_the_same_rows() {
    let with = |conflict: &str, names: &str| {
        experiment(names, &["--configurations", "default", "--schedulers", "default", "--conflict", conflict])
    };
    let sums = |conflict| values(&with(conflict, "fig6"), "fig6", "default", "sum");
    let sums_of_marks = sums("mark");
    assert!(!sums_of_marks.is_empty() && sums_of_marks == sums("antimatter"), "{sums_of_marks:?}");
    let lines = with("antimatter", "fig9,soak");
    let upserts = values(&lines, "fig9", "default", "p50");
    assert!(upserts.iter().any(|(statement, ms)| statement == "upsert" && *ms > 0.0), "{upserts:?}");
    assert!(values(&lines, "soak", "default", "space").iter().all(|(_, bytes)| *bytes > 0.0), "{lines:?}");
}

#[test]
fn what_is_wrong_is_named() {
    for (arguments, message) in [
        (&["--only", "fig2"][..], "there is no experiment fig2"),
        (&["--configurations", "tall"], "there is no configuration tall"),
        (&["--ratios", "1,101"], "--ratios are percent"),
        (&["--sum-columns", "16"], "--sum-columns needs 1 to 15"),
        (&["--projections", "31"], "30 columns besides its key"),
        (&["--reads", "sql6"], "--reads knows no sql6"),
        (&["--reads-per-second", "0"], "--reads-per-second need 1 at least"),
        (&["--commit", "never"], "--commit is sync or async"),
    ] {
        let output = weft(&[&["bench", "xbench"], arguments].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(message), "{arguments:?}: {error}");
    }
    let odd = ["bench", "xbench", "--quick", "--rows=1000", "--only=table1", "--schedulers=default"];
    let output = weft(&[&odd[..], &["--row-table-bytes", "5"]].concat());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.contains("row_table_bytes"), "the database tells: {error}");
}
