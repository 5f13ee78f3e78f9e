//! One partition: takes blocks until none is left, hands out batches.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;
use weft_contract::Partition;
use weft_format::Result;

use super::behind::Behind;
use super::plan::{Piece, Plan, RowIds};

/// A partition of a scan of a [`Store`](super::super::store::Store).
pub(super) struct BlockPartition {
    plan: Arc<Plan>,
    waiting: VecDeque<RecordBatch>,
}

impl BlockPartition {
    pub(super) fn new(plan: Arc<Plan>) -> BlockPartition {
        BlockPartition { plan, waiting: VecDeque::new() }
    }

    fn take(&mut self, batch: Option<RecordBatch>) {
        let Some(batch) = batch else { return };
        let (rows, most) = (batch.num_rows(), self.plan.request.batch_rows.max(1));
        self.plan.metrics.rows.fetch_add(rows as u64, Ordering::Relaxed);
        for start in (0..rows).step_by(most) {
            self.waiting.push_back(batch.slice(start, most.min(rows - start)));
        }
    }

    /// Reads a block.
    fn block(&mut self, plan: &Plan, rows: RowIds) -> Result<()> {
        if !plan.is_behind() {
            let recorded = plan.recorded(&rows, plan.wanted());
            self.take(plan.read_pages(rows.clone(), recorded.iter().map(|row| row.row_id), None)?);
            self.take(plan.read_recorded(&rows, recorded)?);
        } else if let Some(behind) = Behind::new(plan, &rows)? {
            self.take(plan.read_pages(rows, behind.touched(), None)?);
            self.take(behind.read()?);
        } else {
            self.take(plan.read_pages(rows, std::iter::empty(), None)?);
        }
        Ok(())
    }
}

impl Partition for BlockPartition {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.waiting.pop_front() {
                return Ok(Some(batch));
            }
            let plan = self.plan.clone();
            if plan.takes_own() {
                self.take(plan.read_own()?);
            } else if let Some((segment, block)) = plan.next_built() {
                self.take(plan.read_built(segment, block)?);
            } else {
                match plan.next_piece() {
                    Some(Piece::Block(rows)) => self.block(&plan, rows)?,
                    Some(Piece::Row(row_id)) => self.take(plan.read_row(row_id)?),
                    None => return Ok(None),
                }
            }
        }
    }
}
