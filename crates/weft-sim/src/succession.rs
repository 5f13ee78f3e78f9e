//! Writers that follow each other while the one before goes on: promotion of nodes, and what epochs keep from being
//! lost.
//!
//! ```text
//!   writer 1   opens ─ clients ─ jobs ───────────────── goes on, has lost the directory, is refused ─ ends
//!   node 0     joins ─ snapshots ─ promoted (overtakes) = writer 2 ─ clients ─ jobs ─ ...
//!   node 1     joins ─ snapshots ──────────────────────── goes on in the next epoch ─ ...
//!   opening    takes the directory ─ hangs in the midst ──── goes on, blind or not ─ fails, and has harmed nobody
//!   rest       the last writer and the node have all that was ever acknowledged     the machine may crash anywhere
//! ```
//!
//! Each transaction inserts one key, which nobody else inserts, into a column table and a row table.
//!
//! 1. What was acknowledged, by whichever writer, is in every snapshot from its timestamp on, of writers and nodes, and
//!    in none before.
//! 2. What a writer wrote that its successor has not found when it opened is nowhere, ever.
//! 3. What a snapshot has shown is in all later ones.
//! 4. In half of the seeds the one before has no moment to notice: then its clients are in the midst of a commit, and
//!    it runs no jobs, whose one late call would do harm (`term` 5).
//! 5. A node that does not join anew when the writer changes shows the same as one that does.
//! 6. An opening that hangs while another one comes is told so, and nothing of what it does then matters, even if it
//!    never looks (`term` 6): in half of the seeds it sees the directory as its own from then on.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::{DirLock, Env, File, Fs, JoinHandle, OpenMode};
use weft_format::{Code, Column, DataType, Error, Result, Schema, Value, ValueRef};
use weft_kernel::step::Step;
use weft_kernel::{Engine, EngineOptions, NewTable, TableRef, Transaction};
use weft_replica::{Herald, HeraldOptions, Node, NodeOptions, Waited};

use crate::random::Random;
use crate::scenario::Scenario;
use crate::tables::DIR;

const TABLES: [(&str, &str); 2] = [("c", "column"), ("r", "row")];
const CLIENTS: u64 = 2;
/// A violation ends the run.
const WHOLE: &str = "no thread panics while it holds the model";
const NODES: usize = 2;
/// How long a node may take to show what it must, in the simulation's time.
const LIMIT: Duration = Duration::from_secs(60);

/// What happened in one seed, or in many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuccessionCounts {
    /// Commits that were acknowledged.
    pub acknowledged: u64,
    /// Commits of writers that had lost the directory, and were told so.
    pub refused: u64,
    /// Nodes that became writers.
    pub promoted: u64,
    /// Openings that were overtaken.
    pub overtaken: u64,
    /// Snapshots that were compared.
    pub looks: u64,
    /// How often a node joined anew by itself.
    pub rejoins: u64,
    /// Crashes of the machine.
    pub crashes: u64,
}

impl SuccessionCounts {
    /// Adds another seed's.
    pub fn add(&mut self, other: &SuccessionCounts) {
        let SuccessionCounts { acknowledged, refused, promoted, overtaken, looks, rejoins, crashes } = *other;
        self.acknowledged += acknowledged;
        self.refused += refused;
        self.promoted += promoted;
        self.overtaken += overtaken;
        self.looks += looks;
        self.rejoins += rejoins;
        self.crashes += crashes;
    }
}

/// What became of a key.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    writer: u64,
    /// Its commit's timestamp, when it was acknowledged.
    acknowledged: Option<u64>,
    has_failed: bool,
    /// It was shown at this timestamp, or before.
    shown: Option<u64>,
}

#[derive(Default)]
struct Model {
    attempts: BTreeMap<i64, Attempt>,
    /// What each writer has found when it opened, in their order.
    found: Vec<(u64, BTreeSet<i64>)>,
    writers: u64,
    counts: SuccessionCounts,
}

impl Model {
    fn attempt(&mut self, writer: u64) -> i64 {
        let key = self.attempts.len() as i64;
        self.attempts.insert(key, Attempt { writer, acknowledged: None, has_failed: false, shown: None });
        key
    }

    /// A snapshot shows these keys.
    fn check(&mut self, who: &str, read_ts: u64, keys: &BTreeSet<i64>) {
        self.counts.looks += 1;
        for (key, attempt) in &mut self.attempts {
            let Attempt { writer, acknowledged, has_failed, shown } = *attempt;
            let told = format!("{who} at {read_ts}, key {key}: {attempt:?}");
            if keys.contains(key) {
                assert!(!has_failed, "violation: what failed is shown: {told}");
                assert!(acknowledged.is_none_or(|ts| ts <= read_ts), "violation: shown before its time: {told}");
                let missed = self.found.iter().find(|(other, found)| *other > writer && !found.contains(key));
                assert!(missed.is_none(), "violation: its successor has not found it: {told}");
                attempt.shown = Some(shown.map_or(read_ts, |before| before.min(read_ts)));
            } else {
                assert!(acknowledged.is_none_or(|ts| ts > read_ts), "violation: what was acknowledged is lost: {told}");
                assert!(shown.is_none_or(|ts| ts > read_ts), "violation: what was shown is gone: {told}");
            }
        }
        let unknown = keys.iter().find(|key| !self.attempts.contains_key(key));
        assert!(unknown.is_none(), "violation: {who} shows a key that nobody inserted: {unknown:?}");
    }
}

/// Lets a thread call something after each step that it does; none: no more. The kernel's own exists where tests are
/// built alone.
pub type OnStep = fn(Option<Box<dyn FnMut(Step)>>);

struct Shared {
    on_step: OnStep,
    model: Arc<Mutex<Model>>,
    scenario: Scenario,
    stop: AtomicBool,
}

impl Shared {
    /// Held for memory work only: it is no mutex of the simulation.
    fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().expect(WHOLE)
    }
}

/// Runs a seed until the machine crashed so many times and a whole run ended well; what is violated otherwise.
pub fn run_succession(seed: u64, crashes: u64, on_step: OnStep) -> std::result::Result<SuccessionCounts, String> {
    let simulation = Simulation::new(SimOptions::seeded(seed));
    let model = Arc::new(Mutex::new(Model::default()));
    let mut random = Random::new(seed, 91);
    let (mut crashed, mut operations) = (0, 1500);
    for round in 0.. {
        let is_last = crashed >= crashes;
        let before = simulation.operation_count();
        if !is_last {
            simulation.crash_after(1 + random.below(operations + 100));
        }
        let scenario = Scenario::seeded(seed);
        let shared = Arc::new(Shared { on_step, model: Arc::clone(&model), scenario, stop: AtomicBool::new(false) });
        let inner = Arc::clone(&shared);
        let end = simulation.run(move |env| run(&env, &inner, &mut Random::new(seed * 1000 + round, 92)));
        simulation.cancel_crash();
        match end {
            RunEnd::Panicked { thread, message } => {
                return Err(format!("seed {seed}, round {round}, thread {thread}: {message}"));
            }
            RunEnd::Crashed { .. } => crashed += 1,
            RunEnd::Finished if is_last => break,
            RunEnd::Finished => operations = simulation.operation_count() - before,
        }
    }
    let counts = SuccessionCounts { crashes: crashed, ..model.lock().expect(WHOLE).counts };
    Ok(counts)
}

/// A writer and what works for it.
struct Reign {
    number: u64,
    engine: Arc<Engine>,
    herald: Arc<Herald>,
    threads: Vec<JoinHandle>,
}

/// One run: writers follow each other, and the nodes live on.
fn run(env: &Env, shared: &Arc<Shared>, random: &mut Random) {
    let opened = open(env, shared, false).unwrap_or_else(|error| panic!("violation: open failed: {error}"));
    let mut reigns = vec![reign(env, shared, opened, random)];
    let nodes: Vec<Arc<Node>> = (0..NODES).map(|number| Arc::new(start(env, shared, number, random))).collect();
    let lookers: Vec<JoinHandle> = nodes.iter().map(|node| spawn_looker(env, shared, node, random)).collect();
    env.clock.sleep(Duration::from_micros(random.below(20_000)));
    // The writer before goes on.
    let promoted = nodes[0].promote(EngineOptions { takes_over: true, ..options(shared) });
    let promoted = promoted.unwrap_or_else(|error| panic!("violation: a node was not promoted: {error}"));
    shared.model().counts.promoted += 1;
    reigns.push(reign(env, shared, promoted.engine, random));
    env.clock.sleep(Duration::from_micros(random.below(20_000)));
    let slow = random.chance(60).then(|| spawn_slow(env, shared, random));
    if slow.is_some() || random.chance(50) {
        // Somebody who followed nobody, or the one before, started again.
        let opened = open(env, shared, true).unwrap_or_else(|error| panic!("violation: overtaking failed: {error}"));
        reigns.push(reign(env, shared, opened, random));
        env.clock.sleep(Duration::from_micros(random.below(20_000)));
    }
    for reign in &mut reigns {
        let threads = std::mem::take(&mut reign.threads);
        threads.into_iter().for_each(|thread| thread.join().unwrap_or_else(|text| panic!("{text}")));
    }
    slow.into_iter().for_each(|slow| slow.join().unwrap_or_else(|text| panic!("{text}")));
    shared.stop.store(true, Ordering::Release);
    lookers.into_iter().for_each(|looker| looker.join().unwrap_or_else(|text| panic!("{text}")));
    end(shared, &mut reigns, &nodes[1..], random);
}

/// At rest all show the same, and it is what was acknowledged.
fn end(shared: &Shared, reigns: &mut Vec<Reign>, nodes: &[Arc<Node>], random: &mut Random) {
    let last = reigns.pop().expect("somebody writes");
    last.engine.flush().unwrap_or_else(|error| panic!("violation: flush failed: {error}"));
    let keys = look(shared, &last.engine, &format!("writer {}", last.number), &AtomicU64::new(0));
    for node in nodes {
        let waited = node.wait_latest(LIMIT, None).unwrap_or_else(|error| panic!("violation: a wait failed: {error}"));
        assert_eq!(waited, Waited::Shown, "violation: a node does not come to the end: {:?}", node.status());
        let shown = look(shared, &node.engine(), "a node at rest", &AtomicU64::new(0));
        assert!(shown.is_none() || keys.is_none() || shown == keys, "violation: writer and node differ");
        let rejoins = node.status().joins - 1;
        shared.model().counts.rejoins += rejoins;
        node.stop();
    }
    let findings = last.engine.check().unwrap_or_else(|error| panic!("violation: check failed: {error}"));
    assert!(findings.is_empty(), "violation: check found: {findings:?}");
    for reign in reigns.drain(..) {
        reign.herald.stop();
        assert!(reign.engine.check_writes().is_err(), "violation: a writer that was overtaken may write");
        drop(reign.engine.close());
    }
    last.herald.stop();
    if random.chance(50) {
        let closed = last.engine.close_and(|| last.herald.farewell());
        closed.unwrap_or_else(|error| panic!("violation: close failed: {error}"));
    }
}

/// An opening that hangs in its midst, long enough for another one to come and work; when it has begun to.
fn spawn_slow(env: &Env, shared: &Arc<Shared>, random: &mut Random) -> JoinHandle {
    const STEPS: [Step; 3] = [Step::RECOVERY_LOG_REPLAYED, Step::LOG_SEGMENT_SYNCED, Step::RECOVERY_LOG_CONTINUED];
    let (step, millis) = (STEPS[random.below(3) as usize], 2500 + random.below(3000));
    let fs = Arc::new(Blind { fs: Arc::clone(&env.fs), sees_itself: AtomicBool::new(false) });
    let (is_blind, hangs) = (random.chance(50), Arc::new(AtomicBool::new(false)));
    let (inner, shared, has_hung) = (env.clone(), Arc::clone(shared), Arc::clone(&hangs));
    let body = move || {
        let (clock, hung, blind) = (Arc::clone(&inner.clock), Arc::clone(&has_hung), Arc::clone(&fs));
        (shared.on_step)(Some(Box::new(move |reached| {
            if reached == step && !hung.swap(true, Ordering::AcqRel) {
                clock.sleep(Duration::from_millis(millis));
                blind.sees_itself.store(is_blind, Ordering::Release);
            }
        })));
        let opened = open(&Env { fs: fs.clone(), ..inner.clone() }, &shared, true);
        (shared.on_step)(None);
        assert!(has_hung.swap(true, Ordering::AcqRel), "violation: an opening failed: {:?}", opened.err());
        match opened {
            Ok(_) => assert!(is_blind, "violation: an opening that was overtaken has succeeded"),
            Err(error) => assert!(is_blind || error.code() == Code::Poisoned, "violation: an opening failed: {error}"),
        }
        shared.model().counts.overtaken += 1;
    };
    let spawned = env.spawn.spawn("slow", Box::new(body));
    while !hangs.load(Ordering::Acquire) {
        env.clock.sleep(Duration::from_micros(200));
    }
    spawned.unwrap_or_else(|error| panic!("violation: a thread did not start: {error}"))
}

/// Files as one sees them who, from some moment on, does not notice that it has lost the directory.
struct Blind {
    fs: Arc<dyn Fs>,
    sees_itself: AtomicBool,
}

impl Fs for Blind {
    fn exists(&self, path: &Path) -> io::Result<bool> {
        let is_writer = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("WRITER-"));
        if is_writer && self.sees_itself.load(Ordering::Acquire) { Ok(true) } else { self.fs.exists(path) }
    }
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.fs.open(path, mode)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.fs.list(dir)
    }
    fn is_stream(&self, path: &Path) -> io::Result<bool> {
        self.fs.is_stream(path)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.fs.rename_new(from, to)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.fs.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.fs.remove(path)
    }
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.fs.create_dir_all(dir)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.fs.sync_dir(dir)
    }
    fn lock(&self, path: &Path, owner: &str) -> io::Result<Box<dyn DirLock>> {
        self.fs.lock(path, owner)
    }
    fn break_lock(&self, path: &Path) -> io::Result<()> {
        self.fs.break_lock(path)
    }
    fn open_files_max(&self) -> Option<u64> {
        self.fs.open_files_max()
    }
}

fn options(shared: &Shared) -> EngineOptions {
    // What is frozen is carried to files by hand, while others write.
    let notice = if is_hasty(shared) { Duration::ZERO } else { Duration::from_secs(2) };
    EngineOptions { workers: 0, notice, ..shared.scenario.options.clone() }
}

/// Whether no writer has a moment to notice that it was overtaken.
fn is_hasty(shared: &Shared) -> bool {
    shared.scenario.seed.is_multiple_of(2)
}

fn open(env: &Env, shared: &Shared, takes_over: bool) -> Result<Arc<Engine>> {
    let options = EngineOptions { takes_over, ..options(shared) };
    Engine::open(env.clone(), Path::new(DIR), crate::methods(), options)
}

/// Begins with what it has found.
fn reign(env: &Env, shared: &Arc<Shared>, engine: Arc<Engine>, random: &mut Random) -> Reign {
    let number = {
        let mut model = shared.model();
        model.writers += 1;
        model.writers
    };
    // Another may be about to overtake this one.
    let is_refused = |error: Error| assert_eq!(error.code(), Code::Poisoned, "violation: setting up failed: {error}");
    set_up(&engine).unwrap_or_else(is_refused);
    if let Some(keys) = look(shared, &engine, &format!("writer {number}, opened"), &AtomicU64::new(0)) {
        shared.model().found.push((number, keys));
    }
    let bounds = HeraldOptions { beat: Duration::from_millis(4), ..HeraldOptions::default() };
    let herald =
        Herald::start(&engine, bounds).unwrap_or_else(|error| panic!("violation: nothing is announced: {error}"));
    let mut threads = Vec::new();
    for client in 0..=CLIENTS {
        let (inner, shared, engine) = (env.clone(), Arc::clone(shared), Arc::clone(&engine));
        let mut random = Random::new(random.next_u64(), 93);
        let body = move || match client {
            CLIENTS if is_hasty(&shared) => {}
            CLIENTS => keep_house(&inner, &engine, &mut random),
            _ => write(&inner, &shared, &engine, number, &mut random),
        };
        let spawned = env.spawn.spawn(&format!("client {client} of writer {number}"), Box::new(body));
        threads.push(spawned.unwrap_or_else(|error| panic!("violation: a thread did not start: {error}")));
    }
    Reign { number, engine, herald: Arc::new(herald), threads }
}

fn set_up(engine: &Arc<Engine>) -> Result<()> {
    let mut txn = engine.begin()?;
    if txn.table(TABLES[0].0).is_ok() {
        return Ok(());
    }
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: false };
    for (name, method) in TABLES {
        txn.create_table(NewTable::new(name, Schema::new(vec![column("k"), column("v")], vec![0]), method))?;
    }
    txn.commit().map(|_| ())
}

fn key_of(table: &TableRef, key: i64) -> Vec<u8> {
    table.keys.encode([ValueRef::Int(key)])
}

fn insert(engine: &Arc<Engine>, key: i64) -> Result<u64> {
    let mut txn = engine.begin()?;
    for (name, _) in TABLES {
        let table = txn.table(name)?;
        txn.insert(&table, &table.codec.encode([ValueRef::Int(key), ValueRef::Int(key * 3)]))?;
    }
    Ok(txn.commit()?.0)
}

/// A client, until it has done enough or is refused.
fn write(env: &Env, shared: &Shared, engine: &Arc<Engine>, number: u64, random: &mut Random) {
    for _ in 0..6 + random.below(14) {
        let key = shared.model().attempt(number);
        let inserted = insert(engine, key);
        let mut model = shared.model();
        let Model { attempts, counts, .. } = &mut *model;
        let attempt = attempts.get_mut(&key).expect("it was attempted");
        match inserted {
            Ok(ts) => {
                attempt.acknowledged = Some(ts);
                counts.acknowledged += 1;
            }
            // Nobody knows whether it counts.
            Err(error) if error.code() == Code::Poisoned => {
                counts.refused += 1;
                return;
            }
            Err(error) => {
                let expected = [Code::OutOfMemory, Code::SerializationFailure];
                assert!(expected.contains(&error.code()), "violation: a client met an unexpected error: {error}");
                attempt.has_failed = true;
            }
        }
        drop(model);
        // Now and then longer than who overtakes it waits.
        let most = if random.chance(5) { 3_000_000 } else { 2000 };
        env.clock.sleep(Duration::from_micros(random.below(most)));
    }
}

/// Carries rows to files and cuts the log, until it has done enough or is refused.
fn keep_house(env: &Env, engine: &Arc<Engine>, random: &mut Random) {
    for _ in 0..4 {
        let done = engine.freeze().and_then(|()| engine.run_jobs()).and_then(|_| engine.checkpoint());
        if let Err(error) = done {
            let refused = [Code::Poisoned, Code::ShuttingDown];
            assert!(refused.contains(&error.code()), "violation: a job failed: {error}");
            return;
        }
        env.clock.sleep(Duration::from_micros(random.below(6000)));
    }
}

fn start(env: &Env, shared: &Shared, number: usize, random: &mut Random) -> Node {
    let options = NodeOptions {
        name: Some(format!("n{number}")),
        engine: options(shared),
        poll: Duration::from_micros(200 + random.below(2000)),
        ..NodeOptions::default()
    };
    let node = Node::start(env, Path::new(DIR), crate::methods(), options, Box::new(|_, _| {}));
    node.unwrap_or_else(|error| panic!("violation: a node cannot start: {error}"))
}

fn spawn_looker(env: &Env, shared: &Arc<Shared>, node: &Arc<Node>, random: &mut Random) -> JoinHandle {
    let (inner, shared, node) = (env.clone(), Arc::clone(shared), Arc::clone(node));
    let mut random = Random::new(random.next_u64(), 94);
    let body = move || {
        let seen = AtomicU64::new(0);
        while !shared.stop.load(Ordering::Acquire) {
            inner.clock.sleep(Duration::from_micros(random.below(8000)));
            look_at_latest(&shared, &node, &seen, random.chance(50));
        }
    };
    let spawned = env.spawn.spawn("looker", Box::new(body));
    spawned.unwrap_or_else(|error| panic!("violation: a thread did not start: {error}"))
}

/// What was acknowledged before somebody asked for the latest is shown then.
fn look_at_latest(shared: &Shared, node: &Node, seen: &AtomicU64, is_latest: bool) {
    let acknowledged = shared.model().attempts.values().filter_map(|attempt| attempt.acknowledged).max();
    let waited = is_latest.then(|| node.wait_latest(Duration::from_millis(200), None));
    look(shared, &node.engine(), "a node", seen);
    if let Some(Ok(Waited::Shown)) = waited {
        let shown = seen.load(Ordering::Acquire);
        assert!(
            acknowledged.is_none_or(|ts| ts <= shown),
            "violation: {acknowledged:?} was acknowledged, {shown} is shown"
        );
    }
}

/// A snapshot, compared; none when files that it needs have gone, or the engine has ended.
fn look(shared: &Shared, engine: &Arc<Engine>, who: &str, seen: &AtomicU64) -> Option<BTreeSet<i64>> {
    let snapshot = || -> Result<(u64, BTreeSet<i64>)> {
        let txn = engine.begin()?;
        let most = shared.model().attempts.len() as i64;
        let [columns, rows] = [keys(&txn, TABLES[0].0, most)?, keys(&txn, TABLES[1].0, most)?];
        assert_eq!(columns, rows, "violation: {who} shows half of a transaction");
        Ok((txn.read_ts().0, rows))
    };
    match snapshot() {
        Ok((read_ts, keys)) => {
            let before = seen.fetch_max(read_ts, Ordering::AcqRel);
            assert!(read_ts >= before, "violation: {who} showed {before}, then {read_ts}");
            shared.model().check(who, read_ts, &keys);
            Some(keys)
        }
        Err(error) => {
            let gone = [Code::UndefinedFile, Code::SerializationFailure, Code::ShuttingDown, Code::UndefinedTable];
            assert!(gone.contains(&error.code()), "violation: reading failed: {error}");
            None
        }
    }
}

fn keys(txn: &Transaction, table: &str, most: i64) -> Result<BTreeSet<i64>> {
    let table = txn.table(table)?;
    let mut keys = BTreeSet::new();
    for key in 0..most {
        let mut values = Vec::new();
        if txn.get(&table, &key_of(&table, key), &[1], &mut values)? {
            assert_eq!(values, [Value::Int(key * 3)], "violation: key {key} has another value");
            keys.insert(key);
        }
    }
    Ok(keys)
}
