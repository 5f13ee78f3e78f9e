//! The order in which inner joins run, whatever the order in FROM: the cheapest tree by what is known of the relations.
//!
//! ```text
//!   FROM lineitem, nation, orders, supplier WHERE ... n_name = 'CHINA'
//!     ((nation (1 row by n_name) ⋈ supplier (400)) ⋈ lineitem (by s_suppkey)) ⋈ orders (by o_orderkey)
//! ```
//!
//! 1. What is joined is taken apart into relations and conditions ([`parts`]), of which a graph is made (`graph`); the
//!    cheapest tree of weft-joins is built with each condition where its last relation comes (`build`).
//! 2. Every condition that was there stays, once. What follows from two of them is added where nothing else would
//!    connect two sides.
//! 3. Relations are numbered by their names: the order of FROM decides nothing.
//! 4. Nothing is put into another order where a condition is volatile: it would be evaluated for other rows. Such trees
//!    are left to the engine's rule.
//! 5. Conditions above semi and anti joins are put below them before, where they read the left side alone.
//!
//! Outer, semi and anti joins are relations here.

mod build;
mod graph;
mod parts;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::logical_plan::{Filter, Join, Projection};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan};

use parts::{Parts, is_inner_join};

/// More relations than this are joined by the engine's rule.
const RELATIONS_MAX: usize = 64;

/// What came of a plan.
pub(super) struct Ordered {
    pub(super) plan: LogicalPlan,
    /// A tree was left to the engine's rule (order 4).
    pub(super) has_rest: bool,
}

/// The plan with all its inner joins in order, those of subqueries as well.
pub(super) fn ordered(plan: LogicalPlan) -> Result<Ordered> {
    let mut has_rest = false;
    let plan = in_order(plan, &mut has_rest)?.data;
    Ok(Ordered { plan, has_rest })
}

fn in_order(plan: LogicalPlan, has_rest: &mut bool) -> Result<Transformed<LogicalPlan>> {
    let plan = sunk(plan)?;
    let below = match &plan {
        LogicalPlan::Filter(filter) => &*filter.input,
        plan => plan,
    };
    if is_inner_join(below) {
        return join_tree(plan, has_rest);
    }
    plan.map_subqueries(|plan| in_order(plan, has_rest))?
        .transform_sibling(|plan| plan.map_children(|plan| in_order(plan, has_rest)))
}

/// Conditions above a semi or anti join that read its left side alone, below it: what is joined there is not in order
/// without them, and the engine would put them there only after it has joined.
fn sunk(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Filter(Filter { predicate, input, .. }) = plan else { return Ok(plan) };
    let join = match Arc::unwrap_or_clone(input) {
        LogicalPlan::Join(join)
            if matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark) =>
        {
            join
        }
        other => return Ok(LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(other))?)),
    };
    let is_of_left = |condition: &Expr| {
        let columns = condition.column_refs();
        !condition.is_volatile()
            && !columns.is_empty()
            && columns.iter().all(|column| join.left.schema().has_column(column))
    };
    let (moved, kept): (Vec<Expr>, Vec<Expr>) = split_conjunction_owned(predicate).into_iter().partition(is_of_left);
    let left = match conjunction(moved) {
        Some(condition) => Arc::new(LogicalPlan::Filter(Filter::try_new(condition, Arc::clone(&join.left))?)),
        None => Arc::clone(&join.left),
    };
    let joined = LogicalPlan::Join(Join { left, ..join });
    match conjunction(kept) {
        Some(condition) => Ok(LogicalPlan::Filter(Filter::try_new(condition, Arc::new(joined))?)),
        None => Ok(joined),
    }
}

/// Puts the joins of one tree into order; below its relations go on.
fn join_tree(plan: LogicalPlan, has_rest: &mut bool) -> Result<Transformed<LogicalPlan>> {
    let schema = Arc::clone(plan.schema());
    let (count, is_fixed) = {
        let parts = Parts::of(plan.clone());
        (parts.relations.len(), parts.conditions.iter().any(Expr::is_volatile))
    };
    if is_fixed || count > RELATIONS_MAX {
        *has_rest = true;
        return relations_of(plan, has_rest);
    }
    let mut parts = Parts::of(plan);
    for relation in &mut parts.relations {
        let taken = std::mem::take(relation);
        *relation = in_order(taken, has_rest)?.data;
    }
    let joined = build::tree(parts)?;
    if joined.schema() == &schema {
        return Ok(Transformed::yes(joined));
    }
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::new_from_schema(Arc::new(joined), schema))))
}

/// The same joins, with what is below their relations in order.
fn relations_of(plan: LogicalPlan, has_rest: &mut bool) -> Result<Transformed<LogicalPlan>> {
    plan.map_subqueries(|plan| in_order(plan, has_rest))?.transform_sibling(|plan| {
        plan.map_children(
            |child| {
                if is_inner_join(&child) { relations_of(child, has_rest) } else { in_order(child, has_rest) }
            },
        )
    })
}
