//! Trouble stays where it is: what cannot be read, opened, written or run concerns one part or one table, is told, is
//! tried again, and everything else goes on, after reopening, too.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::{Code, Column, DataType, Result, Schema, Value, ValueRef};
use weft_kernel::index::NewIndex;
use weft_kernel::sched::JobState;
use weft_kernel::{Engine, EngineOptions, NewTable};
use weft_tables::column_method;

#[path = "troubles/files_back.rs"]
mod files_back;
#[path = "troubles/handles.rs"]
mod handles;
#[path = "troubles/let_go.rs"]
mod let_go;
#[path = "troubles/quarantine.rs"]
mod quarantine;

const DIR: &str = "db";
/// Names the fault that is planted in this process.
#[cfg(feature = "faults")]
const FAULT: &str = "WEFT_TROUBLES_FAULT";
/// Rows that make a part.
const PART_ROWS: i64 = 40;
/// Parts of a table that overlap: enough that merges are due.
const PARTS: i64 = 14;

fn by_hand() -> EngineOptions {
    EngineOptions { workers: 0, cache_bytes: 0, log_segment_bytes: 1 << 16, ..EngineOptions::default() }
}

fn open(env: &Env, options: EngineOptions) -> Result<Arc<Engine>> {
    Engine::open(env.clone(), Path::new(DIR), vec![column_method()], options)
}

/// Runs `body` in a simulated process, with an open database.
fn run(
    simulation: &Arc<Simulation>,
    options: EngineOptions,
    body: impl FnOnce(&Simulation, &Env, Arc<Engine>) + Send + 'static,
) {
    let inner = simulation.clone();
    let end = simulation.run(move |env| {
        let engine = open(&env, options).unwrap();
        body(&inner, &env, engine);
    });
    assert_eq!(end, RunEnd::Finished);
}

fn machine(seed: u64) -> Arc<Simulation> {
    #[cfg(feature = "faults")]
    if let Ok(name) = std::env::var(FAULT) {
        let method = column_method();
        let mut known = weft_kernel::fault::Fault::KERNEL.iter().chain(method.faults());
        weft_kernel::fault::plant(known.find(|fault| fault.name() == name).copied());
    }
    Arc::new(Simulation::new(SimOptions::seeded(seed)))
}

/// `CREATE TABLE name (k bigint PRIMARY KEY, v bigint)`, small parts, few buckets; perhaps an index on v.
fn create(engine: &Arc<Engine>, name: &str, indexed: bool) {
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: false };
    let mut new = NewTable::new(name, Schema::new(vec![column("k"), column("v")], vec![0]), "column");
    new.options = BTreeMap::from(
        [("column_table_bytes", "4096"), ("bucket_bytes", "4096"), ("granularity_bytes", "8192"), ("overlap_max", "3")]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let mut txn = engine.begin().unwrap();
    txn.create_table(new).unwrap();
    txn.commit().unwrap();
    if indexed {
        let mut txn = engine.begin().unwrap();
        let t = txn.table(name).unwrap();
        txn.create_index(&t, NewIndex::new(format!("{name}_v"), vec![1], false)).unwrap();
        txn.commit().unwrap();
    }
}

fn put(engine: &Arc<Engine>, name: &str, keys: impl IntoIterator<Item = i64>, v: i64) -> Result<()> {
    let mut txn = engine.begin()?;
    let t = txn.table(name)?;
    for k in keys {
        let key = t.keys.encode([ValueRef::Int(k)]);
        let row = t.codec.encode([ValueRef::Int(k), ValueRef::Int(v)]);
        match txn.get_for_upsert(&t, &key)? {
            Some(_) => txn.update(&t, &key, &row)?,
            None => txn.insert(&t, &row)?,
        }
    }
    txn.commit().map(|_| ())
}

fn get(engine: &Arc<Engine>, name: &str, k: i64) -> Result<Option<i64>> {
    let txn = engine.begin()?;
    let t = txn.table(name)?;
    let mut values = Vec::new();
    txn.get(&t, &t.keys.encode([ValueRef::Int(k)]), &[1], &mut values)?;
    Ok(values.first().map(|value| if let Value::Int(v) = value { *v } else { panic!("{value:?}") }))
}

/// Carries what was written to a part, and runs no job else.
fn to_part(engine: &Arc<Engine>) {
    engine.freeze().unwrap();
    while engine.tables().iter().any(|t| t.table.jobs().iter().any(|offer| offer.kind.frees_memory())) {
        if !engine.run_one_job().unwrap() {
            // A worker has it.
            engine.env().clock.sleep(Duration::from_millis(1));
        }
    }
}

/// Two tables of parts that overlap, so that merges are due.
fn filled(engine: &Arc<Engine>) {
    for name in ["bad", "good"] {
        create(engine, name, true);
        for round in 0..PARTS {
            put(engine, name, (0..PART_ROWS).map(|k| k * PARTS + round), round).unwrap();
            to_part(engine);
        }
    }
}

/// The data files of a table, oldest first.
fn files(env: &Env, engine: &Arc<Engine>, name: &str) -> Vec<PathBuf> {
    let id = engine.tables().iter().find(|t| t.def.name == name).unwrap().def.id;
    let prefix = format!("t{id}-");
    let mut names = env.fs.list(Path::new(DIR)).unwrap();
    names.retain(|name| name.starts_with(&prefix));
    names.sort_by_key(|name| name[prefix.len()..].strip_suffix(".data").unwrap().parse::<u64>().unwrap());
    names.iter().map(|name| Path::new(DIR).join(name)).collect()
}

/// What every trouble must leave: writes and reads of other tables, and of the table as long as nobody needs the part.
fn assert_good_goes_on(engine: &Arc<Engine>) {
    put(engine, "good", [1], 100).unwrap();
    assert_eq!(get(engine, "good", 1).unwrap(), Some(100));
    assert_eq!(engine.status().poisoned, None);
}

#[test]
fn a_damaged_block_keeps_only_its_own_part_from_jobs() {
    let simulation = machine(2);
    run(&simulation, by_hand(), |simulation, env, engine| {
        filled(&engine);
        let bad = files(env, &engine, "bad");
        simulation.faults().damage(&bad[0], 8 * 100).unwrap();
        let error = engine.run_jobs().unwrap_err();
        assert_eq!(error.code(), Code::DataCorrupted, "{error}");
        let name = bad[0].file_name().unwrap().to_str().unwrap();
        assert!(error.message().contains(name) && error.hint_text().unwrap().contains("--quarantine"), "{error}");
        assert_good_goes_on(&engine);
        put(&engine, "bad", [1000], 7).unwrap();
        assert_eq!(get(&engine, "bad", 1000).unwrap(), Some(7));
        assert_eq!(get(&engine, "bad", 1).unwrap(), Some(1), "a row of another part");
        let refused = get(&engine, "bad", 0).unwrap_err();
        assert_eq!(refused.code(), Code::DataCorrupted, "{refused}");
        let told: Vec<_> = engine.jobs().into_iter().filter(|job| job.state == JobState::Resting).collect();
        assert!(told.iter().any(|job| job.trouble.as_ref().unwrap().error.contains(name)), "{told:?}");
        assert!(engine.damaged_files().iter().any(|file| file.name == "bad" && file.error.contains(name)));
        let failed: Vec<_> = told.iter().map(|job| (job.table, job.kind, job.number)).collect();
        let offers: Vec<_> = engine.tables().iter().flat_map(|t| t.table.jobs()).collect();
        let again = offers.iter().find(|offer| failed.contains(&(offer.table, offer.kind, offer.number)));
        assert_eq!(again, None, "the part is left out");
        // Other tables' merges and this one's conversions are done.
        engine.freeze().unwrap();
        let _ = engine.run_jobs();
        assert!((files(env, &engine, "good").len() as i64) < PARTS, "the other table is merged");
        engine.checkpoint().unwrap();
        engine.close().unwrap();
    });
    run(&simulation, by_hand(), |_, _, engine| {
        let _ = engine.run_jobs();
        assert_good_goes_on(&engine);
        put(&engine, "bad", [1001], 8).unwrap();
        assert_eq!((get(&engine, "bad", 1).unwrap(), get(&engine, "bad", 1000).unwrap()), (Some(1), Some(7)));
        assert_eq!(get(&engine, "bad", 0).unwrap_err().code(), Code::DataCorrupted);
    });
}

/// A worker's jobs fail for a while, by a fault of the disk; then everything is converted.
fn jobs_fail_and_recover(seed: u64, begin: impl FnOnce(&Simulation, &str) + Send + 'static) {
    let simulation = machine(seed);
    let options = EngineOptions { workers: 2, ..by_hand() };
    run(&simulation, options, move |simulation, env, engine| {
        filled(&engine);
        let id = engine.tables().iter().find(|t| t.def.name == "bad").unwrap().def.id;
        begin(simulation, &format!("t{id}-"));
        put(&engine, "bad", 2000..2040, 1).unwrap();
        put(&engine, "good", 2000..2040, 1).unwrap();
        engine.freeze().unwrap();
        env.clock.sleep(Duration::from_secs(20));
        let resting: Vec<_> = engine.jobs().into_iter().filter(|job| job.state == JobState::Resting).collect();
        assert!(!resting.is_empty(), "it is told: {:?}", engine.jobs());
        let failed = engine.status().jobs_failed;
        assert!((2..60).contains(&failed), "pauses grow: {failed} failures in 20 s");
        assert_good_goes_on(&engine);
        put(&engine, "bad", [3000], 1).unwrap();
        assert_eq!(get(&engine, "bad", 2001).unwrap(), Some(1));
        simulation.faults().clear();
        env.clock.sleep(Duration::from_secs(60));
        assert_eq!(engine.status().jobs_resting, 0, "it was tried again: {:?}", engine.jobs());
        engine.checkpoint().unwrap();
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
        engine.close().unwrap();
    });
    run(&simulation, by_hand(), |_, _, engine| {
        assert_eq!(get(&engine, "bad", 2001).unwrap(), Some(1));
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    });
}

#[test]
fn jobs_that_cannot_open_files_rest_and_are_tried_again() {
    jobs_fail_and_recover(3, |simulation, prefix| simulation.faults().refuse_opens(prefix));
}

#[test]
fn jobs_whose_files_cannot_be_synced_rest_and_are_tried_again() {
    jobs_fail_and_recover(4, |simulation, prefix| {
        (1..200).for_each(|nth| simulation.faults().fail_sync(prefix, nth));
    });
}

#[test]
fn jobs_that_find_the_disk_full_late_rest_and_are_tried_again() {
    jobs_fail_and_recover(5, |simulation, prefix| {
        (1..200).for_each(|nth| simulation.faults().fill_at_sync(prefix, nth));
    });
}

/// A log that is longer than it may be makes tables freeze, and what is frozen offers jobs, which fail.
fn fail_while_the_log_is_long(workers: usize, wait: impl FnOnce(&Env, &Arc<Engine>) + Send + 'static) {
    let simulation = machine(8);
    let options = EngineOptions { checkpoint_log_bytes: 4096, workers, ..by_hand() };
    run(&simulation, options, move |simulation, env, engine| {
        create(&engine, "bad", false);
        let id = engine.tables().iter().find(|t| t.def.name == "bad").unwrap().def.id;
        simulation.faults().refuse_opens(&format!("t{id}-"));
        put(&engine, "bad", 0..400, 1).unwrap();
        engine.freeze().unwrap();
        wait(env, &engine);
        assert!(engine.status().jobs_failed > 0);
        simulation.faults().clear();
        engine.run_jobs().unwrap();
        assert_eq!(engine.status().jobs_resting, 0, "{:?}", engine.jobs());
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
        engine.close().unwrap();
    });
}

#[test]
fn who_runs_all_jobs_comes_to_an_end_though_one_fails_and_the_log_is_long() {
    fail_while_the_log_is_long(0, |_, engine| drop(engine.run_jobs().unwrap_err()));
}

#[test]
fn workers_rest_though_the_log_is_long_and_what_would_let_it_go_fails() {
    fail_while_the_log_is_long(2, |env, _| env.clock.sleep(Duration::from_secs(20)));
}

#[test]
fn files_that_cannot_be_read_for_a_while() {
    jobs_fail_and_recover(6, |simulation, prefix| {
        simulation.faults().refuse_opens(prefix);
        simulation.faults().fail_reads(prefix, u64::MAX);
    });
}

#[test]
fn files_that_cannot_be_removed_stop_nothing() {
    let simulation = machine(7);
    run(&simulation, by_hand(), |simulation, _, engine| {
        simulation.faults().refuse_removals(".data");
        simulation.faults().refuse_removals("log-");
        filled(&engine);
        engine.run_jobs().unwrap();
        let _ = engine.checkpoint();
        assert_good_goes_on(&engine);
        simulation.faults().clear();
        engine.checkpoint().unwrap();
        engine.close().unwrap();
    });
    run(&simulation, by_hand(), |_, _, engine| {
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
        assert_good_goes_on(&engine);
    });
}

/// What it does in the middle of a job needs the hook of the steps.
#[cfg(feature = "faults")]
mod panics {
    use weft_kernel::step::{Step, on_step};

    use super::*;

    fn panic_at(step: Step) {
        on_step(Some(Box::new(move |reached| assert_ne!(reached, step, "planted"))));
    }

    #[test]
    fn a_panic_in_a_job_is_that_of_its_table() {
        let simulation = machine(8);
        run(&simulation, by_hand(), |_, _, engine| {
            filled(&engine);
            put(&engine, "bad", 7000..7020, 9).unwrap();
            engine.freeze().unwrap();
            panic_at(Step::new("convert: files synced"));
            let error = engine.run_jobs().unwrap_err();
            on_step(None);
            assert_eq!(error.code(), Code::Internal);
            assert!(error.message().contains("panicked") && error.message().contains("\"bad\""), "{error}");
            assert_good_goes_on(&engine);
            put(&engine, "bad", 7020..7040, 9).unwrap();
            panic_at(Step::new("merge: inputs read"));
            let _ = engine.run_jobs();
            on_step(None);
            engine.run_jobs().unwrap();
            assert_eq!(engine.status().jobs_resting, 0, "tried again: {:?}", engine.jobs());
            assert_eq!(engine.check().unwrap(), Vec::<String>::new());
        });
    }

    #[test]
    fn a_panic_between_the_edit_and_the_switch_stops_the_engine() {
        for step in ["convert: edit durable", "convert: marks carried"].map(Step::new) {
            let simulation = machine(9);
            run(&simulation, by_hand(), move |_, _, engine| {
                filled(&engine);
                put(&engine, "bad", 7000..7020, 9).unwrap();
                engine.freeze().unwrap();
                panic_at(step);
                let error = engine.run_jobs().unwrap_err();
                on_step(None);
                assert_eq!(error.code(), Code::Poisoned, "{error}");
                assert_eq!(put(&engine, "good", [1], 1).unwrap_err().code(), Code::Poisoned);
                assert_eq!(get(&engine, "bad", 7001).unwrap(), Some(9), "reads go on");
            });
            run(&simulation, by_hand(), |_, _, engine| {
                assert_eq!(get(&engine, "bad", 7001).unwrap(), Some(9));
                assert_eq!(engine.check().unwrap(), Vec::<String>::new());
                assert_good_goes_on(&engine);
            });
        }
    }
}

#[test]
fn a_table_that_cannot_be_opened_is_the_only_one_that_fails() {
    for how in 0..3 {
        let simulation = machine(10 + how);
        run(&simulation, by_hand(), move |simulation, env, engine| {
            filled(&engine);
            engine.run_jobs().unwrap();
            put(&engine, "bad", [5000], 1).unwrap();
            let file = files(env, &engine, "bad").pop().unwrap();
            drop(engine);
            match how {
                0 => {
                    let len = env.fs.open(&file, weft_env::OpenMode::Read).unwrap().len().unwrap();
                    simulation.faults().damage(&file, (len - 40) * 8).unwrap();
                }
                1 => simulation.faults().refuse_opens(&file.to_string_lossy()),
                _ => env.fs.rename(&file, Path::new("db/elsewhere")).unwrap(),
            }
            for round in 0..2 {
                let engine = open(env, by_hand()).unwrap();
                let name = file.file_name().unwrap().to_str().unwrap();
                for error in [get(&engine, "bad", 1).unwrap_err(), put(&engine, "bad", [1], 1).unwrap_err()] {
                    assert!(error.message().contains(name) && error.message().contains("\"bad\""), "{error}");
                    assert!(error.hint_text().unwrap().contains("--quarantine"), "{error}");
                }
                assert_good_goes_on(&engine);
                assert!(engine.damaged_files().iter().any(|file| file.name == "bad" && file.error.contains(name)));
                assert!(engine.check().unwrap().iter().any(|line| line.contains(name)));
                engine.run_jobs().unwrap();
                engine.checkpoint().unwrap();
                put(&engine, "good", [6000 + round], 1).unwrap();
            }
            // With the file back nothing is missing, not even what only the log has.
            match how {
                0 => {
                    let len = env.fs.open(&file, weft_env::OpenMode::Read).unwrap().len().unwrap();
                    simulation.faults().damage(&file, (len - 40) * 8).unwrap();
                }
                1 => simulation.faults().clear(),
                _ => env.fs.rename(Path::new("db/elsewhere"), &file).unwrap(),
            }
            let engine = open(env, by_hand()).unwrap();
            assert_eq!(engine.check().unwrap(), Vec::<String>::new());
            let found = [1, 5000].map(|k| get(&engine, "bad", k).unwrap());
            assert_eq!((found, get(&engine, "good", 6001).unwrap()), ([Some(1), Some(1)], Some(1)));
            assert_good_goes_on(&engine);
        });
    }
}

/// Commits an update of both tables whose old versions were merged elsewhere meanwhile, so that installing it reads
/// files of table bad, while so many of these reads fail.
fn commit_among_failing_reads(engine: &Arc<Engine>, simulation: &Simulation, reads: u64) -> Result<()> {
    let mut txn = engine.begin()?;
    for name in ["bad", "good"] {
        let t = txn.table(name)?;
        let key = t.keys.encode([ValueRef::Int(1)]);
        assert!(txn.get_for_update(&t, &key)?.is_some());
        txn.update(&t, &key, &t.codec.encode([ValueRef::Int(1), ValueRef::Int(90)]))?;
    }
    let id = engine.tables().iter().find(|t| t.def.name == "bad").unwrap().def.id;
    engine.run_jobs()?;
    simulation.faults().fail_reads(&format!("t{id}-"), reads);
    txn.commit().map(|_| ())
}

#[test]
fn reads_that_fail_for_a_moment_while_a_commit_is_installed_are_tried_again() {
    let simulation = machine(12);
    run(&simulation, by_hand(), |simulation, _, engine| {
        filled(&engine);
        commit_among_failing_reads(&engine, simulation, 3).unwrap();
        simulation.faults().clear();
        assert_eq!((get(&engine, "bad", 1).unwrap(), get(&engine, "good", 1).unwrap()), (Some(90), Some(90)));
        assert_good_goes_on(&engine);
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    });
}

#[test]
fn a_commit_that_cannot_be_installed_is_the_trouble_of_its_table() {
    let simulation = machine(13);
    let options = || EngineOptions { checkpoint_log_bytes: 1 << 16, ..by_hand() };
    run(&simulation, options(), |simulation, _, engine| {
        filled(&engine);
        let before = engine.begin().unwrap();
        let old = before.table("bad").unwrap();
        let mut late = engine.begin().unwrap();
        let t = late.table("bad").unwrap();
        late.insert(&t, &t.codec.encode([ValueRef::Int(8000), ValueRef::Int(1)])).unwrap();
        commit_among_failing_reads(&engine, simulation, u64::MAX).unwrap();
        simulation.faults().clear();
        assert_eq!(get(&engine, "good", 1).unwrap(), Some(90), "the commit is there");
        assert_good_goes_on(&engine);
        // Nobody takes half of it for the table, and nothing is built on it.
        for error in [
            get(&engine, "bad", 1).unwrap_err(),
            get(&engine, "bad", 2).unwrap_err(),
            put(&engine, "bad", [9000], 1).unwrap_err(),
            late.commit().unwrap_err(),
        ] {
            assert!(error.message().contains("\"bad\"") && error.hint_text().unwrap().contains("open"), "{error}");
        }
        let mut values = Vec::new();
        assert!(before.get(&old, &old.keys.encode([ValueRef::Int(1)]), &[1], &mut values).unwrap());
        assert_eq!(values, [Value::Int(1)], "a snapshot of before is whole");
        drop(before);
        assert!(engine.damaged_files().iter().any(|file| file.name == "bad"));
        assert!(engine.check().unwrap().iter().any(|line| line.contains("\"bad\"")));
        // Other tables' jobs and checkpoints go on; what the table misses stays in the log.
        for round in 0..40 {
            put(&engine, "good", 6000..6100, round).unwrap();
            engine.freeze().unwrap();
            engine.run_jobs().unwrap();
        }
        engine.checkpoint().unwrap();
        engine.close().unwrap();
    });
    run(&simulation, options(), |_, _, engine| {
        assert_eq!((get(&engine, "bad", 1).unwrap(), get(&engine, "bad", 2).unwrap()), (Some(90), Some(2)));
        assert_eq!((get(&engine, "bad", 8000).unwrap(), get(&engine, "bad", 9000).unwrap()), (None, None));
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
        put(&engine, "bad", [9000], 1).unwrap();
        assert_good_goes_on(&engine);
    });
}

#[test]
fn memory_is_given_back_while_the_log_cannot_be_cut() {
    const TABLES: usize = 16;
    let simulation = machine(14);
    let options = EngineOptions {
        row_memory_bytes: 2 << 20,
        row_table_bytes: 256 << 10,
        checkpoint_log_bytes: 1 << 16,
        ..by_hand()
    };
    run(&simulation, options, |simulation, _, engine| {
        let names: Vec<String> = (0..TABLES).map(|number| format!("t{number}")).collect();
        names.iter().for_each(|name| create(&engine, name, false));
        engine.checkpoint().unwrap();
        simulation.faults().refuse_removals("log-");
        let is_short = || {
            let status = engine.status();
            status.row_memory_bytes > status.row_memory_limit_bytes / 4 * 3
        };
        for times in 0..3 {
            let mut keys = 0..;
            while !is_short() {
                let from = keys.next().unwrap() * 50;
                names.iter().for_each(|name| put(&engine, name, from..from + 50, times).unwrap());
            }
            engine.run_jobs().unwrap();
            engine.run_jobs().unwrap();
            assert!(!is_short(), "{} bytes of row memory", engine.status().row_memory_bytes);
        }
        let trouble = engine.house_trouble().unwrap();
        assert!(trouble.error.contains("log-"), "{}", trouble.error);
        simulation.faults().clear();
        engine.checkpoint().unwrap();
        assert_eq!(get(&engine, "t3", 49).unwrap(), Some(2));
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    });
}

/// The faults of this file's subject, each in a process of its own, and the tests that must fail with them.
#[cfg(feature = "faults")]
#[test]
#[allow(clippy::disallowed_methods)]
fn planted_faults_are_caught() {
    let cases = [
        ("POISON_ON_JOB_ERROR", "jobs_that_cannot_open_files_rest_and_are_tried_again"),
        ("NO_PAUSE", "jobs_that_cannot_open_files_rest_and_are_tried_again"),
        ("OFFER_DAMAGED", "a_damaged_block_keeps_only_its_own_part_from_jobs"),
        ("STOP_AT_INSTALL", "a_commit_that_cannot_be_installed_is_the_trouble_of_its_table"),
        ("FORGET_GIVEN_UP", "a_commit_that_cannot_be_installed_is_the_trouble_of_its_table"),
        ("READ_ONCE", "reads_that_fail_for_a_moment_while_a_commit_is_installed_are_tried_again"),
        ("CUT_UNFED", "files_back::an_index_has_the_rows_of_the_time_when_its_table_was_not_there"),
        ("FORGET_UNOPENED", "files_back::an_index_has_the_rows_of_the_time_when_it_was_not_there"),
        ("QUARANTINE_AT_ONCE", "quarantine::files_that_cannot_be_read_for_another_reason_stay"),
        ("QUARANTINE_AT_ONCE", "quarantine::files_that_cannot_be_read_for_a_moment_stay"),
        ("HOUSE_STOPS_AT_ERROR", "memory_is_given_back_while_the_log_cannot_be_cut"),
        ("KEEP_IDLE_HANDLES", "handles::handles_that_others_have_stop_no_commit"),
        ("REMOVE_AFTER_CLOSE", "let_go::a_reader_that_outlives_the_engine_removes_no_file_of_the_next"),
        ("SWITCH_UNGUARDED", "panics::a_panic_between_the_edit_and_the_switch_stops_the_engine"),
    ];
    for (fault, test) in cases {
        let program = std::env::current_exe().unwrap();
        let output = std::process::Command::new(program).args(["--exact", test]).env(FAULT, fault).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success() && text.contains("1 failed"), "{fault} is not noticed: {text}");
        let said = text.lines().find(|line| line.contains("Panicked") || line.contains("left:"));
        println!("{fault}: {}", said.unwrap_or_default());
    }
}
