//! A merge of an index keeps the entries of rows that others change, and whose old versions jobs drop, while it asks.
//!
//! ```text
//!   merge of the runs of v     horizon 40 · · · · · · · · · · · · row of key 3 as of 40?    gone: asked again as of 41
//!   UPDATE t SET w = 1                     commit 41
//!   jobs                                             version of 40 dropped
//! ```
//!
//! The update leaves v alone, so it adds no entry: the one that the merge asks about is the only one of the row.
#![cfg(feature = "faults")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests run on real threads and real files"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use weft_env::Env;
use weft_format::{Column, DataType, Schema, ValueRef};
use weft_kernel::fault::{Fault, plant};
use weft_kernel::index::NewIndex;
use weft_kernel::step::{Moment, on_moment};
use weft_kernel::{ColumnSet, Engine, EngineOptions, LockMode, NewTable, TableRef, Transaction};
use weft_tables::column::job_kinds;
use weft_tables::column_method;

/// Rows of a run, one of which is changed: its first entry is outdated.
const KEYS: i64 = 8;
/// Runs of the index: enough that a merge is due.
const RUNS: i64 = 6;

fn open(name: &str) -> (Arc<Engine>, PathBuf) {
    let path = std::env::temp_dir().join(format!("weft-tables-index-merges-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let options = EngineOptions { workers: 0, ..EngineOptions::default() };
    (Engine::open(Env::real(), &path, vec![column_method()], options).unwrap(), path)
}

fn begin(engine: &Arc<Engine>) -> (Transaction, TableRef) {
    let txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    (txn, t)
}

fn row(t: &TableRef, k: i64, v: i64, w: i64) -> Vec<u8> {
    t.codec.encode([ValueRef::Int(k), ValueRef::Int(v), ValueRef::Int(w)])
}

/// `t (k primary key, v, w)` with an index on v of [`RUNS`] runs, in which some entries are outdated; the last run is
/// still to be written, and then they are merged.
fn filled(engine: &Arc<Engine>) {
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: name == "k" };
    let new = NewTable::new("t", Schema::new(["k", "v", "w"].map(column).into(), vec![0]), "column");
    let mut txn = engine.begin().unwrap();
    let t = txn.create_table(new).unwrap();
    txn.create_index(&t, NewIndex::new("t_v", vec![1], false)).unwrap();
    txn.commit().unwrap();
    for round in 0..RUNS {
        let (mut txn, t) = begin(engine);
        for k in (round * KEYS..).take(KEYS as usize) {
            txn.insert(&t, &row(&t, k, k, 0)).unwrap();
        }
        txn.commit().unwrap();
        let (mut txn, t) = begin(engine);
        let key = t.keys.encode([ValueRef::Int(round * KEYS)]);
        assert!(txn.get_for_update(&t, &key).unwrap().is_some());
        txn.update(&t, &key, &row(&t, round * KEYS, 1000 + round, 0)).unwrap();
        txn.commit().unwrap();
        engine.freeze().unwrap();
        if round < RUNS - 1 {
            engine.run_jobs().unwrap();
        }
    }
}

/// `UPDATE t SET w = 1`, that column alone, as sessions lock it.
fn set_all(engine: &Arc<Engine>) {
    let (mut txn, t) = begin(engine);
    let mode = LockMode::columns(ColumnSet::NONE, ColumnSet::from_iter([2]));
    for k in 0..RUNS * KEYS {
        let key = t.keys.encode([ValueRef::Int(k)]);
        let before = txn.lock_row(&t, &key, mode, txn.lock_wait()).unwrap().unwrap();
        let ValueRef::Int(v) = t.codec.get(&before, 1) else { panic!("v is a number") };
        txn.update_columns(&t, &key, &row(&t, k, v, 1), mode).unwrap();
    }
    txn.commit().unwrap();
}

/// Changes all rows, carries them to files while a snapshot of before is read, and drops what was when nobody reads it
/// any more. Jobs are run by hand: the engine would wait for the merge, which waits for this.
fn change_all(engine: &Arc<Engine>) {
    let (reader, t) = begin(engine);
    set_all(engine);
    engine.freeze().unwrap();
    let convert = t.table.jobs().into_iter().find(|offer| offer.kind == job_kinds::CONVERT).unwrap();
    t.table.run(&convert).unwrap();
    drop(reader);
    while let Some(offer) = t.table.jobs().first() {
        t.table.run(offer).unwrap();
    }
}

/// Merges the index; in the middle of its first question all rows get new versions. What a check finds then.
fn merge_beside_changes(name: &str) -> Vec<String> {
    let (engine, path) = open(name);
    filled(&engine);
    let asked = Arc::new(AtomicU64::new(0));
    let (theirs, count) = (engine.clone(), asked.clone());
    on_moment(Some(Box::new(move |moment| {
        if moment == Moment::KeepAsked && count.fetch_add(1, Ordering::Relaxed) == KEYS as u64 / 2 {
            let theirs = theirs.clone();
            thread::spawn(move || change_all(&theirs)).join().unwrap();
        }
    })));
    engine.run_jobs().unwrap();
    on_moment(None);
    assert!(asked.load(Ordering::Relaxed) > KEYS as u64, "a merge asks about entries");
    let findings = engine.check().unwrap();
    drop(engine);
    let _ = std::fs::remove_dir_all(path);
    findings
}

// One test: a planted fault is there for the whole process.
#[test]
fn entries_stay_whose_rows_are_changed_while_a_merge_asks() {
    assert_eq!(merge_beside_changes("kept"), Vec::<String>::new());
    plant(Some(Fault::INDEX_ASKS_OLD_HORIZON));
    let findings = merge_beside_changes("lost");
    plant(None);
    assert!(findings.iter().any(|line| line.contains("t_v")), "the fault is noticed: {findings:?}");
}
