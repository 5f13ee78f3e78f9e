//! Batches of joins that give a few rows at a time, made whole.
//!
//! ```text
//!   SortExec                 merges its batches, and looks at all of them for each batch that it gives
//!     CoalesceExec           8,192 rows, or a mebibyte
//!       CrossJoinExec        a batch for each row of one side and each batch of the other: 44 rows
//! ```
//!
//! 4.3 million rows of a cross join of small tables are 91,000 batches, which took 97 s to sort.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::RecordBatch;
use arrow::compute::BatchCoalescer;
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use futures::{Stream, StreamExt};
use weft_sql::queries::shown_bytes;

use super::pass::{Pass, PassExec};

/// Operators whose batches are as small as one of their inputs.
const SMALL: &[&str] = &["CrossJoinExec"];

/// What is gathered at most, bytes: rows may be wide.
const BYTES_MAX: usize = 1 << 20;

/// The plan with a `CoalesceExec` above each operator that gives small batches.
pub(super) fn coalesced(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let is_small = |node: &Arc<dyn ExecutionPlan>| SMALL.contains(&node.name()) && !node.schema().fields().is_empty();
    if !plan.exists(|node| Ok(is_small(node)))? {
        return Ok(plan);
    }
    plan.transform_up(|node| match is_small(&node) {
        true => Ok(Transformed::yes(PassExec::above(node, Coalesce))),
        false => Ok(Transformed::no(node)),
    })
    .data()
}

/// Gives batches of the session's size; those that are large already as they are.
#[derive(Clone, Copy, Debug)]
struct Coalesce;

impl Pass for Coalesce {
    const NAME: &'static str = "CoalesceExec";

    fn stream(
        &self,
        input: SendableRecordBatchStream,
        _: usize,
        context: &TaskContext,
    ) -> Result<SendableRecordBatchStream> {
        let rows = context.session_config().batch_size();
        let coalescer = BatchCoalescer::new(input.schema(), rows).with_biggest_coalesce_batch_size(Some(rows / 2));
        Ok(Box::pin(CoalesceStream { input: Some(input), coalescer, bytes: 0 }))
    }
}

struct CoalesceStream {
    /// None when it has ended.
    input: Option<SendableRecordBatchStream>,
    coalescer: BatchCoalescer,
    /// Of the batches that are gathered.
    bytes: usize,
}

impl Stream for CoalesceStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(batch) = self.coalescer.next_completed_batch() {
                self.bytes = 0;
                return Poll::Ready(Some(Ok(batch)));
            }
            let Some(input) = &mut self.input else { return Poll::Ready(None) };
            match ready!(input.poll_next_unpin(cx)) {
                Some(Ok(batch)) => {
                    self.bytes += batch.columns().iter().map(|column| shown_bytes(column)).sum::<usize>();
                    self.coalescer.push_batch(batch)?;
                    if self.bytes >= BYTES_MAX {
                        self.coalescer.finish_buffered_batch()?;
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    self.input = None;
                    self.coalescer.finish_buffered_batch()?;
                }
            }
        }
    }
}

impl RecordBatchStream for CoalesceStream {
    fn schema(&self) -> SchemaRef {
        self.coalescer.schema()
    }
}
