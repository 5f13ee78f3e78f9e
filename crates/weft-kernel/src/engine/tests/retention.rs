//! What keeps memory and log, and until when: indexes under construction, a log that is held, tiny tables.

use std::ops::Bound;
use std::sync::Arc;

use weft_env::Env;
use weft_format::{TableId, Value};

use crate::index::{Direction, NewIndex};
use crate::testing::{Scratch, by_hand, create, get, key, open_with, row};
use crate::{Durability, Engine, EngineOptions, TableRef, Transaction};

const LOG_BYTES_MAX: u64 = 64 << 10;

fn options() -> EngineOptions {
    EngineOptions {
        row_table_bytes: 4 << 10,
        row_memory_bytes: 200 << 10,
        checkpoint_log_bytes: LOG_BYTES_MAX,
        log_segment_bytes: 16 << 10,
        ..by_hand()
    }
}

fn open(scratch: &Scratch) -> Arc<Engine> {
    open_with(Env::real(), scratch.path(), options()).unwrap()
}

/// As [`crate::testing::put`], without a wait for the disk.
fn put(engine: &Arc<Engine>, table: &str, k: i64, v: i64) {
    let mut txn = engine.begin().unwrap();
    txn.set_durability(Durability::Async);
    let t = txn.table(table).unwrap();
    match txn.get_for_upsert(&t, &key(&t, k)).unwrap() {
        Some(_) => txn.update(&t, &key(&t, k), &row(&t, k, v)).unwrap(),
        None => txn.insert(&t, &row(&t, k, v)).unwrap(),
    }
    txn.commit().unwrap();
}

/// An index of the values of table `t`, not committed.
fn building(engine: &Arc<Engine>) -> (Transaction, TableRef) {
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    txn.create_index(&t, NewIndex::new("t_v", vec![1], false)).unwrap();
    (txn, t)
}

/// Writes while an index is under construction: three times as much as row memory can hold of its entries.
fn write_beside(engine: &Arc<Engine>, from: i64) {
    for i in 0..12_000 {
        put(engine, "t", (from + i) % 500, from + i);
        if i % 100 == 99 {
            engine.run_jobs().unwrap();
        }
    }
    engine.flush().unwrap();
    engine.run_jobs().unwrap();
}

/// The directory as a crash at this moment leaves it.
fn crashed(scratch: &Scratch, name: &str) -> Scratch {
    let copy = Scratch::new(name);
    std::fs::create_dir_all(copy.path()).unwrap();
    for entry in std::fs::read_dir(scratch.path()).unwrap().map(Result::unwrap) {
        if entry.file_name() != "LOCK" {
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
    }
    copy
}

fn files_of(scratch: &Scratch, table: u32) -> usize {
    let names = std::fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_str().unwrap().starts_with(&format!("t{table}-"))).count()
}

/// The index is there and has every row, after a reopening.
fn assert_found(scratch: &Scratch, last: i64) {
    let engine = open(scratch);
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    let txn = engine.begin().unwrap();
    assert!(txn.index("t_v").is_some());
    let t = txn.table("t").unwrap();
    assert_eq!(get(&txn, &t, last % 500), Some(last));
}

#[test]
pub(super) fn an_index_under_construction_is_flushed_and_keeps_no_log() {
    let scratch = Scratch::new("building");
    let engine = open(&scratch);
    create(&engine, &["t"]).unwrap();
    (0..100).for_each(|k| put(&engine, "t", k, k));
    let (txn, _t) = building(&engine);
    write_beside(&engine, 1000);
    let status = engine.status();
    assert!(status.row_memory_bytes < 100 << 10, "{} bytes of row memory", status.row_memory_bytes);
    assert!(status.log_bytes <= 2 * LOG_BYTES_MAX, "{} bytes of log", status.log_bytes);
    assert!(files_of(&scratch, 2) > 1, "its memory became files");
    // Before the commit nothing of it is there after a crash, its files neither.
    let copy = crashed(&scratch, "building-crashed");
    let reopened = open(&copy);
    assert_eq!((files_of(&copy, 2), reopened.core.manifest.cut(TableId(2)).0), (0, 0));
    assert_eq!(reopened.check().unwrap(), Vec::<String>::new());
    assert!(reopened.begin().unwrap().index("t_v").is_none());
    drop(reopened);
    txn.commit().unwrap();
    // Redo begins where the index has everything in files.
    assert_found(&crashed(&scratch, "building-committed"), 12_999);
    write_beside(&engine, 20_000);
    assert!(engine.status().log_bytes <= 2 * LOG_BYTES_MAX);
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    assert_found(&crashed(&scratch, "building-later"), 31_999);
}

#[test]
fn an_index_that_is_rolled_back_leaves_nothing() {
    let scratch = Scratch::new("given-up");
    let engine = open(&scratch);
    create(&engine, &["t"]).unwrap();
    for (round, to_mark) in [true, false].into_iter().enumerate() {
        let (txn, _t) = if to_mark {
            let mut txn = engine.begin().unwrap();
            let t = txn.table("t").unwrap();
            let mark = txn.mark();
            txn.create_index(&t, NewIndex::new("t_v", vec![1], false)).unwrap();
            write_beside(&engine, 1000);
            txn.rollback_to(mark);
            (txn, t)
        } else {
            let (txn, t) = building(&engine);
            write_beside(&engine, 1000);
            (txn, t)
        };
        txn.rollback();
        engine.checkpoint().unwrap();
        let index = 2 + round as u32;
        assert_eq!((files_of(&scratch, index), engine.core.manifest.cut(TableId(index)).0), (0, 0));
        assert_eq!(engine.status().row_memory_bytes, 0);
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    }
    // One of which nothing was written goes at once.
    let (txn, _t) = building(&engine);
    txn.rollback();
    assert_eq!((files_of(&scratch, 4), engine.status().row_memory_bytes), (0, 0));
}

#[test]
pub(super) fn a_log_that_is_held_makes_no_table_freeze() {
    let scratch = Scratch::new("held");
    let engine = open(&scratch);
    create(&engine, &["t", "u"]).unwrap();
    let kept = engine.core.log.keep();
    (0..3000).for_each(|i| put(&engine, "t", i % 50, i));
    engine.flush().unwrap();
    engine.run_jobs().unwrap();
    assert!(engine.status().log_bytes > LOG_BYTES_MAX, "the backup keeps it");
    let before = engine.status().jobs_run;
    for i in 0..50 {
        put(&engine, "t", i, i);
        put(&engine, "u", i, i);
        engine.run_jobs().unwrap();
    }
    assert_eq!(engine.status().jobs_run - before, 0, "conversions of a row or two");
    drop(kept);
    engine.flush().unwrap();
    engine.run_jobs().unwrap();
    assert!(engine.status().log_bytes <= LOG_BYTES_MAX, "{} bytes of log", engine.status().log_bytes);
}

#[test]
pub(super) fn memory_that_no_job_frees_makes_no_table_freeze_again_and_again() {
    let scratch = Scratch::new("staged");
    let engine = open(&scratch);
    create(&engine, &["t", "u"]).unwrap();
    let is_short = || {
        let status = engine.status();
        status.row_memory_bytes > status.row_memory_limit_bytes / 4 * 3
    };
    // What a transaction has staged goes with its end.
    let mut long = engine.begin().unwrap();
    let t = long.table("t").unwrap();
    let mut keys = 100_000..;
    while !is_short() {
        let k = keys.next().unwrap();
        long.insert(&t, &row(&t, k, k)).unwrap();
    }
    let before = engine.status().jobs_run;
    for i in 0..50 {
        put(&engine, "t", i, i);
        put(&engine, "u", i, i);
        engine.run_jobs().unwrap();
        assert!(is_short(), "the transaction has it");
    }
    let ran = engine.status().jobs_run - before;
    assert!(ran <= 10, "{ran} jobs for 100 rows");
    long.rollback();
    // And what jobs can free is frozen when as much has come together.
    (0..6000).for_each(|i| put(&engine, "t", i, i));
    engine.run_jobs().unwrap();
    assert!(!is_short(), "{} bytes of row memory", engine.status().row_memory_bytes);
}

#[test]
fn only_a_table_that_holds_the_log_freezes() {
    let scratch = Scratch::new("holder");
    let engine = open(&scratch);
    create(&engine, &["t", "u"]).unwrap();
    put(&engine, "u", 1, 1);
    engine.checkpoint().unwrap();
    put(&engine, "u", 1, 2);
    // As `t` fills row tables it is converted on its way; `u` has one row in the beginning of the log.
    (0..3000).for_each(|i| put(&engine, "t", i % 50, i));
    engine.checkpoint().unwrap();
    let converted = || engine.jobs().iter().filter(|job| job.table == TableId(2)).count();
    put(&engine, "u", 1, 3);
    for i in 0..6000 {
        put(&engine, "t", i % 50, i);
        if i % 100 == 0 {
            engine.flush().unwrap();
            put(&engine, "u", 1, i);
            engine.run_jobs().unwrap();
        }
    }
    engine.flush().unwrap();
    engine.run_jobs().unwrap();
    assert!(engine.status().log_bytes <= 2 * LOG_BYTES_MAX, "{} bytes of log", engine.status().log_bytes);
    let (jobs, segments) = (converted(), engine.status().log.bytes / (16 << 10));
    assert!(jobs as u64 <= segments, "{jobs} jobs for {segments} segments");
}

/// What changes between the listing of an index and its commit stands in the log before the index does.
#[test]
pub(super) fn rows_that_changed_while_an_index_was_made_are_in_it_after_a_crash() {
    let scratch = Scratch::new("missed");
    let engine = open_with(Env::real(), scratch.path(), by_hand()).unwrap();
    create(&engine, &["t", "u"]).unwrap();
    (0..10).for_each(|k| put(&engine, "t", k, k));
    let (txn, _t) = building(&engine);
    // A row changed twice, a new one, one that goes, and a table that has nothing to do with it.
    [(1, 100), (1, 101), (20, 200)].into_iter().for_each(|(k, v)| put(&engine, "t", k, v));
    put(&engine, "u", 1, 1);
    let mut delete = engine.begin().unwrap();
    let t = delete.table("t").unwrap();
    assert!(delete.delete(&t, &key(&t, 2)).unwrap());
    delete.commit().unwrap();
    txn.commit().unwrap();
    put(&engine, "t", 3, 300);
    engine.flush().unwrap();
    let copy = crashed(&scratch, "missed-crashed");
    let reopened = open_with(Env::real(), copy.path(), by_hand()).unwrap();
    assert_eq!(reopened.check().unwrap(), Vec::<String>::new());
    let txn = reopened.begin().unwrap();
    let (t, index) = txn.index("t_v").unwrap();
    let found = |v: i64| {
        let value = [Value::Int(v)];
        let bound = Bound::Included(&value[..]);
        txn.index_keys(&t, &index, bound, bound, Direction::Forward, 9).unwrap()
    };
    assert_eq!(found(101), Some(vec![key(&t, 1)]));
    assert_eq!(found(200), Some(vec![key(&t, 20)]));
    assert_eq!(found(300), Some(vec![key(&t, 3)]));
}

/// Each commit that redo applies is fed to the indexes as it was when it was installed: an entry per version.
#[test]
fn redo_feeds_indexes_commit_by_commit() {
    let scratch = Scratch::new("fed");
    let engine = open_with(Env::real(), scratch.path(), by_hand()).unwrap();
    create(&engine, &["t"]).unwrap();
    building(&engine).0.commit().unwrap();
    (0..50).for_each(|v| put(&engine, "t", v % 5, v));
    engine.flush().unwrap();
    let entries = |engine: &Arc<Engine>| engine.begin().unwrap().index("t_v").unwrap().1.statistics().entries;
    let fed = entries(&engine);
    let copy = crashed(&scratch, "fed-crashed");
    let reopened = open_with(Env::real(), copy.path(), by_hand()).unwrap();
    assert_eq!((fed, entries(&reopened)), (50, 50));
}
