//! What is applied: the plan of a subquery, with parameters for its outer values.

use arrow::datatypes::FieldRef;
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;

use super::mark::Kind;

/// The plan of a subquery. It is analysed, not optimised.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) plan: LogicalPlan,
    /// The outer values.
    pub(crate) fields: Vec<FieldRef>,
    /// Whether something in it changes from call to call.
    pub(crate) is_volatile: bool,
    /// What plans call it.
    pub(crate) name: String,
}

impl Body {
    /// Whether its answers are good for all rows with equal outer values: PostgreSQL runs one without outer values
    /// once, whatever is in it.
    pub(crate) fn is_kept(&self) -> bool {
        !self.is_volatile || self.fields.is_empty()
    }
}

/// What is asked of a body that is an expression.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) kind: Kind,
    pub(crate) body: Body,
    /// The answer.
    pub(crate) field: FieldRef,
}

/// Whether something in a plan changes from call to call; `is_pure` says which functions that say so do not.
pub(crate) fn changes(plan: &LogicalPlan, is_pure: &dyn Fn(&datafusion::logical_expr::Expr) -> bool) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            found |= expr.exists(|expr| Ok(expr.is_volatile_node() && !is_pure(expr)))?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(found)
}
