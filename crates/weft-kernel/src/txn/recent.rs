//! The writes of recent commits, kept for as long as a serializable transaction must be validated against them, or a
//! speculative one may read them before they are published.
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
//! 3. The commits right behind a registered snapshot are here without a gap, or were left out from the first one on.
//!
//! Concurrency: sequencing latch → this mutex → the timeline's. Nothing is read from tables under it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weft_env::sync::Mutex;
use weft_format::{Result, TableId, Timestamp};

use super::level::IsolationLevel;
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
    /// Tables or indexes were made or dropped.
    pub(super) has_ddl: bool,
    /// Its block of the log was not written; shared with its coarse form.
    pub(super) void: Arc<AtomicBool>,
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

    /// Whether the commit failed in the log.
    pub(super) fn is_void(&self) -> bool {
        self.void.load(Ordering::SeqCst)
    }

    /// The rows written to a table.
    pub(super) fn writes_of(&self, table: TableId) -> Option<&Arc<TableWrites>> {
        self.tables.iter().find(|written| written.table.id() == table)?.writes.as_ref()
    }

    /// Whether it is rows only, whose content is known.
    fn is_plain(&self) -> bool {
        !self.mixed && !self.has_ddl && self.tables.iter().all(|table| table.writes.is_some() && !table.has_files)
    }

    /// The same without rows.
    fn coarse(&self) -> CommittedWrites {
        let table = |commit: &TableCommit| TableCommit {
            table: commit.table.clone(),
            writes: None,
            has_files: commit.has_files,
        };
        let tables = self.tables.iter().map(table).collect();
        CommittedWrites { tables, void: self.void.clone(), ..*self }
    }
}

/// The recent commits of an engine.
#[derive(Default)]
pub(crate) struct RecentCommits {
    /// Serializable transactions that are registered or about to be, and watches of speculative ones.
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

    /// Registers a snapshot for a transaction that speculates, and gives the commits behind it that can be shown
    /// (speculation 1).
    pub(super) fn register_pending(
        &self,
        level: IsolationLevel,
        timeline: &Timeline,
        sequencer: &Mutex<()>,
    ) -> Result<(Timestamp, Vec<Arc<CommittedWrites>>)> {
        if level == IsolationLevel::Serializable {
            let read_ts = self.register(timeline, sequencer)?;
            return Ok((read_ts, self.state.lock().plain_after(read_ts)));
        }
        let state = self.state.lock();
        let read_ts = timeline.register();
        Ok((read_ts, state.plain_after(read_ts)))
    }

    /// Ends a registration of a transaction of a level.
    pub(super) fn release_of(&self, level: IsolationLevel, read_ts: Timestamp, timeline: &Timeline) {
        match level {
            IsolationLevel::Serializable => self.release(read_ts, timeline),
            _ => timeline.release(read_ts),
        }
    }

    /// From here on commits are kept until they are published.
    pub(super) fn watch(&self) {
        self.active.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends a watch.
    pub(super) fn unwatch(&self, timeline: &Timeline) {
        self.active.fetch_sub(1, Ordering::SeqCst);
        self.state.lock().prune(timeline.published());
    }

    /// A commit failed in the log; its timestamp is not void yet.
    pub(super) fn void(&self, ts: Timestamp) {
        let state = self.state.lock();
        if let Ok(at) = state.commits.binary_search_by_key(&ts, |commit| commit.ts) {
            state.commits[at].void.store(true, Ordering::SeqCst);
        }
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
    pub(super) fn push(&self, ts: Timestamp, timeline: &Timeline, commit: impl FnOnce() -> CommittedWrites) {
        if self.active.load(Ordering::SeqCst) == 0 {
            self.left_out.store(ts.0, Ordering::SeqCst);
            return;
        }
        let commit = commit();
        let mut state = self.state.lock();
        if state.snapshots.is_empty() {
            state.prune(timeline.published());
        }
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
    /// The plain commits right behind a timestamp, oldest first, without those that are void.
    fn plain_after(&self, ts: Timestamp) -> Vec<Arc<CommittedWrites>> {
        let from = self.commits.partition_point(|commit| commit.ts <= ts);
        let (behind, mut next) = (self.commits.range(from..), ts);
        let right_behind = behind.take_while(|commit| {
            next = next.next();
            commit.ts == next && (commit.is_plain() || commit.is_void())
        });
        right_behind.filter(|commit| !commit.is_void()).cloned().collect()
    }

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
