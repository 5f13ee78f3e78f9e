//! To which query an aggregate belongs.
//!
//! ```text
//!   SELECT (SELECT count(o.k) FROM i) FROM o       o.k is of the outer query only: so is the aggregate, which has one
//!                                                  row
//!   SELECT (SELECT count(o.k + i.k) FROM i) ...    the inner query's, once for each row of o
//! ```
//!
//! The planner takes each aggregate for one of the query that it is written in. One that belongs further out is
//! refused: with PostgreSQL's error where it has one, else as not supported.

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};
use weft_format::{Code, Error};

use super::correlation::subquery_of;
use super::error::wrap;

/// Refuses subqueries of a node's expressions whose aggregates belong to the node's own query.
pub(super) fn check_belonging(plan: &LogicalPlan) -> Result<()> {
    let mut found = false;
    plan.apply_expressions(|expr| {
        expr.apply(|expr| {
            found |= subquery_of(expr).is_some_and(|subquery| has_foreign(&subquery.subquery));
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    if !found {
        return Ok(());
    }
    let (code, message) = match plan {
        LogicalPlan::Aggregate(_) => (Code::GroupingError, "aggregate function calls cannot be nested"),
        LogicalPlan::Filter(filter) if !matches!(&*filter.input, LogicalPlan::Aggregate(_)) => {
            (Code::GroupingError, "aggregate functions are not allowed in WHERE")
        }
        LogicalPlan::Join(_) => (Code::GroupingError, "aggregate functions are not allowed in JOIN conditions"),
        LogicalPlan::Projection(projection)
            if !matches!(&*projection.input, LogicalPlan::Aggregate(_))
                && projection.expr.iter().any(Expr::any_column_refs) =>
        {
            let message = "a column must appear in the GROUP BY clause or be used in an aggregate function, for \
                           a subquery has an aggregate of this query";
            (Code::GroupingError, message)
        }
        _ => (Code::FeatureNotSupported, "an aggregate in a subquery that belongs to the outer query is not supported"),
    };
    Err(wrap(Error::new(code, message).hint("an aggregate of outer columns only belongs to the outer query")))
}

/// Refuses aggregates in ON.
pub(super) fn check_join_condition(condition: &Expr) -> Result<()> {
    if condition.exists(|expr| Ok(matches!(expr, Expr::AggregateFunction(_))))? {
        let message = "aggregate functions are not allowed in JOIN conditions";
        return Err(wrap(Error::new(Code::GroupingError, message)));
    }
    Ok(())
}

/// Whether an aggregate of a subquery reads columns of the outer query, and no others.
fn has_foreign(plan: &LogicalPlan) -> bool {
    let is_foreign = |expr: &Expr| match expr {
        Expr::AggregateFunction(function) => {
            let args = &function.params.args;
            args.iter().any(Expr::contains_outer) && !args.iter().any(Expr::any_column_refs)
        }
        _ => false,
    };
    let found = plan.exists(|node| match node {
        LogicalPlan::Aggregate(aggregate) => {
            let mut found = false;
            for expr in &aggregate.aggr_expr {
                found |= expr.exists(|expr| Ok(is_foreign(expr)))?;
            }
            Ok(found)
        }
        _ => Ok(false),
    });
    found.expect("the search does not fail")
}
