//! Expressions of a node rewritten, whose results keep their names: nodes above know them by these.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// The node with each part of its expressions rewritten, the inner ones first.
pub(super) fn with_names(
    plan: LogicalPlan,
    rewrite: &mut dyn FnMut(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let made = expr.transform_up(&mut *rewrite)?;
        Ok(if made.transformed { made.update_data(|expr| name.restore(expr)) } else { made })
    })
}
