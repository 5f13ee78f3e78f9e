use super::*;
use crate::budget::RowBudget;
use crate::sched::SchedulerMode;
use crate::sched::forecast::{PlanForecast, Stage};
use crate::sched::load::tests::{Hands, MS, load_of};
use crate::sched::phi::OperatorKind;
use weft_env::Clock;

fn load() -> (Arc<Hands>, Arc<RowBudget>, Arc<Load>) {
    load_of(2)
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
fn debt_shortens_the_pauses_and_those_who_wait_for_jobs_end_them() {
    let (clock, budget, load) = load();
    let mut pacer = Pacer::new(load.clone());
    let _query = load.query();
    budget.charge(250);
    let whole = pause_after(&clock, &mut pacer, MS);
    budget.charge(125);
    let half = pause_after(&clock, &mut pacer, MS);
    assert!((7 * MS..8 * MS).contains(&whole) && (3 * MS..4 * MS).contains(&half), "{whole} {half} (pacer 3)");
    budget.charge(125);
    assert_eq!(pause_after(&clock, &mut pacer, MS), 0, "writers would be slowed down (pacer 3)");
    budget.release(500);
    assert!(pause_after(&clock, &mut pacer, MS) >= 7 * MS, "all work since the last pause counts");
    load.set_debt(0.5);
    assert!((3 * MS..4 * MS).contains(&pause_after(&clock, &mut pacer, MS)), "other debts count as well");
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
fn jobs_pause_while_no_core_is_left_for_them() {
    let (clock, _, load) = load_of(4);
    let stage = |cost_us, parallelism| Stage { kind: OperatorKind::Scan, cost_us, parallelism };
    // 200 ms on three cores, then 800 ms on one.
    let plan = Arc::new(PlanForecast::new(vec![stage(600_000.0, 3), stage(800_000.0, 1)]));
    let query = load.begin(plan);
    let waiting = query.waiting();
    let paused = |seat: u32| {
        take_seat(seat);
        pause_after(&clock, &mut Pacer::new(load.clone()), MS) > 0
    };
    assert_eq!([0, 1].map(paused), [false, true], "pacer 4");
    clock.advance(200 * MS);
    assert_eq!([0, 1, 2, 3].map(paused), [false, false, false, true]);
    drop(waiting);
    clock.advance(2 * MS);
    assert_eq!([0, 3].map(paused), [false, false], "the client reads what it got");
    take_seat(1);
    let _unknown = load.query();
    pause_after(&clock, &mut Pacer::new(load.clone()), MS);
    assert!(paused_nanos() >= 7 * MS);
    take_seat(0);
    assert_eq!(paused_nanos(), 0);
}
