//! Measurements, run by hand: `cargo test --release -p weft-kernel --lib speed -- --ignored --nocapture
//! --test-threads=1`.

use std::sync::Arc;
use std::time::Instant;

use weft_env::Env;

use crate::testing::{MemoryMethod, Scratch, by_hand, create, key, row};
use crate::{Durability, Engine, EngineOptions};

fn nanos(what: &str, count: u64, mut body: impl FnMut(u64)) {
    (0..count / 10).for_each(&mut body);
    let start = Instant::now();
    (count / 10..count + count / 10).for_each(&mut body);
    println!("{what}: {} ns", start.elapsed().as_nanos() as u64 / count);
}

#[test]
#[ignore = "a measurement"]
fn speed_of_transactions() {
    let scratch = Scratch::new("speed");
    let options = EngineOptions { log_segment_bytes: 16 << 20, row_memory_bytes: 4 << 30, ..by_hand() };
    let engine = Engine::open(Env::real(), scratch.path(), vec![Arc::new(MemoryMethod)], options).unwrap();
    create(&engine, &["t"]).unwrap();
    let t = engine.begin().unwrap().table("t").unwrap();
    nanos("begin and end", 1_000_000, |_| drop(engine.begin().unwrap()));
    let mut values = Vec::new();
    nanos("begin, get of a missing row, end", 1_000_000, |i| {
        let txn = engine.begin().unwrap();
        txn.get(&t, &key(&t, i as i64), &[1], &mut values).unwrap();
    });
    nanos("find a table by name", 1_000_000, {
        let txn = engine.begin().unwrap();
        move |_| drop(txn.table("t").unwrap())
    });
    let insert = |k: i64, durability| {
        let mut txn = engine.begin().unwrap();
        txn.set_durability(durability);
        txn.insert(&t, &row(&t, k, k)).unwrap();
        txn.commit().unwrap();
    };
    nanos("asynchronous insert, a transaction each", 200_000, |i| insert(i as i64, Durability::Async));
    engine.flush().unwrap();
    nanos("durable insert, a transaction each", 2_000, |i| insert(1_000_000 + i as i64, Durability::Full));
    let mut txn = engine.begin().unwrap();
    nanos("insert in a long transaction", 200_000, |i| txn.insert(&t, &row(&t, 2_000_000 + i as i64, 1)).unwrap());
}

#[test]
#[ignore = "a measurement"]
fn speed_of_uncontended_locks() {
    use crate::lock::{HeldLocks, LockMode, LockName, LockRequest, LockTable, Wait};
    let locks = LockTable::new();
    let clock = Env::real().clock;
    let txn = weft_format::TxnId(1);
    let wait = Wait::AtMost(std::time::Duration::from_secs(1));
    let request = LockRequest {
        txn,
        mode: LockMode::EXCLUSIVE,
        follows: false,
        wait,
        cancel: None,
        holds_slot: false,
        clock: &*clock,
        what: &|| String::new(),
    };
    let mut held = HeldLocks::default();
    nanos("lock and release", 5_000_000, |i| {
        locks.acquire(LockName::key(weft_format::TableId(1), &i.to_be_bytes()), &request, &mut held).unwrap();
        locks.release(txn, &mut held);
    });
}

/// Runs `body` in so many threads for a second; how often it ran, per second.
fn rate(clients: u64, body: impl Fn(u64, &std::sync::atomic::AtomicBool) -> u64 + Sync) -> u64 {
    let (stop, barrier) = (std::sync::atomic::AtomicBool::new(false), std::sync::Barrier::new(clients as usize + 1));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|client| {
                let (body, stop, barrier) = (&body, &stop, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    body(client, stop)
                })
            })
            .collect();
        barrier.wait();
        let start = Instant::now();
        std::thread::sleep(std::time::Duration::from_secs(3));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let elapsed = start.elapsed().as_secs_f64();
        let count: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        (count as f64 / elapsed) as u64
    })
}

#[test]
#[ignore = "a measurement"]
fn speed_of_a_hot_lock() {
    use crate::lock::{ColumnSet, HeldLocks, LockMode, LockName, LockRequest, LockTable, Wait};
    let clock = Env::real().clock;
    for (kind, mode) in [
        ("exclusive", LockMode::EXCLUSIVE),
        ("of a column", LockMode::columns(ColumnSet::NONE, [1].into_iter().collect())),
    ] {
        for clients in [10, 100, 1000] {
            let locks = LockTable::new();
            let done = rate(clients, |client, stop| {
                let (cancel, mut held) = (crate::CancelToken::new(), HeldLocks::default());
                let mut count = 0;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let txn = weft_format::TxnId(client + 1);
                    let wait = Wait::AtMost(std::time::Duration::ZERO);
                    let (clock, what) = (&*clock, &|| String::new());
                    let request = LockRequest {
                        txn,
                        mode,
                        follows: false,
                        wait,
                        cancel: Some(&cancel),
                        holds_slot: false,
                        clock,
                        what,
                    };
                    locks.acquire(LockName::key(weft_format::TableId(1), b"hot"), &request, &mut held).unwrap();
                    locks.release(txn, &mut held);
                    count += 1;
                }
                count
            });
            println!("{clients} clients on one lock, {kind}: {done}/s");
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn speed_of_a_hot_row() {
    use crate::lock::{ColumnSet, LockMode};
    for clients in [1, 10, 100, 1000] {
        let scratch = Scratch::new("speed-hot");
        let options = EngineOptions { log_segment_bytes: 16 << 20, row_memory_bytes: 4 << 30, ..by_hand() };
        let engine = Engine::open(Env::real(), scratch.path(), vec![Arc::new(MemoryMethod)], options).unwrap();
        create(&engine, &["t"]).unwrap();
        crate::testing::put(&engine, "t", 1, 0).unwrap();
        let of_v = LockMode::columns([1].into_iter().collect::<ColumnSet>(), [1].into_iter().collect());
        let done = rate(clients, |_, stop| {
            let mut count = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let mut txn = engine.begin_at(crate::IsolationLevel::ReadCommitted).unwrap();
                txn.set_cancel(crate::CancelToken::new());
                txn.set_lock_timeout(std::time::Duration::ZERO);
                let t = txn.table("t").unwrap();
                let add = |txn: &mut crate::Transaction| {
                    txn.begin_statement(true)?;
                    txn.refresh_snapshot()?;
                    let before = txn.lock_only_row(&t, &key(&t, 1), of_v, txn.lock_wait())?.expect("the row is there");
                    let weft_format::ValueRef::Int(v) = t.codec.get(&before, 1) else { panic!("not a number") };
                    txn.update_columns(&t, &key(&t, 1), &row(&t, 1, v + 1), of_v)
                };
                while let Err(error) = add(&mut txn) {
                    assert_eq!(error.code(), weft_format::Code::SerializationFailure, "{error}");
                }
                count += u64::from(txn.commit().is_ok());
            }
            count
        });
        println!("{clients} clients on one row: {done} commits/s");
    }
}
