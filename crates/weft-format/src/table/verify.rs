//! The deep check of a column table: every block against its checksum, its statistics, its filters and the key order.

use std::sync::Arc;

use crate::bloom::{hash_bytes, hash_value};
use crate::encoding::{BLOCK_ROWS, Block};
use crate::error::{Error, Result};
use crate::stats::ColumnStats;
use crate::table::cache::NoCache;
use crate::table::column_table::{ColumnTable, in_file};
use crate::table::layout::INDEX_ROWS;
use crate::value::Value;

impl ColumnTable {
    /// Reads everything, past any cache, and tests the invariants of `docs/format/column-table.md`.
    pub fn verify(&self) -> Result<()> {
        for column in 0..self.columns.len() {
            for block in 0..self.block_count() {
                if self.is_documents(column, block) {
                    self.check_documents(column, block)?;
                }
                let loaded = self.load(column, block)?;
                self.verify_block(column, block, &loaded).map_err(|error| self.in_block(column, block, error))?;
            }
        }
        self.verify_summaries()?;
        self.verify_keys()
    }

    fn verify_summaries(&self) -> Result<()> {
        let summaries = self.summaries()?.unwrap_or_default();
        for (column, summary) in summaries.iter().enumerate() {
            let (found, counted) = (summary.rows() - summary.present(), self.stats(column).null_count);
            if found != counted {
                let what = format!("the summary of column {column} counts {found} NULLs, its blocks {counted}");
                return Err(in_file(self.table_id(), self.file_id(), Error::corrupt(what)));
            }
        }
        Ok(())
    }

    /// Reads everything, past any cache, and tests its checksums.
    pub fn verify_checksums(&self) -> Result<()> {
        for column in 0..self.columns.len() {
            for block in 0..self.block_count() {
                let mut pieces = 0..self.piece_count(column, block);
                pieces.try_for_each(|piece| self.slice(&NoCache, column, block, piece).map(|_| ()))?;
            }
        }
        self.summaries().map(|_| ())
    }

    fn verify_block(&self, column: usize, block: usize, loaded: &Block) -> Result<()> {
        loaded.check()?;
        let parts = &self.columns[column];
        let stats = &parts.blocks[block].stats;
        let (mut min, mut max) = (Value::Null, Value::Null);
        for row in 0..loaded.len() {
            let value = loaded.value(row);
            if value.is_null() {
                continue;
            }
            if parts.filter.as_ref().is_some_and(|filter| !filter.may_contain(hash_value(value.as_ref()))) {
                return Err(Error::corrupt(format!("the column's Bloom filter denies the value of row {row}")));
            }
            if min.is_null() || value.as_ref().compare(min.as_ref()).is_lt() {
                min = value.clone();
            }
            if max.is_null() || value.as_ref().compare(max.as_ref()).is_gt() {
                max = value;
            }
        }
        let found = ColumnStats::new(min.as_ref(), max.as_ref(), loaded.null_count() as u64, loaded.len() as u64);
        let same = |a: &Value, b: &Value| a.as_ref().compare(b.as_ref()).is_eq();
        let agree = same(&found.min, &stats.min)
            && same(&found.max, &stats.max)
            && (found.min_exact, found.max_exact) == (stats.min_exact, stats.max_exact)
            && (found.null_count, found.row_count) == (stats.null_count, stats.row_count);
        if agree {
            Ok(())
        } else {
            Err(Error::corrupt(format!("its values give {found:?}, the footer says {stats:?}")))
        }
    }

    fn verify_keys(&self) -> Result<()> {
        let wrong = |position: usize, what: &str| {
            Err(in_file(self.table_id(), self.file_id(), Error::corrupt(format!("row {position}: {what}"))))
        };
        let mut last: Option<(Vec<u8>, u64)> = None;
        let (mut min_ts, mut max_ts) = (u64::MAX, 0);
        for block in 0..self.block_count() {
            let blocks: Vec<Arc<Block>> =
                self.key_columns.iter().map(|&column| self.load(column, block)).collect::<Result<_>>()?;
            let stamps = self.load(self.insert_ts_column(), block)?;
            for row in 0..self.block_rows(block) {
                let position = block * BLOCK_ROWS + row;
                let values: Vec<Value> = blocks.iter().map(|block| block.value(row)).collect();
                if values.iter().any(Value::is_null) {
                    return wrong(position, "its key holds NULL");
                }
                let key = self.key_codec.encode(values.iter().map(Value::as_ref));
                let Some(ts) = stamps.int_at(row) else { return wrong(position, "it has no insert timestamp") };
                let ts = ts as u64;
                if !self.may_contain_key(hash_bytes(&key)) {
                    return wrong(position, "the key's Bloom filter denies its key");
                }
                if position.is_multiple_of(INDEX_ROWS) && self.first_keys[position / INDEX_ROWS] != key {
                    return wrong(position, "its key is not the one in the sparse index");
                }
                (min_ts, max_ts) = (min_ts.min(ts), max_ts.max(ts));
                let current = (key, ts);
                if last.as_ref().is_some_and(|last| *last > current) {
                    return wrong(position, "it does not follow the row before it in key and insert timestamp");
                }
                last = Some(current);
            }
        }
        let last_row = self.row_count() as usize - 1;
        if last.is_none_or(|(key, _)| key != self.max_key) {
            return wrong(last_row, "its key is not the greatest that the footer names");
        }
        if (min_ts, max_ts) != (self.min_insert_ts.0, self.max_insert_ts.0) {
            return wrong(last_row, "the footer names other insert timestamps than the rows have");
        }
        Ok(())
    }
}
