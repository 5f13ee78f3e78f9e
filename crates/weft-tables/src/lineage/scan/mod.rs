//! Scans: partitions that share a queue of blocks, so that threads of any speed end together.
//!
//! ```text
//!   block 3 of segment 1   row ids 73,728 .. 81,920
//!     touched    rows with a record in some tails, as far as the snapshot sees it; below the cut rows that were
//!                changed later than the snapshot
//!     untouched  pages: alive · predicates on encoded values · the selected rows of the projected columns
//!     touched    the versions that the snapshot sees, from records (`assembled`) or history (`behind`), column by
//!                column · predicates · a batch of its own
//! ```
//!
//! 1. A scan reads the layout that it pinned when it began, and no other (store 1).
//! 2. Every visible row is in exactly one block, once: it is touched, or it is not.

mod assembled;
mod behind;
mod block;
mod only;
mod own;
mod partition;
mod plan;
mod touched;

use std::sync::Arc;

use weft_contract::{Partition, Sample, ScanOutput, ScanRequest, TableStatistics};
use weft_format::{Result, Schema};

use self::partition::BlockPartition;
pub(super) use self::plan::{Piece, Plan, RowIds};
use super::store::Store;

fn output(plan: Plan) -> ScanOutput {
    let count = plan.request.partition_count;
    let plan = Arc::new(plan);
    let partition = |_| Box::new(BlockPartition::new(plan.clone())) as Box<dyn Partition>;
    ScanOutput { partitions: (0..count).map(partition).collect(), metrics: plan.metrics.clone() }
}

impl Store {
    /// Pins the layout and cuts it into partitions.
    pub(super) fn start_scan(self: &Store, schema: &Arc<Schema>, request: ScanRequest) -> Result<ScanOutput> {
        self.given_up.check(request.view.read_ts)?;
        Ok(output(Plan::new(self, schema, request)?))
    }

    /// The same of some blocks, from all over the table.
    pub(super) fn start_sample(
        self: &Store,
        schema: &Arc<Schema>,
        request: ScanRequest,
        blocks: usize,
    ) -> Result<Sample> {
        self.given_up.check(request.view.read_ts)?;
        let mut plan = Plan::new(self, schema, request)?;
        let is_whole = plan.keep_spread(blocks);
        Ok(Sample { output: output(plan), is_whole })
    }

    /// What the planner is told.
    pub(super) fn estimates(&self) -> TableStatistics {
        let layout = self.layout();
        let columns = self.shape().schema.columns.len();
        let summed = layout.base.summed(columns);
        let grown: i64 = layout.tails().map(|tails| tails.grown()).sum();
        let row_count = summed.alive.saturating_add_signed(grown);
        let bytes = summed.bytes + layout.tails().map(|tails| tails.bytes()).sum::<u64>();
        // A column that was added since has no range yet.
        let mut ranges = summed.ranges.clone();
        ranges.resize(columns, None);
        TableStatistics { row_count, bytes, ranges }
    }
}
