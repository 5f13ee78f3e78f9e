//! Small promises about waiting, snapshots and memory that no history shows; each panics when it is broken.
//!
//! Each runs in a simulation of its own; [`promises`] says which one is broken.

use std::sync::Arc;
use std::time::Duration;

use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_expr::{ArithmeticOp, Expr, Node};
use weft_format::predicate::{CompareOp, Predicate};
use weft_format::{Code, DataType, Result, Value, ValueRef};
use weft_kernel::index::{IndexPart, NewIndex};
use weft_kernel::sched::{OperatorKind, PlanForecast, Stage};
use weft_kernel::table::ScanRequest;
use weft_kernel::{ColumnSet, Deferrable, Engine, EngineOptions, IsolationLevel, LockMode, TableRef, Transaction};

use crate::arrays::batch_of;
use crate::bounded::{
    a_held_log_freezes_nothing, an_index_under_construction_is_flushed, forgotten_commits_are_conflicts,
};
use crate::placed::placed;
use crate::random::Random;
use crate::round::open_engine;
use crate::scan::scan;
use crate::scenario::Scenario;
use crate::tables::{EVENTS, LINEAGE_PERCENT, SCRATCH, event_row, new_table, referring};
use crate::work::{is_expected, key_of};

type Promise = fn(&Env, &Arc<Engine>);

const PROMISES: [(&str, Promise); 15] = [
    ("who waits for a lock gets it when it becomes free", a_wait_ends),
    ("of transactions that wait for each other one is told", a_deadlock_is_found),
    ("nor is a deadlock overlooked that goes through the queue of a lock", a_deadlock_through_a_queue_is_found),
    ("who waits for a row leaves its query slot to others", slots_come_free),
    ("a READ COMMITTED statement sees what was committed before it", statements_have_snapshots),
    ("a row that left a range is a conflict for who has read the range", ranges_are_validated_as_they_were),
    ("no two rows have one value of a unique index", unique_values_stay_unique),
    ("every row has a value of an index's expression", values_stay_computable),
    ("no row refers to one that is gone", referred_rows_stay),
    ("a deferred constraint that becomes immediate is tested", deferred_until_told),
    ("staged rows are charged to the memory budget", staged_rows_are_charged),
    ("jobs start where queries leave cores idle", jobs_start_on_idle_cores),
    ("an index under construction is flushed", an_index_under_construction_is_flushed),
    ("a log that is held makes no table freeze", a_held_log_freezes_nothing),
    ("commits that are forgotten are conflicts", forgotten_commits_are_conflicts),
];

/// The schedules that each promise is tried in.
const SEEDS: u64 = 12;

/// Tries every promise; the error names the one that is broken.
pub fn promises() -> std::result::Result<(), String> {
    for (seed, (name, promise)) in (1..=SEEDS).flat_map(|seed| PROMISES.map(|one| (seed, one))) {
        let simulation = Simulation::new(SimOptions::seeded(seed));
        let end = simulation.run(move |env| {
            let mut scenario = Scenario::seeded(1);
            let lock_timeout = Duration::from_secs(3);
            scenario.options = EngineOptions { lock_timeout, workers: 0, query_slots: 4, ..EngineOptions::default() };
            let engine = open_engine(&env, &scenario).expect("a new database opens");
            let mut txn = engine.begin().expect("begins");
            txn.create_table(new_table(EVENTS, LINEAGE_PERCENT, 0, &mut Random::new(1, 1))).expect("makes a table");
            txn.commit().expect("commits");
            promise(&env, &engine);
        });
        if let RunEnd::Panicked { message, .. } = end {
            return Err(format!("{name}: {message} (seed {seed})"));
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

/// Locks a row in a mode, and nothing else.
fn lock(txn: &mut Transaction, id: i64, mode: LockMode) -> Result<()> {
    let t = txn.table(EVENTS)?;
    txn.lock_row(&t, &key_of(&t, &[Value::Int(id)]), mode, txn.lock_wait()).map(|_| ())
}

/// 1 shares row 1, 2 wants it alone, 3 wants to share it and comes behind 2; then 1 wants what 3 has.
fn a_deadlock_through_a_queue_is_found(env: &Env, engine: &Arc<Engine>) {
    committed(engine, &[1, 2]);
    let thread = |after_ms: u64, modes: [(i64, LockMode); 2]| {
        let (engine, clock) = (Arc::clone(engine), Arc::clone(&env.clock));
        let work = move || {
            let mut txn = engine.begin().expect("begins");
            lock(&mut txn, modes[0].0, modes[0].1).expect("nobody is in the way");
            clock.sleep(Duration::from_millis(after_ms));
            if let Err(error) = lock(&mut txn, modes[1].0, modes[1].1) {
                assert_eq!(error.code(), Code::DeadlockDetected, "{error}");
            }
        };
        env.spawn.spawn("queue", Box::new(work)).expect("starts")
    };
    let (shared, alone) = (LockMode::SHARED, LockMode::EXCLUSIVE);
    let threads = [
        thread(60, [(1, shared), (2, alone)]),
        thread(20, [(3, alone), (1, alone)]),
        thread(40, [(2, alone), (1, shared)]),
    ];
    for thread in threads {
        thread.join().unwrap_or_else(|text| panic!("{text}"));
    }
}

/// All query slots are with transactions that wait for a row; its holder's next query needs one.
fn slots_come_free(env: &Env, engine: &Arc<Engine>) {
    committed(engine, &[1]);
    let mut holder = engine.begin().expect("begins");
    lock(&mut holder, 1, LockMode::EXCLUSIVE).expect("locks the row");
    let waiter = || {
        let engine = Arc::clone(engine);
        let work = move || {
            let mut txn = engine.begin().expect("begins");
            txn.admit_query().expect("gets a slot");
            lock(&mut txn, 1, LockMode::EXCLUSIVE).expect("gets the row when it is free");
            txn.end_query();
        };
        env.spawn.spawn("waiter", Box::new(work)).expect("starts")
    };
    let waiters: Vec<_> = (0..engine.options().query_slots).map(|_| waiter()).collect();
    env.clock.sleep(Duration::from_millis(200));
    let begun = env.clock.monotonic_nanos();
    holder.admit_query().expect("gets a slot");
    let waited = Duration::from_nanos(env.clock.monotonic_nanos() - begun);
    assert!(waited < Duration::from_secs(1), "its query began after {waited:?}");
    holder.rollback();
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap_or_else(|text| panic!("{text}")));
    assert_eq!(engine.status().queries.taken, 0);
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
    let view = reader.view(&t).expect("it is kept");
    let request =
        ScanRequest { view, projection: vec![1], predicates: first_writers, partition_count: 1, batch_rows: 10 };
    drop(t.scan(request).expect("scans"));
    committed(engine, &[1]);
    put(&mut reader, 3).expect("writes");
    let code = reader.commit().expect_err("what it read has changed").code();
    assert_eq!(code, Code::SerializationFailure);
}

/// Clients give rows values that others may have, move them and delete rows, at once; others change what is beside the
/// values, of one row or of all, and add rows in bulk.
fn unique_values_stay_unique(env: &Env, engine: &Arc<Engine>) {
    let mut txn = engine.begin().expect("begins");
    let t = txn.table(EVENTS).expect("the table is there");
    let new = NewIndex::new("one_writer", vec![1], true);
    txn.create_index(&t, new).expect("makes the index");
    txn.commit().expect("commits");
    at_once(env, engine, give_value);
    let count = count_of_writers(&engine.begin().expect("begins")).expect("reads");
    assert!(count > 1, "{count} rows are left");
    let findings = engine.check().expect("reads everything");
    assert!(findings.is_empty(), "{findings:?}");
}

/// Clients set either of two columns, at once: a row in which both are the same cannot be indexed.
fn values_stay_computable(env: &Env, engine: &Arc<Engine>) {
    committed(engine, &[0, 1, 2]);
    let mut txn = engine.begin().expect("begins");
    let t = txn.table(EVENTS).expect("the table is there");
    let operation =
        |op, left, right| Expr::new(Node::Arithmetic(op, Box::new(left), Box::new(right)), DataType::BigInt);
    let column = |ordinal| Expr::column(ordinal, DataType::BigInt);
    let difference = operation(ArithmeticOp::Subtract, column(1), column(2));
    let expr = operation(ArithmeticOp::Divide, Expr::literal(Value::Int(60), DataType::BigInt), difference);
    let new = NewIndex::on("ratio", vec![IndexPart::Expression(expr.into())], false);
    txn.create_index(&t, new).expect("makes the index");
    txn.commit().expect("commits");
    at_once(env, engine, set_column);
    let findings = engine.check().expect("reads everything");
    assert!(findings.is_empty(), "{findings:?}");
}

/// Sets the writer or the amount of one of three rows, as UPDATE does.
fn set_column(txn: &mut Transaction, random: &mut Random) -> Result<()> {
    let t = txn.table(EVENTS)?;
    let key = key_of(&t, &[Value::Int(random.below(3) as i64)]);
    let column = 1 + random.below(2) as usize;
    let writes = ColumnSet::from_iter([column]);
    let mode = LockMode::columns(t.columns_tested(writes), writes);
    let Some(old) = txn.lock_row(&t, &key, mode, txn.lock_wait())? else { return Ok(()) };
    let mut values = t.codec.decode(&old);
    assert_ne!(values[1], values[2], "a row that the index cannot have was committed");
    values[column] = Value::Int(random.below(4) as i64);
    let row = t.codec.encode(values.iter().map(Value::as_ref).collect::<Vec<ValueRef<'_>>>());
    txn.update_columns(&t, &key, &row, mode)
}

/// How many rows a snapshot shows, after a test that no two have the same writer.
fn count_of_writers(txn: &Transaction) -> Result<usize> {
    let t = txn.table(EVENTS)?;
    let rows = scan(txn, &t, &mut Random::new(1, 4))?;
    let mut values: Vec<String> = rows.values().map(|row| format!("{:?}", t.codec.get(row, 1))).collect();
    let count = values.len();
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), count, "rows with different values, and rows");
    Ok(count)
}

/// Four clients run sixty transactions of one statement each.
fn at_once(env: &Env, engine: &Arc<Engine>, statement: fn(&mut Transaction, &mut Random) -> Result<()>) {
    let threads: Vec<_> = (0..4)
        .map(|client| {
            let (engine, clock) = (Arc::clone(engine), Arc::clone(&env.clock));
            let work = move || {
                let mut random = Random::new(client, 3);
                for _ in 0..60 {
                    let mut txn = engine.begin().expect("begins");
                    let done = statement(&mut txn, &mut random);
                    if random.chance(50) {
                        clock.sleep(Duration::from_micros(random.below(300)));
                    }
                    match done {
                        Ok(()) => drop(txn.commit().expect("commits")),
                        Err(error) if matches!(error.code(), Code::ForeignKeyViolation | Code::DivisionByZero) => {}
                        Err(error) => assert!(is_expected(&error), "{error}"),
                    }
                }
            };
            env.spawn.spawn("client", Box::new(work)).expect("starts")
        })
        .collect();
    for thread in threads {
        thread.join().unwrap_or_else(|text| panic!("{text}"));
    }
}

/// Clients write and delete rows that refer, and rows that are referred to, at once.
fn referred_rows_stay(env: &Env, engine: &Arc<Engine>) {
    let mut txn = engine.begin().expect("begins");
    let parents =
        txn.create_table(new_table(SCRATCH[0], LINEAGE_PERCENT, 0, &mut Random::new(1, 1))).expect("makes a table");
    let mut new = referring(new_table(SCRATCH[1], LINEAGE_PERCENT, 0, &mut Random::new(1, 2)), &parents);
    new.foreign_keys[0].deferrable = Deferrable::No;
    txn.create_table(new).expect("makes a table");
    txn.commit().expect("commits");
    at_once(env, engine, change_family);
    no_orphans(&engine.begin().expect("begins")).expect("reads");
}

fn deferred_until_told(_: &Env, engine: &Arc<Engine>) {
    let mut txn = engine.begin().expect("begins");
    let parents =
        txn.create_table(new_table(SCRATCH[0], LINEAGE_PERCENT, 0, &mut Random::new(1, 1))).expect("makes a table");
    let children = referring(new_table(SCRATCH[1], LINEAGE_PERCENT, 0, &mut Random::new(1, 2)), &parents);
    let children = txn.create_table(children).expect("makes a table");
    txn.commit().expect("commits");
    let mut txn = engine.begin().expect("begins");
    let values = [Value::Int(1), Value::Int(7), Value::Null];
    let row = children.codec.encode(values.iter().map(Value::as_ref).collect::<Vec<ValueRef<'_>>>());
    txn.insert(&children, &row).expect("writes");
    txn.check_constraints().expect("waits for the commit");
    let code = txn.set_constraints(None, false).err().map(|error| error.code());
    assert_eq!(code, Some(Code::ForeignKeyViolation), "a row refers to none");
}

/// Every snapshot shows a row for each one that is referred to.
fn no_orphans(txn: &Transaction) -> Result<()> {
    let (parents, children) = (txn.table(SCRATCH[0])?, txn.table(SCRATCH[1])?);
    for id in 0..8 {
        let Some(child) = txn.get_row(&children, &key_of(&children, &[Value::Int(id)]))? else { continue };
        let parent = children.codec.get(&child, 1).to_value();
        let found = txn.get_row(&parents, &key_of(&parents, std::slice::from_ref(&parent)))?;
        assert!(found.is_some(), "row {id} refers to {parent:?}");
    }
    Ok(())
}

/// Writes or deletes one of eight rows of a table that is referred to, or of one that refers to it.
fn change_family(txn: &mut Transaction, random: &mut Random) -> Result<()> {
    no_orphans(txn)?;
    let t = txn.table(random.pick(&[SCRATCH[0], SCRATCH[1]]))?;
    let values = [Value::Int(random.below(8) as i64), Value::Int(random.below(8) as i64), Value::Null];
    let key = key_of(&t, &values[..1]);
    let row = t.codec.encode(values.iter().map(Value::as_ref).collect::<Vec<ValueRef<'_>>>());
    match txn.get_for_upsert(&t, &key)? {
        Some(_) if random.chance(60) => drop(txn.delete(&t, &key)?),
        Some(_) => txn.update(&t, &key, &row)?,
        None => txn.insert(&t, &row)?,
    }
    txn.check_constraints()
}

/// Writes a row, or two, or deletes one: of 12 rows, with 10 values. Or changes the amount of one row, or of all, or
/// builds rows.
fn give_value(txn: &mut Transaction, random: &mut Random) -> Result<()> {
    count_of_writers(txn)?;
    let t = txn.table(EVENTS)?;
    match random.below(20) {
        0..=3 => return amount_of_all(txn, &t, random),
        4 if txn.can_build(&t) => {
            let ids = 12 + random.below(8) as i64..22;
            let rows: Vec<_> = ids.map(|id| event_row(id, random.below(10), Value::Null, random)).take(2).collect();
            return txn.build(&t, &[batch_of(&t.def.schema, &rows)]).map(|_| ());
        }
        4..=9 => return amount_of_one(txn, &t, random),
        _ => {}
    }
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

/// `UPDATE events SET amount = ...` of a row, as it locks: that column alone.
fn amount_of_one(txn: &mut Transaction, t: &TableRef, random: &mut Random) -> Result<()> {
    let key = key_of(t, &[Value::Int(random.below(12) as i64)]);
    let mode = LockMode::columns(ColumnSet::NONE, ColumnSet::from_iter([2]));
    let Some(old) = txn.lock_row(t, &key, mode, txn.lock_wait())? else { return Ok(()) };
    let mut values = t.codec.decode(&old);
    values[2] = Value::Int(random.below(1000) as i64);
    let row = t.codec.encode(values.iter().map(Value::as_ref).collect::<Vec<ValueRef<'_>>>());
    txn.update_columns(t, &key, &row, mode)
}

/// The same of all rows, in bulk.
fn amount_of_all(txn: &mut Transaction, t: &TableRef, random: &mut Random) -> Result<()> {
    let rows = placed(txn, t, random)?;
    if rows.is_empty() || !txn.can_replace(t, &[2])? {
        return Ok(());
    }
    let changed = rows.iter().map(|placed| {
        let mut values = t.codec.decode(&placed.row);
        values[2] = Value::Int(random.below(1000) as i64);
        values
    });
    let batch = batch_of(&t.def.schema, &changed.collect::<Vec<_>>());
    let places: Vec<_> = rows.iter().map(|row| row.place).collect();
    txn.replace(t, &[2], &[batch], &places).map(|_| ())
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

fn jobs_start_on_idle_cores(env: &Env, engine: &Arc<Engine>) {
    engine.close().expect("closes");
    let mut scenario = Scenario::seeded(1);
    scenario.options = EngineOptions { workers: 1, cores: 2, ..EngineOptions::default() };
    let engine = &open_engine(env, &scenario).expect("opens again");
    let stage = |cost_us, parallelism| Stage { kind: OperatorKind::Scan, cost_us, parallelism };
    // 220 ms on both cores, then 600 on one. Workers look around every 100 ms; nothing waits longer than 250.
    let plan = PlanForecast::new(vec![stage(440_000.0, 2), stage(600_000.0, 1)]);
    let query = engine.load().begin(Arc::new(plan));
    let waiting = query.waiting();
    committed(engine, &[1, 2, 3]);
    engine.freeze().expect("freezes");
    env.clock.sleep(Duration::from_millis(200));
    assert_eq!(engine.status().jobs_run, 0, "a job ran beside a query that uses every core");
    env.clock.sleep(Duration::from_millis(400));
    assert!(engine.status().jobs_run > 0, "no job ran on a core that the query left idle");
    drop(waiting);
    engine.close().expect("closes");
}
