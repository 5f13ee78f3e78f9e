//! A follower beside the writer: what it shows after each commit is what the writer had then, through restarts of
//! either and crashes of the machine.
//!
//! ```text
//!   writer     open ─ clients, readers, jobs ─ rest ─ close or vanish ─ open again ─ ...     crash anywhere
//!   follower   join ─ commit 41: whole state = model ─ commit 42: ... ─ restart ─ join ─ ...
//!   looker     snapshots of the follower while it goes on
//!   rest       both have the same rows; the follower's check finds nothing
//! ```
//!
//! 1. After every commit that is followed, all tables are read and compared with the model of the transactions that the
//!    ledger names: all up to that commit, and no other.
//! 2. In half of the seeds the writer keeps log and files for the follower, which then never loses its way while the
//!    writer lives. In the others it does now and then, says so, and joins anew.
//! 3. Between two lives of the writer the follower comes to the end of the log, and goes on in the next one's.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync::Mutex;
use weft_env::{Env, JoinHandle};
use weft_format::{Code, Error, Lsn, Result};
use weft_kernel::log::read_log;
use weft_kernel::{Engine, EngineOptions, Follower};

use crate::history::History;
use crate::members::check_emails;
use crate::random::Random;
use crate::reader::{check_total, read_state};
use crate::round::{finish, read_everything, work_through};
use crate::scan::{check_reads, scan};
use crate::scenario::Scenario;
use crate::tables::DIR;

/// How often the writer opens in one run.
const LIVES: u64 = 2;
/// Snapshots of a looker in one life of the writer.
const LOOKS: u64 = 6;
/// So many waits, a millisecond each, bring a follower to the end of the log.
const WAITS: u32 = 20_000;

/// What happened in one seed, or in many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// Commits after each of which the follower had the model's state.
    pub commits: u64,
    /// How often a follower joined.
    pub joins: u64,
    /// How often one lost its way and said so.
    pub lost: u64,
    /// Snapshots of a follower, compared while it went on.
    pub looks: u64,
    /// Of these, refused for being too old.
    pub refused: u64,
    /// Crashes of the machine.
    pub crashes: u64,
    /// States of follower and writer compared at rest.
    pub rests: u64,
}

impl Followed {
    /// Adds another seed's.
    pub fn add(&mut self, other: &Followed) {
        let Followed { commits, joins, lost, looks, refused, crashes, rests } = *other;
        self.commits += commits;
        self.joins += joins;
        self.lost += lost;
        self.looks += looks;
        self.refused += refused;
        self.crashes += crashes;
        self.rests += rests;
    }
}

/// What the threads of a run share.
struct Shared {
    writer: Mutex<Weak<Engine>>,
    /// What was announced last.
    announced: AtomicU64,
    /// How far the follower has come.
    reached: AtomicU64,
    /// What it shows.
    shown: Mutex<Option<Arc<Engine>>>,
    stop: AtomicBool,
    history: Arc<History>,
    options: EngineOptions,
    counts: Mutex<Followed>,
}

impl Shared {
    /// How far the log is durable, as the writer says while it lives.
    fn announced(&self) -> Lsn {
        if let Some(writer) = self.writer.lock().upgrade() {
            self.announced.fetch_max(writer.announced().0, Ordering::AcqRel);
        }
        Lsn(self.announced.load(Ordering::Acquire))
    }

    fn count(&self, change: impl FnOnce(&mut Followed)) {
        change(&mut self.counts.lock());
    }
}

/// Runs a seed until the machine crashed so many times and a whole run ended well; what is violated otherwise.
pub fn follow(seed: u64, crashes: u64) -> std::result::Result<Followed, String> {
    let simulation = Simulation::new(SimOptions::seeded(seed));
    let scenario = Scenario::seeded(seed);
    let history = Arc::new(History::default());
    let mut random = Random::new(seed, 81);
    let (mut total, mut operations) = (Followed::default(), 900);
    for round in 0.. {
        let is_last = total.crashes >= crashes;
        let before = simulation.operation_count();
        if !is_last {
            simulation.crash_after(1 + random.below(operations + 100));
        }
        let shared = Arc::new(Shared {
            writer: Mutex::new(Weak::new()),
            announced: AtomicU64::new(0),
            reached: AtomicU64::new(0),
            shown: Mutex::new(None),
            stop: AtomicBool::new(false),
            history: Arc::clone(&history),
            options: EngineOptions { workers: 0, ..scenario.options.clone() },
            counts: Mutex::new(Followed::default()),
        });
        let (inner, scenario) = (Arc::clone(&shared), scenario.clone());
        let end = simulation.run(move |env| lives(&env, &scenario, &inner, seed * 1000 + round));
        simulation.cancel_crash();
        // No thread of the simulation is left.
        shared.shown.lock().take();
        total.add(&shared.counts.lock());
        match end {
            RunEnd::Panicked { thread, message } => {
                return Err(format!("seed {seed}, round {round}, thread {thread}: {message}"));
            }
            RunEnd::Crashed { .. } => total.crashes += 1,
            RunEnd::Finished if is_last => return Ok(total),
            RunEnd::Finished => operations = simulation.operation_count() - before,
        }
    }
    Ok(total)
}

/// One run: the writer opens, works and ends some times, and the follower lives on.
fn lives(env: &Env, scenario: &Scenario, shared: &Arc<Shared>, seed: u64) {
    let mut follower: Option<JoinHandle> = None;
    for life in 0..LIVES {
        let number = seed * LIVES + life;
        let mut kept = None;
        let mut looker = None;
        let (engine, mut random) = work_through(env, scenario, &shared.history, number, |env, engine| {
            kept = scenario.seed.is_multiple_of(2).then(|| engine.keep_for_followers());
            *shared.writer.lock() = Arc::downgrade(engine);
            if life == 0 {
                follower = Some(spawn(env, "follower", shared, number, follow_for_ever));
            }
            looker = Some(spawn(env, "looker", shared, number, look));
        });
        join(looker.take());
        compare_at_rest(env, &engine, shared, kept.is_some(), &mut random);
        drop(kept);
        finish(&engine, scenario, &shared.history, &mut random);
        // Its handle, and so the lock of the directory.
        drop(engine);
        shared.announced.fetch_max(end_of_log(env).0, Ordering::AcqRel);
        drop(catch_up(env, shared));
    }
    shared.stop.store(true, Ordering::Release);
    join(follower);
}

type Body = fn(&Env, &Arc<Shared>, &mut Random);

fn spawn(env: &Env, name: &str, shared: &Arc<Shared>, seed: u64, body: Body) -> JoinHandle {
    let (inner, shared) = (env.clone(), Arc::clone(shared));
    let spawned = env.spawn.spawn(name, Box::new(move || body(&inner, &shared, &mut Random::new(seed, 82))));
    spawned.unwrap_or_else(|error| panic!("violation: a thread did not start: {error}"))
}

fn join(thread: Option<JoinHandle>) {
    let thread = thread.expect("it was started");
    thread.join().unwrap_or_else(|text| panic!("{text}"));
}

/// Where the log ends that nobody writes.
fn end_of_log(env: &Env) -> Lsn {
    let read = || -> Result<Lsn> {
        let mut reader = read_log(env, Path::new(DIR))?;
        while reader.next()?.is_some() {}
        Ok(reader.finish().next_lsn)
    };
    read().unwrap_or_else(|error| panic!("violation: the log of a writer that ended cannot be read: {error}"))
}

/// Waits until the follower has everything that was announced; what shows it.
fn catch_up(env: &Env, shared: &Shared) -> Arc<Engine> {
    let announced = shared.announced();
    for _ in 0..WAITS {
        let shown = shared.shown.lock().clone().filter(|_| shared.reached.load(Ordering::Acquire) >= announced.0);
        if let Some(engine) = shown {
            return engine;
        }
        env.clock.sleep(Duration::from_millis(1));
    }
    let reached = shared.reached.load(Ordering::Acquire);
    panic!("violation: the follower came to {reached} and stays there, of {announced}");
}

fn compare_at_rest(env: &Env, writer: &Arc<Engine>, shared: &Shared, is_kept: bool, random: &mut Random) {
    writer.flush().unwrap_or_else(|error| panic!("violation: flush failed: {error}"));
    let follower = catch_up(env, shared);
    let compare = || -> Result<()> {
        let [writer, follower] = [writer, &follower].map(|engine| read_everything(engine, &mut random.clone()));
        let differences = crate::model::differences(&writer?, &follower?);
        assert!(differences.is_empty(), "violation: writer and follower differ:\n  {}", differences.join("\n  "));
        Ok(())
    };
    match compare() {
        Ok(()) => shared.count(|counts| counts.rests += 1),
        // Jobs go on, and without what the writer keeps files go that the follower has not read yet.
        Err(error) => assert!(is_gone(&error) && !is_kept, "violation: reading at rest failed: {error}"),
    }
    if is_kept {
        let findings = follower.check().unwrap_or_else(|error| panic!("violation: check failed: {error}"));
        assert!(findings.is_empty(), "violation: check found in the follower: {findings:?}");
    }
}

/// What a follower may meet when the writer keeps nothing for it.
fn is_gone(error: &Error) -> bool {
    matches!(error.code(), Code::UndefinedFile | Code::CannotConnectNow)
}

fn unless_gone<T: Default>(error: Error) -> Result<T> {
    if is_gone(&error) { Ok(T::default()) } else { panic!("violation: the follower met {error}") }
}

/// Follows until it is told to stop; now and then it starts anew.
fn follow_for_ever(env: &Env, shared: &Arc<Shared>, random: &mut Random) {
    let mut follower: Option<Follower> = None;
    while !shared.stop.load(Ordering::Acquire) {
        let Some(following) = follower.as_mut().filter(|_| !random.chance(1)) else {
            shared.shown.lock().take();
            drop(follower.take());
            follower = join_writer(env, shared, random);
            continue;
        };
        let announced = shared.announced();
        match following.follow_one(announced) {
            Ok(Some(ts)) => {
                assert_eq!(following.engine().published(), ts, "violation: a commit is published when it is followed");
                check_followed(following.engine(), shared, random);
                shared.count(|counts| counts.commits += 1);
            }
            Ok(None) => {
                shared.reached.fetch_max(announced.0, Ordering::AcqRel);
                env.clock.sleep(Duration::from_micros(1 + random.below(800)));
            }
            Err(error) => {
                assert!(is_gone(&error), "violation: the follower cannot go on: {error}");
                shared.count(|counts| counts.lost += 1);
                follower = None;
            }
        }
    }
}

fn join_writer(env: &Env, shared: &Arc<Shared>, random: &mut Random) -> Option<Follower> {
    let (methods, options) = (crate::methods(), shared.options.clone());
    match Follower::join(env.clone(), Path::new(DIR), methods, options, &|| shared.announced()) {
        Ok(follower) => {
            shared.count(|counts| counts.joins += 1);
            check_followed(follower.engine(), shared, random);
            *shared.shown.lock() = Some(Arc::clone(follower.engine()));
            Some(follower)
        }
        Err(error) => {
            assert!(is_gone(&error), "violation: a follower cannot join: {error}");
            env.clock.sleep(Duration::from_micros(1 + random.below(2000)));
            None
        }
    }
}

/// The follower shows the model's state, now.
fn check_followed(engine: &Arc<Engine>, shared: &Shared, random: &mut Random) {
    let mut look = || -> Result<()> {
        let txn = engine.begin()?;
        let state = read_state(&txn, random)?;
        check_total(&state);
        check_emails(&state);
        if let Err(violation) = shared.history.check_snapshot(txn.read_ts().0, &[], &state) {
            panic!("violation: the follower: {violation}");
        }
        txn.commit().map(|_| ())
    };
    look().or_else(unless_gone).unwrap_or_else(|error| panic!("violation: reading what was followed failed: {error}"));
}

/// Snapshots of the follower while it goes on.
fn look(env: &Env, shared: &Arc<Shared>, random: &mut Random) {
    for _ in 0..LOOKS {
        env.clock.sleep(Duration::from_micros(random.below(4000)));
        let Some(engine) = shared.shown.lock().clone() else { continue };
        let mut snapshot = || -> Result<()> {
            let txn = engine.begin()?;
            // Now and then longer than files and entries stay that an old snapshot needs.
            let most = if random.chance(50) { 20_000 } else { 1_500 };
            env.clock.sleep(Duration::from_micros(random.below(most)));
            let state = read_state(&txn, random)?;
            check_total(&state);
            check_emails(&state);
            if let Err(violation) = shared.history.check_snapshot(txn.read_ts().0, &[], &state) {
                panic!("violation: a snapshot of the follower: {violation}");
            }
            for def in txn.tables() {
                let table = txn.table(&def.name)?;
                let rows = scan(&txn, &table, random)?;
                check_reads(&txn, &table, &rows, random)?;
            }
            Ok(())
        };
        match snapshot() {
            Ok(()) => shared.count(|counts| counts.looks += 1),
            Err(error) if error.code() == Code::SerializationFailure => shared.count(|counts| counts.refused += 1),
            Err(error) => assert!(is_gone(&error), "violation: a snapshot of the follower failed: {error}"),
        }
    }
}
