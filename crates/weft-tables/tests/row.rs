//! What is special to method `row`, and its planted faults: with each of these deliberate bugs its test must fail, or
//! the test is worth nothing.
#![cfg(feature = "faults")]
#![allow(clippy::unwrap_used, reason = "a test ends where what it makes cannot be made")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync::Mutex;
use weft_env::{Env, thread_traffic};
use weft_format::row_arrays::rows_to_batch;
use weft_format::{Column, CompareOp, DataType, Predicate, Schema, Value, ValueRef};
use weft_kernel::fault::{Fault, plant};
use weft_kernel::{Engine, EngineOptions, NewTable, TableRef};
use weft_tables::row::faults;
use weft_tables::row_method;
use weft_tables::testing::{conformance, crashes, scan_rows, transfers};

#[path = "row/freed.rs"]
mod freed;
#[path = "row/memory.rs"]
mod memory;

/// Faults are planted for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn tiny(page_bytes: u64) -> BTreeMap<String, String> {
    BTreeMap::from([("page_bytes".to_owned(), page_bytes.to_string()), ("changed_bytes".to_owned(), "4096".to_owned())])
}

/// The first seed of the suite that does not end well.
fn caught_by_suite(fault: Option<Fault>, seeds: u64) -> Option<u64> {
    plant(fault);
    let bad = |&seed: &u64| {
        let options = conformance::Options {
            seed,
            steps: 200,
            keys: [60, 300][(seed / 2 % 2) as usize],
            rows_max: 12,
            look_every: 5,
            table: tiny([512, 1024][(seed % 2) as usize]),
            row_table_bytes: 2_000,
            columns: false,
        };
        let simulation = Simulation::new(SimOptions::seeded(seed));
        let body = move |env| conformance::run(&row_method(), &env, Path::new("db"), &options);
        simulation.run(body) != RunEnd::Finished
    };
    let found = (0..seeds).find(bad);
    plant(None);
    found
}

/// The first seed of the crashes that does not end well.
fn caught_by_crashes(fault: Option<Fault>, seeds: u64) -> Option<(u64, String)> {
    plant(fault);
    let run = |seed| crashes::run_with(&row_method(), seed, &tiny([512, 1024, 8192][(seed % 3) as usize])).err();
    let found = (0..seeds).find_map(|seed| run(seed).map(|what| (seed, what)));
    plant(None);
    found
}

#[test]
fn nothing_is_lost_from_tiny_pages() {
    let _alone = ALONE.lock();
    let seeds = std::env::var("WEFT_ROW_SEEDS").map_or(30, |seeds| seeds.parse().unwrap());
    assert_eq!(caught_by_crashes(None, seeds), None);
}

#[test]
fn what_a_crash_leaves_tells_of_faults() {
    let _alone = ALONE.lock();
    let all = [
        faults::ACCEPT_TORN_PAGES,
        faults::SPLIT_WITHOUT_LINK,
        faults::KEEP_FURTHER_PAGES,
        faults::FORGET_CHANGED_WHILE_WRITTEN,
        faults::FORGET_OPEN_LOADS,
    ];
    let missed: Vec<Fault> = all.into_iter().filter(|fault| caught_by_crashes(Some(*fault), 60).is_none()).collect();
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}

#[test]
fn the_suite_tells_of_faults() {
    let _alone = ALONE.lock();
    assert_eq!(caught_by_suite(None, 6), None);
    let all = [faults::UNDO_NOT_KEPT, faults::PURGE_TOO_EARLY, faults::SEE_OPEN_LOADS, faults::LOAD_OVER_ROWS];
    let missed: Vec<Fault> = all.into_iter().filter(|fault| caught_by_suite(Some(*fault), 30).is_none()).collect();
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}

/// Rows get wide and narrow in turns, and pages are written, while another thread checks the table.
fn check_beside_jobs(seed: u64) -> RunEnd {
    Simulation::new(SimOptions::seeded(seed)).run(move |env| {
        let keys = 24;
        let engine = open(&env, Path::new("db"), 8 << 20);
        make(&engine, tiny(512));
        let is_done = Arc::new(Mutex::new(false));
        let (writer, done) = (engine.clone(), is_done.clone());
        let body = move || {
            for round in 0..12 {
                let mut txn = writer.begin().unwrap();
                let table = txn.table("t").unwrap();
                for k in 0..keys {
                    let text = "x".repeat(if (k + round) % 8 < 2 { 1000 } else { 200 });
                    let row = table.codec.encode([ValueRef::Int(k), ValueRef::Text(&text)]);
                    if round == 0 {
                        txn.insert(&table, &row).unwrap();
                    } else {
                        txn.update(&table, &key(&table, k), &row).unwrap();
                    }
                }
                txn.commit().unwrap();
                writer.checkpoint().unwrap();
            }
            *done.lock() = true;
        };
        let thread = env.spawn.spawn("writer", Box::new(body)).unwrap();
        while !*is_done.lock() {
            assert_eq!(engine.check().unwrap(), Vec::<String>::new());
        }
        thread.join().unwrap();
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    })
}

#[test]
fn a_page_that_goes_from_node_to_node_during_a_check_is_not_used_twice() {
    let _alone = ALONE.lock();
    let failure = || (0..12).map(check_beside_jobs).find(|end| *end != RunEnd::Finished);
    assert_eq!(failure(), None);
    plant(Some(faults::BELIEVE_FIRST_LOOK));
    let found = failure();
    plant(None);
    assert!(format!("{found:?}").contains("is used twice"), "not noticed: {found:?}");
}

/// Leaves with dead rows get too long while another thread purges them.
fn widen_beside_purges(seed: u64) -> RunEnd {
    // Syncs take no time: both threads can go on at every moment, and one often comes between two steps of the other.
    let options = SimOptions { sync_duration: Duration::ZERO, switch_permille: Some(100), ..SimOptions::seeded(seed) };
    Simulation::new(options).run(move |env| {
        let engine = open(&env, Path::new("db"), 8 << 20);
        make(&engine, tiny(512));
        let is_done = Arc::new(Mutex::new(false));
        let (writer, done) = (engine.clone(), is_done.clone());
        let body = move || {
            for _ in 0..12 {
                for bytes in [Some(10), None, Some(600)] {
                    let mut txn = writer.begin().unwrap();
                    let table = txn.table("t").unwrap();
                    // Odd ones first: the even ones come into their leaves.
                    for k in (1..16).step_by(2).chain((0..16).step_by(2)) {
                        let text = "x".repeat(bytes.unwrap_or_default());
                        let row = table.codec.encode([ValueRef::Int(k), ValueRef::Text(&text)]);
                        let is_there = value(&table, txn.read_ts(), k).is_some();
                        match (bytes, k % 2) {
                            (None, 0) => drop(txn.delete(&table, &key(&table, k)).unwrap()),
                            (Some(600), 0) | (None, _) => {}
                            _ if is_there => txn.update(&table, &key(&table, k), &row).unwrap(),
                            _ => txn.insert(&table, &row).unwrap(),
                        }
                    }
                    txn.commit().unwrap();
                }
            }
            *done.lock() = true;
        };
        let thread = env.spawn.spawn("writer", Box::new(body)).unwrap();
        while !*is_done.lock() {
            engine.checkpoint().unwrap();
        }
        thread.join().unwrap();
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    })
}

#[test]
fn a_leaf_that_is_purged_before_it_is_split_is_left_as_it_is() {
    let _alone = ALONE.lock();
    let failure = |seeds| (0..seeds).map(widen_beside_purges).find(|end| *end != RunEnd::Finished);
    assert_eq!(failure(60), None);
    plant(Some(faults::SPLIT_AS_SEEN));
    let found = failure(1500);
    plant(None);
    assert!(found.is_some(), "not noticed");
}

#[test]
fn totals_stay_while_pages_are_split_and_written() {
    let _alone = ALONE.lock();
    for seed in 0..20 {
        let options = transfers::Options {
            seed,
            keys: 40,
            writers: 3,
            transactions: 25,
            readers: 2,
            table: tiny(512),
            row_table_bytes: 2_000,
        };
        let simulation = Simulation::new(SimOptions::seeded(seed));
        let body = move |env| transfers::run(&row_method(), &env, Path::new("db"), &options);
        assert_eq!(simulation.run(body), RunEnd::Finished, "seed {seed}");
    }
}

fn open(env: &Env, dir: &Path, memory_bytes: u64) -> Arc<Engine> {
    let options = EngineOptions {
        row_memory_bytes: memory_bytes,
        cache_bytes: memory_bytes,
        row_table_bytes: memory_bytes / 64,
        log_segment_bytes: 1 << 20,
        checkpoint_log_bytes: 4 << 20,
        workers: 1,
        ..EngineOptions::default()
    };
    Engine::open(env.clone(), dir, vec![row_method()], options).expect("opens")
}

fn make(engine: &Arc<Engine>, options: BTreeMap<String, String>) {
    let column = |name: &str, data_type| Column { name: name.into(), data_type, not_null: true };
    let columns = vec![column("k", DataType::BigInt), column("v", DataType::Text)];
    let mut txn = engine.begin().unwrap();
    let mut new = NewTable::new("t", Schema::new(columns, vec![0]), "row");
    new.options = options;
    txn.create_table(new).unwrap();
    txn.commit().unwrap();
}

fn key(table: &TableRef, k: i64) -> Vec<u8> {
    table.keys.encode([ValueRef::Int(k)])
}

fn value(table: &TableRef, ts: weft_format::Timestamp, k: i64) -> Option<String> {
    let mut values = Vec::new();
    let is_there = table.read(&key(table, k), ts, &[1], &mut values).unwrap();
    is_there.then(|| match &values[0] {
        Value::Text(text) => text.to_string(),
        other => panic!("{other:?} is no text"),
    })
}

/// Rows in an order that is not that of their keys.
fn scattered(count: i64) -> impl Iterator<Item = i64> {
    (0..count).map(move |at| at * 7919 % count)
}

#[test]
fn a_table_is_many_times_as_large_as_memory() {
    let _alone = ALONE.lock();
    let simulation = Simulation::new(SimOptions::seeded(1));
    let end = simulation.run(|env| {
        let (memory_bytes, rows) = (512 << 10, 12_000);
        let dir = Path::new("db");
        let engine = open(&env, dir, memory_bytes);
        make(&engine, BTreeMap::new());
        let text = |k: i64| format!("{k} ").repeat(60);
        let keys: Vec<i64> = scattered(rows).collect();
        for keys in keys.chunks(40) {
            let mut txn = engine.begin().unwrap();
            let table = txn.table("t").unwrap();
            for &k in keys {
                txn.insert(&table, &table.codec.encode([ValueRef::Int(k), ValueRef::Text(&text(k))])).unwrap();
            }
            txn.commit().unwrap();
        }
        for again in 0..2 {
            let engine = if again == 0 { engine.clone() } else { open(&env, dir, memory_bytes) };
            let txn = engine.begin().unwrap();
            let table = txn.table("t").unwrap();
            let layers = table.table.layers();
            let bytes = |name: &str| layers.iter().find(|layer| layer.layer == name).unwrap().bytes;
            assert!(again > 0 || bytes("pages") > 6 * memory_bytes, "{layers:?}");
            for k in scattered(rows).step_by(7) {
                assert_eq!(value(&table, txn.read_ts(), k), Some(text(k)));
            }
            let found = scan_rows(&table, txn.view(&table).unwrap(), &[0], &[], 2, 100).unwrap();
            assert_eq!(found.len() as i64, rows);
            let from = Predicate::Compare { column: 0, op: CompareOp::GtEq, value: Value::Int(rows - 90) };
            let found = scan_rows(&table, txn.view(&table).unwrap(), &[0], &[from], 1, 100).unwrap();
            assert_eq!(found, (rows - 90..rows).map(|k| vec![Value::Int(k)]).collect::<Vec<_>>(), "in order");
            let kept = table.table.layers().iter().find(|layer| layer.layer == "pages in memory").unwrap().bytes;
            assert!(kept < 3 * memory_bytes, "{kept} bytes of pages are in memory: {:?}", table.table.layers());
            drop(txn);
            assert_eq!(engine.check().unwrap(), Vec::<String>::new());
            engine.close().unwrap();
        }
    });
    assert_eq!(end, RunEnd::Finished);
}

/// Bytes that are read again of 20 rows on pages that have not changed, while several times as many pages as the cache
/// has room for have.
fn read_again_beside_changes() -> u64 {
    let told = Arc::new(Mutex::new(0));
    let tells = told.clone();
    let end = Simulation::new(SimOptions::seeded(6)).run(move |env| {
        let rows = 12_000;
        let options = EngineOptions { cache_bytes: 1 << 20, workers: 0, ..EngineOptions::default() };
        let engine = Engine::open(env, Path::new("db"), vec![row_method()], options).unwrap();
        make(&engine, BTreeMap::from([("changed_bytes".to_owned(), (64 << 20).to_string())]));
        let row = |table: &TableRef, k: i64| {
            let text = format!("{k} ").repeat(60);
            table.codec.encode([ValueRef::Int(k), ValueRef::Text(&text)])
        };
        let mut txn = engine.begin().unwrap();
        let table = txn.table("t").unwrap();
        (0..rows).for_each(|k| txn.insert(&table, &row(&table, k)).unwrap());
        txn.commit().unwrap();
        engine.checkpoint().unwrap();
        let mut txn = engine.begin().unwrap();
        (0..rows / 2).for_each(|k| txn.update(&table, &key(&table, k), &row(&table, k)).unwrap());
        let ts = txn.commit().unwrap();
        let layers = table.table.layers();
        let changed = layers.iter().find(|layer| layer.layer == "changed pages").unwrap();
        assert!(changed.bytes > 1 << 20, "{layers:?}");
        let look = || (rows - 1000..rows).step_by(50).for_each(|k| drop(value(&table, ts, k).unwrap()));
        look();
        let before = thread_traffic();
        look();
        *tells.lock() = (thread_traffic() - before).read_bytes;
        engine.checkpoint().unwrap();
        let layers = table.table.layers();
        let kept = layers.iter().find(|layer| layer.layer == "pages in memory").unwrap();
        assert!(kept.bytes <= 3 << 18, "written pages go: {layers:?}");
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    });
    assert_eq!(end, RunEnd::Finished);
    *told.lock()
}

/// Bytes that are read again of 20 rows behind a scan of a table several times as large as the cache.
fn read_again_behind_a_scan() -> u64 {
    let told = Arc::new(Mutex::new(0));
    let tells = told.clone();
    let end = Simulation::new(SimOptions::seeded(7)).run(move |env| {
        let rows = 12_000;
        let options = EngineOptions { cache_bytes: 1 << 20, workers: 0, ..EngineOptions::default() };
        let engine = Engine::open(env, Path::new("db"), vec![row_method()], options).unwrap();
        make(&engine, BTreeMap::new());
        let mut txn = engine.begin().unwrap();
        let table = txn.table("t").unwrap();
        let text = "x".repeat(250);
        for k in 0..rows {
            txn.insert(&table, &table.codec.encode([ValueRef::Int(k), ValueRef::Text(&text)])).unwrap();
        }
        let ts = txn.commit().unwrap();
        engine.checkpoint().unwrap();
        let look = || (0..rows).step_by(600).for_each(|k| drop(value(&table, ts, k).unwrap()));
        look();
        let before = thread_traffic();
        look();
        assert_eq!((thread_traffic() - before).read_bytes, 0, "they are in memory before the scan");
        let txn = engine.begin().unwrap();
        let found = scan_rows(&table, txn.view(&table).unwrap(), &[0], &[], 1, 100).unwrap();
        assert_eq!(found.len() as i64, rows);
        let before = thread_traffic();
        look();
        *tells.lock() = (thread_traffic() - before).read_bytes;
        let layers = table.table.layers();
        let kept = layers.iter().find(|layer| layer.layer == "pages in memory").unwrap();
        assert!(kept.bytes <= 3 << 18, "what was scanned goes: {layers:?}");
        // A short range stays, though the cache is full.
        let bound = |op, key| Predicate::Compare { column: 0, op, value: Value::Int(key) };
        let range = [bound(CompareOp::GtEq, 5_000), bound(CompareOp::Lt, 5_050)];
        let again = || scan_rows(&table, txn.view(&table).unwrap(), &[0], &range, 1, 100).unwrap();
        assert_eq!(again().len(), 50);
        let before = thread_traffic();
        assert_eq!(again().len(), 50);
        assert_eq!((thread_traffic() - before).read_bytes, 0, "it is in memory");
    });
    assert_eq!(end, RunEnd::Finished);
    *told.lock()
}

#[test]
fn scans_leave_the_cache_as_they_found_it() {
    let _alone = ALONE.lock();
    assert_eq!(read_again_behind_a_scan(), 0);
    plant(Some(faults::SCANS_FILL_CACHE));
    let read = read_again_behind_a_scan();
    plant(None);
    assert!(read > 20 * 8192 / 2, "that they fill it is not noticed: {read}");
}

#[test]
fn changed_pages_leave_the_cache_to_those_that_are_read() {
    let _alone = ALONE.lock();
    assert_eq!(read_again_beside_changes(), 0);
    plant(Some(faults::CHANGED_PAGES_FILL_CACHE));
    let read = read_again_beside_changes();
    plant(None);
    assert!(read > 20 * 8192 / 2, "that they fill it is not noticed: {read}");
}

#[test]
fn wide_rows_go_on_on_further_pages_and_give_them_back() {
    let _alone = ALONE.lock();
    let simulation = Simulation::new(SimOptions::seeded(2));
    let end = simulation.run(|env| {
        let dir = Path::new("db");
        let mut engine = open(&env, dir, 8 << 20);
        make(&engine, BTreeMap::from([("page_bytes".to_owned(), "512".to_owned())]));
        let lengths = [3, 100_000, 700, 0, 40_000];
        for round in 0..lengths.len() {
            let mut txn = engine.begin().unwrap();
            let table = txn.table("t").unwrap();
            for k in 0..5 {
                let text = "x".repeat(lengths[(round + k) % lengths.len()]);
                let row = table.codec.encode([ValueRef::Int(k as i64), ValueRef::Text(&text)]);
                if round == 0 {
                    txn.insert(&table, &row).unwrap();
                } else {
                    txn.update(&table, &key(&table, k as i64), &row).unwrap();
                }
            }
            txn.commit().unwrap();
            engine.checkpoint().unwrap();
            engine.close().unwrap();
            engine = open(&env, dir, 8 << 20);
            let txn = engine.begin().unwrap();
            let table = txn.table("t").unwrap();
            for k in 0..5 {
                let found = value(&table, txn.read_ts(), k as i64).unwrap();
                assert_eq!(found.len(), lengths[(round + k) % lengths.len()]);
            }
            drop(txn);
            assert_eq!(engine.check().unwrap(), Vec::<String>::new());
        }
        let mut txn = engine.begin().unwrap();
        let table = txn.table("t").unwrap();
        (0..5).for_each(|k| assert!(txn.delete(&table, &key(&table, k)).unwrap()));
        txn.commit().unwrap();
        engine.checkpoint().unwrap();
        let layers = table.table.layers();
        let parts = |name: &str| layers.iter().find(|layer| layer.layer == name).unwrap().parts;
        assert_eq!(parts("pages"), 1, "a table without rows is its root: {layers:?}");
        assert!(parts("free pages") > 100, "{layers:?}");
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    });
    assert_eq!(end, RunEnd::Finished);
}

/// Rows of loads that are given up, behind rows that are there, until the engine has opened again. How many rows there
/// are in the end, and the pages in use and free after each round.
fn given_up_loads() -> (usize, Vec<[u64; 2]>) {
    let told = Arc::new(Mutex::new((0, Vec::new())));
    let tells = told.clone();
    let end = Simulation::new(SimOptions::seeded(5)).run(move |env| {
        let dir = Path::new("db");
        let mut engine = open(&env, dir, 8 << 20);
        make(&engine, tiny(512));
        let load = |engine: &Arc<Engine>, keys: &mut dyn Iterator<Item = i64>| {
            let mut txn = engine.begin().unwrap();
            let table = txn.table("t").unwrap();
            let text = "x".repeat(100);
            let rows: Vec<Vec<u8>> =
                keys.map(|k| table.codec.encode([ValueRef::Int(k), ValueRef::Text(&text)])).collect();
            let rows = rows.iter().map(Vec::as_slice);
            txn.build(&table, &[rows_to_batch(&table.def.schema, &table.codec, rows).unwrap()]).unwrap();
            txn
        };
        let rest = |engine: &Arc<Engine>| {
            engine.freeze().unwrap();
            engine.run_jobs().unwrap();
            let layers = engine.begin().unwrap().table("t").unwrap().table.layers();
            let parts = |name: &str| layers.iter().find(|layer| layer.layer == name).map_or(0, |layer| layer.parts);
            tells.lock().1.push([parts("pages"), parts("free pages")]);
        };
        load(&engine, &mut (0..400).map(|k| k * 10)).commit().unwrap();
        rest(&engine);
        for round in 1..6 {
            // Behind the rows that are there, so that leaves have nothing else.
            load(&engine, &mut (0..400).map(|k| 4_000 + round * 1_000 + k)).rollback();
            if round == 3 {
                // What the manifest says of it is enough.
                engine.checkpoint().unwrap();
                engine.close().unwrap();
                engine = open(&env, dir, 8 << 20);
            }
            rest(&engine);
        }
        // The only row of a load on its leaf is met by a commit that changes nothing.
        load(&engine, &mut std::iter::once(3_005)).rollback();
        let mut txn = engine.begin().unwrap();
        let table = txn.table("t").unwrap();
        txn.insert(&table, &table.codec.encode([ValueRef::Int(3_005), ValueRef::Text("x")])).unwrap();
        assert!(txn.delete(&table, &key(&table, 3_005)).unwrap());
        txn.commit().unwrap();
        rest(&engine);
        // A later load is there, so what is not known to be gone counts as there.
        for again in 7..10 {
            load(&engine, &mut (0..10).map(|k| k * 10 + again)).commit().unwrap();
            rest(&engine);
        }
        // The log goes on, and says nothing of them any more.
        let wide = "x".repeat(100_000);
        for at in 0..40 {
            let mut txn = engine.begin().unwrap();
            let table = txn.table("t").unwrap();
            txn.insert(&table, &table.codec.encode([ValueRef::Int(1_000_000 + at), ValueRef::Text(&wide)])).unwrap();
            txn.commit().unwrap();
            engine.checkpoint().unwrap();
        }
        engine.close().unwrap();
        let engine = open(&env, dir, 8 << 20);
        let txn = engine.begin().unwrap();
        let table = txn.table("t").unwrap();
        assert_eq!(value(&table, txn.read_ts(), 3_005), None);
        tells.lock().0 = scan_rows(&table, txn.view(&table).unwrap(), &[0], &[], 1, 100).unwrap().len();
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    });
    assert_eq!(end, RunEnd::Finished);
    let told = told.lock();
    (told.0, told.1.clone())
}

#[test]
fn loads_that_are_given_up_give_their_pages_back() {
    let _alone = ALONE.lock();
    let (rows, pages) = given_up_loads();
    assert_eq!(rows, 470);
    let (used, all): (Vec<u64>, Vec<u64>) = pages.iter().map(|[used, free]| (*used, used + free)).unzip();
    assert!(used[..6].iter().all(|now| *now <= used[0] * 3 / 2), "pages in use after each round: {used:?}");
    assert!(all[5] <= all[1] * 5 / 4, "pages of the file after each round: {all:?}");
    plant(Some(faults::SWEEP_ENDS_EARLY));
    let (rows, _) = given_up_loads();
    plant(None);
    assert!(rows > 470, "that leaves were not looked at is not noticed");
}

/// Whether a table that a commit could not be installed in refuses who would see it, and answers who would not.
fn refuses_what_was_given_up() -> bool {
    let answer = Arc::new(Mutex::new(None));
    let told = answer.clone();
    let end = Simulation::new(SimOptions::seeded(3)).run(move |env| {
        let engine = open(&env, Path::new("db"), 8 << 20);
        make(&engine, BTreeMap::new());
        let mut txn = engine.begin().unwrap();
        let table = txn.table("t").unwrap();
        txn.insert(&table, &table.codec.encode([ValueRef::Int(1), ValueRef::Text("a")])).unwrap();
        let ts = txn.commit().unwrap();
        assert!(table.table.give_up(ts.next(), &weft_format::Error::corrupt("planted")));
        let read = |at| table.table.read_row(&key(&table, 1), at);
        assert!(read(ts).unwrap().is_some(), "what was there before stays");
        *told.lock() = Some(read(ts.next()).is_err() && table.table.unavailable().is_some());
    });
    assert_eq!(end, RunEnd::Finished);
    let told = answer.lock();
    told.expect("it was told")
}

#[test]
fn a_table_that_was_given_up_refuses_who_would_see_it() {
    let _alone = ALONE.lock();
    assert!(refuses_what_was_given_up());
    plant(Some(faults::FORGET_GIVEN_UP_ROWS));
    let is_refused = refuses_what_was_given_up();
    plant(None);
    assert!(!is_refused, "that it was forgotten is not noticed");
}
