//! Failed syncs, full disks and damaged bytes: nothing acknowledged is lost, no wrong answer is given, and the error
//! says what to do.

#![allow(clippy::unwrap_used, clippy::disallowed_types)]

use std::sync::Arc;
use std::time::Duration;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::{Code, Error};
use weft_sim::{
    DIR, Damaged, History, Random, Scenario, completeness, damage, faulted_round, names_the_damage, open_engine,
    read_everything, verify,
};

/// How many seeds each test runs.
fn seeds() -> u64 {
    let default = if cfg!(debug_assertions) { 12 } else { 40 };
    std::env::var("WEFT_SIM_FAULT_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A machine with a database that a few rounds have filled.
struct Machine {
    simulation: Arc<Simulation>,
    history: Arc<History>,
    scenario: Scenario,
    random: Random,
    rounds: u64,
}

impl Machine {
    fn filled(seed: u64) -> Machine {
        let simulation = Arc::new(Simulation::new(SimOptions::seeded(seed)));
        let random = Random::new(seed, 50);
        let mut machine =
            Machine { simulation, history: Arc::default(), scenario: Scenario::seeded(seed), random, rounds: 0 };
        machine.run_finished(|_| ());
        machine
    }

    /// A round in which `during` is called while the clients run; its faults are taken back when they are through.
    fn run(&mut self, during: impl FnOnce(&Simulation) + Send + 'static) -> RunEnd {
        let (scenario, history, number) = (self.scenario.clone(), Arc::clone(&self.history), self.rounds);
        let simulation = Arc::clone(&self.simulation);
        self.rounds += 1;
        self.simulation.run(move |env| {
            let rest = || simulation.faults().clear();
            faulted_round(&env, &scenario, &history, number, |_, _| during(&simulation), rest);
        })
    }

    fn run_finished(&mut self, during: impl FnOnce(&Simulation) + Send + 'static) {
        let seed = self.scenario.seed;
        assert_eq!(self.run(during), RunEnd::Finished, "seed {seed}");
    }

    /// Opens and verifies, without a workload, closing cleanly when asked to.
    fn reopen(&self, close: bool) -> RunEnd {
        let (scenario, history) = (self.scenario.clone(), Arc::clone(&self.history));
        self.simulation.run(move |env| {
            let engine = open_engine(&env, &scenario).expect("it opens");
            verify(&engine, &history, &mut Random::new(scenario.seed, 51));
            if close {
                engine.close().expect("it closes");
            }
        })
    }
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged_until_it_is_reopened() {
    let mut poisoned = 0;
    for seed in 0..seeds() {
        let mut machine = Machine::filled(seed);
        // Io: a bulk statement whose files could not be synced throws them away and fails alone.
        machine.scenario.tolerated = vec![Code::Poisoned, Code::Io];
        let nth = 1 + machine.random.below(12);
        // Readers of the round tolerate no error at all: reads go on.
        machine.run_finished(move |simulation| {
            let faults = simulation.faults();
            match seed % 4 {
                0 | 1 => faults.fail_sync("log-", nth),
                2 => faults.fail_sync("MANIFEST", nth.div_ceil(3)),
                _ => faults.fail_sync_dir(DIR, nth),
            }
        });
        poisoned += u64::from(machine.history.is_poisoned());
        machine.simulation.faults().clear();
        if machine.random.chance(60) {
            machine.simulation.power_off();
        }
        machine.scenario.tolerated.clear();
        assert_eq!(machine.reopen(true), RunEnd::Finished, "seed {seed}");
        machine.run_finished(|_| ());
    }
    assert!(poisoned * 3 > seeds(), "only {poisoned} runs were told of their failed sync");
}

#[test]
fn any_operations_may_fail() {
    for seed in 0..seeds() * 2 {
        let mut machine = Machine::filled(seed);
        machine.scenario.tolerated = vec![Code::Poisoned, Code::Io];
        let nth = 1 + machine.random.below(250);
        // One, or some in a row: what cleans up after a failure may fail, too.
        let count = if machine.random.chance(50) { 1 } else { 2 + machine.random.below(4) };
        machine.run_finished(move |simulation| {
            (nth..nth + count).for_each(|nth| simulation.faults().fail_operation(nth));
        });
        machine.simulation.faults().clear();
        if machine.random.chance(60) {
            machine.simulation.power_off();
        }
        machine.scenario.tolerated.clear();
        assert_eq!(machine.reopen(true), RunEnd::Finished, "seed {seed}");
        machine.run_finished(|_| ());
    }
}

#[test]
fn a_full_disk_fails_writes_cleanly_and_they_resume() {
    let mut refused = 0;
    for seed in 0..seeds() {
        let mut machine = Machine::filled(seed);
        machine.scenario.tolerated = vec![Code::DiskFull];
        machine.scenario.transactions *= 2;
        let pause = machine.random.below(4000);
        let before = machine.history.counts();
        machine.run_finished(move |simulation| {
            let env = simulation.env();
            env.clock.sleep(Duration::from_micros(pause));
            simulation.faults().fill_disk();
            env.clock.sleep(Duration::from_micros(6000));
            simulation.faults().set_capacity(None);
        });
        let after = machine.history.counts();
        refused += after.faulted - before.faulted;
        if machine.random.chance(50) {
            machine.simulation.power_off();
        }
        machine.scenario.tolerated.clear();
        assert_eq!(machine.reopen(true), RunEnd::Finished, "seed {seed}");
        machine.run_finished(|_| ());
    }
    assert!(refused > 0, "no write met the full disk");
}

#[test]
fn the_same_process_writes_again_when_there_is_space() {
    for seed in 0..seeds() / 2 {
        let machine = Machine::filled(seed);
        let (mut scenario, simulation) = (machine.scenario.clone(), Arc::clone(&machine.simulation));
        // Else the row memory, which jobs cannot free on a full disk, is used up first.
        scenario.options.row_memory_bytes = 16 << 20;
        let end = machine.simulation.run(move |env| {
            let engine = open_engine(&env, &scenario).expect("it opens");
            // Others on the disk take what jobs free, else the jobs may make room for all that is written.
            let write_on_full_disk = |n| {
                simulation.faults().fill_disk();
                write_one(&engine, n)
            };
            let full = (0..2000).find_map(|n| write_on_full_disk(n).err()).expect("the disk is full at some point");
            assert_eq!(full.code(), Code::DiskFull, "{full}");
            assert!(full.hint_text().is_some(), "the remedy is named: {full}");
            assert!(!read_everything(&engine, &mut Random::new(1, 1)).expect("reads go on").is_empty());
            assert_eq!(write_on_full_disk(3000).expect_err("it is still full").code(), Code::DiskFull);
            simulation.faults().set_capacity(None);
            write_one(&engine, 4000).expect("there is space again");
            assert!(has_one(&engine, 4000) && !has_one(&engine, 3000), "failed commits leave nothing");
            assert_eq!(engine.check().expect("it can be checked"), Vec::<String>::new());
        });
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
        machine.simulation.power_off();
        let scenario = machine.scenario.clone();
        let end = machine.simulation.run(move |env| {
            let engine = open_engine(&env, &scenario).expect("it opens");
            assert!(has_one(&engine, 4000) && !has_one(&engine, 3000));
        });
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
    }
}

/// Commits a ledger row that no client writes.
fn write_one(engine: &Arc<weft_kernel::Engine>, n: i64) -> Result<(), Error> {
    use weft_format::ValueRef;
    let mut txn = engine.begin()?;
    let ledger = txn.table("ledger")?;
    let row = ledger.codec.encode([ValueRef::Int(1_000_000 + n), ValueRef::Int(0), ValueRef::Int(0)]);
    txn.insert(&ledger, &row)?;
    txn.commit().map(|_| ())
}

fn has_one(engine: &Arc<weft_kernel::Engine>, n: i64) -> bool {
    let txn = engine.begin().unwrap();
    let ledger = txn.table("ledger").unwrap();
    let key = ledger.keys.encode([weft_format::ValueRef::Int(1_000_000 + n)]);
    txn.get_row(&ledger, &key).unwrap().is_some()
}

#[test]
fn flipped_bits_in_data_files_never_become_answers() {
    let (mut reported, mut right) = (0, 0);
    for seed in 0..seeds() {
        let machine = Machine::filled(seed);
        assert_eq!(machine.reopen(true), RunEnd::Finished, "seed {seed}");
        let mut scenario = machine.scenario.clone();
        scenario.options.cache_bytes = 0;
        scenario.options.workers = 0;
        let counts: Arc<std::sync::Mutex<(u64, u64)>> = Arc::default();
        let (results, simulation) = (Arc::clone(&counts), Arc::clone(&machine.simulation));
        let end = machine.simulation.run(move |env| {
            let mut random = Random::new(seed, 52);
            let engine = open_engine(&env, &scenario).expect("it opens");
            let state = read_everything(&engine, &mut random).expect("it reads");
            for _ in 0..10 {
                simulation.faults().flip_bits(".data", 1 + random.below(3));
                let mut results = results.lock().unwrap();
                match read_everything(&engine, &mut random) {
                    Ok(found) => {
                        assert!(found == state, "violation: a flipped bit became an answer");
                        results.1 += 1;
                    }
                    Err(error) => {
                        assert!(names_the_damage(&error), "violation: {error}");
                        results.0 += 1;
                    }
                }
                drop(results);
                simulation.faults().clear();
                simulation.faults().flip_bits(".data", 1);
                match engine.check() {
                    Ok(lines) => assert!(!lines.is_empty(), "violation: check found nothing"),
                    Err(error) => assert!(names_the_damage(&error), "violation: {error}"),
                }
                simulation.faults().clear();
            }
        });
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
        let counts = counts.lock().unwrap();
        reported += counts.0;
        right += counts.1;
    }
    println!("flipped bits: {reported} reported, {right} without effect");
    assert!(reported > 0);
}

#[test]
fn the_log_and_the_manifest_prove_their_ends() {
    assert_eq!(completeness(), Ok(()));
}

#[test]
fn damage_at_any_place_is_reported_or_harmless() {
    for kind in [Damaged::Log, Damaged::Manifest, Damaged::DataFile] {
        let (mut reported, mut harmless) = (0, 0);
        for seed in 0..seeds() * 3 {
            match damage(seed, kind) {
                Ok(Some(true)) => reported += 1,
                Ok(_) => harmless += 1,
                Err(violation) => panic!("seed {seed}: {violation}"),
            }
        }
        println!("damaged {kind:?}: {reported} reported, {harmless} without effect");
        assert!(reported > 0);
    }
}

/// Files of jobs that cannot be made durable, removed or opened: jobs rest, everybody else goes on, nothing stops.
#[test]
fn jobs_in_trouble_stop_nobody() {
    let mut failed = 0;
    for seed in 0..seeds() {
        let mut machine = Machine::filled(seed);
        // Bulk statements make files, too, and fail alone.
        machine.scenario.tolerated = vec![Code::DiskFull, Code::Io];
        let before = machine.history.counts();
        // Readers of the round tolerate no error at all: reads go on.
        machine.run_finished(move |simulation| {
            let faults = simulation.faults();
            match seed % 4 {
                0 => (1..40).for_each(|nth| faults.fill_at_sync(".data", nth)),
                1 => (1..40).for_each(|nth| faults.fail_sync(".data", nth)),
                2 => faults.refuse_removals(".data"),
                _ => faults.set_open_files_max(Some(faults.open_files().0.max(12))),
            }
        });
        failed += machine.history.counts().faulted - before.faulted;
        assert!(!machine.history.is_poisoned(), "seed {seed}: the engine stopped");
        machine.simulation.faults().clear();
        if machine.random.chance(50) {
            machine.simulation.power_off();
        }
        machine.scenario.tolerated.clear();
        assert_eq!(machine.reopen(true), RunEnd::Finished, "seed {seed}");
        machine.run_finished(|_| ());
    }
    println!("{failed} statements failed");
}

/// Bits that flip on their way and reads that fail, a few at a time, under clients and jobs: who reads is told, jobs
/// rest and are tried again, a commit that is in the log is installed, nothing stops.
#[test]
fn reads_that_fail_beside_clients_and_jobs_stop_nobody() {
    /// Fewer in a row than a commit tries to read.
    const IN_A_ROW: u64 = 6;
    let mut failed = 0;
    for seed in 0..seeds() * 2 {
        let mut machine = Machine::filled(seed);
        let options = machine.scenario.options.clone();
        // No reader of the round, which tolerates no error at all; and what is read comes from the disk.
        (machine.scenario.readers, machine.scenario.options.cache_bytes) = (0, 0);
        machine.scenario.tolerated = vec![Code::DataCorrupted, Code::Io];
        let bursts: Vec<(u64, u64)> =
            (0..12).map(|_| (1 + machine.random.below(IN_A_ROW), machine.random.below(1500))).collect();
        let before = machine.history.counts();
        machine.run_finished(move |simulation| {
            let env = simulation.env();
            for (reads, pause_micros) in bursts {
                let faults = simulation.faults();
                faults.clear();
                if seed % 2 == 0 {
                    faults.flip_bits(".data", reads)
                } else {
                    faults.fail_reads(".data", reads)
                }
                env.clock.sleep(Duration::from_micros(pause_micros));
            }
        });
        failed += machine.history.counts().faulted - before.faulted;
        assert!(!machine.history.is_poisoned(), "seed {seed}: the engine stopped");
        if machine.random.chance(50) {
            machine.simulation.power_off();
        }
        machine.scenario.tolerated.clear();
        machine.scenario.options = options;
        assert_eq!(machine.reopen(true), RunEnd::Finished, "seed {seed}");
        machine.run_finished(|_| ());
    }
    println!("{failed} statements failed");
    assert!(failed > 0, "no statement met one");
}
