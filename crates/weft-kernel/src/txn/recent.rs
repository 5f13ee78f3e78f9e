//! The writes of recent commits, kept for as long as a serializable transaction must be validated against them, or a
//! speculative one may read them before they are published.
//!
//! ```text
//!   commits  42 {t: k 3}  43 {u: k 1}  44 {t: files}      serializable snapshots  41, 43
//!   41 ends                        oldest snapshot 43, so 42 and 43 go
//!   no serializable transaction    a commit goes as soon as it is published
//!   too many bytes                 42 goes, and "t changed at 42" stays: whoever has read of t at 41 meets a conflict
//! ```
//!
//! 1. A commit is added under the sequencing latch, before its timestamp can be seen by anybody; it is left out only
//!    while there is no serializable transaction.
//! 2. A serializable snapshot is at or behind every commit that was left out, and it is registered under this list's
//!    mutex, so that nothing behind it has gone.
//!
//! 3. The commits right behind a registered snapshot are here without a gap, or were left out or forgotten from the
//!    first one on.
//! 4. Of a commit behind a serializable snapshot that was forgotten the tables are known, each with the last such
//!    commit: who asks for the commits behind a timestamp is told of these first, under the same lock. So what is
//!    remembered is bounded: in bytes, and by the number of tables.
//!
//! Concurrency: sequencing latch → this mutex → the timeline's. Nothing is read from tables under it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weft_contract::TableWrites;
use weft_env::sync::Mutex;
use weft_format::{Result, TableId, Timestamp};

use super::bookkeeping::Bookkeeping;
use super::level::IsolationLevel;
use crate::catalog::{TableDef, TableRef};
use crate::fault::{Fault, active};
use crate::timeline::Timeline;

/// So many commits at once are handed to who validates; the list is locked that long.
const COMMITS_AT_ONCE: usize = 64;
/// What a commit costs beside its rows and tables, and each of its tables, about.
pub(super) const COMMIT_BYTES: u64 = 256;

/// What one commit wrote.
pub(crate) struct CommittedWrites {
    pub(super) ts: Timestamp,
    pub(super) tables: Vec<TableCommit>,
    /// Of rows that were written in part, the other columns may not be what they are here.
    pub(super) mixed: bool,
    /// Tables or indexes were made or dropped.
    pub(super) has_ddl: bool,
    /// Its block of the log was not written.
    pub(super) void: AtomicBool,
    /// What all of this takes, about.
    pub(super) bytes: u64,
}

/// What one commit wrote to one table.
pub(super) struct TableCommit {
    pub(super) table: TableRef,
    pub(super) writes: Arc<TableWrites>,
    pub(super) has_files: bool,
}

impl CommittedWrites {
    /// Whether the commit failed in the log.
    pub(super) fn is_void(&self) -> bool {
        self.void.load(Ordering::SeqCst)
    }

    /// The rows written to a table.
    pub(super) fn writes_of(&self, table: TableId) -> Option<&Arc<TableWrites>> {
        self.tables.iter().find(|written| written.table.id() == table).map(|written| &written.writes)
    }

    /// Whether it is rows only, whose content is known.
    fn is_plain(&self) -> bool {
        !self.mixed && !self.has_ddl && self.tables.iter().all(|table| !table.has_files)
    }
}

/// What is known of the commits behind a timestamp.
pub(super) enum Behind {
    /// The oldest of them, in order; none when there are none.
    Commits(Vec<Arc<CommittedWrites>>),
    /// One changed this table, and its rows are forgotten.
    Forgotten(Arc<TableDef>),
}

/// The recent commits of an engine.
pub(crate) struct RecentCommits {
    bookkeeping: Arc<Bookkeeping>,
    /// Serializable transactions that are registered or about to be, and watches of speculative ones.
    active: AtomicU64,
    /// The last commit that was left out.
    left_out: AtomicU64,
    state: Mutex<Recent>,
}

#[derive(Default)]
struct Recent {
    commits: VecDeque<Arc<CommittedWrites>>,
    /// By table: the last commit that changed it and was forgotten.
    forgotten: BTreeMap<TableId, (Timestamp, Arc<TableDef>)>,
    /// Serializable snapshots and how many transactions have each.
    snapshots: BTreeMap<Timestamp, usize>,
}

impl RecentCommits {
    pub(crate) fn new(bookkeeping: Arc<Bookkeeping>) -> RecentCommits {
        let (active, left_out, state) = Default::default();
        RecentCommits { bookkeeping, active, left_out, state }
    }

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
        let left_out = self.left_out.load(Ordering::SeqCst);
        assert!(read_ts.0 >= left_out, "a serializable snapshot shows every commit that was left out (recent 2)");
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
        let active = self.active.fetch_sub(1, Ordering::SeqCst);
        assert!(active > 0, "a watch ends once");
        let gone = self.state.lock().prune(timeline.published());
        self.let_go(gone);
    }

    /// A commit failed in the log; its timestamp is not void yet.
    pub(super) fn void(&self, ts: Timestamp) {
        let state = self.state.lock();
        if let Ok(at) = state.commits.binary_search_by_key(&ts, |commit| commit.ts) {
            assert!(!state.commits[at].is_void(), "a commit fails in the log once");
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
        let active = self.active.fetch_sub(1, Ordering::SeqCst);
        assert!(active > 0, "who has a serializable snapshot is counted, so that commits are kept for it (recent 1)");
        let gone = state.prune(timeline.published());
        drop(state);
        self.let_go(gone);
        timeline.release(read_ts);
    }

    /// Adds a commit; the caller holds the sequencing latch.
    pub(super) fn push(&self, ts: Timestamp, timeline: &Timeline, commit: impl FnOnce() -> CommittedWrites) {
        let left_out = self.left_out.load(Ordering::SeqCst);
        assert!(ts.0 > left_out, "commits come in order, those that are left out too (recent 1)");
        if self.active.load(Ordering::SeqCst) == 0 {
            self.left_out.store(ts.0, Ordering::SeqCst);
            return;
        }
        let commit = commit();
        assert!(commit.ts == ts, "a commit is remembered under its own timestamp");
        self.bookkeeping.charge(commit.bytes);
        let mut state = self.state.lock();
        let mut gone = if state.snapshots.is_empty() { state.prune(timeline.published()) } else { Vec::new() };
        assert!(state.commits.back().is_none_or(|last| last.ts < ts), "commits come in order (recent 1)");
        state.commits.push_back(Arc::new(commit));
        let mut excess = self.bookkeeping.excess_bytes().saturating_sub(bytes_of(&gone));
        while excess > 0
            && let Some(oldest) = state.commits.pop_front()
        {
            excess = excess.saturating_sub(oldest.bytes);
            for written in &oldest.tables {
                let before = state.forgotten.insert(written.table.id(), (oldest.ts, written.table.def.clone()));
                let is_later = before.is_none_or(|(before, _)| before < oldest.ts);
                assert!(is_later, "of a table the last commit is known that was forgotten (recent 4)");
            }
            gone.push(oldest);
        }
        debug_assert!(state.forgets_oldest_first(), "who is told of what is kept misses nothing between (recent 4)");
        drop(state);
        self.let_go(gone);
    }

    /// What goes is freed outside of the list's lock.
    fn let_go(&self, gone: Vec<Arc<CommittedWrites>>) {
        self.bookkeeping.release(bytes_of(&gone));
    }

    /// What is known of the commits after a timestamp, for who has read these tables (recent 4).
    pub(super) fn behind(&self, ts: Timestamp, tables: &[TableId]) -> Behind {
        let state = self.state.lock();
        let forgotten = if active(Fault::FORGET_COMMITS) { &BTreeMap::new() } else { &state.forgotten };
        let changed = tables.iter().filter_map(|table| forgotten.get(table)).find(|(last, _)| *last > ts);
        if let Some((_, def)) = changed {
            return Behind::Forgotten(Arc::clone(def));
        }
        let from = state.commits.partition_point(|commit| commit.ts <= ts);
        Behind::Commits(state.commits.range(from..).take(COMMITS_AT_ONCE).cloned().collect())
    }

    /// The most bytes that are kept of rows, and that are kept now.
    pub(crate) fn memory_bytes(&self) -> (u64, u64) {
        (self.bookkeeping.limit_bytes(), self.bookkeeping.used_bytes())
    }

    /// How many commits are kept, and tables of such as were forgotten.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.commits.len(), state.forgotten.len())
    }
}

fn bytes_of(commits: &[Arc<CommittedWrites>]) -> u64 {
    commits.iter().map(|commit| commit.bytes).sum()
}

impl Recent {
    /// Whether everything that was forgotten is behind everything that is kept.
    fn forgets_oldest_first(&self) -> bool {
        let first = self.commits.front().map(|commit| commit.ts);
        first.is_none_or(|first| self.forgotten.values().all(|(last, _)| *last < first))
    }

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

    /// Takes out what nobody is validated against any more.
    fn prune(&mut self, published: Timestamp) -> Vec<Arc<CommittedWrites>> {
        let oldest = self.snapshots.first_key_value().map_or(published, |(&ts, _)| ts.min(published));
        self.forgotten.retain(|_, (last, _)| *last > oldest);
        let end = self.commits.partition_point(|commit| commit.ts <= oldest);
        self.commits.drain(..end).collect()
    }
}
