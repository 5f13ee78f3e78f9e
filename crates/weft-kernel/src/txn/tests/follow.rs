//! Updates that go on from commits which wait for the disk.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread::{self, JoinHandle};

use weft_format::Result;

use super::gate::{Gate, commit_later};
use super::*;
use crate::lock::{ColumnSet, LockMode, Wait};
use crate::testing::Prng;
use crate::{TableRef, Transaction};

/// What `SET v = v + 1` locks.
fn of_v() -> LockMode {
    let v: ColumnSet = [1].into_iter().collect();
    LockMode::columns(v, v)
}

/// Table t with the rows 1 to 4, v = 10 k, and the gate of the log.
fn gated(scratch: &Scratch) -> (Arc<Engine>, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let engine = reopen(scratch, &gate);
    create(&engine, &["t"]).unwrap();
    for k in 1..=4 {
        put(&engine, "t", k, 10 * k).unwrap();
    }
    (engine, gate)
}

fn reopen(scratch: &Scratch, gate: &Arc<Gate>) -> Arc<Engine> {
    let options = EngineOptions { lock_timeout: Duration::from_secs(20), ..by_hand() };
    open_with(gate.env(), scratch.path(), options).unwrap()
}

/// A transaction at the level at which statements follow.
fn begin(engine: &Arc<Engine>) -> Transaction {
    engine.begin_at(IsolationLevel::ReadCommitted).unwrap()
}

/// Commits what such a transaction did; returns once the commit has its place in the log.
fn later(engine: &Arc<Engine>, work: impl FnOnce(&mut Transaction) -> Result<()>) -> JoinHandle<Result<Timestamp>> {
    commit_later(engine, |txn| {
        txn.set_level(IsolationLevel::ReadCommitted)?;
        work(txn)
    })
}

/// `UPDATE t SET v = v + by WHERE k = ...`, once; the value before.
fn add(txn: &mut Transaction, k: i64, by: i64) -> Result<i64> {
    let t = txn.table("t")?;
    txn.begin_statement(true)?;
    txn.refresh_snapshot()?;
    if k == 2 {
        // The lock may come late: commits are published and released between the snapshot and it, in any order.
        thread::sleep(Duration::from_micros(100));
    }
    let wait = txn.lock_wait();
    let before = txn.lock_only_row(&t, &key(&t, k), of_v(), wait)?.expect("the row is there");
    let v = value(&t, &before);
    txn.update_columns(&t, &key(&t, k), &row(&t, k, v + by), of_v())?;
    Ok(v)
}

fn value(t: &TableRef, row: &[u8]) -> i64 {
    match t.codec.get(row, 1) {
        weft_format::ValueRef::Int(v) => v,
        other => panic!("{other:?}"),
    }
}

fn values(engine: &Arc<Engine>) -> Vec<Option<i64>> {
    let txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    (1..=4).map(|k| get(&txn, &t, k)).collect()
}

fn code<T: std::fmt::Debug>(result: Result<T>) -> Code {
    result.unwrap_err().code()
}

#[test]
fn an_update_goes_on_from_a_commit_that_waits_for_the_disk() {
    let scratch = Scratch::new("follow");
    let (engine, gate) = gated(&scratch);
    gate.close();
    let first = later(&engine, |txn| add(txn, 1, 1).map(|_| ()));
    let mut second = begin(&engine);
    assert_eq!(add(&mut second, 1, 1).unwrap(), 11, "as the first leaves it");
    let again = thread::spawn(move || {
        let before = retried(&mut second, 1, 5).unwrap();
        second.commit().map(|_| before)
    });
    thread::sleep(Duration::from_millis(30));
    assert!(!again.is_finished(), "its own row is looked at again when the first is published");
    gate.open();
    first.join().unwrap().unwrap();
    assert_eq!(again.join().unwrap().unwrap(), 12);
    assert_eq!(values(&engine)[0], Some(17));
}

#[test]
fn a_chain_of_them_is_there_after_reopening() {
    let scratch = Scratch::new("follow-chain");
    let (engine, gate) = gated(&scratch);
    gate.close();
    let chain: Vec<_> = (0..5)
        .map(|n| {
            later(&engine, |txn| {
                assert_eq!(add(txn, 1, 1)?, 10 + n);
                add(txn, 2, -1).map(|_| ())
            })
        })
        .collect();
    // Nobody else sees anything of it, or gets the lock.
    assert_eq!(values(&engine)[..2], [Some(10), Some(20)]);
    let mut other = begin(&engine);
    let t = other.table("t").unwrap();
    assert_eq!(code(other.lock_row(&t, &key(&t, 1), of_v(), Wait::Never)), Code::LockTimeout);
    other.rollback();
    let mut repeatable = engine.begin_at(IsolationLevel::RepeatableRead).unwrap();
    repeatable.begin_statement(true).unwrap();
    assert_eq!(code(repeatable.lock_only_row(&t, &key(&t, 1), of_v(), Wait::Never)), Code::LockTimeout);
    repeatable.rollback();
    gate.open();
    for commit in chain {
        commit.join().unwrap().unwrap();
    }
    let wanted = [Some(15), Some(15), Some(30), Some(40)];
    assert_eq!(values(&engine), wanted);
    drop(t);
    drop(engine);
    assert_eq!(values(&reopen(&scratch, &gate)), wanted);
}

#[test]
fn who_follows_fails_with_the_commit_before_it() {
    let scratch = Scratch::new("follow-void");
    let (engine, gate) = gated(&scratch);
    gate.close();
    let first = later(&engine, |txn| add(txn, 1, 1).map(|_| ()));
    gate.reached();
    // In the next batch, behind the first; behind that; and of neither.
    let second = later(&engine, |txn| add(txn, 1, 1).map(|_| ()));
    let third = later(&engine, |txn| add(txn, 1, 1).and_then(|_| add(txn, 2, 1)).map(|_| ()));
    let beside = later(&engine, |txn| add(txn, 3, 1).map(|_| ()));
    // Those that have not come to their commit; one of them reads.
    let mut fourth = begin(&engine);
    assert_eq!(add(&mut fourth, 1, 1).unwrap(), 13);
    let mut reader = begin(&engine);
    assert_eq!(add(&mut reader, 2, 1).unwrap(), 21);
    gate.open_full();
    assert_eq!(code(first.join().unwrap()), Code::DiskFull);
    assert_eq!(code(second.join().unwrap()), Code::SerializationFailure);
    assert_eq!(code(third.join().unwrap()), Code::SerializationFailure);
    beside.join().unwrap().unwrap();
    assert_eq!(code(fourth.commit()), Code::SerializationFailure);
    assert_eq!(code(reader.begin_statement(false)), Code::SerializationFailure);
    reader.rollback();
    let wanted = [Some(10), Some(20), Some(31), Some(40)];
    assert_eq!(values(&engine), wanted);
    // All goes on.
    let mut next = begin(&engine);
    assert_eq!(add(&mut next, 1, 0).unwrap(), 10);
    next.commit().unwrap();
    drop(engine);
    assert_eq!(values(&reopen(&scratch, &gate)), wanted);
}

/// A session runs a statement again after a conflict: that must not forget what an earlier statement has built on.
#[test]
fn a_statement_that_runs_again_does_not_save_the_transaction() {
    let scratch = Scratch::new("follow-again");
    let (engine, gate) = gated(&scratch);
    gate.close();
    let first = later(&engine, |txn| add(txn, 1, 1).map(|_| ()));
    let mut second = begin(&engine);
    assert_eq!(add(&mut second, 1, 1).unwrap(), 11);
    gate.open_full();
    assert_eq!(code(first.join().unwrap()), Code::DiskFull);
    for _ in 0..3 {
        let mark = second.mark();
        assert_eq!(code(add(&mut second, 1, 1)), Code::SerializationFailure);
        second.rollback_to(mark);
    }
    assert_eq!(code(second.begin_statement(false)), Code::SerializationFailure);
    assert_eq!(code(second.commit()), Code::SerializationFailure);
    assert_eq!(values(&engine)[0], Some(10));
}

#[test]
fn a_statement_that_reads_waits_and_sees_all_of_the_commit() {
    let scratch = Scratch::new("follow-read");
    let (engine, gate) = gated(&scratch);
    gate.close();
    let first = later(&engine, |txn| add(txn, 1, 1).and_then(|_| add(txn, 2, 1)).map(|_| ()));
    let mut txn = begin(&engine);
    assert_eq!(add(&mut txn, 1, 1).unwrap(), 11);
    let reading = Arc::new(AtomicBool::new(false));
    let read = reading.clone();
    let reader = thread::spawn(move || {
        txn.begin_statement(false).unwrap();
        read.store(true, Ordering::SeqCst);
        txn.refresh_snapshot().unwrap();
        let t = txn.table("t").unwrap();
        let seen = [get(&txn, &t, 1), get(&txn, &t, 2)];
        txn.commit().unwrap();
        seen
    });
    thread::sleep(Duration::from_millis(30));
    assert!(!reading.load(Ordering::SeqCst), "the commit is not durable");
    gate.open();
    first.join().unwrap().unwrap();
    assert_eq!(reader.join().unwrap(), [Some(12), Some(21)]);
}

#[test]
fn rows_that_are_added_or_deleted_are_waited_for() {
    let scratch = Scratch::new("follow-delete");
    let (engine, gate) = gated(&scratch);
    gate.close();
    let first = later(&engine, |txn| {
        let t = txn.table("t")?;
        assert!(txn.delete(&t, &key(&t, 1))?);
        txn.insert(&t, &row(&t, 9, 90))
    });
    let begun: Vec<_> = [1, 9]
        .into_iter()
        .map(|k| {
            let engine = engine.clone();
            thread::spawn(move || {
                let mut txn = begin(&engine);
                let t = txn.table("t").unwrap();
                txn.begin_statement(true).unwrap();
                let wait = txn.lock_wait();
                txn.lock_only_row(&t, &key(&t, k), of_v(), wait).map(|row| row.map(|row| value(&t, &row)))
            })
        })
        .collect();
    thread::sleep(Duration::from_millis(30));
    gate.open();
    first.join().unwrap().unwrap();
    let seen: Vec<_> = begun.into_iter().map(|thread| thread.join().unwrap()).collect();
    // Deleted since the snapshot: a conflict, and the statement runs again. Not there yet at the snapshot: no row.
    assert_eq!(seen[0].as_ref().unwrap_err().code(), Code::SerializationFailure);
    assert_eq!(*seen[1].as_ref().unwrap(), None);
}

/// Twelve threads add to two rows, and now and then the disk is full: what was acknowledged is there, nothing else.
#[test]
fn sums_agree_while_the_disk_is_full_now_and_then() {
    let scratch = Scratch::new("follow-sums");
    let (engine, gate) = gated(&scratch);
    let sum = Arc::new(AtomicI64::new(30));
    let done = Arc::new(AtomicBool::new(false));
    let filler = {
        let (gate, done) = (gate.clone(), done.clone());
        thread::spawn(move || {
            let mut prng = Prng(7);
            while !done.load(Ordering::SeqCst) {
                gate.close();
                thread::sleep(Duration::from_micros(prng.below(600)));
                if prng.below(3) == 0 {
                    gate.open_full()
                } else {
                    gate.open()
                }
                thread::sleep(Duration::from_micros(prng.below(300)));
            }
            gate.open();
        })
    };
    let threads: Vec<_> = (0..12)
        .map(|seed| {
            let (engine, sum) = (engine.clone(), sum.clone());
            thread::spawn(move || {
                let mut prng = Prng(seed);
                let mut failed = 0;
                for _ in 0..200 {
                    match transfer(&engine, &mut prng) {
                        Ok(by) => drop(sum.fetch_add(by, Ordering::SeqCst)),
                        Err(error) => {
                            let expected = [Code::DiskFull, Code::SerializationFailure, Code::DeadlockDetected];
                            assert!(expected.contains(&error.code()), "{error}");
                            failed += 1;
                        }
                    }
                }
                failed
            })
        })
        .collect();
    let failed: i32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    done.store(true, Ordering::SeqCst);
    filler.join().unwrap();
    assert!((10..2350).contains(&failed), "some of 2400 fail: {failed}");
    let total = |engine: &Arc<Engine>| values(engine)[..2].iter().flatten().sum::<i64>();
    assert_eq!(total(&engine), sum.load(Ordering::SeqCst));
    drop(engine);
    assert_eq!(total(&reopen(&scratch, &gate)), sum.load(Ordering::SeqCst));
}

/// Adds to one or both rows; what the sum grew by when it is committed.
fn transfer(engine: &Arc<Engine>, prng: &mut Prng) -> Result<i64> {
    let mut txn = begin(engine);
    let by = prng.below(100) as i64;
    let first = 1 + prng.below(2) as i64;
    retried(&mut txn, first, by)?;
    let both = prng.below(2) == 0;
    if both {
        retried(&mut txn, 3 - first, by)?;
    }
    txn.commit()?;
    Ok(if both { 2 * by } else { by })
}

/// As a session at READ COMMITTED does: a statement in whose way a commit came runs again.
fn retried(txn: &mut Transaction, k: i64, by: i64) -> Result<i64> {
    loop {
        let mark = txn.mark();
        match add(txn, k, by) {
            Err(error) if error.code() == Code::SerializationFailure && !error.message().contains("builds on") => {
                txn.rollback_to(mark);
            }
            result => return result,
        }
    }
}
