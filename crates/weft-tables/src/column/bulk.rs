//! Bulk load: Arrow batches become files at once, without row tables and without the log.
//!
//! ```text
//!   batches ─▶ keys ─▶ in order? else sort ─▶ twice? in the table? ─▶ first file tells the rows per file
//!                                                                    ─▶ the rest in parallel ─▶ synced ─▶ attachment
//! ```
//!
//! 1. The files' rows have insert timestamp 0 in the file; the part that holds them says when they came in.
//! 2. On an error nothing is left behind.
//! 3. While rows are added, parts that were built and not attached are of the one transaction that has the table for
//!    itself: what it loads next is tested against them, too. Several transactions may replace rows at once
//!    (`replace.rs`): they hold the locks of their keys.

use std::sync::Arc;

use arrow_array::RecordBatch;
use weft_contract::{Attachment, Bulk};
use weft_env::sync::Mutex;
use weft_format::table::{ColumnTableBuilder, InsertTimestamps};
use weft_format::{BLOCK_ROWS, FileId, KeyRows, Result, Timestamp};
use weft_kernel::step::reached;

use super::file_writer::FileWriter;
use super::key_probe::KeyProbe;
use super::part::Part;
use super::steps::BUILD_FILES_SYNCED;
use super::store::{Shape, Store};
use crate::loading::{ALREADY, Rows, TWICE, duplicate_key, in_parallel};

/// Rows that become files.
struct Load {
    rows: Rows,
    writer: FileWriter,
    file_rows: usize,
    /// The first file, when finding out how many rows make one has filled it.
    first: Mutex<Option<ColumnTableBuilder>>,
}

impl Load {
    fn file_count(&self) -> usize {
        self.rows.count().div_ceil(self.file_rows)
    }

    fn write(&self, file: usize) -> Result<Part> {
        let start = file * self.file_rows;
        assert!(start < self.rows.count(), "each file of a load has rows");
        let filled = (file == 0).then(|| self.first.lock().take()).flatten();
        let builder = match filled {
            Some(builder) => builder,
            None => {
                let mut builder = self.writer.builder();
                push(&self.rows, &mut builder, start..(start + self.file_rows).min(self.rows.count()))?;
                builder
            }
        };
        let rows = self.file_rows.min(self.rows.count() - start);
        assert!(builder.row_count() as usize == rows, "each row that is loaded goes into one file");
        let part = self.writer.write(builder, Some(Timestamp::MAX), &mut || ())?;
        if file + 1 < self.file_count() {
            part.set_full();
        }
        Ok(part)
    }
}

/// Adds the rows that come at `range` to a file.
fn push(rows: &Rows, builder: &mut ColumnTableBuilder, range: std::ops::Range<usize>) -> Result<()> {
    rows.pieces(range, &mut |columns| builder.push_batch(&columns, InsertTimestamps::Same(Timestamp(0))))
}

impl Bulk for Store {
    fn bulk_bytes(&self) -> u64 {
        self.options.bulk_bytes
    }

    fn build(&self, batches: &[RecordBatch]) -> Result<Attachment> {
        self.build_files(batches, true)
    }

    fn discard(&self, attachment: &Attachment) {
        let mut built = self.built.lock();
        built.retain(|part| {
            let taken_back = attachment.files.contains(&part.file);
            if taken_back {
                part.retire();
            }
            !taken_back
        });
    }
}

impl Store {
    /// See [`Bulk::build`].
    /// With `are_new` the keys are tested against those that are there.
    pub(crate) fn build_files(&self, batches: &[RecordBatch], are_new: bool) -> Result<Attachment> {
        let (rows, keys) = Rows::in_order(&self.schema(), batches)?;
        if rows.count() == 0 {
            return Ok(Attachment { files: Vec::new(), rows: 0, payload: Vec::new(), replaced: None });
        }
        if let Some(key) = rows.twice(&keys) {
            return Err(duplicate_key(&self.context.def, &self.keys, key, TWICE));
        }
        if are_new {
            self.check_free(&keys, &rows)?;
        }
        drop(keys);
        self.write_files(rows)
    }

    fn check_free(&self, keys: &KeyRows, rows: &Rows) -> Result<()> {
        let layout = self.layout();
        let (low, high) = (keys.get(rows.row(0)), keys.get(rows.row(rows.count() - 1)));
        let overlaps = |part: &Arc<Part>| part.key_min() <= high && part.key_max() >= low;
        // Bulk load 3.
        let own: Vec<Arc<Part>> = self.built.lock().iter().filter(|part| overlaps(part)).cloned().collect();
        let in_memory = layout.row_tables().any(|table| table.row_count() > 0);
        if !in_memory && own.is_empty() && !layout.parts().iter().any(overlaps) {
            return Ok(());
        }
        let duplicate = |key, what| Err(duplicate_key(&self.context.def, &self.keys, key, what));
        for n in 0..rows.count() {
            let key = keys.get(n);
            if layout.find(key, Timestamp::MAX)?.is_some() {
                return duplicate(key, ALREADY);
            }
            for part in &own {
                if part.find(&KeyProbe::new(key), Timestamp::MAX)?.is_some() {
                    return duplicate(key, TWICE);
                }
            }
        }
        Ok(())
    }

    fn write_files(&self, rows: Rows) -> Result<Attachment> {
        let shape = self.shape();
        let (file_rows, first) = self.file_rows(&shape, &rows)?;
        assert!(file_rows > 0, "a file takes a row, however small it is to be");
        let row_count = rows.count() as u64;
        let (writer, first) = (shape.writer.clone(), Mutex::new(first));
        let load = Load { rows, writer, file_rows, first };
        let file_count = load.file_count();
        let (parts, result) = in_parallel(&self.context.env, file_count, Box::new(move |file| load.write(file)));
        let parts: Vec<Arc<Part>> = parts.into_iter().map(Arc::new).collect();
        if let Err(error) = result.and_then(|()| shape.writer.sync_names()) {
            parts.iter().for_each(|part| part.retire());
            return Err(error);
        }
        reached(BUILD_FILES_SYNCED);
        let files: Vec<FileId> = parts.iter().map(|part| part.file).collect();
        self.built.lock().extend(parts);
        Ok(Attachment { files, rows: row_count, payload: Vec::new(), replaced: None })
    }

    /// How many rows make a file: as many as reach the size, found by encoding the first; it, too, when these are all.
    fn file_rows(&self, shape: &Shape, rows: &Rows) -> Result<(usize, Option<ColumnTableBuilder>)> {
        let mut builder = shape.writer.builder();
        let mut end = 0;
        while end < rows.count() && (builder.estimated_bytes() as u64) < self.options.column_table_bytes {
            let next = (end + BLOCK_ROWS / 8).min(rows.count());
            push(rows, &mut builder, end..next)?;
            end = next;
        }
        // Whole blocks, when it is at least one.
        let file_rows = if end < rows.count() && end > BLOCK_ROWS { end / BLOCK_ROWS * BLOCK_ROWS } else { end };
        Ok((file_rows, (file_rows == end).then_some(builder)))
    }
}
