//! Backups while the workload runs, with crashes at any operation and right after each step, and faults of the disk: a
//! backup that counts restores to a state that the model had, and the source is never harmed.
//!
//! `WEFT_SIM_BACKUP_SEEDS` enlarges it; `WEFT_SIM_SEED=7` runs one seed.

#![allow(clippy::unwrap_used, clippy::disallowed_types)]

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::Code;
use weft_kernel::step::BackupStep;
use weft_sim::{
    BackupLedger, History, Random, Scenario, back_up_with_faults, open_engine, read_everything, round, verify,
};

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn seeds() -> std::ops::Range<u64> {
    match setting("WEFT_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..setting("WEFT_SIM_BACKUP_SEEDS").unwrap_or(if cfg!(debug_assertions) { 10 } else { 40 }),
    }
}

struct Machine {
    simulation: Arc<Simulation>,
    history: Arc<History>,
    ledger: Arc<BackupLedger>,
    scenario: Scenario,
    random: Random,
    rounds: u64,
}

impl Machine {
    fn new(seed: u64, is_store: bool) -> Machine {
        Machine {
            simulation: Arc::new(Simulation::new(SimOptions::seeded(seed))),
            history: Arc::default(),
            ledger: if is_store { Arc::new(BackupLedger::in_store()) } else { Arc::default() },
            scenario: Scenario::seeded(seed),
            random: Random::new(seed, 60),
            rounds: 0,
        }
    }

    /// A round with a backup in the middle, and faults that `prepare` sets right before it.
    fn run(&mut self, prepare: impl FnOnce(&Simulation) + Send + 'static) -> RunEnd {
        let (scenario, history, ledger) = (self.scenario.clone(), self.history.clone(), self.ledger.clone());
        let (number, simulation) = (self.rounds, Arc::clone(&self.simulation));
        let mut random = Random::new(scenario.seed, 61 + number);
        self.rounds += 1;
        self.simulation.run(move |env| {
            ledger.check_after_crash(&env, &history, &scenario, &mut random);
            round(&env, &scenario, &history, number, |env, engine| {
                env.clock.sleep(std::time::Duration::from_micros(random.below(3000)));
                prepare(&simulation);
                ledger.back_up(env, engine, &history, &scenario, &mut random);
            });
        })
    }
}

#[test]
fn a_backup_that_counts_is_a_moment_of_the_run_whenever_the_machine_crashes() {
    crashes_anywhere(false);
}

#[test]
fn a_backup_in_a_store_that_counts_is_a_moment_of_the_run_whenever_the_machine_crashes() {
    crashes_anywhere(true);
}

fn crashes_anywhere(is_store: bool) {
    let (mut crashed, mut totals) = (BTreeSet::new(), [0; 4]);
    for seed in seeds() {
        let mut machine = Machine::new(seed, is_store);
        assert_eq!(machine.run(|_| ()), RunEnd::Finished, "seed {seed}");
        for crash in 0..6 {
            let step = BackupStep::ALL[(seed as usize * 6 + crash) % BackupStep::ALL.len()].name();
            let (by_step, operations) = (machine.random.chance(50), 1 + machine.random.below(120));
            let end = machine.run(move |simulation| match by_step {
                true => simulation.crash_at_step(step, 1),
                false => simulation.crash_after(operations),
            });
            machine.simulation.cancel_crash();
            match end {
                RunEnd::Crashed { operation, .. } => drop(crashed.insert(operation)),
                RunEnd::Finished => {}
                RunEnd::Panicked { message, .. } => panic!("seed {seed}, crash {crash}: {message}"),
            }
        }
        assert_eq!(machine.run(|_| ()), RunEnd::Finished, "seed {seed}, the last round");
        let counts = machine.ledger.counts();
        let more = [counts.made, counts.shared, counts.compared, counts.compared_again];
        totals.iter_mut().zip(more).for_each(|(total, more)| *total += more);
    }
    println!("{} different crash points; made, shared, compared, compared again: {totals:?}", crashed.len());
    if setting("WEFT_SIM_SEED").is_none() {
        let missed: Vec<_> =
            BackupStep::ALL.iter().filter(|step| !crashed.contains(&format!("step {}", step.name()))).collect();
        assert!(missed.is_empty(), "never crashed after {missed:?}");
        assert!(totals.iter().all(|total| *total > 0), "{totals:?}");
    }
}

#[test]
fn any_operation_may_fail_during_a_backup() {
    fails_anywhere(false);
}

#[test]
fn any_operation_may_fail_during_a_backup_into_a_store() {
    fails_anywhere(true);
}

fn fails_anywhere(is_store: bool) {
    let (mut failed, mut made) = (0, 0);
    for seed in seeds() {
        let mut machine = Machine::new(seed, is_store);
        assert_eq!(machine.run(|_| ()), RunEnd::Finished, "seed {seed}");
        machine.scenario.tolerated = vec![Code::Poisoned, Code::Io, Code::DiskFull];
        let nth = 1 + machine.random.below(60);
        let end = machine.run(move |simulation| simulation.faults().fail_operation(nth));
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
        machine.simulation.faults().clear();
        machine.scenario.tolerated.clear();
        assert_eq!(machine.run(|_| ()), RunEnd::Finished, "seed {seed}, after the fault");
        let counts = machine.ledger.counts();
        (failed, made) = (failed + counts.failed, made + counts.made);
    }
    println!("{failed} backups failed, {made} were made");
    assert!(failed > 0 || setting("WEFT_SIM_SEED").is_some());
}

#[test]
fn bits_that_flip_while_it_is_read_never_become_a_backup() {
    flips_anywhere(false);
}

#[test]
fn bits_that_flip_while_it_is_read_never_become_a_backup_in_a_store() {
    flips_anywhere(true);
}

fn flips_anywhere(is_store: bool) {
    let reported = Arc::new(std::sync::Mutex::new(0));
    for seed in seeds() {
        let mut machine = Machine::new(seed, is_store);
        assert_eq!(machine.run(|_| ()), RunEnd::Finished, "seed {seed}");
        let (history, simulation, count) = (machine.history.clone(), machine.simulation.clone(), reported.clone());
        let ledger = machine.ledger.clone();
        let mut scenario = machine.scenario.clone();
        scenario.options.workers = 0;
        let end = machine.simulation.run(move |env| {
            let mut random = Random::new(seed, 62);
            let engine = open_engine(&env, &scenario).unwrap();
            verify(&engine, &history, &mut random);
            let state = read_everything(&engine, &mut random).unwrap();
            engine.checkpoint().unwrap();
            for file in [".data", "log-", "db/"] {
                simulation.faults().flip_bits(file, 1 + random.below(3));
                let error = back_up_with_faults(&env, &engine, &ledger, &state, || simulation.faults().clear());
                *count.lock().unwrap() += u64::from(error.is_some());
            }
            assert_eq!(engine.check().unwrap(), Vec::<String>::new());
            assert!(back_up_with_faults(&env, &engine, &ledger, &state, || ()).is_none(), "without a fault it is made");
        });
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
    }
    println!("{} reported", reported.lock().unwrap());
    assert!(*reported.lock().unwrap() > 0);
}
