//! Whether a plan is good for sessions of one zone and style only.

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::apply::walk::visit_all;
use super::routines::depends_on_session;

/// Whether a function of an analysed plan gives something else for other zones or styles (local 1).
pub(super) fn reads_session(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    visit_all(plan, &mut |node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::ScalarFunction(function) = expr
                    && depends_on_session(function, node)?
                {
                    found = true;
                    return Ok(TreeNodeRecursion::Stop);
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        Ok(())
    })?;
    Ok(found)
}
