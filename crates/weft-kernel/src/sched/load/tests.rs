use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::*;
use crate::sched::forecast::Stage;

/// Time passes in sleeps, and when a test says so; processor time only when a test says so.
#[derive(Default)]
pub(in crate::sched) struct Hands {
    nanos: AtomicU64,
    processor_nanos: AtomicU64,
    tells_threads: AtomicBool,
    when_slept: Mutex<Option<Box<dyn Fn() + Send>>>,
}

impl Hands {
    pub(in crate::sched) fn advance(&self, nanos: u64) {
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    pub(in crate::sched) fn work(&self, nanos: u64) {
        self.processor_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// From now on it tells a thread what it worked, too: all that anybody did.
    pub(in crate::sched) fn tell_threads(&self) {
        self.tells_threads.store(true, Ordering::Relaxed);
    }

    /// After each sleep this is done, from now on.
    pub(in crate::sched) fn when_slept(&self, work: impl Fn() + Send + 'static) {
        *self.when_slept.lock() = Some(Box::new(work));
    }
}

impl Clock for Hands {
    fn wall_micros(&self) -> i64 {
        0
    }

    fn monotonic_nanos(&self) -> u64 {
        self.nanos.load(Ordering::Relaxed)
    }

    fn sleep(&self, duration: Duration) {
        self.advance(duration.as_nanos() as u64);
        if let Some(work) = &*self.when_slept.lock() {
            work();
        }
    }

    fn processor_nanos(&self) -> Option<u64> {
        Some(self.processor_nanos.load(Ordering::Relaxed))
    }

    fn thread_processor_nanos(&self) -> Option<u64> {
        self.tells_threads.load(Ordering::Relaxed).then(|| self.processor_nanos.load(Ordering::Relaxed))
    }
}

pub(in crate::sched) const MS: u64 = 1_000_000;

pub(in crate::sched) fn load_of(cores: usize) -> (Arc<Hands>, Arc<RowBudget>, Arc<Load>) {
    let (clock, budget) = (Arc::new(Hands::default()), Arc::new(RowBudget::new(1000)));
    clock.advance(5 * MS);
    let load = Load::new(clock.clone(), budget.clone(), cores, SchedulerMode::Cost);
    (clock, budget, Arc::new(load))
}

fn plan(stages: &[(f64, u32)]) -> Arc<PlanForecast> {
    let stage = |&(cost_ms, parallelism): &(f64, u32)| Stage {
        kind: OperatorKind::Scan,
        cost_us: cost_ms * 1000.0,
        parallelism,
    };
    Arc::new(PlanForecast::new(stages.iter().map(stage).collect()))
}

#[test]
fn a_query_counts_while_its_client_waits() {
    let (clock, _, load) = load_of(4);
    let query = load.begin(plan(&[(20.0, 2)]));
    assert_eq!(load.forecast().steps(), [(0.0, 0.0)]);
    let waiting = query.waiting();
    clock.advance(4 * MS);
    assert_eq!(load.forecast().steps(), [(0.0, 2.0), (6000.0, 0.0)]);
    drop(waiting);
    clock.advance(50 * MS);
    assert_eq!(load.forecast().steps(), [(0.0, 0.0)], "the client reads");
    let waiting = query.waiting();
    assert_eq!(load.forecast().steps(), [(0.0, 2.0), (6000.0, 0.0)], "it goes on where it was");
    drop(waiting);
    query.finish(&[(OperatorKind::Scan, 20_000.0, 30_000.0)]);
    assert_eq!((load.query_count(), load.phis().of(OperatorKind::Scan).mean), (0, 1.5));
    let _unknown = load.query();
    assert_eq!(load.forecast().steps(), [(0.0, 4.0)], "load 2");
}

#[test]
fn the_monitor_compares_what_it_expected_with_what_it_found() {
    let (clock, _, load) = load_of(2);
    load.look();
    let long = load.begin(plan(&[(1000.0, 1)]));
    let waiting = long.waiting();
    clock.advance(100 * MS);
    load.look();
    let seen = load.comparison();
    assert_eq!((seen.count, seen.idle_expected, seen.idle_found), (1, 2.0, 1.0), "it came unexpected");
    assert_eq!(seen.young_cores, 0.25);
    clock.advance(100 * MS);
    load.look();
    let seen = load.comparison();
    assert_eq!(seen.idle_expected, 1.0, "it goes on, and is not counted as one that might come, too");
    assert!((seen.idle_found - 1.0).abs() < 1e-3, "{seen:?}");
    drop(waiting);
    drop(long);
    clock.advance(100 * MS);
    load.look();
    let seen = load.comparison();
    assert_eq!((seen.idle_expected, seen.idle_found), (1.0, 2.0), "it ended early");
}

#[test]
fn a_stream_of_short_queries_is_expected_to_go_on() {
    let (clock, _, load) = load_of(2);
    for _ in 0..20 {
        load.look();
        for _ in 0..10 {
            let query = load.begin(plan(&[(8.0, 2)]));
            let waiting = query.waiting();
            clock.advance(4 * MS);
            drop(waiting);
            query.finish(&[(OperatorKind::Scan, 8000.0, 8000.0)]);
            clock.advance(6 * MS);
        }
    }
    load.look();
    let busy = load.forecast().busy_mean(0.0, 50_000.0);
    assert!((0.75..0.85).contains(&busy), "8 of 10 ms on one core: {busy}");
    let seen = load.comparison();
    assert!(seen.error < 0.3 && (seen.idle_expected - seen.idle_found).abs() < 0.05, "{seen:?}");
    for _ in 0..30 {
        clock.advance(100 * MS);
        load.look();
    }
    assert_eq!(load.forecast().steps(), [(0.0, 0.0)], "it ended");
}

#[test]
fn what_neither_queries_nor_jobs_use_is_measured() {
    let (clock, _, load) = load_of(2);
    load.look();
    let look_after = |query_ms: u64, job_ms: u64, other_ms: u64| {
        let query = load.begin(plan(&[(query_ms as f64, 1)]));
        let waiting = query.waiting();
        clock.advance(100 * MS);
        clock.work((query_ms + job_ms + other_ms) * MS);
        load.note_work(job_ms * MS);
        drop(waiting);
        query.finish(&[(OperatorKind::Scan, query_ms as f64 * 1e3, query_ms as f64 * 1e3)]);
        load.look();
        load.comparison()
    };
    let seen = look_after(20, 30, 50);
    assert!((seen.other_cores - 0.5 / 8.0).abs() < 1e-6 && (seen.idle_found - 1.3).abs() < 1e-6, "{seen:?}");
    for _ in 0..60 {
        look_after(20, 30, 50);
    }
    let seen = look_after(20, 60, 50);
    assert!((seen.other_cores - 0.5).abs() < 0.01 && seen.error < 0.1, "{seen:?}");
    let busy = load.forecast().busy_mean(0.0, 50_000.0);
    assert!((busy - 0.7).abs() < 0.02, "queries 0.2, others 0.5: {busy}");
    for _ in 0..60 {
        look_after(0, 100, 0);
    }
    assert_eq!(load.comparison().other_cores, 0.0, "it ended");
}
