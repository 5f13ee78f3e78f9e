//! What queries meet under a mix: how much lies in which layer of `table_1`, and which jobs run meanwhile.
//!
//! ```text
//!   every 100 ms   row tables 3 with 9,412 rows · incremental 7 · transition 2       at the end: means, most rows
//!   at both ends   convert 41 jobs, 2.1 s, of these 1.2 s on a core, 80 MB written      the difference
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use weft::{Database, JobTotal};

use super::lines::Lines;

/// How often layers are looked at.
pub(super) const SAMPLE: Duration = Duration::from_millis(100);

/// Parts and rows of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    parts: u64,
    rows: u64,
    rows_max: u64,
}

/// Ended jobs by kind.
type JobTimes = BTreeMap<String, JobTotal>;

/// What was met so far.
pub(super) struct Met {
    samples: u64,
    layers: BTreeMap<&'static str, Sum>,
    jobs: JobTimes,
}

impl Met {
    /// Nothing yet.
    pub(super) fn new(database: &Database) -> Met {
        Met { samples: 0, layers: BTreeMap::new(), jobs: job_times(database) }
    }

    /// Looks once.
    pub(super) fn sample(&mut self, database: &Database) {
        self.samples += 1;
        let mut now: BTreeMap<&'static str, Sum> = BTreeMap::new();
        for (_, _, layers) in database.layout().iter().filter(|(name, _, _)| name == "table_1") {
            for layer in layers {
                let sum = now.entry(kind_of(&layer.name)).or_default();
                sum.parts += layer.parts;
                sum.rows += layer.rows;
            }
        }
        for (name, found) in now {
            let sum = self.layers.entry(name).or_default();
            sum.parts += found.parts;
            sum.rows += found.rows;
            sum.rows_max = sum.rows_max.max(found.rows);
        }
    }

    /// Prints the means and the jobs.
    pub(super) fn put(&self, lines: Lines, database: &Database) {
        let samples = self.samples.max(1) as f64;
        for (name, sum) in &self.layers {
            lines.put(name, "parts_mean", sum.parts as f64 / samples, "");
            lines.put(name, "rows_mean", sum.rows as f64 / samples, "");
            lines.put(name, "rows_max", sum.rows_max as f64, "");
        }
        for (kind, after) in job_times(database) {
            let before = self.jobs.get(&kind).copied().unwrap_or_default();
            let (spent, spent_before) = (after.spent, before.spent);
            lines.put(&kind, "jobs", (after.count - before.count) as f64, "");
            lines.put(&kind, "jobs_s", (after.nanos - before.nanos) as f64 / 1e9, "s");
            lines.put(&kind, "jobs_cpu_s", (spent.thread_nanos - spent_before.thread_nanos) as f64 / 1e9, "s");
            lines.put(&kind, "jobs_paused_s", (spent.paused_nanos - spent_before.paused_nanos) as f64 / 1e9, "s");
            lines.put(&kind, "jobs_written", (spent.written_bytes - spent_before.written_bytes) as f64, "bytes");
        }
    }
}

/// The layer's name in a line; the row table that is written is one of the row tables.
fn kind_of(layer: &str) -> &'static str {
    match layer {
        "incremental" => "incremental",
        "transition" => "transition",
        "baseline" => "baseline",
        _ => "row tables",
    }
}

fn job_times(database: &Database) -> JobTimes {
    let jobs = database.status().jobs_by_kind;
    jobs.into_iter().map(|(kind, total)| (kind.name().replace(' ', ""), total)).collect()
}
