//! Figure 8: bytes of one background job by kind while all rows of a table are updated, at several sizes of the table.
//!
//! Rows are wide (`--row-bytes`), updates are upserts of one column at scattered keys in transactions of 1,000. A job's
//! size is the larger of what it took in (files, and the row table that a conversion frees) and of what it wrote, as
//! counted while it ran.
//!
//! ```text
//!   write amplification    bytes that all jobs wrote : bytes of the rows that were updated     (and with the log's)
//! ```
//!
//! Fine-grained compaction beside the traditional one (`compaction = 'whole'`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weft::Database;

use super::jobs::Jobs;
use super::lines::Lines;
use super::settings::Settings;
use super::statements;
use super::table::Shape;
use super::trial::Trial;
use crate::subcommand::Failure;

/// All configurations and sizes.
pub(super) fn fig8(settings: &Settings) -> Result<(), Failure> {
    let shape = Shape::of_row_bytes(settings.row_bytes);
    for configuration in settings.compactions()? {
        for &size in &settings.sizes_bytes {
            let lines =
                Lines { experiment: "fig8", configuration: &configuration.name, rows: size / shape.row_bytes() };
            let mut trial = Trial::start(settings, lines, &configuration, shape)?;
            trial.settle()?;
            measure(&mut trial, lines, size)?;
            trial.finish()?;
        }
    }
    Ok(())
}

fn measure(trial: &mut Trial, lines: Lines, size: u64) -> Result<(), Failure> {
    let mut before = Jobs::default();
    before.look(&mut trial.database.session()?)?;
    let database = trial.database.clone();
    let written_before = written(&database);
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    let (updated, jobs) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| Jobs::watch(&database, &stop));
        let updated = trial
            .update(statements::UPSERT_ONE, 0..trial.rows, Duration::ZERO)
            .and_then(|_| trial.settle())
            .map(|settled| (begun.elapsed(), settled));
        stop.store(true, Ordering::Relaxed);
        (updated, watcher.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let (time, settled) = updated?;
    for (kind, sizes) in jobs?.sizes(&before) {
        let more = format!(", \"kind\": \"{kind}\", \"count\": {}", sizes.count);
        let mean_bytes = sizes.in_bytes.max(sizes.out_bytes) as f64 / sizes.count as f64;
        lines.put_with(size, "job_mean_bytes", mean_bytes, "bytes", &more);
        lines.put_with(size, "job_max_bytes", sizes.bytes_max as f64, "bytes", &more);
        lines.put_with(size, "taken_bytes", sizes.in_bytes as f64, "bytes", &more);
        lines.put_with(size, "written_bytes", sizes.out_bytes as f64, "bytes", &more);
        lines.put_with(size, "cpu_ms", sizes.cpu_ms, "ms", &more);
        lines.put_with(size, "job_max_ms", sizes.time_ms_max, "ms", &more);
    }
    lines.put(size, "update_s", time.saturating_sub(settled).as_secs_f64(), "s");
    lines.put(size, "settle_s", settled.as_secs_f64(), "s");
    let (before, after) = (written_before, written(&database));
    let (by_jobs, by_log) = (after[0] - before[0], after[1] - before[1]);
    let updated_bytes = (trial.rows * trial.shape.row_bytes()) as f64;
    lines.put(size, "write_amplification", by_jobs as f64 / updated_bytes, "");
    lines.put(size, "write_amplification_with_log", (by_jobs + by_log) as f64 / updated_bytes, "");
    trial.put_sum(lines, size)
}

/// Bytes that jobs have written, and that the log has.
fn written(database: &Database) -> [u64; 2] {
    let status = database.status();
    [status.jobs_by_kind.iter().map(|(_, total)| total.spent.written_bytes).sum(), status.log.bytes]
}
