//! How committed writes come in.
//!
//! ```text
//!   apply(ts 44)   k1: b in its leaf since 12   ─▶ b [12, 44) to the undo, the new row in its place
//!                  k2: not there                ─▶ a cell more; the leaf is too long: it is split
//!                  k3: the page has it since 47 ─▶ nothing: the page was written with it, and read again (in place 2)
//!   cut 44         nothing of it happens: it is on pages
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_contract::{TableWrites, Write};
use weft_format::{Error, Result, Timestamp};
use weft_kernel::fault::active;
use weft_kernel::read_again;

use super::faults;
use super::loads::{Fate, load_of, read_payload};
use super::node::Node;
use super::pool::{Frame, Page};
use super::store::Store;

/// Where the cell of a key is in its leaf, or would be.
type Place = std::result::Result<usize, usize>;

/// What came of a change.
pub(super) struct Done {
    /// The leaf is too long.
    pub(super) is_too_long: bool,
    /// The change was behind all rows of the leaf.
    pub(super) comes_at_end: bool,
    /// Rows more, or less.
    pub(super) rows: i64,
}

impl Write for Store {
    fn apply(&self, ts: Timestamp, writes: &TableWrites) -> Result<()> {
        // What is given up is in the log alone.
        if ts <= self.cut() || self.given_up.covers(ts) {
            return Ok(());
        }
        for attachment in &writes.attachments {
            self.attach(ts, &attachment.payload)?;
        }
        for (key, staged) in &writes.rows {
            self.put_row(ts, key, staged.row.as_deref())?;
        }
        self.note_last(ts);
        self.call_for_job();
        Ok(())
    }

    fn give_up(&self, ts: Timestamp, error: &Error) -> bool {
        self.given_up.set(ts, error);
        // Given up 3.
        self.note_last(ts);
        true
    }
}

impl Store {
    /// Makes the rows of a load those of a commit.
    fn attach(&self, ts: Timestamp, payload: &[u8]) -> Result<()> {
        if payload.is_empty() {
            return Ok(());
        }
        let (load, rows) = read_payload(payload)?;
        if self.loads.write().commit(load, ts)? {
            self.rows.fetch_add(rows.cast_signed(), Ordering::Relaxed);
        }
        let pending = self.pending.lock().remove(&load).unwrap_or_default();
        for (key, row) in &pending {
            // They were counted with the others of the load.
            let more = self.put_row(ts, key, Some(row))?;
            self.rows.fetch_sub(more, Ordering::Relaxed);
        }
        Ok(())
    }

    /// How many rows there are more.
    fn put_row(&self, ts: Timestamp, key: &Arc<[u8]>, row: Option<&[u8]>) -> Result<i64> {
        let put = || self.change_leaf(key, |frame, page| self.put(frame, page, ts, key, row));
        let done = read_again(&*self.context.env.clock, put)?;
        self.rows.fetch_add(done.rows, Ordering::Relaxed);
        if done.is_too_long && self.may_reshape() {
            // A leaf that could not be split now, because of the disk or the log, is split by a later change.
            drop(self.split_around(key, done.comes_at_end));
        }
        Ok(done.rows)
    }

    /// Says of the cell of a key, which may be of a load, since when it is there, or that it is not; where it is, and
    /// whether the page has it otherwise, and must be written before the load is forgotten (sweep 2).
    /// None: it is of a load that began later than the commit which is about to change it, and which recovery reads.
    fn settled_place(&self, node: &mut Node, ts: Timestamp, key: &[u8]) -> Option<(Place, bool)> {
        let found = node.find(key);
        let Ok(at) = found else { return Some((found, false)) };
        let Some(load) = load_of(node.cell(at).since) else { return Some((found, false)) };
        let mut is_buried = false;
        match self.loads.read().fate(load) {
            Fate::Committed(ts) => node.settle(at, ts),
            Fate::Gone => {
                // Snapshots from before look for what the key was.
                node.bury(at, Timestamp(ts.0 - 1));
                is_buried = true;
            }
            Fate::Open => {
                assert!(!self.context.services.takes_page_records(), "who loads has the table for itself (loads 2)");
                return None;
            }
        }
        Some((found, is_buried))
    }

    /// Freezes when much has changed, and rings when a job can run.
    fn call_for_job(&self) {
        if self.frozen().is_none() {
            let bytes = self.pool.lent_bytes() + self.undo.bytes();
            if bytes > self.changed_bytes_max {
                self.freeze_all();
            }
        }
        let services = &self.context.services;
        if self.frozen().is_some_and(|frozen| frozen <= services.published()) && self.is_ours {
            services.wake_jobs();
        }
    }

    /// Gives a key its state of a commit: a row, or none.
    fn put(&self, frame: &Frame, page: &mut Page, ts: Timestamp, key: &Arc<[u8]>, row: Option<&[u8]>) -> Done {
        let node = &mut page.node;
        let state = (ts, row.is_none());
        let (mut rows, mut comes_at_end, mut has_changed) = (0, false, true);
        let Some((place, is_buried)) = self.settled_place(node, ts, key) else {
            return Done { is_too_long: false, comes_at_end, rows };
        };
        match place {
            Ok(at) => {
                let cell = node.cell(at);
                let (since, is_dead) = (cell.since, cell.is_dead);
                // It came with the page (contract: in place 2), or there is nothing to end.
                if since >= ts || is_dead && row.is_none() {
                    has_changed = false;
                } else {
                    if !is_dead && self.keeps_versions() {
                        self.undo.keep(key, (since, ts), cell.value);
                    }
                    node.set(at, state, row.unwrap_or_default());
                    rows = i64::from(is_dead) - i64::from(row.is_none());
                }
            }
            Err(at) => match row {
                Some(row) => {
                    comes_at_end = at == node.len() && node.high.is_none();
                    node.insert(at, key, state, row);
                    rows = 1;
                }
                None => has_changed = false,
            },
        }
        if has_changed || is_buried {
            self.note_row(frame, node, row.is_none() || is_buried);
        }
        Done { is_too_long: node.is_too_long(self.node_bytes_max()), comes_at_end, rows }
    }

    /// Notes that rows of a leaf have changed. The caller has it latched alone.
    pub(super) fn note_row(&self, frame: &Frame, node: &Node, is_dead: bool) {
        let is_noted = frame.is_changed.load(Ordering::Acquire);
        if is_dead || self.is_ours && !is_noted {
            let mut changes = self.changes.lock();
            self.note_changed(&mut changes, frame, node, None);
            if is_dead {
                changes.with_dead.insert(frame.number);
            }
        } else {
            self.pool.changed(frame, node);
        }
    }

    /// Whether somebody may read what is replaced: nobody while an opening reads the log.
    fn keeps_versions(&self) -> bool {
        self.may_reshape() && !active(faults::UNDO_NOT_KEPT)
    }
}
