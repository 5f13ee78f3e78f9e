//! One partition: takes blocks until none is left, hands out batches.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;
use weft_contract::Partition;
use weft_format::Result;

use super::super::scan::Piece;
use super::output::Found;
use super::plan::VersionPlan;
use super::walk::Walk;

/// See the module.
pub(super) struct VersionPartition {
    plan: Arc<VersionPlan>,
    walk: Walk,
    found: Found,
    waiting: VecDeque<RecordBatch>,
}

impl VersionPartition {
    pub(super) fn new(plan: Arc<VersionPlan>) -> VersionPartition {
        VersionPartition { plan, walk: Walk::default(), found: Found::default(), waiting: VecDeque::new() }
    }

    fn most(&self) -> usize {
        self.plan.scan.request.batch_rows.max(1)
    }

    fn take(&mut self, batch: Option<RecordBatch>) {
        let Some(batch) = batch else { return };
        let (rows, most) = (batch.num_rows(), self.most());
        self.plan.scan.metrics.rows.fetch_add(rows as u64, Ordering::Relaxed);
        for start in (0..rows).step_by(most) {
            self.waiting.push_back(batch.slice(start, most.min(rows - start)));
        }
    }

    /// Begins what nobody has taken; false when all is taken.
    fn begin(&mut self) -> Result<bool> {
        let plan = self.plan.clone();
        match plan.scan.next_piece() {
            None => return Ok(false),
            Some(Piece::Row(row_id)) => {
                self.walk = Walk::new(&plan, &(row_id..row_id + 1), std::iter::once(row_id))?;
            }
            Some(Piece::Block(rows)) => {
                let touched = plan.touched(&rows)?;
                self.take(plan.scan.read_pages(rows.clone(), touched.rows.iter().copied(), Some(plan.begun()))?);
                self.walk = Walk::new(&plan, &rows, touched.walked.into_iter())?;
            }
        }
        Ok(true)
    }
}

impl Partition for VersionPartition {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.waiting.pop_front() {
                return Ok(Some(batch));
            }
            let (plan, most) = (self.plan.clone(), self.most());
            let has_ended = self.walk.go_on(&plan, &mut self.found, most)?;
            if !has_ended || self.begin()? {
                // What is found of a block waits for that of the next, until it is a batch.
                if self.found.len() >= most {
                    let batch = self.found.take(&plan.scan)?;
                    self.take(batch);
                }
                continue;
            }
            let batch = self.found.take(&plan.scan)?;
            if batch.is_none() {
                return Ok(None);
            }
            self.take(batch);
        }
    }
}
