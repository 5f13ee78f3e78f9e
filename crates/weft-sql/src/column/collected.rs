//! The rows of a query that was run to its end, counted for as long as somebody has them.
//!
//! ```text
//!   SELECT t FROM docs      48 MiB for queries
//!   Result     8192 rows, 3 MiB   ─▶ 3 MiB reserved ... 45 MiB     the next batch: 53200, "the result takes more ..."
//!   dropped    the last clone of the rows goes  ─▶ 0
//! ```
//!
//! 1. A batch counts with its values and with the buffers its texts lie in, whoever else has them.
//! 2. Few texts do not keep the blocks alive that they lie in: they are copied out of buffers that are mostly others'.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use weft_format::Result;

use super::error::unwrap;

/// Bytes of others that the buffers of a column's texts may have beside twice the texts.
const SLACK_BYTES: usize = 16 << 10;

/// Memory of queries, reserved until the last clone goes.
#[derive(Clone, Debug)]
pub struct HeldMemory(Arc<MemoryReservation>);

/// The rows of a query, and their memory.
#[derive(Debug)]
pub(crate) struct Collected {
    /// In the order of the query; none is empty.
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) memory: HeldMemory,
}

impl Collected {
    pub(super) fn new(pool: &Arc<dyn MemoryPool>) -> Collected {
        let memory = MemoryConsumer::new("Result").register(pool);
        Collected { batches: Vec::new(), memory: HeldMemory(Arc::new(memory)) }
    }

    /// The bytes of all rows.
    pub(crate) fn bytes(&self) -> usize {
        self.memory.0.size()
    }

    /// Adds a batch; false when the rows alone would take more than so many bytes,
    /// [`Code::OutOfMemory`](weft_format::Code::OutOfMemory) when others leave no memory for them.
    pub(crate) fn push(&mut self, batch: RecordBatch, bytes_max: usize) -> Result<bool> {
        let (batch, bytes) = counted(batch);
        if self.bytes() + bytes > bytes_max {
            return Ok(false);
        }
        self.memory.0.try_grow(bytes).map_err(|error| unwrap(error, ""))?;
        self.batches.push(batch);
        Ok(true)
    }
}

/// The batch as it is kept, and its bytes.
fn counted(batch: RecordBatch) -> (RecordBatch, usize) {
    let mut copied = false;
    let (mut columns, mut bytes): (Vec<ArrayRef>, usize) = (Vec::with_capacity(batch.num_columns()), 0);
    for column in batch.columns() {
        let column = match own_texts(column) {
            Some(own) => {
                copied = true;
                own
            }
            None => Arc::clone(column),
        };
        bytes += bytes_of(&column);
        columns.push(column);
    }
    if !copied {
        return (batch, bytes);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let kept = RecordBatch::try_new_with_options(batch.schema(), columns, &options);
    (kept.expect("lengths and types stay"), bytes)
}

/// A copy of texts that share their buffers with many others.
fn own_texts(column: &ArrayRef) -> Option<ArrayRef> {
    let texts = column.as_string_view_opt()?;
    let held: usize = texts.data_buffers().iter().map(|buffer| buffer.capacity()).sum();
    if held <= SLACK_BYTES {
        return None;
    }
    let used: usize = texts.lengths().map(|length| length as usize).sum();
    (held > 2 * used + SLACK_BYTES).then(|| Arc::new(texts.gc()) as ArrayRef)
}

/// How many bytes an array's values take, with the buffers of texts.
fn bytes_of(column: &ArrayRef) -> usize {
    let buffers = column.as_string_view_opt().map(|texts| texts.data_buffers().iter().map(|b| b.capacity()).sum());
    let width = column.data_type().primitive_width().unwrap_or(16);
    column.len() * width + buffers.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use arrow::array::StringViewArray;
    use datafusion::execution::memory_pool::GreedyMemoryPool;

    use super::*;

    fn texts(count: usize) -> RecordBatch {
        let texts = (0..count).map(|number| format!("{number:0>100}"));
        let column = Arc::new(StringViewArray::from_iter_values(texts)) as ArrayRef;
        RecordBatch::try_from_iter([("t", column)]).unwrap()
    }

    #[test]
    fn few_texts_do_not_keep_the_buffers_of_many() {
        let all = texts(8192);
        let (kept, bytes) = counted(all.clone());
        assert!((8192 * 116..2 * 8192 * 116).contains(&bytes), "{bytes} bytes");
        assert_eq!(kept, all);
        let (kept, bytes) = counted(all.slice(7, 10));
        assert!(bytes < 4 * 1160, "{bytes} bytes");
        assert_eq!(kept, all.slice(7, 10));
    }

    #[test]
    fn rows_count_until_their_last_clone_goes() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(2 << 20));
        let mut collected = Collected::new(&pool);
        assert!(collected.push(texts(8192), 2 << 20).unwrap());
        assert_eq!(pool.reserved(), collected.bytes());
        assert!(!collected.push(texts(16384), 2 << 20).unwrap());
        let error = collected.push(texts(16384), usize::MAX).unwrap_err();
        assert_eq!(error.code(), weft_format::Code::OutOfMemory, "{error}");
        let memory = collected.memory.clone();
        drop(collected);
        assert!(pool.reserved() > 0);
        drop(memory);
        assert_eq!(pool.reserved(), 0);
    }
}
