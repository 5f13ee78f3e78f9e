//! What sessions count.

use std::sync::atomic::{AtomicU64, Ordering};

/// What ran a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineUsed {
    /// The point engine.
    Point,
    /// The query engine.
    Query,
    /// Queries of the catalog.
    Catalog,
    /// Statements that no engine plans: BEGIN, SET, DDL, COPY, ...
    Utility,
}

impl EngineUsed {
    /// All of them.
    pub const ALL: [EngineUsed; 4] = [EngineUsed::Point, EngineUsed::Query, EngineUsed::Catalog, EngineUsed::Utility];

    /// As metrics and logs name it.
    pub fn name(self) -> &'static str {
        match self {
            EngineUsed::Point => "point",
            EngineUsed::Query => "query",
            EngineUsed::Catalog => "catalog",
            EngineUsed::Utility => "utility",
        }
    }

    pub(super) fn of(number: u8) -> EngineUsed {
        *EngineUsed::ALL.get(usize::from(number)).unwrap_or(&EngineUsed::Utility)
    }
}

/// Classes of times: at most 1, 2, 4, ... microseconds; the last takes all that were slower.
pub const TIMES: usize = 27;

/// A counter with one writer (activity 2).
#[derive(Debug, Default)]
pub(super) struct Tally(AtomicU64);

impl Tally {
    pub(super) fn add(&self, count: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of one session.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    times: [[Tally; TIMES]; EngineUsed::ALL.len()],
    nanos: [Tally; EngineUsed::ALL.len()],
    pub(super) rows: Tally,
    pub(super) failed: Tally,
    pub(super) commits: Tally,
    pub(super) rollbacks: Tally,
}

impl Tallies {
    pub(super) fn note(&self, engine: EngineUsed, nanos: u64) {
        let micros = nanos.div_ceil(1000).max(1);
        let class = (micros.next_power_of_two().trailing_zeros() as usize).min(TIMES - 1);
        self.times[engine as usize][class].add(1);
        self.nanos[engine as usize].add(nanos);
    }

    pub(super) fn add_to(&self, sum: &mut Counters) {
        for engine in EngineUsed::ALL {
            let at = engine as usize;
            for (total, own) in sum.times[at].iter_mut().zip(&self.times[at]) {
                *total += own.get();
            }
            sum.nanos[at] += self.nanos[at].get();
        }
        sum.rows += self.rows.get();
        sum.failed += self.failed.get();
        sum.commits += self.commits.get();
        sum.rollbacks += self.rollbacks.get();
    }
}

/// Sums over sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// By engine: statements that took at most 1, 2, 4, ... microseconds.
    pub times: [[u64; TIMES]; EngineUsed::ALL.len()],
    /// By engine: the time that statements took, nanoseconds.
    pub nanos: [u64; EngineUsed::ALL.len()],
    /// Rows that statements returned or changed.
    pub rows: u64,
    /// Statements that failed.
    pub failed: u64,
    /// Transactions that were committed; those that only read count.
    pub commits: u64,
    /// Transactions that were rolled back.
    pub rollbacks: u64,
    /// Sessions that have begun.
    pub sessions: u64,
}

impl Counters {
    /// Statements of an engine.
    pub fn statements(&self, engine: EngineUsed) -> u64 {
        self.times[engine as usize].iter().sum()
    }
}
