//! A table of any method on a machine that crashes at any operation, with jobs, backups and a follower beside its
//! writers.
//!
//! ```text
//!   life 1   two writers, each with keys of its own · checkpoints · a job            crash at operation 211
//!   life 2   what is there: what was acknowledged, and of what was not all or nothing · the same of a follower ...
//!   end      all backups are restored: each is the table as of its timestamp
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync::Mutex;
use weft_format::{Code, Column, DataType, Error, Result, Schema, Timestamp, ValueRef};
use weft_kernel::index::{NewColumnIndex, NewIndex};
use weft_kernel::method::Method;
use weft_kernel::{Durability, Engine, EngineOptions, Follower, NewTable, SchemaId, TableRef, Transaction, restore};

use super::random::Prng;
use crate::column::{column_method, rows_to_batch};

const TABLE: &str = "t";
const COLUMNS: &str = "t_columns";
const WRITERS: u64 = 2;
/// Keys of each writer.
const KEYS: u64 = 150;
const LIVES: u64 = 5;

/// The value of each key, none when it has no row.
type Changes = Vec<(u64, Option<i64>)>;

/// What the table is made of.
#[derive(Clone)]
struct Made {
    method: Arc<dyn Method>,
    options: BTreeMap<String, String>,
    /// Whether it has a column index, which is made anew now and then.
    columns: bool,
}

impl Made {
    fn methods(&self) -> Vec<Arc<dyn Method>> {
        let mut methods = vec![self.method.clone()];
        if self.columns {
            methods.push(column_method());
        }
        methods
    }
}

/// What writers did.
#[derive(Default)]
struct Model {
    rows: BTreeMap<u64, i64>,
    /// By writer: what its commit does that was called and has not returned.
    flights: BTreeMap<u64, Changes>,
    /// What was acknowledged in this life, by timestamp.
    history: BTreeMap<Timestamp, Changes>,
    /// What was there when it began.
    begun: BTreeMap<u64, i64>,
    next: i64,
    /// What a follower showed in this life, and as of when.
    followed: Vec<(Timestamp, BTreeMap<u64, i64>)>,
    writing: u64,
    joins: u64,
    looks: u64,
    /// Backups, and the rows that each must have.
    backups: Vec<(u64, BTreeMap<u64, i64>)>,
}

/// How a trial went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lives that a crash ended.
    pub crashes: u64,
    /// Rows that were written.
    pub rows: u64,
    /// Backups that were restored.
    pub backups: u64,
    /// Followers that joined beside the writers.
    pub joins: u64,
    /// Looks at what such a follower shows.
    pub looks: u64,
}

/// Runs the lives of one seed; the first difference, or how it went.
pub fn run(method: &Arc<dyn Method>, seed: u64) -> std::result::Result<Counts, String> {
    run_with(method, seed, &BTreeMap::new())
}

/// The same of a table with options.
pub fn run_with(
    method: &Arc<dyn Method>,
    seed: u64,
    table: &BTreeMap<String, String>,
) -> std::result::Result<Counts, String> {
    run_made(&Made { method: method.clone(), options: table.clone(), columns: false }, seed)
}

/// The same of a table that has a column index: after each opening, and of each follower, both are compared.
pub fn run_with_columns(
    method: &Arc<dyn Method>,
    seed: u64,
    table: &BTreeMap<String, String>,
) -> std::result::Result<Counts, String> {
    run_made(&Made { method: method.clone(), options: table.clone(), columns: true }, seed)
}

fn run_made(made: &Made, seed: u64) -> std::result::Result<Counts, String> {
    let simulation = Simulation::new(SimOptions::seeded(seed));
    let model = Arc::new(Mutex::new(Model::default()));
    let mut random = Prng(seed ^ 0x1b7a);
    let mut counts = Counts::default();
    for life in 0..=LIVES {
        let is_last = life == LIVES;
        if is_last {
            simulation.cancel_crash();
        } else {
            simulation.crash_after(1 + random.below(if life == 0 { 60 } else { 900 }));
        }
        let (inner, made) = (model.clone(), made.clone());
        let end = simulation.run(move |env| live(&env, &made, &inner, seed * 10 + life, is_last));
        match end {
            RunEnd::Finished => {}
            RunEnd::Crashed { .. } => counts.crashes += 1,
            RunEnd::Panicked { thread, message } => return Err(format!("life {life}, {thread}: {message}")),
        }
    }
    let model = model.lock();
    (counts.rows, counts.backups) = (model.next as u64, model.backups.len() as u64);
    (counts.joins, counts.looks) = (model.joins, model.looks);
    Ok(counts)
}

fn options(seed: u64) -> EngineOptions {
    EngineOptions {
        workers: (seed % 3) as usize,
        row_table_bytes: 2000,
        // The less, the sooner the log goes that nothing needs.
        log_segment_bytes: [6000, 4096][(seed / 3 % 2) as usize],
        log_zero_ahead_bytes: 1000,
        checkpoint_log_bytes: [20_000, 4000][(seed / 3 % 2) as usize],
        ..EngineOptions::default()
    }
}

fn live(env: &Env, made: &Made, model: &Arc<Mutex<Model>>, seed: u64, is_last: bool) {
    let methods = || made.methods();
    let engine = Engine::open(env.clone(), Path::new("/db"), methods(), options(seed)).expect("opens");
    verify(&engine, &mut model.lock());
    set_up(&engine, made).expect("makes the table");
    let spawn = |number: u64| {
        let (engine, model) = (engine.clone(), model.clone());
        let (body_seed, columns) = (seed * 100 + number, made.columns && number == 0);
        let body = move || write(&engine, &model, number, columns, Prng(body_seed));
        env.spawn.spawn(&format!("writer-{number}"), Box::new(body)).expect("starts")
    };
    model.lock().writing = WRITERS;
    let mut threads: Vec<_> = (0..WRITERS).map(spawn).collect();
    let (to_follow, with) = ((env.clone(), engine.clone(), made.clone()), model.clone());
    let body = move || follow(&to_follow.0, &to_follow.1, &to_follow.2, &with);
    threads.push(env.spawn.spawn("follower", Box::new(body)).expect("starts"));
    back_up(&engine, model, &mut Prng(seed ^ 0x5a));
    threads.into_iter().for_each(|thread| thread.join().expect("ends"));
    look_back(&mut model.lock());
    engine.close().expect("closes");
    if is_last {
        let model = model.lock();
        for (number, rows) in &model.backups {
            let dir = format!("/restored-{number}");
            restore(env, Path::new("/backups"), Path::new(&dir), Some(*number)).expect("restores");
            let engine = Engine::open(env.clone(), Path::new(&dir), methods(), options(0)).expect("opens a copy");
            let txn = engine.begin().expect("begins");
            assert_eq!(rows_of(&txn), *rows, "backup {number}");
            assert_eq!(engine.check().expect("checks"), Vec::<String>::new());
        }
    }
}

fn set_up(engine: &Arc<Engine>, made: &Made) -> Result<()> {
    let mut txn = engine.begin()?;
    if txn.table(TABLE).is_ok() {
        return Ok(());
    }
    let column = |name: &str, data_type| Column { name: name.into(), data_type, not_null: true };
    let columns = vec![column("k", DataType::BigInt), column("v", DataType::BigInt), column("pad", DataType::Text)];
    let mut new = NewTable::new(TABLE, Schema::new(columns, vec![0]), made.method.name());
    new.options.clone_from(&made.options);
    let table = txn.create_table(new)?;
    // No value is written twice; the check of the engine finds a row without its entry.
    txn.create_index(&table, NewIndex::new("t_v", vec![1], true))?;
    if made.columns {
        txn.create_column_index(&table, new_columns(vec![1]))?;
    }
    txn.commit().map(|_| ())
}

fn row(table: &TableRef, k: u64, v: i64) -> Arc<[u8]> {
    let pad = "x".repeat((v as usize * 37 + k as usize) % 700);
    table.codec.encode([ValueRef::Int(k as i64), ValueRef::Int(v), ValueRef::Text(&pad)]).into()
}

fn key(table: &TableRef, k: u64) -> Vec<u8> {
    table.keys.encode(vec![ValueRef::Int(k as i64)])
}

fn value(table: &TableRef, txn: &Transaction, k: u64) -> Option<i64> {
    let found = table.table.read_row(&key(table, k), txn.read_ts()).expect("reads")?;
    match table.codec.get(&found, 1) {
        ValueRef::Int(value) => Some(value),
        other => panic!("{other:?} is no value of the table"),
    }
}

fn rows_of(txn: &Transaction) -> BTreeMap<u64, i64> {
    let Ok(table) = txn.table(TABLE) else { return BTreeMap::new() };
    (0..WRITERS * KEYS).filter_map(|k| Some((k, value(&table, txn, k)?))).collect()
}

fn write(engine: &Arc<Engine>, model: &Mutex<Model>, writer: u64, columns: bool, mut random: Prng) {
    for _ in 0..40 {
        let done = match random.below(16) {
            0 => engine.checkpoint(),
            1 => engine.freeze(),
            2 => engine.run_one_job().map(drop),
            3 if columns => make_again(engine, &mut random),
            4 => load(engine, model, writer, &mut random),
            _ => commit(engine, model, writer, &mut random),
        };
        match done {
            // A backup has the pages at this moment.
            Err(error) if error.is_retryable() || error.code() == Code::ObjectInUse => {}
            done => done.expect("nothing else fails"),
        }
    }
    model.lock().writing -= 1;
}

/// A column index that has jobs of all kinds although it is small.
fn new_columns(named: Vec<usize>) -> NewColumnIndex {
    let options = BTreeMap::from([("granularity_bytes".to_owned(), "32768".to_owned())]);
    NewColumnIndex { options, ..NewColumnIndex::new(COLUMNS, named) }
}

/// The column index is made again beside the other writer, of one column or of all; or it gets another name and back.
fn make_again(engine: &Arc<Engine>, random: &mut Prng) -> Result<()> {
    let mut txn = engine.begin()?;
    let table = txn.table(TABLE)?;
    match random.below(3) {
        0 => {
            let index = txn.column_index_in(SchemaId::PUBLIC, COLUMNS).expect("the table has one");
            txn.rename_column_index(&index, SchemaId::PUBLIC, "other")?;
            let index = txn.column_index_in(SchemaId::PUBLIC, "other").expect("it was renamed");
            txn.rename_column_index(&index, SchemaId::PUBLIC, COLUMNS)?;
        }
        1 => txn.rebuild_column_index(SchemaId::PUBLIC, COLUMNS)?,
        _ => {
            txn.drop_column_index_in(SchemaId::PUBLIC, COLUMNS)?;
            let named = if random.below(2) == 0 { vec![1] } else { vec![2, 1] };
            txn.create_column_index(&table, new_columns(named))?;
        }
    }
    txn.commit().map(|_| ())
}

/// A transaction on keys of a writer; of 30 at once now and then, so that pages split.
fn commit(engine: &Arc<Engine>, model: &Mutex<Model>, writer: u64, random: &mut Prng) -> Result<()> {
    let mut txn = engine.begin()?;
    let is_waited = random.below(4) > 0;
    txn.set_durability(if is_waited { Durability::Full } else { Durability::Async });
    let table = txn.table(TABLE)?;
    let mut changes: BTreeMap<u64, Option<i64>> = BTreeMap::new();
    let first = random.below(KEYS);
    for at in 0..[1, 3, 30][random.below(3) as usize] {
        let k = (first + at) % KEYS * WRITERS + writer;
        let number = {
            let mut model = model.lock();
            model.next += 1;
            model.next
        };
        let new = match value(&table, &txn, k) {
            None => {
                txn.insert(&table, &row(&table, k, number))?;
                Some(number)
            }
            Some(_) if random.below(4) == 0 => {
                assert!(txn.delete(&table, &key(&table, k))?, "it is there");
                None
            }
            Some(_) => {
                txn.update(&table, &key(&table, k), &row(&table, k, number))?;
                Some(number)
            }
        };
        changes.insert(k, new);
    }
    let changes: Changes = changes.into_iter().collect();
    model.lock().flights.insert(writer, changes.clone());
    let ts = txn.commit()?;
    if !is_waited {
        engine.flush()?;
    }
    let mut model = model.lock();
    model.flights.remove(&writer);
    change(&mut model.rows, &changes);
    let before = model.history.insert(ts, changes);
    assert!(before.is_none(), "a timestamp is of one commit");
    Ok(())
}

/// Keys of a writer that are free, loaded in bulk where the table can; sometimes in two parts, sometimes given up.
fn load(engine: &Arc<Engine>, model: &Mutex<Model>, writer: u64, random: &mut Prng) -> Result<()> {
    let mut txn = engine.begin()?;
    let table = txn.table(TABLE)?;
    // Nobody else has these keys.
    let free: Vec<u64> =
        (0..KEYS).map(|k| k * WRITERS + writer).filter(|k| value(&table, &txn, *k).is_none()).collect();
    let first = random.below(KEYS) as usize;
    let keys: Vec<u64> = free.into_iter().skip(first % 7).take(first).collect();
    let first_number = {
        let mut model = model.lock();
        model.next += KEYS as i64;
        model.next - KEYS as i64 + 1
    };
    let number = |k: u64| first_number + (k / WRITERS) as i64;
    let part_rows = if txn.can_build_in_parts(&table) { [7, 40][random.below(2) as usize] } else { KEYS as usize };
    for part in keys.chunks(part_rows) {
        let rows: Vec<Arc<[u8]>> = part.iter().map(|k| row(&table, *k, number(*k))).collect();
        let batch = rows_to_batch(&table.def.schema, &table.codec, rows.iter().map(|row| &**row))?;
        txn.build(&table, &[batch])?;
    }
    // A commit of nothing has the timestamp of another one.
    if keys.is_empty() || random.below(3) == 0 {
        txn.rollback();
        return Ok(());
    }
    let changes: Changes = keys.into_iter().map(|k| (k, Some(number(k)))).collect();
    model.lock().flights.insert(writer, changes.clone());
    let ts = txn.commit()?;
    let mut model = model.lock();
    model.flights.remove(&writer);
    change(&mut model.rows, &changes);
    let before = model.history.insert(ts, changes);
    assert!(before.is_none(), "a timestamp is of one commit");
    Ok(())
}

fn change(rows: &mut BTreeMap<u64, i64>, changes: &Changes) {
    for (k, value) in changes {
        match value {
            Some(value) => drop(rows.insert(*k, *value)),
            None => drop(rows.remove(k)),
        }
    }
}

/// Compares what an opening found with the model, and takes it for the truth.
fn verify(engine: &Arc<Engine>, model: &mut Model) {
    let txn = engine.begin().expect("begins");
    let found = rows_of(&txn);
    for (writer, changes) in std::mem::take(&mut model.flights) {
        let mut after = model.rows.clone();
        change(&mut after, &changes);
        let of = |rows: &BTreeMap<u64, i64>| -> Vec<(u64, i64)> {
            rows.iter().filter(|(k, _)| *k % WRITERS == writer).map(|(k, v)| (*k, *v)).collect()
        };
        if of(&found) == of(&after) {
            model.rows = after;
        }
    }
    assert_eq!(found, model.rows, "what was acknowledged is there, and of the rest all or nothing");
    assert_eq!(engine.check().expect("checks"), Vec::<String>::new());
    (model.begun, model.history, model.followed) = (found, BTreeMap::new(), Vec::new());
}

/// Joins and follows beside the writers, and notes what the follower shows.
fn follow(env: &Env, engine: &Arc<Engine>, made: &Made, model: &Mutex<Model>) {
    let mut follower: Option<Follower> = None;
    loop {
        let is_last = model.lock().writing == 0;
        engine.flush().expect("flushes");
        // What it needs is gone, or is being written.
        let has_changed = |error: &Error| matches!(error.code(), Code::UndefinedFile | Code::CannotConnectNow);
        match &mut follower {
            None => {
                let announced = || engine.announced();
                let methods = made.methods();
                match Follower::join(env.clone(), Path::new("/db"), methods, options(0), &announced) {
                    Ok(joined) => {
                        model.lock().joins += 1;
                        follower = Some(joined);
                    }
                    Err(error) => assert!(has_changed(&error), "joins: {error}"),
                }
            }
            Some(joined) => match joined.follow(engine.announced()) {
                Ok(_) => {
                    let txn = joined.engine().begin().expect("begins");
                    let shown = (txn.read_ts(), rows_of(&txn));
                    let mut findings = joined.engine().check().expect("checks");
                    // Who writes has gone on, and the follower has them open.
                    findings.retain(|what| !made.columns || !what.ends_with("is listed but not in the directory"));
                    assert_eq!(findings, Vec::<String>::new());
                    let mut model = model.lock();
                    model.looks += 1;
                    model.followed.push(shown);
                    if is_last {
                        return;
                    }
                    // Those that join see pages as they are being written.
                    if model.looks.is_multiple_of(3) {
                        follower = None;
                    }
                }
                Err(error) => {
                    assert!(has_changed(&error), "follows: {error}");
                    follower = None;
                }
            },
        }
        weft_env::sync::yield_point();
    }
}

/// What the follower showed is what was committed by then.
fn look_back(model: &mut Model) {
    for (ts, shown) in std::mem::take(&mut model.followed) {
        assert_eq!(shown, model.rows_at(ts), "the follower as of {ts}");
    }
}

impl Model {
    /// What was committed in this life by then, and before it; every commit has returned.
    fn rows_at(&self, ts: Timestamp) -> BTreeMap<u64, i64> {
        let mut rows = self.begun.clone();
        self.history.range(..=ts).for_each(|(_, changes)| change(&mut rows, changes));
        rows
    }
}

/// Makes backups beside the writers.
fn back_up(engine: &Arc<Engine>, model: &Mutex<Model>, random: &mut Prng) {
    for _ in 0..random.below(3) {
        for _ in 0..random.below(60) {
            weft_env::sync::yield_point();
        }
        let made = engine.backup(Path::new("/backups"), None).expect("backs up");
        // What it has of commits that have not returned is known when they have.
        while !model.lock().flights.is_empty() {
            weft_env::sync::yield_point();
        }
        let mut model = model.lock();
        let rows = model.rows_at(made.timestamp);
        model.backups.push((made.number, rows));
    }
}

/// Why a trial of some seeds fails; none when it does not.
pub fn first_failure(method: &Arc<dyn Method>, seeds: u64) -> Option<(u64, String)> {
    (0..seeds).find_map(|seed| run(method, seed).err().map(|what| (seed, what)))
}
