//! The files of history, backwards: rows descending, of a row the latest change first.

use weft_format::{Result, Timestamp};

use super::super::files::history_key;
use super::super::past::{Old, PastFile};
use super::super::scan::RowIds;

/// Some rows of a file.
struct Cursor {
    file: PastFile,
    first: u32,
    /// One more than the position that comes next.
    end: u32,
    /// What was read and not taken: the row, and what its change replaced.
    next: Option<(u64, Old)>,
}

/// Some rows of all files.
#[derive(Default)]
pub(super) struct Cursors {
    /// The latest file first (past 1).
    all: Vec<Cursor>,
}

impl Cursor {
    /// Goes back to the latest change at or before those of a row.
    fn seek(&mut self, row_id: u64) -> Result<()> {
        while self.next.as_ref().is_none_or(|next| next.0 > row_id) && self.end > self.first {
            self.end -= 1;
            self.next = Some(self.file.at(self.end)?);
        }
        Ok(())
    }
}

impl Cursors {
    /// What was replaced of some rows later than a timestamp, by files in the order of their times.
    pub(super) fn new(files: &[PastFile], rows: &RowIds, after: Timestamp) -> Result<Cursors> {
        let mut all = Vec::new();
        for file in files.iter().rev().filter(|file| file.to > after) {
            let (table, cache) = (&file.file.table, file.file.cache());
            let first = table.lower_bound(cache, &history_key(rows.start, 0))?;
            let end = table.lower_bound(cache, &history_key(rows.end, 0))?;
            all.push(Cursor { file: file.clone(), first, end, next: None });
        }
        Ok(Cursors { all })
    }

    /// The latest change of a row that was not taken yet; rows are asked for from the last to the first.
    pub(super) fn take(&mut self, row_id: u64) -> Result<Option<Old>> {
        for cursor in &mut self.all {
            cursor.seek(row_id)?;
            if let Some((_, old)) = cursor.next.take_if(|next| next.0 == row_id) {
                return Ok(Some(old));
            }
        }
        Ok(None)
    }
}
