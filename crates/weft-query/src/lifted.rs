//! Columns that conditions lifted out of a subquery name have names of their own.
//!
//! ```text
//!   EXISTS (SELECT 1 FROM t1 AS a JOIN t2 AS b ON true WHERE b.x = o.x)        a has a column x, too
//!     the engine gives the subquery one name, so that b.x becomes sq.x, which is a.x
//!   is asked as
//!   EXISTS (SELECT 1 FROM (SELECT a.x, b.x, b.x AS lifted0 FROM t1 AS a JOIN t2 AS b ON true) WHERE lifted0 = o.x)
//! ```
//!
//! 1. Only columns whose names others have, too, somewhere between the condition and the subquery's result are named
//!    anew; the columns of the condition's rows stay what they are for all that is above it.
//! 2. Parts of a condition that do not refer to the outer query keep their columns: subqueries in them name these.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::logical_plan::{Filter, Subquery};
use datafusion::logical_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

use weft_sql::queries::names::MARKER;

/// The subquery with its lifted columns told apart from all others; `made` numbers them.
pub(super) fn told_apart(subquery: Subquery, made: &Cell<u32>) -> Result<Subquery> {
    let mut mixed = HashSet::new();
    mixed_up(&subquery.subquery, &mut Vec::new(), &mut mixed);
    if mixed.is_empty() {
        return Ok(subquery);
    }
    let plan = subquery.subquery.as_ref().clone().transform_up(|plan| match plan {
        LogicalPlan::Filter(filter) if filter.predicate.contains_outer() => named(filter, &mixed, made),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(Subquery { subquery: Arc::new(plan.data.recompute_schema()?), ..subquery })
}

/// Finds the columns that would be taken for others on their way up from their conditions.
fn mixed_up<'a>(plan: &'a LogicalPlan, above: &mut Vec<&'a LogicalPlan>, into: &mut HashSet<Column>) {
    if let LogicalPlan::Filter(filter) = plan {
        let lifted = split_conjunction(&filter.predicate).into_iter().filter(|part| part.contains_outer());
        let columns = lifted.flat_map(Expr::column_refs).cloned();
        into.extend(columns.filter(|column| is_mixed_up(column, &filter.input, above)));
    }
    above.push(plan);
    plan.inputs().into_iter().for_each(|input| mixed_up(input, above, into));
    above.pop();
}

/// Whether a column of `from` is not the only one of its name in some plan above.
fn is_mixed_up(column: &Column, from: &LogicalPlan, above: &[&LogicalPlan]) -> bool {
    let named = |plan: &LogicalPlan| plan.schema().fields().iter().filter(|field| *field.name() == column.name).count();
    let mut column = column.clone();
    if named(from) > 1 {
        return true;
    }
    above.iter().rev().any(|plan| {
        let exprs = match plan {
            LogicalPlan::Projection(projection) => &projection.expr,
            LogicalPlan::Aggregate(aggregate) => &aggregate.group_expr,
            LogicalPlan::SubqueryAlias(alias) => {
                column.relation = Some(alias.alias.clone());
                return named(plan) > 1;
            }
            _ => return named(plan) > 1,
        };
        let passes = exprs.iter().any(|expr| matches!(expr, Expr::Column(passed) if *passed == column));
        named(plan) > usize::from(passes)
    })
}

/// A condition whose part that refers to the outer query names columns of its own.
fn named(filter: Filter, mixed: &HashSet<Column>, made: &Cell<u32>) -> Result<Transformed<LogicalPlan>> {
    let (lifted, others): (Vec<_>, Vec<_>) =
        split_conjunction_owned(filter.predicate.clone()).into_iter().partition(Expr::contains_outer);
    let columns: BTreeSet<Column> = lifted.iter().flat_map(Expr::column_refs).cloned().collect();
    let names: BTreeMap<Column, String> = columns
        .into_iter()
        .filter(|column| mixed.contains(column))
        .map(|column| (column, format!("{MARKER}lifted{}", made.replace(made.get() + 1))))
        .collect();
    if names.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    }
    let renamed = |expr: Expr| {
        let renamed = expr.transform_up(|expr| {
            Ok(match &expr {
                Expr::Column(column) => match names.get(column) {
                    Some(name) => Transformed::yes(Expr::Column(Column::new_unqualified(name))),
                    None => Transformed::no(expr),
                },
                _ => Transformed::no(expr),
            })
        });
        renamed.map(|renamed| renamed.data)
    };
    let lifted = lifted.into_iter().map(renamed).collect::<Result<Vec<_>>>()?;
    let Some(condition) = conjunction(lifted.into_iter().chain(others)) else {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    };
    let before: Vec<Expr> = filter.input.schema().columns().into_iter().map(Expr::Column).collect();
    let added = names.iter().map(|(column, name)| Expr::Column(column.clone()).alias(name));
    let plan = LogicalPlanBuilder::from(filter.input.as_ref().clone())
        .project(before.iter().cloned().chain(added))?
        .filter(condition)?
        .project(before)?
        .build()?;
    Ok(Transformed::yes(plan))
}
