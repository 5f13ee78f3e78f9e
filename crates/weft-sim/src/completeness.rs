//! Promises about the ends of the log and the manifest, each a short script with a fault of the disk in it.
//!
//! ```text
//!   the log was cut behind an edit; the edit is lost        the opening is refused, or every row is there
//!   a transaction of many chunks meets a full disk          with space again the log goes back to its limit
//!   the thread that writes the log panics                   everybody who waits is told
//!   a page is about to be written                           the record of its last change is on disk
//!   jobs run, the power goes, more jobs run                 the log told of every edit of the manifest, in order
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::{Env, OpenMode};
use weft_format::{Code, RecordNo, Result, Timestamp, TxnId, Value, ValueRef};
use weft_kernel::log::{Log, LogOptions, Record, Ticket, read_log};
use weft_kernel::manifest::{LayoutSwitch, Manifest};
use weft_kernel::step::Step;
use weft_kernel::{Engine, EngineOptions};

use crate::damage::names_the_damage;
use crate::random::Random;
use crate::round::open_engine;
use crate::scenario::Scenario;
use crate::tables::{DIR, LEDGER, LINEAGE_PERCENT, new_table};
use crate::work::key_of;

type Promise = fn(u64) -> std::result::Result<(), String>;

const PROMISES: [(&str, Promise); 5] = [
    ("a manifest that lost the edit which let the log be cut is refused", a_lost_edit_is_missed),
    ("a large transaction that meets a full disk lets the log go", a_full_disk_lets_the_log_go),
    ("a panic of the thread that writes the log is told to who waits", a_panicking_writer_hangs_nobody),
    ("the log goes before the page", the_log_goes_before_the_page),
    ("the log tells of every edit of the manifest", every_edit_is_told),
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
    let mut new = new_table(LEDGER, LINEAGE_PERCENT, 0, &mut Random::new(1, 1));
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
    // Once more is written the log names the edit in any case.
    simulation.crash_at_step(Step::LOG_SEGMENT_REMOVED.name(), 1);
    let end = simulation.run(|env| {
        let engine = open_with_ledger(&env);
        (0..ROWS).for_each(|key| insert(&engine, key..key + 1).expect("commits"));
        engine.run_jobs().expect("carries the rows to files and cuts the log");
    });
    if !matches!(end, RunEnd::Crashed { .. }) {
        return Err(format!("the log was not cut: {end:?}"));
    }
    simulation.cancel_crash();
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

/// A log in a directory that has none.
fn new_log(env: &Env) -> Log {
    env.fs.create_dir_all(Path::new(DIR)).expect("makes the directory");
    env.fs.sync_dir(Path::new("")).expect("makes its name durable");
    let mut reader = read_log(env, Path::new(DIR)).expect("there is none");
    assert!(reader.next().expect("there is none").is_none());
    Log::create_or_continue(env, Path::new(DIR), LogOptions::default(), reader.finish()).expect("makes a log")
}

fn the_log_goes_before_the_page(seed: u64) -> std::result::Result<(), String> {
    let simulation = Simulation::new(SimOptions::seeded(seed));
    finished(simulation.run(|env| {
        let log = new_log(&env);
        log.append(&Record::Chunk { txn: TxnId(1), changes: &[] }).expect("is appended");
        let number = log.append(&Record::Abort { txn: TxnId(1) }).expect("is appended");
        // From here on a page with this number could be written.
        log.flush_to(number).expect("the disk has space");
    }))?;
    simulation.power_off();
    finished(simulation.run(|env| {
        let mut reader = read_log(&env, Path::new(DIR)).expect("the log is whole");
        while reader.next().expect("the log is whole").is_some() {}
        assert_eq!(reader.finish().last_number, RecordNo(2), "violation: the log went behind the page");
    }))
}

/// Jobs run in two openings, and the power goes in the middle of each.
fn every_edit_is_told(seed: u64) -> std::result::Result<(), String> {
    let mut random = Random::new(seed, 8);
    for crash in [Some(40 + random.below(400)), None] {
        let simulation = Simulation::new(SimOptions::seeded(seed));
        let mut told = 0;
        for round in 0..3 {
            if let Some(point) = crash.filter(|_| round < 2) {
                simulation.crash_after(point);
            }
            let end = simulation.run(move |env| {
                let engine = if round == 0 { open_with_ledger(&env) } else { reopened(&env) };
                let first = round * 1_000;
                for key in (first..first + 100).step_by(10) {
                    insert(&engine, key..key + 10).expect("commits");
                    engine.freeze().expect("freezes what is in memory");
                    engine.run_jobs().expect("carries rows to files");
                }
                engine.close().expect("closes");
            });
            simulation.cancel_crash();
            match end {
                RunEnd::Finished | RunEnd::Crashed { .. } => simulation.power_off(),
                end => return Err(format!("{end:?}")),
            }
            let is_closed = matches!(end, RunEnd::Finished);
            let found = told_edits(&simulation.env()).map_err(|error| error.to_string())?;
            let Some((last, edits, is_whole)) = found else { continue };
            if last > edits || (is_closed && last < edits) || !is_whole {
                return Err(format!("the log tells of edit {last} at last, not of each, the manifest has {edits}"));
            }
            told = edits;
        }
        if told < 10 {
            return Err(format!("only {told} edits in three rounds"));
        }
    }
    Ok(())
}

fn reopened(env: &Env) -> Arc<Engine> {
    let engine = open_engine(env, &scenario()).expect("what a crash left opens");
    let txn = engine.begin().expect("begins");
    let is_new = txn.table(LEDGER).is_err();
    drop(txn);
    if is_new {
        drop(engine);
        return open_with_ledger(env);
    }
    engine
}

/// The last edit that the log tells of, how many the manifest has, and whether those that the log tells of follow one
/// upon the other, but where one switch tells of all so far; none when there is no database yet.
fn told_edits(env: &Env) -> Result<Option<(u64, u64, bool)>> {
    if !env.fs.exists(&Path::new(DIR).join("CURRENT")).unwrap_or(false) {
        return Ok(None);
    }
    let mut reader = read_log(env, Path::new(DIR))?;
    let (mut last, mut is_whole) = (None, true);
    while let Some(entry) = reader.next()? {
        let Record::Layout { edit, switch } = entry.record else { continue };
        let is_anew = LayoutSwitch::decode(switch) == Some(LayoutSwitch::Anew);
        is_whole &= is_anew || last.is_none_or(|last: u64| edit == last + 1);
        last = Some(edit);
    }
    let edits = Manifest::open(env, Path::new(DIR))?.1.edits;
    Ok(Some((reader.finish().told_edit, edits, is_whole)))
}

fn a_panicking_writer_hangs_nobody(seed: u64) -> std::result::Result<(), String> {
    let simulation = Simulation::new(SimOptions::seeded(seed));
    finished(simulation.run(|env| {
        let log = Arc::new(new_log(&env));
        // The second one contradicts the order of timestamps, on which whoever writes the block insists.
        let append = |ts| {
            let record = Record::Commit { txn: TxnId(ts), ts: Timestamp(ts), wall: None, changes: &[] };
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
