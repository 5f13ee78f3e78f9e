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
//! Memory: one batch, and the keys of the index.

use arrow_array::RecordBatch;
use weft_contract::{ReadView, ScanRequest, Table};
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

    fn wrong_rows(&self, table: &dyn Table, read_ts: Timestamp) -> Result<Vec<String>> {
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
        wrong.extend(self.wrong_number(table, read_ts, count)?);
        Ok(wrong)
    }

    /// Rows that the table does not have, when there are more than it has (columns check 2).
    fn wrong_number(&self, table: &dyn Table, read_ts: Timestamp, count: u64) -> Result<Vec<String>> {
        let (name, table_name) = (self.name(), &self.table_name);
        let schema = &self.context.def.schema;
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let codec = KeyCodec::new(schema);
        let mut found = 0;
        self.each_batch(read_ts, |batch| {
            found += batch.num_rows() as u64;
            let rows = self.codec.encode_columns(batch.columns());
            keys.extend(rows.iter().map(|row| codec.of_row(&self.codec, row)));
            Ok(())
        })?;
        if found == count {
            return Ok(Vec::new());
        }
        let mut wrong =
            vec![format!("column index {name:?} has {found} rows at {read_ts}, table {table_name:?} {count}")];
        keys.sort_unstable();
        for pair in keys.windows(2).filter(|pair| pair[0] == pair[1]).take(TOLD_MAX) {
            wrong.push(format!("column index {name:?} has a row twice (key {:02x?})", pair[0]));
        }
        for key in keys {
            if wrong.len() < TOLD_MAX && table.read_row(&key, read_ts)?.is_none() {
                wrong.push(format!("column index {name:?} has a row that table {table_name:?} lacks (key {key:02x?})"));
            }
        }
        Ok(wrong)
    }

    fn each_batch(&self, read_ts: Timestamp, mut visit: impl FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        let schema = &self.context.def.schema;
        let request = ScanRequest {
            view: ReadView { read_ts, own: None, reads: None },
            projection: (0..schema.columns.len()).collect(),
            predicates: Vec::new(),
            partition_count: 1,
            batch_rows: BATCH_ROWS,
        };
        for partition in &mut self.stored().scan(schema, request, Vec::new())?.partitions {
            while let Some(batch) = partition.next()? {
                visit(&batch)?;
            }
        }
        Ok(())
    }
}
