//! Who needs the cores of one engine: the queries that run, with their plans, and how much that was lately.
//!
//! ```text
//!   begin(plan) ── waiting() ─ dropped ── waiting() ─ dropped ── finish(what each operator took)
//!                  └ counts as running ┘  the client reads        φ learns
//!
//!   the monitor, every 100 ms:  expected to be idle  1.4 of 2 cores     what the forecast said 100 ms ago
//!                               found to be idle     1.1                core time of the queries since
//!                               young queries used   0.3                what those did that the forecast did not know
//!                               others used          0.5                the process's time without queries and jobs
//! ```
//!
//! 1. A query counts while its client waits for its next batch. How far it has come is the sum of these times.
//! 2. A query without a plan ([`Load::query`]) counts as one that uses every core.
//! 3. Only queries of the query engine come here: statements of the point engine take microseconds. What these take
//!    together is measured.
//!
//! Concurrency: one short lock around the list of running queries; counters. Crash: nothing here survives.
//!
//! Source: SynchroStore section 3.3 (the monitor).

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use weft_env::Clock;
use weft_env::sync::Mutex;

use super::forecast::{Forecast, Lately, PlanForecast, RunningPlan, YOUNG_US, forecast};
use super::mode::SchedulerMode;
use super::patience::Patience;
use super::phi::{OperatorKind, PhiSet, Phis};
use crate::budget::RowBudget;

/// For so long after its last query the engine is not idle yet, nanoseconds: the next often follows.
const LINGER_NANOS: u64 = 1_000_000;
/// How much the last tenth of a second weighs in what young queries use.
const YOUNG_WEIGHT: f64 = 0.25;
/// The same in what others use: processor time comes in steps of a tenth of that.
const OTHERS_WEIGHT: f64 = 0.125;

/// Who needs the cores of one engine.
pub struct Load {
    clock: Arc<dyn Clock>,
    row_budget: Arc<RowBudget>,
    cores: usize,
    /// Index in [`SchedulerMode::ALL`].
    mode: AtomicU8,
    /// Queries of which nothing is known, whose clients wait now.
    queries: AtomicU32,
    /// When the last query ended or gave a batch, monotonic nanoseconds; 0: there was none.
    ended_nanos: AtomicU64,
    /// How many cores it had.
    ended_cores: AtomicU32,
    /// Those who wait for jobs.
    urgent: AtomicU32,
    /// Jobs that free memory.
    freeing: AtomicU32,
    /// What other debts than memory allow to be paused: 1000 = all, 0 = nothing.
    pause_permille: AtomicU32,
    /// Cores that neither queries nor jobs use, in thousandths: [`Comparison::other_cores`].
    other_permille: AtomicU32,
    /// How long jobs have worked, nanoseconds.
    worked_nanos: AtomicU64,
    /// How long jobs may still pause.
    pub(super) patience: Patience,
    phis: Phis,
    running: Mutex<Queries>,
}

#[derive(Default)]
struct Queries {
    all: Vec<Arc<Query>>,
    /// When the monitor looked last, monotonic nanoseconds.
    looked_nanos: u64,
    /// Core time since then, microseconds: of all queries that ended, and of those that began since, too.
    used_us: f64,
    used_by_young_us: f64,
    /// What the process and its jobs had used then, nanoseconds.
    processor_nanos: Option<u64>,
    worked_nanos: u64,
    comparison: Comparison,
}

/// What was expected and what was found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Comparison {
    /// How often the monitor compared.
    pub count: u64,
    /// Idle cores that the forecast expected for the last tenth of a second.
    pub idle_expected: f64,
    /// Idle cores found in it.
    pub idle_found: f64,
    /// The mean of |expected - found| over about the last 64 looks, in cores.
    pub error: f64,
    /// Busy cores of queries that began in the last tenth of a second, a running mean.
    pub young_cores: f64,
    /// Busy cores of what is neither query nor job, a running mean; 0 where the process's time is unknown.
    pub other_cores: f64,
    /// What the next look will compare with.
    expected_busy: f64,
}

/// A query that runs.
struct Query {
    plan: Arc<PlanForecast>,
    begun_nanos: u64,
    /// How long its client waited for it so far, nanoseconds.
    waited_nanos: AtomicU64,
    /// Since when its client waits, monotonic nanoseconds; 0: it does not.
    waits_since_nanos: AtomicU64,
    /// Core time that the monitor has counted, microseconds.
    counted_us: AtomicU64,
}

impl Query {
    fn ran_us(&self, now_nanos: u64) -> f64 {
        let since = self.waits_since_nanos.load(Ordering::Relaxed);
        let waits = if since == 0 { 0 } else { now_nanos.saturating_sub(since) };
        (self.waited_nanos.load(Ordering::Relaxed) + waits) as f64 / 1e3
    }

    fn is_waited_for(&self) -> bool {
        self.waits_since_nanos.load(Ordering::Relaxed) != 0
    }
}

/// Counts as long as it lives.
pub struct Counted<'a> {
    counter: &'a AtomicU32,
    ended: Option<&'a Load>,
}

/// A query that was begun; it is over when this is dropped.
pub struct QueryRun {
    load: Arc<Load>,
    query: Arc<Query>,
    /// What it took on all cores, microseconds, when somebody measured that.
    measured_us: Option<f64>,
}

/// A client waits, as long as this lives.
pub struct Waiting {
    load: Arc<Load>,
    query: Arc<Query>,
}

impl Load {
    pub(crate) fn new(clock: Arc<dyn Clock>, row_budget: Arc<RowBudget>, cores: usize, mode: SchedulerMode) -> Load {
        let load = Load {
            clock,
            row_budget,
            cores: cores.max(1),
            mode: AtomicU8::new(0),
            queries: AtomicU32::new(0),
            ended_nanos: AtomicU64::new(0),
            ended_cores: AtomicU32::new(0),
            urgent: AtomicU32::new(0),
            freeing: AtomicU32::new(0),
            pause_permille: AtomicU32::new(1000),
            other_permille: AtomicU32::new(0),
            worked_nanos: AtomicU64::new(0),
            patience: Patience::new(),
            phis: Phis::default(),
            running: Mutex::default(),
        };
        load.set_mode(mode);
        load
    }

    /// When jobs start.
    pub fn mode(&self) -> SchedulerMode {
        SchedulerMode::ALL[usize::from(self.mode.load(Ordering::Relaxed))]
    }

    /// Says when jobs start, from now on, for the whole engine.
    pub fn set_mode(&self, mode: SchedulerMode) {
        let before = SchedulerMode::ALL[usize::from(self.mode.swap(mode as u8, Ordering::Relaxed))];
        if before == SchedulerMode::Cost {
            self.patience.is_left(self.clock.monotonic_nanos());
        } else {
            self.patience.skip(self.clock.monotonic_nanos());
        }
    }

    /// How many cores queries and jobs share.
    pub fn cores(&self) -> usize {
        self.cores
    }

    /// The corrections of the cost model as they are now.
    pub fn phis(&self) -> PhiSet {
        self.phis.now()
    }

    /// Queries that run.
    pub fn query_count(&self) -> usize {
        self.running.lock().all.len() + self.queries.load(Ordering::Relaxed) as usize
    }

    /// A query begins, of which this is expected.
    pub fn begin(self: &Arc<Self>, plan: Arc<PlanForecast>) -> QueryRun {
        let query = Arc::new(Query {
            plan,
            begun_nanos: self.clock.monotonic_nanos(),
            waited_nanos: AtomicU64::new(0),
            waits_since_nanos: AtomicU64::new(0),
            counted_us: AtomicU64::new(0),
        });
        self.running.lock().all.push(Arc::clone(&query));
        QueryRun { load: Arc::clone(self), query, measured_us: None }
    }

    /// A client waits for a query of which nothing is known, until the answer is dropped (load 2).
    pub fn query(&self) -> Counted<'_> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        Counted { counter: &self.queries, ended: Some(self) }
    }

    /// Somebody waits for jobs until the answer is dropped.
    pub(crate) fn urgent(&self) -> Counted<'_> {
        self.urgent.fetch_add(1, Ordering::Relaxed);
        Counted { counter: &self.urgent, ended: None }
    }

    /// A job that frees memory runs until the answer is dropped.
    pub(crate) fn freeing(&self) -> Counted<'_> {
        self.freeing.fetch_add(1, Ordering::Relaxed);
        Counted { counter: &self.freeing, ended: None }
    }

    /// How many jobs run that free memory.
    pub(super) fn freeing_count(&self) -> u32 {
        self.freeing.load(Ordering::Relaxed)
    }

    /// The busy cores of the next moments.
    pub fn forecast(&self) -> Forecast {
        let queries = self.running.lock();
        self.forecast_of(&queries, self.clock.monotonic_nanos())
    }

    fn forecast_of(&self, queries: &Queries, now_nanos: u64) -> Forecast {
        // Of queries without a plan nothing is known: they use every core for as long as anybody looks ahead.
        let unknown = PlanForecast::new(vec![super::forecast::Stage {
            kind: OperatorKind::Other,
            cost_us: 1e9,
            parallelism: u32::try_from(self.cores).unwrap_or(u32::MAX),
        }]);
        let running = queries.all.iter().filter(|query| query.is_waited_for());
        let mut plans: Vec<RunningPlan<'_>> = running
            .map(|query| RunningPlan {
                plan: &query.plan,
                ran_us: query.ran_us(now_nanos),
                age_us: now_nanos.saturating_sub(query.begun_nanos) as f64 / 1e3,
            })
            .collect();
        if self.queries.load(Ordering::Relaxed) > 0 {
            plans.push(RunningPlan { plan: &unknown, ran_us: 0.0, age_us: f64::INFINITY });
        }
        let Comparison { young_cores, other_cores, .. } = queries.comparison;
        forecast(&plans, Lately { young_cores, other_cores }, &self.phis.now(), self.cores)
    }

    /// Cores that queries have at this moment; also for a millisecond after their last one.
    fn busy_now(&self) -> usize {
        if self.queries.load(Ordering::Relaxed) > 0 {
            return self.cores;
        }
        let now_nanos = self.clock.monotonic_nanos();
        let busy: u32 = {
            let queries = self.running.lock();
            if queries.all.is_empty() {
                0
            } else {
                let phis = self.phis.now();
                let waited = queries.all.iter().filter(|query| query.is_waited_for());
                waited.map(|query| query.plan.busy_at(query.ran_us(now_nanos), &phis)).sum()
            }
        };
        let ended_nanos = self.ended_nanos.load(Ordering::Relaxed);
        let lingers = ended_nanos != 0 && now_nanos.saturating_sub(ended_nanos) < LINGER_NANOS;
        let lingering = if lingers { self.ended_cores.load(Ordering::Relaxed) } else { 0 };
        (busy.max(lingering) as usize).min(self.cores)
    }

    /// Which part of its pauses the job in this seat is to make now: none beside idle cores, less and less in debt.
    pub(super) fn pause_share(&self, seat: u32) -> f64 {
        if self.mode() == SchedulerMode::Greedy || self.urgent.load(Ordering::Relaxed) > 0 {
            return 0.0;
        }
        // The job in seat 0 needs one core that is left of the queries and the rest, the one in seat 1 two.
        let others = f64::from(self.other_permille.load(Ordering::Relaxed)) / 1000.0;
        let busy = self.busy_now();
        let missing = (busy + seat as usize + 1) as f64 + others - self.cores as f64;
        // Beside statements of the point engine alone jobs go on: these are short, and slower when memory is short.
        if busy == 0 || missing <= 0.0 {
            return 0.0;
        }
        let quarter = self.row_budget.limit_bytes() as f64 / 4.0;
        let in_debt = (self.row_budget.used_bytes() as f64 - quarter) / quarter;
        let by_debt = f64::from(self.pause_permille.load(Ordering::Relaxed)) / 1000.0;
        let share = missing.min(1.0) * (1.0 - in_debt).clamp(0.0, 1.0).min(by_debt);
        debug_assert!((0.0..=1.0).contains(&share), "a job makes a part of its pauses");
        share
    }

    /// For how much longer the query that ends first is expected to run, microseconds; none when no client waits.
    pub(super) fn shortest_left_us(&self) -> Option<f64> {
        let now_nanos = self.clock.monotonic_nanos();
        let unknown = (self.queries.load(Ordering::Relaxed) > 0).then_some(f64::INFINITY);
        let (queries, phis) = (self.running.lock(), self.phis.now());
        let waited = queries.all.iter().filter(|query| query.is_waited_for());
        let known = waited.map(|query| query.plan.left_us(query.ran_us(now_nanos), &phis));
        known.chain(unknown).min_by(f64::total_cmp)
    }

    /// A job has worked for so long.
    pub(super) fn note_work(&self, nanos: u64) {
        self.worked_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// How long jobs have worked, pauses not counted, nanoseconds; work since the last step of each is missing.
    pub(crate) fn worked_nanos(&self) -> u64 {
        self.worked_nanos.load(Ordering::Relaxed)
    }

    /// Says how deep the engine is in other debts than memory: 0 = not at all, 1 = jobs are to make no more pauses.
    pub(crate) fn set_debt(&self, share: f64) {
        let left = (1.0 - share.clamp(0.0, 1.0)) * 1000.0;
        self.pause_permille.store(left as u32, Ordering::Relaxed);
    }

    pub(super) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// What the monitor does: compares what the last forecast expected with what was found, and makes the next.
    pub(crate) fn look(&self) {
        let phis = self.phis.now();
        let mut queries = self.running.lock();
        let now_nanos = self.clock.monotonic_nanos();
        let (mut used_us, mut young_us) = (queries.used_us, queries.used_by_young_us);
        for query in &queries.all {
            let (new_us, is_young) = query.count(now_nanos, queries.looked_nanos, None, &phis);
            used_us += new_us;
            young_us += if is_young { new_us } else { 0.0 };
        }
        let span_us = now_nanos.saturating_sub(queries.looked_nanos) as f64 / 1e3;
        let other_us = self.count_others(&mut queries, used_us);
        let is_first = queries.looked_nanos == 0;
        queries.looked_nanos = now_nanos;
        (queries.used_us, queries.used_by_young_us) = (0.0, 0.0);
        if !is_first && span_us > 0.0 {
            let cores = self.cores as f64;
            let comparison = &mut queries.comparison;
            let busy = ((used_us + other_us) / span_us).min(cores);
            comparison.count += 1;
            comparison.idle_expected = cores - comparison.expected_busy;
            comparison.idle_found = cores - busy;
            debug_assert!((0.0..=cores).contains(&comparison.idle_found), "no more cores are idle than there are");
            let error = (comparison.idle_expected - comparison.idle_found).abs();
            comparison.error += (error - comparison.error) / comparison.count.min(64) as f64;
            comparison.young_cores += ((young_us / span_us).min(cores) - comparison.young_cores) * YOUNG_WEIGHT;
            comparison.other_cores += ((other_us / span_us).min(cores) - comparison.other_cores) * OTHERS_WEIGHT;
            for mean in [&mut comparison.young_cores, &mut comparison.other_cores] {
                if *mean < 0.01 {
                    *mean = 0.0;
                }
            }
            self.other_permille.store((comparison.other_cores * 1000.0) as u32, Ordering::Relaxed);
        }
        queries.comparison.expected_busy = self.forecast_of(&queries, now_nanos).busy_mean(0.0, YOUNG_US);
    }

    /// What the process used since the last look besides these queries and jobs, microseconds.
    fn count_others(&self, queries: &mut Queries, used_us: f64) -> f64 {
        let (processor, worked) = (self.clock.processor_nanos(), self.worked_nanos.load(Ordering::Relaxed));
        let before = (std::mem::replace(&mut queries.processor_nanos, processor), queries.worked_nanos);
        queries.worked_nanos = worked;
        let (Some(processor), Some(processor_before)) = (processor, before.0) else { return 0.0 };
        let all_us = processor.saturating_sub(processor_before) as f64 / 1e3;
        let jobs_us = worked.saturating_sub(before.1) as f64 / 1e3;
        (all_us - jobs_us - used_us).max(0.0)
    }

    /// What the monitor saw last.
    pub fn comparison(&self) -> Comparison {
        self.running.lock().comparison
    }

    fn note_end(&self, cores: usize) {
        self.ended_cores.store(u32::try_from(cores).unwrap_or(u32::MAX), Ordering::Relaxed);
        self.ended_nanos.store(self.clock.monotonic_nanos().max(1), Ordering::Relaxed);
    }
}

impl Query {
    /// The core time that was not counted yet, and whether the query began after the monitor's last look.
    fn count(&self, now_nanos: u64, looked_nanos: u64, measured_us: Option<f64>, phis: &PhiSet) -> (f64, bool) {
        let total_us = measured_us.unwrap_or_else(|| self.plan.core_us(self.ran_us(now_nanos), phis));
        let counted_us = self.counted_us.fetch_max(total_us as u64, Ordering::Relaxed);
        ((total_us - counted_us as f64).max(0.0), self.begun_nanos >= looked_nanos)
    }
}

impl QueryRun {
    /// The client waits for the next batch until the answer is dropped (load 1).
    pub fn waiting(&self) -> Waiting {
        let now_nanos = self.load.clock.monotonic_nanos().max(1);
        self.query.waits_since_nanos.store(now_nanos, Ordering::Relaxed);
        Waiting { load: Arc::clone(&self.load), query: Arc::clone(&self.query) }
    }

    /// What was expected.
    pub fn plan(&self) -> &Arc<PlanForecast> {
        &self.query.plan
    }

    /// The query ran to its end: for each operator its kind, its estimate, and what it took, microseconds of one core.
    pub fn finish(mut self, operators: &[(OperatorKind, f64, f64)]) {
        self.measured_us = Some(operators.iter().map(|operator| operator.2).sum());
        self.load.phis.learn(operators.iter().copied());
    }
}

impl Drop for QueryRun {
    fn drop(&mut self) {
        let now_nanos = self.load.clock.monotonic_nanos();
        let phis = if self.measured_us.is_none() { self.load.phis.now() } else { PhiSet::default() };
        let mut queries = self.load.running.lock();
        let at = queries.all.iter().position(|query| Arc::ptr_eq(query, &self.query));
        queries.all.swap_remove(at.expect("a query runs until it is over"));
        let (new_us, is_young) = self.query.count(now_nanos, queries.looked_nanos, self.measured_us, &phis);
        queries.used_us += new_us;
        queries.used_by_young_us += if is_young { new_us } else { 0.0 };
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let (load, query) = (&self.load, &self.query);
        let since_nanos = query.waits_since_nanos.swap(0, Ordering::Relaxed);
        debug_assert!(since_nanos > 0, "a client waits for one batch at a time (load 1)");
        let waited_nanos = load.clock.monotonic_nanos().saturating_sub(since_nanos);
        query.waited_nanos.fetch_add(waited_nanos, Ordering::Relaxed);
        load.note_end((query.plan.parallelism_max() as usize).min(load.cores));
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if let Some(load) = self.ended {
            load.note_end(load.cores);
        }
        let before = self.counter.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "what is counted was counted until now");
    }
}

#[cfg(test)]
pub(super) mod tests;
