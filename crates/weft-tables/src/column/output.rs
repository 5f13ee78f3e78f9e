//! Writes rows that arrive in key order into files, cut at about the size that the table's options ask for.
//!
//! ```text
//!   push (a,1) (b,1) ... (m,9) │ estimated 4 MiB: cut │ (n,1) ...            finish
//!                              └─ t12-7 written, synced                     └─ t12-8 written, synced; directory synced
//! ```
//!
//! 1. On return of [`Output::finish`] files and directory entries are durable.
//! 2. Files of an output that is not finished are removed.

use std::path::Path;
use std::sync::Arc;

use arrow_array::ArrayRef;
use weft_contract::JobKind;
use weft_env::OpenMode;
use weft_format::table::{ColumnTable, ColumnTableBuilder, ColumnTableImage, ColumnTableOptions, InsertTimestamps};
use weft_format::{BLOCK_ROWS, Error, Result, Timestamp};
use weft_kernel::fault::{Fault, active};
use weft_kernel::method::TableContext;
use weft_kernel::sched::Pacer;

use super::job_steps::{JobStep, job_reached};
use super::part::Part;
use super::store::{Shape, Store};

/// Rows between two places where a job can pause.
const PACE_ROWS: u32 = 64;
/// Rows between two looks at the size.
const SIZE_CHECK_ROWS: u32 = 256;

/// Bytes that are written at once: the copy takes a tenth of a millisecond.
const WRITE_BYTES: usize = 256 << 10;

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
            self.shape.writer.sync_dir()?;
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
            self.parts.iter().for_each(|part| part.set_obsolete());
        }
    }
}

/// Writes the files of one table.
#[derive(Clone)]
pub(crate) struct FileWriter {
    context: TableContext,
    options: ColumnTableOptions,
}

impl FileWriter {
    pub(crate) fn new(context: TableContext, options: ColumnTableOptions) -> FileWriter {
        FileWriter { context, options }
    }

    pub(crate) fn builder(&self) -> ColumnTableBuilder {
        ColumnTableBuilder::new(self.context.def.schema.clone(), &self.options)
    }

    /// A builder for a job, which makes room for queries.
    fn paced_builder(&self) -> ColumnTableBuilder {
        let mut builder = self.builder();
        let mut pacer = self.context.services.pacer();
        builder.pause_with(move || pacer.step());
        builder
    }

    /// Writes and syncs one file, with a `pause` after each piece of it; its directory entry is the caller's to sync.
    /// Leaves nothing behind when it fails.
    pub(crate) fn write(
        &self,
        builder: ColumnTableBuilder,
        attached_at: Option<Timestamp>,
        pause: &mut dyn FnMut(),
    ) -> Result<Part> {
        let services = &self.context.services;
        let file = services.allocate_file();
        let image = builder.finish(self.context.def.id, file)?;
        let path = services.file_path(self.context.def.id, file);
        self.write_image(&path, &image, attached_at, pause).inspect_err(|_| {
            // What cannot be removed now is an orphan, which the next open removes.
            let _ = self.context.env.fs.remove(&path);
        })
    }

    fn write_image(
        &self,
        path: &Path,
        image: &ColumnTableImage,
        attached_at: Option<Timestamp>,
        pause: &mut dyn FnMut(),
    ) -> Result<Part> {
        let failed = |error: std::io::Error| {
            let (file, name) = (image.file, &self.context.def.name);
            Error::io(format_args!("writing file {file} of table \"{name}\" ({} bytes)", image.bytes.len()), &error)
        };
        let env = &self.context.env;
        let opened = env.fs.open(path, OpenMode::CreateNew).map_err(failed)?;
        for (number, piece) in image.bytes.chunks(WRITE_BYTES).enumerate() {
            opened.write_at(piece, (number * WRITE_BYTES) as u64).map_err(failed)?;
            pause();
        }
        if !active(Fault::SkipFileSync) {
            opened.sync_data().map_err(failed)?;
        }
        let opened = self.context.services.handles().adopt(path, opened);
        let table = ColumnTable::open(opened, self.context.def.id, image.file, &self.context.def.schema)?;
        Ok(Part::new(table, attached_at, &self.context))
    }

    /// Makes the entries of new files durable.
    pub(crate) fn sync_dir(&self) -> Result<()> {
        if active(Fault::SkipDirSync) {
            return Ok(());
        }
        let dir = self.context.services.dir();
        let failed = |error| Error::io(format_args!("syncing directory {}", dir.display()), &error);
        self.context.env.fs.sync_dir(dir).map_err(failed)
    }
}
