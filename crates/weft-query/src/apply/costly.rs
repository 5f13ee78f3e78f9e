//! Conditions that apply subqueries come after those that do not.
//!
//! ```text
//!   FilterExec x@0 > 100 AND subplan1(k@1) = 3     →     FilterExec subplan1(k@1) = 3
//!                                                          FilterExec x@0 > 100
//! ```
//!
//! So a subquery runs, and fails, for rows only that nothing cheaper leaves out.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::{PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};

use super::walk::physical_subplan;

/// Whether an operator's expressions apply subqueries.
pub(crate) fn applies(node: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(&mut |expr| {
        found |= is_costly(expr);
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

fn is_costly(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.exists(|expr| Ok(physical_subplan(expr).is_some())).unwrap_or(true)
}

/// The plan with its filters divided.
pub(crate) fn costly_last(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let Some(filter) = node.downcast_ref::<FilterExec>() else { return Ok(Transformed::no(node)) };
        let parts = split_conjunction(filter.predicate()).into_iter().cloned();
        let (costly, cheap): (Vec<_>, Vec<_>) = parts.partition(is_costly);
        if costly.is_empty() || cheap.is_empty() {
            return Ok(Transformed::no(node));
        }
        let below = FilterExecBuilder::new(conjunction(cheap), Arc::clone(filter.input())).build()?;
        let above = FilterExecBuilder::from(filter).with_predicate(conjunction(costly)).with_input(Arc::new(below));
        Ok(Transformed::yes(Arc::new(above.build()?)))
    })
    .data()
}
