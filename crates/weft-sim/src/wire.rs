//! A connection of a simulation: messages both ways, until one side ends it or it breaks.
//!
//! ```text
//!   Connecting ─▶ a thread that feeds, for the writer ══ two queues ══ End, for the node   breaks after some
//! ```

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use weft_env::sync::{Condvar, Mutex};
use weft_env::{Env, JoinHandle};
use weft_format::{Error, Result};
use weft_kernel::Engine;
use weft_replica::{Connect, FeedOptions, Link, feed};

use crate::random::Random;

/// So long a side waits for a message before it takes the other one for gone.
const SILENCE_MAX: Duration = Duration::from_secs(5);

#[derive(Default)]
struct State {
    /// To the node, and from it.
    queues: [VecDeque<Vec<u8>>; 2],
    is_over: bool,
    /// Messages that pass before it breaks.
    left: u64,
}

#[derive(Default)]
struct Wire {
    state: Mutex<State>,
    changed: Condvar,
}

impl Wire {
    fn end(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
    }
}

/// An end of it.
struct End {
    wire: Arc<Wire>,
    /// The queue that it reads; it writes the other one.
    reads: usize,
}

impl Drop for End {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.wire.end();
        }
    }
}

impl Link for End {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let mut state = self.wire.state.lock();
        state.is_over |= state.left == 0;
        if state.is_over {
            self.wire.changed.notify_all();
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        state.left -= 1;
        state.queues[1 - self.reads].push_back(message.to_vec());
        self.wire.changed.notify_all();
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut state = self.wire.state.lock();
        loop {
            if let Some(message) = state.queues[self.reads].pop_front() {
                return Ok(Some(message));
            }
            if state.is_over {
                return Ok(None);
            }
            if self.wire.changed.wait_timeout(&mut state, SILENCE_MAX) {
                state.is_over = true;
            }
        }
    }

    fn cutter(&self) -> Box<dyn Fn() + Send + Sync> {
        let wire = self.wire.clone();
        Box::new(move || wire.end())
    }
}

/// Connects to a writer that feeds, on threads of its own.
pub(crate) struct Connecting {
    env: Env,
    engine: Arc<Engine>,
    base_log_bytes: u64,
    random: Mutex<Random>,
    ends: Arc<Mutex<bool>>,
    feeding: Mutex<Vec<JoinHandle>>,
}

impl Connecting {
    pub(crate) fn new(env: &Env, engine: &Arc<Engine>, random: &mut Random) -> Connecting {
        Connecting {
            env: env.clone(),
            engine: engine.clone(),
            base_log_bytes: 2000 + random.below(60_000),
            random: Mutex::new(Random::new(random.below(u64::MAX), 170)),
            ends: Arc::default(),
            feeding: Mutex::default(),
        }
    }

    /// Ends what feeds, and waits for that.
    pub(crate) fn end(&self) {
        *self.ends.lock() = true;
        let feeding = std::mem::take(&mut *self.feeding.lock());
        feeding.into_iter().for_each(|thread| drop(thread.join()));
    }
}

impl Connect for Connecting {
    fn connect(&self) -> Result<Box<dyn Link>> {
        let wire: Arc<Wire> = Arc::default();
        let (breaks, left) = {
            let mut random = self.random.lock();
            (random.chance(33), 20 + random.below(200))
        };
        wire.state.lock().left = if breaks { left } else { u64::MAX };
        let there = End { wire: wire.clone(), reads: 1 };
        let (engine, ends) = (self.engine.clone(), self.ends.clone());
        let options = FeedOptions {
            name: "far".to_owned(),
            keep_bytes: Some(1 << 30),
            base_log_bytes: self.base_log_bytes,
            ..FeedOptions::default()
        };
        let serve = move || {
            // What goes wrong the node says.
            let _ = feed(&engine, Box::new(there), &options, &|| !*ends.lock());
        };
        let thread = self.env.spawn.spawn("feeds", Box::new(serve));
        let thread = thread.map_err(|error| Error::io("starting a thread", &error))?;
        self.feeding.lock().push(thread);
        Ok(Box::new(End { wire, reads: 0 }))
    }

    fn place(&self) -> String {
        "the writer".to_owned()
    }
}
