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
        clock: &*clock,
        what: &|| String::new(),
    };
    let mut held = HeldLocks::default();
    nanos("lock and release", 5_000_000, |i| {
        locks.acquire(LockName::key(weft_format::TableId(1), &i.to_be_bytes()), &request, &mut held).unwrap();
        locks.release(txn, &mut held);
    });
}
