//! An archive while the workload runs, with crashes at any operation and faults of the disk: what it says that it has
//! is restored to a state that the model had, and the source is never harmed.
//!
//! `WEFT_SIM_ARCHIVE_SEEDS` enlarges it; `WEFT_SIM_SEED=7` runs one seed.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::Code;
use weft_sim::{ArchiveCounts, ArchiveLedger, History, Random, Scenario, round};

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn seeds() -> std::ops::Range<u64> {
    match setting("WEFT_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..setting("WEFT_SIM_ARCHIVE_SEEDS").unwrap_or(if cfg!(debug_assertions) { 8 } else { 40 }),
    }
}

/// Runs `body` with each seed, on all cores.
fn each_seed(body: impl Fn(u64) + Sync) {
    let (seeds, next) = (seeds(), AtomicU64::new(0));
    let run = || {
        loop {
            let seed = seeds.start + next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            body(seed);
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(run))));
}

struct Machine {
    simulation: Arc<Simulation>,
    history: Arc<History>,
    ledger: Arc<ArchiveLedger>,
    scenario: Scenario,
    random: Random,
    rounds: u64,
}

impl Machine {
    fn new(seed: u64) -> Machine {
        Machine {
            simulation: Arc::new(Simulation::new(SimOptions::seeded(seed))),
            history: Arc::default(),
            ledger: Arc::default(),
            scenario: Scenario::seeded(seed),
            random: Random::new(seed, 160),
            rounds: 0,
        }
    }

    /// A round with an archive beside it, and faults that `prepare` sets right before that begins.
    fn run(&mut self, prepare: impl FnOnce(&Simulation) + Send + 'static) -> RunEnd {
        let (scenario, history, ledger) = (self.scenario.clone(), self.history.clone(), self.ledger.clone());
        let (number, simulation) = (self.rounds, Arc::clone(&self.simulation));
        let mut random = Random::new(scenario.seed, 161 + number);
        self.rounds += 1;
        self.simulation.run(move |env| {
            ledger.check_after_crash(&env, &history, &scenario, &mut random);
            round(&env, &scenario, &history, number, |env, engine| {
                prepare(&simulation);
                ledger.ship(env, engine, &history, &scenario, &mut random);
            });
        })
    }
}

#[test]
fn what_an_archive_has_is_restored_whenever_the_machine_crashes() {
    let totals = std::sync::Mutex::new((ArchiveCounts::default(), 0));
    each_seed(|seed| {
        let mut machine = Machine::new(seed);
        assert_eq!(machine.run(|_| ()), RunEnd::Finished, "seed {seed}");
        let mut crashes = 0;
        for crash in 0..5 {
            let operations = 1 + machine.random.below(400);
            let end = machine.run(move |simulation| simulation.crash_after(operations));
            machine.simulation.cancel_crash();
            match end {
                RunEnd::Crashed { .. } => crashes += 1,
                RunEnd::Finished => {}
                RunEnd::Panicked { message, .. } => panic!("seed {seed}, crash {crash}: {message}"),
            }
        }
        assert_eq!(machine.run(|_| ()), RunEnd::Finished, "seed {seed}, the last round");
        let (counts, mut totals) = (machine.ledger.counts(), totals.lock().unwrap());
        totals.0.compared += counts.compared;
        totals.0.with_pieces += counts.with_pieces;
        totals.0.older += counts.older;
        totals.0.bases = totals.0.bases.max(counts.bases);
        totals.0.fences = totals.0.fences.max(counts.fences);
        totals.1 += crashes;
    });
    let (counts, crashes) = totals.into_inner().unwrap();
    println!("{crashes} crashes; {counts:?}");
    if setting("WEFT_SIM_SEED").is_none() {
        let are_seen = [counts.compared, counts.with_pieces, counts.bases / 2, counts.fences / 3, crashes];
        assert!(are_seen.iter().all(|count| *count > 0), "{counts:?}, {crashes} crashes");
    }
}

#[test]
fn a_node_over_the_archive_shows_what_was_committed_whenever_the_machine_crashes() {
    is_followed(ArchiveLedger::with_node);
}

/// Its connection breaks now and then, and it ends and begins again.
#[test]
fn a_node_that_is_fed_shows_what_was_committed_whenever_the_machine_crashes() {
    is_followed(ArchiveLedger::with_fed_node);
}

fn is_followed(ledger: fn() -> ArchiveLedger) {
    let (compared, joins) = (AtomicU64::new(0), AtomicU64::new(0));
    each_seed(|seed| {
        let mut machine = Machine::new(seed);
        machine.ledger = Arc::new(ledger());
        assert_eq!(machine.run(|_| ()), RunEnd::Finished, "seed {seed}");
        for crash in 0..4 {
            let operations = 1 + machine.random.below(600);
            let end = machine.run(move |simulation| simulation.crash_after(operations));
            machine.simulation.cancel_crash();
            if let RunEnd::Panicked { message, .. } = end {
                panic!("seed {seed}, crash {crash}: {message}");
            }
        }
        assert_eq!(machine.run(|_| ()), RunEnd::Finished, "seed {seed}, the last round");
        let (looked, joined) = machine.ledger.far();
        compared.fetch_add(looked, Ordering::Relaxed);
        joins.fetch_max(joined, Ordering::Relaxed);
    });
    let (compared, joins) = (compared.into_inner(), joins.into_inner());
    println!("{compared} snapshots compared, {joins} joins at most");
    assert!(setting("WEFT_SIM_SEED").is_some() || compared > 0);
}

#[test]
fn any_operation_may_fail_while_an_archive_is_shipped() {
    let failed = AtomicU64::new(0);
    each_seed(|seed| {
        let mut machine = Machine::new(seed);
        assert_eq!(machine.run(|_| ()), RunEnd::Finished, "seed {seed}");
        machine.scenario.tolerated = vec![Code::Poisoned, Code::Io, Code::DiskFull];
        let nth = 1 + machine.random.below(200);
        let end = machine.run(move |simulation| simulation.faults().fail_operation(nth));
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
        machine.simulation.faults().clear();
        machine.scenario.tolerated.clear();
        assert_eq!(machine.run(|_| ()), RunEnd::Finished, "seed {seed}, after the fault");
        failed.fetch_add(machine.ledger.counts().failed, Ordering::Relaxed);
    });
    println!("{} rounds had a fault in the archive's way", failed.load(Ordering::Relaxed));
}
