//! The keys that are alive in any part of a layout, in order, for the deep check.
//!
//! ```text
//!   row table 3   2 7            ─┐
//!   file 12       1 4 9           ├─▶  1 2 4 7 7 9      7 is alive twice
//!   file 15       7    (from 7)  ─┘    file 15 is opened when 7 is reached
//! ```
//!
//! 1. Each part has its keys in order; files have been verified before.
//! 2. A file takes no memory before its least key is reached, then one block of its key columns.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::Arc;

use weft_format::{BLOCK_ROWS, Block, FileId, KeyCodec, Result, Timestamp, Value};

use super::layout::Layout;
use super::part::Part;
use super::row_table::RowTable;
use super::store::Store;

/// Where a version lies that is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AlivePlace {
    RowTable(u64),
    File(FileId, u32),
}

impl fmt::Display for AlivePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AlivePlace::RowTable(number) => write!(f, "row table {number}"),
            AlivePlace::File(file, position) => write!(f, "file {file} row {position}"),
        }
    }
}

type Found = (Vec<u8>, AlivePlace);

/// Merges the keys of all parts.
pub(crate) struct AliveKeys<'a> {
    keys: &'a KeyCodec,
    key_columns: Vec<usize>,
    sources: Vec<Source<'a>>,
    /// The next key of each source, or a bound below it.
    heads: BinaryHeap<Reverse<Head>>,
}

/// A key, where it lies (none: it is a bound), and the source it comes from.
type Head = (Vec<u8>, Option<AlivePlace>, usize);

enum Source<'a> {
    Rows(Box<dyn Iterator<Item = Found> + 'a>),
    File { part: &'a Part, columns: Vec<Arc<Block>>, position: u32 },
}

impl Store {
    /// The keys of all versions that are alive now; the caller keeps jobs and writers away.
    pub(crate) fn alive_keys<'a>(&'a self, layout: &'a Layout) -> AliveKeys<'a> {
        let mut alive = AliveKeys {
            keys: &self.keys,
            key_columns: self.schema().key.clone(),
            sources: Vec::new(),
            heads: BinaryHeap::new(),
        };
        for table in layout.row_tables() {
            alive.add(Vec::new(), Source::Rows(Box::new(alive_rows(table))));
        }
        for part in layout.parts() {
            alive.add(part.key_min().to_vec(), Source::File { part, columns: Vec::new(), position: 0 });
        }
        alive
    }
}

fn alive_rows(table: &RowTable) -> impl Iterator<Item = Found> {
    let alive = table.versions().filter(|(_, place)| place.chunk.delete_ts(place.slot) == Timestamp::MAX);
    alive.map(|(key, _)| (key, AlivePlace::RowTable(table.number)))
}

impl<'a> AliveKeys<'a> {
    fn add(&mut self, bound: Vec<u8>, source: Source<'a>) {
        self.heads.push(Reverse((bound, None, self.sources.len())));
        self.sources.push(source);
    }

    /// The next key, equal ones one after the other.
    pub(crate) fn next(&mut self) -> Result<Option<Found>> {
        while let Some(Reverse((key, place, source))) = self.heads.pop() {
            if let Some((key, place)) = self.sources[source].next(self.keys, &self.key_columns)? {
                self.heads.push(Reverse((key, Some(place), source)));
            }
            if let Some(place) = place {
                return Ok(Some((key, place)));
            }
        }
        Ok(None)
    }
}

impl Source<'_> {
    fn next(&mut self, keys: &KeyCodec, key_columns: &[usize]) -> Result<Option<Found>> {
        let (part, columns, position) = match self {
            Source::Rows(rows) => return Ok(rows.next()),
            Source::File { part, columns, position } => (part, columns, position),
        };
        while *position < part.row_count() {
            let (block, row) = (*position as usize / BLOCK_ROWS, *position as usize % BLOCK_ROWS);
            if row == 0 {
                columns.clear();
                for &column in key_columns {
                    columns.push(part.table.block(part.cache(), column, block)?);
                }
            }
            let here = *position;
            *position += 1;
            if !part.marks.is_marked(here) {
                let values: Vec<Value> = columns.iter().map(|block| block.value(row)).collect();
                let key = keys.encode(values.iter().map(Value::as_ref));
                return Ok(Some((key, AlivePlace::File(part.file, here))));
            }
        }
        columns.clear();
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::conformance;

    fn rows(number: u64, keys: &[u8]) -> Source<'_> {
        Source::Rows(Box::new(keys.iter().map(move |&key| (vec![key], AlivePlace::RowTable(number)))))
    }

    #[test]
    fn keys_come_in_order_and_equal_ones_together() {
        let keys = KeyCodec::new(&conformance::schema());
        let mut alive =
            AliveKeys { keys: &keys, key_columns: Vec::new(), sources: Vec::new(), heads: BinaryHeap::new() };
        for (number, (bound, keys)) in
            [(0, &[2, 7, 7][..]), (1, &[1, 4, 9]), (5, &[7]), (0, &[])].into_iter().enumerate()
        {
            alive.add(vec![bound], rows(number as u64, keys));
        }
        let mut found = Vec::new();
        while let Some((key, place)) = alive.next().unwrap() {
            found.push((key[0], place.to_string()));
        }
        let keys: Vec<u8> = found.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, [1, 2, 4, 7, 7, 7, 9]);
        let mut sevens: Vec<&str> = found[3..6].iter().map(|(_, place)| &**place).collect();
        sevens.sort_unstable();
        assert_eq!(sevens, ["row table 0", "row table 0", "row table 2"]);
    }
}
