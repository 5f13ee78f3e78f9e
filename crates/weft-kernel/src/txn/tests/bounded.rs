//! What serializable transactions remember is bounded, and never gives a wrong answer.

use std::sync::Arc;

use weft_contract::ScanRequest;
use weft_env::Env;
use weft_format::Code;

use crate::testing::{Scratch, by_hand, create, get, key, open_with, row};
use crate::{Durability, Engine, EngineOptions, IsolationLevel, TableRef, Transaction};

const MEMORY_BYTES: u64 = 64 << 10;

fn open(scratch: &Scratch) -> Arc<Engine> {
    let options = EngineOptions { serializable_memory_bytes: MEMORY_BYTES, ..by_hand() };
    let engine = open_with(Env::real(), scratch.path(), options).unwrap();
    create(&engine, &["t", "u", "mine"]).unwrap();
    (0..4000).for_each(|k| put(&engine, "t", k, k));
    put(&engine, "u", 1, 1);
    engine
}

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

/// A serializable transaction that will write a row of its own.
fn begin(engine: &Arc<Engine>, mine: i64) -> (Transaction, [TableRef; 2]) {
    let mut txn = engine.begin_at(IsolationLevel::Serializable).unwrap();
    let [t, u, own] = ["t", "u", "mine"].map(|name| txn.table(name).unwrap());
    txn.insert(&own, &row(&own, mine, 0)).unwrap();
    (txn, [t, u])
}

/// Many commits beside an old snapshot: their rows are forgotten, their tables are not.
#[test]
pub(crate) fn forgotten_commits_count_by_table() {
    let scratch = Scratch::new("forgotten");
    let engine = open(&scratch);
    let before = engine.status().row_memory_bytes;
    let (of_t, [t, _]) = begin(&engine, 1);
    let (of_u, [_, u]) = begin(&engine, 2);
    let (late, [_, _]) = begin(&engine, 3);
    assert_eq!((get(&of_t, &t, 3999), get(&of_u, &u, 1)), (Some(3999), Some(1)));
    // Another row of `t` than was read, then many others.
    put(&engine, "t", 3999, 1);
    (0..3000).for_each(|k| put(&engine, "t", k, -k));
    let used = engine.status().serializable_memory_bytes;
    assert!(used > MEMORY_BYTES / 4 && used <= MEMORY_BYTES, "{used} bytes are remembered");
    assert!(engine.status().row_memory_bytes >= before + used, "they are row memory");
    let (commits, tables) = engine.core.recent.kept();
    assert!(commits < 300 && tables == 1, "{commits} commits, {tables} tables");
    let error = of_t.commit().unwrap_err();
    assert_eq!(error.code(), Code::SerializationFailure);
    assert!(error.hint_text().unwrap().contains("remembered row by row"), "{error}");
    // Of other tables nothing was changed.
    of_u.commit().unwrap();
    assert_eq!(get(&late, &t, 3999), Some(3999));
    assert_eq!(late.commit().unwrap_err().code(), Code::SerializationFailure);
    assert_eq!((engine.core.recent.kept(), engine.status().serializable_memory_bytes), ((0, 0), 0));
}

#[test]
fn what_was_read_is_bounded_and_then_whole() {
    let scratch = Scratch::new("read-much");
    let engine = open(&scratch);
    for scans in [false, true] {
        let mine = 10 + 10 * i64::from(scans);
        let (one, [t, u]) = begin(&engine, mine);
        assert_eq!(get(&one, &u, 1), Some(1));
        for k in 0..2000 {
            if scans {
                let equal = weft_format::CompareOp::Eq;
                let predicate =
                    weft_format::Predicate::Compare { column: 1, op: equal, value: weft_format::Value::Int(k) };
                let (view, predicates) = (one.view(&t).unwrap(), vec![predicate]);
                let request =
                    ScanRequest { view, projection: vec![0], predicates, partition_count: 1, batch_rows: 100 };
                drop(t.scan(request).unwrap());
            } else {
                get(&one, &t, k);
            }
        }
        let used = engine.status().serializable_memory_bytes;
        assert!(used <= MEMORY_BYTES / 2, "{used} bytes of reads");
        // A row that was not read counts as read, once the table does; one that was does in any case.
        put(&engine, "t", 3000, mine);
        assert_eq!(one.commit().unwrap_err().code(), Code::SerializationFailure);
        let (two, [t, _]) = begin(&engine, mine + 1);
        get(&two, &t, 1);
        put(&engine, "t", 3000, mine + 1);
        two.commit().unwrap();
        assert_eq!(engine.status().serializable_memory_bytes, 0);
    }
}

/// A transaction that locks many rows and stages none is charged, and told before memory is gone.
#[test]
fn locks_are_charged() {
    let scratch = Scratch::new("locks");
    let engine = open(&scratch);
    let before = engine.status().row_memory_bytes;
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    for k in 0..4000 {
        txn.get_for_update(&t, &key(&t, k)).unwrap();
    }
    let charged = engine.status().row_memory_bytes - before;
    assert!((400_000..1_200_000).contains(&charged), "4000 locks are charged as {charged} bytes");
    drop(txn);
    assert_eq!(engine.status().row_memory_bytes, before);
}
