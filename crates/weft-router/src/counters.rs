//! What the router counts.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts, since the router began.
#[derive(Default)]
pub(crate) struct Counters {
    /// Sessions that were let in.
    pub(crate) sessions: Count,
    /// Clients that were not.
    pub(crate) refused: Count,
    /// Batches of statements that ran on the writer.
    pub(crate) on_writer: Count,
    /// Batches of statements that ran on a node.
    pub(crate) on_nodes: Count,
    /// Reads that a node did not answer, and that ran on the writer.
    pub(crate) again: Count,
    /// Sessions that went on at another connection to the writer.
    pub(crate) renewed: Count,
    /// Cancel requests.
    pub(crate) cancels: Count,
    /// Nodes that took the writer's place.
    pub(crate) writers: Count,
}

/// A number that goes up.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn up(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
