//! How committed writes come in.
//!
//! ```text
//!   apply(ts 44)   k1: update of b, seen at row id 4 ─▶ record {b} in the tails of 44, word of row 4 swung
//!                  k2: new                           ─▶ row id 9, key k2 → 9, record with the row
//!                  k3: was there once, row id 5      ─▶ record with the row, at row id 5 again
//!                  files of a bulk load          ─▶ row ids behind all others, into the base (loaded)
//!   cut 44         nothing of it happens: it is in files
//! ```
//!
//! 1. What has to be looked for in files is looked for before the gate: a freeze waits for appends alone.
//! 2. An insert names its key, be it known or not: files of keys may forget one whose row was gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_contract::{Staged, TableWrites, Write};
use weft_format::{Error, Result, Timestamp, Value};
use weft_kernel::fault::active;
use weft_kernel::read_again;

use super::faults;
use super::gate::Holder;
use super::layout::Layout;
use super::read::row_id_of;
use super::record::Record;
use super::store::{Shape, Store};

/// A change that is to be appended: its key, and the row id if it has one.
struct Change<'a> {
    key: &'a [u8],
    staged: &'a Staged,
    row_id: Option<u64>,
}

impl Write for Store {
    fn apply(&self, ts: Timestamp, writes: &TableWrites) -> Result<()> {
        if ts <= self.cut() && !active(faults::REPLAY_TWICE_APPLIES) {
            return Ok(());
        }
        // Write 1.
        let changes = self.look_up(&self.layout(), writes)?;
        let built = writes.attachments.iter().filter(|attachment| !attachment.files.is_empty());
        let built = built.map(|attachment| self.built_of(&attachment.files)).collect::<Result<Vec<_>>>()?;
        let is_full = {
            let _within = self.enter();
            if self.given_up.covers(ts) {
                // Only the log has it.
                return Ok(());
            }
            let (layout, shape) = (self.layout(), self.shape());
            let records = layout.tails_of(ts).record_count();
            self.attach(ts, &built);
            for change in &changes {
                self.append(&layout, &shape, ts, change);
            }
            if layout.tails_of(ts).record_count() > records {
                self.note_change(ts);
            }
            self.is_full(&layout.active)
        };
        if is_full {
            self.freeze_active(|layout| self.is_full(&layout.active));
            self.context.services.wake_jobs();
        } else if !self.merging.load(Ordering::Acquire) && self.mergeable(&self.layout()).is_some() {
            self.context.services.wake_jobs();
        }
        Ok(())
    }

    fn give_up(&self, ts: Timestamp, error: &Error) -> bool {
        let _closed = self.close(Holder::GiveUp);
        self.given_up.set(ts, error);
        // Given up 3.
        self.note_change(ts);
        true
    }
}

impl Store {
    /// The row ids of what changes: where it was seen, or as its key says. The keys are locked by who commits.
    fn look_up<'a>(&self, layout: &Layout, writes: &'a TableWrites) -> Result<Vec<Change<'a>>> {
        let mut changes = Vec::with_capacity(writes.rows.len());
        for (key, staged) in &writes.rows {
            let row_id = match staged.base.version() {
                Some((_, Some(location))) => Some(row_id_of(location)),
                _ => read_again(&*self.context.env.clock, || layout.row_id(key))?,
            };
            changes.push(Change { key, staged, row_id });
        }
        Ok(changes)
    }

    fn append(&self, layout: &Layout, shape: &Shape, ts: Timestamp, change: &Change<'_>) {
        let tails = layout.tails_of(ts);
        let Change { key, staged, row_id } = change;
        let replaces = staged.base.version().is_some();
        let row_id = row_id.or_else(|| layout.tails().find_map(|tails| tails.keys.get(key)));
        match (&staged.row, row_id) {
            (Some(row), Some(row_id)) if replaces => {
                let set: Vec<(u16, Value)> = staged.columns.iter().map(|&column| set_of(shape, row, column)).collect();
                let before = layout.newest(row_id);
                tails.append(row_id, |slot| Record::set(ts, slot, set, before, layout.base.cut));
            }
            (Some(row), row_id) => {
                assert!(!replaces, "what is replaced has a row id (lineage 1)");
                let row_id = row_id.unwrap_or_else(|| self.take_row_id());
                // The key last: who finds it finds the row. Write 2.
                tails.append(row_id, |slot| Record::insert(ts, slot, row.clone()));
                tails.add_key(key, row_id);
            }
            (None, Some(row_id)) if replaces => tails.append(row_id, |slot| Record::delete(ts, slot)),
            (None, _) => assert!(!replaces, "what is deleted has a row id (lineage 1)"),
        }
    }
}

/// A column that is set, with its value.
fn set_of(shape: &Shape, row: &Arc<[u8]>, column: usize) -> (u16, Value) {
    (column as u16, shape.codec.get(row, column).to_value())
}
