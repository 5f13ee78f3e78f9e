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

use weft_format::{Result, Timestamp, Value};

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

impl PastFile {
    /// What is at a position, with its row id.
    pub(super) fn at(&self, position: u32) -> Result<(u64, Old)> {
        Ok((self.file.number_at(ROW_ID, position)?, Old::read(&self.file, position)?))
    }

    /// Adds what was replaced of some rows later than `read_ts`, with the row ids, in order.
    pub(super) fn later(
        &self,
        rows: std::ops::Range<u64>,
        read_ts: Timestamp,
        visit: &mut dyn FnMut(u64, Old) -> Result<()>,
    ) -> Result<()> {
        if self.to <= read_ts || rows.is_empty() {
            return Ok(());
        }
        let (table, cache) = (&self.file.table, self.file.cache());
        let single = rows.end - rows.start == 1;
        let from = table.lower_bound(cache, &history_key(rows.start, if single { read_ts.0 + 1 } else { 0 }))?;
        let end = table.lower_bound(cache, &history_key(rows.end, 0))?;
        let mut position = from;
        while position < end {
            let block = position as usize / weft_format::BLOCK_ROWS;
            let untils = table.block(cache, UNTIL, block)?;
            let row_ids = table.block(cache, ROW_ID, block)?;
            let first = (block * weft_format::BLOCK_ROWS) as u32;
            let block_end = end.min(first + table.block_rows(block) as u32);
            for at in position..block_end {
                let row = (at - first) as usize;
                let until = untils.int_at(row).unwrap_or_default().cast_unsigned();
                if until > read_ts.0 {
                    let row_id = row_ids.int_at(row).unwrap_or_default().cast_unsigned();
                    visit(row_id, Old::read(&self.file, at)?)?;
                }
            }
            position = block_end;
        }
        Ok(())
    }
}

/// What was replaced of one row later than `read_ts`, earliest first; `files` are in the order of their times.
pub(super) fn of_row(files: &[PastFile], row_id: u64, read_ts: Timestamp) -> Result<Vec<Old>> {
    let mut all: Vec<Old> = Vec::new();
    for file in files {
        file.later(row_id..row_id + 1, read_ts, &mut |_, old| {
            assert!(all.last().is_none_or(|last| last.until < old.until), "files of history do not overlap (past 1)");
            all.push(old);
            Ok(())
        })?;
    }
    Ok(all)
}
