//! Latencies of statements by their names, window by window.
//!
//! ```text
//!   Step { names: ["sql3", "reads", "sql3_beside_jobs"], time: 1.4 ms } counts three times in its window
//!   windows of the writer [0] [1] [2]  +  of the reader [0] [1]  ──▶ joined: [0] [1] [2]
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use crate::latency::Latencies;

/// One statement that ran.
pub(super) struct Step {
    /// What it counts as: itself, all of its kind.
    pub(super) names: Vec<&'static str>,
    pub(super) time: Duration,
}

/// Latencies by statement; "reads" and "writes" are all of these.
pub(super) type Timings = BTreeMap<&'static str, Latencies>;

/// The windows of both together.
pub(super) fn joined(mut left: Vec<Timings>, right: Vec<Timings>) -> Vec<Timings> {
    left.resize_with(left.len().max(right.len()), Timings::new);
    for (window, timings) in left.iter_mut().zip(right) {
        for (name, latencies) in timings {
            window.entry(name).or_default().add_all(&latencies);
        }
    }
    left
}
