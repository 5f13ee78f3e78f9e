//! Pauses between the statements of a client, so that so many of them start in a second.
//!
//! ```text
//!   full speed   ████████████████████    one statement after the other
//!   a rate       ██  ███   █ ██    ██    random pauses between them, so many start in a second on average
//! ```
//!
//! 1. A client whose statements take longer than its pauses is late; the next ones start at once until it has caught
//!    up.

use std::time::{Duration, Instant};

use crate::bench::numbers::Numbers;

/// How many statements each client starts in a second, on average; none: one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rates {
    pub(super) writes: Option<u64>,
    pub(super) reads: Option<u64>,
}

/// The pauses of one client: times between two starts are exponential, as those of many independent people are.
pub(super) struct Pauses {
    numbers: Numbers,
    /// The mean time between two starts.
    mean: Option<Duration>,
    /// When the next statement is due, since the start.
    due: Duration,
}

impl Pauses {
    /// Those of a client that starts so many statements in a second; none without a rate.
    pub(super) fn new(seed: u64, rate: Option<u64>) -> Pauses {
        let mean = rate.map(|rate| Duration::from_secs(1) / u32::try_from(rate).unwrap_or(u32::MAX));
        Pauses { numbers: Numbers::new(seed), mean, due: Duration::ZERO }
    }

    /// Sleeps until the next statement is due.
    pub(super) fn pause(&mut self, begun: Instant) {
        let Some(mean) = self.mean else { return };
        let part = (self.numbers.below(1 << 32) + 1) as f64 / (1_u64 << 32) as f64;
        self.due += mean.mul_f64(-part.ln());
        std::thread::sleep(self.due.saturating_sub(begun.elapsed()));
    }
}
