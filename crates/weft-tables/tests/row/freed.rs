//! Pages that nodes lay on, and that nobody uses any more: when they are freed, and what the log still says of them.

use std::path::Path;
use std::sync::Arc;

use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync::Mutex;
use weft_format::{RecordNo, ValueRef};
use weft_kernel::step::on_step;
use weft_kernel::{Engine, EngineOptions, Follower, NewTable};
use weft_tables::row::steps;
use weft_tables::row_method;

use super::{ALONE, key, make, scattered, tiny, value};

const SEGMENT_BYTES: u64 = 1 << 20;

fn options() -> EngineOptions {
    EngineOptions { workers: 0, log_segment_bytes: SEGMENT_BYTES, ..EngineOptions::default() }
}

fn open(env: &Env) -> Arc<Engine> {
    Engine::open(env.clone(), Path::new("db"), vec![row_method()], options()).unwrap()
}

/// A table of tiny pages, of which none is written before a checkpoint.
fn made(env: &Env) -> Arc<Engine> {
    let engine = open(env);
    let mut options = tiny(512);
    options.insert("changed_bytes".to_owned(), (64 << 20).to_string());
    make(&engine, options);
    engine
}

fn put(engine: &Arc<Engine>, keys: impl Iterator<Item = i64>) {
    let mut txn = engine.begin().unwrap();
    let table = txn.table("t").unwrap();
    let text = "x".repeat(100);
    for k in keys {
        txn.insert(&table, &table.codec.encode([ValueRef::Int(k), ValueRef::Text(&text)])).unwrap();
    }
    txn.commit().unwrap();
}

fn take_out(engine: &Arc<Engine>, keys: impl Iterator<Item = i64>) {
    let mut txn = engine.begin().unwrap();
    let table = txn.table("t").unwrap();
    keys.for_each(|k| assert!(txn.delete(&table, &key(&table, k)).unwrap()));
    txn.commit().unwrap();
}

/// Pages in use.
fn pages(engine: &Arc<Engine>) -> u64 {
    let layers = engine.begin().unwrap().table("t").unwrap().table.layers();
    layers.iter().find(|layer| layer.layer == "pages").unwrap().parts
}

/// Commits to another table until a segment of the log begins.
fn begin_segment(env: &Env, engine: &Arc<Engine>) {
    let segments = || env.fs.list(Path::new("db")).unwrap().iter().filter(|name| name.starts_with("log-")).count();
    let before = segments();
    let text = "x".repeat(SEGMENT_BYTES as usize / 16);
    while segments() == before {
        let mut txn = engine.begin().unwrap();
        let table = txn.table("other").unwrap();
        let k = engine.published().0 as i64;
        txn.insert(&table, &table.codec.encode([ValueRef::Int(k), ValueRef::Text(&text)])).unwrap();
        txn.commit().unwrap();
    }
}

/// Leaves lie on pages, and are freed. Nodes above leaves come onto these pages, get children, and are freed before
/// their pages are written. The log goes of before these children came: it does not say that there were such nodes.
fn free_before_written(env: &Env) -> Arc<Engine> {
    let engine = made(env);
    let schema = engine.begin().unwrap().table("t").unwrap().def.schema.as_ref().clone();
    let mut txn = engine.begin().unwrap();
    txn.create_table(NewTable::new("other", schema, "row")).unwrap();
    txn.commit().unwrap();
    put(&engine, 0..120);
    engine.checkpoint().unwrap();
    assert!(pages(&engine) > 30, "{} pages", pages(&engine));
    take_out(&engine, 0..120);
    engine.checkpoint().unwrap();
    assert_eq!(pages(&engine), 1, "a table without rows is its root");
    put(&engine, scattered(600).take(300));
    begin_segment(env, &engine);
    put(&engine, scattered(600).skip(300));
    assert!(pages(&engine) > 200, "{} pages", pages(&engine));
    take_out(&engine, 1..600);
    engine.checkpoint().unwrap();
    assert_eq!(pages(&engine), 1, "one row is in the root");
    engine
}

/// What is there is one row.
fn assert_one_row(engine: &Arc<Engine>) {
    let txn = engine.begin().unwrap();
    let table = txn.table("t").unwrap();
    let found: Vec<i64> = (0..600).filter(|k| value(&table, txn.read_ts(), *k).is_some()).collect();
    assert_eq!(found, [0]);
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
}

#[test]
fn an_opening_leaves_pages_that_were_freed_as_they_are() {
    let _alone = ALONE.lock();
    let end = Simulation::new(SimOptions::seeded(1)).run(|env| {
        free_before_written(&env).close().unwrap();
        let engine = open(&env);
        assert_one_row(&engine);
        put(&engine, 1..600);
        engine.checkpoint().unwrap();
        take_out(&engine, 1..600);
        assert_one_row(&engine);
    });
    assert_eq!(end, RunEnd::Finished);
}

#[test]
fn who_joins_leaves_pages_that_were_freed_as_they_are() {
    let _alone = ALONE.lock();
    let end = Simulation::new(SimOptions::seeded(2)).run(|env| {
        let engine = free_before_written(&env);
        let announced = || engine.announced();
        let mut follower =
            Follower::join(env.clone(), Path::new("db"), vec![row_method()], options(), &announced).unwrap();
        assert_one_row(follower.engine());
        put(&engine, 1..600);
        take_out(&engine, 1..600);
        engine.flush().unwrap();
        follower.follow(engine.announced()).unwrap();
        assert_one_row(follower.engine());
    });
    assert_eq!(end, RunEnd::Finished);
}

/// A split is of three nodes, none of them the root. A job lets all three go: until the pages are written that took
/// over what they had, the log must keep the record of the split.
#[test]
fn the_log_keeps_what_freed_pages_lack_until_others_are_written() {
    let _alone = ALONE.lock();
    let end = Simulation::new(SimOptions::seeded(3)).run(|env| {
        let engine = made(&env);
        put(&engine, scattered(600));
        engine.checkpoint().unwrap();
        let table = engine.begin().unwrap().table("t").unwrap();
        let needs = move || table.table.in_place().unwrap().needs_from();
        assert_eq!(needs(), None);
        put(&engine, 1000..1200);
        take_out(&engine, (1..600).chain(1000..1200));
        engine.freeze().unwrap();
        let before = needs();
        assert!(before.is_some(), "nodes were split");
        let seen: Arc<Mutex<Vec<Option<RecordNo>>>> = Arc::default();
        let (sees, asks) = (seen.clone(), needs.clone());
        on_step(Some(Box::new(move |step| {
            if step == steps::MERGE_LOGGED {
                sees.lock().push(asks());
            }
        })));
        engine.run_jobs().unwrap();
        on_step(None);
        assert!(seen.lock().len() > 200, "nodes were joined");
        assert!(seen.lock().iter().all(|seen| *seen == before), "needed before: {before:?}, then: {seen:?}");
        assert_eq!(needs(), None);
    });
    assert_eq!(end, RunEnd::Finished);
}

/// Each leaf is empty when the one behind it is still full, and has no row any more when that one has few.
#[test]
fn leaves_that_are_emptied_one_after_the_other_are_freed() {
    let _alone = ALONE.lock();
    let end = Simulation::new(SimOptions::seeded(4)).run(|env| {
        let engine = made(&env);
        put(&engine, 0..200);
        engine.checkpoint().unwrap();
        assert!(pages(&engine) > 50, "{} pages", pages(&engine));
        for k in 0..190 {
            take_out(&engine, std::iter::once(k));
            engine.checkpoint().unwrap();
        }
        assert!(pages(&engine) < 10, "{} pages of 10 rows", pages(&engine));
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    });
    assert_eq!(end, RunEnd::Finished);
}
