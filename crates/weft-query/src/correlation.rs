//! Which correlated subqueries the engine turns into joins rightly. The others are applied (`apply`).
//!
//! ```text
//!   SELECT ... FROM i WHERE i.k = o.k                                  the condition is lifted into the join
//!   SELECT row_number() OVER (ORDER BY v) FROM i WHERE i.k = o.k       no: rows of all o.k would be one partition
//!   SELECT ... FROM n LEFT JOIN (... WHERE i.k = o.k) c ON ...         no: c would be missing less often
//! ```
//!
//! The engine lifts the conditions of a subquery's WHERE that name columns of the outer query over all that stands
//! above them, and asks little of what that is (apache/datafusion 24960, 25283, 25519). So:
//!
//! 1. Between such a condition and the subquery's top there are only projections, conditions, DISTINCT, inner
//!    joins, the sides of outer joins whose rows all stay, and aggregates by GROUP BY without grouping sets.
//! 2. An aggregate without GROUP BY has a row for no rows: only a subquery that is a value has it, at its top,
//!    where the engine puts that row in; of LATERAL not even a condition (HAVING) is above it.
//! 3. Nothing in a correlated subquery is volatile: it would be evaluated once for all outer rows with equal columns.
//! 4. A subquery names columns of the query right around it only.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::utils::{merge_schema, split_conjunction};
use datafusion::logical_expr::{BinaryExpr, Distinct, Expr, ExprSchemable, JoinType, LogicalPlan, Operator};
use weft_format::{Code, Error};

use super::apply::lateral::lateral_of;
use super::apply::mark::parts;
use super::error::wrap;

/// What is asked of a subquery.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Whether it has rows.
    Rows,
    /// Whether a value is among its rows.
    Member,
    /// Its value.
    Value,
    /// Its rows, beside those of the outer query (LATERAL).
    Table,
}

/// Whether a subquery's own level names columns of the outer query.
pub(super) fn is_correlated(plan: &LogicalPlan) -> bool {
    let own = plan.contains_outer_reference();
    own || match lateral_of(plan) {
        // What its right side names is told to it by the node.
        Some(lateral) => is_correlated(&lateral.left),
        None => plan.inputs().into_iter().any(is_correlated),
    }
}

/// Whether something in a plan or in its subqueries has another value each time.
pub(super) fn is_volatile(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let walked = plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            found |= expr.exists(|expr| Ok(expr.is_volatile_node() && parts(expr).is_none()))?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    });
    walked.expect("the search does not fail");
    found
}

/// Whether rows are grouped whose conditions on the outer query are not all equalities: the engine lifts the
/// conditions, and groups by their columns too, of which rows of one group may have several values.
pub(super) fn has_split_groups(plan: &LogicalPlan) -> bool {
    let is_equality = |part: &Expr| match part {
        part if !part.contains_outer() => true,
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
            left.contains_outer() != right.contains_outer()
        }
        _ => false,
    };
    let is_split = |node: &LogicalPlan| match node {
        LogicalPlan::Filter(filter) => !split_conjunction(&filter.predicate).into_iter().all(is_equality),
        _ => false,
    };
    let groups = matches!(plan, LogicalPlan::Aggregate(_));
    groups && plan.exists(|node| Ok(is_split(node))).expect("the search does not fail")
        || plan.inputs().into_iter().any(has_split_groups)
}

/// The subquery of an expression that is one.
pub(super) fn subquery_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::ScalarSubquery(subquery)
        | Expr::Exists(Exists { subquery, .. })
        | Expr::InSubquery(InSubquery { subquery, .. })
        | Expr::SetComparison(SetComparison { subquery, .. }) => Some(subquery),
        _ => None,
    }
}

/// Whether an expression has a subquery.
pub(super) fn has_subquery(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(subquery_of(expr).is_some())).expect("the search does not fail")
}

/// What an error for what no join stands for says to who may apply the subquery.
const NO_JOIN: &str = "no join";

/// An error for what no join stands for.
pub(super) fn refused<T>(what: &str) -> Result<T> {
    let message = format!("a subquery that refers to the outer query is not supported {what}");
    let error = wrap(Error::new(Code::FeatureNotSupported, message).hint("write it as a join"));
    Err(error.context(NO_JOIN))
}

/// Whether an error says that no join stands for a subquery.
pub(super) fn is_refusal(error: &DataFusionError) -> bool {
    matches!(error, DataFusionError::Context(context, _) if context == NO_JOIN)
}

/// Refuses a subquery that the engine would plan wrongly. One that is not correlated passes, but for invariant 4.
pub(super) fn check(plan: &LogicalPlan, asked: Asked) -> Result<()> {
    let mut walk = Walk { asked, seen: false };
    let found = walk.visit(plan, matches!(asked, Asked::Value | Asked::Table), asked == Asked::Value)?;
    if found && is_volatile(plan) {
        return refused("with a function whose value changes from call to call");
    }
    Ok(())
}

struct Walk {
    asked: Asked,
    /// A condition on the outer query was met, in the engine's order.
    seen: bool,
}

impl Walk {
    /// Whether the plan is correlated. `at_top`: only projections and conditions are above; `aggregated`: an aggregate
    /// is.
    fn visit(&mut self, plan: &LogicalPlan, at_top: bool, aggregated: bool) -> Result<bool> {
        if let LogicalPlan::Subquery(_) = plan {
            return Ok(false);
        }
        let own = plan.contains_outer_reference();
        if own && !matches!(plan, LogicalPlan::Filter(_)) {
            return refused("anywhere but in WHERE");
        }
        check_level(plan)?;
        if let Some(lateral) = lateral_of(plan) {
            return if self.visit(&lateral.left, false, aggregated)? { refused("beside LATERAL") } else { Ok(false) };
        }
        let stays = match plan {
            LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) => true,
            LogicalPlan::Filter(_) => self.asked != Asked::Table,
            _ => false,
        };
        let aggregates = matches!(plan, LogicalPlan::Aggregate(aggregate) if !aggregate.aggr_expr.is_empty());
        let mut below = Vec::new();
        for input in plan.inputs() {
            below.push(self.visit(input, at_top && stays, aggregated || aggregates)?);
        }
        let any = below.contains(&true);
        match plan {
            LogicalPlan::Filter(filter) => {
                self.seen |= own;
                if own && aggregated {
                    split_conjunction(&filter.predicate).into_iter().try_for_each(|part| check_key(part, plan))?;
                }
                return Ok(own || any);
            }
            LogicalPlan::Limit(_) if self.seen && self.asked == Asked::Rows => {
                return refused("with LIMIT or OFFSET behind it");
            }
            _ if !any => return Ok(false),
            LogicalPlan::Projection(projection) => {
                let is_constant = |expr: &Expr| expr.column_refs().is_empty();
                if self.asked == Asked::Table
                    && is_one_row(&projection.input)
                    && projection.expr.iter().any(is_constant)
                {
                    return refused("beside a constant in LATERAL that is an aggregate without GROUP BY");
                }
            }
            LogicalPlan::SubqueryAlias(_) | LogicalPlan::Distinct(Distinct::All(_)) => {}
            LogicalPlan::Aggregate(aggregate) => {
                if aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))) {
                    return refused("below grouping sets");
                }
                if aggregate.group_expr.is_empty() && !at_top {
                    return refused("below an aggregate without GROUP BY that is not the subquery's value");
                }
            }
            LogicalPlan::Join(join) => check_sides(join.join_type, &below)?,
            LogicalPlan::Sort(_) | LogicalPlan::Limit(_) => return refused("below ORDER BY, LIMIT or OFFSET"),
            LogicalPlan::Window(_) => return refused("below a window function"),
            LogicalPlan::Union(_) => return refused("below UNION"),
            _ => return refused("in this place"),
        }
        Ok(true)
    }
}

/// Whether a plan is an aggregate without GROUP BY. Of its row for no rows the engine computes what names columns only:
/// a constant beside it would be NULL.
fn is_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => is_one_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_one_row(&alias.input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        _ => false,
    }
}

/// Invariant 1, of joins.
fn check_sides(join_type: JoinType, below: &[bool]) -> Result<()> {
    use JoinType::{Full, Inner, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark, RightSemi};
    let wrong = match join_type {
        Inner => false,
        Left => below.get(1) == Some(&true),
        Right => below.first() == Some(&true),
        Full | LeftSemi | LeftAnti | LeftMark | RightSemi | RightAnti | RightMark => true,
    };
    if wrong { refused("in the side of a join whose rows may be missing, or in EXCEPT and INTERSECT") } else { Ok(()) }
}

/// A condition below an aggregate becomes one of its keys: a cast that makes values equal would leave several groups.
fn check_key(part: &Expr, plan: &LogicalPlan) -> Result<()> {
    let Expr::BinaryExpr(BinaryExpr { left, right, .. }) = part else { return Ok(()) };
    for side in [left, right] {
        if let Expr::Cast(cast) = &**side
            && let Expr::Column(_) = &*cast.expr
        {
            let (from, to) = (cast.expr.get_type(plan.schema())?, cast.field.data_type());
            let is_wider = from.is_integer() && (to.is_integer() || to.is_decimal());
            if !is_wider || from.primitive_width() > to.primitive_width() {
                return refused("with a cast of a column that is compared with it");
            }
        }
    }
    Ok(())
}

/// Invariant 4: subqueries in a node's expressions name columns of the node's inputs.
fn check_level(plan: &LogicalPlan) -> Result<()> {
    let mut schema: Option<DFSchema> = None;
    let mut beyond = false;
    plan.apply_expressions(|expr| {
        expr.apply(|expr| {
            if parts(expr).is_some() {
                return Ok(TreeNodeRecursion::Jump);
            }
            if let Some(subquery) = subquery_of(expr) {
                let schema = schema.get_or_insert_with(|| merge_schema(&plan.inputs()));
                beyond |= reaches_beyond(&subquery.subquery, schema);
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    if beyond { refused("over more than one level") } else { Ok(()) }
}

/// Whether a subquery names columns of a query further out than the one right around it, which has this schema.
pub(super) fn reaches_beyond(plan: &LogicalPlan, schema: &DFSchema) -> bool {
    let refers = |expr: &Expr| matches!(expr, Expr::OuterReferenceColumn(_, column) if !schema.has_column(column));
    let mut found = false;
    let walked = plan.apply_expressions(|expr| {
        found |= expr.exists(|expr| Ok(refers(expr)))?;
        Ok(TreeNodeRecursion::Continue)
    });
    walked.expect("the search does not fail");
    if found {
        return true;
    }
    match plan {
        // What is LATERAL names columns of the left side, too.
        LogicalPlan::Join(join) => {
            let both = schema.join(join.left.schema()).unwrap_or_else(|_| schema.clone());
            reaches_beyond(&join.left, schema) || reaches_beyond(&join.right, &both)
        }
        plan => match lateral_of(plan) {
            Some(lateral) => reaches_beyond(&lateral.left, schema),
            None => plan.inputs().into_iter().any(|input| reaches_beyond(input, schema)),
        },
    }
}
