//! Point lookup: filter, sparse index, then a binary search that decodes single values.
//!
//! ```text
//!   first_keys: [k0, k1024, k2048, k3072]; looking for k with k1024 < k < k2048
//!   └▶ rows 1024..2048: 10 probes, each decodes one value per key column
//! ```

use std::cmp::Ordering;
use std::ops::Range;

use crate::bloom::hash_bytes;
use crate::error::Result;
use crate::table::cache::BlockCache;
use crate::table::column_table::ColumnTable;
use crate::table::layout::INDEX_ROWS;
use crate::value::Value;

impl ColumnTable {
    /// The positions of the rows with this key, oldest version first; empty when there are none.
    pub fn find(&self, cache: &dyn BlockCache, key: &[u8]) -> Result<Range<u32>> {
        if key < self.min_key() || key > self.max_key() || !self.may_contain_key(hash_bytes(key)) {
            return Ok(0..0);
        }
        self.find_unfiltered(cache, key)
    }

    /// As [`ColumnTable::find`], without the Bloom filter; for a key that is absent, the empty range where it would be.
    pub fn find_unfiltered(&self, cache: &dyn BlockCache, key: &[u8]) -> Result<Range<u32>> {
        let values = self.key_codec.decode(key)?;
        let start = self.first_at_least(cache, key, &values)?;
        let rows = self.row_count() as usize;
        if start == rows || self.compare_key(cache, start, &values)?.is_ne() {
            return Ok(start as u32..start as u32);
        }
        // One version is the rule; only several are worth a second search.
        let mut end = start + 1;
        if end < rows && self.compare_key(cache, end, &values)?.is_eq() {
            let unit = self.first_keys.partition_point(|first| first.as_slice() <= key);
            end = self.partition(end..(unit * INDEX_ROWS).min(rows), |position| {
                Ok(self.compare_key(cache, position, &values)?.is_eq())
            })?;
        }
        Ok(start as u32..end as u32)
    }

    /// The first position whose key is at least `key`; the row count when there is none.
    pub fn lower_bound(&self, cache: &dyn BlockCache, key: &[u8]) -> Result<u32> {
        let values = self.key_codec.decode(key)?;
        Ok(self.first_at_least(cache, key, &values)? as u32)
    }

    fn first_at_least(&self, cache: &dyn BlockCache, key: &[u8], values: &[Value]) -> Result<usize> {
        let unit = self.first_keys.partition_point(|first| first.as_slice() < key);
        if unit == 0 {
            return Ok(0);
        }
        let range = (unit - 1) * INDEX_ROWS..(unit * INDEX_ROWS).min(self.row_count() as usize);
        self.partition(range, |position| Ok(self.compare_key(cache, position, values)?.is_lt()))
    }

    /// The first position of the range for which `before` is false.
    fn partition(&self, range: Range<usize>, before: impl Fn(usize) -> Result<bool>) -> Result<usize> {
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if before(middle)? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// How the key at a position compares with these values.
    fn compare_key(&self, cache: &dyn BlockCache, position: usize, values: &[Value]) -> Result<Ordering> {
        for (&column, value) in self.key_columns.iter().zip(values) {
            let order = self.compare_at(cache, column, position, value.as_ref())?;
            if order.is_ne() {
                return Ok(order);
            }
        }
        Ok(Ordering::Equal)
    }
}
