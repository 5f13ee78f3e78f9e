//! Figures 1, 6 and 7a: what an update costs and what it leaves to the queries, by the form of increments.
//!
//! ```text
//!   load ─ query ─┬─ update 1 % ─ query ─ settle ─ query ─┬─ update 4 % more ─ ... ─ 100 %
//!                x = 0                                   x = 1
//! ```
//!
//! The shares add up on one table: the time at 20 % is that of all updates up to there. `query_at_once_ms` is the query
//! right after the updates, beside conversions; `query_ms` the one after these.

use super::configuration::Configuration;
use super::lines::Lines;
use super::settings::Settings;
use super::statements;
use super::table::Shape;
use super::trial::{Trial, Updates};
use crate::bench::median::median;
use crate::subcommand::Failure;

/// Executions of a query whose median is printed: right after updates, and when nothing else runs.
const RUNS_AT_ONCE: u64 = 3;
const RUNS: u64 = 201;

/// The query of the figures: one column of all rows.
const QUERY: &str = "SELECT col_1 FROM table_1";

/// A figure of updates and one of queries.
struct Figures {
    updates: &'static str,
    queries: &'static str,
    /// The update, with the key as $1 and the value as $2.
    statement: &'static str,
    ratios: Vec<u64>,
}

/// Section 1.2: UPDATE of one column, incremental rows against incremental columns.
pub(super) fn fig1(settings: &Settings) -> Result<(), Failure> {
    let figures = Figures {
        updates: "fig1",
        queries: "fig1",
        statement: statements::UPDATE_ONE,
        ratios: settings.ratios(&[20, 40, 60, 80, 100]),
    };
    let named = settings.configurations()?;
    let compared: Vec<Configuration> = named.iter().filter(|one| one.name != "fine").cloned().collect();
    run(settings, &figures, &compared)
}

/// Section 4.2: upserts of one column.
pub(super) fn fig6_and_fig7a(settings: &Settings) -> Result<(), Failure> {
    let figures = Figures {
        updates: "fig6",
        queries: "fig7a",
        statement: statements::UPSERT_ONE,
        ratios: settings.ratios(&[1, 5, 10, 20, 50, 100]),
    };
    run(settings, &figures, &settings.configurations()?)
}

/// Figure 6 with commits that do not wait for the log: what the forms of increments cost shows beside no sync.
pub(super) fn fig6_async(settings: &Settings) -> Result<(), Failure> {
    let settings = settings.asynchronous();
    let figures = Figures {
        updates: "fig6-async",
        queries: "fig6-async",
        statement: statements::UPSERT_ONE,
        ratios: settings.ratios(&[1, 5, 10, 20, 50, 100]),
    };
    run(&settings, &figures, &settings.configurations()?)
}

fn run(settings: &Settings, figures: &Figures, configurations: &[Configuration]) -> Result<(), Failure> {
    for configuration in configurations {
        let rows = settings.rows;
        let updates = Lines { experiment: figures.updates, configuration: &configuration.name, rows };
        let queries = Lines { experiment: figures.queries, ..updates };
        let mut trial = Trial::start(settings, updates, configuration, Shape::SHORT)?;
        trial.settle()?;
        put_query(&trial, queries, 0)?;
        trial.put_sum(updates, 0)?;
        let (mut done, mut spent_s) = (0, 0.0);
        for ratio in figures.ratios.iter().copied().filter(|ratio| *ratio > 0) {
            let until = rows * ratio / 100;
            let timed = trial.update(figures.statement, done..until, settings.update_time_max)?;
            spent_s += put_updates(updates, ratio, &timed, until - done, spent_s);
            done = until;
            let times = trial.query(QUERY, RUNS_AT_ONCE, rows)?;
            queries.put(ratio, "query_at_once_ms", median(times), "ms");
            let settled = trial.settle()?;
            queries.put(ratio, "settle_s", settled.as_secs_f64(), "s");
            put_query(&trial, queries, ratio)?;
            trial.put_sum(updates, ratio)?;
        }
        trial.finish()?;
    }
    Ok(())
}

fn put_query(trial: &Trial, lines: Lines, ratio: u64) -> Result<(), Failure> {
    let times = trial.query(QUERY, RUNS, trial.rows)?;
    let fastest = times[0];
    lines.put_with(ratio, "query_ms", median(times), "ms", &format!(", \"min\": {fastest:.6}"));
    Ok(())
}

/// Prints the time of all updates so far; those that were not timed count with the mean of the timed ones. Returns the
/// time of these `count`.
fn put_updates(lines: Lines, ratio: u64, updates: &Updates, count: u64, before_s: f64) -> f64 {
    let measured = updates.latencies.count();
    let mean_s = updates.time.as_secs_f64() / measured.max(1) as f64;
    let time_s = mean_s * count as f64;
    let more = format!(", \"updates\": {count}, \"measured\": {measured}");
    lines.put_with(ratio, "update_s", before_s + time_s, "s", &more);
    lines.put_with(ratio, "update_mean_us", mean_s * 1e6, "us", &more);
    for (metric, quantile) in [("update_p50_us", 0.5), ("update_p99_us", 0.99)] {
        lines.put(ratio, metric, updates.latencies.quantile_ns(quantile) as f64 / 1e3, "us");
    }
    time_s
}
