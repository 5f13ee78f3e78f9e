//! Small promises about waiting, snapshots and memory that no history shows; each panics when it is broken.
//!
//! Each runs in a simulation of its own; [`promises`] says which one is broken.

use std::sync::Arc;
use std::time::Duration;

use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::predicate::{CompareOp, Predicate};
use weft_format::{Code, Result, Value, ValueRef};
use weft_kernel::index::NewIndex;
use weft_kernel::table::ScanRequest;
use weft_kernel::{Engine, EngineOptions, IsolationLevel, Transaction};

use crate::random::Random;
use crate::round::open_engine;
use crate::scan::scan;
use crate::scenario::Scenario;
use crate::tables::{EVENTS, event_row, new_table};
use crate::work::{is_expected, key_of};

type Promise = fn(&Env, &Arc<Engine>);

const PROMISES: [(&str, Promise); 6] = [
    ("who waits for a lock gets it when it becomes free", a_wait_ends),
    ("of transactions that wait for each other one is told", a_deadlock_is_found),
    ("a READ COMMITTED statement sees what was committed before it", statements_have_snapshots),
    ("a row that left a range is a conflict for who has read the range", ranges_are_validated_as_they_were),
    ("no two rows have one value of a unique index", unique_values_stay_unique),
    ("staged rows are charged to the memory budget", staged_rows_are_charged),
];

/// Tries every promise; the error names the one that is broken.
pub fn promises() -> std::result::Result<(), String> {
    for (name, promise) in PROMISES {
        let simulation = Simulation::new(SimOptions::seeded(1));
        let end = simulation.run(move |env| {
            let mut scenario = Scenario::seeded(1);
            let lock_timeout = Duration::from_secs(3);
            scenario.options = EngineOptions { lock_timeout, workers: 0, ..EngineOptions::default() };
            let engine = open_engine(&env, &scenario).expect("a new database opens");
            let mut txn = engine.begin().expect("begins");
            txn.create_table(new_table(EVENTS, &mut Random::new(1, 1))).expect("makes a table");
            txn.commit().expect("commits");
            promise(&env, &engine);
        });
        if let RunEnd::Panicked { message, .. } = end {
            return Err(format!("{name}: {message}"));
        }
    }
    Ok(())
}

/// Writes row `id` of the table of events, whose key is the hidden row id.
fn put(txn: &mut Transaction, id: i64) -> Result<()> {
    let t = txn.table(EVENTS)?;
    let key = key_of(&t, &[Value::Int(id)]);
    let row = |writer| {
        let values = event_row(id, writer, Value::Text("what".into()), &mut Random::new(1, 2));
        t.codec.encode(values.iter().map(Value::as_ref).collect::<Vec<ValueRef<'_>>>())
    };
    match txn.get_for_upsert(&t, &key)? {
        None => txn.insert(&t, &row(1)),
        Some(_) => txn.update(&t, &key, &row(2)),
    }
}

fn committed(engine: &Arc<Engine>, ids: &[i64]) {
    let mut txn = engine.begin().expect("begins");
    ids.iter().for_each(|&id| put(&mut txn, id).expect("writes"));
    txn.commit().expect("commits");
}

fn a_wait_ends(env: &Env, engine: &Arc<Engine>) {
    committed(engine, &[1]);
    let mut holder = engine.begin().expect("begins");
    put(&mut holder, 1).expect("locks the row");
    let waiting = Arc::clone(engine);
    let clock = Arc::clone(&env.clock);
    let waiter = env.spawn.spawn(
        "waiter",
        Box::new(move || {
            let start = clock.monotonic_nanos();
            let mut txn = waiting.begin().expect("begins");
            put(&mut txn, 1).expect("gets the row when it is free");
            let waited = Duration::from_nanos(clock.monotonic_nanos() - start);
            assert!(waited < Duration::from_secs(2), "woken after {waited:?}");
        }),
    );
    env.clock.sleep(Duration::from_millis(5));
    holder.rollback();
    waiter.expect("starts").join().unwrap_or_else(|text| panic!("{text}"));
}

fn a_deadlock_is_found(env: &Env, engine: &Arc<Engine>) {
    committed(engine, &[1, 2]);
    let thread = |first: i64, second: i64| {
        let (engine, clock) = (Arc::clone(engine), Arc::clone(&env.clock));
        let work = move || {
            let mut txn = engine.begin().expect("begins");
            put(&mut txn, first).expect("locks its first row");
            clock.sleep(Duration::from_millis(5));
            if let Err(error) = put(&mut txn, second) {
                let code = error.code();
                // The one that goes on finds the row as it was: the other rolled back.
                assert_eq!(code, Code::DeadlockDetected, "{error}");
            }
        };
        env.spawn.spawn("deadlock", Box::new(work)).expect("starts")
    };
    for thread in [thread(1, 2), thread(2, 1)] {
        thread.join().unwrap_or_else(|text| panic!("{text}"));
    }
}

fn statements_have_snapshots(_: &Env, engine: &Arc<Engine>) {
    committed(engine, &[1]);
    let mut reader = engine.begin_at(IsolationLevel::ReadCommitted).expect("begins");
    committed(engine, &[2]);
    let t = reader.table(EVENTS).expect("the table is there");
    let seen = |txn: &Transaction| txn.get_row(&t, &key_of(&t, &[Value::Int(2)])).expect("reads").is_some();
    assert!(!seen(&reader), "a commit after the snapshot is seen");
    reader.refresh_snapshot().expect("takes a new snapshot");
    assert!(seen(&reader), "the next statement does not see a commit before it");
}

fn ranges_are_validated_as_they_were(_: &Env, engine: &Arc<Engine>) {
    committed(engine, &[1, 2]);
    let mut reader = engine.begin_at(IsolationLevel::Serializable).expect("begins");
    let t = reader.table(EVENTS).expect("the table is there");
    let first_writers = vec![Predicate::Compare { column: 1, op: CompareOp::Eq, value: Value::Int(1) }];
    let view = reader.view(&t);
    let request =
        ScanRequest { view, projection: vec![1], predicates: first_writers, partition_count: 1, batch_rows: 10 };
    drop(t.scan(request).expect("scans"));
    committed(engine, &[1]);
    put(&mut reader, 3).expect("writes");
    let code = reader.commit().expect_err("what it read has changed").code();
    assert_eq!(code, Code::SerializationFailure);
}

/// Clients give rows values that others may have, move them and delete rows, at once.
fn unique_values_stay_unique(env: &Env, engine: &Arc<Engine>) {
    let mut txn = engine.begin().expect("begins");
    let t = txn.table(EVENTS).expect("the table is there");
    let new = NewIndex::new("one_writer", vec![1], true);
    txn.create_index(&t, new).expect("makes the index");
    txn.commit().expect("commits");
    let threads: Vec<_> = (0..4)
        .map(|client| {
            let (engine, clock) = (Arc::clone(engine), Arc::clone(&env.clock));
            let work = move || {
                let mut random = Random::new(client, 3);
                for _ in 0..60 {
                    let mut txn = engine.begin().expect("begins");
                    let given = give_value(&mut txn, &mut random);
                    clock.sleep(Duration::from_micros(random.below(300)));
                    match given {
                        Ok(()) => drop(txn.commit().expect("commits")),
                        Err(error) => assert!(is_expected(&error), "{error}"),
                    }
                    // A later transaction may take a second row with one value away again.
                    count_of_writers(&engine);
                }
            };
            env.spawn.spawn("client", Box::new(work)).expect("starts")
        })
        .collect();
    for thread in threads {
        thread.join().unwrap_or_else(|text| panic!("{text}"));
    }
    let count = count_of_writers(engine);
    assert!(count > 3, "{count} rows are left");
    let findings = engine.check().expect("reads everything");
    assert!(findings.is_empty(), "{findings:?}");
}

/// How many rows there are, after a test that no two have the same writer.
fn count_of_writers(engine: &Arc<Engine>) -> usize {
    let txn = engine.begin().expect("begins");
    let t = txn.table(EVENTS).expect("the table is there");
    let rows = scan(&txn, &t, &mut Random::new(1, 4)).expect("scans");
    let mut values: Vec<String> = rows.values().map(|row| format!("{:?}", t.codec.get(row, 1))).collect();
    let count = values.len();
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), count, "rows with different values, and rows");
    count
}

/// Writes a row, or two, or deletes one: of 12 rows, with 10 values.
fn give_value(txn: &mut Transaction, random: &mut Random) -> Result<()> {
    let t = txn.table(EVENTS)?;
    for _ in 0..=random.below(2) {
        let id = random.below(12) as i64;
        let key = key_of(&t, &[Value::Int(id)]);
        let values = event_row(id, random.below(10), Value::Null, random);
        let row = t.codec.encode(values.iter().map(Value::as_ref).collect::<Vec<ValueRef<'_>>>());
        match txn.get_for_upsert(&t, &key)? {
            Some(_) if random.chance(30) => drop(txn.delete(&t, &key)?),
            Some(_) => txn.update(&t, &key, &row)?,
            None => txn.insert(&t, &row)?,
        }
    }
    Ok(())
}

fn staged_rows_are_charged(_: &Env, engine: &Arc<Engine>) {
    let mut txn = engine.begin().expect("begins");
    let before = engine.status().row_memory_bytes;
    for id in 0..2000 {
        put(&mut txn, id).expect("writes");
    }
    let charged = engine.status().row_memory_bytes - before;
    assert!(charged > 100_000, "2000 staged rows are charged as {charged} bytes");
    txn.rollback();
    assert_eq!(engine.status().row_memory_bytes, before, "what was charged is given back");
}
