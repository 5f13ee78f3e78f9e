//! What is known of columns, for every method, and the planted faults of it: with each of these deliberate bugs its
//! test must fail, or the test is worth nothing.
#![cfg(feature = "faults")]
#![allow(clippy::unwrap_used, reason = "a test ends where what it makes cannot be made")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync::Mutex;
use weft_format::{Column, DataType, Schema, ValueRef};
use weft_kernel::fault::{Fault, plant};
use weft_kernel::method::Method;
use weft_kernel::{Engine, EngineOptions, NewTable, TableRef};
use weft_tables::column::faults;
use weft_tables::testing::{layers, statistics};
use weft_tables::{column_method, lineage_method, row_method};

/// Faults are planted for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn methods() -> [Arc<dyn Method>; 3] {
    [column_method(), row_method(), lineage_method()]
}

/// How a method's run ends, when not well.
fn failure(method: Arc<dyn Method>) -> Option<String> {
    let name = method.name();
    match Simulation::new(SimOptions::seeded(1)).run(move |env| statistics::run(&method, &env, Path::new("db"))) {
        RunEnd::Finished => None,
        other => Some(format!("{name}: {other:?}")),
    }
}

/// Rows of the table `t` that the tests below make.
const ROWS: i64 = 4_000;

fn table_of(engine: &Arc<Engine>) -> TableRef {
    let txn = engine.begin().unwrap();
    let table = txn.table("t").unwrap();
    txn.rollback();
    table
}

/// A table of small files, if the method has files.
fn small_files(method: &Arc<dyn Method>, env: &Env) -> Arc<Engine> {
    let options = EngineOptions { workers: 0, cache_bytes: 0, ..EngineOptions::default() };
    let engine = Engine::open(env.clone(), Path::new("db"), vec![method.clone()], options).unwrap();
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: true };
    let mut new = NewTable::new("t", Schema::new(vec![column("k"), column("v")], vec![0]), method.name());
    if method.name() == "column" {
        new.options.insert("column_table_bytes".to_owned(), "4096".to_owned());
    }
    let mut txn = engine.begin().unwrap();
    txn.create_table(new).unwrap();
    txn.commit().unwrap();
    insert(&engine, 0..ROWS);
    to_files(&engine);
    engine
}

/// All rows, if the method has files.
fn to_files(engine: &Arc<Engine>) {
    engine.freeze().unwrap();
    engine.run_jobs().unwrap();
}

fn insert(engine: &Arc<Engine>, keys: std::ops::Range<i64>) {
    let mut txn = engine.begin().unwrap();
    let table = txn.table("t").unwrap();
    for key in keys {
        txn.insert(&table, &table.codec.encode([ValueRef::Int(key), ValueRef::Int(key * 7919 % 4001)])).unwrap();
    }
    txn.commit().unwrap();
}

/// So many rows the files of the table tell of.
fn told(table: &TableRef) -> i64 {
    let told = table.table.summaries().unwrap().summaries();
    told.first().map_or(0, |column| column.rows() as i64)
}

fn look(engine: &Arc<Engine>) {
    let turns = (0..100).take_while(|_| engine.look_at_columns()).count();
    assert!(turns < 100, "looking comes to an end");
}

/// Reads fail while files are taken in; how that ends, when not well.
fn failure_of_reads() -> Option<RunEnd> {
    let simulation = Arc::new(Simulation::new(SimOptions::seeded(1)));
    let inner = simulation.clone();
    let end = simulation.run(move |env| {
        let engine = small_files(&column_method(), &env);
        let table = table_of(&engine);
        table.known_columns();
        inner.faults().fail_reads(&format!("t{}-", table.def.id), 5);
        look(&engine);
        assert!(told(&table) < ROWS, "a read has failed");
        table.known_columns();
        assert!(!table.table.summaries().unwrap().is_behind(), "nobody reads for a while (together 3)");
        inner.faults().clear();
        env.clock.sleep(Duration::from_secs(60));
        table.known_columns();
        look(&engine);
        assert_eq!(told(&table), ROWS, "what could not be read for a moment is read again (together 3)");
        inner.faults().fail_reads(&format!("t{}-", table.def.id), 1);
        assert!(table.count_columns(&mut || Ok(())).is_err(), "who waits for it is told");
        assert_eq!(told(&table), ROWS, "what was known stays");
        table.count_columns(&mut || Ok(())).unwrap();
        engine.close().unwrap();
    });
    (end != RunEnd::Finished).then_some(end)
}

/// Learning of a table panics.
fn panics(method: &Arc<dyn Method>, fault: Fault) {
    let method = method.clone();
    let end = Simulation::new(SimOptions::seeded(1)).run(move |env| {
        let engine = small_files(&method, &env);
        let table = table_of(&engine);
        plant(Some(fault));
        table.known_columns();
        look(&engine);
        for _ in 0..3 {
            table.known_columns();
            assert!(
                !engine.look_at_columns() || fault == faults::PANIC_IN_MERGE,
                "{fault:?}: once is enough (known 7)"
            );
            env.clock.sleep(Duration::from_secs(3_600));
        }
        assert!(!engine.look_at_columns(), "{fault:?}: it comes to an end");
        plant(None);
        table.count_columns(&mut || Ok(())).unwrap();
        let known = table.known_columns();
        assert_eq!(known.column(0).unwrap().rows() as i64, ROWS, "ANALYZE tries again (known 7, together 8)");
        if table.table.summaries().is_some() {
            assert_eq!(told(&table), ROWS, "no file is lost");
        }
        engine.close().unwrap();
    });
    plant(None);
    assert_eq!(end, RunEnd::Finished);
}

/// Files come and go while all are counted anew; the first seed with which that does not end well.
fn failure_of_counts() -> Option<u64> {
    let body = |env: Env| {
        let engine = small_files(&column_method(), &env);
        let table = table_of(&engine);
        table.known_columns();
        for round in 0..12 {
            let first = ROWS + round * 300;
            insert(&engine, first..first + 300);
            let (counted, ends) = (table.clone(), Arc::new(AtomicBool::new(false)));
            let has_ended = ends.clone();
            let count = move || {
                while !has_ended.load(Ordering::Acquire) {
                    counted.count_columns(&mut || Ok(())).unwrap();
                }
            };
            let counts = env.spawn.spawn("counts", Box::new(count)).unwrap();
            to_files(&engine);
            ends.store(true, Ordering::Release);
            counts.join().unwrap();
            let files = table.table.summaries().unwrap();
            let steps = (0..100).take_while(|_| files.is_behind()).map(|_| files.catch_up()).count();
            assert!(steps < 100, "taking files in comes to an end");
            assert!(told(&table) >= first + 300, "{} rows of {} are told of (together 1)", told(&table), first + 300);
        }
        engine.close().unwrap();
    };
    (0..12).find(|&seed| Simulation::new(SimOptions::seeded(seed)).run(body) != RunEnd::Finished)
}

/// The first seed of the test of layers that does not end well.
fn failure_of_layers() -> Option<u64> {
    let bad = |&seed: &u64| {
        let options = layers::Options { seed, rounds: 8, keys: 900, workers: 2, whole: false };
        let body = move |env| layers::run(&column_method(), &env, Path::new("db"), &options);
        Simulation::new(SimOptions::seeded(seed)).run(body) != RunEnd::Finished
    };
    (0..6).find(bad)
}

#[test]
fn what_is_known_of_columns_is_what_is_there() {
    let _alone = ALONE.lock();
    assert_eq!(methods().into_iter().find_map(failure), None);
}

#[test]
fn planted_faults_of_what_is_known_are_caught() {
    let _alone = ALONE.lock();
    let in_files = [faults::SAMPLE_BEGINNING, faults::LEAVE_OUT_LACKING];
    let of_looks =
        [Fault::LOOK_AGAIN, Fault::NONSENSE_COLUMNS, Fault::WAKE_WHILE_RESTING, Fault::CHARGE_SHARED_BUFFERS];
    for fault in in_files.into_iter().chain(of_looks) {
        plant(Some(fault));
        let found = failure(column_method());
        plant(None);
        assert!(found.is_some(), "not noticed: {fault:?}");
    }
}

#[test]
fn planted_faults_of_merged_summaries_are_caught() {
    let _alone = ALONE.lock();
    for fault in [faults::MERGE_FORGETS_PART, faults::MERGE_COUNTS_TWICE, faults::SUMMARY_OUTLIVES_PART] {
        plant(Some(fault));
        let found = failure_of_layers();
        plant(None);
        assert!(found.is_some(), "not noticed: {fault:?}");
    }
}

#[test]
fn files_that_cannot_be_read_for_a_moment_are_read_again() {
    let _alone = ALONE.lock();
    assert_eq!(failure_of_reads(), None);
    plant(Some(faults::COVER_UNREADABLE));
    let found = failure_of_reads();
    plant(None);
    assert!(found.is_some(), "not noticed: {:?}", faults::COVER_UNREADABLE);
}

#[test]
fn files_that_come_while_all_are_counted_are_counted() {
    let _alone = ALONE.lock();
    assert_eq!(failure_of_counts(), None);
    plant(Some(faults::FORGET_NOTED));
    let found = failure_of_counts();
    plant(None);
    assert!(found.is_some(), "not noticed: {:?}", faults::FORGET_NOTED);
}

#[test]
fn a_panic_while_somebody_learns_of_a_table_is_borne() {
    let _alone = ALONE.lock();
    panics(&row_method(), Fault::PANIC_IN_LOOK);
    panics(&lineage_method(), Fault::PANIC_IN_LOOK);
    panics(&column_method(), faults::PANIC_IN_MERGE);
}
