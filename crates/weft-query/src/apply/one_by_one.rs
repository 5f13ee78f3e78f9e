//! The partitions of an input, one after the other, in the task that asks.
//!
//! The engine's operators that bring partitions together have a task for each, and wait for other threads to run
//! them. A plan that a thread of the engine waits for must not: when all of them wait there is none left.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
};
use futures::{StreamExt, stream};

/// The plan without operators that need threads beside the one that asks.
pub(crate) fn alone(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        if let Some(merge) = node.downcast_ref::<SortPreservingMergeExec>() {
            let input = one_by_one(Arc::clone(merge.input()));
            let sort = SortExec::new(merge.expr().clone(), input).with_fetch(merge.fetch());
            return Ok(Transformed::yes(Arc::new(sort) as Arc<dyn ExecutionPlan>));
        }
        let Some(coalesce) = node.downcast_ref::<CoalescePartitionsExec>() else { return Ok(Transformed::no(node)) };
        let input = one_by_one(Arc::clone(coalesce.input()));
        Ok(Transformed::yes(match coalesce.fetch() {
            Some(fetch) => Arc::new(GlobalLimitExec::new(input, 0, Some(fetch))),
            None => input,
        }))
    })
    .data()
}

fn one_by_one(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    if input.output_partitioning().partition_count() == 1 {
        return input;
    }
    Arc::new(OneByOneExec::new(input))
}

/// The operator.
#[derive(Debug)]
pub(crate) struct OneByOneExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl OneByOneExec {
    fn new(input: Arc<dyn ExecutionPlan>) -> OneByOneExec {
        let equal = EquivalenceProperties::new(input.schema());
        let partitioning = Partitioning::UnknownPartitioning(1);
        let properties = PlanProperties::new(equal, partitioning, EmissionType::Incremental, Boundedness::Bounded);
        OneByOneExec { input, properties: Arc::new(properties) }
    }
}

impl DisplayAs for OneByOneExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OneByOneExec")
    }
}

impl ExecutionPlan for OneByOneExec {
    fn name(&self) -> &str {
        "OneByOneExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(input) = children.into_iter().next() else { return internal_err!("OneByOneExec has one child") };
        Ok(Arc::new(OneByOneExec::new(input)))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = Arc::clone(&self.input);
        let partitions = 0..input.output_partitioning().partition_count();
        let batches =
            stream::iter(partitions).flat_map(move |partition| match input.execute(partition, Arc::clone(&context)) {
                Ok(batches) => batches.boxed(),
                Err(error) => stream::once(async move { Err(error) }).boxed(),
            });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }
}
