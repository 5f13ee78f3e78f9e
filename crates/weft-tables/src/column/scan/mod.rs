//! Scans: partitions that share a queue of small units of work, so that threads of any speed end together.
//!
//! ```text
//!   units   (t12-7, block 0) (t12-7, block 1) (t12-9, block 0) (row table 8, chunk 0) ... (own rows)
//!               ▲                 ▲ cursor
//!   partition 0 ┘     partition 1 ┘
//! ```
//!
//! Each unit: pruned by statistics, of documents by what their front says of the fields · rows alive at the snapshot
//! · own writes hidden · predicates on encoded values · the selected rows of the projected columns as Arrow arrays. A
//! unit of which every row is selected is decoded whole; of a block of wide rows a piece at a time, for it may be far
//! larger decoded, and several are under way.
//!
//! 1. A scan reads the layout that it pinned when it began, and no other (DESIGN invariant 1).
//! 2. Every visible row is in exactly one unit, and a unit is taken by one partition.

mod column_part;
#[cfg(test)]
mod field_tests;
mod fields;
mod kept;
mod locations;
mod own;
mod partition;
mod plan;
mod row_chunk;
mod run;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use weft_contract::{FieldTest, Partition, Sample, ScanField, ScanOutput, ScanRequest, TableStatistics};
use weft_format::{Result, Schema};

use self::partition::StorePartition;
use self::plan::Plan;
use super::store::Store;

fn output(plan: Plan) -> ScanOutput {
    let count = plan.request.partition_count;
    let plan = Arc::new(plan);
    let partition = |_| Box::new(StorePartition::new(plan.clone())) as Box<dyn Partition>;
    ScanOutput { partitions: (0..count).map(partition).collect(), metrics: plan.metrics.clone() }
}

impl Store {
    /// Pins the layout and cuts it into partitions.
    pub(super) fn start_scan(
        &self,
        schema: &Arc<Schema>,
        request: ScanRequest,
        fields: (Vec<ScanField>, Vec<FieldTest>),
    ) -> Result<ScanOutput> {
        self.given_up.check(request.view.read_ts)?;
        Ok(output(Plan::new(self, schema, request, fields)?))
    }

    /// The same of some units, from all over the table.
    pub(super) fn start_sample(&self, schema: &Arc<Schema>, request: ScanRequest, units: usize) -> Result<Sample> {
        self.given_up.check(request.view.read_ts)?;
        let mut plan = Plan::new(self, schema, request, (Vec::new(), Vec::new()))?;
        let is_whole = plan.keep_spread(units);
        Ok(Sample { output: output(plan), is_whole })
    }

    /// What the planner is told.
    pub(super) fn estimates(&self) -> TableStatistics {
        plan::statistics(self)
    }
}
