//! Point lookup: filter, sparse index, then a search that decodes single values.
//!
//! ```text
//!   first_keys: [k0, k1024, k2048, k3072]; looking for k with k1024 < k < k2048
//!   └▶ rows 1024..2048: a guess between the two ends, steps 1, 8, 64 from there, then halves: 4 probes when keys are
//!      numbered one by one, 10 as a rule; each decodes one value per key column
//! ```

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use crate::bloom::hash_bytes;
use crate::encoding::{BLOCK_ROWS, Block};
use crate::error::Result;
use crate::key::head;
use crate::table::cache::BlockCache;
use crate::table::column_table::ColumnTable;
use crate::table::layout::INDEX_ROWS;
use crate::value::Value;

/// The key columns' blocks that hold one stretch of rows, fetched once for all probes of a search.
struct KeyBlocks {
    block: usize,
    /// Of the first column of the key; most keys have no other.
    first: Arc<Block>,
    others: Vec<Arc<Block>>,
}

impl KeyBlocks {
    /// How the key at a position of the table compares with these values.
    fn compare(&self, position: usize, values: &[Value]) -> Ordering {
        debug_assert_eq!(position / BLOCK_ROWS, self.block, "a search stays in the block it fetched");
        let row = position % BLOCK_ROWS;
        let order = compare_at(&self.first, row, &values[0]);
        let others = self.others.iter().zip(&values[1..]);
        others.fold(order, |order, (block, value)| order.then_with(|| compare_at(block, row, value)))
    }

    /// Where these values would be in a range, were the integers of the first column spread evenly in it.
    fn guess(&self, range: &Range<usize>, values: &[Value]) -> usize {
        let int_at = |position: usize| self.first.int_at(position % BLOCK_ROWS).map(i128::from);
        let (Value::Int(wanted), Some(first), Some(last)) = (&values[0], int_at(range.start), int_at(range.end - 1))
        else {
            return range.start.midpoint(range.end);
        };
        let last_place = (range.end - 1 - range.start) as i128;
        let from_first = i128::from(*wanted) - first;
        range.start + (from_first * last_place / (last - first).max(1)).clamp(0, last_place) as usize
    }

    /// The first position of the range for which `before` is false, probed first at and around `probe`.
    fn partition(
        &self,
        range: Range<usize>,
        mut probe: usize,
        values: &[Value],
        before: impl Fn(Ordering) -> bool,
    ) -> usize {
        let (mut low, mut high) = (range.start, range.end);
        let mut step = 1;
        while low < high {
            let is_before = before(self.compare(probe, values));
            if is_before {
                low = probe + 1;
            } else {
                high = probe;
            }
            // Away from the guess in growing steps; halves once both sides are known.
            probe = match is_before {
                _ if low > range.start && high < range.end => low.midpoint(high),
                true => (low + step).min(high.saturating_sub(1)),
                false => high.saturating_sub(step).max(low),
            };
            step *= 8;
        }
        low
    }
}

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
        let (mut blocks, start) = self.first_at_least(cache, key, &values)?;
        let rows = self.row_count() as usize;
        if start == rows {
            return Ok(start as u32..start as u32);
        }
        if start / BLOCK_ROWS != blocks.block {
            blocks = self.key_blocks(cache, start)?;
        }
        if blocks.compare(start, &values).is_ne() {
            return Ok(start as u32..start as u32);
        }
        // One version is the rule; more may lie anywhere up to the first key of a later unit.
        let mut end = start + 1;
        while end < rows {
            if end / BLOCK_ROWS != blocks.block {
                blocks = self.key_blocks(cache, end)?;
            }
            if blocks.compare(end, &values).is_ne() {
                break;
            }
            let unit_end = ((end / INDEX_ROWS + 1) * INDEX_ROWS).min(rows);
            end = blocks.partition(end..unit_end, end, &values, Ordering::is_eq);
        }
        Ok(start as u32..end as u32)
    }

    /// The first position whose key is at least `key`; the row count when there is none.
    pub fn lower_bound(&self, cache: &dyn BlockCache, key: &[u8]) -> Result<u32> {
        let values = self.key_codec.decode(key)?;
        Ok(self.first_at_least(cache, key, &values)?.1 as u32)
    }

    /// The first position whose key is at or behind these bytes, which need not be those of a key; the row count when
    /// there is none.
    pub fn first_from(&self, cache: &dyn BlockCache, bytes: &[u8]) -> Result<u32> {
        let unit = self.first_keys_below(bytes);
        let mut low = unit.saturating_sub(1) * INDEX_ROWS;
        let mut high = (unit * INDEX_ROWS).min(self.row_count() as usize);
        while low < high {
            let middle = low.midpoint(high);
            if self.key(cache, middle as u32)?.as_slice() < bytes {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low as u32)
    }

    fn first_at_least(&self, cache: &dyn BlockCache, key: &[u8], values: &[Value]) -> Result<(KeyBlocks, usize)> {
        let unit = self.first_keys_below(key);
        if unit == 0 {
            return Ok((self.key_blocks(cache, 0)?, 0));
        }
        let range = (unit - 1) * INDEX_ROWS..(unit * INDEX_ROWS).min(self.row_count() as usize);
        let blocks = self.key_blocks(cache, range.start)?;
        let guess = blocks.guess(&range, values);
        let position = blocks.partition(range, guess, values, Ordering::is_lt);
        Ok((blocks, position))
    }

    /// How many first keys are below `key`. Where their heads differ these decide, which lie side by side.
    fn first_keys_below(&self, key: &[u8]) -> usize {
        let wanted = head(key);
        let low = self.first_heads.partition_point(|&first| first < wanted);
        let same = self.first_heads[low..].partition_point(|&first| first == wanted);
        low + self.first_keys[low..low + same].partition_point(|first| first.as_slice() < key)
    }

    /// The blocks of the key columns at a position.
    fn key_blocks(&self, cache: &dyn BlockCache, position: usize) -> Result<KeyBlocks> {
        let block = position / BLOCK_ROWS;
        let (&first, others) = self.key_columns.split_first().expect("a key has a column at least");
        let first = self.block(cache, first, block)?;
        let mut blocks = KeyBlocks { block, first, others: Vec::new() };
        for &column in others {
            blocks.others.push(self.block(cache, column, block)?);
        }
        Ok(blocks)
    }
}

/// How the value in a row of a block compares with this one.
#[inline]
fn compare_at(block: &Block, row: usize, value: &Value) -> Ordering {
    match (value, block.int_at(row)) {
        (Value::Int(wanted), Some(found)) => found.cmp(wanted),
        _ => block.with_value(row, |found| found.compare(value.as_ref())),
    }
}
