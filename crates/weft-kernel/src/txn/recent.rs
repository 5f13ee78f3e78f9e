//! The writes of recent commits, kept for as long as a serializable transaction must be validated against them.
//!
//! ```text
//!   commits  42 {t: k 3}  43 {u: k 1}  44 {t: files}      serializable snapshots  41, 43
//!   41 ends                        oldest snapshot 43, so 42 and 43 go
//!   no serializable transaction    a commit goes as soon as it is published
//! ```
//!
//! 1. A commit is added under the sequencing latch, before its timestamp can be seen by anybody; it is left out only
//!    while there is no serializable transaction.
//! 2. A serializable snapshot is at or behind every commit that was left out, and it is registered under this list's
//!    mutex, so that nothing behind it has gone.
//!
//! Concurrency: sequencing latch → this mutex → the timeline's. Nothing is read from tables under it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::sync::Mutex;
use weft_format::{Result, Timestamp};

use super::timeline::Timeline;
use crate::catalog::TableRef;
use crate::table::TableWrites;

/// Rows whose keys and values are remembered; of older commits only the names of the tables are.
const ROWS_MAX: usize = 200_000;

/// What one commit wrote.
pub(crate) struct CommittedWrites {
    pub(super) ts: Timestamp,
    pub(super) tables: Vec<TableCommit>,
    /// Of rows that were written in part, the other columns may not be what they are here.
    pub(super) mixed: bool,
}

/// What one commit wrote to one table.
pub(super) struct TableCommit {
    pub(super) table: TableRef,
    /// None when there was too much to remember.
    pub(super) writes: Option<Arc<TableWrites>>,
    pub(super) has_files: bool,
}

impl CommittedWrites {
    fn row_count(&self) -> usize {
        self.tables.iter().filter_map(|table| table.writes.as_ref()).map(|writes| writes.rows.len()).sum()
    }

    /// The same without rows.
    fn coarse(&self) -> CommittedWrites {
        let table = |commit: &TableCommit| TableCommit {
            table: commit.table.clone(),
            writes: None,
            has_files: commit.has_files,
        };
        CommittedWrites { ts: self.ts, tables: self.tables.iter().map(table).collect(), mixed: self.mixed }
    }
}

/// The recent commits of an engine.
#[derive(Default)]
pub(crate) struct RecentCommits {
    /// Serializable transactions that are registered or about to be.
    active: AtomicU64,
    /// The last commit that was left out.
    left_out: AtomicU64,
    state: Mutex<Recent>,
}

#[derive(Default)]
struct Recent {
    commits: VecDeque<Arc<CommittedWrites>>,
    row_count: usize,
    /// How many of the oldest commits are coarse.
    coarse_count: usize,
    /// Serializable snapshots and how many transactions have each.
    snapshots: BTreeMap<Timestamp, usize>,
}

impl RecentCommits {
    /// Registers the snapshot of a serializable transaction. `sequencer` is the sequencing latch.
    pub(crate) fn register(&self, timeline: &Timeline, sequencer: &Mutex<()>) -> Result<Timestamp> {
        self.active.fetch_add(1, Ordering::SeqCst);
        // Who has looked before this and left its commit out holds the latch or has let go of it.
        drop(sequencer.lock());
        if let Err(error) = timeline.wait_published(Timestamp(self.left_out.load(Ordering::SeqCst))) {
            self.active.fetch_sub(1, Ordering::SeqCst);
            return Err(error);
        }
        let mut state = self.state.lock();
        let read_ts = timeline.register();
        *state.snapshots.entry(read_ts).or_default() += 1;
        Ok(read_ts)
    }

    /// Ends such a registration.
    pub(crate) fn release(&self, read_ts: Timestamp, timeline: &Timeline) {
        let mut state = self.state.lock();
        let count = state.snapshots.get_mut(&read_ts).expect("a snapshot is released once");
        *count -= 1;
        if *count == 0 {
            state.snapshots.remove(&read_ts);
        }
        self.active.fetch_sub(1, Ordering::SeqCst);
        state.prune(timeline.published());
        drop(state);
        timeline.release(read_ts);
    }

    /// Adds a commit; the caller holds the sequencing latch.
    pub(super) fn push(&self, ts: Timestamp, commit: impl FnOnce() -> CommittedWrites) {
        if self.active.load(Ordering::SeqCst) == 0 {
            self.left_out.store(ts.0, Ordering::SeqCst);
            return;
        }
        let commit = commit();
        let mut state = self.state.lock();
        assert!(state.commits.back().is_none_or(|last| last.ts < ts), "commits come in order (recent 1)");
        state.row_count += commit.row_count();
        state.commits.push_back(Arc::new(commit));
        while state.row_count > ROWS_MAX && state.coarse_count < state.commits.len() {
            let at = state.coarse_count;
            let coarse = Arc::new(state.commits[at].coarse());
            state.row_count -= state.commits[at].row_count();
            state.commits[at] = coarse;
            state.coarse_count += 1;
        }
    }

    /// The commits after a timestamp, oldest first.
    pub(super) fn after(&self, ts: Timestamp) -> Vec<Arc<CommittedWrites>> {
        let state = self.state.lock();
        let from = state.commits.partition_point(|commit| commit.ts <= ts);
        state.commits.range(from..).cloned().collect()
    }

    /// How many commits and rows are kept.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.commits.len(), state.row_count)
    }
}

impl Recent {
    fn prune(&mut self, published: Timestamp) {
        let oldest = self.snapshots.first_key_value().map_or(published, |(&ts, _)| ts.min(published));
        while let Some(first) = self.commits.front()
            && first.ts <= oldest
        {
            let gone = self.commits.pop_front().expect("the front was looked at");
            self.row_count -= gone.row_count();
            self.coarse_count = self.coarse_count.saturating_sub(1);
        }
    }
}
