//! The inputs of unions, outer joins, grouping sets and windows as plans of whose columns less is known.
//!
//! ```text
//!   SELECT date '2024-02-29' AS d, t FROM a UNION ALL SELECT date '2023-03-31', 'x' ORDER BY t, d LIMIT 4
//!     sorts of the inputs: by t, for d is constant in each ─ merged by t alone: d differs between the inputs
//! ```
//!
//! The engine takes what is constant in each input of a union for nothing to order by, though the constants differ; and
//! what is constant on the side of an outer join that may be missing, though it is NULL where it is; and what is
//! constant, equal to another column or in order below grouping sets, though it is NULL in the sets without it. Where
//! an expression equals what a window is partitioned by (`WHERE lower(t) = t`) it sorts by the expression, and then
//! does not find the order of the partitions. So between them and such an input stands a node that passes batches on
//! and says nothing of them.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, JoinType, Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};

/// See above; runs before the rules that read what is constant, and again before sorts are placed: joins that have
/// changed sides know more.
#[derive(Debug)]
pub(super) struct PlainInputs;

impl PhysicalOptimizerRule for PlainInputs {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let is_union = node.downcast_ref::<UnionExec>().is_some();
            let has_sets = has_grouping_sets(&node);
            let is_window = node.is::<WindowAggExec>() || node.is::<BoundedWindowAggExec>();
            let may_differ = match is_union || has_sets || is_window {
                true => vec![true; node.children().len()],
                false => may_be_missing(&node),
            };
            let is_told = |(input, differs): &(&Arc<dyn ExecutionPlan>, bool)| {
                let told = input.equivalence_properties();
                match () {
                    () if is_window => has_equal_expression(told),
                    // The sets without a column have it neither constant nor in order nor equal to another. What is
                    // constant may be found later.
                    () if has_sets => !input.is::<PlainExec>(),
                    () => *differs && !told.constants().is_empty(),
                }
            };
            if !node.children().into_iter().zip(may_differ.iter().copied()).any(|pair| is_told(&pair)) {
                return Ok(Transformed::no(node));
            }
            let inputs = node.children().into_iter().zip(may_differ);
            let plain = inputs.map(|pair| match is_told(&pair) {
                true => PlainExec::over(Arc::clone(pair.0)),
                false => Arc::clone(pair.0),
            });
            let plain = plain.collect();
            let made = if is_union { UnionExec::try_new(plain)? } else { replace_children_if_necessary(node, plain)? };
            Ok(Transformed::yes(made))
        })
        .data()
    }

    fn name(&self) -> &str {
        "plain_inputs"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether an expression of columns, and not a column alone, is known to equal another.
fn has_equal_expression(told: &EquivalenceProperties) -> bool {
    let is_made = |member: &Arc<dyn PhysicalExpr>| !member.is::<Column>() && !collect_columns(member).is_empty();
    told.eq_group().iter().any(|class| class.len() > 1 && class.iter().any(is_made))
}

/// Whether it groups by several sets of columns.
fn has_grouping_sets(node: &Arc<dyn ExecutionPlan>) -> bool {
    node.downcast_ref::<AggregateExec>().is_some_and(|aggregate| !aggregate.group_expr().is_single())
}

/// Which sides of a join have no row where the other has; empty of what is no join.
fn may_be_missing(node: &Arc<dyn ExecutionPlan>) -> Vec<bool> {
    let hash = node.downcast_ref::<HashJoinExec>().map(|join| *join.join_type());
    let nested = node.downcast_ref::<NestedLoopJoinExec>().map(|join| *join.join_type());
    let merge = node.downcast_ref::<SortMergeJoinExec>().map(|join| join.join_type());
    match hash.or(nested).or(merge) {
        Some(JoinType::Left) => vec![false, true],
        Some(JoinType::Right) => vec![true, false],
        Some(JoinType::Full) => vec![true, true],
        _ => Vec::new(),
    }
}

/// Passes batches on.
#[derive(Debug)]
struct PlainExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl PlainExec {
    fn over(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            input.output_partitioning().clone(),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Arc::new(PlainExec { input, properties: Arc::new(properties) })
    }
}

impl DisplayAs for PlainExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PlainExec")
    }
}

impl ExecutionPlan for PlainExec {
    fn name(&self) -> &str {
        "PlainExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        Ok(Arc::clone(&inputs[0]))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.into_iter().next();
        Ok(PlainExec::over(input.ok_or_else(|| DataFusionError::Internal("PlainExec has one child".into()))?))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
