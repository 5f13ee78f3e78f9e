//! What a job took: measured in the thread that ran it, beside the price, which is what it was expected to take.
//!
//! ```text
//!   Meter::start ──▶ the job: 31 ms on a core, 12 ms of pauses, 33 MB read, 29 MB written ──▶ Meter::spent
//! ```
//!
//! 1. A job runs in one thread from its first step to its last, so the thread's numbers are the job's.
//!
//! Concurrency: a meter stays in its thread. Crash: nothing here survives.

use std::ops::AddAssign;

use weft_env::{Clock, Traffic, thread_traffic};

use super::pacer::{paused_nanos, work_clock};

/// What one job, or several together, really took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Time on a core, nanoseconds; where the system does not tell, the time that passed.
    pub thread_nanos: u64,
    /// Time that it slept to make room for queries, nanoseconds.
    pub paused_nanos: u64,
    /// Bytes read from files.
    pub read_bytes: u64,
    /// Bytes written to files, the manifest's edits among them.
    pub written_bytes: u64,
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        self.thread_nanos += other.thread_nanos;
        self.paused_nanos += other.paused_nanos;
        self.read_bytes += other.read_bytes;
        self.written_bytes += other.written_bytes;
    }
}

/// Measures the job that begins in this thread now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    worked_nanos: u64,
    traffic: Traffic,
}

impl Meter {
    pub(crate) fn start(clock: &dyn Clock) -> Meter {
        Meter { worked_nanos: work_clock(clock), traffic: thread_traffic() }
    }

    /// What was spent since the start.
    pub(crate) fn spent(&self, clock: &dyn Clock) -> Spent {
        let traffic = thread_traffic() - self.traffic;
        Spent {
            thread_nanos: work_clock(clock).saturating_sub(self.worked_nanos),
            paused_nanos: paused_nanos(),
            read_bytes: traffic.read_bytes,
            written_bytes: traffic.written_bytes,
        }
    }
}
