//! CREATE INDEX beside writers, with sizes so small that everything happens often, and crashes in between.
//!
//! ```text
//!   writer    k 3 ← 17 · k 8 ← 18 · ...           each key has one writer, so its last value is known
//!   builder   begin ─ CREATE INDEX ─ until some hundred commits are published ─ commit or roll back ─ drop it
//!   crash     anywhere; then: check() clean, values as the writers know them
//!   the end   row memory and log within their limits, and no file that belongs to nothing
//! ```
//!
//! A writer remembers what it was told; after a crash it looks what became of its last commits.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::{Column, DataType, Result, Schema, Value, ValueRef};
use weft_kernel::index::NewIndex;
use weft_kernel::{Durability, Engine, EngineOptions, NewTable, TableRef};

use crate::random::Random;
use crate::round::open_engine;
use crate::scenario::Scenario;
use crate::tables::DIR;
use crate::work::key_of;

/// Of a key and a value.
pub(crate) const TABLE: &str = "busy";
const INDEX: &str = "busy_value";
const WRITERS: u64 = 2;
/// Keys of one writer.
const KEYS: u64 = 40;
/// Commits of one writer in a run.
const COMMITS: u64 = 250;
pub(crate) const ROW_MEMORY_BYTES: u64 = 96 << 10;
const LOG_BYTES: u64 = 16 << 10;
const SEGMENT_BYTES: u64 = 8 << 10;

/// How often it is looked whether the end has come to rest.
const LOOKS: usize = 20;

/// By key: the values that it may have after a crash, the last acknowledged one first.
pub(crate) type Known = Arc<Mutex<BTreeMap<i64, Vec<i64>>>>;

/// Runs a seed until the machine crashed so many times and a whole run ended well; what is violated otherwise.
pub fn build_beside_writers(seed: u64, crashes: u64) -> std::result::Result<(), String> {
    let simulation = Simulation::new(SimOptions::seeded(seed));
    let known = Known::default();
    let mut random = Random::new(seed, 71);
    let (mut crashed, mut operations) = (0, 400);
    for life in 0.. {
        let last = crashed >= crashes;
        let before = simulation.operation_count();
        if !last && life > 0 {
            simulation.crash_after(1 + random.below(operations + 50));
        }
        let inner = Arc::clone(&known);
        let end = simulation.run(move |env| live(&env, &inner, seed * 1000 + life));
        simulation.cancel_crash();
        match end {
            RunEnd::Panicked { thread, message } => {
                return Err(format!("seed {seed}, life {life}, thread {thread}: {message}"));
            }
            RunEnd::Crashed { .. } => crashed += 1,
            RunEnd::Finished if last => return Ok(()),
            RunEnd::Finished => operations = simulation.operation_count() - before,
        }
    }
    Ok(())
}

pub(crate) fn options(random: &mut Random) -> EngineOptions {
    EngineOptions {
        row_table_bytes: random.pick(&[1 << 10, 4 << 10]),
        row_memory_bytes: ROW_MEMORY_BYTES,
        cache_bytes: 64 << 10,
        log_segment_bytes: SEGMENT_BYTES,
        checkpoint_log_bytes: LOG_BYTES,
        manifest_bytes: 8 << 10,
        workers: 1 + random.below(2) as usize,
        ..EngineOptions::default()
    }
}

/// One run of the process.
fn live(env: &Env, known: &Known, seed: u64) {
    let mut random = Random::new(seed, 72);
    let scenario = Scenario { options: options(&mut random), ..Scenario::seeded(seed) };
    let engine = open_engine(env, &scenario).unwrap_or_else(|error| panic!("violation: open failed: {error}"));
    assert_clean(&engine);
    set_up(&engine).unwrap_or_else(|error| panic!("violation: setting up failed: {error}"));
    verify(&engine, known);
    work(env, &engine, known, &mut random);
    assert_clean(&engine);
    assert_at_rest(env, &engine);
    verify(&engine, known);
}

/// Writers, and who makes the index beside them, until they are through.
pub(crate) fn work(env: &Env, engine: &Arc<Engine>, known: &Known, random: &mut Random) {
    let mut threads = Vec::new();
    for number in 0..WRITERS {
        let (engine, known, random) = (Arc::clone(engine), Arc::clone(known), Random::new(random.next_u64(), 1));
        let body = move || write(&engine, &known, number, random);
        threads.push(env.spawn.spawn(&format!("writer {number}"), Box::new(body)));
    }
    let (inner, clock, seeded) = (Arc::clone(engine), Arc::clone(&env.clock), Random::new(random.next_u64(), 2));
    let body = move || build(&inner, &clock, seeded);
    threads.push(env.spawn.spawn("builder", Box::new(body)));
    for thread in threads {
        thread.expect("threads start").join().unwrap_or_else(|text| panic!("{text}"));
    }
}

pub(crate) fn assert_clean(engine: &Arc<Engine>) {
    let findings = engine.check().unwrap_or_else(|error| panic!("violation: check failed: {error}"));
    assert!(findings.is_empty(), "violation: check found: {findings:?}");
}

/// Makes the table when it is not there.
pub(crate) fn set_up(engine: &Arc<Engine>) -> Result<()> {
    let mut txn = engine.begin()?;
    if txn.table(TABLE).is_ok() {
        return Ok(());
    }
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: true };
    txn.create_table(NewTable::new(TABLE, Schema::new(vec![column("k"), column("v")], vec![0]), "column"))?;
    txn.commit().map(|_| ())
}

fn row(t: &TableRef, k: i64, v: i64) -> Vec<u8> {
    t.codec.encode([ValueRef::Int(k), ValueRef::Int(v)])
}

/// Each key has one of the values that it may have, which it has from here on.
pub(crate) fn verify(engine: &Arc<Engine>, known: &Known) {
    let txn = engine.begin().expect("begins");
    let t = txn.table(TABLE).expect("the table is there");
    let mut values = Vec::new();
    // Not under the lock: reads may meet the crash.
    let mut seen = known.lock().expect("nobody panicked").clone();
    for (k, may) in &mut seen {
        let found = txn.get(&t, &key_of(&t, &[Value::Int(*k)]), &[1], &mut values).expect("reads");
        let value = found.then(|| values[0].clone());
        let is_known = may.iter().any(|&v| value == (v != 0).then_some(Value::Int(v)));
        assert!(is_known, "violation: key {k} has {value:?} and may have {may:?}");
        *may = vec![if let Some(Value::Int(v)) = value { v } else { 0 }];
    }
    *known.lock().expect("nobody panicked") = seen;
}

/// Gives its keys one value after the other; every third commit does not wait for the disk.
fn write(engine: &Arc<Engine>, known: &Known, number: u64, mut random: Random) {
    for n in 0..COMMITS {
        let k = (number * KEYS + random.below(KEYS)) as i64;
        let v = 1 + random.below(1 << 40) as i64;
        let waits = n % 3 != 0;
        known.lock().expect("nobody panicked").entry(k).or_insert_with(|| vec![0]).push(v);
        put(engine, k, v, waits).unwrap_or_else(|error| panic!("violation: a writer failed: {error}"));
        if waits {
            // Asynchronous commits before it are on disk, too, but of its own keys this is the newest.
            known.lock().expect("nobody panicked").insert(k, vec![v]);
        }
    }
    engine.flush().unwrap_or_else(|error| panic!("violation: flush failed: {error}"));
}

/// Gives a key a value; `waits`: until it is on disk.
pub(crate) fn put(engine: &Arc<Engine>, k: i64, v: i64, waits: bool) -> Result<()> {
    let mut txn = engine.begin()?;
    txn.set_durability(if waits { Durability::Full } else { Durability::Async });
    let t = txn.table(TABLE)?;
    let key = key_of(&t, &[Value::Int(k)]);
    match txn.get_for_upsert(&t, &key)? {
        Some(_) => txn.update(&t, &key, &row(&t, k, v))?,
        None => txn.insert(&t, &row(&t, k, v))?,
    }
    txn.commit().map(|_| ())
}

/// Makes the index and drops it, again and again, for as long as some hundred commits take.
fn build(engine: &Arc<Engine>, clock: &Arc<dyn weft_env::Clock>, mut random: Random) {
    for _ in 0..3 {
        let made = make(engine, clock, &mut random);
        made.unwrap_or_else(|error| panic!("violation: making the index failed: {error}"));
    }
}

fn make(engine: &Arc<Engine>, clock: &Arc<dyn weft_env::Clock>, random: &mut Random) -> Result<()> {
    let mut txn = engine.begin()?;
    if txn.index(INDEX).is_some() {
        txn.drop_index(INDEX)?;
        txn.commit()?;
        txn = engine.begin()?;
    }
    let t = txn.table(TABLE)?;
    let mark = txn.mark();
    txn.create_index(&t, NewIndex::new(INDEX, vec![1], false))?;
    let until = engine.published().0 + random.below(200);
    for _ in 0..400 {
        if engine.published().0 >= until {
            break;
        }
        clock.sleep(Duration::from_micros(200));
    }
    match random.below(5) {
        0 => {
            txn.rollback_to(mark);
            txn.rollback();
        }
        1 => txn.rollback(),
        _ => drop(txn.commit()?),
    }
    Ok(())
}

/// Nothing is kept that nobody needs, once jobs have ended: neither memory nor log nor files.
pub(crate) fn assert_at_rest(env: &Env, engine: &Arc<Engine>) {
    let mut kept = String::new();
    for _ in 0..LOOKS {
        engine.checkpoint().unwrap_or_else(|error| panic!("violation: checkpoint failed: {error}"));
        kept = kept_in_vain(env, engine);
        if kept.is_empty() {
            return;
        }
        env.clock.sleep(Duration::from_millis(20));
    }
    panic!("violation: {kept}");
}

/// What is kept and should not be; empty when that is nothing.
fn kept_in_vain(env: &Env, engine: &Arc<Engine>) -> String {
    let status = engine.status();
    if status.row_memory_bytes > 0 || status.log_bytes > LOG_BYTES {
        return format!("{} bytes of row memory and {} of log are kept", status.row_memory_bytes, status.log_bytes);
    }
    let mut ids: Vec<u32> = engine.tables().iter().map(|table| table.id().0).collect();
    ids.extend(engine.indexes().iter().map(|(_, index)| index.id().0));
    let names = env.fs.list(Path::new(DIR)).expect("lists");
    let is_owned = |name: &&String| {
        let owner = name[1..].split_once('-').and_then(|(id, _)| id.parse().ok());
        owner.is_some_and(|id| ids.contains(&id))
    };
    let orphan = names.iter().filter(|name| name.ends_with(".data")).find(|name| !is_owned(name));
    orphan.map(|name| format!("{name} belongs to none of {ids:?}")).unwrap_or_default()
}
