use super::*;
use crate::budget::RowBudget;
use crate::sched::SchedulerMode;
use crate::sched::forecast::{PlanForecast, Stage};
use crate::sched::load::tests::{Hands, MS, load_of};
use crate::sched::phi::OperatorKind;
use weft_env::Clock;

fn load() -> (Arc<Hands>, Arc<RowBudget>, Arc<Load>, Pacer) {
    let (clock, budget, load) = load_of(2);
    let pacer = job(&load, 0);
    (clock, budget, load, pacer)
}

/// A job begins in a seat.
fn job(load: &Arc<Load>, seat: u32) -> Pacer {
    take_seat(seat, false, &**load.clock());
    Pacer::new(load.clone())
}

/// A job that frees memory begins in a seat.
fn conversion(load: &Arc<Load>, seat: u32) -> Pacer {
    take_seat(seat, true, &**load.clock());
    Pacer::new(load.clone())
}

/// How long a job pauses after so much work.
fn pause_after(clock: &Hands, pacer: &mut Pacer, work_nanos: u64) -> u64 {
    clock.advance(work_nanos);
    let begun = clock.monotonic_nanos();
    pacer.step();
    clock.monotonic_nanos() - begun
}

/// A query of so many milliseconds on two cores.
fn plan_of(ms: f64) -> Arc<PlanForecast> {
    let stage = Stage { kind: OperatorKind::Scan, cost_us: ms * 2e3, parallelism: 2 };
    Arc::new(PlanForecast::new(vec![stage]))
}

/// Pauses beside a query that has just begun, after work in slices of a fifth of a millisecond.
fn pauses_beside(ms: f64, slices: usize, clock: &Hands, load: &Arc<Load>, pacer: &mut Pacer) -> Vec<u64> {
    let query = load.begin(plan_of(ms));
    let _waiting = query.waiting();
    (0..slices).map(|_| pause_after(clock, pacer, MS / 5)).collect()
}

#[test]
fn a_job_beside_queries_that_never_end_works_half_of_its_time() {
    let (clock, _, load, mut pacer) = load();
    assert_eq!(pause_after(&clock, &mut pacer, MS), 0, "nobody asks");
    let query = load.query();
    let pauses: Vec<u64> = (0..30).map(|_| pause_after(&clock, &mut pacer, MS / 5)).collect();
    assert_eq!(pauses[..4], [0, 0, 3 * MS / 5, 0], "half a millisecond at a time");
    assert_eq!(pauses.iter().sum::<u64>(), 6 * MS);
    drop(query);
    let pause = pause_after(&clock, &mut pacer, MS / 5);
    assert!((MS / 2..2 * MS).contains(&pause), "until a millisecond is quiet: {pause}");
    assert_eq!(pause_after(&clock, &mut pacer, 3 * MS), 0, "idle");
}

#[test]
fn work_waits_for_a_long_query() {
    let (clock, _, load, _) = load();
    // Of a query of 10 ms one is left after the slice.
    let query = load.begin(plan_of(10.0));
    let waiting = query.waiting();
    clock.advance(9 * MS - MS / 5);
    let mut pacer = job(&load, 0);
    let pause = pause_after(&clock, &mut pacer, MS / 5);
    assert!((3 * MS..5 * MS).contains(&pause), "until it is so late that it is taken for a long one: {pause}");
    let _unknown = load.query();
    let pauses = pauses_beside(1.0, 1, &clock, &load, &mut pacer);
    assert!(pauses[0] > 0, "a short one beside one of which nothing is known");
    drop((waiting, query));
    let pauses = pauses_beside(50.0, 2, &clock, &load, &mut pacer);
    assert_eq!(pauses, [0, 0], "work goes on beside a long one");
}

#[test]
fn beside_short_queries_without_end_a_job_works_a_quarter_of_its_time() {
    let (clock, _, load, mut pacer) = load();
    // Whenever the job looks around, a query has just ended and the next is about to begin.
    let short = move || drop(load.query());
    short();
    clock.when_slept(short);
    let pauses: Vec<u64> = (0..100).map(|_| pause_after(&clock, &mut pacer, MS / 5)).collect();
    assert!((20 * MS..24 * MS).contains(&pauses[0]), "patience: {pauses:?}");
    let later: u64 = pauses[1..].iter().sum();
    assert!((28..=36).contains(&(later * 10 / (99 * MS / 5))), "{pauses:?}");
    clock.when_slept(|| ());
}

#[test]
fn patience_ends_where_cores_are_never_idle_and_comes_back() {
    let (clock, _, load, mut pacer) = load();
    let query = load.begin(plan_of(1e6));
    let waiting = query.waiting();
    let share_of_pauses = |pacer: &mut Pacer, work_ms: u64| {
        let paused: u64 = (0..work_ms * 2).map(|_| pause_after(&clock, pacer, MS / 2)).sum();
        paused as f64 / (paused + work_ms * MS) as f64
    };
    let first = share_of_pauses(&mut pacer, 500);
    assert!((0.48..0.52).contains(&first), "half of the time beside a long query: {first}");
    share_of_pauses(&mut pacer, 1000);
    let later = share_of_pauses(&mut pacer, 10_000);
    assert!((0.11..0.14).contains(&later), "an eighth of it in the long run: {later}");
    drop(waiting);
    clock.advance(8000 * MS);
    let mut pacer = job(&load, 0);
    let query = load.begin(plan_of(1e6));
    let _waiting = query.waiting();
    let again = share_of_pauses(&mut pacer, 500);
    assert!((0.48..0.52).contains(&again), "what was saved up while no query ran: {again}");
}

#[test]
fn patience_is_not_saved_up_while_another_scheduler_has_its_turn() {
    let (clock, _, load, mut pacer) = load();
    let paused_nanos = |pacer: &mut Pacer, turn_nanos: u64| {
        let (begun, mut paused) = (clock.monotonic_nanos(), 0);
        while clock.monotonic_nanos() - begun < turn_nanos {
            paused += pause_after(&clock, pacer, MS / 2);
        }
        paused
    };
    let query = load.begin(plan_of(1e6));
    let _waiting = query.waiting();
    paused_nanos(&mut pacer, 20_000 * MS);
    for _ in 0..3 {
        load.set_mode(SchedulerMode::Off);
        clock.advance(5_000 * MS);
        load.set_mode(SchedulerMode::Cost);
        let paused = paused_nanos(&mut pacer, 5_000 * MS);
        let share = paused as f64 / (5_000 * MS) as f64;
        assert!((0.11..0.14).contains(&share), "an eighth of its own turn: {share}");
    }
}

#[test]
fn beside_short_queries_without_end_a_conversion_works_half_of_its_time() {
    let (clock, _, load, _) = load();
    let _freeing = load.freeing();
    let mut pacer = conversion(&load, 1);
    let asked = Arc::clone(&load);
    let short = move || drop(asked.query());
    short();
    clock.when_slept(short);
    let pauses: Vec<u64> = (0..200).map(|_| pause_after(&clock, &mut pacer, MS / 5)).collect();
    let later: u64 = pauses[1..].iter().sum();
    assert!((35..=45).contains(&(later * 40 / (199 * MS / 5))), "{pauses:?}");
    clock.when_slept(|| ());
}

#[test]
fn a_merge_makes_room_for_a_conversion() {
    let (clock, _, load, mut merge) = load();
    let query = load.begin(plan_of(1000.0));
    let waiting = query.waiting();
    let work = |pacer: &mut Pacer| -> u64 { (0..300).map(|_| pause_after(&clock, pacer, MS / 5)).sum() };
    let alone = work(&mut merge);
    assert!((55 * MS..65 * MS).contains(&alone), "half of the time beside a long query: {alone}");
    let freeing = load.freeing();
    let beside = work(&mut merge);
    assert!((180 * MS..225 * MS).contains(&beside), "a quarter: {beside}");
    drop(freeing);
    drop(waiting);
    clock.advance(5 * MS);
    let _freeing = load.freeing();
    assert_eq!(pause_after(&clock, &mut merge, 10 * MS), 0, "no query waits for a core");
}

#[test]
fn debt_shortens_the_pauses_and_those_who_wait_for_jobs_end_them() {
    let (clock, budget, load, mut pacer) = load();
    let _query = load.query();
    budget.charge(250);
    let whole = pause_after(&clock, &mut pacer, 8 * MS);
    budget.charge(125);
    let half = pause_after(&clock, &mut pacer, 8 * MS);
    assert_eq!((whole, half), (8 * MS, 4 * MS), "pacer 3");
    budget.charge(125);
    assert_eq!(pause_after(&clock, &mut pacer, MS), 0, "writers would be slowed down (pacer 3)");
    budget.release(500);
    assert_eq!(pause_after(&clock, &mut pacer, MS), MS);
    load.set_debt(0.5);
    assert_eq!(pause_after(&clock, &mut pacer, 8 * MS), 4 * MS, "other debts count as well");
    load.set_debt(1.0);
    assert_eq!(pause_after(&clock, &mut pacer, MS), 0);
    load.set_debt(0.0);
    assert!(pause_after(&clock, &mut pacer, MS) > 0);
    let urgent = load.urgent();
    assert_eq!(pause_after(&clock, &mut pacer, MS), 0, "a checkpoint waits");
    drop(urgent);
    assert!(pause_after(&clock, &mut pacer, MS) > 0);
    load.set_mode(SchedulerMode::Greedy);
    assert_eq!(pause_after(&clock, &mut pacer, MS), 0, "greedy jobs never pause");
}

#[test]
fn what_a_job_waits_for_is_not_its_work() {
    let (clock, _, load, _) = load();
    clock.tell_threads();
    let mut pacer = job(&load, 0);
    let _query = load.query();
    assert_eq!(pause_after(&clock, &mut pacer, 50 * MS), 0, "for a disk");
    clock.work(8 * MS);
    assert_eq!(pause_after(&clock, &mut pacer, 50 * MS), 8 * MS, "for a disk, and worked 8 ms");
    assert_eq!(load.worked_nanos(), 8 * MS);
}

#[test]
fn jobs_pause_while_no_core_is_left_for_them() {
    let (clock, _, load) = load_of(4);
    let stage = |cost_us, parallelism| Stage { kind: OperatorKind::Scan, cost_us, parallelism };
    // 200 ms on three cores, then 800 ms on one.
    let plan = Arc::new(PlanForecast::new(vec![stage(600_000.0, 3), stage(800_000.0, 1)]));
    let query = load.begin(plan);
    let waiting = query.waiting();
    let paused = |seat: u32| pause_after(&clock, &mut job(&load, seat), MS) > 0;
    assert_eq!([0, 1].map(paused), [false, true], "pacer 4");
    clock.advance(200 * MS);
    assert_eq!([0, 1, 2, 3].map(paused), [false, false, false, true]);
    drop(waiting);
    clock.advance(2 * MS);
    assert_eq!([0, 3].map(paused), [false, false], "the client reads what it got");
    let _unknown = load.query();
    let mut pacer = job(&load, 1);
    pause_after(&clock, &mut pacer, MS);
    pause_after(&clock, &mut Pacer::new(load.clone()), MS);
    assert_eq!(paused_nanos(), 2 * MS, "all pacers of a job keep one pace");
    job(&load, 0);
    assert_eq!(paused_nanos(), 0);
}

#[test]
fn a_missing_part_of_a_core_makes_that_part_of_a_pause() {
    let (clock, _, load, _) = load();
    load.look();
    let busy = |of_ms: u64| {
        for _ in 0..80 {
            clock.advance(100 * MS);
            clock.work(of_ms * MS);
            load.look();
        }
    };
    busy(190);
    assert_eq!(pause_after(&clock, &mut job(&load, 0), MS), 0, "clients of the point engine alone");
    busy(50);
    let mut pacer = job(&load, 0);
    assert_eq!(pause_after(&clock, &mut pacer, MS), 0, "1.5 cores are idle");
    let stage = Stage { kind: OperatorKind::Scan, cost_us: 1e9, parallelism: 1 };
    let query = load.begin(Arc::new(PlanForecast::new(vec![stage])));
    let _waiting = query.waiting();
    let pause = pause_after(&clock, &mut pacer, 8 * MS);
    assert!((7 * MS / 2..5 * MS).contains(&pause), "half a core is missing: {pause}");
}
