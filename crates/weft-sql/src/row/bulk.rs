//! Batches into a table: row by row when they are small, as files of their own when they are large.
//!
//! ```text
//!   insert_batches   all at once: [8192 rows] [8192 rows] [411 rows]     bulk_bytes or more ─▶ files
//!   Load             as they come, 48 MiB for queries: 12 MiB ─▶ files    12 MiB ─▶ files    the rest ─▶ files
//! ```
//!
//! 1. Rows that wait in a [`Load`] are at most a quarter of the memory of queries, where parts can be built one by one;
//!    elsewhere (unique indexes see all rows of a statement at once) they are at most all of it.
//! 2. Rows are tested before they wait.
//! 3. Into a table that builds no files, or not now, they go row by row as they come.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use weft_format::{Code, Error, Result};
use weft_kernel::Transaction;

use super::TableShape;
use crate::binding::CancelToken;
use crate::expr::EvalContext;
use crate::queries::{Collected, Purpose, QueryEngine, batch_bytes, pieces};

/// What a row takes in a row table beside its values, about.
const ROW_BYTES: u64 = 210;
/// Few rows that are larger than this stay rows: building files keeps others from inserting.
const LARGE_ROW_BYTES: u64 = 4 << 10;
/// Rows that are encoded at once, and between two looks at the cancel token.
const CHECK_ROWS: usize = 1024;
/// The part of the memory of queries that rows take which wait to be built.
const WAITING_PART: usize = 4;

/// Rows on their way into a table.
pub(crate) struct Load<'a> {
    shape: &'a TableShape,
    engine: &'a dyn QueryEngine,
    cancel: &'a CancelToken,
    waiting: Collected,
    in_parts: bool,
    rows: u64,
}

impl<'a> Load<'a> {
    /// A load of no rows so far.
    pub(crate) fn new(
        shape: &'a TableShape,
        engine: &'a dyn QueryEngine,
        txn: &Transaction,
        cancel: &'a CancelToken,
    ) -> Load<'a> {
        let in_parts = txn.can_build_in_parts(&shape.table);
        Load { shape, engine, cancel, waiting: engine.collected(Purpose::Written), in_parts, rows: 0 }
    }

    /// Takes a batch of the visible columns in their storage types, which meets the constraints.
    pub(crate) fn push(&mut self, txn: &mut Transaction, batch: RecordBatch) -> Result<()> {
        if !txn.can_build(&self.shape.table) {
            self.rows += store_batches(self.shape, txn, &[batch], self.cancel)?;
            return Ok(());
        }
        let bytes_max = self.engine.memory_bytes();
        if !self.in_parts {
            return if self.waiting.push(batch, bytes_max)? { Ok(()) } else { Err(self.too_large()) };
        }
        // Others that need the memory make the parts smaller.
        let waiting_bytes_max = waiting_bytes_max(bytes_max);
        for piece in pieces(batch, waiting_bytes_max) {
            if !self.waiting.push(piece.clone(), waiting_bytes_max).unwrap_or(false) {
                self.build(txn)?;
                self.waiting.push(piece, usize::MAX)?;
            }
        }
        Ok(())
    }

    /// Stores the rows that still wait. Returns how many rows there were in all.
    pub(crate) fn finish(mut self, txn: &mut Transaction) -> Result<u64> {
        if txn.has_built(&self.shape.table) {
            self.build(txn)?;
            return Ok(self.rows);
        }
        self.rows += store_batches(self.shape, txn, &self.waiting.batches, self.cancel)?;
        Ok(self.rows)
    }

    fn build(&mut self, txn: &mut Transaction) -> Result<()> {
        self.cancel.check()?;
        let waiting = std::mem::replace(&mut self.waiting, self.engine.collected(Purpose::Written));
        if !waiting.batches.is_empty() {
            self.rows += build(self.shape, txn, &waiting.batches)?;
        }
        Ok(())
    }

    fn too_large(&self) -> Error {
        let (name, bytes) = (self.shape.name(), self.engine.memory_bytes());
        let message = format!("the rows for \"{name}\" take more than the memory of queries ({bytes} bytes)");
        let hint = "load fewer rows at a time, load before unique indexes are made, or raise memory_limit";
        Error::new(Code::OutOfMemory, message).hint(hint)
    }
}

/// Inserts batches of rows' values in their storage types; tests every row. Returns how many rows.
pub(crate) fn insert_batches(
    shape: &TableShape,
    txn: &mut Transaction,
    batches: &[RecordBatch],
    eval: &EvalContext<'_>,
    cancel: &CancelToken,
) -> Result<u64> {
    for batch in batches {
        cancel.check()?;
        shape.check_batch(batch, eval)?;
    }
    store_batches(shape, txn, batches, cancel)
}

fn store_batches(
    shape: &TableShape,
    txn: &mut Transaction,
    batches: &[RecordBatch],
    cancel: &CancelToken,
) -> Result<u64> {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let bytes: usize = batches.iter().map(batch_bytes).sum();
    let is_large = shape.table.table.bulk().is_some_and(|bulk| {
        let bulk_bytes = bulk.bulk_bytes();
        bytes_as_rows(rows, bytes) > bulk_bytes && rows as u64 >= bulk_bytes / LARGE_ROW_BYTES
    });
    if is_large && txn.can_build(&shape.table) {
        return build(shape, txn, batches);
    }
    for batch in batches {
        insert_rows(shape, txn, batch, cancel)?;
    }
    Ok(rows as u64)
}

/// What rows whose values take so many bytes would take in a row table.
pub(crate) fn bytes_as_rows(rows: usize, bytes: usize) -> u64 {
    bytes as u64 + rows as u64 * ROW_BYTES
}

/// How many bytes of rows wait for a file, of all that queries have.
pub(crate) fn waiting_bytes_max(memory_bytes: usize) -> usize {
    memory_bytes / WAITING_PART
}

fn build(shape: &TableShape, txn: &mut Transaction, batches: &[RecordBatch]) -> Result<u64> {
    let stored = batches.iter().map(|batch| with_row_ids(shape, txn, batch)).collect::<Result<Vec<_>>>()?;
    txn.build(&shape.table, &stored)
}

fn insert_rows(shape: &TableShape, txn: &mut Transaction, batch: &RecordBatch, cancel: &CancelToken) -> Result<()> {
    let stored = with_row_ids(shape, txn, batch)?;
    for from in (0..stored.num_rows()).step_by(CHECK_ROWS) {
        cancel.check()?;
        let piece = stored.slice(from, CHECK_ROWS.min(stored.num_rows() - from));
        txn.insert_batch(&shape.table, piece.columns())?;
    }
    Ok(())
}

/// The stored columns: the visible ones, and row ids where the table has them.
fn with_row_ids(shape: &TableShape, txn: &Transaction, batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = &shape.table.def.schema;
    let mut arrays: Vec<ArrayRef> = batch.columns().to_vec();
    if let Some(row_id) = schema.row_id() {
        let count = batch.num_rows();
        let first = txn.next_row_ids(&shape.table, count as u64);
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + count as i64));
        match arrays.get_mut(row_id) {
            Some(array) => *array = ids,
            None => arrays.push(ids),
        }
    }
    let all: Vec<usize> = (0..schema.columns.len()).collect();
    RecordBatch::try_new(schema.arrow(&all), arrays)
        .map_err(|error| Error::internal(format!("a batch for \"{}\" does not fit together: {error}", shape.name())))
}
