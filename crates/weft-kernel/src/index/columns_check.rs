//! Compares a column index with its table, row for row, as of one snapshot.
//!
//! ```text
//!   table @50   k1 (3, 'x')   k2 (4, 'y')        index @50   k1 (3)   k2 (4)   k7 (9)
//!   each row of the table is looked up by its key: both are there, and the same
//!   2 rows in the table, 3 in the index: one is there that should not be
//! ```
//!
//! 1. Each row of the table is in the index under its key, with the same values.
//! 2. The index has as many rows as the table: so it has no other.
//!
//! Memory: one batch, and one row.

use std::sync::Arc;

use weft_contract::{ReadView, ScanRequest};
use weft_format::{KeyCodec, Result, Timestamp};

use super::columns::ColumnIndex;

/// More findings than this are not told.
const TOLD_MAX: usize = 10;
/// Rows of a batch.
const BATCH_ROWS: usize = 4096;

impl ColumnIndex {
    /// Tests the rows: what is wrong, one line each.
    pub(super) fn check_rows(&self) -> Result<Vec<String>> {
        let Some(table) = self.rows.upgrade() else { return Ok(Vec::new()) };
        if table.unavailable().is_some() {
            return Ok(Vec::new());
        }
        let timeline = &self.context.services.timeline;
        let read_ts = timeline.register();
        let wrong = if self.is_usable(read_ts) { self.wrong_rows(&*table, read_ts) } else { Ok(Vec::new()) };
        timeline.release(read_ts);
        wrong
    }

    fn wrong_rows(&self, table: &dyn weft_contract::Table, read_ts: Timestamp) -> Result<Vec<String>> {
        let (name, table_name) = (self.name(), &self.table_name);
        let keys = KeyCodec::new(&self.table_schema);
        let (mut wrong, mut count) = (Vec::new(), 0u64);
        super::scan_rows::for_each_row(table, &self.table_schema, read_ts, |batch| {
            for row in self.table_codec.encode_columns(batch.columns()).iter() {
                count += 1;
                let key = keys.of_row(&self.table_codec, row);
                let what = match self.stored().read_row(&key, read_ts)? {
                    None => "has no row of a key of table",
                    Some(found) if found == self.project(row) => continue,
                    Some(_) => "has other values of a row than table",
                };
                if wrong.len() < TOLD_MAX {
                    wrong.push(format!("column index {name:?} {what} {table_name:?} (key {key:02x?}, at {read_ts})"));
                }
            }
            Ok(())
        })?;
        let found = self.count_rows(read_ts)?;
        if found != count {
            wrong.push(format!("column index {name:?} has {found} rows at {read_ts}, table {table_name:?} {count}"));
        }
        Ok(wrong)
    }

    fn count_rows(&self, read_ts: Timestamp) -> Result<u64> {
        let request = ScanRequest {
            view: ReadView { read_ts, own: None, reads: None },
            projection: Vec::new(),
            predicates: Vec::new(),
            partition_count: 1,
            batch_rows: BATCH_ROWS,
        };
        let schema = Arc::clone(&self.context.def.schema);
        let mut count = 0;
        for partition in &mut self.stored().scan(&schema, request, Vec::new())?.partitions {
            while let Some(batch) = partition.next()? {
                count += batch.num_rows() as u64;
            }
        }
        Ok(count)
    }
}
