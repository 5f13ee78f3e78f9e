//! Threads that move amounts between keys while others scan and jobs run: every snapshot must have the same total.
//!
//! ```text
//!   writers   k1 −5, k2 +5 · k3 deleted, k9 inserted with its amount         conflicts are retried
//!   readers   begin · scan: sum = total · point reads: sum = total · scan again: the same rows
//!   jobs      freeze · run a job · freeze ...
//! ```

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weft_env::Env;
use weft_format::{Column, DataType, Error, Result, Schema, Value, ValueRef};
use weft_kernel::method::Method;
use weft_kernel::{Engine, EngineOptions, NewTable, TableRef, Transaction};

use super::random::Prng;
use super::rows::scan_rows;

/// Amount of every key at the start.
const AMOUNT: i64 = 100;

/// What a run is made of.
#[derive(Clone, Debug)]
pub struct Options {
    /// Decides who moves what.
    pub seed: u64,
    /// Keys at the start.
    pub keys: i64,
    /// Threads that write.
    pub writers: u64,
    /// Transactions of each.
    pub transactions: u64,
    /// Threads that read.
    pub readers: u64,
    /// Options of the table.
    pub table: std::collections::BTreeMap<String, String>,
    /// The engine's row table size.
    pub row_table_bytes: u64,
}

/// Runs it; panics when a snapshot has another total.
pub fn run(method: &Arc<dyn Method>, env: &Env, dir: &Path, options: &Options) {
    let engine_options =
        EngineOptions { row_table_bytes: options.row_table_bytes, workers: 0, ..EngineOptions::default() };
    let open = || Engine::open(env.clone(), dir, vec![method.clone()], engine_options.clone()).expect("opens");
    let engine = open();
    fill(&engine, method, options);
    let done = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    let mut others = Vec::new();
    for number in 0..options.writers {
        let (engine, options) = (engine.clone(), options.clone());
        let body = move || write(&engine, &options, number);
        writers.push(env.spawn.spawn(&format!("writer-{number}"), Box::new(body)).expect("starts"));
    }
    for number in 0..options.readers {
        let (engine, options, done) = (engine.clone(), options.clone(), done.clone());
        let body = move || {
            while !done.load(Ordering::Acquire) {
                look(&engine, &options);
            }
        };
        others.push(env.spawn.spawn(&format!("reader-{number}"), Box::new(body)).expect("starts"));
    }
    for number in 0..2 {
        let (engine, done, seed) = (engine.clone(), done.clone(), options.seed + 100 + number);
        let body = move || maintain(&engine, seed, &done);
        others.push(env.spawn.spawn(&format!("jobs-{number}"), Box::new(body)).expect("starts"));
    }
    writers.into_iter().for_each(|handle| handle.join().expect("a writer ends"));
    done.store(true, Ordering::Release);
    others.into_iter().for_each(|handle| handle.join().expect("a thread ends"));
    look(&engine, options);
    assert_eq!(engine.check().expect("checks"), Vec::<String>::new());
    engine.close().expect("closes");
    drop(engine);
    let engine = open();
    look(&engine, options);
    assert_eq!(engine.check().expect("checks"), Vec::<String>::new());
}

fn fill(engine: &Arc<Engine>, method: &Arc<dyn Method>, options: &Options) {
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: true };
    let mut txn = engine.begin().expect("begins");
    let mut table = NewTable::new("t", Schema::new(vec![column("k"), column("v")], vec![0]), method.name());
    table.options = options.table.clone();
    let table = txn.create_table(table).expect("creates");
    for k in 0..options.keys {
        txn.insert(&table, &table.codec.encode([ValueRef::Int(k), ValueRef::Int(AMOUNT)])).expect("inserts");
    }
    txn.commit().expect("commits");
}

fn write(engine: &Arc<Engine>, options: &Options, number: u64) {
    let mut random = Prng(options.seed * 31 + number);
    for _ in 0..options.transactions {
        loop {
            match transfer(engine, options, &mut random) {
                Ok(()) => break,
                Err(error) if error.is_retryable() => weft_env::sync::yield_point(),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// A slot's key: slots keep their number, their key changes when the row moves.
fn transfer(engine: &Arc<Engine>, options: &Options, random: &mut Prng) -> Result<()> {
    let mut txn = engine.begin()?;
    let table = txn.table("t")?;
    let (from, to) = (random.below(options.keys as u64) as i64, random.below(options.keys as u64) as i64);
    let amount = random.below(7) as i64 + 1;
    let Some((from_key, from_value)) = slot(&txn, &table, options, from)? else { return Err(lost(from)) };
    let Some((to_key, to_value)) = slot(&txn, &table, options, to)? else { return Err(lost(to)) };
    if from == to || random.below(4) == 0 {
        // The row moves to the slot's other key.
        let other = if from_key < options.keys { from_key + options.keys } else { from_key - options.keys };
        let key = |k| table.keys.encode([ValueRef::Int(k)]);
        let row = table.codec.encode([ValueRef::Int(other), ValueRef::Int(from_value)]);
        if table.table.blind().is_some() {
            // What this transaction put it deletes blindly.
            let old = table.codec.encode([ValueRef::Int(from_key), ValueRef::Int(from_value)]);
            txn.put(&table, &key(from_key), &old)?;
            txn.delete(&table, &key(from_key))?;
            txn.put(&table, &key(other), &row)?;
        } else {
            txn.delete(&table, &key(from_key))?;
            txn.insert(&table, &row)?;
        }
    } else {
        for (key, value) in [(from_key, from_value - amount), (to_key, to_value + amount)] {
            let row = table.codec.encode([ValueRef::Int(key), ValueRef::Int(value)]);
            let encoded = table.keys.encode([ValueRef::Int(key)]);
            if table.table.blind().is_some() && random.below(3) > 0 {
                txn.put(&table, &encoded, &row)?;
            } else {
                txn.update(&table, &encoded, &row)?;
            }
        }
    }
    txn.commit().map(|_| ())
}

fn lost(slot: i64) -> Error {
    Error::internal(format!("slot {slot} has no row under either key"))
}

/// The key and value that a slot has now.
fn slot(txn: &Transaction, table: &TableRef, options: &Options, slot: i64) -> Result<Option<(i64, i64)>> {
    let mut values = Vec::new();
    let mut found = None;
    for key in [slot, slot + options.keys] {
        if txn.get(table, &table.keys.encode([ValueRef::Int(key)]), &[1], &mut values)? {
            assert!(found.is_none(), "slot {slot} has a row under both keys");
            let Value::Int(value) = values[0] else { panic!("v is a bigint") };
            found = Some((key, value));
        }
    }
    Ok(found)
}

fn look(engine: &Arc<Engine>, options: &Options) {
    let txn = engine.begin().expect("begins");
    let table = txn.table("t").expect("the table is there");
    let scan = || {
        let rows = scan_rows(&table, txn.view(&table).expect("it is kept"), &[0, 1], &[], 2, 8192).expect("scans");
        let mut rows: Vec<(i64, i64)> = rows
            .iter()
            .map(|row| match row[..] {
                [Value::Int(k), Value::Int(v)] => (k, v),
                _ => panic!("bigints"),
            })
            .collect();
        rows.sort_unstable();
        rows
    };
    let ts = txn.read_ts();
    let rows = scan();
    let total = options.keys * AMOUNT;
    assert_eq!(rows.len() as i64, options.keys, "a scan at {ts} sees one row per slot");
    assert_eq!(rows.iter().map(|row| row.1).sum::<i64>(), total, "a scan at {ts} sees the total");
    let mut sum = 0;
    for number in 0..options.keys {
        let row = slot(&txn, &table, options, number).expect("reads");
        let (key, value) = row.unwrap_or_else(|| panic!("slot {number} has a row at {ts}"));
        assert!(rows.contains(&(key, value)), "a point read at {ts} sees what the scan saw");
        sum += value;
    }
    assert_eq!(sum, total, "point reads at {ts} see the total");
    // Time for commits and for a job that must keep what this snapshot still sees.
    for _ in 0..100 {
        weft_env::sync::yield_point();
    }
    assert_eq!(scan(), rows, "a second scan at {ts} sees the same");
}

fn maintain(engine: &Arc<Engine>, seed: u64, done: &AtomicBool) {
    let mut random = Prng(seed);
    while !done.load(Ordering::Acquire) {
        if random.below(3) == 0 {
            engine.freeze().expect("freezes");
        }
        engine.run_one_job().expect("a job runs");
        weft_env::sync::yield_point();
    }
}
