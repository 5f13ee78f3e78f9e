//! A node: a thread that follows, and an engine that others read.
//!
//! ```text
//!   Node::start ─▶ joins ─▶ engine() ─▶ sessions read it        status(): where it is, how old what it shows is
//!                    ▲          │
//!                    └── lost ──┘   another engine takes its place: `replaced` is told
//! ```
//!
//! 1. It writes nothing into the directory but its own file in `nodes`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weft_env::sync::{Condvar, Mutex};
use weft_env::{Env, JoinHandle};
use weft_format::{Code, Error, Result, Timestamp};
use weft_kernel::method::Method;
use weft_kernel::{CancelToken, Engine, EngineOptions};

use crate::follow_on::{Follow, Next, Parts, Replaced};
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

struct Shared {
    env: Env,
    standing: Arc<Standing>,
    poll: Duration,
    stop: AtomicBool,
    stopping: Mutex<()>,
    rung: Condvar,
}

/// A node that follows until it is dropped.
pub struct Node {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle>>,
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
        let parts = Parts { env: env.clone(), dir: dir.to_owned(), name, address, methods, engine };
        let follow = Follow::new(parts, standing.clone());
        let shared = Arc::new(Shared {
            env: env.clone(),
            standing: standing.clone(),
            poll,
            stop: AtomicBool::new(false),
            stopping: Mutex::new(()),
            rung: Condvar::new(),
        });
        let running = shared.clone();
        let thread = env.spawn.spawn("weft-follow", Box::new(move || running.run(follow, &replaced)));
        let thread = thread.map_err(|error| Error::io("starting the thread that follows", &error))?;
        let node = Node { shared, thread: Mutex::new(Some(thread)) };
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

    /// Leaves: it follows no more, and its writer keeps nothing for it. What it shows can still be read.
    pub fn stop(&self) {
        {
            let _stopping = self.shared.stopping.lock();
            self.shared.stop.store(true, Ordering::Release);
            self.shared.rung.notify_all();
        }
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // While a thread unwinds the machine may be gone (a simulated crash).
        if !std::thread::panicking() {
            self.stop();
        }
    }
}

impl Shared {
    fn run(&self, mut follow: Follow, replaced: &Replaced) {
        while !self.stop.load(Ordering::Acquire) {
            let pause = match follow.step(replaced) {
                Next::Go => continue,
                Next::Poll => self.poll,
                Next::Pause(pause) => pause,
            };
            if pause == self.poll {
                self.env.clock.sleep(pause);
                continue;
            }
            let mut stopping = self.stopping.lock();
            if !self.stop.load(Ordering::Acquire) {
                self.rung.wait_timeout(&mut stopping, pause);
            }
        }
        follow.leave();
    }
}
