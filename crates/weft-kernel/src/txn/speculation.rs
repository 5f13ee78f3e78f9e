//! Speculative reads: a snapshot that shows commits which have their place in the log and are not durable yet.
//!
//! ```text
//!   published 41     in the log  42 {k 3}   43 {k 1}   44 {CREATE TABLE}   45 {k 1}
//!   snapshot         41, then 42, then 43              44 cannot be shown, so nothing behind it is
//!   read k 1         as 43 leaves it                   43 is noted
//!   commit           waits until 43 is published; when its block was not written, 43 is void: 40001
//! ```
//!
//! 1. What is shown is the published snapshot and the commits right behind it, in timestamp order and without gap, up
//!    to the first one that is more than rows of known content; void ones are nothing.
//! 2. A commit is noted before somebody sees a read that it had a part in. A scan notes all that wrote to its table.
//! 3. A transaction takes its first lock, and commits, only after everything noted is published. From then on it reads
//!    the snapshot of the last commit noted, which shows the same wherever it has read.
//! 4. A transaction speculates only while it has no lock and nothing staged: own writes and pending ones never meet.
//!
//! Concurrency: reads may come from several threads of one statement. Crash: a transaction that has acknowledged its
//! commit has seen durable commits only, as far as those asked to be durable.
//!
//! Source: L-Store, section 5.1.1 (speculative-read, validate reads).

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use weft_contract::{Staged, TableWrites};
use weft_format::{Code, Error, Result, TableId, Timestamp};

use super::opened::Engine;
use super::recent::CommittedWrites;

/// Keeps the writes of pending commits at hand for speculative snapshots. Each speculating transaction has one; who
/// begins such transactions often keeps one besides, so that the first of them finds the commits before it, too.
pub struct PendingWatch {
    engine: Arc<Engine>,
}

impl PendingWatch {
    pub(crate) fn new(engine: Arc<Engine>) -> PendingWatch {
        engine.core.recent.watch();
        PendingWatch { engine }
    }
}

impl Drop for PendingWatch {
    fn drop(&mut self) {
        self.engine.core.recent.unwatch(&self.engine.core.timeline);
    }
}

/// What a transaction that speculates keeps.
pub(super) struct Speculation {
    _watch: PendingWatch,
    /// Behind the published snapshot, oldest first.
    shown: Vec<Shown>,
    /// The rows of `shown` by table, once somebody has asked for all of a table.
    merged: HashMap<TableId, OnceLock<Arc<TableWrites>>>,
    /// Noted at earlier snapshots of this transaction.
    earlier: Vec<Arc<CommittedWrites>>,
}

struct Shown {
    commit: Arc<CommittedWrites>,
    /// A read has had it as a part (speculation 2).
    noted: AtomicBool,
}

impl Speculation {
    /// Nothing is shown yet.
    pub(super) fn new(watch: PendingWatch) -> Speculation {
        Speculation { _watch: watch, shown: Vec::new(), merged: HashMap::new(), earlier: Vec::new() }
    }

    /// What a snapshot shows beside what is published.
    pub(super) fn show(&mut self, commits: Vec<Arc<CommittedWrites>>) {
        assert!(self.shown.is_empty(), "what was noted at one snapshot is kept before the next one shows its own");
        debug_assert!(
            commits.is_sorted_by(|before, after| before.ts < after.ts),
            "pending commits are shown in timestamp order (speculation 1)"
        );
        let tables = commits.iter().flat_map(|commit| &commit.tables);
        self.merged = tables.map(|written| (written.table.id(), OnceLock::new())).collect();
        self.shown = commits.into_iter().map(|commit| Shown { commit, noted: AtomicBool::new(false) }).collect();
    }

    /// Whether a snapshot shows something beside what is published.
    pub(super) fn shows_pending(&self) -> bool {
        !self.shown.is_empty()
    }

    /// Ends a snapshot; what was noted must still be validated. Returns the last commit noted at it.
    pub(super) fn end_snapshot(&mut self) -> Option<Timestamp> {
        let noted = self.shown.drain(..).filter(|shown| shown.noted.load(Ordering::Acquire));
        let before = self.earlier.len();
        self.earlier.extend(noted.map(|shown| shown.commit));
        self.merged.clear();
        self.earlier[before..].last().map(|commit| commit.ts)
    }

    /// What pending commits made of a key; none when they did not touch it.
    pub(super) fn row(&self, table: TableId, key: &[u8]) -> Option<&Staged> {
        self.shown.iter().rev().find_map(|shown| {
            let staged = shown.commit.writes_of(table)?.rows.get(key)?;
            shown.noted.store(true, Ordering::Release);
            Some(staged)
        })
    }

    /// What pending commits made of a table; none when they did not touch it.
    pub(super) fn writes(&self, table: TableId) -> Option<&Arc<TableWrites>> {
        let merged = self.merged.get(&table)?;
        let written = self.shown.iter().filter_map(|shown| Some((shown, shown.commit.writes_of(table)?)));
        for (shown, _) in written.clone() {
            shown.noted.store(true, Ordering::Release);
        }
        Some(merged.get_or_init(|| {
            let mut each = written.map(|(_, writes)| writes);
            let mut all = each.next().cloned().unwrap_or_default();
            for writes in each {
                let rows = writes.rows.iter().map(|(key, staged)| (key.clone(), staged.clone()));
                Arc::make_mut(&mut all).rows.extend(rows);
            }
            all
        }))
    }

    /// The last commit that was noted at earlier snapshots.
    pub(super) fn last_earlier(&self) -> Option<Timestamp> {
        self.earlier.iter().map(|commit| commit.ts).max()
    }

    /// What was noted at earlier snapshots is published: nothing is to be validated any more.
    pub(super) fn settled(&mut self) {
        assert!(self.shown.is_empty(), "nothing is noted any more of a snapshot that was validated (speculation 3)");
        self.earlier.clear();
    }

    /// Fails when a commit that was noted is void.
    pub(super) fn check_void(&self) -> Result<()> {
        match self.earlier.iter().find(|commit| commit.is_void()) {
            Some(commit) => Err(lost(commit.ts)),
            None => Ok(()),
        }
    }
}

fn lost(ts: Timestamp) -> Error {
    let message = format!("commit {ts}, which this transaction has read before it was durable, failed");
    Error::new(Code::SerializationFailure, message).hint("roll back and run the transaction again")
}
