//! What a transaction staged, table by table, and how to take the last steps back.
//!
//! ```text
//!   mark → 0      insert a      staged { a: row 1 }      journal [a was nothing]
//!   mark → 1      update a      staged { a: row 2 }      journal [a was nothing, a was row 1]
//!   rollback_to(1)              staged { a: row 1 }      journal [a was nothing]
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weft_contract::{Attachment, Staged, TableWrites};
use weft_format::TableId;

use super::constraint_modes::ConstraintModes;
use crate::catalog::{Relation, TableRef};

/// A point in a transaction to which it can be rolled back; the start of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub(super) step_count: usize,
}

/// One transaction's work on one table.
pub(super) struct TableState {
    pub(super) table: TableRef,
    pub(super) writes: Arc<TableWrites>,
    /// Holds the table's shared lock.
    pub(super) locked: bool,
}

/// A step that can be taken back.
pub(super) enum Step {
    /// A key's staged state was this before.
    Row { table: TableId, key: Arc<[u8]>, before: Option<Staged> },
    /// A row got another key.
    Moved { table: TableId, from: Arc<[u8]>, to: Arc<[u8]> },
    /// An attachment was added at the end.
    Attach { table: TableId },
    /// Files with entries of an index were added at the end.
    Entries,
    /// An attachment was taken out, whose rows are staged one by one from here on.
    Unbuild { table: TableId, at: usize, attachment: Attachment },
    /// The last entry of the transaction's DDL was added.
    Ddl,
    /// SET CONSTRAINTS: what was said before.
    Modes(ConstraintModes),
}

/// All staged writes, and the journal.
#[derive(Default)]
pub(crate) struct Journal {
    pub(super) tables: Vec<TableState>,
    /// Files that were built for indexes, each with its index: what they have of the files of their tables.
    entries: Vec<(Relation, Attachment)>,
    steps: Vec<Step>,
    /// Somebody asked for a mark, so steps are written down from here on.
    wanted: AtomicBool,
    /// When deferrable constraints are tested.
    pub(super) constraint_modes: ConstraintModes,
    /// Bytes of staged keys and rows.
    pub(super) staged_bytes: u64,
    /// Attachments that were taken out: their files go with the transaction.
    unbuilt: Vec<(TableRef, Attachment)>,
}

impl Journal {
    pub(super) fn mark(&self) -> Mark {
        self.wanted.store(true, Ordering::Relaxed);
        Mark { step_count: self.steps.len() }
    }

    /// Steps are written down from here on, whether somebody asked for a mark or not.
    pub(super) fn want_steps(&mut self) {
        *self.wanted.get_mut() = true;
    }

    /// How many steps were written down.
    pub(super) fn step_count(&self) -> usize {
        self.steps.len()
    }

    /// The steps written down.
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The state of a table, if the transaction has touched it.
    pub(super) fn find(&self, table: TableId) -> Option<&TableState> {
        self.tables.iter().find(|state| state.table.def.id == table)
    }

    /// The state of a table, made when missing.
    pub(super) fn state(&mut self, table: &TableRef) -> &mut TableState {
        let found = self.tables.iter().position(|state| state.table.def.id == table.def.id);
        let at = found.unwrap_or_else(|| {
            self.tables.push(TableState { table: table.clone(), writes: Arc::default(), locked: false });
            self.tables.len() - 1
        });
        // Noted under an older definition, by a statement that was run again.
        if self.tables[at].table.def.schema.version < table.def.schema.version {
            self.tables[at].table = table.clone();
        }
        &mut self.tables[at]
    }

    /// The table has another definition from here on.
    pub(super) fn redefine(&mut self, table: &TableRef) {
        if let Some(state) = self.tables.iter_mut().find(|state| state.table.def.id == table.def.id) {
            state.table = table.clone();
        }
    }

    /// Stages a key.
    pub(super) fn stage(&mut self, table: &TableRef, key: &[u8], staged: Staged) {
        self.staged_bytes += (key.len() + staged.row.as_ref().map_or(0, |row| row.len()) + STAGED_BYTES) as u64;
        let key: Arc<[u8]> = key.into();
        let before = Arc::make_mut(&mut self.state(table).writes).rows.insert(key.clone(), staged);
        self.note(|| Step::Row { table: table.def.id, key, before });
    }

    /// Stages files.
    pub(super) fn attach(&mut self, table: &TableRef, attachment: Attachment) {
        self.staged_bytes += attachment.replaced.as_ref().map_or(0, |replaced| replaced.memory_bytes());
        Arc::make_mut(&mut self.state(table).writes).attachments.push(attachment);
        self.note(|| Step::Attach { table: table.def.id });
    }

    /// Nothing is staged for a table any more, without a way back.
    pub(crate) fn forget(&mut self, table: TableId) {
        self.tables.retain(|state| state.table.def.id != table);
    }

    /// Stages files with entries of an index.
    pub(crate) fn attach_entries(&mut self, index: impl Into<Relation>, files: Attachment) {
        let says_something = !files.files.is_empty() || !files.payload.is_empty();
        assert!(says_something && files.replaced.is_none(), "entries follow from rows (traits 3)");
        self.entries.push((index.into(), files));
        self.note(|| Step::Entries);
    }

    /// The files with entries of indexes.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&Relation, &Attachment)> {
        self.entries.iter().map(|(index, files)| (index, files))
    }

    /// Takes files out again: their rows are staged one by one next.
    pub(super) fn unbuild(&mut self, table: &TableRef, at: usize) -> Attachment {
        let attachment = Arc::make_mut(&mut self.state(table).writes).attachments.remove(at);
        assert!(attachment.replaced.is_some(), "only files whose rows replace others are taken apart");
        self.unbuilt.push((table.clone(), attachment.clone()));
        self.note(|| Step::Unbuild { table: table.def.id, at, attachment: attachment.clone() });
        attachment
    }

    /// Writes a step down when a mark may want it back.
    pub(super) fn note(&mut self, step: impl FnOnce() -> Step) {
        if *self.wanted.get_mut() {
            self.steps.push(step());
        }
    }

    /// Takes steps back down to a mark. `undo_ddl` is called for each [`Step::Ddl`].
    pub(super) fn rollback_to(&mut self, mark: Mark, mut undo_ddl: impl FnMut()) {
        assert!(mark.step_count <= self.steps.len(), "a mark is of this transaction and not rolled back itself");
        for step in self.steps.split_off(mark.step_count).into_iter().rev() {
            match step {
                Step::Row { table, key, before } => {
                    let writes = self.writes_mut(table);
                    let undone = match before {
                        Some(before) => writes.rows.insert(key, before),
                        None => writes.rows.remove(&key),
                    };
                    assert!(undone.is_some(), "a key stays staged until the step that staged it is taken back");
                }
                Step::Attach { table } => {
                    let attachment = self.writes_mut(table).attachments.pop().expect("a step was noted for it");
                    let state = self.find(table).expect("the table has a state: it was staged to");
                    state.table.discard(&attachment);
                }
                Step::Entries => {
                    let (index, files) = self.entries.pop().expect("a step was noted for them");
                    discard(&index, &files);
                }
                Step::Unbuild { table, at, attachment } => {
                    let before = self.unbuilt.len();
                    self.unbuilt.retain(|(_, unbuilt)| unbuilt.files != attachment.files);
                    assert!(self.unbuilt.len() < before, "files that come back go with the transaction no more");
                    self.writes_mut(table).attachments.insert(at, attachment);
                }
                Step::Moved { .. } => {}
                Step::Ddl => undo_ddl(),
                Step::Modes(before) => self.constraint_modes = before,
            }
        }
    }

    /// Files go whose rows were staged one by one.
    pub(super) fn discard_unbuilt(&mut self) {
        for (table, attachment) in std::mem::take(&mut self.unbuilt) {
            table.discard(&attachment);
        }
    }

    /// Files of bulk statements are taken back.
    pub(super) fn discard_attachments(&self) {
        for state in &self.tables {
            for attachment in &state.writes.attachments {
                state.table.discard(attachment);
            }
        }
        self.entries.iter().for_each(|(index, files)| discard(index, files));
    }

    /// Whether nothing is staged.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.tables.iter().all(|state| state.writes.is_empty())
    }

    fn writes_mut(&mut self, table: TableId) -> &mut TableWrites {
        let state = self.tables.iter_mut().find(|state| state.table.def.id == table);
        Arc::make_mut(&mut state.expect("the table has a state: it was staged to").writes)
    }
}

/// Takes back files that were built for what is derived from a table.
pub(super) fn discard(index: &Relation, files: &Attachment) {
    index.derived().expect("who built files is open").discard(files);
}

/// What a staged row costs in memory beside its key and its row, about.
const STAGED_BYTES: usize = 128;
