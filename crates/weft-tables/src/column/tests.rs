//! The conformance suite on small sizes, and what is special to this method.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::{Code, Column, DataType, Schema, Timestamp, Value};

use weft_contract::ScanRequest;
use weft_kernel::method::Method;
use weft_kernel::step::Step;
use weft_kernel::{Engine, EngineOptions, NewTable, TableRef};

use super::column_method;
use super::steps::{self, BUILD_FILES_SYNCED, RECONCILED};
use crate::testing::conformance::{self, Options};
use crate::testing::{Plain, Prng, layers, scan_rows, transfers};

/// Seeds below it merge on write, those behind it on read.
const HISTORIES: u64 = 18;

fn options(seed: u64) -> Options {
    let table = BTreeMap::from([
        ("column_table_bytes".to_owned(), "4096".to_owned()),
        ("bucket_bytes".to_owned(), "4096".to_owned()),
        ("granularity_bytes".to_owned(), (8192 << (seed % 3)).to_string()),
        ("incremental_bytes".to_owned(), "6000".to_owned()),
        ("compaction".to_owned(), if seed % 6 == 5 { "whole" } else { "fine" }.to_owned()),
        ("overlap_max".to_owned(), (3 + seed % 4).to_string()),
        ("conflict".to_owned(), if seed >= HISTORIES { "antimatter" } else { "mark" }.to_owned()),
        ("incremental".to_owned(), if seed % 2 == 1 { "columns" } else { "fine" }.to_owned()),
    ]);
    let row_table_bytes = [2_000, 20_000, 1 << 20][(seed % 3) as usize];
    Options {
        seed,
        steps: 300,
        keys: [40, 200, 3000][(seed / 3 % 3) as usize],
        rows_max: 12,
        look_every: 7,
        columns: false,
        table,
        row_table_bytes,
    }
}

#[test]
fn random_histories_agree_with_the_model() {
    let (built, _) = histories(0..HISTORIES);
    assert!(built > 50, "bulk loads are part of the histories: {built}");
}

#[test]
fn random_histories_that_merge_on_read_agree_with_the_model() {
    let (built, reconciled) = histories(HISTORIES..HISTORIES * 2);
    assert!(built > 50, "bulk loads are part of the histories: {built}");
    assert!(reconciled > 500, "blind writes are part of the histories: {reconciled}");
}

/// How many files of bulk loads were synced, and how many blind writes reconciled.
fn histories(seeds: std::ops::Range<u64>) -> (u64, u64) {
    let (mut built, mut reconciled) = (0, 0);
    for seed in seeds {
        let simulation = Simulation::new(SimOptions::seeded(seed));
        let end = simulation.run(move |env| {
            conformance::run(&column_method(), &env, &PathBuf::from("db"), &options(seed));
        });
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
        let counts = simulation.step_counts();
        reconciled += counts.get(RECONCILED.name()).copied().unwrap_or_default();
        built += counts.get(BUILD_FILES_SYNCED.name()).copied().unwrap_or_default();
        assert!(counts.contains_key("convert: switched"), "seed {seed} converts: {counts:?}");
    }
    (built, reconciled)
}

/// The kernel takes the other path wherever an ability is absent, blind writes and files among them.
#[test]
fn a_table_without_abilities_passes_the_suite() {
    for seed in (0..HISTORIES * 2).step_by(5) {
        let simulation = Simulation::new(SimOptions::seeded(seed));
        let end = simulation.run(move |env| {
            let method: Arc<dyn Method> = Arc::new(Plain(column_method()));
            conformance::run(&method, &env, &PathBuf::from("db"), &options(seed));
        });
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
        let counts = simulation.step_counts();
        for step in [BUILD_FILES_SYNCED, RECONCILED] {
            assert_eq!(counts.get(step.name()), None, "seed {seed}: {}", step.name());
        }
    }
}

fn transfers(seed: u64) -> transfers::Options {
    let table = BTreeMap::from([
        ("column_table_bytes".to_owned(), "4096".to_owned()),
        ("overlap_max".to_owned(), "2".to_owned()),
        ("dead_percent".to_owned(), "10".to_owned()),
        ("conflict".to_owned(), ["mark", "antimatter"][(seed % 2) as usize].to_owned()),
        ("incremental".to_owned(), if seed % 4 == 3 { "columns" } else { "fine" }.to_owned()),
    ]);
    let row_table_bytes = [1_500, 6_000, 1 << 20][(seed % 3) as usize];
    transfers::Options { seed, keys: 12, writers: 3, transactions: 25, readers: 2, table, row_table_bytes }
}

#[test]
fn totals_hold_while_writers_readers_and_jobs_interleave() {
    let mut steps: BTreeMap<&'static str, u64> = BTreeMap::new();
    for seed in 0..40 {
        let simulation = Simulation::new(SimOptions::seeded(seed));
        let end = simulation.run(move |env| {
            transfers::run(&column_method(), &env, Path::new("db"), &transfers(seed));
        });
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
        for (step, count) in simulation.step_counts() {
            *steps.entry(step).or_default() += count;
        }
    }
    for step in steps::ALL.map(Step::name) {
        let kinds = ["convert", "reconcile", "to baseline"];
        let ours = kinds.iter().any(|kind| step.starts_with(&format!("{kind}:")));
        assert!(!ours || steps.get(step).is_some_and(|&count| count > 10), "{step} was reached: {steps:?}");
    }
}

/// A run of [`layers`] on a simulated machine: the steps it took and the buckets it had at most.
fn layers_run(seed: u64, whole: bool) -> BTreeMap<&'static str, u64> {
    let simulation = Simulation::new(SimOptions::seeded(seed));
    let end = simulation.run(move |env| {
        let options = layers::Options { seed, rounds: 12, keys: 900, workers: 3, whole };
        layers::run(&column_method(), &env, Path::new("db"), &options);
    });
    assert_eq!(end, RunEnd::Finished, "seed {seed}, whole {whole}");
    simulation.step_counts()
}

#[test]
fn jobs_in_any_order_and_side_by_side_keep_the_rows_and_come_to_an_end() {
    let mut steps: BTreeMap<&'static str, u64> = BTreeMap::new();
    for seed in 0..16 {
        for (step, count) in layers_run(seed, seed % 5 == 4) {
            *steps.entry(step).or_default() += count;
        }
    }
    for step in steps::ALL.map(Step::name) {
        let kinds = ["convert", "move", "merge", "to transition", "to baseline"];
        let ours = kinds.iter().any(|kind| step.starts_with(&format!("{kind}:")));
        assert!(!ours || steps.get(step).is_some_and(|&count| count > 10), "{step} was reached: {steps:?}");
    }
}

fn small_engine(env: &Env) -> (Arc<Engine>, TableRef) {
    let options = EngineOptions { workers: 0, ..EngineOptions::default() };
    let engine = Engine::open(env.clone(), Path::new("db"), vec![column_method()], options).unwrap();
    let table = fill(&engine);
    (engine, table)
}

/// A table of 500 rows, frozen.
fn fill(engine: &Arc<Engine>) -> TableRef {
    let mut txn = engine.begin().unwrap();
    let table = txn.create_table(NewTable::new("t", conformance::schema(), "column")).unwrap();
    let mut random = Prng(5);
    for k in 0..500 {
        let values = conformance::row_values(k, &mut random);
        txn.insert(&table, &table.codec.encode(values.iter().map(Value::as_ref))).unwrap();
    }
    txn.commit().unwrap();
    engine.freeze().unwrap();
    table
}

#[test]
fn what_blind_writes_replace_is_marked_by_a_scan_or_a_conversion() {
    let simulation = Simulation::new(SimOptions::seeded(7));
    let end = simulation.run(|env| {
        let table_options = BTreeMap::from([("conflict".to_owned(), "antimatter".to_owned())]);
        let options = EngineOptions { workers: 0, table_options, ..EngineOptions::default() };
        let engine = Engine::open(env, Path::new("db"), vec![column_method()], options).unwrap();
        let table = fill(&engine);
        engine.run_jobs().unwrap();
        let marks = || table.table.parts().iter().map(|part| part.marks).sum::<u64>();
        let put = |ks: std::ops::Range<u64>, stays: bool| {
            let mut txn = engine.begin().unwrap();
            for k in ks {
                let values = conformance::row_values(k, &mut Prng(9));
                let row = table.codec.encode(values.iter().map(Value::as_ref));
                let key = table.keys.of_row(&table.codec, &row);
                txn.put(&table, &key, &row).unwrap();
                assert!(stays || txn.delete(&table, &key).unwrap());
            }
            txn.commit().unwrap();
        };
        let before = engine.begin().unwrap();
        put(0..10, true);
        put(5..20, false);
        assert_eq!(marks(), 0, "nobody looked into the column tables");
        let key = |k| conformance::key_of(&table, k);
        let found = |ks: std::ops::Range<u64>| ks.filter(|&k| table.table.newest(&key(k)).unwrap().is_some()).count();
        assert_eq!((found(0..5), found(5..20), found(20..30)), (5, 0, 10), "point reads need no marks");
        assert_eq!(marks(), 0);
        assert_eq!((count(&engine, &table), marks()), (485, 20));
        put(20..23, true);
        assert_eq!(marks(), 20);
        engine.checkpoint().unwrap();
        assert_eq!((marks(), count(&engine, &table)), (23 + 5, 485), "rows of 5..10 were put and ended");
        assert_eq!(scan_rows(&table, before.view(&table).expect("it is kept"), &[], &[], 1, 8192).unwrap().len(), 500);
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    });
    assert_eq!(end, RunEnd::Finished);
}

fn count(engine: &Arc<Engine>, table: &TableRef) -> usize {
    let txn = engine.begin().unwrap();
    scan_rows(table, txn.view(table).expect("it is kept"), &[], &[], 2, 8192).unwrap().len()
}

#[test]
fn a_new_table_has_the_engines_options_and_its_own_and_keeps_them() {
    let simulation = Simulation::new(SimOptions::seeded(1));
    let end = simulation.run(|env| {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let open = |table_options: BTreeMap<String, String>| {
            let options = EngineOptions { table_options, workers: 0, ..EngineOptions::default() };
            Engine::open(env.clone(), Path::new("db"), vec![column_method()], options).unwrap()
        };
        let create = |engine: &Arc<Engine>, name: &str, options: &[(&str, &str)]| {
            let mut new = NewTable::new(name, conformance::schema(), "column");
            new.options = options.iter().map(|(name, value)| pair(name, value)).collect();
            let mut txn = engine.begin().unwrap();
            txn.create_table(new)?;
            txn.commit().map(|_| ())
        };
        let stored =
            |engine: &Arc<Engine>, name: &str| engine.begin().unwrap().table(name).unwrap().def.options.clone();
        let engine = open([pair("bucket_bytes", "8192"), pair("granularity_bytes", "32768")].into());
        create(&engine, "plain", &[]).unwrap();
        create(&engine, "own", &[("bucket_bytes", "4096"), ("overlap_max", "3")]).unwrap();
        let unfit = create(&engine, "unfit", &[("bucket_bytes", "65536")]).unwrap_err();
        assert_eq!(unfit.code(), Code::InvalidParameterValue);
        engine.close().unwrap();
        let engine = open(BTreeMap::new());
        assert_eq!(stored(&engine, "plain"), [pair("bucket_bytes", "8192"), pair("granularity_bytes", "32768")].into());
        assert_eq!(stored(&engine, "own").get("bucket_bytes").map(String::as_str), Some("4096"));
        assert_eq!(stored(&engine, "own").len(), 3);
    });
    assert_eq!(end, RunEnd::Finished);
}

#[test]
fn a_full_disk_fails_the_conversion_cleanly_and_space_lets_it_resume() {
    let simulation = Arc::new(Simulation::new(SimOptions::seeded(1)));
    let machine = simulation.clone();
    let end = simulation.run(move |env| {
        let (engine, table) = small_engine(&env);
        machine.faults().fill_disk();
        let error = engine.run_one_job().unwrap_err();
        assert_eq!(error.code(), Code::DiskFull, "{error}");
        assert_eq!(count(&engine, &table), 500);
        machine.faults().set_capacity(None);
        engine.run_jobs().unwrap();
        assert_eq!(table.table.durable_cut(), Timestamp::MAX);
        assert_eq!(count(&engine, &table), 500);
        let files = env.fs.list(Path::new("db")).unwrap().into_iter().filter(|name| name.ends_with(".data")).count();
        assert_eq!(
            files as u64,
            table.table.layers().iter().map(|layer| layer.parts).sum::<u64>() - 1,
            "the failed attempt left no file"
        );
    });
    assert_eq!(end, RunEnd::Finished);
}

/// A table of a megabyte that does not compress, frozen.
fn fill_wide(env: &Env) {
    let options = EngineOptions { workers: 0, ..EngineOptions::default() };
    let engine = Engine::open(env.clone(), Path::new("db"), vec![column_method()], options).unwrap();
    let column = |name: &str, data_type| Column { name: name.into(), data_type, not_null: false };
    let columns = vec![column("id", DataType::Integer), column("bytes", DataType::Bytea)];
    let mut txn = engine.begin().unwrap();
    let table = txn.create_table(NewTable::new("t", Schema::new(columns, vec![0]), "column")).unwrap();
    let mut random = Prng(11);
    for id in 0..WIDE_ROWS {
        let bytes: Vec<u8> = (0..4096).map(|_| random.below(256) as u8).collect();
        let row = [Value::Int(id as i64), Value::Bytes(bytes.into())];
        txn.insert(&table, &table.codec.encode(row.iter().map(Value::as_ref))).unwrap();
    }
    txn.commit().unwrap();
    engine.freeze().unwrap();
}

const WIDE_ROWS: usize = 256;

/// Files above a quarter of a megabyte are written piece by piece, with pauses.
#[test]
fn a_crash_between_the_pieces_of_a_file_loses_nothing() {
    let mut writes = 0;
    for crash in 1.. {
        let simulation = Simulation::new(SimOptions::seeded(crash));
        assert_eq!(simulation.run(|env| fill_wide(&env)), RunEnd::Finished);
        simulation.crash_after(crash);
        let open = |env: Env| {
            let options = EngineOptions { workers: 0, ..EngineOptions::default() };
            Engine::open(env, Path::new("db"), vec![column_method()], options).unwrap()
        };
        let end = simulation.run(move |env| {
            let engine = open(env);
            engine.freeze().unwrap();
            engine.run_jobs().unwrap();
        });
        simulation.cancel_crash();
        let look = simulation.run(move |env| {
            let engine = open(env.clone());
            let table = engine.begin().unwrap().table("t").unwrap();
            assert_eq!(count(&engine, &table), WIDE_ROWS);
            assert_eq!(engine.check().unwrap(), Vec::<String>::new());
            let files =
                env.fs.list(Path::new("db")).unwrap().into_iter().filter(|name| name.ends_with(".data")).count();
            assert_eq!(files, table.table.parts().len(), "what was not finished is gone");
        });
        assert_eq!(look, RunEnd::Finished, "after {end:?}");
        match end {
            RunEnd::Crashed { operation, .. } => {
                writes += u64::from(operation.starts_with("write") && operation.contains(".data"));
            }
            end => {
                assert_eq!(end, RunEnd::Finished);
                break;
            }
        }
    }
    assert!(writes >= 4, "the file came in {writes} pieces");
}

#[test]
fn check_names_the_damaged_file_and_reads_of_it_are_errors() {
    let simulation = Arc::new(Simulation::new(SimOptions::seeded(2)));
    let machine = simulation.clone();
    let end = simulation.run(move |env| {
        let (engine, table) = small_engine(&env);
        engine.run_jobs().unwrap();
        let name = env.fs.list(Path::new("db")).unwrap().into_iter().find(|name| name.ends_with(".data")).unwrap();
        machine.faults().damage(&Path::new("db").join(&name), 8 * 200).unwrap();
        let wrong = engine.check().unwrap();
        assert!(wrong.iter().any(|line| line.contains("column table file")), "{wrong:?}");
        let txn = engine.begin().unwrap();
        let all: Vec<usize> = (0..9).collect();
        let rows = scan_rows(&table, txn.view(&table).expect("it is kept"), &all, &[], 1, 8192);
        let Err(error) = rows else { panic!("a damaged block became an answer") };
        assert_eq!(error.code(), Code::DataCorrupted, "{error}");
    });
    assert_eq!(end, RunEnd::Finished);
}

#[test]
fn row_memory_is_given_back_after_conversion() {
    let simulation = Simulation::new(SimOptions::seeded(3));
    let end = simulation.run(|env| {
        let (engine, table) = small_engine(&env);
        assert!(engine.status().row_memory_bytes > 0);
        let all: Vec<usize> = (0..9).collect();
        let txn = engine.begin().unwrap();
        scan_rows(&table, txn.view(&table).expect("it is kept"), &all, &[], 1, 8192).unwrap();
        engine.run_jobs().unwrap();
        assert_eq!(engine.status().row_memory_bytes, 0);
        drop(txn);
    });
    assert_eq!(end, RunEnd::Finished);
}

#[test]
fn units_of_few_rows_are_given_out_together_more_and_more() {
    let simulation = Simulation::new(SimOptions::seeded(5));
    let end = simulation.run(|env| {
        let (engine, table) = small_engine(&env);
        engine.run_jobs().unwrap();
        for file in 1..=11 {
            let mut txn = engine.begin().unwrap();
            for k in 0..10 {
                let values = conformance::row_values(1000 * file + k, &mut Prng(7));
                txn.insert(&table, &table.codec.encode(values.iter().map(Value::as_ref))).unwrap();
            }
            txn.commit().unwrap();
            engine.freeze().unwrap();
            engine.run_jobs().unwrap();
        }
        assert_eq!(table.table.parts().len(), 12);
        let batches = |batch_rows: usize| {
            let (txn, projection) = (engine.begin().unwrap(), vec![0, 1]);
            let view = txn.view(&table).expect("it is kept");
            let request = ScanRequest { view, projection, predicates: Vec::new(), partition_count: 1, batch_rows };
            let mut output = table.scan(request).unwrap();
            let mut sizes = Vec::new();
            while let Some(batch) = output.partitions[0].next().unwrap() {
                sizes.push(batch.num_rows());
            }
            sizes
        };
        assert_eq!(batches(8192), [500, 20, 40, 50], "one file, two, four, then what is left");
        assert_eq!(batches(1000), [500, 20, 40, 50], "a large one goes as it is");
        assert_eq!(batches(30), [vec![30; 16], vec![20], vec![10; 11]].concat(), "a third of a batch is no small one");
    });
    assert_eq!(end, RunEnd::Finished);
}

#[test]
fn jobs_end_beside_a_query_that_does_not() {
    let simulation = Simulation::new(SimOptions::seeded(4));
    let end = simulation.run(move |env| {
        drop(small_engine(&env));
        let options = EngineOptions { workers: 1, ..EngineOptions::default() };
        let engine = Engine::open(env.clone(), Path::new("db"), vec![column_method()], options).unwrap();
        let load = engine.load().clone();
        let _query = load.query();
        let txn = engine.begin().unwrap();
        let table = txn.table("t").unwrap();
        drop(txn);
        while engine.status().jobs_run == 0 {
            engine.freeze().unwrap();
            env.clock.sleep(std::time::Duration::from_millis(1));
        }
        engine.checkpoint().unwrap();
        assert_eq!(table.table.durable_cut(), Timestamp::MAX);
        assert_eq!(count(&engine, &table), 500);
        engine.close().unwrap();
    });
    assert_eq!(end, RunEnd::Finished);
}
