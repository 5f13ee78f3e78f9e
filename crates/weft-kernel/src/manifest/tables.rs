//! The state that edits add up to.
//!
//! ```text
//!   edit {table 5, cut 40, +files 1 2}, edit {table 5, cut 90, +file 3, -file 1}   →   table 5: cut 90, files 2 3
//! ```
//!
//! 1. A table's cut never goes back.
//! 2. A file belongs to at most one table, and is added at most once.

use std::collections::{BTreeMap, BTreeSet};

use weft_contract::RecoveredTable;
use weft_format::{Error, FileId, Result, TableId, Timestamp};

use super::edit::Edit;

/// What a file number costs in a set, about, and a table in a map.
const FILE_BYTES: usize = 14;
const TABLE_BYTES: usize = 160;

/// What the manifest knows of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableState {
    pub(crate) cut: Timestamp,
    pub(crate) files: BTreeSet<FileId>,
    /// Payloads of the edits, oldest first.
    pub(crate) payloads: Vec<Vec<u8>>,
}

/// What the manifest knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tables {
    pub(crate) by_id: BTreeMap<TableId, TableState>,
    /// The highest file number ever named.
    pub(crate) file_max: FileId,
    /// The highest table ever named.
    pub(crate) table_max: TableId,
    /// Which database it is; 0: no writer has said so yet.
    pub(crate) database: u64,
}

impl TableState {
    /// As the engine wants it at open.
    pub(crate) fn recovered(&self) -> RecoveredTable {
        RecoveredTable { cut: self.cut, files: self.files.iter().copied().collect(), payloads: self.payloads.clone() }
    }
}

impl Tables {
    /// Whether the edit fits the state.
    pub(crate) fn check(&self, edit: &Edit) -> Result<()> {
        let empty = TableState::default();
        let table = self.by_id.get(&edit.table).unwrap_or(&empty);
        let wrong = |what: String| Err(Error::internal(format!("manifest edit of table {}: {what}", edit.table)));
        if edit.cut < table.cut {
            return wrong(format!("cut {} is below the present cut {}", edit.cut, table.cut));
        }
        if let Some(file) = edit.removed.iter().find(|file| !table.files.contains(file)) {
            return wrong(format!("removed file {file} is not part of the table"));
        }
        let known = |file: &&FileId| self.by_id.values().any(|table| table.files.contains(file));
        if let Some(file) = edit.added.iter().find(known) {
            return wrong(format!("added file {file} is part of a table already"));
        }
        let distinct = |files: &[FileId]| files.iter().collect::<BTreeSet<_>>().len() == files.len();
        if !distinct(&edit.added) || !distinct(&edit.removed) {
            return wrong("a file is named twice".into());
        }
        Ok(())
    }

    /// Applies an edit that was checked.
    pub(crate) fn apply(&mut self, edit: Edit) {
        self.table_max = self.table_max.max(edit.table);
        self.file_max = edit.added.iter().fold(self.file_max, |max, file| max.max(*file));
        let table = self.by_id.entry(edit.table).or_default();
        assert!(edit.cut >= table.cut, "the cut of a table never goes back (tables 1)");
        table.cut = edit.cut;
        for file in &edit.removed {
            assert!(table.files.remove(file), "file {file} leaves the table that has it");
        }
        for file in edit.added {
            assert!(table.files.insert(file), "file {file} is added at most once (tables 2)");
        }
        if !edit.payload.is_empty() {
            table.payloads.push(edit.payload);
        }
    }

    /// Forgets a table.
    pub(crate) fn forget(&mut self, table: TableId) {
        self.by_id.remove(&table);
    }

    /// The memory of all payloads and file numbers, about.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let table = |table: &TableState| {
            let payloads: usize = table.payloads.iter().map(|payload| payload.capacity() + size_of::<Vec<u8>>()).sum();
            (payloads + table.files.len() * FILE_BYTES + TABLE_BYTES) as u64
        };
        self.by_id.values().map(table).sum()
    }

    /// As the engine wants it at open.
    pub(crate) fn recovered(&self) -> BTreeMap<TableId, RecoveredTable> {
        self.by_id.iter().map(|(id, table)| (*id, table.recovered())).collect()
    }
}
