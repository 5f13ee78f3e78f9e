//! Column indexes of row tables, and their planted faults: with each of these deliberate bugs its test must fail, or
//! the test is worth nothing.
#![cfg(feature = "faults")]
#![allow(clippy::unwrap_used, reason = "a test ends where what it makes cannot be made")]

use std::collections::BTreeMap;
use std::path::Path;

use weft_contract::{ScanRequest, TableDef};
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync::Mutex;
use weft_format::{Column, DataType, Schema, Value, ValueRef};
use weft_kernel::fault::{Fault, plant};
use weft_kernel::index::NewColumnIndex;
use weft_kernel::{Engine, EngineOptions, NewTable, Transaction};
use weft_tables::testing::{conformance, crashes, rows_of};
use weft_tables::{column_method, row_method};

/// Faults are planted for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn tiny(page_bytes: u64) -> BTreeMap<String, String> {
    BTreeMap::from([("page_bytes".to_owned(), page_bytes.to_string()), ("changed_bytes".to_owned(), "4096".to_owned())])
}

/// What a seed of the suite ends with, when not well.
fn suite(seed: u64, steps: u64) -> Option<String> {
    let options = conformance::Options {
        seed,
        steps,
        keys: [60, 300][(seed / 2 % 2) as usize],
        rows_max: 12,
        look_every: 5,
        table: tiny([512, 1024][(seed % 2) as usize]),
        row_table_bytes: 2_000,
        columns: true,
    };
    let simulation = Simulation::new(SimOptions::seeded(seed));
    let body = move |env| conformance::run(&row_method(), &env, Path::new("db"), &options);
    match simulation.run(body) {
        RunEnd::Finished => None,
        other => Some(format!("seed {seed}: {other:?}")),
    }
}

fn crash(seed: u64) -> Option<String> {
    let run = crashes::run_with_columns(&row_method(), seed, &tiny([512, 1024, 8192][(seed % 3) as usize]));
    run.err().map(|what| format!("seed {seed}: {what}"))
}

/// How many seeds; `WEFT_COLUMNS_SEEDS` says another number.
fn seeds(usual: u64) -> u64 {
    std::env::var("WEFT_COLUMNS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn a_column_index_is_its_table_at_every_snapshot() {
    let _alone = ALONE.lock();
    assert_eq!((0..seeds(12)).find_map(|seed| suite(seed, 300)), None);
}

#[test]
fn a_column_index_is_its_table_after_every_crash() {
    let _alone = ALONE.lock();
    assert_eq!((0..seeds(25)).find_map(crash), None);
}

#[test]
fn the_suite_tells_of_faults() {
    let _alone = ALONE.lock();
    for fault in [Fault::COLUMNS_MISS_UPDATE, Fault::COLUMNS_MISS_DELETE, Fault::COLUMNS_FORGET_REDO] {
        plant(Some(fault));
        let found = (0..20).find_map(|seed| suite(seed, 150));
        plant(None);
        assert!(found.is_some(), "not noticed: {fault:?}");
    }
}

#[test]
fn what_a_crash_leaves_tells_of_faults() {
    let _alone = ALONE.lock();
    for fault in [Fault::COLUMNS_FORGET_REDO, Fault::COLUMNS_FORGET_AMENDMENTS] {
        plant(Some(fault));
        let found = (0..60).find_map(crash);
        plant(None);
        assert!(found.is_some(), "not noticed: {fault:?}");
    }
}

/// What a transaction that began before another's commit makes an index of.
fn made_behind_another() -> RunEnd {
    let simulation = Simulation::new(SimOptions::seeded(1));
    simulation.run(|env| {
        let methods = vec![row_method(), column_method()];
        let engine = Engine::open(env, Path::new("db"), methods, EngineOptions::default()).unwrap();
        let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: true };
        let mut txn = engine.begin().unwrap();
        let schema = Schema::new(vec![column("k"), column("v"), column("w")], vec![0]);
        txn.create_table(NewTable::new("t", schema, "row")).unwrap();
        txn.commit().unwrap();
        let mut maker = engine.begin().unwrap();
        let mut other = engine.begin().unwrap();
        let table = other.table("t").unwrap();
        let row = |v: i64| table.codec.encode([ValueRef::Int(1), ValueRef::Int(v), ValueRef::Int(0)]);
        other.insert(&table, &row(7)).unwrap();
        other.commit().unwrap();
        let t = maker.table("t").unwrap();
        maker.create_column_index(&t, NewColumnIndex::new("c", vec![1])).unwrap();
        maker.commit().unwrap();
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
        // A column that it does not have is not covered, one that it has is; who has own rows reads the table.
        let mut txn = engine.begin().unwrap();
        let table = txn.table("t").unwrap();
        let request = |txn: &Transaction, projection: &[usize]| ScanRequest {
            view: txn.view(&table).unwrap(),
            projection: projection.to_vec(),
            predicates: Vec::new(),
            partition_count: 1,
            batch_rows: 10,
        };
        assert!(table.scan_columns(&request(&txn, &[2]), &[]).unwrap().is_none());
        let output = table.scan_columns(&request(&txn, &[1]), &[]).unwrap().unwrap();
        assert_eq!(output.metrics.index.lock().as_deref(), Some("c"));
        assert_eq!(rows_of(output, 1, 10).unwrap(), [[Value::Int(7)]]);
        txn.update(&table, &table.keys.encode([ValueRef::Int(1)]), &row(8)).unwrap();
        assert!(table.scan_columns(&request(&txn, &[1]), &[]).unwrap().is_none());
        txn.commit().unwrap();
        // The index goes with its column.
        let mut txn = engine.begin().unwrap();
        let table = txn.table("t").unwrap();
        let drop_v = |def: &mut TableDef| {
            let mut schema = (*def.schema).clone();
            schema.drop_column(1);
            def.schema = schema.into();
            Ok(())
        };
        txn.alter_table(&table, drop_v).unwrap();
        txn.commit().unwrap();
        assert!(engine.column_indexes().is_empty());
    })
}

#[test]
fn who_committed_before_it_was_made_is_in_it() {
    let _alone = ALONE.lock();
    assert_eq!(made_behind_another(), RunEnd::Finished);
    plant(Some(Fault::COLUMNS_OLD_SNAPSHOT));
    let end = made_behind_another();
    plant(None);
    assert_ne!(end, RunEnd::Finished, "the fault is noticed");
}
