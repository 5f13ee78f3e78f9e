use super::*;

fn stage(kind: OperatorKind, cost_ms: f64, parallelism: u32) -> Stage {
    Stage { kind, cost_us: cost_ms * 1000.0, parallelism }
}

fn plan(stages: &[(f64, u32)]) -> PlanForecast {
    PlanForecast::new(stages.iter().map(|&(cost, cores)| stage(OperatorKind::Scan, cost, cores)).collect())
}

fn old(plan: &PlanForecast, ran_ms: f64) -> RunningPlan<'_> {
    RunningPlan { plan, ran_us: ran_ms * 1000.0, age_us: 1e6 }
}

fn young(plan: &PlanForecast, ran_ms: f64) -> RunningPlan<'_> {
    RunningPlan { plan, ran_us: ran_ms * 1000.0, age_us: ran_ms * 1000.0 }
}

fn lately(young_cores: f64, other_cores: f64) -> Lately {
    Lately { young_cores, other_cores }
}

/// The steps in milliseconds.
fn steps(forecast: &Forecast) -> Vec<(f64, f64)> {
    forecast.steps().iter().map(|&(at_us, busy)| ((at_us / 10.0).round() / 100.0, busy)).collect()
}

#[test]
fn stages_follow_one_another_and_queries_add_up() {
    let mut phis = PhiSet::default();
    phis.update(OperatorKind::Scan, 100.0, 150.0);
    let one = PlanForecast::new(vec![stage(OperatorKind::Scan, 8.0, 2), stage(OperatorKind::Sort, 10.0, 1)]);
    let other = PlanForecast::new(vec![stage(OperatorKind::Filter, 4.0, 1)]);
    let found = forecast(&[old(&one, 3.0), young(&other, 0.0)], Lately::default(), &phis, 4);
    assert_eq!(steps(&found), [(0.0, 3.0), (3.0, 2.0), (4.0, 1.0), (13.0, 0.0)]);
    assert_eq!((found.busy_mean(0.0, 4000.0), found.busy_mean(3500.0, 3500.0)), (2.75, 2.0));
    assert_eq!(found.next_idle(2.5, 5000.0), Some(3000.0), "at first 1.8 of 4 cores are idle for 5 ms");
    assert_eq!(found.next_idle(4.0, 1000.0), Some(13_000.0));
    assert_eq!(found.next_idle(4.1, 1000.0), None);
}

#[test]
fn no_more_cores_are_busy_than_there_are() {
    let wide = plan(&[(8.0, 2)]);
    let found = forecast(&[old(&wide, 0.0), old(&wide, 2.0)], Lately::default(), &PhiSet::default(), 2);
    assert_eq!(steps(&found), [(0.0, 2.0), (4.0, 0.0)]);
}

#[test]
fn who_is_late_is_expected_to_go_on_for_as_long() {
    let short = plan(&[(4.0, 2), (1.0, 1)]);
    let found = forecast(&[old(&short, 13.0)], Lately::default(), &PhiSet::default(), 2);
    assert_eq!(steps(&found), [(0.0, 1.0), (10.0, 0.0)]);
    let found = forecast(&[old(&short, 3.0)], Lately::default(), &PhiSet::default(), 2);
    assert_eq!(steps(&found), [(0.0, 1.0), (0.5, 0.0)]);
}

#[test]
fn queries_like_those_that_just_were_are_expected_to_come() {
    let (long, short) = (plan(&[(50.0, 1)]), plan(&[(4.0, 2)]));
    let running = [old(&long, 10.0), young(&short, 1.0)];
    let found = forecast(&running, lately(1.5, 0.0), &PhiSet::default(), 4);
    assert_eq!(steps(&found), [(0.0, 3.0), (1.0, 2.5), (40.0, 1.5)]);
    let found = forecast(&[], lately(1.5, 0.0), &PhiSet::default(), 4);
    assert_eq!(steps(&found), [(0.0, 1.5)]);
}

#[test]
fn what_else_the_process_does_is_expected_to_go_on() {
    let (long, short) = (plan(&[(50.0, 1)]), plan(&[(4.0, 2)]));
    let running = [old(&long, 10.0), young(&short, 1.0)];
    let found = forecast(&running, lately(1.5, 0.5), &PhiSet::default(), 4);
    assert_eq!(steps(&found), [(0.0, 3.5), (1.0, 3.0), (40.0, 2.0)]);
    assert_eq!(steps(&forecast(&[], lately(0.0, 0.5), &PhiSet::default(), 4)), [(0.0, 0.5)]);
    assert_eq!(steps(&forecast(&running, lately(1.5, 9.0), &PhiSet::default(), 4)), [(0.0, 4.0)], "forecast 5");
}

#[test]
fn the_core_time_of_a_plan_adds_up() {
    let plan = plan(&[(8.0, 2), (3.0, 1)]);
    let phis = PhiSet::default();
    let at = |ran_ms: f64| (plan.busy_at(ran_ms * 1e3, &phis), plan.core_us(ran_ms * 1e3, &phis) / 1e3);
    assert_eq!([at(0.0), at(3.0), at(5.0), at(9.0)], [(2, 0.0), (2, 6.0), (1, 9.0), (1, 13.0)]);
    assert_eq!(plan.duration_us(&phis), 7000.0);
}

/// What the cores' use integrates to is the core time that is left.
#[test]
fn nothing_is_lost_between_stages() {
    let mut seed = 11u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for _ in 0..500 {
        let plans: Vec<PlanForecast> = (0..1 + random(4))
            .map(|_| {
                let stages = (0..1 + random(4)).map(|_| (1.0 + random(40) as f64, 1 + random(3) as u32));
                plan(&stages.collect::<Vec<_>>())
            })
            .collect();
        let phis = PhiSet::default();
        let running: Vec<RunningPlan<'_>> = plans
            .iter()
            .map(|plan| {
                let ran_us = plan.duration_us(&phis) * random(100) as f64 / 101.0;
                RunningPlan { plan, ran_us, age_us: ran_us }
            })
            .collect();
        let left: f64 = running
            .iter()
            .map(|q| q.plan.core_us(q.plan.duration_us(&phis), &phis) - q.plan.core_us(q.ran_us, &phis))
            .sum();
        let found = forecast(&running, Lately::default(), &phis, 100);
        assert!((found.busy_mean(0.0, HORIZON_US) * HORIZON_US - left).abs() < 1.0, "{found:?}, left {left}");
    }
}
