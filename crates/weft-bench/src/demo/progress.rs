//! How far a replay is: numbers that writers and readers count up while the view shows them.
//!
//! ```text
//!   writers ── transactions, events, minute, retries, writes ──▶ Progress ──▶ view
//!   readers ── reads, bad_snapshots ────────────────────────────┘
//! ```

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize};

use crate::latency::Latencies;

/// What the view shows while the replay runs; shared by all threads.
#[derive(Default)]
pub(super) struct Progress {
    /// Transactions acknowledged.
    pub(super) transactions: AtomicU64,
    /// Events in them.
    pub(super) events: AtomicU64,
    /// The latest minute of the year that a writer has reached.
    pub(super) minute: AtomicI64,
    /// Transactions run again.
    pub(super) retries: AtomicU64,
    /// Latencies of the writers so far.
    pub(super) writes: Mutex<Latencies>,
    /// Latencies of each query so far.
    pub(super) reads: Mutex<Vec<Latencies>>,
    /// Snapshots in which a flight had arrived without having departed.
    pub(super) bad_snapshots: AtomicU64,
    /// Whether the writers are to stop before the end of the year.
    pub(super) stop: AtomicBool,
    /// Writers that still write; readers stop when there is none.
    pub(super) writers_left: AtomicUsize,
}
