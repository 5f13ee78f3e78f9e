//! Joins that can be stopped.
//!
//! ```text
//!   AggregateExec                      count(*): asks its input for ever, and gives nothing back meanwhile
//!     StopExec                         asks the cancel token before each batch
//!       NestedLoopJoinExec filter=...  asks it before each evaluation of the filter (StopExpr): it may drop 10^12 rows
//!         WeftScanExec a                                                          before it has a batch to give
//!         WeftScanExec b               read once each: asking there is not enough
//! ```
//!
//! 1. Whatever multiplies rows, and windows, which may read a frame for each row, has a `StopExec` above it; a filter
//!    inside it is a [`StopExpr`], and what computes a frame asks [`check_running`]. So has what applies subqueries,
//!    which find their execution by [`running`].
//! 2. A template holds no token: `StopExec` takes it from the execution, filters are bound per execution.

use std::cell::RefCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType as ArrowType, Schema as ArrowSchema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{NestedLoopJoinExec, NestedLoopJoinExecBuilder};
use futures::{Stream, StreamExt};
use weft_sql::CancelToken;

use super::error::wrap;
use super::pass::{Pass, PassExec};
use super::scan::Execution;

/// Operators that give more rows than they take, or read rows more than once.
const MULTIPLY: &[&str] = &[
    "CrossJoinExec",
    "NestedLoopJoinExec",
    "HashJoinExec",
    "SortMergeJoinExec",
    "LateralExec",
    "RecursiveQueryExec",
    "UnnestExec",
    "ElementAggregateExec",
    "WindowAggExec",
    "BoundedWindowAggExec",
];

thread_local! {
    /// The execution whose operator this thread polls.
    static RUNNING: RefCell<Option<Arc<Execution>>> = const { RefCell::new(None) };
}

/// An error when the statement that this thread works for is to stop.
pub(super) fn check_running() -> Result<()> {
    RUNNING.with(|running| match &*running.borrow() {
        Some(execution) => execution.check().map_err(wrap),
        None => Ok(()),
    })
}

/// The execution whose operator this thread polls.
pub(super) fn running() -> Option<Arc<Execution>> {
    RUNNING.with(|running| running.borrow().clone())
}

/// The plan with a `StopExec` above each operator that multiplies rows, or that `asks` which execution it belongs to.
pub(super) fn stoppable(
    plan: Arc<dyn ExecutionPlan>,
    asks: fn(&Arc<dyn ExecutionPlan>) -> Result<bool>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let needs_it = |node: &Arc<dyn ExecutionPlan>| Ok(MULTIPLY.contains(&node.name()) || asks(node)?);
    if !plan.exists(|node| needs_it(node))? {
        return Ok(plan);
    }
    plan.transform_up(|node| {
        if !needs_it(&node)? {
            return Ok(Transformed::no(node));
        }
        Ok(Transformed::yes(PassExec::above(node, Stop)))
    })
    .data()
}

/// The plan of one execution with the token in the filters of its nested loops.
pub(super) fn bind_filters(plan: Arc<dyn ExecutionPlan>, cancel: &CancelToken) -> Result<Arc<dyn ExecutionPlan>> {
    let loops = |node: &Arc<dyn ExecutionPlan>| node.downcast_ref::<NestedLoopJoinExec>().is_some();
    if !plan.exists(|node| Ok(loops(node)))? {
        return Ok(plan);
    }
    plan.transform_up(|node| {
        let Some((join, filter)) = node.downcast_ref::<NestedLoopJoinExec>().and_then(|j| Some((j, j.filter()?)))
        else {
            return Ok(Transformed::no(node));
        };
        let expr = StopExpr { inner: Arc::clone(filter.expression()), cancel: cancel.clone() };
        let columns = filter.column_indices().to_vec();
        let filter = JoinFilter::new(Arc::new(expr), columns, Arc::clone(filter.schema()));
        let bound = NestedLoopJoinExecBuilder::from(join).with_filter(Some(filter)).build()?;
        Ok(Transformed::yes(Arc::new(bound) as Arc<dyn ExecutionPlan>))
    })
    .data()
}

/// Hands batches on while the statement may run.
#[derive(Clone, Copy, Debug)]
struct Stop;

impl Pass for Stop {
    const NAME: &'static str = "StopExec";

    fn stream(
        &self,
        input: SendableRecordBatchStream,
        _: usize,
        context: &TaskContext,
    ) -> Result<SendableRecordBatchStream> {
        let execution = context
            .session_config()
            .get_extension::<Execution>()
            .ok_or_else(|| DataFusionError::Internal("a join ran outside an execution".into()))?;
        Ok(Box::pin(StopStream { input, execution }))
    }
}

struct StopStream {
    input: SendableRecordBatchStream,
    execution: Arc<Execution>,
}

impl Stream for StopStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Err(error) = self.execution.check() {
            return Poll::Ready(Some(Err(wrap(error))));
        }
        let outer = RUNNING.replace(Some(Arc::clone(&self.execution)));
        let polled = self.input.poll_next_unpin(context);
        RUNNING.set(outer);
        polled
    }
}

impl RecordBatchStream for StopStream {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}

/// A filter that fails when the statement is to stop.
struct StopExpr {
    inner: Arc<dyn PhysicalExpr>,
    cancel: CancelToken,
}

impl fmt::Debug for StopExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl fmt::Display for StopExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl PartialEq for StopExpr {
    fn eq(&self, other: &StopExpr) -> bool {
        self.inner.eq(&other.inner)
    }
}

impl Eq for StopExpr {}

impl Hash for StopExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl PhysicalExpr for StopExpr {
    fn data_type(&self, schema: &ArrowSchema) -> Result<ArrowType> {
        self.inner.data_type(schema)
    }

    fn nullable(&self, schema: &ArrowSchema) -> Result<bool> {
        self.inner.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.cancel.check().map_err(wrap)?;
        self.inner.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.inner]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        let inner = children.into_iter().next();
        let inner = inner.ok_or_else(|| DataFusionError::Internal("StopExpr has one child".into()))?;
        Ok(Arc::new(StopExpr { inner, cancel: self.cancel.clone() }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}
