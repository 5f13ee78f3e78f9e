//! Following: an update of one row builds on a commit that has its place in the log and is not durable yet.
//!
//! ```text
//!   T1  UPDATE k 1 ─ COMMIT: sequenced 42, hands its locks on ───── fdatasync ───── installed, published
//!   T2  UPDATE k 1 ····· waits ·····▶ goes on from T1's row ─ COMMIT: sequenced 43, behind 42 ── fdatasync ── ...
//! ```
//!
//! So a row that all write is locked for as long as a transaction works, not for as long as the disk does.
//!
//! 1. Who follows reads nothing of the commit but the row that it updates, and nothing else before the commit is
//!    published: a statement that is more than such an update or an insert of rows begins with waiting for that.
//! 2. A commit that follows fails when the one before it fails (log invariant 5), is behind it in the log, and is
//!    installed after it was published.
//! 3. Only commits hand on that replace whole rows of known content: no other transaction wrote other columns of them.
//!
//! Source: early lock release (DeWitt et al., Implementation Techniques for Main Memory Database Systems, 1984, section
//! 5.2, pre-committed transactions; Johnson et al., Aether, 2010, section 4).

use std::sync::Arc;

use weft_contract::{Base, Newest, Staged, TableWrites};
use weft_format::{Code, Error, Result, TableId, Timestamp};

use super::core::Core;
use super::followed::Followed;
use super::level::IsolationLevel;
use super::transaction::{LastRead, Transaction};
use crate::catalog::TableRef;
use crate::lock::{Handed, LockMode, LockName, Wait};
use crate::log::{Fate, Ticket};
use crate::options::Durability;
use crate::step::{Moment, passed};

/// Who has more locks than this keeps them to the end: handing them on would take long.
const LOCKS_MAX: usize = 1000;

/// A commit that has its place in the log and has handed its locks on.
struct HandedOn {
    ts: Timestamp,
    fate: Arc<Fate>,
    writes: Vec<(TableId, Arc<TableWrites>)>,
}

impl HandedOn {
    fn row(&self, table: TableId, key: &[u8]) -> Option<&Staged> {
        self.writes.iter().find(|(id, _)| *id == table)?.1.rows.get(key)
    }
}

impl Transaction {
    /// What every statement begins with: may it follow? It may when it only updates a row that it finds by its key, or
    /// adds rows, and tells nothing of them. Any other waits until what this transaction has followed is published, and
    /// fails with [`Code::SerializationFailure`] when that has failed.
    pub fn begin_statement(&mut self, may_follow: bool) -> Result<()> {
        self.may_follow = may_follow
            && self.level == IsolationLevel::ReadCommitted
            && self.durability == Durability::Full
            && self.speculation.is_none();
        if self.may_follow { Ok(()) } else { self.settle_followed() }
    }

    /// The statement turns out to be one that may not follow. True when the transaction has followed before: then what
    /// it has followed is published, and the snapshot a new one that shows it.
    pub fn follow_no_more(&mut self) -> Result<bool> {
        self.may_follow = false;
        let has_followed = !self.followed.is_empty();
        if has_followed {
            self.settle_followed()?;
            self.refresh_snapshot()?;
        }
        Ok(has_followed)
    }

    /// As [`Transaction::lock_row`], for the only row of an UPDATE, which goes on from what a commit made of it that is
    /// not durable yet, if the statement may follow.
    pub fn lock_only_row(&mut self, t: &TableRef, key: &[u8], mode: LockMode, wait: Wait) -> Result<Option<Arc<[u8]>>> {
        let follows = self.may_follow && t.def.foreign_keys.is_empty() && !t.is_referenced();
        if follows
            && self.own_row(t, key)?.is_none()
            && let Some(row) = self.follow_row(t, key, mode, wait)?
        {
            return Ok(Some(row));
        }
        self.lock_row(t, key, mode, wait)
    }

    /// The locked row as a commit leaves it that is not published; none when there is none such.
    fn follow_row(&mut self, t: &TableRef, key: &[u8], mode: LockMode, wait: Wait) -> Result<Option<Arc<[u8]>>> {
        let tested = self.tested_mode(t, mode)?;
        self.lock_key_as(t, key, tested, wait, true)?;
        let handed = self.core().locks.handed_on(LockName::key(t.def.id, key), self.id);
        let commits: Vec<&HandedOn> = handed.iter().filter_map(|commit| commit.downcast_ref()).collect();
        let written = commits.iter().filter_map(|commit| Some((commit, commit.row(t.def.id, key)?)));
        let Some((commit, staged)) = written.max_by_key(|(commit, _)| commit.ts) else { return Ok(None) };
        // A published one may not have released its locks yet when one that followed it has.
        let published = self.core().timeline.published();
        if commit.ts <= published {
            return Ok(None);
        }
        let (Staged { base: Base::Version(_, location), row: Some(row), .. }, None) = (staged, commit.fate.error())
        else {
            // Added, put, deleted or failed: with the next snapshot the row is there, gone or as it was.
            self.core().timeline.wait_published(commit.ts)?;
            return Ok(None);
        };
        assert!(commit.ts > self.read_ts, "what is followed is not published, so no snapshot shows it (follow 1)");
        // Where it was before is as good a hint as any to where it will be.
        let newest = Newest { insert_ts: commit.ts, location: *location };
        self.last_read = Some(LastRead { table: t.def.id, key: key.into(), mode, newest, row: row.clone() });
        self.followed.retain(|before| before.ts > published || before.fate.error().is_some());
        self.followed.push(Followed { ts: commit.ts, fate: commit.fate.clone() });
        passed(Moment::Followed);
        Ok(Some(row.clone()))
    }

    /// Waits until what this transaction has followed is published; an error when that has failed, now and for as long
    /// as the transaction lasts: a statement that runs again does not save what an earlier one has built.
    pub(super) fn settle_followed(&mut self) -> Result<()> {
        if self.followed.is_empty() {
            return Ok(());
        }
        self.wait_for_followed()?;
        self.followed.retain(|followed| followed.fate.error().is_some());
        self.followed.first().map_or(Ok(()), |followed| Err(lost(followed.ts)))
    }

    /// Waits until what this transaction has followed is published or void.
    pub(super) fn wait_for_followed(&self) -> Result<()> {
        let last = self.followed.iter().map(|followed| followed.ts).max();
        last.map_or(Ok(()), |last| self.core().timeline.wait_published(last))
    }

    /// Whether a staged row builds on a commit that was followed and may not be published.
    pub(super) fn has_followed(&self, base: Timestamp) -> bool {
        self.followed.iter().any(|followed| followed.ts == base)
    }

    /// What must not fail for this commit not to.
    pub(super) fn followed_fates(&self) -> Vec<Arc<Fate>> {
        self.followed.iter().map(|followed| followed.fate.clone()).collect()
    }

    /// Hands the locks on: the commit has its place in the log (follow 3).
    pub(super) fn hand_on(&self, core: &Core, ts: Timestamp, ticket: &Ticket) {
        let has_files = || self.journal.tables.iter().any(|state| !state.writes.attachments.is_empty());
        if self.may_be_behind() || !self.ddl.is_empty() || self.locks.count() > LOCKS_MAX || has_files() {
            return;
        }
        assert!(ts > core.timeline.published(), "locks are handed on before the commit is seen (follow 2)");
        let writes = self.journal.tables.iter().map(|state| (state.table.def.id, state.writes.clone())).collect();
        let handed: Handed = Arc::new(HandedOn { ts, fate: ticket.fate().clone(), writes });
        core.locks.hand_on(self.id, &self.locks, &handed);
    }
}

fn lost(ts: Timestamp) -> Error {
    let message = format!("commit {ts}, which this transaction builds on, failed");
    Error::new(Code::SerializationFailure, message).hint("roll back and run the transaction again")
}
