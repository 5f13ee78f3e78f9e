//! What changes replace, on its way into a file of history.

use std::sync::Arc;

use arrow_array::ArrayRef;
use weft_format::arrow_values::array_of;
use weft_format::table::{ColumnTableBuilder, InsertTimestamps};
use weft_format::{BLOCK_ROWS, DataType, Result, Schema, Timestamp, Value, ValueRef};
use weft_kernel::method::TableContext;

use super::files::{OpenFile, paced_builder};
use super::shapes::{self, bits};

/// What one change of one row replaced.
pub(super) struct Undo {
    pub(super) row_id: u64,
    pub(super) until: Timestamp,
    pub(super) since: Timestamp,
    pub(super) was_alive: bool,
    /// By ordinal.
    pub(super) values: Vec<(usize, Value)>,
}

impl Undo {
    fn value(&self, column: usize) -> ValueRef<'_> {
        let at = self.values.binary_search_by_key(&column, |(ordinal, _)| *ordinal);
        at.map_or(ValueRef::Null, |at| self.values[at].1.as_ref())
    }
}

/// Writes a file of history, row after row.
pub(super) struct HistoryWriter {
    context: TableContext,
    /// Of the file.
    schema: Arc<Schema>,
    columns: Vec<DataType>,
    builder: ColumnTableBuilder,
    last: (u64, Timestamp),
}

impl HistoryWriter {
    pub(super) fn new(context: &TableContext, schema: &Schema) -> HistoryWriter {
        let shape = shapes::history(schema, schema.columns.len());
        let columns = schema.columns.iter().map(|column| column.data_type).collect();
        let builder = paced_builder(context, shape.clone());
        HistoryWriter { context: context.clone(), schema: shape, columns, builder, last: (0, Timestamp(0)) }
    }

    /// Adds what was replaced; rows ascend, and the times of a row.
    pub(super) fn push(&mut self, all: &[Undo]) -> Result<()> {
        for undo in all {
            let place = (undo.row_id, undo.until);
            assert!(self.last < place, "history is in the order of rows and times (past 1)");
            assert!(undo.since < undo.until, "a version ends behind its beginning");
            self.last = place;
        }
        for rows in all.chunks(BLOCK_ROWS) {
            let numbers = |number: &dyn Fn(&Undo) -> u64| {
                array_of(DataType::BigInt, rows.iter().map(|undo| ValueRef::Int(number(undo).cast_signed())))
            };
            let replaced: Vec<Vec<u8>> =
                rows.iter().map(|undo| bits(undo.values.iter().map(|(ordinal, _)| *ordinal))).collect();
            let mut columns: Vec<ArrayRef> = vec![
                numbers(&|undo| undo.row_id),
                numbers(&|undo| undo.until.0),
                numbers(&|undo| undo.since.0),
                array_of(DataType::Boolean, rows.iter().map(|undo| ValueRef::Bool(undo.was_alive))),
                array_of(DataType::Bytea, replaced.iter().map(|bits| ValueRef::Bytes(bits))),
            ];
            for (ordinal, data_type) in self.columns.iter().enumerate() {
                columns.push(array_of(*data_type, rows.iter().map(|undo| undo.value(ordinal))));
            }
            self.builder.push_batch(&columns, InsertTimestamps::Same(Timestamp(0)))?;
        }
        Ok(())
    }

    /// Writes the file, if anything was added.
    pub(super) fn finish(self) -> Result<Option<Arc<OpenFile>>> {
        if self.builder.row_count() == 0 {
            return Ok(None);
        }
        OpenFile::write(&self.context, self.builder, &self.schema).map(|file| Some(Arc::new(file)))
    }
}
