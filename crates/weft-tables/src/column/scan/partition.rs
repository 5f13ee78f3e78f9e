//! One partition: takes units until none is left, hands out batches.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_select::concat::concat_batches;
use weft_contract::Partition;
use weft_format::{Error, Result};

use super::column_part::Selected;
use super::plan::{Plan, Unit};

/// The rows of so many units at most are given out together.
const UNITS_MAX: usize = 64;

/// A partition of a scan of a [`Store`](super::super::store::Store).
pub(super) struct StorePartition {
    plan: Arc<Plan>,
    waiting: VecDeque<RecordBatch>,
    /// A block of wide rows that is given out in pieces.
    open: Option<Selected>,
    /// Few rows each; given out as one batch, because what reads batches pays for each.
    held: Vec<RecordBatch>,
    held_rows: usize,
    /// So many are given out together next: one, then two, four, ... Who stops after the first rows reads at most twice
    /// the units that gave them.
    together: usize,
}

impl StorePartition {
    pub(super) fn new(plan: Arc<Plan>) -> StorePartition {
        StorePartition { plan, waiting: VecDeque::new(), open: None, held: Vec::new(), held_rows: 0, together: 1 }
    }

    /// Takes the rows of a unit.
    fn take(&mut self, batch: RecordBatch) -> Result<()> {
        let (rows, most) = (batch.num_rows(), self.plan.request.batch_rows.max(1));
        self.plan.metrics.rows.fetch_add(rows as u64, Ordering::Relaxed);
        if self.held_rows + rows > most {
            self.give()?;
        }
        if rows > most {
            self.give_in_pieces(&batch, most);
            return Ok(());
        }
        self.held.push(batch);
        self.held_rows += rows;
        assert!(self.held_rows <= most, "what is held is given out before it is more than a batch");
        // A large batch is not worth a copy.
        if self.held.len() >= self.together || rows * 4 >= most {
            self.give()?;
        }
        Ok(())
    }

    /// Takes a piece of a block of wide rows, which is never held: together these would be what was cut.
    fn take_piece(&mut self, batch: RecordBatch) -> Result<()> {
        self.give()?;
        self.plan.metrics.rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
        self.give_in_pieces(&batch, self.plan.request.batch_rows.max(1));
        Ok(())
    }

    /// Gives out what is held.
    fn give(&mut self) -> Result<()> {
        let batch = match &self.held[..] {
            [] => return Ok(()),
            [only] => only.clone(),
            several => concat_batches(&self.plan.arrow, several)
                .map_err(|error| Error::internal(format!("a scan's batches do not fit each other: {error}")))?,
        };
        assert!(batch.num_rows() == self.held_rows, "no row is lost when batches become one (scan 2)");
        self.held.clear();
        self.held_rows = 0;
        self.together = (self.together * 2).min(UNITS_MAX);
        self.waiting.push_back(batch);
        Ok(())
    }

    fn give_in_pieces(&mut self, batch: &RecordBatch, most: usize) {
        let rows = batch.num_rows();
        for start in (0..rows).step_by(most) {
            self.waiting.push_back(batch.slice(start, most.min(rows - start)));
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
            if let Some(open) = &mut self.open {
                match plan.read_selected(open)? {
                    Some(piece) => self.take_piece(piece)?,
                    None => self.open = None,
                }
                continue;
            }
            let batch = match plan.next_unit() {
                Some(Unit::Block(place, block)) => match plan.select(*place, *block)? {
                    Some(mut selected) if selected.is_whole() => plan.read_selected(&mut selected)?,
                    selected => {
                        self.open = selected;
                        None
                    }
                },
                Some(Unit::Chunk(chunk)) => plan.read_chunk(&plan.chunks[*chunk])?,
                Some(Unit::Run(chunk, run)) => plan.read_run(&plan.chunks[*chunk], run)?,
                Some(Unit::Own) => {
                    for batch in plan.read_own()? {
                        self.take(batch)?;
                    }
                    None
                }
                None if self.held.is_empty() => return Ok(None),
                None => {
                    self.give()?;
                    None
                }
            };
            if let Some(batch) = batch {
                self.take(batch)?;
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
