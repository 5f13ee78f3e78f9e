//! The right to run, of one simulated thread, and what it waits for without it.

use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread as OsThread;

/// What a thread waits for. Addresses are compared for equality only.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    /// A lock to be released; `writes` when the thread wants it for itself alone.
    Lock { address: usize, writes: bool, what: &'static str, at: &'static Location<'static> },
    /// A notification.
    Condvar { address: usize, at: &'static Location<'static> },
    /// The end of a thread.
    Join(usize),
    /// A deadline.
    Sleep,
    /// The disk to finish a sync.
    Disk,
}

/// Why a thread runs again after it waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// What it waited for happened, or the simulation stopped.
    Event,
    /// Its deadline passed.
    TimedOut,
}

/// The right to run, of one thread.
#[derive(Default)]
pub(crate) struct Baton {
    held: AtomicBool,
    timed_out: AtomicU8,
    thread: OnceLock<OsThread>,
}

impl Baton {
    /// Says which operating system thread waits for this baton.
    pub(crate) fn belongs_to(&self, thread: OsThread) {
        assert!(self.thread.set(thread).is_ok(), "a baton belongs to one thread");
    }

    /// Lets the thread run.
    pub(crate) fn pass(&self) {
        self.held.store(true, Ordering::Release);
        self.thread.get().expect("a thread is scheduled only after it was started").unpark();
    }

    /// Waits for the right to run.
    pub(crate) fn wait(&self) {
        while !self.held.swap(false, Ordering::Acquire) {
            std::thread::park();
        }
    }

    /// Notes why the thread will run again.
    pub(crate) fn set_wake(&self, wake: Wake) {
        self.timed_out.store(u8::from(wake == Wake::TimedOut), Ordering::Relaxed);
    }

    /// Why it runs again.
    pub(crate) fn wake(&self) -> Wake {
        if self.timed_out.load(Ordering::Relaxed) == 1 { Wake::TimedOut } else { Wake::Event }
    }
}

/// A simulated thread as the scheduler knows it.
pub(crate) struct Seat {
    /// The position among the threads of this run; "main" is 0.
    pub(crate) id: usize,
    pub(crate) baton: Arc<Baton>,
}
