//! Rows by a range of keys, of tables whose rows lie in many places: those of a scan, in order; and the planted faults
//! of it: with each of these deliberate bugs its test must fail, or the test is worth nothing.
#![cfg(feature = "faults")]
#![allow(clippy::unwrap_used, reason = "a test ends where what it makes cannot be made")]

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use weft_contract::Direction;
use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync::Mutex;
use weft_format::{Column, CompareOp, DataType, Predicate, Schema, Value, ValueRef};
use weft_kernel::fault::{Fault, plant};
use weft_kernel::method::Method;
use weft_kernel::{Engine, EngineOptions, NewTable, RowRange, TableRef, Transaction};
use weft_tables::column::faults;
use weft_tables::testing::scan_rows;
use weft_tables::{column_method, row_method};

/// Faults are planted for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

const KEYS: i64 = 2_000;

/// Why a run does not end well.
fn simulated(run: impl FnOnce(&Env) + Send + 'static) -> Option<String> {
    match Simulation::new(SimOptions::seeded(1)).run(move |env| run(&env)) {
        RunEnd::Finished => None,
        other => Some(format!("{other:?}")),
    }
}

fn open(method: &Arc<dyn Method>, env: &Env) -> Arc<Engine> {
    let options = EngineOptions { workers: 0, ..EngineOptions::default() };
    let engine = Engine::open(env.clone(), Path::new("db"), vec![method.clone()], options).unwrap();
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: true };
    let mut new = NewTable::new("t", Schema::new(vec![column("k"), column("v")], vec![0]), method.name());
    if method.name() == "column" {
        let small = [("column_table_bytes", "4096"), ("bucket_bytes", "16384"), ("overlap_max", "100")];
        new.options.extend(small.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    let mut txn = engine.begin().unwrap();
    txn.create_table(new).unwrap();
    txn.commit().unwrap();
    engine
}

fn row(table: &TableRef, key: i64, v: i64) -> Vec<u8> {
    table.codec.encode([ValueRef::Int(key), ValueRef::Int(v)])
}

fn key(table: &TableRef, key: i64) -> Vec<u8> {
    table.keys.encode([ValueRef::Int(key)])
}

/// Changes rows in a transaction: those of some keys are inserted, or get a new value, or go.
fn change(engine: &Arc<Engine>, keys: impl Iterator<Item = i64>, v: Option<i64>) {
    let mut txn = engine.begin().unwrap();
    let table = txn.table("t").unwrap();
    for k in keys {
        let key = key(&table, k);
        match (v, txn.get_row(&table, &key).unwrap().is_some()) {
            (None, _) => drop(txn.delete(&table, &key).unwrap()),
            (Some(v), true) => txn.update(&table, &key, &row(&table, k, v)).unwrap(),
            (Some(v), false) => txn.insert(&table, &row(&table, k, v)).unwrap(),
        }
    }
    txn.commit().unwrap();
}

fn to_files(engine: &Arc<Engine>) {
    engine.freeze().unwrap();
    engine.run_jobs().unwrap();
}

/// All rows of a range, so many at a time; how many calls it took.
fn range(
    txn: &Transaction,
    table: &TableRef,
    keys: &Range<i64>,
    direction: Direction,
    limit: usize,
) -> (Vec<Vec<Value>>, usize) {
    let compare = |op, value| Predicate::Compare { column: 0, op, value: Value::Int(value) };
    let predicates = [compare(CompareOp::GtEq, keys.start), compare(CompareOp::Lt, keys.end)];
    let (mut found, mut after, mut calls) = (Vec::new(), None::<Vec<u8>>, 0);
    loop {
        let wanted = RowRange { predicates: &predicates, direction, after: after.as_deref(), limit, columns: &[0, 1] };
        let some = txn.range_rows(table, wanted).unwrap().expect("it gives out rows by their keys");
        found.extend(some.rows.values.chunks(2).map(<[Value]>::to_vec));
        (after, calls) = (some.behind, calls + 1);
        if after.is_none() {
            return (found, calls);
        }
    }
}

/// Compares ranges with a scan.
fn compare(txn: &Transaction) {
    let table = txn.table("t").unwrap();
    let mut all = scan_rows(&table, txn.view(&table).unwrap(), &[0, 1], &[], 1, 8192).unwrap();
    all.sort_by(|a, b| a[0].as_ref().compare(b[0].as_ref()));
    for keys in [0..KEYS, 0..1, 700..701, 300..900, KEYS - 5..KEYS + 5, 5..5] {
        let is_in = |row: &&Vec<Value>| matches!(row[0], Value::Int(k) if keys.contains(&k));
        let expected: Vec<Vec<Value>> = all.iter().filter(is_in).cloned().collect();
        for limit in [1, 7, 5_000] {
            for direction in [Direction::Forward, Direction::Backward] {
                let (mut found, _) = range(txn, &table, &keys, direction, limit);
                if direction == Direction::Backward {
                    found.reverse();
                }
                assert!(found == expected, "{keys:?} {direction:?} by {limit}: {} rows", found.len());
            }
        }
    }
}

/// Rows in files of all layers, in a file that reaches over all keys, in row memory, and in the transaction.
fn look_everywhere(method: &Arc<dyn Method>, env: &Env) {
    let engine = open(method, env);
    change(&engine, 0..KEYS, Some(1));
    to_files(&engine);
    let old = engine.begin().unwrap();
    change(&engine, [0, 3, KEYS - 1].into_iter().chain((0..KEYS).step_by(97)), Some(2));
    to_files(&engine);
    change(&engine, (0..KEYS).step_by(13), Some(3));
    change(&engine, (0..KEYS).step_by(31), None);
    let mut txn = engine.begin().unwrap();
    let table = txn.table("t").unwrap();
    compare(&txn);
    compare(&old);
    for k in [2, 31, 301, 899, 900, KEYS + 1] {
        let (key, row) = (key(&table, k), row(&table, k, 4));
        match txn.get_row(&table, &key).unwrap().is_some() {
            true if k % 2 == 0 => drop(txn.delete(&table, &key).unwrap()),
            true => txn.update(&table, &key, &row).unwrap(),
            false => txn.insert(&table, &row).unwrap(),
        }
    }
    compare(&txn);
    txn.rollback();
    old.rollback();
    engine.close().unwrap();
}

fn failure(method: Arc<dyn Method>) -> Option<String> {
    simulated(move |env| look_everywhere(&method, env))
}

#[test]
fn ranges_are_those_of_scans_wherever_rows_lie() {
    let _alone = ALONE.lock();
    for method in [column_method(), row_method()] {
        assert_eq!(failure(method), None);
    }
}

#[test]
fn planted_faults_of_ranges_are_caught() {
    let _alone = ALONE.lock();
    for fault in [faults::RANGE_TRUSTS_FIRST, faults::RANGE_LEAVES_COVERING] {
        plant(Some(fault));
        let found = failure(column_method());
        plant(None::<Fault>);
        assert!(found.is_some(), "not noticed: {fault:?}");
    }
}

/// A call ends behind so many versions, whether rows are seen or not, and goes on from there.
#[test]
fn a_call_does_not_walk_over_all_that_is_dead() {
    let _alone = ALONE.lock();
    for method in [column_method(), row_method()] {
        let found = simulated(move |env| {
            let engine = open(&method, env);
            change(&engine, 0..9 * KEYS, Some(1));
            let kept = engine.begin().unwrap();
            change(&engine, 0..9 * KEYS - 1, None);
            let txn = engine.begin().unwrap();
            let table = txn.table("t").unwrap();
            let (found, calls) = range(&txn, &table, &(0..9 * KEYS), Direction::Forward, 1);
            assert_eq!(found, [[Value::Int(9 * KEYS - 1), Value::Int(1)]], "{}", method.name());
            assert!(calls >= 4, "{calls} calls of {}", method.name());
            txn.rollback();
            kept.rollback();
            engine.close().unwrap();
        });
        assert_eq!(found, None);
    }
}
