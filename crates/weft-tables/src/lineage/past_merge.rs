//! Several files of history become one, without what nobody asks for; files that nobody asks for go.

use std::sync::Arc;

use weft_contract::{JobOffer, Price};
use weft_format::{Result, Timestamp};
use weft_kernel::step::reached;

use super::job_kinds::MERGE_HISTORY;
use super::key_merge::Claimed;
use super::layout::Layout;
use super::merge::Outcome;
use super::past::{Old, PastFile};
use super::payload::Entry;
use super::steps;
use super::store::Store;
use super::tidy::pick;
use super::undo::{HistoryWriter, Undo};

/// Rows of history that one core merges in a microsecond, about.
const ROWS_PER_US: u64 = 1;
/// The least bytes of a file that is not merged any more, whatever the memory.
const HISTORY_BYTES_MIN: u64 = 64 << 10;
/// Rows that are put into the file at once.
const BATCH_ROWS: usize = 1024;

/// A file that is read from its beginning.
struct Cursor<'a> {
    file: &'a PastFile,
    position: u32,
    next: Option<(u64, Old)>,
}

impl Cursor<'_> {
    fn load(&mut self) -> Result<()> {
        let is_there = self.position < self.file.file.table.row_count();
        self.next = is_there.then(|| self.file.at(self.position)).transpose()?;
        self.position += 1;
        Ok(())
    }
}

/// The files to merge: all that nobody asks for, or else neighbours of one size that become a file of so many bytes at
/// most. A file is made in memory, so one that is half as large stays as it is.
fn wanted(layout: &Layout, limit: Timestamp, bytes_max: u64) -> Option<&[PastFile]> {
    let files = &layout.base.past;
    let forgotten = files.partition_point(|file| file.to <= limit);
    if forgotten > 0 {
        return Some(&files[..forgotten]);
    }
    let bytes = |file: &PastFile| file.file.table.file_bytes();
    let done = files.iter().rposition(|file| bytes(file) > bytes_max / 2).map_or(0, |at| at + 1);
    let files = &files[done..];
    let sizes: Vec<u64> = files.iter().rev().map(|file| u64::from(file.file.table.row_count())).collect();
    let range = pick(&sizes)?;
    let mut files = &files[files.len() - range.end..files.len() - range.start];
    // Two at least: each is at most half of it.
    while files.iter().map(bytes).sum::<u64>() > bytes_max {
        files = &files[..files.len() - 1];
    }
    Some(files)
}

impl Store {
    /// Bytes of a file that a merge of history makes: of memory that is as bounded as tails are.
    fn history_bytes(&self) -> u64 {
        self.tail_bytes.max(HISTORY_BYTES_MIN)
    }

    /// What could be forgotten now, without moving the horizon.
    fn forgettable_now(&self, layout: &Layout) -> Timestamp {
        self.context.horizon.peek().min(layout.base.cut).max(layout.base.known_from)
    }

    /// The merge of files of history that is worth it.
    pub(super) fn past_offer(&self, layout: &Layout) -> Option<JobOffer> {
        let files = wanted(layout, self.forgettable_now(layout), self.history_bytes())?;
        if files.iter().any(|file| file.file.is_claimed()) {
            return None;
        }
        let rows: u64 = files.iter().map(|file| u64::from(file.file.table.row_count())).sum();
        let bytes = files.iter().map(|file| file.file.table.file_bytes()).sum();
        let price = Price { cpu_us: rows / ROWS_PER_US, read_bytes: bytes, write_bytes: bytes, ..Price::default() };
        let reason = format!("{} files with {rows} changes", files.len());
        let number = files[0].after.0;
        Some(JobOffer { table: self.context.def.id, kind: MERGE_HISTORY, number, price, reason })
    }

    /// Merges files of history, the oldest of which begins here.
    pub(super) fn merge_past(&self, after: u64) -> Result<()> {
        let layout = self.layout();
        let limit = self.forgettable(layout.base.cut, layout.base.known_from);
        let Some(files) = wanted(&layout, limit, self.history_bytes()).filter(|files| files[0].after.0 == after) else {
            return Ok(());
        };
        let Some(_claimed) = Claimed::take(files.iter().map(|file| file.file.clone())) else { return Ok(()) };
        let now = self.layout();
        if !files.iter().all(|file| now.base.past.iter().any(|known| Arc::ptr_eq(&known.file, &file.file))) {
            return Ok(());
        }
        let mut cursors: Vec<Cursor<'_>> = files.iter().map(|file| Cursor { file, position: 0, next: None }).collect();
        cursors.iter_mut().try_for_each(Cursor::load)?;
        let shape = self.shape();
        let mut writer = HistoryWriter::new(&self.context, &shape.schema);
        let mut batch: Vec<Undo> = Vec::with_capacity(BATCH_ROWS);
        let place = |cursor: &Cursor<'_>| cursor.next.as_ref().map(|(row_id, old)| (*row_id, old.until));
        while let Some(cursor) =
            cursors.iter_mut().filter(|cursor| cursor.next.is_some()).min_by_key(|cursor| place(cursor))
        {
            let (row_id, old) = cursor.next.take().expect("only those that have one were asked");
            cursor.load()?;
            if old.until > limit {
                batch.push(old.into_undo(row_id, shape.schema.columns.len())?);
            }
            if batch.len() == BATCH_ROWS {
                writer.push(&batch)?;
                batch.clear();
            }
        }
        writer.push(&batch)?;
        let file = writer.finish()?;
        reached(steps::MERGE_HISTORY.inputs_read);
        let removed = files.iter().map(|file| file.file.clone()).collect();
        let mut outcome = Outcome { removed, known_from: limit, ..Outcome::default() };
        if let Some(file) = file {
            let to = files.last().expect("there are files to merge").to;
            outcome.output.push(file, Entry::History { after: files[0].after, to });
        }
        self.publish(&steps::MERGE_HISTORY, outcome)
    }
}
