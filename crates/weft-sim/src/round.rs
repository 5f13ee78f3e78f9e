//! One run of the simulated process: open, verify, work, end.

use std::path::Path;
use std::sync::Arc;

use weft_env::Env;
use weft_format::{CompareOp, Predicate, Result, Value};
use weft_kernel::index::{IndexPart, NewColumnIndex, NewIndex};
use weft_kernel::{Durability, Engine, EngineOptions, TableRef};
use weft_replica::Archive;

use crate::client::Client;
use crate::history::History;
use crate::members::{MEMBERS_EMAIL, check_emails};
use crate::model::State;
use crate::random::Random;
use crate::reader::{Reader, check_total, read_state};
use crate::scenario::Scenario;
use crate::tables::{ACCOUNTS, DIR, FIXED, LEDGER, MEMBERS, PAIRS, TOTAL, money_row, new_table, referring, worth};
use crate::work::Work;

/// So many looks of the jobs, a tenth of a second apart, take the log back to its limit.
const LOOKS_TO_REST: u32 = 20;

/// How many moments are read after a reopening.
const MOMENTS: usize = 2;

/// Opens the database.
pub fn open_engine(env: &Env, scenario: &Scenario) -> Result<Arc<Engine>> {
    let methods = crate::methods();
    let archived_to = Archive::has_up_to(env, Path::new(DIR))?;
    let options = EngineOptions { archived_to, ..scenario.options.clone() };
    Engine::open(env.clone(), Path::new(DIR), methods, options)
}

/// Everything the database holds, at one snapshot.
pub fn read_everything(engine: &Arc<Engine>, random: &mut Random) -> Result<State> {
    read_state(&engine.begin()?, random)
}

/// After a reopening: nothing is damaged, and the state is what the history allows. Panics otherwise.
pub fn verify(engine: &Arc<Engine>, history: &History, random: &mut Random) {
    let findings = engine.check().unwrap_or_else(|error| panic!("violation: check failed: {error}"));
    let read = engine.begin().and_then(|txn| Ok((read_state(&txn, random)?, txn)));
    let (state, txn) = read.unwrap_or_else(|error| panic!("violation: reading failed: {error}"));
    let verified = history.verify(&state);
    if !findings.is_empty() {
        panic!("violation: check found after reopening: {findings:?}; {verified:?} of the state");
    }
    if let Err(violation) = verified {
        panic!("violation: after reopening: {violation}");
    }
    check_total(&state);
    check_emails(&state);
    let past = (0..MOMENTS).map(|_| history.moments.check(&txn, random)).sum::<u64>();
    history.count(|counts| counts.past += past);
    history.moments.note(&txn, &state, random);
}

/// One run: what the process does from its start to its end, unless the machine crashes before. `during` is called
/// while clients and readers run. In half of the runs the jobs come to rest before the end, and then the log is short.
pub fn round(
    env: &Env,
    scenario: &Scenario,
    history: &Arc<History>,
    number: u64,
    during: impl FnOnce(&Env, &Arc<Engine>),
) {
    let (engine, mut random) = work_through(env, scenario, history, number, during);
    if Random::new(scenario.seed, 2000 + number).chance(50) {
        come_to_rest(&engine, scenario);
    }
    finish(&engine, scenario, history, &mut random);
}

/// A run in the course of which `during` may set faults, which `rest` takes back when the clients are through. Then the
/// jobs come to rest, and the log is short.
pub fn faulted_round(
    env: &Env,
    scenario: &Scenario,
    history: &Arc<History>,
    number: u64,
    during: impl FnOnce(&Env, &Arc<Engine>),
    rest: impl FnOnce(),
) {
    let (engine, mut random) = work_through(env, scenario, history, number, during);
    rest();
    come_to_rest(&engine, scenario);
    finish(&engine, scenario, history, &mut random);
}

/// A run that ends with the log's end named by the manifest: closed, or after a quiet moment.
pub(crate) fn round_to_named_end(env: &Env, scenario: &Scenario, history: &Arc<History>, number: u64, is_closed: bool) {
    let (engine, _) = work_through(env, scenario, history, number, |_, _| ());
    if is_closed {
        return close(&engine, history, scenario);
    }
    let acknowledged = history.acknowledged_now();
    env.clock.sleep(std::time::Duration::from_secs(3));
    history.durable(&acknowledged);
}

/// Without faults, clients and long snapshots the log goes back to its limit: the jobs see to it. The last segment
/// stays, whatever its length. Panics otherwise.
fn come_to_rest(engine: &Arc<Engine>, scenario: &Scenario) {
    let options = engine.options();
    let limit = options.checkpoint_log_bytes.max(options.log_segment_bytes);
    // Each look carries on what the one before began: freeze and convert, write the catalog, cut.
    for _ in 0..LOOKS_TO_REST {
        // What stopped needs a reopening; then there is nothing to cut.
        if engine.status().poisoned.is_some() {
            return;
        }
        let ran = done(engine.run_jobs(), "run_jobs", scenario);
        assert!(ran || engine.status().poisoned.is_some(), "violation: jobs fail although no fault is left");
        if engine.status().log_bytes <= limit {
            return;
        }
        engine.env().clock.sleep(std::time::Duration::from_millis(100));
    }
    let kept = engine.status().log_bytes;
    panic!("violation: {kept} bytes of log are kept at rest, more than {limit}");
}

/// Opens, verifies, and lets clients and readers work until they are through.
pub(crate) fn work_through(
    env: &Env,
    scenario: &Scenario,
    history: &Arc<History>,
    number: u64,
    during: impl FnOnce(&Env, &Arc<Engine>),
) -> (Arc<Engine>, Random) {
    let mut random = Random::new(scenario.seed, 1000 + number);
    let engine = open_engine(env, scenario).unwrap_or_else(|error| panic!("violation: open failed: {error}"));
    history.set_poisoned(false);
    verify(&engine, history, &mut random);
    set_up(&engine, history, (scenario.lineage_percent, scenario.row_percent), &mut random);
    let checkpoints = random.below(3);
    let threads = start_threads(env, scenario, history, &engine, &mut random);
    during(env, &engine);
    for _ in 0..checkpoints {
        env.clock.sleep(std::time::Duration::from_micros(random.below(6000)));
        checkpoint(&engine, history, scenario);
    }
    for thread in threads {
        let thread = thread.unwrap_or_else(|error| panic!("violation: a thread did not start: {error}"));
        thread.join().unwrap_or_else(|text| panic!("{text}"));
    }
    (engine, random)
}

/// One of the ends that a process comes to.
pub(crate) fn finish(engine: &Arc<Engine>, scenario: &Scenario, history: &History, random: &mut Random) {
    match random.below(4) {
        0 => close(engine, history, scenario),
        1 => {
            checkpoint(engine, history, scenario);
            close(engine, history, scenario);
        }
        2 => {
            done(engine.run_jobs(), "run_jobs", scenario);
            // After a failed sync the bytes behind it are unknown until the database is opened again.
            if engine.status().poisoned.is_none() {
                let findings = engine.check().unwrap_or_else(|error| panic!("violation: check failed: {error}"));
                assert!(findings.is_empty(), "violation: check found: {findings:?}");
            }
        }
        _ => {}
    }
}

fn checkpoint(engine: &Arc<Engine>, history: &History, scenario: &Scenario) {
    let acknowledged = history.acknowledged_now();
    if done(engine.checkpoint(), "checkpoint", scenario) {
        history.durable(&acknowledged);
    }
}

fn close(engine: &Arc<Engine>, history: &History, scenario: &Scenario) {
    let acknowledged = history.acknowledged_now();
    if done(engine.close(), "close", scenario) {
        history.durable(&acknowledged);
    }
}

/// Whether it went well; only an injected fault may keep it from that.
fn done<T>(result: Result<T>, what: &str, scenario: &Scenario) -> bool {
    match result {
        Ok(_) => true,
        Err(error) if scenario.tolerated.contains(&error.code()) => false,
        Err(error) => panic!("violation: {what} failed: {error}"),
    }
}

type Thread = std::io::Result<weft_env::JoinHandle>;

fn start_threads(
    env: &Env,
    scenario: &Scenario,
    history: &Arc<History>,
    engine: &Arc<Engine>,
    random: &mut Random,
) -> Vec<Thread> {
    let mut threads = Vec::new();
    for client in 0..scenario.clients {
        let mut client = Client {
            number: client,
            env: env.clone(),
            engine: Arc::clone(engine),
            history: Arc::clone(history),
            scenario: scenario.clone(),
            random: Random::new(random.next_u64(), 1),
        };
        let name = format!("client {}", client.number);
        threads.push(env.spawn.spawn(&name, Box::new(move || client.run())));
    }
    for reader in 0..scenario.readers {
        let mut reader = Reader {
            number: reader,
            env: env.clone(),
            engine: Arc::clone(engine),
            history: Arc::clone(history),
            notes: scenario.async_percent == 0 && scenario.tolerated.is_empty(),
            random: Random::new(random.next_u64(), 2),
        };
        let name = format!("reader {}", reader.number);
        threads.push(env.spawn.spawn(&name, Box::new(move || reader.run())));
    }
    threads
}

/// A column index of a row table that has all its columns, and jobs of all kinds.
fn all_columns(table: &TableRef) -> NewColumnIndex {
    let columns = (0..table.def.schema.columns.len()).collect();
    let options = [("granularity_bytes".to_owned(), "32768".to_owned())].into();
    NewColumnIndex { options, ..NewColumnIndex::new(format!("{}_columns", table.def.name), columns) }
}

/// Makes the tables and the bank, in one transaction, when they are not there.
fn set_up(engine: &Arc<Engine>, history: &History, (lineage, row): (u64, u64), random: &mut Random) {
    let mut make = || -> Result<()> {
        let mut work = Work::begin(engine, history, Durability::Full)?;
        if work.table(ACCOUNTS).is_ok() {
            return Ok(());
        }
        for name in FIXED.into_iter().chain([MEMBERS]) {
            let new = new_table(name, lineage, row, &mut random.clone());
            let new = if name == PAIRS { referring(new, &work.table(LEDGER)?) } else { new };
            work.create_table(new)?;
        }
        let accounts = work.table(ACCOUNTS)?;
        // Transfers move accounts into the last one and out of it, which change no column that it has.
        let above = Predicate::Compare { column: 1, op: CompareOp::Gt, value: Value::Int(100) };
        let rich = NewIndex { predicate: vec![above], ..NewIndex::new("accounts_rich", vec![0], false) };
        let indexes = [
            (ACCOUNTS, NewIndex::new("accounts_writer", vec![3, 0], false)),
            (MEMBERS, NewIndex::new(MEMBERS_EMAIL, vec![1], true)),
            (PAIRS, NewIndex::new("pairs_note", vec![5], true)),
            (ACCOUNTS, rich),
            (ACCOUNTS, NewIndex::on("accounts_worth", vec![worth(), IndexPart::Column(3)], false)),
        ];
        for (table, new) in indexes {
            let table = work.table(table)?;
            work.txn.create_index(&table, new)?;
        }
        for name in FIXED.into_iter().chain([MEMBERS]) {
            let table = work.table(name)?;
            // Without one it can be loaded in bulk.
            if table.table.in_place().is_some() && random.chance(60) {
                work.txn.create_column_index(&table, all_columns(&table))?;
            }
        }
        let bank = money_row(&[Value::Int(0)], TOTAL, work.tid, &mut random.clone());
        work.insert(&accounts, &bank)?;
        work.commit(99)
    };
    make().unwrap_or_else(|error| panic!("violation: setting up failed: {error}"));
}
