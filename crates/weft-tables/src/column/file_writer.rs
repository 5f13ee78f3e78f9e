//! Writes the files of one table, one at a time.

use weft_format::table::{ColumnTable, ColumnTableBuilder, ColumnTableOptions};
use weft_format::{Error, Result, Timestamp};
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

    /// Writes and seals one file, with a `pause` after each piece of it; its name is the caller's to make durable.
    /// Leaves nothing behind when it fails.
    pub(crate) fn write(
        &self,
        builder: ColumnTableBuilder,
        attached_at: Option<Timestamp>,
        pause: &mut dyn FnMut(),
    ) -> Result<Part> {
        assert!(builder.row_count() > 0, "a file has rows, and so a lowest and a highest key");
        let TableContext { def, services, .. } = &self.context;
        let mut file = services.files().create(def.id)?;
        let number = file.number();
        let bytes = builder.finish(def.id, number)?.bytes;
        let failed = |error: std::io::Error| {
            Error::io(format_args!("writing file {number} of table \"{}\" ({} bytes)", def.name, bytes.len()), &error)
        };
        for piece in bytes.chunks(WRITE_BYTES) {
            file.append(piece).map_err(failed)?;
            pause();
        }
        let file = file.finish();
        let table = ColumnTable::open(file.reader(), def.id, number, &def.schema)?;
        file.seal().map_err(failed)?;
        Ok(Part::new(table, file, attached_at, &self.context))
    }

    /// Makes the names of the files that were written durable.
    pub(crate) fn sync_names(&self) -> Result<()> {
        self.context.services.files().sync_names()
    }
}
