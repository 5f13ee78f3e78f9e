//! The memory of row tables: what changed pages are charged with, and who goes when they are written.

use std::path::Path;
use std::sync::Arc;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync::Mutex;
use weft_env::{Env, thread_traffic};
use weft_format::{Timestamp, ValueRef};
use weft_kernel::fault::plant;
use weft_kernel::{Engine, EngineOptions, TableRef};
use weft_tables::row::faults;
use weft_tables::row_method;

use super::{ALONE, key, make, tiny, value};

/// An engine that writes no pages before it is told to, with a cache of so many bytes.
fn open(env: Env, cache_bytes: u64) -> Arc<Engine> {
    let options = EngineOptions { cache_bytes, workers: 0, ..EngineOptions::default() };
    let engine = Engine::open(env, Path::new("db"), vec![row_method()], options).unwrap();
    make(&engine, [("changed_bytes".to_owned(), (64 << 20).to_string())].into());
    engine
}

fn layer(table: &TableRef, name: &str) -> u64 {
    let layers = table.table.layers();
    layers.iter().find(|layer| layer.layer == name).unwrap().bytes
}

/// Gives one row a text of so many bytes.
fn widen(engine: &Arc<Engine>, k: i64, bytes: usize) -> TableRef {
    let mut txn = engine.begin().unwrap();
    let table = txn.table("t").unwrap();
    let row = table.codec.encode([ValueRef::Int(k), ValueRef::Text(&"x".repeat(bytes))]);
    match value(&table, txn.read_ts(), k) {
        Some(_) => txn.update(&table, &key(&table, k), &row).unwrap(),
        None => txn.insert(&table, &row).unwrap(),
    }
    txn.commit().unwrap();
    table
}

#[test]
fn changed_pages_are_charged_with_what_they_take_however_often_they_change() {
    let _alone = ALONE.lock();
    let end = Simulation::new(SimOptions::seeded(8)).run(|env| {
        let engine = open(env, 1 << 20);
        let charged = || engine.status().row_memory_bytes;
        let at_first = charged();
        for bytes in [10, 100_000, 1_000_000, 4_000_000] {
            let table = widen(&engine, 1, bytes);
            let (changed, older) = (layer(&table, "changed pages"), layer(&table, "older versions"));
            assert!(changed >= bytes as u64 && changed < 4 * bytes.max(8192) as u64, "{bytes} bytes: {changed}");
            assert_eq!(charged() - at_first, changed + older, "{bytes} bytes");
        }
        let table = widen(&engine, 1, 10);
        assert!(layer(&table, "changed pages") < 100_000, "a row that is short again: {:?}", table.table.layers());
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
        widen(&engine, 1, 300_000);
        engine.checkpoint().unwrap();
        assert_eq!((layer(&table, "changed pages"), charged()), (0, at_first), "what was written is given back");
        widen(&engine, 1, 200_000);
        drop(table);
        let mut txn = engine.begin().unwrap();
        txn.drop_table("t").unwrap();
        txn.commit().unwrap();
        engine.checkpoint().unwrap();
        assert_eq!(charged(), at_first, "what was dropped is given back");
    });
    assert_eq!(end, RunEnd::Finished);
}

/// Splits, joins and jobs in tiny pages.
#[test]
fn what_is_charged_is_what_the_pages_say() {
    let _alone = ALONE.lock();
    let end = Simulation::new(SimOptions::seeded(9)).run(|env| {
        let engine = super::open(&env, Path::new("db"), 1 << 20);
        make(&engine, tiny(512));
        for round in 0..40 {
            for k in 0..20 {
                widen(&engine, (k * 7 + round) % 60, [10, 300, 90, 2000][((k + round) % 4) as usize]);
            }
            let mut txn = engine.begin().unwrap();
            let table = txn.table("t").unwrap();
            (0..60).filter(|k| k % 5 != round % 5).for_each(|k| _ = txn.delete(&table, &key(&table, k)).unwrap());
            txn.commit().unwrap();
            assert_eq!(engine.check().unwrap(), Vec::<String>::new());
        }
        engine.close().unwrap();
    });
    assert_eq!(end, RunEnd::Finished);
}

/// Bytes that are read again of 60 rows that the cache has, when several times as many pages as it has room for were
/// written.
fn read_again_behind_writes() -> u64 {
    let told = Arc::new(Mutex::new(0));
    let tells = told.clone();
    let end = Simulation::new(SimOptions::seeded(10)).run(move |env| {
        let (engine, rows) = (open(env, 1 << 20), 12_000);
        let put = |keys: std::ops::Range<i64>, text: &str| -> Timestamp {
            let mut txn = engine.begin().unwrap();
            let table = txn.table("t").unwrap();
            for k in keys {
                let row = table.codec.encode([ValueRef::Int(k), ValueRef::Text(text)]);
                match value(&table, txn.read_ts(), k) {
                    Some(_) => txn.update(&table, &key(&table, k), &row).unwrap(),
                    None => txn.insert(&table, &row).unwrap(),
                }
            }
            txn.commit().unwrap()
        };
        put(0..rows, &"a".repeat(250));
        engine.checkpoint().unwrap();
        let ts = put(0..rows / 2, &"b".repeat(250));
        let table = engine.begin().unwrap().table("t").unwrap();
        assert!(layer(&table, "changed pages") > 3 << 19, "{:?}", table.table.layers());
        let look = || {
            let before = thread_traffic();
            (rows - 3000..rows).step_by(50).for_each(|k| drop(value(&table, ts, k).unwrap()));
            (thread_traffic() - before).read_bytes
        };
        look();
        assert_eq!(look(), 0, "they are in memory before pages are written");
        engine.checkpoint().unwrap();
        assert_eq!(layer(&table, "changed pages"), 0);
        assert!(layer(&table, "pages in memory") <= 3 << 18, "written pages go: {:?}", table.table.layers());
        *tells.lock() = look();
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    });
    assert_eq!(end, RunEnd::Finished);
    *told.lock()
}

#[test]
fn what_was_written_goes_before_what_is_read() {
    let _alone = ALONE.lock();
    assert_eq!(read_again_behind_writes(), 0);
    plant(Some(faults::WRITTEN_PAGES_FILL_CACHE));
    let read = read_again_behind_writes();
    plant(None);
    assert!(read > 60 * 8192 / 4, "that it stays is not noticed: {read}");
}
