//! An archive beside the workload: what it says that it has is restored, to a state that the model had.
//!
//! ```text
//!   round    clients and readers ─ an archive ships beside them ─ now and then: restore it elsewhere, open, read
//!   crash    anywhere in that
//!   after    what was confirmed is restored, and nothing that the writer did not commit
//! ```
//!
//! Concurrency: the mutex is never held across a scheduling point.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use weft_env::{Env, ObjectStore};
use weft_format::{Error, Result};
use weft_kernel::{Engine, EngineOptions};
use weft_replica::{
    Archive, ArchiveOptions, ArchivePhase, ArchiveRestored, Herald, HeraldOptions, is_archive, restore_archive,
};
use weft_store::FileStore;

use crate::far_node::{Beside, FarNode, From};
use crate::history::History;
use crate::model::State;
use crate::random::Random;
use crate::reader::{check_total, read_state};
use crate::scenario::Scenario;
use crate::wire::Connecting;

/// Where the archive is.
const ARCHIVE: &str = "archive";

/// What is known of the archive of one seed.
#[derive(Default)]
pub struct ArchiveLedger {
    inner: Mutex<Inner>,
    /// The node that follows it, if one does.
    far: Option<FarNode>,
    /// There is no archive: the writer feeds the node.
    is_fed: bool,
}

#[derive(Default)]
struct Inner {
    /// Transactions that the archive said to have.
    confirmed: Vec<u64>,
    restored: u64,
    counts: ArchiveCounts,
}

/// Totals of a seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArchiveCounts {
    /// Restored states compared with the model, while it ran and after crashes.
    pub compared: u64,
    /// Of these, such that had pieces behind their base.
    pub with_pieces: u64,
    /// Of these, such that lacked what was recovered and not shipped.
    pub older: u64,
    /// The highest number of a base.
    pub bases: u64,
    /// The highest fence: so many openings have shipped.
    pub fences: u64,
    /// Rounds in which a fault kept it from having everything.
    pub failed: u64,
}

impl ArchiveLedger {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The totals.
    pub fn counts(&self) -> ArchiveCounts {
        self.inner().counts
    }

    /// The same, and a node follows the archive.
    pub fn with_node() -> ArchiveLedger {
        ArchiveLedger { far: Some(FarNode::default()), ..ArchiveLedger::default() }
    }

    /// No archive, and a node that the writer feeds.
    pub fn with_fed_node() -> ArchiveLedger {
        ArchiveLedger { far: Some(FarNode::default()), is_fed: true, ..ArchiveLedger::default() }
    }

    /// What the node has shown: snapshots that were compared, and how often it has joined.
    pub fn far(&self) -> (u64, u64) {
        self.far.as_ref().map_or((0, 0), FarNode::counts)
    }

    fn store(env: &Env) -> Arc<dyn ObjectStore> {
        Arc::new(FileStore::new(env, Path::new(ARCHIVE)))
    }

    /// Ships the log while the workload runs, and restores it now and then. Panics when a promise is broken.
    pub fn ship(&self, env: &Env, engine: &Arc<Engine>, history: &History, scenario: &Scenario, random: &mut Random) {
        if let Some(far) = self.far.as_ref().filter(|_| self.is_fed) {
            return feed(far, env, engine, history, scenario, random);
        }
        let options = ArchiveOptions {
            interval: Duration::from_micros(100 + random.below(3000)),
            keep_bytes: [1 << 30, 20_000][random.below(2) as usize],
            base_log_bytes: 2000 + random.below(60_000),
            keep_time: Duration::from_millis([0, 5, 100_000][random.below(3) as usize]),
            ack: Duration::ZERO,
            nodes: self.far.is_some(),
        };
        let is_tolerated = |error: &Error| scenario.tolerated.contains(&error.code());
        let archive = match Archive::start(engine, ArchiveLedger::store(env), options) {
            Ok(archive) => archive,
            Err(error) if is_tolerated(&error) => {
                self.inner().counts.failed += 1;
                return;
            }
            Err(error) => panic!("violation: its own archive is refused: {error}: {:?}", error.detail_text()),
        };
        let mut beside = None;
        for _ in 0..1 + random.below(3) {
            env.clock.sleep(Duration::from_micros(random.below(3000)));
            if !self.confirm(env, engine, &archive, history, scenario) {
                self.inner().counts.failed += 1;
                break;
            }
            if let Some(far) = &self.far {
                let from = From::Archive(ArchiveLedger::store(env));
                beside = beside.or_else(|| far.begin(env, from, scenario, random));
                beside.iter().for_each(|beside| far.compare(env, beside, engine, history, random));
            } else if scenario.tolerated.is_empty() && random.chance(60) {
                self.compare(env, history, scenario, random);
            }
        }
        drop(beside);
        let status = archive.status();
        archive.stop();
        let counts = &mut self.inner().counts;
        counts.bases = counts.bases.max(status.base.unwrap_or(0));
        counts.fences = counts.fences.max(status.fence);
    }

    /// Waits until the archive has what is acknowledged by now; false when a fault keeps it from that.
    fn confirm(
        &self,
        env: &Env,
        engine: &Arc<Engine>,
        archive: &Archive,
        history: &History,
        scenario: &Scenario,
    ) -> bool {
        let acknowledged = history.acknowledged_now();
        if engine.flush().is_err() {
            return false;
        }
        let begun = env.clock.monotonic_nanos();
        let mut waited = 0;
        loop {
            let since = Duration::from_nanos(env.clock.monotonic_nanos() - begun);
            let status = archive.status();
            assert_ne!(status.phase, ArchivePhase::Lost, "violation: nobody took it over: {:?}", status.error);
            if status.base.is_some() && status.age.is_some_and(|age| age < since) && is_named(env, &status.base) {
                break;
            }
            if !scenario.tolerated.is_empty() && waited > 300 {
                return false;
            }
            assert!(waited < 20_000, "violation: the archive does not go on: {status:?}");
            waited += 1;
            env.clock.sleep(Duration::from_millis(1));
        }
        self.inner().confirmed = acknowledged;
        true
    }

    /// Before the first reopening after a crash: what was confirmed is restored.
    pub fn check_after_crash(&self, env: &Env, history: &History, scenario: &Scenario, random: &mut Random) {
        let is_there = is_archive(&*ArchiveLedger::store(env)).expect("the disk answers");
        if !is_there || self.inner().confirmed.is_empty() {
            return;
        }
        self.compare(env, history, scenario, random);
    }

    fn compare(&self, env: &Env, history: &History, scenario: &Scenario, random: &mut Random) {
        let confirmed = self.inner().confirmed.clone();
        let dir = {
            let mut inner = self.inner();
            inner.restored += 1;
            PathBuf::from(format!("of-archive-{}", inner.restored))
        };
        let mut open = || -> Result<(ArchiveRestored, u64, State)> {
            let restored = restore_archive(env, &ArchiveLedger::store(env), &dir, None)?;
            let options = EngineOptions { workers: 0, ..scenario.options.clone() };
            let engine = Engine::open(env.clone(), &dir, crate::methods(), options)?;
            let findings = engine.check()?;
            if !findings.is_empty() {
                return Err(Error::internal(format!("check found {findings:?}")));
            }
            let state = read_state(&engine.begin()?, random)?;
            Ok((restored, engine.published().0, state))
        };
        let restored = open().unwrap_or_else(|error| panic!("violation: restoring the archive: {error}"));
        let (restored, published, state) = restored;
        if !state.is_empty() {
            check_total(&state);
        }
        let missing = History::missing_of(&confirmed, &state);
        assert!(missing.is_empty(), "violation: the archive, {restored:?}, lacks {missing:?}, which it had");
        // What the machine had recovered and not shipped before the crash may be missing: the model begins behind it.
        if history.is_older(&state) {
            self.inner().counts.older += 1;
        } else if let Err(violation) = history.check_snapshot(published, &[], &state) {
            panic!("violation: the archive, {restored:?}: {violation}");
        }
        let _ = env.fs.list(&dir).map(|names| names.iter().for_each(|name| drop(env.fs.remove(&dir.join(name)))));
        let counts = &mut self.inner().counts;
        counts.compared += 1;
        counts.with_pieces += u64::from(restored.pieces > 0);
    }
}

/// A node is fed while the workload runs, over connections that break now and then. With or without a herald.
fn feed(far: &FarNode, env: &Env, engine: &Arc<Engine>, history: &History, scenario: &Scenario, random: &mut Random) {
    let herald = random.chance(50).then(|| Herald::start(engine, HeraldOptions::default()).ok()).flatten();
    let mut beside = None;
    for _ in 0..1 + random.below(3) {
        env.clock.sleep(Duration::from_micros(random.below(3000)));
        let from = From::Writer(Arc::new(Connecting::new(env, engine, random)));
        beside = beside.or_else(|| far.begin(env, from, scenario, random));
        beside.iter().for_each(|beside| far.compare(env, beside, engine, history, random));
        if random.chance(30) {
            beside.take().into_iter().for_each(Beside::end);
        }
    }
    beside.into_iter().for_each(Beside::end);
    herald.iter().for_each(Herald::stop);
}

/// Whether a piece names the base: from then on a restore begins with it.
fn is_named(env: &Env, base: &Option<u64>) -> bool {
    let summary = weft_replica::survey_archive(&*ArchiveLedger::store(env));
    summary.is_ok_and(|summary| summary.is_some_and(|summary| summary.bases.first().map(|base| base.0) == *base))
}
