//! Promises about the ends of the log and the manifest, each a short script with a fault of the disk in it.
//!
//! ```text
//!   the log was cut behind an edit; the edit is lost        the opening is refused, or every row is there
//!   a transaction of many chunks meets a full disk          with space again the log goes back to its limit
//!   the thread that writes the log panics                   everybody who waits is told
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::{Env, OpenMode};
use weft_format::{Code, Result, Timestamp, TxnId, Value, ValueRef};
use weft_kernel::log::{Log, LogOptions, Record, Ticket, read_log};
use weft_kernel::{Engine, EngineOptions};

use crate::damage::names_the_damage;
use crate::random::Random;
use crate::round::open_engine;
use crate::scenario::Scenario;
use crate::tables::{DIR, LEDGER, new_table};
use crate::work::key_of;

type Promise = fn(u64) -> std::result::Result<(), String>;

const PROMISES: [(&str, Promise); 3] = [
    ("a manifest that lost the edit which let the log be cut is refused", a_lost_edit_is_missed),
    ("a large transaction that meets a full disk lets the log go", a_full_disk_lets_the_log_go),
    ("a panic of the thread that writes the log is told to who waits", a_panicking_writer_hangs_nobody),
];

/// The schedules that each promise is tried in.
const SEEDS: u64 = 6;
/// Rows of the script about a lost edit.
const ROWS: i64 = 400;

/// Tries every promise; the error names the one that is broken.
pub fn completeness() -> std::result::Result<(), String> {
    (0..SEEDS).flat_map(|seed| PROMISES.map(|one| (seed, one))).try_for_each(|(seed, (name, promise))| {
        promise(seed).map_err(|broken| format!("{name}: {broken} (seed {seed})"))
    })
}

fn finished(end: RunEnd) -> std::result::Result<(), String> {
    match end {
        RunEnd::Finished => Ok(()),
        end => Err(format!("{end:?}")),
    }
}

fn scenario() -> Scenario {
    let options = EngineOptions {
        workers: 0,
        log_segment_bytes: 4 << 10,
        checkpoint_log_bytes: 16 << 10,
        log_batch_bytes: 2 << 10,
        log_chunk_bytes: 512,
        ..EngineOptions::default()
    };
    Scenario { options, ..Scenario::seeded(1) }
}

fn open_with_ledger(env: &Env) -> Arc<Engine> {
    let engine = open_engine(env, &scenario()).expect("a new database opens");
    let mut txn = engine.begin().expect("begins");
    let mut new = new_table(LEDGER, &mut Random::new(1, 1));
    // No rows are carried to files before the jobs run.
    new.options.clear();
    txn.create_table(new).expect("makes a table");
    txn.commit().expect("commits");
    engine
}

/// Commits these rows in one transaction.
fn insert(engine: &Arc<Engine>, keys: std::ops::Range<i64>) -> Result<()> {
    let mut txn = engine.begin()?;
    let t = txn.table(LEDGER)?;
    for key in keys {
        let row = t.codec.encode([ValueRef::Int(key), ValueRef::Int(0), ValueRef::Int(0)]);
        txn.insert(&t, &row)?;
    }
    txn.commit().map(|_| ())
}

fn a_lost_edit_is_missed(seed: u64) -> std::result::Result<(), String> {
    let simulation = Simulation::new(SimOptions::seeded(seed));
    finished(simulation.run(|env| {
        let engine = open_with_ledger(&env);
        (0..ROWS).for_each(|key| insert(&engine, key..key + 1).expect("commits"));
        let before = engine.status().log_bytes;
        engine.run_jobs().expect("carries the rows to files and cuts the log");
        assert!(engine.status().log_bytes < before / 2, "the log was cut");
    }))?;
    simulation.power_off();
    let (path, from) = edits_behind_catalog(&simulation.env()).map_err(|error| error.to_string())?;
    simulation.faults().lose(&path, from, u64::MAX).map_err(|error| error.to_string())?;
    finished(simulation.run(|env| match open_engine(&env, &scenario()) {
        Err(error) => assert!(names_the_damage(&error) && error.hint_text().is_some(), "violation: {error}"),
        Ok(engine) => {
            let txn = engine.begin().expect("begins");
            let t = txn.table(LEDGER).expect("the table is there");
            let is_there = |&key: &i64| txn.get_row(&t, &key_of(&t, &[Value::Int(key)])).expect("reads").is_some();
            let count = (0..ROWS).filter(is_there).count();
            assert_eq!(count, ROWS as usize, "violation: it opened, and rows are lost");
        }
    }))
}

/// The manifest, and where in it the edits begin that came after the last image of the catalog: those that let the log
/// be cut. Of each record the first bytes are `WEDT`; at 24 stands how long the payload is, at 28 the kind, 1 being an
/// edit, and at 40 the payload, which begins with the table, 0 being the catalog (docs/format/manifest.md).
fn edits_behind_catalog(env: &Env) -> std::io::Result<(std::path::PathBuf, u64)> {
    let names = env.fs.list(Path::new(DIR))?;
    let name = names.iter().find(|name| name.starts_with("MANIFEST-")).expect("a database has a manifest");
    let path = Path::new(DIR).join(name);
    let file = env.fs.open(&path, OpenMode::Read)?;
    let mut bytes = vec![0; file.len()? as usize];
    file.read_exact_at(&mut bytes, 0)?;
    let word = |at: usize| bytes.get(at..at + 4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
    let is_catalog =
        |at: &usize| bytes[*at..].starts_with(b"WEDT") && word(at + 28) == Some(1) && word(at + 40) == Some(0);
    let at = (0..bytes.len()).step_by(8).rfind(is_catalog).expect("the catalog is in the manifest");
    let payload = word(at + 24).expect("the record is whole") as usize;
    Ok((path, (at + (40 + payload).next_multiple_of(8)) as u64))
}

fn a_full_disk_lets_the_log_go(seed: u64) -> std::result::Result<(), String> {
    let simulation = Arc::new(Simulation::new(SimOptions::seeded(seed)));
    let outer = Arc::clone(&simulation);
    finished(simulation.run(move |env| {
        let engine = open_with_ledger(&env);
        outer.faults().fill_disk();
        let code = insert(&engine, 10_000..12_000).expect_err("there is no space for it").code();
        assert_eq!(code, Code::DiskFull);
        outer.faults().set_capacity(None);
        (0..ROWS).for_each(|key| insert(&engine, key..key + 1).expect("there is space again"));
        engine.run_jobs().expect("carries the rows to files and cuts the log");
        let (kept, limit) = (engine.status().log_bytes, engine.options().checkpoint_log_bytes);
        assert!(kept <= limit, "violation: {kept} bytes of log are kept, the limit is {limit}");
    }))
}

fn a_panicking_writer_hangs_nobody(seed: u64) -> std::result::Result<(), String> {
    let simulation = Simulation::new(SimOptions::seeded(seed));
    finished(simulation.run(|env| {
        env.fs.create_dir_all(Path::new(DIR)).expect("makes the directory");
        let mut reader = read_log(&env, Path::new(DIR)).expect("there is none");
        assert!(reader.next().expect("there is none").is_none());
        let log = Log::create_or_continue(&env, Path::new(DIR), LogOptions::default(), reader.finish());
        let log = Arc::new(log.expect("makes a log"));
        // The second one contradicts the order of timestamps, on which whoever writes the block insists.
        let append = |ts| {
            let record = Record::Commit { txn: TxnId(ts), ts: Timestamp(ts), changes: &[] };
            log.append_waited(&record).expect("is appended")
        };
        let waiting = |ticket: Ticket| {
            let log = Arc::clone(&log);
            let wait = move || match catch_unwind(AssertUnwindSafe(|| log.wait_durable(ticket))) {
                Ok(outcome) => assert_eq!(outcome.expect_err("nobody knows").code(), Code::Poisoned),
                Err(panic) if panic.is::<String>() => {}
                // The simulation's own.
                Err(panic) => resume_unwind(panic),
            };
            env.spawn.spawn("committer", Box::new(wait)).expect("starts")
        };
        let threads = [10, 9, 11, 12].map(append).map(waiting);
        threads.into_iter().for_each(|thread| thread.join().unwrap_or_else(|text| panic!("{text}")));
    }))
}
