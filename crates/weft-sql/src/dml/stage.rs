//! New rows and old keys, staged in the transaction.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::{LockMode, Transaction};

use super::write::{PreparedWrite, Write};
use crate::context::StatementContext;
use crate::expr::EvalContext;
use crate::row::{TableShape, insert_batches};
use crate::values::{stored_columns, value_ref_at};

/// Rows between two looks at the cancel token.
const CANCEL_ROWS: usize = 1024;

pub(super) struct Stage<'a, 'b> {
    plan: &'a PreparedWrite,
    context: &'a mut StatementContext<'b>,
    types: Vec<DataType>,
}

/// How many rows were written, and the batches that RETURNING shows when they are not all that was read.
type Written = (u64, Option<Vec<RecordBatch>>);

impl<'a, 'b> Stage<'a, 'b> {
    pub(super) fn new(plan: &'a PreparedWrite, context: &'a mut StatementContext<'b>) -> Stage<'a, 'b> {
        let types = plan.table.def.schema.columns.iter().map(|column| column.data_type).collect();
        Stage { plan, context, types }
    }

    pub(super) fn run(mut self, batches: &[RecordBatch]) -> Result<Written> {
        let (Write::Update { may_repeat, .. } | Write::Delete { may_repeat }) = self.plan.write else {
            return Ok((self.insert(batches)?, None));
        };
        let distinct = if may_repeat { Some(self.distinct(batches)?) } else { None };
        let rows = distinct.as_deref().unwrap_or(batches);
        if let Write::Update { changes_key, reads, writes, .. } = self.plan.write {
            let shape = self.context.shapes.shape(&self.plan.table)?;
            rows.iter().try_for_each(|batch| self.check(batch, &shape))?;
            self.update(rows, changes_key, shape.write_mode(reads, writes))?;
        } else {
            self.delete(rows)?;
        }
        Ok((rows.iter().map(|batch| batch.num_rows() as u64).sum(), distinct))
    }

    /// Invariant 4.
    pub(super) fn check(&self, batch: &RecordBatch, shape: &TableShape) -> Result<()> {
        let from = self.plan.key_columns;
        let visible: Vec<usize> = (from..from + shape.columns().len()).collect();
        let rows = batch.project(&visible).map_err(|error| Error::internal(format!("new rows: {error}")))?;
        shape.check_batch(&rows, &self.context.eval_context())?;
        self.plan.check_views(batch)
    }

    fn row(&self, batch: &[ArrayRef], row: usize) -> Vec<u8> {
        let from = self.plan.key_columns;
        let columns = batch[from..from + self.plan.row_columns].iter().zip(&self.types);
        let values = columns.map(|(array, data_type)| value_ref_at(array, row, *data_type));
        self.plan.table.codec.encode(values)
    }

    /// The columns of a batch as they are stored: the old key, the new row.
    fn stored(&self, batch: &RecordBatch) -> Vec<ArrayRef> {
        let key = self.plan.table.def.schema.key[..self.plan.key_columns].iter().map(|&ordinal| self.types[ordinal]);
        let row = self.types.iter().copied().take(self.plan.row_columns);
        stored_columns(batch, key.chain(row))
    }

    fn old_key(&self, batch: &[ArrayRef], row: usize) -> Vec<u8> {
        let key = &self.plan.table.def.schema.key;
        let columns = batch[..self.plan.key_columns].iter().zip(key);
        let values = columns.map(|(array, &ordinal)| value_ref_at(array, row, self.types[ordinal]));
        self.plan.table.keys.encode(values)
    }

    /// Columns after the new row (RETURNING) are left out; row ids come from the table's counter.
    fn insert(&mut self, batches: &[RecordBatch]) -> Result<u64> {
        let shape = self.context.shapes.shape(&self.plan.table)?;
        let visible: Vec<usize> = (0..shape.columns().len()).collect();
        let rng = Arc::clone(&self.context.txn.engine().env().rng);
        let eval = EvalContext { params: self.context.params, local: self.context.local, rng: Some(&*rng) };
        let mut rows = Vec::with_capacity(batches.len());
        for batch in batches {
            self.plan.check_views(batch)?;
            let batch = batch.project(&visible).map_err(|error| Error::internal(format!("new rows: {error}")))?;
            rows.push(numbered(&self.plan.write, batch, &shape, self.context.txn, &eval)?);
        }
        insert_batches(&shape, self.context.txn, &rows, &eval, self.context.cancel)
    }

    fn update(&mut self, batches: &[RecordBatch], changes_key: bool, mode: LockMode) -> Result<()> {
        let table = &self.plan.table;
        let mut moved: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for batch in batches {
            let stored = self.stored(batch);
            for row in 0..batch.num_rows() {
                self.tick(row)?;
                let key = self.old_key(&stored, row);
                let bytes = self.row(&stored, row);
                if changes_key && table.keys.of_row(&table.codec, &bytes) != key {
                    self.delete_row(&key)?;
                    moved.push((key, bytes));
                } else {
                    self.context.txn.update_columns(table, &key, &bytes, mode)?;
                }
            }
        }
        for (key, bytes) in moved {
            self.context.txn.insert(table, &bytes)?;
            self.context.txn.note_moved(table, &key, &table.keys.of_row(&table.codec, &bytes));
        }
        Ok(())
    }

    fn delete(&mut self, batches: &[RecordBatch]) -> Result<()> {
        for batch in batches {
            let stored = self.stored(batch);
            for row in 0..batch.num_rows() {
                self.tick(row)?;
                self.delete_row(&self.old_key(&stored, row))?;
            }
        }
        Ok(())
    }

    /// The first row of each old key: what a join found more than once is changed once.
    fn distinct(&self, batches: &[RecordBatch]) -> Result<Vec<RecordBatch>> {
        let mut seen = HashSet::new();
        let distinct = batches.iter().map(|batch| {
            let stored = self.stored(batch);
            let first = (0..batch.num_rows()).map(|row| seen.insert(self.old_key(&stored, row))).collect();
            keep(batch, first)
        });
        distinct.collect()
    }

    fn delete_row(&mut self, key: &[u8]) -> Result<()> {
        let table = &self.plan.table;
        if self.context.txn.delete(table, key)? {
            return Ok(());
        }
        Err(Error::new(
            Code::SerializationFailure,
            format!("a row of \"{}\" that this statement read is gone", table.def.name),
        )
        .hint("run the transaction again"))
    }

    fn tick(&self, row: usize) -> Result<()> {
        if row.is_multiple_of(CANCEL_ROWS) { self.context.cancel.check() } else { Ok(()) }
    }
}

fn keep(batch: &RecordBatch, first: Vec<bool>) -> Result<RecordBatch> {
    filter_record_batch(batch, &BooleanArray::from(first)).map_err(|error| Error::internal(error.to_string()))
}

/// The batch with a number of its own in each row, in the columns that take theirs from a sequence, and with what its
/// generated columns are computed to be.
pub(super) fn numbered(
    write: &Write,
    batch: RecordBatch,
    shape: &TableShape,
    txn: &Transaction,
    eval: &EvalContext<'_>,
) -> Result<RecordBatch> {
    let Write::Insert { numbered } = write else { return Ok(batch) };
    if numbered.is_empty() {
        return shape.generate_batch(batch, eval);
    }
    let mut arrays = batch.columns().to_vec();
    for &ordinal in numbered {
        let numbers = (0..batch.num_rows()).map(|_| shape.default_value(txn, ordinal, eval));
        let numbers = numbers.collect::<Result<Vec<_>>>()?;
        arrays[ordinal] = crate::values::array_of(numbers.iter(), shape.columns()[ordinal].data_type);
    }
    let fields = batch.schema();
    let fields = fields.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    let schema = arrow::datatypes::Schema::new(fields.collect::<Vec<_>>());
    let batch = RecordBatch::try_new(Arc::new(schema), arrays);
    shape.generate_batch(batch.map_err(|error| Error::internal(format!("new rows: {error}")))?, eval)
}
