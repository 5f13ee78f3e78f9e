//! Nodes in processes of their own beside the writer: they share nothing with it but its directory.
//!
//! ```text
//!   writer   open ─ herald ─ clients, jobs ─ rest ─ close or vanish ─ open again ─ ...          crash anywhere
//!   node 0   start ─ whole state = model ─ latest? = all that was acknowledged ─ leave ─ start ─ ...
//!   node 1   the same
//!   rest     one more joins, has the rows of the writer, and its check finds nothing
//! ```
//!
//! 1. Each snapshot of a node is the model's state at its timestamp, and not older than the one before it.
//! 2. Who waits for the latest sees what was acknowledged before, as far as it is durable.
//! 3. In some seeds the writer keeps little or nothing for its nodes. They lose their way, say so, and join anew.
//! 4. Nothing is read between two lives of the writer: the model goes on from what the opening found.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync::{Mutex, RwLock};
use weft_env::{Env, JoinHandle};
use weft_format::{Code, Error, Result};
use weft_kernel::{Engine, EngineOptions};
use weft_replica::{Herald, HeraldOptions, Node, NodeOptions, Waited};

use crate::history::History;
use crate::members::check_emails;
use crate::random::Random;
use crate::reader::{check_total, read_state};
use crate::round::{finish, read_everything, work_through};
use crate::scenario::Scenario;
use crate::tables::DIR;

/// How often the writer opens in one run.
const LIVES: u64 = 2;
/// How many nodes there are.
const NODES: u64 = 2;
/// How long a node may take to show what it must, in the simulation's time.
const LIMIT: Duration = Duration::from_secs(60);

/// What happened in one seed, or in many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounts {
    /// Snapshots of nodes that are the model's state.
    pub looks: u64,
    /// Of these, after a wait for the latest.
    pub latest: u64,
    /// Statements of snapshots that met a file which is gone, or were too old.
    pub refused: u64,
    /// Starts of nodes.
    pub starts: u64,
    /// How often a node joined anew by itself.
    pub rejoins: u64,
    /// States of writer and node compared at rest.
    pub rests: u64,
    /// Crashes of the machine.
    pub crashes: u64,
}

impl NodeCounts {
    /// Adds another seed's.
    pub fn add(&mut self, other: &NodeCounts) {
        let NodeCounts { looks, latest, refused, starts, rejoins, rests, crashes } = *other;
        self.looks += looks;
        self.latest += latest;
        self.refused += refused;
        self.starts += starts;
        self.rejoins += rejoins;
        self.rests += rests;
        self.crashes += crashes;
    }
}

/// What the threads of a run share.
struct Shared {
    history: Arc<History>,
    options: EngineOptions,
    /// Held for writing while the writer is away (nodes 4).
    gate: RwLock<()>,
    /// What the last opening of the writer found, or a later commit.
    floor: AtomicU64,
    stop: AtomicBool,
    counts: Mutex<NodeCounts>,
}

impl Shared {
    fn count(&self, change: impl FnOnce(&mut NodeCounts)) {
        change(&mut self.counts.lock());
    }
}

/// Runs a seed until the machine crashed so many times and a whole run ended well; what is violated otherwise.
pub fn run_nodes(seed: u64, crashes: u64) -> std::result::Result<NodeCounts, String> {
    let simulation = Simulation::new(SimOptions::seeded(seed));
    let scenario = Scenario::seeded(seed);
    let history = Arc::new(History::default());
    let mut random = Random::new(seed, 83);
    let (mut total, mut operations) = (NodeCounts::default(), 2000);
    for round in 0.. {
        let is_last = total.crashes >= crashes;
        let before = simulation.operation_count();
        if !is_last {
            simulation.crash_after(1 + random.below(operations + 100));
        }
        let shared = Arc::new(Shared {
            history: Arc::clone(&history),
            options: EngineOptions { workers: 0, ..scenario.options.clone() },
            gate: RwLock::new(()),
            floor: AtomicU64::new(u64::MAX),
            stop: AtomicBool::new(false),
            counts: Mutex::default(),
        });
        let (inner, scenario) = (Arc::clone(&shared), scenario.clone());
        let end = simulation.run(move |env| lives(&env, &scenario, &inner, seed * 1000 + round));
        simulation.cancel_crash();
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

/// One run: the writer opens, works and ends some times, and the nodes live on.
fn lives(env: &Env, scenario: &Scenario, shared: &Arc<Shared>, seed: u64) {
    let mut nodes: Vec<JoinHandle> = Vec::new();
    for life in 0..LIVES {
        let number = seed * LIVES + life;
        let gate = shared.gate.write();
        let mut herald = None;
        let (engine, mut random) = work_through(env, scenario, &shared.history, number, |env, engine| {
            // Clients write by now, and not all that is published is durable.
            shared.floor.store(engine.durable().last.0, Ordering::Release);
            let started = Herald::start(engine, bounds(scenario));
            herald = Some(started.unwrap_or_else(|error| panic!("violation: nothing is announced: {error}")));
            drop(gate);
            if life == 0 {
                nodes = (0..NODES).map(|node| spawn(env, shared, number, node)).collect();
            }
        });
        let herald = herald.expect("it was started");
        compare_at_rest(env, &engine, shared, &mut random);
        herald.stop();
        let gate = shared.gate.write();
        finish(&engine, scenario, &shared.history, &mut random);
        if engine.begin().is_err() {
            herald.farewell();
        }
        // Its handle, and so the lock of the directory.
        drop((herald, engine));
        drop(gate);
    }
    shared.stop.store(true, Ordering::Release);
    nodes.into_iter().for_each(|node| node.join().unwrap_or_else(|text| panic!("{text}")));
}

/// What the writer keeps for nodes, by the seed (nodes 3).
fn bounds(scenario: &Scenario) -> HeraldOptions {
    let (keep_bytes, keep_time) = match scenario.seed % 4 {
        0 => (0, Duration::from_secs(600)),
        1 => (8 << 10, Duration::from_millis(20)),
        _ => (1 << 30, Duration::from_secs(600)),
    };
    HeraldOptions { keep_bytes, keep_time, beat: Duration::from_millis(4), machine: 0 }
}

fn spawn(env: &Env, shared: &Arc<Shared>, seed: u64, number: u64) -> JoinHandle {
    let (inner, shared) = (env.clone(), Arc::clone(shared));
    let body = move || live(&inner, &shared, number, &mut Random::new(seed, 84 + number));
    let spawned = env.spawn.spawn(&format!("reader of node {number}"), Box::new(body));
    spawned.unwrap_or_else(|error| panic!("violation: a thread did not start: {error}"))
}

/// A node's lives.
fn live(env: &Env, shared: &Arc<Shared>, number: u64, random: &mut Random) {
    let mut seen = 0;
    while !shared.stop.load(Ordering::Acquire) {
        let Some(node) = start(env, shared, &format!("n{number}"), random) else { continue };
        for _ in 0..2 + random.below(6) {
            env.clock.sleep(Duration::from_micros(random.below(4000)));
            if !shared.stop.load(Ordering::Acquire) {
                look(shared, &node, &mut seen, random);
            }
        }
        check_losses(&node);
        shared.count(|counts| counts.rejoins += node.status().joins - 1);
        node.stop();
        env.clock.sleep(Duration::from_micros(random.below(3000)));
    }
}

fn start(env: &Env, shared: &Shared, name: &str, random: &mut Random) -> Option<Node> {
    let options = NodeOptions {
        name: Some(name.to_owned()),
        engine: shared.options.clone(),
        poll: Duration::from_micros(200 + random.below(2000)),
        join_timeout: Duration::from_secs(1),
        ..NodeOptions::default()
    };
    match Node::start(env, Path::new(DIR), crate::methods(), options, Box::new(|_, _| {})) {
        Ok(node) => {
            shared.count(|counts| counts.starts += 1);
            Some(node)
        }
        Err(error) => {
            assert_eq!(error.code(), Code::CannotConnectNow, "violation: a node cannot start: {error}");
            None
        }
    }
}

/// What a node may meet: something that the writer did not keep.
fn is_gone(error: &Error) -> bool {
    matches!(error.code(), Code::UndefinedFile | Code::CannotConnectNow | Code::SerializationFailure)
}

fn check_losses(node: &Node) {
    if let Some(error) = node.status().lost {
        assert!(is_gone(&error), "violation: a node cannot go on: {error}");
    }
}

/// A snapshot of the node is the model's state (nodes 1 and 2).
fn look(shared: &Shared, node: &Node, seen: &mut u64, random: &mut Random) {
    let _there = shared.gate.read();
    let acknowledged = shared.history.acknowledged_durably();
    let is_latest = random.chance(50) && wait_latest(node, Duration::from_secs(2));
    let engine = node.engine();
    let mut snapshot = || -> Result<bool> {
        let txn = engine.begin()?;
        let read_ts = txn.read_ts().0;
        assert!(read_ts >= *seen, "violation: a node showed {seen}, then {read_ts}");
        *seen = read_ts;
        if read_ts < shared.floor.load(Ordering::Acquire) {
            let status = node.status();
            assert!(!is_latest, "violation: the latest is older than what the writer has opened with: {status:?}");
            return Ok(false);
        }
        let state = read_state(&txn, random)?;
        check_total(&state);
        check_emails(&state);
        let before = if is_latest { &acknowledged[..] } else { &[] };
        if let Err(violation) = shared.history.check_snapshot(read_ts, before, &state) {
            panic!("violation: a node: {violation}");
        }
        Ok(true)
    };
    match snapshot() {
        Ok(true) => shared.count(|counts| {
            counts.looks += 1;
            counts.latest += u64::from(is_latest);
        }),
        Ok(false) => {}
        Err(error) => {
            assert!(is_gone(&error), "violation: reading a node failed: {error}");
            shared.count(|counts| counts.refused += 1);
        }
    }
}

fn wait_latest(node: &Node, limit: Duration) -> bool {
    let waited = node.wait_latest(limit, None).unwrap_or_else(|error| panic!("violation: a wait failed: {error}"));
    waited == Waited::Shown
}

/// One more node joins, and has what the writer has.
fn compare_at_rest(env: &Env, writer: &Arc<Engine>, shared: &Shared, random: &mut Random) {
    writer.flush().unwrap_or_else(|error| panic!("violation: flush failed: {error}"));
    let mut tries = 0;
    let node = loop {
        match start(env, shared, "rest", random) {
            Some(node) => break node,
            None => tries += 1,
        }
        assert!(tries < 20, "violation: nobody can join a writer at rest");
    };
    assert!(wait_latest(&node, LIMIT), "violation: a node does not come to the end: {:?}", node.status());
    let compare = || -> Result<()> {
        let [writer, node] = [writer, &node.engine()].map(|engine| read_everything(engine, &mut random.clone()));
        let differences = crate::model::differences(&writer?, &node?);
        assert!(differences.is_empty(), "violation: writer and node differ:\n  {}", differences.join("\n  "));
        Ok(())
    };
    match compare() {
        Ok(()) => shared.count(|counts| counts.rests += 1),
        // Jobs go on, and files go that the node has not read yet.
        Err(error) => assert!(is_gone(&error), "violation: reading at rest failed: {error}"),
    }
    check_losses(&node);
    node.stop();
}
