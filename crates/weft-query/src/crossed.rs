//! Inner joins are put into order (`join_order`); what is not is left to the engine's rule, without what it loses.
//!
//! ```text
//!   FROM a JOIN (b JOIN c ON true) ON a.x = CASE WHEN b.f THEN b.x ELSE c.x END + random()
//!     the engine takes the joins apart, looks for relations with a.x = ... between two of them, and forgets the rest
//! ```
//!
//! 1. A key of a join, one side of which is not of one relation, is a condition of that join before the engine's rule
//!    runs: the rule keeps conditions. Afterwards they are keys again.
//! 2. So is a key that takes NULLs for equal: the rule gives all joins the way of the first.
//! 3. The engine's rule runs only where a tree was not put into order: it would make all trees left-deep.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{NullEquality, Result};
use datafusion::logical_expr::logical_plan::Join;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, Operator, binary_expr};
use datafusion::optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::join_order::{Ordered, ordered};
use super::semantics::has_node;

/// The rule, under the name of the engine's.
#[derive(Debug, Default)]
pub(super) struct KeptKeys(EliminateCrossJoin);

impl OptimizerRule for KeptKeys {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if !has_node(&plan, |node| matches!(node, LogicalPlan::Join(_)))? {
            return Ok(Transformed::no(plan));
        }
        let Ordered { plan, has_rest } = ordered(plan)?;
        if !has_rest {
            return Ok(Transformed::yes(plan));
        }
        let kept = plan.transform_up_with_subqueries(|plan| Ok(as_conditions(plan)))?;
        self.0.rewrite(kept.data, config)
    }
}

/// Keys of an inner join that the rule would lose, as conditions.
fn as_conditions(plan: LogicalPlan) -> Transformed<LogicalPlan> {
    let LogicalPlan::Join(mut join) = plan else { return Transformed::no(plan) };
    let is_nested = [&join.left, &join.right].into_iter().any(|side| is_inner(side));
    if join.join_type != JoinType::Inner || join.on.is_empty() {
        return Transformed::no(LogicalPlan::Join(join));
    }
    let takes_nulls = join.null_equality == NullEquality::NullEqualsNull;
    if !takes_nulls && !is_nested {
        return Transformed::no(LogicalPlan::Join(join));
    }
    let mut leaves = Vec::new();
    relations(&join.left, &mut leaves);
    relations(&join.right, &mut leaves);
    let is_of_one = |side: &Expr| {
        let columns = side.column_refs();
        let of = |leaf: &&LogicalPlan| columns.iter().any(|column| leaf.schema().has_column(column));
        leaves.iter().filter(|leaf| of(leaf)).count() == 1
    };
    let (kept, others) = std::mem::take(&mut join.on)
        .into_iter()
        .partition::<Vec<_>, _>(|(left, right)| !takes_nulls && is_of_one(left) && is_of_one(right));
    join.on = kept;
    if others.is_empty() {
        return Transformed::no(LogicalPlan::Join(join));
    }
    let op = if takes_nulls { Operator::IsNotDistinctFrom } else { Operator::Eq };
    let conditions = others.into_iter().map(|(left, right)| binary_expr(left, op, right));
    let filter = conjunction(join.filter.take().into_iter().chain(conditions));
    let null_equality = NullEquality::NullEqualsNothing;
    Transformed::yes(LogicalPlan::Join(Join { filter, null_equality, ..join }))
}

fn is_inner(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(join) if join.join_type == JoinType::Inner)
}

/// What the rule joins: the inputs of inner joins that are none.
fn relations<'a>(plan: &'a LogicalPlan, into: &mut Vec<&'a LogicalPlan>) {
    match plan {
        LogicalPlan::Join(join) if join.join_type == JoinType::Inner => {
            relations(&join.left, into);
            relations(&join.right, into);
        }
        other => into.push(other),
    }
}
