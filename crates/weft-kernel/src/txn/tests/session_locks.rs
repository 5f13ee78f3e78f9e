//! Advisory locks of sessions.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use weft_env::Env;
use weft_expr::{AdvisoryKey, AdvisoryLocks, AdvisoryRequest};
use weft_format::{Code, Column, DataType, Schema, TxnId, ValueRef};

use crate::testing::{Scratch, by_hand, key, open_with};
use crate::{CancelToken, Engine, EngineOptions, NewTable, SessionLocks};

const KEY: AdvisoryKey = AdvisoryKey { class: 0, object: 7, kind: 1 };
const PAIR: AdvisoryKey = AdvisoryKey { class: 0, object: 7, kind: 2 };

const ALONE: AdvisoryRequest = AdvisoryRequest { shared: false, of_session: true, waits: false };
const SHARED: AdvisoryRequest = AdvisoryRequest { shared: true, ..ALONE };
const OF_TRANSACTION: AdvisoryRequest = AdvisoryRequest { of_session: false, ..ALONE };

fn engine(scratch: &Scratch) -> Arc<Engine> {
    let options = EngineOptions { lock_timeout: Duration::from_secs(20), ..by_hand() };
    open_with(Env::real(), scratch.path(), options).unwrap()
}

fn session(engine: &Arc<Engine>, txn: u64) -> Arc<SessionLocks> {
    let locks = SessionLocks::new(engine, CancelToken::new());
    locks.enter(TxnId(txn), Duration::from_secs(20));
    locks
}

#[test]
fn locks_are_counted_and_narrowed() {
    let scratch = Scratch::new("advisory-counted");
    let engine = engine(&scratch);
    let (a, b) = (session(&engine, 1_000_001), session(&engine, 1_000_002));
    assert!(a.lock(KEY, ALONE).unwrap() && a.lock(KEY, ALONE).unwrap() && a.lock(KEY, SHARED).unwrap());
    assert!(!b.lock(KEY, SHARED).unwrap());
    assert!(b.lock(PAIR, ALONE).unwrap(), "two numbers are another lock");
    assert!(a.unlock(KEY, false) && !b.lock(KEY, SHARED).unwrap());
    // Another transaction of the session holds it now.
    a.enter(TxnId(1_000_003), Duration::from_secs(20));
    assert!(a.unlock(KEY, false) && b.lock(KEY, SHARED).unwrap(), "the shared one is left");
    assert!(!a.unlock(KEY, false));
    assert_eq!(a.take_warnings(), ["you don't own a lock of type ExclusiveLock"]);
    assert!(!b.lock(KEY, ALONE).unwrap());
    a.release_all();
    assert!(b.lock(KEY, ALONE).unwrap());
    let states = engine.locks();
    assert!(states.iter().any(|state| state.advisory == Some(KEY)));
    b.release_all();
    assert!(engine.locks().is_empty());
}

#[test]
fn a_transaction_gives_back_what_it_took() {
    let scratch = Scratch::new("advisory-circle");
    let engine = engine(&scratch);
    let (a, b) = (session(&engine, 1_000_001), session(&engine, 1_000_002));
    assert!(a.lock(KEY, OF_TRANSACTION).unwrap());
    let mark = a.mark();
    assert!(a.lock(PAIR, OF_TRANSACTION).unwrap() && a.lock(KEY, OF_TRANSACTION).unwrap());
    a.release_since(mark);
    assert!(b.lock(PAIR, ALONE).unwrap() && !b.lock(KEY, ALONE).unwrap());
    assert!(!a.unlock(KEY, false), "only the session's are given back one by one");
    a.release_since(0);
    assert!(b.lock(KEY, ALONE).unwrap());
    b.release_all();
    assert_eq!(engine.locks(), []);
}

#[test]
fn circles_through_rows_and_numbers_are_found() {
    let scratch = Scratch::new("advisory-others");
    let engine = engine(&scratch);
    let mut txn = engine.begin().unwrap();
    let column = Column { name: "k".into(), data_type: DataType::BigInt, not_null: true };
    let t = txn.create_table(NewTable::new("t", Schema::new(vec![column], vec![0]), "memory")).unwrap();
    txn.insert(&t, &t.codec.encode([ValueRef::Int(1)])).unwrap();
    txn.commit().unwrap();
    let (mut one, mut two) = (engine.begin().unwrap(), engine.begin().unwrap());
    let (a, b) = (session(&engine, 1_000_001), session(&engine, two.id().0));
    // Taken in a transaction before.
    assert!(a.lock(KEY, ALONE).unwrap());
    a.enter(one.id(), Duration::from_secs(20));
    let t = two.table("t").unwrap();
    assert!(two.delete(&t, &key(&t, 1)).unwrap());
    let waiter = thread::spawn(move || (b.lock(KEY, AdvisoryRequest { waits: true, ..ALONE }), b));
    while !engine.locks().iter().any(|state| !state.waiters.is_empty()) {
        thread::yield_now();
    }
    let t = one.table("t").unwrap();
    assert_eq!(one.delete(&t, &key(&t, 1)).unwrap_err().code(), Code::DeadlockDetected);
    a.release_all();
    let (taken, b) = waiter.join().unwrap();
    assert!(taken.unwrap());
    b.release_all();
}
