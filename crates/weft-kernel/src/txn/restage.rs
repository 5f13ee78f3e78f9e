//! Changes of the log as the staged writes that they were made of: recovery applies the same as the commit did.
//!
//! ```text
//!   insert k1 row             staged { base: free, row }                       the key has no row now, or the log lies
//!   update k2 (2, 'b')        staged { base: @41 in t12-7, row: that of @41 with 'b' in its column 2, columns: 2 }
//!   delete k3                 staged { base: @38 in row table 4, no row }
//!   attach [7] payload 01     an attachment; what its rows replace the method finds by their keys
//! ```
//!
//! 1. The table is as the commit found it: everything before it in the log was applied, nothing behind it, but for
//!    pages that are ahead of their table's cut (in place 2). The change was checked.
//! 2. What is not there can be neither changed nor deleted: its file was taken out of the table by
//!    `weft check --quarantine`.

use std::sync::Arc;

use weft_contract::{Attachment, Base, Newest, Staged};
use weft_format::{Error, Result, Timestamp};

use super::journal::Journal;
use crate::catalog::TableRef;
use crate::log::Change;

/// Fails for a change that no transaction can have made of the table: the log is not the table's.
pub(crate) fn check_change(ts: Timestamp, table: &TableRef, change: &Change) -> Result<()> {
    match change {
        Change::Insert { row, .. } | Change::Put { row, .. } => table.codec.check(row),
        Change::Update { values, .. } => {
            let count = table.codec.column_count();
            let is_there = values.iter().all(|(column, _)| *column < count);
            if is_there { Ok(()) } else { Err(damaged(ts, table, "updates a column that is not there")) }
        }
        Change::Delete { .. } | Change::Clear { .. } | Change::Attach(..) => Ok(()),
    }
}

impl Journal {
    /// Stages what the log says of a table that a commit at `ts` changed (restage 1).
    pub(crate) fn restage(&mut self, ts: Timestamp, table: &TableRef, change: Change) -> Result<()> {
        let (key, staged) = match change {
            Change::Attach(files, payload) => {
                self.attach(table, logged_attachment(files, payload));
                return Ok(());
            }
            Change::Insert { key, row } => {
                // Pages may be ahead of the log that is read (in place 2).
                let is_ahead = |newest: Newest| newest.insert_ts >= ts && table.table.in_place().is_some();
                if table.table.newest(&key)?.is_some_and(|newest| !is_ahead(newest)) {
                    return Err(damaged(ts, table, "inserts a key that has a row"));
                }
                (key, Staged { base: Base::Free, row: Some(row.into()), columns: Vec::new() })
            }
            Change::Put { key, row } => {
                (key, Staged { base: Base::Unseen, row: Some(row.into()), columns: Vec::new() })
            }
            Change::Clear { key } => (key, Staged { base: Base::Unseen, row: None, columns: Vec::new() }),
            Change::Delete { key } => {
                let Some(newest) = table.table.newest(&key)? else { return Ok(()) };
                let base = Base::Version(newest.insert_ts, newest.location);
                (key, Staged { base, row: None, columns: Vec::new() })
            }
            Change::Update { key, values } => {
                let Some(newest) = table.table.newest(&key)? else { return Ok(()) };
                let Some(before) = table.table.read_row(&key, Timestamp::MAX)? else { return Ok(()) };
                let count = table.codec.column_count();
                let mut row: Vec<_> = (0..count).map(|column| table.codec.get(&before, column)).collect();
                for (column, value) in &values {
                    row[*column] = value.as_ref();
                }
                let row: Arc<[u8]> = table.codec.encode(row).into();
                let columns = values.iter().map(|(column, _)| *column).collect();
                (key, Staged { base: Base::Version(newest.insert_ts, newest.location), row: Some(row), columns })
            }
        };
        self.stage(table, &key, staged);
        Ok(())
    }
}

/// Files as the log names them.
pub(crate) fn logged_attachment(files: Vec<weft_format::FileId>, payload: Vec<u8>) -> Attachment {
    Attachment { files, rows: 0, payload, replaced: None }
}

fn damaged(ts: Timestamp, table: &TableRef, what: &str) -> Error {
    Error::corrupt(format!("the log's commit {ts} {what} in table {:?}", table.def.name))
        .hint("the log and the table's files do not belong together: restore both from one copy")
}
