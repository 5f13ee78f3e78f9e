//! Writes the files of one table: one file at a time, durable with its directory entry.

use std::path::Path;

use weft_env::OpenMode;
use weft_format::table::{ColumnTable, ColumnTableBuilder, ColumnTableImage, ColumnTableOptions};
use weft_format::{Error, Result, Timestamp};
use weft_kernel::fault::{Fault, active};
use weft_kernel::method::TableContext;

use super::part::Part;

/// Bytes that are written at once: the copy takes a tenth of a millisecond.
const WRITE_BYTES: usize = 256 << 10;

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
    pub(crate) fn paced_builder(&self) -> ColumnTableBuilder {
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
        assert!(builder.row_count() > 0, "a file has rows, and so a lowest and a highest key");
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
        if !active(Fault::SKIP_FILE_SYNC) {
            opened.sync_data().map_err(failed)?;
        }
        let opened = self.context.services.handles().adopt(path, opened);
        let table = ColumnTable::open(opened, self.context.def.id, image.file, &self.context.def.schema)?;
        Ok(Part::new(table, attached_at, &self.context))
    }

    /// Makes the entries of new files durable.
    pub(crate) fn sync_dir(&self) -> Result<()> {
        if active(Fault::SKIP_DIR_SYNC) {
            return Ok(());
        }
        let dir = self.context.services.dir();
        let failed = |error| Error::io(format_args!("syncing directory {}", dir.display()), &error);
        self.context.env.fs.sync_dir(dir).map_err(failed)
    }
}
