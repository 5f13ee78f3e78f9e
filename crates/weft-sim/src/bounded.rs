//! Promises about memory and log that end: what an index under construction is fed, what serializable transactions
//! remember, and what a log that is held makes others do.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weft_env::Env;
use weft_format::{Code, Value};
use weft_kernel::index::NewIndex;
use weft_kernel::{Engine, EngineOptions, IsolationLevel};

use crate::building::{TABLE, put, set_up};
use crate::round::open_engine;
use crate::scenario::Scenario;
use crate::work::key_of;

/// Where a backup goes.
const HELD: &str = "held";

/// Opens again with other sizes.
fn reopened(env: &Env, engine: &Arc<Engine>, options: EngineOptions) -> Arc<Engine> {
    engine.close().expect("closes");
    let scenario = Scenario { options: EngineOptions { workers: 0, ..options }, ..Scenario::seeded(1) };
    let engine = open_engine(env, &scenario).expect("opens again");
    set_up(&engine).expect("makes a table");
    engine
}

/// Writers feed it more than row memory holds.
pub(crate) fn an_index_under_construction_is_flushed(env: &Env, engine: &Arc<Engine>) {
    let options = EngineOptions { row_table_bytes: 4 << 10, row_memory_bytes: 64 << 10, ..EngineOptions::default() };
    let engine = reopened(env, engine, options);
    let mut txn = engine.begin().expect("begins");
    let t = txn.table(TABLE).expect("the table is there");
    txn.create_index(&t, NewIndex::new("under_construction", vec![1], false)).expect("makes the index");
    for n in 0..2000 {
        put(&engine, n % 50, 1 + n, false).expect("a writer goes on beside CREATE INDEX");
    }
    txn.commit().expect("commits");
    assert_eq!(engine.check().expect("checks"), Vec::<String>::new());
    engine.close().expect("closes");
}

/// A backup copies the log, which is longer than it should be: no table is converted for that.
pub(crate) fn a_held_log_freezes_nothing(env: &Env, engine: &Arc<Engine>) {
    let sizes = EngineOptions { log_segment_bytes: 4 << 10, checkpoint_log_bytes: 8 << 10, ..EngineOptions::default() };
    let engine = reopened(env, engine, sizes);
    for n in 0..1200 {
        put(&engine, n % 50, 1 + n, false).expect("writes");
        if n % 20 == 19 {
            // A block each: they fill many segments.
            engine.flush().expect("flushes");
        }
    }
    let before = engine.status().jobs_run;
    let ended = Arc::new(AtomicBool::new(false));
    let (copied, told) = (Arc::clone(&engine), Arc::clone(&ended));
    let body = move || {
        copied.backup(Path::new(HELD), None).expect("copies");
        told.store(true, Ordering::SeqCst);
    };
    let backup = env.spawn.spawn("backup", Box::new(body)).expect("starts");
    // From its first file on it keeps the log.
    while env.fs.list(Path::new(HELD)).map_or(true, |names| names.is_empty()) {
        env.clock.sleep(Duration::from_micros(100));
    }
    for n in 0..3 {
        put(&engine, n, 1 + n, false).expect("writes");
        engine.run_jobs().expect("runs jobs");
    }
    let jobs = engine.status().jobs_run - before;
    if !ended.load(Ordering::SeqCst) {
        assert_eq!(jobs, 0, "jobs ran for three rows while the log was held");
    }
    backup.join().unwrap_or_else(|text| panic!("{text}"));
    engine.close().expect("closes");
}

/// Commits whose rows are forgotten count by their tables.
pub(crate) fn forgotten_commits_are_conflicts(env: &Env, engine: &Arc<Engine>) {
    let options = EngineOptions { serializable_memory_bytes: 8 << 10, ..EngineOptions::default() };
    let engine = reopened(env, engine, options);
    put(&engine, 1, 1, true).expect("writes");
    let mut old = engine.begin_at(IsolationLevel::Serializable).expect("begins");
    let t = old.table(TABLE).expect("the table is there");
    old.get(&t, &key_of(&t, &[Value::Int(1)]), &[1], &mut Vec::new()).expect("reads");
    for n in 0..300 {
        put(&engine, 1 + n % 20, 2 + n, false).expect("writes");
    }
    let remembered = engine.status().serializable_memory_bytes;
    assert!(remembered <= 8 << 10, "{remembered} bytes are remembered");
    let row = t.codec.encode([weft_format::ValueRef::Int(77), weft_format::ValueRef::Int(1)]);
    old.insert(&t, &row).expect("stages");
    let code = old.commit().expect_err("what it read was changed").code();
    assert_eq!(code, Code::SerializationFailure);
    engine.close().expect("closes");
}
