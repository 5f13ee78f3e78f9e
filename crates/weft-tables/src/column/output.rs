//! Writes rows that arrive in key order into files, cut at about the size that the table's options ask for.
//!
//! ```text
//!   push (a,1) (b,1) ... (m,9) │ estimated 4 MiB: cut │ (n,1) ...            finish
//!                              └─ t12-7 written, synced                     └─ t12-8 written, synced; directory synced
//! ```
//!
//! 1. On return of [`Output::finish`] files and directory entries are durable.
//! 2. Files of an output that is not finished are removed.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use weft_contract::JobKind;
use weft_format::table::{ColumnTableBuilder, InsertTimestamps};
use weft_format::{BLOCK_ROWS, Result, Timestamp};
use weft_kernel::sched::Pacer;

use super::part::Part;
use super::steps::{JobStep, job_reached};
use super::store::{Shape, Store};

/// Rows between two places where a job can pause.
const PACE_ROWS: u32 = 64;
/// Rows between two looks at the size.
const SIZE_CHECK_ROWS: u32 = 256;

/// Column tables being written.
pub(crate) struct Output {
    shape: Arc<Shape>,
    bytes_max: u64,
    kind: JobKind,
    builder: ColumnTableBuilder,
    parts: Vec<Arc<Part>>,
    pacer: Pacer,
    finished: bool,
}

/// Written column tables, and where the rows went: row `n` of all that were pushed lies in the part whose range has it.
pub(crate) struct Written {
    pub(crate) parts: Vec<Arc<Part>>,
    /// The ordinal of the first row of each part.
    starts: Vec<u32>,
}

impl Written {
    /// Part and position of the `n`th row that was pushed.
    pub(crate) fn place(&self, n: u32) -> (&Arc<Part>, u32) {
        let at = self.starts.partition_point(|&start| start <= n) - 1;
        (&self.parts[at], n - self.starts[at])
    }
}

impl Output {
    /// Files of a definition of the store's table.
    pub(crate) fn new(store: &Store, shape: Arc<Shape>, kind: JobKind) -> Output {
        let bytes_max = store.options.column_table_bytes;
        let builder = shape.writer.paced_builder();
        let pacer = store.context.services.pacer();
        Output { shape, bytes_max, kind, builder, parts: Vec::new(), pacer, finished: false }
    }

    /// Adds an encoded row.
    pub(crate) fn push_row(&mut self, row: &[u8], insert_ts: Timestamp) -> Result<()> {
        self.builder.push_row(row, insert_ts);
        if self.builder.row_count().is_multiple_of(PACE_ROWS) {
            self.pacer.step();
        }
        if self.builder.row_count().is_multiple_of(SIZE_CHECK_ROWS) && self.is_large() {
            self.cut(true)?;
        }
        Ok(())
    }

    /// Adds rows as columns. A file ends after them only when `may_end`: the versions of a key stay together.
    pub(crate) fn push_batch(&mut self, columns: &[ArrayRef], insert_ts: &[u64], may_end: bool) -> Result<()> {
        assert!(
            insert_ts.len() <= BLOCK_ROWS,
            "batches are at most a block, or files would grow far beyond their size"
        );
        debug_assert!(columns.iter().all(|column| column.len() == insert_ts.len()), "each row has all its columns");
        self.builder.push_batch(columns, InsertTimestamps::Each(insert_ts))?;
        if may_end && self.is_large() { self.cut(true) } else { Ok(()) }
    }

    /// The next row begins a file: it lies beyond a border.
    pub(crate) fn end_file(&mut self) -> Result<()> {
        self.cut(false)
    }

    fn is_large(&self) -> bool {
        self.builder.estimated_bytes() as u64 >= self.bytes_max
    }

    fn cut(&mut self, full: bool) -> Result<()> {
        if self.builder.row_count() == 0 {
            return Ok(());
        }
        let builder = std::mem::replace(&mut self.builder, self.shape.writer.paced_builder());
        let part = self.shape.writer.write(builder, None, &mut || self.pacer.step())?;
        if full {
            part.set_full();
        }
        self.parts.push(Arc::new(part));
        job_reached(self.kind, JobStep::FilesWritten);
        Ok(())
    }

    /// Writes what is left and makes all durable.
    pub(crate) fn finish(mut self) -> Result<Written> {
        self.cut(false)?;
        if !self.parts.is_empty() {
            self.shape.writer.sync_names()?;
        }
        job_reached(self.kind, JobStep::FilesSynced);
        self.finished = true;
        let parts = std::mem::take(&mut self.parts);
        let mut next = 0;
        let mut starts = Vec::with_capacity(parts.len());
        for part in &parts {
            starts.push(next);
            next += part.row_count();
        }
        Ok(Written { parts, starts })
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.finished {
            self.parts.iter().for_each(|part| part.retire());
        }
    }
}
