//! Trouble stays where it is: what cannot be read, opened, written or run concerns one part or one table, is told, is
//! tried again, and everything else goes on, after reopening, too.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::{Code, Column, DataType, Result, Schema, Value, ValueRef};
use weft_kernel::index::NewIndex;
use weft_kernel::sched::JobState;
use weft_kernel::{Engine, EngineOptions, NewTable};
use weft_tables::column_method;

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
        weft_kernel::fault::plant(weft_kernel::fault::Fault::from_name(&name));
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
        assert!(engine.run_one_job().unwrap());
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
    names.sort_by_key(|name| name[prefix.len()..name.len() - 4].parse::<u64>().unwrap());
    names.iter().map(|name| Path::new(DIR).join(name)).collect()
}

/// What every trouble must leave: writes and reads of other tables, and of the table as long as nobody needs the part.
fn assert_good_goes_on(engine: &Arc<Engine>) {
    put(engine, "good", [1], 100).unwrap();
    assert_eq!(get(engine, "good", 1).unwrap(), Some(100));
    assert_eq!(engine.status().poisoned, None);
}

#[test]
fn more_files_than_handles() {
    let simulation = machine(1);
    run(&simulation, by_hand(), |simulation, env, engine| {
        engine.close().unwrap();
        drop(engine);
        simulation.faults().set_open_files_max(Some(24));
        let names: Vec<String> = (0..40).map(|n| format!("t{n}")).collect();
        for round in 0..2 {
            let engine = open(env, by_hand()).unwrap();
            for (n, name) in names.iter().enumerate() {
                if round == 0 {
                    create(&engine, name, true);
                }
                put(&engine, name, 0..5, n as i64 + round).unwrap();
            }
            engine.checkpoint().unwrap();
            engine.run_jobs().unwrap();
            for (n, name) in names.iter().enumerate() {
                assert_eq!(get(&engine, name, 3).unwrap(), Some(n as i64 + round));
            }
            assert_eq!(engine.check().unwrap(), Vec::<String>::new());
            let (handles, count) = (engine.status().handles, env.fs.list(Path::new(DIR)).unwrap().len());
            assert!(handles.open <= handles.limit && count > 80, "{handles:?}, {count} files");
            engine.close().unwrap();
        }
        assert!(simulation.faults().open_files().1 <= 24);
    });
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
        simulation.faults().refuse_removals(".col");
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
            panic_at(Step::ConvertFilesSynced);
            let error = engine.run_jobs().unwrap_err();
            on_step(None);
            assert_eq!(error.code(), Code::Internal);
            assert!(error.message().contains("panicked") && error.message().contains("\"bad\""), "{error}");
            assert_good_goes_on(&engine);
            put(&engine, "bad", 7020..7040, 9).unwrap();
            panic_at(Step::MergeInputsRead);
            let _ = engine.run_jobs();
            on_step(None);
            engine.run_jobs().unwrap();
            assert_eq!(engine.status().jobs_resting, 0, "tried again: {:?}", engine.jobs());
            assert_eq!(engine.check().unwrap(), Vec::<String>::new());
        });
    }

    #[test]
    fn a_panic_between_the_edit_and_the_switch_stops_the_engine() {
        for step in [Step::ConvertEditDurable, Step::ConvertMarksCarried] {
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

/// What `weft check --quarantine` does.
#[test]
fn quarantine_takes_out_what_cannot_be_read_and_says_what_is_lost() {
    for (seed, bit) in [(20, 8 * 100), (21, u64::MAX)] {
        let simulation = machine(seed);
        run(&simulation, by_hand(), move |simulation, env, engine| {
            filled(&engine);
            put(&engine, "bad", [0, PARTS], 70).unwrap();
            put(&engine, "bad", [5000], 71).unwrap();
            let bad = files(env, &engine, "bad");
            let index = engine.indexes().into_iter().find(|(_, index)| &*index.name() == "good_v").unwrap().1.id();
            let runs: Vec<String> = env.fs.list(Path::new(DIR)).unwrap();
            let run_name = runs.into_iter().find(|name| name.starts_with(&format!("t{index}-"))).unwrap();
            drop(engine);
            for file in [&bad[0], &Path::new(DIR).join(run_name)] {
                let len = env.fs.open(file, weft_env::OpenMode::Read).unwrap().len().unwrap();
                simulation.faults().damage(file, bit.min((len - 40) * 8)).unwrap();
            }
            let report = weft_kernel::quarantine(env, Path::new(DIR), &[column_method()], &by_hand()).unwrap();
            assert_eq!(report.findings, Vec::<String>::new(), "{report:?}");
            let [part, index] = &report.taken[..] else { panic!("{report:?}") };
            assert_eq!((&part.name[..], part.rows, index.rows), ("bad", PART_ROWS as u64, 0), "{report:?}");
            let range = (bit != u64::MAX).then(|| ("0".to_owned(), ((PART_ROWS - 1) * PARTS).to_string()));
            assert_eq!((&index.name[..], &part.keys), ("good_v", &range), "{report:?}");
            let name = part.file.clone().unwrap();
            assert!(bad[0].ends_with(&name) && env.fs.exists(&Path::new("db/quarantine").join(&name)).unwrap());
            let engine = open(env, by_hand()).unwrap();
            // Rows of round 0 are lost but for those written since, which the log has; nothing else is.
            let found = [0, PARTS, 2 * PARTS, 1, 5000].map(|k| get(&engine, "bad", k).unwrap());
            assert_eq!(found[2..], [None, Some(1), Some(71)]);
            assert!(found[..2].iter().all(|row| matches!(row, None | Some(70))), "{found:?}");
            for k in 0..PART_ROWS * PARTS {
                assert_eq!(get(&engine, "good", k).unwrap(), Some(k % PARTS));
            }
            assert_good_goes_on(&engine);
            engine.run_jobs().unwrap();
            assert_eq!(engine.check().unwrap(), Vec::<String>::new());
            let again = {
                drop(engine);
                weft_kernel::quarantine(env, Path::new(DIR), &[column_method()], &by_hand()).unwrap()
            };
            assert_eq!(again, weft_kernel::QuarantineReport::default());
        });
    }
}

/// The faults of this file's subject, each in a process of its own, and the tests that must fail with them.
#[cfg(feature = "faults")]
#[test]
#[allow(clippy::disallowed_methods)]
fn planted_faults_are_caught() {
    let cases = [
        ("PoisonOnJobError", "jobs_that_cannot_open_files_rest_and_are_tried_again"),
        ("NoPause", "jobs_that_cannot_open_files_rest_and_are_tried_again"),
        ("OfferDamaged", "a_damaged_block_keeps_only_its_own_part_from_jobs"),
        ("SwitchUnguarded", "panics::a_panic_between_the_edit_and_the_switch_stops_the_engine"),
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
