use weft_contract::{JobKind, Price};

use super::*;
use crate::sched::forecast::{Lately, PlanForecast, RunningPlan, Stage, forecast};
use crate::sched::phi::{OperatorKind, PhiSet};
use weft_format::TableId;

const CONVERT: JobKind = JobKind::freeing("convert");
const MOVE: JobKind = JobKind::tidying("move");
const TO_BASELINE: JobKind = JobKind::tidying("to baseline");
const FLUSH: JobKind = JobKind::freeing("flush");
const INDEX_MERGE: JobKind = JobKind::tidying("index merge");

fn offer(kind: JobKind, table: u32, cpu_ms: u64, dead_rows: u64) -> JobOffer {
    let memory_freed_bytes = if kind.frees_memory() { 4 << 20 } else { 0 };
    let price = Price { cpu_us: cpu_ms * 1000, memory_freed_bytes, dead_rows, ..Price::default() };
    JobOffer { table: TableId(table), kind, number: 1, price, reason: "test".into() }
}

/// Stages: milliseconds of one core, cores.
fn busy(stages: &[(f64, u32)], cores: usize) -> Forecast {
    let stage =
        |&(cost, parallelism): &(f64, u32)| Stage { kind: OperatorKind::Scan, cost_us: cost * 1e3, parallelism };
    let plan = PlanForecast::new(stages.iter().map(stage).collect());
    let running = RunningPlan { plan: &plan, ran_us: 0.0, age_us: 1e9 };
    forecast(&[running], Lately::default(), &PhiSet::default(), cores)
}

struct Case {
    mode: SchedulerMode,
    debts: Debts,
    waited_ms: f64,
    running: Vec<Occupied>,
    forecast: Forecast,
}

fn case(forecast: Forecast) -> Case {
    Case { mode: SchedulerMode::Cost, debts: Debts::default(), waited_ms: 0.0, running: Vec::new(), forecast }
}

impl Case {
    fn decide(&self, offers: &[JobOffer]) -> Decision {
        let offered: Vec<Offered<'_>> = offers
            .iter()
            .map(|offer| Offered { offer, waited_us: self.waited_ms * 1e3, expected_us: offer.price.cpu_us as f64 })
            .collect();
        decide(&Situation {
            mode: self.mode,
            offers: &offered,
            running: &self.running,
            debts: self.debts,
            forecast: &self.forecast,
        })
    }

    /// The tables whose jobs start.
    fn started(&self, offers: &[JobOffer]) -> Vec<u32> {
        self.decide(offers).start.iter().map(|choice| offers[choice.index].table.0).collect()
    }

    fn occupied(mut self, left_ms: f64) -> Case {
        let job = Running { table: TableId(99), kind: CONVERT, number: 1 };
        self.running.push(Occupied { job, left_us: left_ms * 1e3 });
        self
    }
}

#[test]
fn jobs_start_where_idle_cores_are_expected() {
    let convert = [offer(CONVERT, 3, 70, 0)];
    let full = case(busy(&[(60.0, 2), (300.0, 1)], 2));
    let decision = full.decide(&convert);
    assert!(decision.start.is_empty(), "{decision:?}");
    assert_eq!(decision.wait[0].reason, "0.6 of 2 cores are expected to be idle for its 70 ms");
    assert_eq!(decision.again_us, Some(30_000.0), "the second stage leaves a core idle");
    let decision = case(busy(&[(300.0, 1)], 2)).decide(&convert);
    assert!(decision.start[0].reason.ends_with("; 1.0 of 2 cores are expected to be idle for its 70 ms"));
    assert_eq!(decision.again_us, None);
    assert_eq!(case(busy(&[(300.0, 3)], 4)).started(&convert), [3]);
}

#[test]
fn running_jobs_and_chosen_ones_are_busy_cores() {
    let offers = [offer(CONVERT, 1, 70, 0), offer(CONVERT, 2, 70, 0)];
    assert_eq!(case(Forecast::idle(2)).started(&offers), [1, 2]);
    assert_eq!(case(Forecast::idle(2)).occupied(100.0).started(&offers), [1]);
    assert_eq!(case(Forecast::idle(2)).occupied(100.0).occupied(100.0).started(&offers), [0; 0]);
    assert_eq!(case(Forecast::idle(2)).occupied(100.0).occupied(5.0).started(&offers), [1], "it is over soon");
    assert_eq!(case(busy(&[(300.0, 1)], 2)).started(&offers), [1]);
}

#[test]
fn conversion_first_but_a_short_job_fits_where_it_does_not() {
    let offers = [offer(TO_BASELINE, 1, 12, 50), offer(CONVERT, 2, 70, 0)];
    assert_eq!(case(busy(&[(500.0, 1)], 2)).started(&offers), [2]);
    let gap = case(busy(&[(10.0, 1), (1000.0, 2)], 2));
    assert_eq!(gap.started(&offers), [1, 2], "the core is idle for 10 ms, and never for 70");
}

#[test]
fn debt_makes_progress_certain() {
    let full = || case(busy(&[(1e6, 2)], 2));
    let offers = [offer(CONVERT, 1, 70, 0), offer(TO_BASELINE, 2, 70, 50)];
    let later = || case(busy(&[(800.0, 2)], 2));
    assert_eq!(later().started(&offers[1..]), [0; 0]);
    for (memory, log, expected) in [(0.2, 0.4, &[][..]), (0.26, 0.0, &[1]), (0.0, 0.51, &[1])] {
        let found = Case { debts: Debts { memory, log }, ..later() };
        assert_eq!(found.started(&offers), expected);
    }
    assert_eq!(Case { waited_ms: 240.0, ..later() }.started(&offers), [0; 0]);
    assert_eq!(Case { waited_ms: 260.0, ..later() }.started(&offers), [1]);
    assert_eq!(Case { waited_ms: 2100.0, ..later() }.started(&offers[1..]), [2]);
    let decision = Case { waited_ms: 10_100.0, ..full() }.occupied(5.0).decide(&offers);
    assert!(decision.start.is_empty(), "one at a time");
    assert_eq!(later().started(&[offer(TO_BASELINE, 2, 70, 1_000_001)]), [2]);
    let always = [offer(CONVERT, 1, 70, 0), offer(TO_BASELINE, 2, 70, 50)];
    let deep = Case { debts: Debts { memory: 0.4, log: 0.0 }, waited_ms: 31_000.0, ..full() };
    assert_eq!(deep.started(&always)[0], 1, "both starve");
    let decided = decide(&Situation {
        mode: SchedulerMode::Cost,
        offers: &[
            Offered { offer: &always[0], waited_us: 0.0, expected_us: 7e4 },
            Offered { offer: &always[1], waited_us: 31e6, expected_us: 7e4 },
        ],
        running: &[],
        debts: Debts { memory: 0.4, log: 0.0 },
        forecast: &full().forecast,
    });
    let order: Vec<usize> = decided.start.iter().map(|choice| choice.index).collect();
    assert_eq!(order, [1, 0], "conversions that never end do not keep a compaction waiting for ever");
    let deep = Case { debts: Debts { memory: 0.9, log: 0.0 }, ..full() };
    assert_eq!(deep.occupied(50.0).occupied(50.0).started(&offers), [0; 0], "more jobs than cores do not end sooner");
}

#[test]
fn one_job_does_not_wait_for_room_that_never_comes() {
    let full = || case(busy(&[(1e6, 2)], 2));
    let offers = [offer(TO_BASELINE, 1, 12, 50), offer(CONVERT, 2, 70, 0)];
    let decision = full().decide(&offers);
    let reason = &decision.start[0].reason;
    assert!(
        reason
            .ends_with("0.0 of 2 cores are expected to be idle for its 70 ms, nor later: waiting would bring nothing")
    );
    assert_eq!((decision.start[0].index, decision.start.len(), decision.wait.len()), (1, 1, 1), "memory first");
    assert_eq!(full().started(&offers[..1]), [1], "merges do not wait, either");
    assert_eq!(case(busy(&[(800.0, 2)], 2)).started(&offers), [0; 0], "room is foreseen");
    assert_eq!(full().occupied(100.0).started(&offers), [0; 0], "beside another job there is even less room");
    assert_eq!(Case { mode: SchedulerMode::Off, ..full() }.started(&offers), [0; 0]);
}

#[test]
fn a_conversion_does_not_wait_for_a_merge() {
    let mut full = case(busy(&[(1e6, 2)], 2));
    let job = Running { table: TableId(99), kind: TO_BASELINE, number: 1 };
    full.running.push(Occupied { job, left_us: 3e6 });
    let offers = [offer(TO_BASELINE, 1, 12, 50), offer(CONVERT, 2, 70, 0)];
    assert_eq!(full.started(&offers), [2], "a merge of another table still waits");
    assert_eq!(full.started(&offers[..1]), [0; 0]);
    assert_eq!(full.occupied(100.0).started(&offers), [0; 0], "one conversion runs already");
}

#[test]
fn an_edit_alone_waits_for_nobody() {
    let mut moves = offer(MOVE, 3, 0, 0);
    moves.price.cpu_us = 400;
    let full = case(busy(&[(800.0, 2)], 2));
    assert_eq!(full.started(&[moves.clone(), offer(CONVERT, 2, 70, 0)]), [3]);
    assert_eq!(Case { mode: SchedulerMode::Off, ..full }.started(&[moves]), [0; 0]);
}

#[test]
fn greedy_starts_everything_and_off_nothing_but_what_is_demanded() {
    let offers = [offer(CONVERT, 1, 70, 0), offer(TO_BASELINE, 2, 70, 5_000_000), offer(CONVERT, 3, 1, 0)];
    let full = || case(busy(&[(1e6, 2)], 2)).occupied(100.0).occupied(100.0);
    assert_eq!(Case { mode: SchedulerMode::Greedy, ..full() }.started(&offers), [3, 1, 2]);
    let off = |memory: f64, log: f64| Case {
        mode: SchedulerMode::Off,
        debts: Debts { memory, log },
        waited_ms: 1e9,
        ..case(Forecast::idle(2))
    };
    assert_eq!(off(0.4, 0.9).started(&offers), [0; 0]);
    assert_eq!(off(0.4, 0.9).decide(&offers).wait[0].reason, "the scheduler is off");
    assert_eq!((off(0.6, 0.0).started(&offers), off(0.0, 1.1).started(&offers)), (vec![3, 1], vec![3, 1]));
}

/// Whatever is offered: what starts may run together, and everything that may run starts or waits.
#[test]
fn every_offer_is_accounted_for() {
    let mut seed = 5u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let kinds = [CONVERT, TO_BASELINE, FLUSH, INDEX_MERGE];
    for _ in 0..2000 {
        let mut offers: Vec<JobOffer> = Vec::new();
        for number in 0..random(8) {
            let kind = kinds[random(4) as usize];
            let made = offer(kind, 1 + random(3) as u32, random(200), random(400_000));
            offers.push(JobOffer { number, ..made });
        }
        let cores = 1 + random(4) as usize;
        let found = Case {
            mode: SchedulerMode::ALL[random(3) as usize],
            debts: Debts { memory: random(100) as f64 / 100.0, log: random(150) as f64 / 100.0 },
            waited_ms: random(12_000) as f64,
            running: Vec::new(),
            forecast: busy(&[(random(100) as f64, 1 + random(3) as u32), (random(100) as f64, 1)], cores),
        };
        let decision = found.decide(&offers);
        let mut beside = Vec::new();
        for choice in &decision.start {
            let offer = &offers[choice.index];
            assert!(fits_beside(offer, &beside), "{decision:?}");
            beside.push(Running::of(offer));
        }
        for (index, offer) in offers.iter().enumerate() {
            let named = decision.start.iter().chain(&decision.wait).any(|choice| choice.index == index);
            assert!(named || !fits_beside(offer, &beside), "{index} of {offers:?}: {decision:?}");
        }
        assert!(decision.again_us.is_none_or(|us| us > 0.0 && us <= HORIZON_US));
    }
}
