//! A thread that works in rounds, with pauses, until it is told to end.
//!
//! ```text
//!   round ─ pause ─ round ─ pause ─╮                 stop(): rings, and waits for the thread's end
//!                                  ╰─ rung: ends
//! ```
//!
//! 1. Who stops it rings while no pause can begin unnoticed: it waits for no pause.
//! 2. While a thread unwinds nobody is waited for: the machine may be gone (a simulated crash).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weft_env::sync::{Condvar, Mutex};
use weft_env::{Env, JoinHandle};
use weft_format::{Error, Result};

/// What tells a thread to end.
pub(crate) struct Bell {
    has_rung: AtomicBool,
    is_hurried: AtomicBool,
    pausing: Mutex<()>,
    rung: Condvar,
}

impl Bell {
    pub(crate) fn new() -> Bell {
        Bell {
            has_rung: AtomicBool::new(false),
            is_hurried: AtomicBool::new(false),
            pausing: Mutex::new(()),
            rung: Condvar::new(),
        }
    }

    /// Whether it is to end.
    pub(crate) fn has_rung(&self) -> bool {
        self.has_rung.load(Ordering::Acquire)
    }

    /// Waits for a while, or until it is to end (bell 1).
    pub(crate) fn pause(&self, time: Duration) {
        let mut pausing = self.pausing.lock();
        if !self.has_rung() {
            self.rung.wait_timeout(&mut pausing, time);
        }
    }

    /// The same, or until somebody has hurried it, since it paused so last.
    pub(crate) fn pause_unless_hurried(&self, time: Duration) {
        let mut pausing = self.pausing.lock();
        if !self.has_rung() && !self.is_hurried.load(Ordering::Acquire) {
            self.rung.wait_timeout(&mut pausing, time);
        }
        self.is_hurried.store(false, Ordering::Release);
    }

    /// Ends the pause, or the next one.
    pub(crate) fn hurry(&self) {
        let _pausing = self.pausing.lock();
        self.is_hurried.store(true, Ordering::Release);
        self.rung.notify_all();
    }

    fn ring(&self) {
        let _pausing = self.pausing.lock();
        self.has_rung.store(true, Ordering::Release);
        self.rung.notify_all();
    }
}

/// The thread, until it is stopped or dropped.
pub(crate) struct Worker {
    bell: Arc<Bell>,
    thread: Mutex<Option<JoinHandle>>,
}

impl Worker {
    /// Starts a thread; `what` it does is for the error. It looks at the bell.
    pub(crate) fn start(
        env: &Env,
        (name, what): (&str, &str),
        bell: &Arc<Bell>,
        run: impl FnOnce() + Send + 'static,
    ) -> Result<Worker> {
        let thread = env.spawn.spawn(name, Box::new(run));
        let thread = thread.map_err(|error| Error::io(format!("starting the thread that {what}"), &error))?;
        Ok(Worker { bell: Arc::clone(bell), thread: Mutex::new(Some(thread)) })
    }

    /// Ends it, and waits until it has ended.
    pub(crate) fn stop(&self) {
        self.stop_and(|| ());
    }

    /// The same; `wake` ends what it may be waiting for beside the bell.
    pub(crate) fn stop_and(&self, wake: impl FnOnce()) {
        self.bell.ring();
        wake();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Bell 2.
        if !std::thread::panicking() {
            self.stop();
        }
    }
}
