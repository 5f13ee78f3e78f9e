//! History: what each change replaced, in files by row and time.
//!
//! ```text
//!   row 7   until 44: since 41, alive, b = 'a'      until 50: since 44, alive, c = 1.5      until 60: since 50, gone
//!
//!   as of 43   the first that ends later is 44: alive since 41; b is 'a'; c is 1.5, of 50; others as in the base
//!   as of 55   60: there was no row
//! ```
//!
//! 1. A file has what was replaced behind `after` and up to `to`; files do not overlap.
//! 2. What was replaced at or before `known_from` may be missing, all else is there.

use std::sync::Arc;

use arrow_array::{Int64Array, cast::AsArray, types::Int64Type};
use weft_format::{BLOCK_ROWS, Block, DataType, Predicate, Result, Timestamp, Value};

use super::files::{OpenFile, history_key};
use super::shapes::{FIRST_OLD, REPLACED, ROW_ID, SINCE, UNTIL, WAS_ALIVE, has_bit};
use super::undo::Undo;

/// A file of history.
#[derive(Clone)]
pub(super) struct PastFile {
    pub(super) after: Timestamp,
    pub(super) to: Timestamp,
    pub(super) file: Arc<OpenFile>,
}

/// What one change replaced.
#[derive(Clone)]
pub(super) struct Old {
    file: Arc<OpenFile>,
    position: u32,
    /// The commit that replaced it.
    pub(super) until: Timestamp,
    /// The commit since which it was so.
    pub(super) since: Timestamp,
    /// Whether there was a row.
    pub(super) was_alive: bool,
    replaced: Arc<[u8]>,
}

impl Old {
    fn read(file: &Arc<OpenFile>, position: u32) -> Result<Old> {
        let replaced = match file.table.value(file.cache(), REPLACED, position)? {
            Value::Bytes(bits) => bits,
            _ => Arc::from(&[][..]),
        };
        Ok(Old {
            position,
            until: Timestamp(file.number_at(UNTIL, position)?),
            since: Timestamp(file.number_at(SINCE, position)?),
            was_alive: file.flag_at(WAS_ALIVE, position)?,
            replaced,
            file: file.clone(),
        })
    }

    /// The same with its values, for a file anew; a table of so many columns.
    pub(super) fn into_undo(self, row_id: u64, column_count: usize) -> Result<Undo> {
        let mut values = Vec::new();
        for column in 0..column_count {
            if let Some(value) = self.value(column)? {
                values.push((column, value));
            }
        }
        Ok(Undo { row_id, until: self.until, since: self.since, was_alive: self.was_alive, values })
    }

    /// Whether a snapshot that the change is later than, and none before the change is, sees a row. One that begins
    /// later than the snapshot is the first of its row.
    pub(super) fn is_seen_at(&self, read_ts: Timestamp) -> bool {
        assert!(self.until > read_ts, "what ended before the snapshot says nothing of it");
        self.was_alive && self.since <= read_ts
    }

    /// The old value of a column, if the change replaced it.
    pub(super) fn value(&self, column: usize) -> Result<Option<Value>> {
        if !has_bit(&self.replaced, column) {
            return Ok(None);
        }
        self.file.table.value(self.file.cache(), FIRST_OLD + column, self.position).map(Some)
    }
}

/// A row of history where it lies.
pub(super) struct Entry<'a> {
    pub(super) row_id: u64,
    pub(super) until: Timestamp,
    since: Timestamp,
    was_alive: bool,
    /// The bits of the columns that have an old value here.
    pub(super) replaced: &'a [u8],
    /// Where in the file.
    pub(super) position: u32,
}

impl Entry<'_> {
    /// As [`Old::is_seen_at`].
    pub(super) fn is_seen_at(&self, read_ts: Timestamp) -> bool {
        assert!(self.until > read_ts, "what ended before the snapshot says nothing of it");
        self.was_alive && self.since <= read_ts
    }
}

impl PastFile {
    /// A block of a column.
    pub(super) fn block(&self, column: usize, block: usize) -> Result<Arc<Block>> {
        self.file.table.block(self.file.cache(), column, block)
    }

    /// Whether something that was replaced later than `read_ts` may satisfy a predicate; false is certain.
    pub(super) fn may_match(&self, predicate: &Predicate, read_ts: Timestamp) -> bool {
        let column = FIRST_OLD + predicate.column();
        // NULL is an old value, or that there is none: who asks for NULL finds out row by row.
        self.to > read_ts
            && column < self.file.table.column_count()
            && self.file.table.stats(column).may_match(predicate)
    }

    /// Visits what was replaced of some rows later than `read_ts`, in the order of row ids and times; `visit` says
    /// whether it wants more of the row.
    pub(super) fn walk(
        &self,
        rows: std::ops::Range<u64>,
        read_ts: Timestamp,
        mut visit: impl FnMut(&Entry<'_>) -> bool,
    ) -> Result<()> {
        if self.to <= read_ts || rows.is_empty() {
            return Ok(());
        }
        self.pieces(&rows, &mut |block, within| {
            let [row_ids, sinces, untils] = [ROW_ID, SINCE, UNTIL].map(|column| self.numbers(column, block));
            let (row_ids, sinces, untils) = (row_ids?, sinces?, untils?);
            let (row_ids, untils) = (&row_ids.values()[..within.end], &untils.values()[..within.end]);
            let was_alive = self.block(WAS_ALIVE, block)?.decode(DataType::Boolean);
            let replaced = self.block(REPLACED, block)?.decode(DataType::Bytea);
            let (was_alive, replaced) = (was_alive.as_boolean(), replaced.as_binary_view());
            let mut done = None;
            for row in within {
                let until = Timestamp(untils[row].cast_unsigned());
                if until <= read_ts || done == Some(row_ids[row]) {
                    continue;
                }
                let entry = Entry {
                    row_id: row_ids[row].cast_unsigned(),
                    until,
                    since: Timestamp(sinces.value(row).cast_unsigned()),
                    was_alive: was_alive.value(row),
                    replaced: replaced.value(row),
                    position: (block * BLOCK_ROWS + row) as u32,
                };
                if !visit(&entry) {
                    done = Some(row_ids[row]);
                }
            }
            Ok(())
        })
    }

    /// Visits what was replaced of some rows: the row id, since when it was so, and until when.
    pub(super) fn spans(
        &self,
        rows: &std::ops::Range<u64>,
        visit: &mut dyn FnMut(u64, Timestamp, Timestamp),
    ) -> Result<()> {
        self.pieces(rows, &mut |block, within| {
            let [row_ids, sinces, untils] = [ROW_ID, SINCE, UNTIL].map(|column| self.numbers(column, block));
            let (row_ids, sinces, untils) = (row_ids?, sinces?, untils?);
            for row in within {
                let [since, until] = [&sinces, &untils].map(|of| Timestamp(of.value(row).cast_unsigned()));
                visit(row_ids.value(row).cast_unsigned(), since, until);
            }
            Ok(())
        })
    }

    /// Visits the blocks that have something of some rows, each with the rows of the block.
    fn pieces(
        &self,
        rows: &std::ops::Range<u64>,
        visit: &mut dyn FnMut(usize, std::ops::Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let (table, cache) = (&self.file.table, self.file.cache());
        let mut position = table.lower_bound(cache, &history_key(rows.start, 0))? as usize;
        let end = table.lower_bound(cache, &history_key(rows.end, 0))? as usize;
        while position < end {
            let block = position / BLOCK_ROWS;
            let first = block * BLOCK_ROWS;
            let block_end = end.min(first + table.block_rows(block));
            visit(block, position - first..block_end - first)?;
            position = block_end;
        }
        Ok(())
    }

    /// A column of whole numbers.
    fn numbers(&self, column: usize, block: usize) -> Result<Int64Array> {
        Ok(self.block(column, block)?.decode(DataType::BigInt).as_primitive::<Int64Type>().clone())
    }

    /// The first position of a row, or of those behind it.
    pub(super) fn first_of(&self, row_id: u64) -> Result<u32> {
        self.file.table.lower_bound(self.file.cache(), &history_key(row_id, 0))
    }

    /// The row of a position.
    pub(super) fn row_at(&self, position: u32) -> Result<u64> {
        self.file.number_at(ROW_ID, position)
    }

    /// What is at a position, with its row id.
    pub(super) fn at(&self, position: u32) -> Result<(u64, Old)> {
        Ok((self.file.number_at(ROW_ID, position)?, Old::read(&self.file, position)?))
    }

    /// Adds what was replaced of a row later than `read_ts`, in order.
    fn add_later(&self, row_id: u64, read_ts: Timestamp, all: &mut Vec<Old>) -> Result<()> {
        if self.to <= read_ts {
            return Ok(());
        }
        let (table, cache) = (&self.file.table, self.file.cache());
        let from = table.lower_bound(cache, &history_key(row_id, read_ts.0 + 1))?;
        for position in from..self.first_of(row_id + 1)? {
            let old = Old::read(&self.file, position)?;
            assert!(all.last().is_none_or(|last| last.until < old.until), "files of history do not overlap (past 1)");
            all.push(old);
        }
        Ok(())
    }
}

/// What was replaced of one row later than `read_ts`, earliest first; `files` are in the order of their times.
pub(super) fn of_row(files: &[PastFile], row_id: u64, read_ts: Timestamp) -> Result<Vec<Old>> {
    let mut all: Vec<Old> = Vec::new();
    for file in files {
        file.add_later(row_id, read_ts, &mut all)?;
    }
    Ok(all)
}
