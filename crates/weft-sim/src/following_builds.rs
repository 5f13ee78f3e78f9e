//! A follower while an index is made beside writers, dropped and made again: at every moment its index has an entry for
//! each row, and at rest it keeps no more memory than the writer may.
//!
//! ```text
//!   writer     k 3 ← 17 · CREATE INDEX (its files are told before it commits) · k 3 ← 18 · commit · merge · drop
//!   follower   k 3 ← 17 ································ k 3 ← 18 · the index, with what changed meanwhile · ...
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::{Timestamp, Value};
use weft_kernel::{Engine, EngineOptions, Follower};

use crate::building::{self, Known, ROW_MEMORY_BYTES, TABLE, assert_at_rest, set_up, work};
use crate::random::Random;
use crate::round::open_engine;
use crate::scenario::Scenario;
use crate::tables::DIR;
use crate::work::key_of;

/// How often a follower may find, when its writer is at rest, that something is told that was not announced before.
const RESTS: u32 = 50;
/// How many commits are followed between two looks.
const LOOK_EVERY: u64 = 12;

/// Runs a seed; how many commits were followed, or what is violated.
pub fn follow_builds(seed: u64) -> std::result::Result<u64, String> {
    let simulation = Simulation::new(SimOptions::seeded(seed));
    let followed = Arc::new(AtomicU64::new(0));
    let inner = Arc::clone(&followed);
    let end = simulation.run(move |env| inner.store(live(&env, seed), Ordering::Release));
    match end {
        RunEnd::Finished => Ok(followed.load(Ordering::Acquire)),
        end => Err(format!("seed {seed}: {end:?}")),
    }
}

fn live(env: &Env, seed: u64) -> u64 {
    let mut random = Random::new(seed, 73);
    let scenario = Scenario { options: building::options(&mut random), ..Scenario::seeded(seed) };
    let writer = open_engine(env, &scenario).unwrap_or_else(|error| panic!("violation: open failed: {error}"));
    set_up(&writer).unwrap_or_else(|error| panic!("violation: setting up failed: {error}"));
    let kept = writer.keep_for_followers();
    let shared = Arc::new(Shared::default());
    let options = EngineOptions { workers: 0, ..scenario.options };
    let (inner, engine, of_thread) = (env.clone(), Arc::clone(&writer), Arc::clone(&shared));
    let body = move || follow(&inner, &engine, &options, &of_thread, Random::new(seed, 74));
    let thread = env.spawn.spawn("follower", Box::new(body)).unwrap_or_else(|error| panic!("violation: {error}"));
    work(env, &writer, &Known::default(), &mut random);
    shared.is_let_go.store(true, Ordering::Release);
    drop(kept);
    assert_at_rest(env, &writer);
    shared.stop.store(true, Ordering::Release);
    thread.join().unwrap_or_else(|text| panic!("{text}"));
    shared.commits.load(Ordering::Acquire)
}

/// What the writer's thread and the follower's share.
#[derive(Default)]
struct Shared {
    /// The writer keeps nothing for the follower any more.
    is_let_go: AtomicBool,
    /// The writer is at rest.
    stop: AtomicBool,
    commits: AtomicU64,
}

/// Follows until the writer is at rest and everything was followed.
fn follow(env: &Env, writer: &Arc<Engine>, options: &EngineOptions, shared: &Shared, mut random: Random) {
    let join = || {
        let (dir, methods) = (Path::new(DIR), crate::methods());
        Follower::join(env.clone(), dir, methods, options.clone(), &|| writer.announced())
    };
    let (mut follower, mut rests) = (None, 0);
    loop {
        // Before what is announced is asked.
        let is_last = shared.stop.load(Ordering::Acquire);
        let Some(following) = &mut follower else {
            // A file may go between the manifest's reading and its own.
            follower = join().ok();
            continue;
        };
        match following.follow_one(writer.announced()) {
            Ok(Some(_)) => {
                let commits = shared.commits.fetch_add(1, Ordering::AcqRel);
                if commits.is_multiple_of(LOOK_EVERY) {
                    look(following.engine(), shared);
                }
                if random.chance(1) {
                    follower = None;
                }
            }
            Ok(None) if is_last => {
                // What tells of the writer's last edits is on disk with the next block, and a job may make one more.
                writer.flush().unwrap_or_else(|error| panic!("violation: flush failed: {error}"));
                // Found once is enough: a file that the writer gives up a moment later is none of the follower's.
                let found = following.engine().check();
                if found.as_ref().is_ok_and(Vec::is_empty) {
                    break;
                }
                rests += 1;
                assert!(rests <= RESTS, "violation: check found in the follower at rest: {found:?}");
                env.clock.sleep(Duration::from_millis(1));
            }
            Ok(None) => env.clock.sleep(Duration::from_micros(1 + random.below(500))),
            Err(_) if shared.is_let_go.load(Ordering::Acquire) => follower = None,
            Err(error) => panic!("violation: the follower cannot go on: {error}"),
        }
    }
    let engine = follower.as_ref().expect("it has followed to the end").engine();
    assert_eq!(rows(engine), rows(writer), "violation: writer and follower have other rows");
    let bytes = engine.status().row_memory_bytes;
    assert!(bytes <= ROW_MEMORY_BYTES, "violation: the follower keeps {bytes} bytes at rest");
}

/// Every row has its entry, now; where files are not kept any more some may be gone.
fn look(engine: &Arc<Engine>, shared: &Shared) {
    let findings = engine.check();
    if !shared.is_let_go.load(Ordering::Acquire) {
        let findings = findings.unwrap_or_else(|error| panic!("violation: check failed: {error}"));
        assert!(findings.is_empty(), "violation: check found in the follower: {findings:?}");
    }
}

/// Key and value of each row, and the snapshot.
fn rows(engine: &Arc<Engine>) -> (Timestamp, BTreeMap<i64, Option<i64>>) {
    let txn = engine.begin().expect("begins");
    let t = txn.table(TABLE).expect("the table is there");
    let mut values = Vec::new();
    let row = |k: i64| {
        let is_there = txn.get(&t, &key_of(&t, &[Value::Int(k)]), &[1], &mut values).expect("reads");
        let value = is_there.then(|| values[0].clone());
        (k, value.map(|value| if let Value::Int(v) = value { v } else { panic!("violation: {value:?}") }))
    };
    (txn.read_ts(), (0..100).map(row).collect())
}
