//! Commits that were acknowledged before they are on disk: whether there are some, and who is told.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::sched::Wake;

/// Whether there are records in the log's buffer that nobody waits for.
#[derive(Debug, Default)]
pub(crate) struct AsyncCommits {
    pub(crate) pending: AtomicBool,
    pub(crate) wake: Wake,
}

impl AsyncCommits {
    /// A record was appended that nobody waits for.
    pub(crate) fn note(&self) {
        if !self.pending.load(Ordering::Relaxed) && !self.pending.swap(true, Ordering::AcqRel) {
            self.wake.notify();
        }
    }

    /// Makes who writes them to disk look up.
    pub(crate) fn wake(&self) {
        self.wake.notify();
    }
}
