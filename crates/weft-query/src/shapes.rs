//! What a physical plan is made of: whether two are alike, and whether one may be run again.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::scan::WeftScanExec;

/// The operators of a plan, and what its leaves test.
#[derive(Clone, Default)]
pub(super) struct Shape {
    operators: Vec<String>,
    tests: Vec<BTreeSet<String>>,
}

impl Shape {
    /// Whether it has the operators of another one, and tests at least the same (templates 3).
    pub(super) fn covers(&self, other: &Shape) -> bool {
        self.operators == other.operators
            && self.tests.len() == other.tests.len()
            && self.tests.iter().zip(&other.tests).all(|(own, others)| own.is_superset(others))
    }
}

pub(super) fn shape_of(plan: &Arc<dyn ExecutionPlan>, given: &[ScalarValue]) -> Result<Shape> {
    let mut shape = Shape::default();
    plan.apply(|node| {
        let partitions = node.output_partitioning().partition_count();
        let children = node.children().len();
        let mut operator = format!("{} {children} {partitions} {:?}", node.name(), node.fetch());
        if let Some(leaf) = node.downcast_ref::<WeftScanExec>() {
            let (read, tests) = leaf.shape(given)?;
            operator.push_str(&read);
            shape.tests.push(tests);
        }
        shape.operators.push(operator);
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(shape)
}

/// Operators that a reset makes as good as new (read in their sources, version 55.2; dynamic filters are off).
const REUSABLE: &[&str] = &[
    "WeftScanExec",
    "FilterExec",
    "ProjectionExec",
    "AggregateExec",
    "SortExec",
    "SortExec(TopK)",
    "SortPreservingMergeExec",
    "CoalescePartitionsExec",
    "CoalesceBatchesExec",
    "CoalesceExec",
    "PlainExec",
    "CooperativeExec",
    "RepartitionExec",
    "GlobalLimitExec",
    "LocalLimitExec",
    "HashJoinExec",
    "NestedLoopJoinExec",
    "CrossJoinExec",
    "UnionExec",
    "LateralExec",
    "OneByOneExec",
    "StopExec",
    "UnnestExec",
    "ElementAggregateExec",
    "BoundedWindowAggExec",
    "WindowAggExec",
    "EmptyExec",
    "PlaceholderRowExec",
];

pub(super) fn is_reusable(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let stateful = plan.exists(|node| Ok(!REUSABLE.contains(&node.name())));
    !stateful.unwrap_or(true)
}
