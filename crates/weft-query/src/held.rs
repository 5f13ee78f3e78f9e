//! What window functions hold on to, counted.
//!
//! ```text
//!   BoundedWindowAggExec     keeps a few rows, cut out of longer batches: their texts' buffers stay to the end
//!     HoldExec Texts         counts the buffers of texts, each once: 300 MB of them with 48 MB → 53200
//!   WindowAggExec            keeps all rows of a partition, and then a copy of them in one piece
//!     HoldExec Rows          counts all bytes, twice
//!   SortPreservingMergeExec  counts a batch with all buffers that its texts lie in: those of all batches merged below
//!     HoldExec Nothing       copies them out, when memory is to be spared
//!       SortExec
//! ```
//!
//! The windows account for neither, so a query would pass its memory without a word.
//!
//! 1. Texts are copied out of the buffers that they share with other batches: each byte counts where it is held.
//! 2. What was counted is given back when the stream ends or is dropped: then the window's output was taken.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use futures::{Stream, StreamExt};

use weft_sql::queries::{has_views, viewed_bytes, with_own_views};

use super::pass::{Pass, PassExec};

/// The same batch, with texts, bytes and arrays of its own.
pub(super) fn with_own_texts(batch: &RecordBatch) -> RecordBatch {
    let columns = batch.columns().iter().map(with_own_views);
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns.collect(), &options).expect("lengths and types stay")
}

/// The plan with a `HoldExec` below each window; that of a query that spares memory has one above each sort, too.
pub(super) fn counted(plan: Arc<dyn ExecutionPlan>, spares_memory: bool) -> Result<Arc<dyn ExecutionPlan>> {
    let is_sort = |node: &Arc<dyn ExecutionPlan>| spares_memory && node.is::<SortExec>() && has_texts(node);
    if !plan.exists(|node| Ok(held_by(node).is_some() || is_sort(node)))? {
        return Ok(plan);
    }
    plan.transform_up(|node| {
        if is_sort(&node) {
            return Ok(Transformed::yes(PassExec::above(node, Held::Nothing)));
        }
        let Some(held) = held_by(&node) else { return Ok(Transformed::no(node)) };
        let inputs = node.children().into_iter().map(|input| PassExec::above(Arc::clone(input), held)).collect();
        Ok(Transformed::yes(replace_children_if_necessary(node, inputs)?))
    })
    .data()
}

/// What an operator above holds on to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Nothing,
    /// Texts, bytes and arrays of them.
    Texts,
    Rows,
}

fn has_texts(node: &Arc<dyn ExecutionPlan>) -> bool {
    node.schema().fields().iter().any(|field| has_views(field.data_type()))
}

fn held_by(node: &Arc<dyn ExecutionPlan>) -> Option<Held> {
    if node.is::<WindowAggExec>() {
        return Some(Held::Rows);
    }
    (node.is::<BoundedWindowAggExec>() && node.children().into_iter().any(has_texts)).then_some(Held::Texts)
}

/// Hands batches on and counts what of them stays.
impl Pass for Held {
    const NAME: &'static str = "HoldExec";

    fn shown(&self) -> String {
        format!("HoldExec: {self:?}")
    }

    fn stream(
        &self,
        input: SendableRecordBatchStream,
        partition: usize,
        context: &TaskContext,
    ) -> Result<SendableRecordBatchStream> {
        let held = MemoryConsumer::new(format!("Window[{partition}]")).register(context.memory_pool());
        Ok(Box::pin(HoldStream { input, kind: *self, held }))
    }
}

struct HoldStream {
    input: SendableRecordBatchStream,
    kind: Held,
    held: MemoryReservation,
}

impl HoldStream {
    fn hold(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let batch = with_own_texts(batch);
        let bytes = match self.kind {
            Held::Nothing => 0,
            Held::Rows => batch.get_array_memory_size() * 2,
            Held::Texts => batch.columns().iter().map(|column| viewed_bytes(column)).sum(),
        };
        self.held.try_grow(bytes)?;
        Ok(batch)
    }
}

impl Stream for HoldStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.input.poll_next_unpin(context).map(|next| next.map(|batch| self.hold(&batch?)))
    }
}

impl RecordBatchStream for HoldStream {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}
