//! The files of history, backwards: rows descending, of a row the latest change first.

use weft_format::{Result, Timestamp};

use super::super::past::{Old, PastFile};
use super::super::scan::RowIds;

/// Some rows of a file.
struct Cursor {
    file: PastFile,
    first: u32,
    /// One more than the position that comes next.
    end: u32,
    /// What comes next, of which row; none: it was not looked at.
    next: Option<u64>,
}

/// So many positions are looked at one by one before one is searched.
const STEPS: u32 = 16;

/// Some rows of all files.
#[derive(Default)]
pub(super) struct Cursors {
    /// The latest file first (past 1).
    all: Vec<Cursor>,
}

impl Cursor {
    /// Goes back to the latest change of a row, or of those before it.
    fn seek(&mut self, row_id: u64) -> Result<()> {
        let mut steps = 0;
        while self.end > self.first {
            let next = match self.next {
                Some(next) => next,
                None => *self.next.insert(self.file.row_at(self.end - 1)?),
            };
            if next <= row_id {
                return Ok(());
            }
            self.next = None;
            self.end -= 1;
            steps += 1;
            if steps == STEPS {
                self.end = self.file.first_of(row_id + 1)?.clamp(self.first, self.end);
            }
        }
        Ok(())
    }

    /// The latest change of a row that was not taken yet.
    fn take(&mut self, row_id: u64) -> Result<Option<Old>> {
        self.seek(row_id)?;
        if self.next.take_if(|next| *next == row_id).is_none() {
            return Ok(None);
        }
        self.end -= 1;
        self.file.at(self.end).map(|(_, old)| Some(old))
    }
}

impl Cursors {
    /// What was replaced of some rows later than a timestamp, by files in the order of their times.
    pub(super) fn new(files: &[PastFile], rows: &RowIds, after: Timestamp) -> Result<Cursors> {
        let mut all = Vec::new();
        for file in files.iter().rev().filter(|file| file.to > after) {
            let (first, end) = (file.first_of(rows.start)?, file.first_of(rows.end)?);
            all.push(Cursor { file: file.clone(), first, end, next: None });
        }
        Ok(Cursors { all })
    }

    /// The latest change of a row that was not taken yet; rows are asked for from the last to the first.
    pub(super) fn take(&mut self, row_id: u64) -> Result<Option<Old>> {
        for cursor in &mut self.all {
            if let Some(old) = cursor.take(row_id)? {
                return Ok(Some(old));
            }
        }
        Ok(None)
    }
}
