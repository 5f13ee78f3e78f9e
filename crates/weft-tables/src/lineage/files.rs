//! An open data file, whatever its shape.
//!
//! 1. The file is retired only after a durable manifest edit forgot it, or when none ever named it; it goes with the
//!    last reference.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weft_format::table::{BlockCache, ColumnTable, ColumnTableBuilder, ColumnTableOptions};
use weft_format::{Error, FileId, Result, Schema, Value, ValueRef};
use weft_kernel::account::{Charge, Kept};
use weft_kernel::files::DataFile;
use weft_kernel::method::TableContext;
use weft_kernel::services::Services;

use super::shapes::{Shape, key_alone};

/// Bytes that are written at once: the copy takes a tenth of a millisecond.
const WRITE_BYTES: usize = 256 << 10;

/// See the module.
pub(super) struct OpenFile {
    pub(super) table: ColumnTable,
    data: DataFile,
    services: Arc<Services>,
    /// Taken by a job that puts files in order.
    is_busy: AtomicBool,
    _charge: Charge,
}

impl OpenFile {
    fn new(context: &TableContext, table: ColumnTable, data: DataFile) -> OpenFile {
        let bytes = (size_of::<OpenFile>() + table.memory_bytes()) as u64;
        let charge = context.services.account().charge(Kept::Files, bytes);
        let services = context.services.clone();
        OpenFile { table, data, services, is_busy: AtomicBool::new(false), _charge: charge }
    }

    /// Opens a file of a table.
    pub(super) fn open(context: &TableContext, number: FileId, shape: Shape, schema: &Schema) -> Result<OpenFile> {
        let data = context.services.files().open(context.def.id, number)?;
        // The file says of what types its columns are: it may have some that this definition does not know yet.
        let table = ColumnTable::open(data.reader(), context.def.id, number, &key_alone(shape, schema))?;
        if table.schema_version() != shape.version() {
            let (found, listed) = (table.schema_version(), shape.version());
            return Err(Error::corrupt(format!("file {number} is of shape {found}, it is listed with shape {listed}")));
        }
        Ok(OpenFile::new(context, table, data))
    }

    /// Writes and seals a file; its name is the caller's to make durable. Leaves nothing behind when it fails.
    pub(super) fn write(context: &TableContext, builder: ColumnTableBuilder, schema: &Schema) -> Result<OpenFile> {
        assert!(builder.row_count() > 0, "a file has rows, and so a lowest and a highest key");
        let mut pacer = context.services.pacer();
        let mut file = context.services.files().create(context.def.id)?;
        let number = file.number();
        let bytes = builder.finish(context.def.id, number)?.bytes;
        let failed = |error: std::io::Error| {
            let (name, count) = (&context.def.name, bytes.len());
            Error::io(format_args!("writing file {number} of table \"{name}\" ({count} bytes)"), &error)
        };
        for piece in bytes.chunks(WRITE_BYTES) {
            file.append(piece).map_err(failed)?;
            pacer.step();
        }
        let data = file.finish();
        let table = ColumnTable::open(data.reader(), context.def.id, number, schema)?;
        data.seal().map_err(failed)?;
        Ok(OpenFile::new(context, table, data))
    }

    /// The number of the file.
    pub(super) fn number(&self) -> FileId {
        self.data.number()
    }

    pub(super) fn cache(&self) -> &dyn BlockCache {
        &**self.services.cache()
    }

    /// A value that is a whole number or a timestamp.
    pub(super) fn number_at(&self, column: usize, position: u32) -> Result<u64> {
        match self.table.value(self.cache(), column, position)? {
            Value::Int(number) => Ok(number.cast_unsigned()),
            other => Err(self.damaged(column, position, &other)),
        }
    }

    /// A value that is true or false.
    pub(super) fn flag_at(&self, column: usize, position: u32) -> Result<bool> {
        match self.table.value(self.cache(), column, position)? {
            Value::Bool(flag) => Ok(flag),
            other => Err(self.damaged(column, position, &other)),
        }
    }

    fn damaged(&self, column: usize, position: u32, found: &Value) -> Error {
        let number = self.number();
        Error::corrupt(format!("file {number} has {found:?} in its column {column}, row {position}"))
    }

    /// Takes the file for a job; false when another has it.
    pub(super) fn claim(&self) -> bool {
        !self.is_busy.swap(true, Ordering::AcqRel)
    }

    /// Lets another job take it.
    pub(super) fn unclaim(&self) {
        self.is_busy.store(false, Ordering::Release);
    }

    pub(super) fn is_claimed(&self) -> bool {
        self.is_busy.load(Ordering::Acquire)
    }

    pub(super) fn exists(&self) -> bool {
        self.data.exists()
    }

    /// The file goes with the last reference (files 1).
    pub(super) fn retire(&self) {
        self.data.retire();
    }
}

/// A builder for a job, which makes room for queries.
pub(super) fn paced_builder(context: &TableContext, schema: Arc<Schema>) -> ColumnTableBuilder {
    // Slots and histories are there for whoever asks; keys alone may not be.
    let without_key_filter = schema.version != Shape::Keys.version();
    let options = ColumnTableOptions { without_key_filter, without_summaries: true, ..ColumnTableOptions::default() };
    let mut builder = ColumnTableBuilder::new(schema, &options);
    let mut pacer = context.services.pacer();
    builder.pause_with(move || pacer.step());
    builder
}

/// The key of a row of history, or the first at or behind a moment.
pub(super) fn history_key(row_id: u64, until: u64) -> Vec<u8> {
    numbers_key(&[row_id, until])
}

/// A key of whole numbers.
pub(super) fn numbers_key(numbers: &[u64]) -> Vec<u8> {
    let columns = numbers.iter().map(|_| weft_format::Column {
        name: String::new(),
        data_type: weft_format::DataType::BigInt,
        not_null: true,
    });
    let schema = Schema::new(columns.collect(), (0..numbers.len()).collect());
    let values = numbers.iter().map(|&number| ValueRef::Int(number.min(i64::MAX as u64).cast_signed()));
    weft_format::KeyCodec::new(&schema).encode(values)
}
