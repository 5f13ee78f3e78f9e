//! Versions: every state of every row that a period has, with the commits that it began and ended with.
//!
//! ```text
//!   row 4 of a block, snapshot 60      records @ 57, @ 52     page: changed 47     history: until 47, until 44
//!     [57, ..)  [52, 57)               tails, newest first: each as a snapshot of its commit sees it
//!     [47, 52)                         the page
//!     [44, 47)  [41, 44)               history, latest first: the version after it, with what the change replaced
//!
//!   row 5, no record, no history       one version: of all such rows together, as columns
//! ```
//!
//! | module | what |
//! |---|---|
//! | `plan` | what all partitions share: the layout that was pinned, the period, what is wanted of a version |
//! | `touched` | rows of a block with more than the version of their page |
//! | `cursor` | the files of history, backwards |
//! | `walk` | the versions of one row after the other, newest first |
//! | `output` | versions become columns |
//! | `partition` | takes blocks until none is left, hands out batches |
//!
//! 1. Of a row a version ends where the next one begins, or where there was no row any more: what lies between two
//!    records, a page and what history says of it leaves no gap.
//! 2. Every version is in exactly one block, once.
//! 3. Memory is bounded by a block and a batch: rows are walked one by one, and a walk stops where a batch is full,
//!    within a row, too.
//! 4. What is not committed for the snapshot has not happened: what such a commit ended has not ended.

mod cursor;
mod output;
mod partition;
mod plan;
mod touched;
mod walk;

use std::sync::Arc;

use weft_contract::{Partition, Period, ScanOutput, ScanRequest, Versions};
use weft_format::{Result, Schema};

use self::partition::VersionPartition;
use self::plan::VersionPlan;
use super::store::Store;

impl Versions for Store {
    fn scan_versions(&self, schema: &Arc<Schema>, request: ScanRequest, period: Period) -> Result<ScanOutput> {
        self.given_up.check(request.view.read_ts)?;
        let count = request.partition_count;
        let plan = Arc::new(VersionPlan::new(self, schema, request, period)?);
        let partition = |_| Box::new(VersionPartition::new(plan.clone())) as Box<dyn Partition>;
        Ok(ScanOutput { partitions: (0..count).map(partition).collect(), metrics: plan.scan.metrics.clone() })
    }
}
