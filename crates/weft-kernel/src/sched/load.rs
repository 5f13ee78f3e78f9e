//! How background jobs make room for queries: at each step they ask whether one runs, and if so they pause.
//!
//! ```text
//!   queries   ───███─██─███──────────────      █ a client waits for its next batch
//!   job       ████░░█░░░░░░░█████████████      ░ pauses: at most 7 times what it worked before, until 1 ms is quiet
//!
//!   in debt (row memory above a quarter of its limit) or urgent (a checkpoint waits for jobs):    no pauses
//! ```
//!
//! 1. Beside queries without end a job still gets one part in eight of its time, so it ends.
//! 2. A job pauses only where it holds no lock: nobody waits for who sleeps. (A lower priority of the thread would stop
//!    it anywhere, also while committers wait for it.)
//! 3. Debt ends the pauses: memory is freed before writers are slowed down, which begins at half of the limit.
//!
//! Concurrency: a few atomics. Crash: nothing here survives.
//!
//! Source: DESIGN section 7, SynchroStore section 4 (jobs go where idle cores are expected). A query is expected to use
//! all cores while its client waits; the paper's estimates per operator are not here.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use weft_env::Clock;

use crate::budget::RowBudget;

/// How many times as long as it worked a job pauses.
const PAUSE_TIMES: u64 = 7;
/// At most this much of the work before a pause counts, nanoseconds.
const WORK_NANOS_MAX: u64 = 4_000_000;
/// For so long after its last query the engine is not idle yet, nanoseconds: the next often follows.
const LINGER_NANOS: u64 = 1_000_000;
/// How often a pausing job looks around.
const NAP: Duration = Duration::from_micros(200);

/// Who needs the cores of one engine.
pub struct Load {
    clock: Arc<dyn Clock>,
    row_budget: Arc<RowBudget>,
    /// Queries whose clients wait now.
    queries: AtomicU32,
    /// When the last one ended, monotonic nanoseconds; 0: there was none.
    ended_nanos: AtomicU64,
    /// Those who wait for jobs.
    urgent: AtomicU32,
}

/// Counts as long as it lives.
pub struct Counted<'a> {
    counter: &'a AtomicU32,
    ended: Option<&'a Load>,
}

impl Load {
    pub(crate) fn new(clock: Arc<dyn Clock>, row_budget: Arc<RowBudget>) -> Load {
        let (queries, urgent, ended_nanos) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU64::new(0));
        Load { clock, row_budget, queries, ended_nanos, urgent }
    }

    /// A client waits for a query until the answer is dropped.
    pub fn query(&self) -> Counted<'_> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        Counted { counter: &self.queries, ended: Some(self) }
    }

    /// Somebody waits for jobs until the answer is dropped.
    pub(crate) fn urgent(&self) -> Counted<'_> {
        self.urgent.fetch_add(1, Ordering::Relaxed);
        Counted { counter: &self.urgent, ended: None }
    }

    /// Whether jobs are to make room now.
    fn asks_for_room(&self) -> bool {
        let ended_nanos = self.ended_nanos.load(Ordering::Relaxed);
        let queries = self.queries.load(Ordering::Relaxed);
        if queries == 0 && ended_nanos == 0 {
            return false;
        }
        let in_debt = self.row_budget.used_bytes() > self.row_budget.limit_bytes() / 4;
        !in_debt
            && self.urgent.load(Ordering::Relaxed) == 0
            && (queries > 0 || self.clock.monotonic_nanos().saturating_sub(ended_nanos) < LINGER_NANOS)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if let Some(load) = self.ended {
            load.ended_nanos.store(load.clock.monotonic_nanos().max(1), Ordering::Relaxed);
        }
        self.counter.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The pace of one job.
pub struct Pacer {
    load: Arc<Load>,
    /// When it began or its last pause ended, monotonic nanoseconds.
    resumed_nanos: u64,
}

impl Pacer {
    /// The pace of a job that begins now.
    pub fn new(load: Arc<Load>) -> Pacer {
        let resumed_nanos = load.clock.monotonic_nanos();
        Pacer { load, resumed_nanos }
    }

    /// A place where the job can pause: every millisecond or so, with no lock held (load 2).
    pub fn step(&mut self) {
        if !self.load.asks_for_room() {
            return;
        }
        let clock = &self.load.clock;
        let begun = clock.monotonic_nanos();
        let worked = begun.saturating_sub(self.resumed_nanos).min(WORK_NANOS_MAX);
        while clock.monotonic_nanos() - begun < worked * PAUSE_TIMES && self.load.asks_for_room() {
            clock.sleep(NAP);
        }
        self.resumed_nanos = clock.monotonic_nanos();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time passes in sleeps, and when a test says so.
    #[derive(Default)]
    struct Hands(AtomicU64);

    impl Hands {
        fn advance(&self, nanos: u64) {
            self.0.fetch_add(nanos, Ordering::Relaxed);
        }
    }

    impl Clock for Hands {
        fn wall_micros(&self) -> i64 {
            0
        }

        fn monotonic_nanos(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }

        fn sleep(&self, duration: Duration) {
            self.advance(duration.as_nanos() as u64);
        }
    }

    const MS: u64 = 1_000_000;

    fn load() -> (Arc<Hands>, Arc<RowBudget>, Arc<Load>) {
        let (clock, budget) = (Arc::new(Hands::default()), Arc::new(RowBudget::new(1000)));
        clock.advance(5 * MS);
        (clock.clone(), budget.clone(), Arc::new(Load::new(clock, budget)))
    }

    /// How long a job pauses after so much work.
    fn pause_after(clock: &Hands, pacer: &mut Pacer, work_nanos: u64) -> u64 {
        clock.advance(work_nanos);
        let begun = clock.monotonic_nanos();
        pacer.step();
        clock.monotonic_nanos() - begun
    }

    #[test]
    fn a_job_beside_a_query_works_one_part_in_eight() {
        let (clock, _, load) = load();
        let mut pacer = Pacer::new(load.clone());
        assert_eq!(pause_after(&clock, &mut pacer, MS), 0, "nobody asks");
        let query = load.query();
        for _ in 0..5 {
            let begun = clock.monotonic_nanos();
            pause_after(&clock, &mut pacer, MS);
            let total = clock.monotonic_nanos() - begun;
            assert!((7 * MS..=16 * MS).contains(&total), "{total}");
        }
        let pause = pause_after(&clock, &mut pacer, 500 * MS);
        assert!(pause <= 29 * MS, "work before the query is not held against the job: {pause}");
        drop(query);
        let pause = pause_after(&clock, &mut pacer, MS / 2);
        assert!((MS / 2..MS).contains(&pause), "until a millisecond is quiet: {pause}");
        assert_eq!(pause_after(&clock, &mut pacer, 3 * MS), 0, "idle");
    }

    #[test]
    fn debt_and_those_who_wait_for_jobs_end_the_pauses() {
        let (clock, budget, load) = load();
        let mut pacer = Pacer::new(load.clone());
        let _query = load.query();
        budget.charge(251);
        assert_eq!(pause_after(&clock, &mut pacer, MS), 0, "debt (load 3)");
        budget.release(1);
        assert!(pause_after(&clock, &mut pacer, MS) > 0);
        let urgent = load.urgent();
        assert_eq!(pause_after(&clock, &mut pacer, MS), 0, "a checkpoint waits");
        drop(urgent);
        assert!(pause_after(&clock, &mut pacer, MS) > 0);
    }
}
