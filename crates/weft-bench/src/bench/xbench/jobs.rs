//! The background jobs that ran, read from the view `weft_jobs` again and again: it forgets old ones.
//!
//! ```text
//!   relation  kind     number  state  started   freed_memory_bytes  written_bytes      sizes by kind: convert 2 jobs,
//!   table_1   convert      12  done   10:00:01             4194304        2101248  ──▶ mean 4.1 MB, max 4.2 MB
//!   table_1   convert      13  done   10:00:02             4005120        1998848
//! ```
//!
//! 1. A job counts once, when it has ended well.
//! 2. What it takes in is what it read from files, and the row table that a conversion frees (the paper's measure);
//!    what it puts out is what it wrote. Both were counted while it ran.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weft::{Database, Error, Session, Value};

/// How often the view is read.
const INTERVAL: Duration = Duration::from_millis(100);

const QUERY: &str = "SELECT CAST(started AS text), number, kind, read_bytes, freed_memory_bytes, written_bytes, \
     duration_ms, cpu_ms FROM weft_jobs WHERE relation = 'table_1' AND state = 'done'";

/// Jobs by their starts, kinds and numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Jobs(BTreeMap<(String, String, i64), Job>);

#[derive(Clone, Debug)]
struct Job {
    in_bytes: u64,
    out_bytes: u64,
    time_ms: f64,
    cpu_ms: f64,
}

/// The jobs of one kind together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sizes {
    pub(super) count: u64,
    pub(super) in_bytes: u64,
    pub(super) out_bytes: u64,
    /// Of the largest one: what it took in or put out, whichever is more.
    pub(super) bytes_max: u64,
    pub(super) time_ms_max: f64,
    /// Time on a core of all.
    pub(super) cpu_ms: f64,
}

impl Jobs {
    /// Reads the view.
    pub(super) fn look(&mut self, session: &mut Session) -> Result<(), Error> {
        for outcome in session.execute(QUERY)? {
            for row in 0..outcome.rows.len() {
                let value = |column| outcome.rows.value(row, column);
                let bytes = |column| match value(column) {
                    Value::Int(bytes) => u64::try_from(bytes).unwrap_or(0),
                    _ => 0,
                };
                let (Value::Text(started), Value::Int(number), Value::Text(kind)) = (value(0), value(1), value(2))
                else {
                    continue;
                };
                let ms = |column| if let Value::Float(ms) = value(column) { ms } else { 0.0 };
                let (in_bytes, out_bytes) = (bytes(3) + bytes(4), bytes(5));
                let job = Job { in_bytes, out_bytes, time_ms: ms(6), cpu_ms: ms(7) };
                self.0.insert((started.into(), kind.into(), number), job);
            }
        }
        Ok(())
    }

    /// Reads the view until it is told to stop, and once more.
    pub(super) fn watch(database: &Database, stop: &AtomicBool) -> Result<Jobs, Error> {
        let mut jobs = Jobs::default();
        let mut session = database.session()?;
        while !stop.load(Ordering::Relaxed) {
            jobs.look(&mut session)?;
            std::thread::sleep(INTERVAL);
        }
        jobs.look(&mut session)?;
        Ok(jobs)
    }

    /// What these jobs were by kind, without those in `before`.
    pub(super) fn sizes(&self, before: &Jobs) -> BTreeMap<String, Sizes> {
        let mut kinds: BTreeMap<String, Sizes> = BTreeMap::new();
        for (name, job) in self.0.iter().filter(|(name, _)| !before.0.contains_key(*name)) {
            let sizes = kinds.entry(name.1.clone()).or_default();
            sizes.count += 1;
            sizes.in_bytes += job.in_bytes;
            sizes.out_bytes += job.out_bytes;
            sizes.bytes_max = sizes.bytes_max.max(job.in_bytes).max(job.out_bytes);
            sizes.time_ms_max = sizes.time_ms_max.max(job.time_ms);
            sizes.cpu_ms += job.cpu_ms;
        }
        kinds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_leave_out_what_ran_before() {
        let job = |number: i64, kind: &str, in_bytes| {
            let name = (format!("10:00:0{number}"), kind.to_owned(), number);
            (name, Job { in_bytes, out_bytes: in_bytes / 2, time_ms: 1.0, cpu_ms: 0.5 })
        };
        let before = Jobs(BTreeMap::from([job(1, "convert", 100)]));
        let mut after = before.clone();
        after.0.extend([job(2, "convert", 40), job(3, "convert", 60), job(4, "compact", 7)]);
        let sizes = after.sizes(&before);
        let convert = Sizes { count: 2, in_bytes: 100, out_bytes: 50, bytes_max: 60, time_ms_max: 1.0, cpu_ms: 1.0 };
        assert_eq!((sizes.len(), &sizes["convert"], sizes["compact"].count), (2, &convert, 1));
    }
}
