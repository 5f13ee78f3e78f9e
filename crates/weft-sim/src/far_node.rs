//! A node that follows the archive of the workload, in a directory of its own: what it shows is what the model had.
//!
//! ```text
//!   archive ── mirror ──▶ far/ ◀── node        waits for what the writer has, reads, compares
//!   crash anywhere, of the writer and of this  the next round goes on from far/ as it is
//! ```

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use weft_env::{Env, ObjectStore};
use weft_format::{Code, Error, Result};
use weft_kernel::{Engine, EngineOptions};
use weft_replica::{Connect, Mirror, MirrorOptions, Node, NodeOptions, Transit, Waited};
use weft_store::FileStore;

use crate::history::History;
use crate::random::Random;
use crate::reader::{check_total, read_state};
use crate::scenario::Scenario;
use crate::wire::Connecting;

/// Its directory.
const FAR: &str = "far";
/// How long is waited for what must come.
const LIMIT: Duration = Duration::from_secs(30);

/// Where what it follows comes from.
pub(crate) enum From {
    /// A store to which the writer ships.
    Archive(Arc<dyn ObjectStore>),
    /// The writer itself.
    Writer(Arc<Connecting>),
}

/// What is known of it, over crashes.
#[derive(Default)]
pub(crate) struct FarNode {
    /// What it has shown. A mutex of the test: it is never held across a scheduling point.
    shown: Mutex<u64>,
    compared: AtomicU64,
    joins: AtomicU64,
}

/// It follows, until this is dropped.
pub(crate) struct Beside {
    node: Node,
    mirror: Mirror,
    feeds: Option<Arc<Connecting>>,
}

impl Beside {
    /// Ends, with what feeds it.
    pub(crate) fn end(self) {
        let Beside { node, mirror, feeds } = self;
        drop((node, mirror));
        feeds.iter().for_each(|feeds| feeds.end());
    }
}

impl FarNode {
    /// Snapshots that were compared, and joins.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.compared.load(Ordering::Relaxed), self.joins.load(Ordering::Relaxed))
    }

    /// Begins to follow; none: a fault of the disk keeps it from that.
    pub(crate) fn begin(&self, env: &Env, from: From, scenario: &Scenario, random: &mut Random) -> Option<Beside> {
        let options = MirrorOptions { interval: Duration::from_micros(100 + random.below(3000)), patience: LIMIT };
        let engine = EngineOptions { workers: 0, ..scenario.options.clone() };
        let node = NodeOptions {
            name: Some("far".to_owned()),
            engine,
            poll: Duration::from_micros(200 + random.below(2000)),
            ..NodeOptions::default()
        };
        let start = || -> Result<Beside> {
            let (mirror, feeds) = match from {
                From::Archive(store) => (Mirror::start(env, store, Path::new(FAR), options)?, None),
                From::Writer(feeds) => {
                    let store = Arc::new(FileStore::new(env, &Path::new(FAR).join("incoming")));
                    let transit = Arc::new(Transit::new(env, Path::new(FAR), store, "the writer"));
                    let fed = (&transit, feeds.clone() as Arc<dyn Connect>);
                    (Mirror::start_fed(env, fed, Path::new(FAR), LIMIT)?, Some(feeds))
                }
            };
            let node = Node::start(env, Path::new(FAR), crate::methods(), node, Box::new(|_, _| {}))?;
            Ok(Beside { node, mirror, feeds })
        };
        match start() {
            Ok(beside) => Some(beside),
            Err(error) if scenario.tolerated.contains(&error.code()) => None,
            Err(error) => panic!("violation: nobody can follow the archive: {error}"),
        }
    }

    /// What it shows, once it has what the writer has now, is a state of the model.
    pub(crate) fn compare(
        &self,
        env: &Env,
        beside: &Beside,
        writer: &Arc<Engine>,
        history: &History,
        random: &mut Random,
    ) {
        let node = &beside.node;
        let wanted = writer.published();
        if writer.flush().is_err() {
            return;
        }
        let waited = node.wait_for(wanted, LIMIT, None).unwrap_or_else(|error| panic!("violation: a wait: {error}"));
        assert_eq!(
            waited,
            Waited::Shown,
            "violation: the node does not come to {wanted}: {:?} {:?}",
            node.status(),
            beside.mirror.status()
        );
        for _ in 0..1 + random.below(2) {
            match self.look(node, history, random) {
                Ok(()) => {}
                Err(error) => assert!(is_gone(&error), "violation: reading the node failed: {error}"),
            }
            env.clock.sleep(Duration::from_micros(random.below(3000)));
        }
        self.joins.fetch_max(node.status().joins, Ordering::Relaxed);
    }

    fn look(&self, node: &Node, history: &History, random: &mut Random) -> Result<()> {
        let txn = node.engine().begin()?;
        let read_ts = txn.read_ts().0;
        let before = std::mem::replace(&mut *self.shown.lock().unwrap_or_else(PoisonError::into_inner), read_ts);
        assert!(read_ts >= before, "violation: the node has shown {before}, and shows {read_ts}");
        let state = read_state(&txn, random)?;
        if !state.is_empty() {
            check_total(&state);
        }
        if let Err(violation) = history.check_snapshot(read_ts, &[], &state) {
            panic!("violation: the node over the archive: {violation}");
        }
        self.compared.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// What a node may meet: something that goes while it reads.
fn is_gone(error: &Error) -> bool {
    matches!(error.code(), Code::UndefinedFile | Code::CannotConnectNow | Code::SerializationFailure)
}
