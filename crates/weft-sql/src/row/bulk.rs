//! Batches into a table: row by row when they are small, as files of their own when they are large.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use weft_format::{Error, Result};
use weft_kernel::Transaction;

use super::TableShape;
use crate::binding::CancelToken;
use crate::expr::EvalContext;

/// From here on a statement builds files (DESIGN section 5: large statements build a column table at once).
const BUILD_BYTES: usize = 4 << 20;
const BUILD_ROWS: usize = 20_000;
/// Rows that are encoded at once, and between two looks at the cancel token.
const CHECK_ROWS: usize = 1024;

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
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let bytes: usize = batches.iter().map(RecordBatch::get_array_memory_size).sum();
    let is_large = rows >= BUILD_ROWS || (bytes >= BUILD_BYTES && rows >= 1000);
    if is_large && txn.can_build(&shape.table) {
        let stored = batches.iter().map(|batch| with_row_ids(shape, txn, batch)).collect::<Result<Vec<_>>>()?;
        return txn.build(&shape.table, &stored);
    }
    for batch in batches {
        insert_rows(shape, txn, batch, cancel)?;
    }
    Ok(rows as u64)
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
