//! A transaction's staged writes to one table, and the changes they become in the log.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_format::{FileId, Timestamp, Value};

/// Where a committed version was seen. A hint: installation finds it again when a job has moved it (invariant 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// In a row table, by its number in the table's life.
    RowTable(u64),
    /// In a column table at a position.
    ColumnTable(FileId, u32),
}

/// The staged state of one key.
#[derive(Clone, Debug)]
pub struct Staged {
    /// The committed version that this replaces, or none when the key was free: its insert timestamp and location.
    pub base: Option<(Timestamp, Location)>,
    /// The whole new row (row codec), or none when the key ends up without a row.
    pub row: Option<Arc<[u8]>>,
    /// Ordinals of the columns that differ from the base, ascending; meaningful when both `base` and `row` are there.
    pub columns: Vec<usize>,
}

/// Files that a bulk statement built; they become parts of the table at commit.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// The files, durable before the commit record that names them.
    pub files: Vec<FileId>,
    /// Rows in them.
    pub rows: u64,
    /// What the method wants to know about them again at installation and replay.
    pub payload: Vec<u8>,
}

/// All staged writes of one transaction to one table. Copied when a scan holds it while the transaction writes on.
#[derive(Clone, Debug, Default)]
pub struct TableWrites {
    /// By key bytes.
    pub rows: BTreeMap<Arc<[u8]>, Staged>,
    /// In statement order.
    pub attachments: Vec<Attachment>,
}

impl TableWrites {
    /// Whether nothing is staged.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.attachments.is_empty()
    }
}

/// One logged change of a table, as replay sees it.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A key that had no row gets one.
    Insert {
        /// Key bytes.
        key: Vec<u8>,
        /// The row (row codec).
        row: Vec<u8>,
    },
    /// Some columns of a row change.
    Update {
        /// Key bytes; an update never changes the key (that is a delete and an insert).
        key: Vec<u8>,
        /// Ordinals and new values of the changed columns, ascending.
        values: Vec<(usize, Value)>,
    },
    /// A row goes.
    Delete {
        /// Key bytes.
        key: Vec<u8>,
    },
    /// Files built by a bulk statement become parts of the table.
    Attach(Vec<FileId>, Vec<u8>),
}
