//! What is applied inside of what is applied: outer values from further out have their types there, too.
//!
//! ```text
//!   (SELECT (SELECT s.d ...) FROM i) FROM (... UNION ...) AS s      the planner takes s.d for an integer
//!     the inner plan is given outer_ref(s.d), and has it as outer_ref(m3.0): both are numerics then
//! ```

use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ExprSchema, Result};
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::lateral::{Right, lateral_of};
use super::mark::{parts, with_plan};
use super::outer::typed;

/// The plan of a subquery in which those inside know the types of columns of `around`.
pub(crate) fn with_outer_types(plan: LogicalPlan, around: &DFSchema) -> Result<LogicalPlan> {
    let fields = |values: &[Expr]| -> Vec<Option<FieldRef>> {
        let field = |value: &Expr| match value {
            Expr::OuterReferenceColumn(_, column) => around.field_from_column(column).ok().cloned(),
            _ => None,
        };
        values.iter().map(field).collect()
    };
    let made = plan.transform_up(|node| {
        let node = node.map_expressions(|expr| {
            expr.transform_up(|expr| {
                let Some((mark, subquery, values)) = parts(&expr) else { return Ok(Transformed::no(expr)) };
                let fields = fields(values);
                if fields.iter().all(Option::is_none) {
                    return Ok(Transformed::no(expr));
                }
                let inner = with_outer_types(subquery.subquery.as_ref().clone(), around)?;
                let inner = typed(inner, &fields, mark.number)?.0;
                Ok(Transformed::yes(with_plan(expr, inner)))
            })
        })?;
        let Some(lateral) = lateral_of(&node.data) else { return node.map_data(LogicalPlan::recompute_schema) };
        let fields = fields(&lateral.values);
        match &lateral.right {
            Right::Shown(right) if fields.iter().any(Option::is_some) => {
                let right = typed(right.as_ref().clone(), &fields, lateral.number)?.0;
                Ok(Transformed::yes(lateral.with_right(Arc::new(right))?.plan()))
            }
            _ => node.map_data(LogicalPlan::recompute_schema),
        }
    })?;
    Ok(made.data)
}
