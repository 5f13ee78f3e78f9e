//! One partition: takes units until none is left, hands out batches.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_select::filter::{FilterBuilder, FilterPredicate};
use weft_format::{Error, Mask, Result};
use weft_kernel::table::Partition;

use super::plan::{Plan, Unit};

/// A partition of a scan of a [`Store`](super::super::store::Store).
pub(super) struct StorePartition {
    plan: Arc<Plan>,
    waiting: VecDeque<RecordBatch>,
}

impl StorePartition {
    pub(super) fn new(plan: Arc<Plan>) -> StorePartition {
        StorePartition { plan, waiting: VecDeque::new() }
    }

    /// Keeps a batch in pieces that are not too large.
    fn queue(&mut self, batch: RecordBatch) {
        let (rows, most) = (batch.num_rows(), self.plan.request.batch_rows.max(1));
        self.plan.metrics.rows.fetch_add(rows as u64, Ordering::Relaxed);
        if rows <= most {
            self.waiting.push_back(batch);
            return;
        }
        let mut start = 0;
        while start < rows {
            let len = most.min(rows - start);
            self.waiting.push_back(batch.slice(start, len));
            start += len;
        }
    }
}

impl Partition for StorePartition {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.waiting.pop_front() {
                return Ok(Some(batch));
            }
            let plan = self.plan.clone();
            let Some(unit) = plan.next_unit() else { return Ok(None) };
            let batch = match unit {
                Unit::Block(part, block) => plan.read_block(&plan.parts[*part], *block)?,
                Unit::Chunk(chunk) => plan.read_chunk(&plan.chunks[*chunk])?,
                Unit::Run(chunk, run) => plan.read_run(&plan.chunks[*chunk], run)?,
                Unit::Own => {
                    for batch in plan.read_own()? {
                        self.queue(batch);
                    }
                    None
                }
            };
            if let Some(batch) = batch {
                self.queue(batch);
            }
        }
    }
}

impl Plan {
    /// A batch of projected columns.
    pub(super) fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.arrow.clone(), columns, &options)
            .map_err(|error| Error::internal(format!("a scan's columns do not fit its schema: {error}")))
    }
}

/// A mask as Arrow's filter, for columns that are decoded whole.
pub(super) fn arrow_filter(mask: &Mask, column_count: usize) -> FilterPredicate {
    let bits = BooleanBuffer::new(Buffer::from_vec(mask.words().to_vec()), 0, mask.len());
    let builder = FilterBuilder::new(&BooleanArray::new(bits, None));
    if column_count > 1 { builder.optimize().build() } else { builder.build() }
}

/// The rows of a column that a filter keeps.
pub(super) fn filtered(filter: &FilterPredicate, column: &ArrayRef) -> Result<ArrayRef> {
    filter.filter(column).map_err(|error| Error::internal(format!("filtering a column: {error}")))
}
