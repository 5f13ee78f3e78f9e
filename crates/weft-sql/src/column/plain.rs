//! The inputs of a union as plans whose columns are not known to be constant.
//!
//! ```text
//!   SELECT date '2024-02-29' AS d, t FROM a UNION ALL SELECT date '2023-03-31', 'x' ORDER BY t, d LIMIT 4
//!     sorts of the inputs: by t, for d is constant in each ─ merged by t alone: d differs between the inputs
//! ```
//!
//! The engine takes what is constant in each input of a union for nothing to order by, though the constants differ. So
//! between a union and such an input stands a node that passes batches on and says nothing of them.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};

/// See above; runs before the rules that read what is constant.
#[derive(Debug)]
pub(super) struct PlainInputs;

impl PhysicalOptimizerRule for PlainInputs {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            if node.downcast_ref::<UnionExec>().is_none() {
                return Ok(Transformed::no(node));
            }
            let has_constants = |input: &Arc<dyn ExecutionPlan>| !input.equivalence_properties().constants().is_empty();
            if !node.children().into_iter().any(has_constants) {
                return Ok(Transformed::no(node));
            }
            let inputs = node.children().into_iter().cloned();
            let plain = inputs.map(|input| if has_constants(&input) { PlainExec::over(input) } else { input });
            UnionExec::try_new(plain.collect()).map(Transformed::yes)
        })
        .data()
    }

    fn name(&self) -> &str {
        "plain_inputs_of_unions"
    }

    fn schema_check(&self) -> bool {
        true
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
