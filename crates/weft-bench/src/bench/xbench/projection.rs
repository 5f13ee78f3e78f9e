//! Figure 7b: projections of 1 to 30 columns of rows of about 4 KB, after all of these were updated one by one.
//!
//! Columns are integers and strings in turn (col_1, col_16, col_2, ...). `configuration` none is the table before the
//! updates. All values of the projection are handed out as Arrow batches.

use super::lines::Lines;
use super::settings::Settings;
use super::statements;
use super::table::Shape;
use super::trial::Trial;
use crate::bench::median::median;
use crate::subcommand::Failure;

/// Executions of a query whose median is printed.
const RUNS: u64 = 7;

/// All configurations.
pub(super) fn fig7b(settings: &Settings) -> Result<(), Failure> {
    let rows = settings.wide_rows;
    for (number, configuration) in settings.configurations()?.iter().enumerate() {
        let lines = Lines { experiment: "fig7b", configuration: &configuration.name, rows };
        let mut trial = Trial::start(settings, lines, configuration, Shape::of_row_bytes(settings.row_bytes))?;
        if number == 0 {
            trial.settle()?;
            put_projections(settings, &trial, Lines { configuration: "none", ..lines })?;
        }
        let updates = trial.update(statements::UPSERT_ONE, 0..rows, settings.update_time_max)?;
        let mean_us = updates.time.as_secs_f64() * 1e6 / updates.latencies.count().max(1) as f64;
        lines.put(100, "update_mean_us", mean_us, "us");
        trial.settle()?;
        put_projections(settings, &trial, lines)?;
        trial.put_sum(lines, 100)?;
        trial.finish()?;
    }
    Ok(())
}

fn put_projections(settings: &Settings, trial: &Trial, lines: Lines) -> Result<(), Failure> {
    for columns in settings.projections.iter().copied() {
        let times = trial.query(&statements::projection(columns), RUNS, trial.rows)?;
        let fastest = times[0];
        lines.put_with(columns, "query_ms", median(times), "ms", &format!(", \"min\": {fastest:.6}"));
    }
    Ok(())
}
