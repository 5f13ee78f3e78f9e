//! A node: a thread that follows, and an engine that others read.
//!
//! ```text
//!   Node::start ─▶ joins ─▶ engine() ─▶ sessions read it        status(): where it is, how old what it shows is
//!                    ▲          │
//!                    └── lost ──┘   another engine takes its place: `replaced` is told
//! ```
//!
//! 1. It writes nothing into the directory but its own file in `nodes`, unless it is promoted.
//! 2. A panic of the thread that follows ends that one alone: the node says so, shows what it has, and joins anew.
//! 3. Promoted, it opens the directory as the writer that comes after the one it has followed. It follows until that is
//!    done; a writer that lives and is not to be overtaken keeps the directory, and the node follows on. A writer lives
//!    that holds the lock, or whose announcement has moved while the node looked: the lock may keep nobody out.
//! 4. One promotion at a time, and no other after it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use weft_env::{Env, JoinHandle};
use weft_format::{Code, Error, Result, Timestamp};
use weft_kernel::method::Method;
use weft_kernel::{CancelToken, Engine, EngineOptions};

use crate::bell::{Bell, Worker};
use crate::follow_on::{Follow, Next, Parts, Replaced};
use crate::listening::listen;
use crate::place::check_name;
use crate::standing::{Goal, NodeStatus, Standing, Waited};

/// How a node follows.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// What it is called: the writer knows its nodes by name. None: a random one.
    pub name: Option<String>,
    /// Where it listens, for who asks the writer; may be empty.
    pub address: String,
    /// How its engine is opened; it has no workers.
    pub engine: EngineOptions,
    /// How often it looks for what is announced.
    pub poll: Duration,
    /// How long starting waits until it has joined.
    pub join_timeout: Duration,
}

impl Default for NodeOptions {
    fn default() -> NodeOptions {
        NodeOptions {
            name: None,
            address: String::new(),
            engine: EngineOptions::default(),
            poll: Duration::from_millis(1),
            join_timeout: Duration::from_secs(60),
        }
    }
}

/// How long a node rests after a panic of the thread that follows.
const REST: Duration = Duration::from_millis(500);

struct Shared {
    env: Env,
    standing: Arc<Standing>,
    poll: Duration,
    bell: Arc<Bell>,
}

/// What has become of a node by a promotion: none was begun, or it failed; one is under way; it has become the writer.
const FOLLOWS: u8 = 0;
const IS_PROMOTED: u8 = 1;
const WRITES: u8 = 2;

/// A promotion that is under way; when it ends by a panic the node follows on, too.
struct Promoting<'a> {
    rank: &'a AtomicU8,
    becomes: u8,
}

impl Drop for Promoting<'_> {
    fn drop(&mut self) {
        self.rank.store(self.becomes, Ordering::Release);
    }
}

/// A node that was made the writer.
pub struct Promoted {
    /// What writes from now on.
    pub engine: Arc<Engine>,
    /// What the node showed last.
    pub before: Arc<Engine>,
}

/// A node that follows until it is dropped.
pub struct Node {
    shared: Arc<Shared>,
    rank: AtomicU8,
    worker: Worker,
    dir: PathBuf,
    methods: Vec<Arc<dyn Method>>,
}

impl Node {
    /// Joins the database that another process writes in a directory, and follows it from a thread. Fails when it has
    /// not joined in time, and says why. `replaced` is called by that thread, first for the engine that it joins with.
    pub fn start(
        env: &Env,
        dir: &Path,
        methods: Vec<Arc<dyn Method>>,
        options: NodeOptions,
        replaced: Replaced,
    ) -> Result<Node> {
        let NodeOptions { name, address, engine, poll, join_timeout } = options;
        let name = name.unwrap_or_else(|| format!("node-{:08x}", env.rng.next_u64() as u32));
        check_name(&name)?;
        let standing = Arc::new(Standing::new(name.clone(), env.clock.clone()));
        let engine = EngineOptions { workers: 0, ..engine };
        let (at, methods_too) = (dir.to_owned(), methods.clone());
        let parts = Parts { env: env.clone(), dir: dir.to_owned(), name, address, methods, engine };
        let shared =
            Arc::new(Shared { env: env.clone(), standing: standing.clone(), poll, bell: Arc::new(Bell::new()) });
        let running = shared.clone();
        let watch = move || running.watch(&parts, &Arc::new(replaced));
        let worker = Worker::start(env, ("weft-node", "follows"), &shared.bell, watch)?;
        let node = Node { shared, rank: AtomicU8::new(FOLLOWS), worker, dir: at, methods: methods_too };
        match standing.wait((Goal::Shows(Timestamp(0)), None), join_timeout, None)? {
            Waited::Shown => Ok(node),
            Waited::TimedOut => Err(node.not_joined(dir, join_timeout)),
        }
    }

    fn not_joined(&self, dir: &Path, limit: Duration) -> Error {
        let NodeStatus { phase, lost, .. } = self.status();
        // Damage does not go by waiting.
        let is_damaged = lost.as_ref().is_some_and(|error| error.code() == Code::DataCorrupted);
        let why = lost.map_or_else(
            || "no server announces anything there".to_owned(),
            |error| format!("{} ({})", error.message(), phase.name()),
        );
        let what = format!("could not follow {} within {} ms: {why}", dir.display(), limit.as_millis());
        if is_damaged {
            return Error::corrupt(what).hint("look at the directory with `weft check`, on the machine of its server");
        }
        Error::new(Code::CannotConnectNow, what).hint("start its server with nodes = on, over the same directory")
    }

    /// What shows the database now. Another engine may take its place.
    pub fn engine(&self) -> Arc<Engine> {
        self.shared.standing.engine().expect("a node that was started has joined")
    }

    /// Where it is.
    pub fn status(&self) -> NodeStatus {
        self.shared.standing.status()
    }

    /// Waits until it shows a commit.
    pub fn wait_for(&self, ts: Timestamp, limit: Duration, cancel: Option<&CancelToken>) -> Result<Waited> {
        self.shared.standing.wait((Goal::Shows(ts), None), limit, cancel)
    }

    /// Waits until it shows everything that was acknowledged so long ago.
    pub fn wait_within(&self, age: Duration, limit: Duration, cancel: Option<&CancelToken>) -> Result<Waited> {
        self.shared.standing.wait((Goal::Within(age), None), limit, cancel)
    }

    /// Waits until it shows everything that is acknowledged by now.
    pub fn wait_latest(&self, limit: Duration, cancel: Option<&CancelToken>) -> Result<Waited> {
        self.shared.standing.wait((Goal::Latest, None), limit, cancel)
    }

    /// Opens the directory as its writer, with what the log has to its end, and follows no more. `engine` says with
    /// [`EngineOptions::takes_over`] whether a writer that lives is overtaken; otherwise that one keeps the directory
    /// ([`Code::CannotConnectNow`]), and the node follows on, as after every other error. While another promotion is
    /// under way, and after one, it fails with [`Code::NotInPrerequisiteState`]; so does one that follows an archive.
    pub fn promote(&self, engine: EngineOptions) -> Result<Promoted> {
        let mut promoting = self.begin_promotion()?;
        let promoted = self.promote_alone(engine)?;
        promoting.becomes = WRITES;
        Ok(promoted)
    }

    /// Node 4.
    fn begin_promotion(&self) -> Result<Promoting<'_>> {
        let taken = self.rank.compare_exchange(FOLLOWS, IS_PROMOTED, Ordering::AcqRel, Ordering::Acquire);
        let (what, hint) = match taken {
            Ok(_) => return Ok(Promoting { rank: &self.rank, becomes: FOLLOWS }),
            Err(WRITES) => ("this node has been promoted already", "it writes the directory"),
            Err(_) => ("this node is being promoted already", "wait for that to end"),
        };
        Err(Error::new(Code::NotInPrerequisiteState, what).hint(hint))
    }

    fn promote_alone(&self, engine: EngineOptions) -> Result<Promoted> {
        if self.shared.standing.follows_archive() {
            let what = "this node follows an archive, and cannot become its writer";
            let hint =
                "restore the archive into a new directory, and serve that with --archive: it takes the archive over";
            return Err(Error::new(Code::NotInPrerequisiteState, what).hint(hint));
        }
        if !engine.takes_over {
            let hint = "stop that server; or promote with --force, and it acknowledges nothing more";
            listen(&self.shared.env, &self.dir, 0).map_err(|heard| heard.hint(hint))?;
        }
        // One that is silent may hang.
        let engine = EngineOptions { apart: true, ..engine };
        let opened = Engine::open(self.shared.env.clone(), &self.dir, self.methods.clone(), engine)?;
        let (has, shown) = (opened.published(), self.shared.standing.published());
        if has < shown {
            let what = format!("the directory ends at commit {has}, the node has shown {shown}");
            return Err(Error::corrupt(what).hint("restore the directory from a backup"));
        }
        self.stop();
        self.shared.standing.note_over();
        // It may have joined anew meanwhile: what it has shown last is known when it has stopped.
        Ok(Promoted { engine: opened, before: self.engine() })
    }

    /// Leaves: it follows no more, and its writer keeps nothing for it. What it shows can still be read.
    pub fn stop(&self) {
        self.worker.stop();
    }
}

impl Shared {
    /// Follows by a thread of its own, and again when that one panics (node 2).
    fn watch(self: &Arc<Shared>, parts: &Parts, replaced: &Arc<Replaced>) {
        while !self.bell.has_rung() {
            let follow = Follow::new(parts.clone(), self.standing.clone());
            let (running, replaced) = (Arc::clone(self), Arc::clone(replaced));
            let spawned = self.env.spawn.spawn("weft-follow", Box::new(move || running.run(follow, &replaced)));
            let ended = match spawned.map(JoinHandle::join) {
                Ok(Ok(())) => return,
                Ok(Err(panic)) => Error::internal(format!("the thread that follows panicked: {panic}")),
                Err(error) => Error::io("starting the thread that follows", &error),
            };
            self.standing.note_lost(&ended);
            self.bell.pause(REST);
        }
    }

    fn run(&self, mut follow: Follow, replaced: &Replaced) {
        let stop = || self.bell.has_rung();
        while !stop() {
            let pause = match follow.step(replaced, &stop) {
                Next::Go => continue,
                Next::Poll => self.poll,
                Next::Pause(pause) => pause,
            };
            if pause == self.poll {
                self.env.clock.sleep(pause);
                continue;
            }
            self.bell.pause(pause);
        }
        follow.leave();
    }
}
