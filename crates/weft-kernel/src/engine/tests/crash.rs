//! Clients, jobs and checkpoints on a machine that crashes at any operation, against a plain model.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::{Code, Result, Timestamp};

use crate::testing::{Prng, by_hand, get, key, new_table, open_with, row};
use crate::{Durability, Engine, EngineOptions};

const KEYS: i64 = 12;
const CLIENTS: u64 = 4;

/// What clients did. A write is a number that is never used twice; it goes to the same key of both tables.
#[derive(Default)]
struct Model {
    /// By key: the last acknowledged write and its commit.
    acknowledged: BTreeMap<i64, (Timestamp, i64)>,
    /// By key: writes whose commit was called and had not returned when the machine crashed.
    in_flight: BTreeMap<i64, Vec<i64>>,
    next: i64,
    commits: u64,
}

fn options(workers: usize) -> EngineOptions {
    EngineOptions { workers, log_segment_bytes: 4096, checkpoint_log_bytes: 16_384, row_table_bytes: 500, ..by_hand() }
}

fn setup(engine: &Arc<Engine>) -> Result<()> {
    let mut txn = engine.begin()?;
    if txn.table("t").is_ok() {
        return Ok(());
    }
    txn.create_table(new_table("t"))?;
    txn.create_table(new_table("u"))?;
    txn.commit().map(|_| ())
}

/// One transaction: one or two keys, each in both tables; sometimes rolled back.
fn transact(engine: &Arc<Engine>, model: &Mutex<Model>, rng: &mut Prng) -> Result<()> {
    let mut txn = engine.begin()?;
    txn.set_durability(Durability::Full);
    let (t, u) = (txn.table("t")?, txn.table("u")?);
    let mut written = Vec::new();
    for _ in 0..=rng.below(2) {
        let k = rng.below(KEYS as u64) as i64;
        let number = {
            let mut model = model.lock().unwrap();
            model.next += 1;
            model.next
        };
        assert_eq!(get(&txn, &t, k), get(&txn, &u, k), "both or none of a commit is seen");
        for table in [&t, &u] {
            let mark = txn.mark();
            if txn.get_for_upsert(table, &key(table, k))?.is_some() {
                txn.update(table, &key(table, k), &row(table, k, -1))?;
                txn.rollback_to(mark);
                txn.update(table, &key(table, k), &row(table, k, number))?;
            } else {
                txn.insert(table, &row(table, k, number))?;
            }
        }
        written.retain(|&(other, _)| other != k);
        written.push((k, number));
    }
    if rng.below(8) == 0 {
        txn.rollback();
        return Ok(());
    }
    let flights = |edit: &dyn Fn(&mut Vec<i64>, i64)| {
        let mut model = model.lock().unwrap();
        written.iter().for_each(|&(k, number)| edit(model.in_flight.entry(k).or_default(), number));
    };
    flights(&|flights, number| flights.push(number));
    let ts = txn.commit()?;
    flights(&|flights, number| flights.retain(|&other| other != number));
    let mut model = model.lock().unwrap();
    model.commits += 1;
    for (k, number) in written {
        let last = model.acknowledged.entry(k).or_default();
        *last = (*last).max((ts, number));
    }
    Ok(())
}

fn client(engine: &Arc<Engine>, model: &Mutex<Model>, seed: u64, rounds: u64) {
    let mut rng = Prng(seed);
    for _ in 0..rounds {
        let result = match rng.below(40) {
            0 => engine.checkpoint(),
            1 => engine.freeze(),
            2 => engine.run_jobs().map(|_| ()),
            3 => side_table(engine, &mut rng),
            _ => transact(engine, model, &mut rng),
        };
        match result {
            Ok(()) => {}
            Err(error) if error.is_retryable() => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// DDL beside the rest: a table comes, gets a row, goes.
fn side_table(engine: &Arc<Engine>, rng: &mut Prng) -> Result<()> {
    let name = format!("side{}", rng.below(2));
    let mut txn = engine.begin()?;
    match txn.table(&name) {
        Ok(_) => txn.drop_table(&name)?,
        Err(_) => match txn.create_table(new_table(&name)) {
            Ok(side) => txn.insert(&side, &row(&side, 1, 1))?,
            // Created since the snapshot.
            Err(error) if error.code() == Code::DuplicateTable => return Ok(()),
            Err(error) => return Err(error),
        },
    }
    txn.commit().map(|_| ())
}

/// Compares what recovery found with the model, and takes what it found for the truth.
fn verify(engine: &Arc<Engine>, model: &mut Model) {
    let txn = engine.begin().unwrap();
    let Ok(t) = txn.table("t") else {
        assert!(model.acknowledged.is_empty(), "acknowledged commits are gone");
        return;
    };
    let u = txn.table("u").unwrap();
    for k in 0..KEYS {
        let found = get(&txn, &t, k);
        assert_eq!(found, get(&txn, &u, k), "key {k}: a commit was torn");
        let acknowledged = model.acknowledged.get(&k).map(|&(_, number)| number);
        let in_flight = found.is_some_and(|number| model.in_flight.get(&k).is_some_and(|all| all.contains(&number)));
        assert!(found == acknowledged || in_flight, "key {k}: found {found:?}, acknowledged {acknowledged:?}");
        if let Some(number) = found {
            model.acknowledged.insert(k, (txn.read_ts(), number));
        }
        // What recovery has not found stays away, also if the machine crashes before all is compared.
        model.in_flight.remove(&k);
    }
    model.in_flight.clear();
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
}

fn workload(env: &Env, model: &Arc<Mutex<Model>>, seed: u64, rounds: u64) {
    let engine = open_with(env.clone(), Path::new("/db"), options((seed % 3) as usize)).unwrap();
    // The machine may crash while this compares: what it has compared by then stays true.
    verify(&engine, &mut model.lock().unwrap_or_else(PoisonError::into_inner));
    model.clear_poison();
    setup(&engine).unwrap();
    let spawn = |number: u64| {
        let (engine, model) = (engine.clone(), model.clone());
        let body = move || client(&engine, &model, seed * 1000 + number, rounds);
        env.spawn.spawn(&format!("client-{number}"), Box::new(body)).unwrap()
    };
    let clients: Vec<_> = (0..CLIENTS).map(spawn).collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    let status = engine.status();
    assert_eq!((status.lock_count, status.snapshot_count, status.poisoned), (0, 0, None));
    engine.close().unwrap();
}

/// Several lives of one directory, each ended by a crash at some operation.
pub(super) fn lives(seed: u64) -> (u64, u64) {
    let simulation = Simulation::new(SimOptions::seeded(seed));
    let model = Arc::new(Mutex::new(Model::default()));
    let mut rng = Prng(seed ^ 0xdead);
    let mut crashes = 0;
    for life in 0..6 {
        simulation.crash_after(1 + rng.below(if life == 0 { 40 } else { 600 }));
        let inner = model.clone();
        match simulation.run(move |env| workload(&env, &inner, seed * 10 + life, 30)) {
            RunEnd::Crashed { .. } => crashes += 1,
            RunEnd::Finished => {}
            RunEnd::Panicked { thread, message } => panic!("seed {seed}, life {life}, {thread}: {message}"),
        }
    }
    simulation.cancel_crash();
    let inner = model.clone();
    let end = simulation.run(move |env| workload(&env, &inner, seed, 5));
    assert_eq!(end, RunEnd::Finished, "seed {seed}");
    let commits = model.lock().unwrap().commits;
    (crashes, commits)
}

#[test]
fn no_acknowledged_commit_is_lost_and_none_is_torn() {
    let (mut crashes, mut commits) = (0, 0);
    for seed in 0..60 {
        let (more_crashes, more_commits) = lives(seed);
        crashes += more_crashes;
        commits += more_commits;
    }
    assert!(crashes > 150 && commits > 5000, "{crashes} crashes, {commits} commits");
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let trace = |seed| {
        let simulation = Simulation::new(SimOptions::seeded(seed));
        let model = Arc::new(Mutex::new(Model::default()));
        simulation.run(move |env| workload(&env, &model, seed, 10));
        simulation.trace_hash()
    };
    for seed in [2, 3, 4] {
        assert_eq!(trace(seed), trace(seed));
    }
}

/// Without crashes: counters are added to by many, and readers watch that commits appear in order and whole.
pub(super) fn writers_and_readers(seed: u64) {
    let simulation = Simulation::new(SimOptions::seeded(seed));
    let end = simulation.run(move |env| {
        let engine = open_with(env.clone(), Path::new("/db"), options(1)).unwrap();
        setup(&engine).unwrap();
        for k in 0..4 {
            crate::testing::put(&engine, "t", k, 0).unwrap();
            crate::testing::put(&engine, "u", k, 0).unwrap();
        }
        let spawn = |number: u64| {
            let engine = engine.clone();
            let body = move || if number < 3 { add(&engine, 20, 1 + number as i64) } else { watch(&engine, 60) };
            env.spawn.spawn(&format!("client-{number}"), Box::new(body)).unwrap()
        };
        let clients: Vec<_> = (0..5).map(spawn).collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        let txn = engine.begin().unwrap();
        let (t, u) = (txn.table("t").unwrap(), txn.table("u").unwrap());
        assert_eq!((get(&txn, &t, 0), get(&txn, &u, 0)), (Some(60), Some(60)), "an addition was lost");
    });
    assert_eq!(end, RunEnd::Finished, "seed {seed}");
}

/// Adds one to the same key of both tables, so many times, and between that to a key that nobody else writes.
fn add(engine: &Arc<Engine>, count: u64, own: i64) {
    let mut done = 0;
    let mut k = 0;
    while done < count {
        let mut txn = engine.begin().unwrap();
        let result = (|| {
            for name in ["t", "u"] {
                let table = txn.table(name)?;
                txn.get_for_update(&table, &key(&table, k))?.expect("the row is there");
                let value = get(&txn, &table, k).expect("the row is there");
                txn.update(&table, &key(&table, k), &row(&table, k, value + 1))?;
            }
            txn.commit()
        })();
        match result {
            Ok(_) => {
                done += u64::from(k == 0);
                k = own - k;
            }
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
    }
}

/// Looks that a snapshot does not change while it is read, and that no commit is seen in part.
fn watch(engine: &Arc<Engine>, count: u64) {
    for _ in 0..count {
        let txn = engine.begin().unwrap();
        let (t, u) = (txn.table("t").unwrap(), txn.table("u").unwrap());
        let all = |table| (0..4).map(|k| get(&txn, table, k)).collect::<Vec<_>>();
        let first = all(&t);
        weft_env::sync::yield_point();
        assert_eq!(all(&u), first, "a commit was seen in part");
        weft_env::sync::yield_point();
        assert_eq!(all(&t), first, "a snapshot changed");
    }
}

#[test]
fn no_addition_is_lost_and_no_commit_is_seen_in_part() {
    (0..30).for_each(writers_and_readers);
}
