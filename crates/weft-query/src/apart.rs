//! Relations of a subquery get names of their own where the query around it has the same.
//!
//! ```text
//!   SELECT a IN (SELECT a FROM n WHERE b > 2) FROM n
//!     the subquery's n becomes in7: a condition lifted out of it compares n.a with in7.a, not n.a with itself
//! ```
//!
//! 1. One name becomes one other in the whole plan of the subquery, so what was told apart stays apart.
//! 2. Results keep the names that are made of those of columns.
//! 3. What refers to the outer query keeps its name; what a subquery inside refers to in this one changes with it.
//! 4. What refers to the outer query may be NULL where it may be there: behind grouping sets and outer joins that is
//!    more than what the planner noted, which knows the tables only.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, TableReference};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::logical_plan::{Subquery, SubqueryAlias};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};
use weft_sql::queries::names::MARKER;

use super::lifted::told_apart;

type Names = HashMap<TableReference, TableReference>;

/// The expression with its outermost subqueries kept apart from the relations of a schema, and with names of their own
/// for the columns that will be lifted out of them.
pub(super) fn kept_apart(expr: Expr, outer: &DFSchema, made: &Cell<u32>) -> Result<Expr> {
    let apart = |subquery: Subquery| as_nullable(told_apart(subquery_apart(subquery, outer, made)?, made)?, outer);
    Ok(match expr {
        Expr::Exists(Exists { subquery, negated }) => Expr::Exists(Exists { subquery: apart(subquery)?, negated }),
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            Expr::InSubquery(InSubquery { expr, subquery: apart(subquery)?, negated })
        }
        Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => {
            Expr::SetComparison(SetComparison { expr, subquery: apart(subquery)?, op, quantifier })
        }
        Expr::ScalarSubquery(subquery) => Expr::ScalarSubquery(apart(subquery)?),
        other => other,
    })
}

/// Invariant 4.
fn as_nullable(subquery: Subquery, outer: &DFSchema) -> Result<Subquery> {
    let one = |expr: Expr| {
        let Expr::OuterReferenceColumn(field, column) = expr else { return Ok(Transformed::no(expr)) };
        let is_told = field.is_nullable() || outer.field_from_column(&column).is_ok_and(|field| !field.is_nullable());
        if is_told || !outer.has_column(&column) {
            return Ok(Transformed::no(Expr::OuterReferenceColumn(field, column)));
        }
        let field = Arc::new(field.as_ref().clone().with_nullable(true));
        Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
    };
    let plan = subquery.subquery.as_ref().clone();
    let plan = plan.transform_up(|plan| plan.map_expressions(|expr| expr.transform_up(one)))?;
    if !plan.transformed {
        return Ok(subquery);
    }
    let columns = subquery.outer_ref_columns.into_iter();
    let columns = columns.map(|expr| expr.transform_up(one).map(|expr| expr.data)).collect::<Result<Vec<_>>>()?;
    let plan = plan.data.recompute_schema()?;
    Ok(Subquery { subquery: Arc::new(plan), outer_ref_columns: columns, ..subquery })
}

fn subquery_apart(subquery: Subquery, outer: &DFSchema, made: &Cell<u32>) -> Result<Subquery> {
    let mut names = Names::new();
    let taken: Vec<&str> = outer.iter().filter_map(|(relation, _)| relation.map(TableReference::table)).collect();
    subquery.subquery.apply_with_subqueries(|plan| {
        let name = match plan {
            LogicalPlan::TableScan(scan) => &scan.table_name,
            LogicalPlan::SubqueryAlias(alias) => &alias.alias,
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        if taken.contains(&name.table()) && !names.contains_key(name) {
            let number = made.replace(made.get() + 1);
            names.insert(name.clone(), TableReference::bare(format!("{MARKER}in{number}")));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    if names.is_empty() {
        return Ok(subquery);
    }
    let plan = renamed(subquery.subquery.as_ref().clone(), &names)?;
    Ok(Subquery { subquery: Arc::new(plan), ..subquery })
}

/// Invariants 1 and 2.
fn renamed(plan: LogicalPlan, names: &Names) -> Result<LogicalPlan> {
    let made = plan.transform_up(|plan| {
        let plan = match plan {
            LogicalPlan::TableScan(scan) => {
                let Some(name) = names.get(&scan.table_name) else {
                    return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
                };
                let named = SubqueryAlias::try_new(Arc::new(LogicalPlan::TableScan(scan)), name.clone())?;
                return Ok(Transformed::yes(LogicalPlan::SubqueryAlias(named)));
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let name = names.get(&alias.alias).unwrap_or(&alias.alias).clone();
                return Ok(Transformed::yes(LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(alias.input, name)?)));
            }
            other => other,
        };
        let inner = merge_schema(&plan.inputs());
        // The name of a result is made of those of columns, and named above.
        let has_names = matches!(plan, LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_) | LogicalPlan::Window(_));
        let plan = plan.map_expressions(|expr| {
            let name = expr.schema_name().to_string();
            let is_column = matches!(expr, Expr::Column(_) | Expr::GroupingSet(_));
            let made = expr_renamed(expr, &inner, names)?;
            let keeps = !has_names || is_column || made.schema_name().to_string() == name;
            Ok(Transformed::yes(if keeps { made } else { made.alias(name) }))
        })?;
        let plan = plan.data;
        plan.recompute_schema().map(Transformed::yes)
    })?;
    Ok(made.data)
}

fn expr_renamed(expr: Expr, schema: &DFSchema, names: &Names) -> Result<Expr> {
    let made = expr.transform_up(|expr| {
        Ok(Transformed::yes(match expr {
            Expr::Column(column) => Expr::Column(column_renamed(column, names)),
            Expr::Alias(mut alias) => {
                let other = alias.relation.as_ref().and_then(|relation| names.get(relation)).cloned();
                alias.relation = other.or(alias.relation);
                Expr::Alias(alias)
            }
            Expr::Exists(Exists { subquery, negated }) => {
                Expr::Exists(Exists { subquery: inner_renamed(subquery, schema, names)?, negated })
            }
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                let subquery = inner_renamed(subquery, schema, names)?;
                Expr::InSubquery(InSubquery { expr, subquery, negated })
            }
            Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => {
                let subquery = inner_renamed(subquery, schema, names)?;
                Expr::SetComparison(SetComparison { expr, subquery, op, quantifier })
            }
            Expr::ScalarSubquery(subquery) => Expr::ScalarSubquery(inner_renamed(subquery, schema, names)?),
            other => other,
        }))
    })?;
    Ok(made.data)
}

fn column_renamed(mut column: Column, names: &Names) -> Column {
    if let Some(other) = column.relation.as_ref().and_then(|relation| names.get(relation)) {
        column.relation = Some(other.clone());
    }
    column
}

/// Invariant 3: a subquery of the subquery is renamed as a whole, and refers to renamed columns of this one.
fn inner_renamed(subquery: Subquery, schema: &DFSchema, names: &Names) -> Result<Subquery> {
    let outer = |expr: Expr| {
        Ok(match expr {
            Expr::OuterReferenceColumn(field, column) if schema.has_column(&column_renamed(column.clone(), names)) => {
                Transformed::yes(Expr::OuterReferenceColumn(field, column_renamed(column, names)))
            }
            other => Transformed::no(other),
        })
    };
    let plan = renamed(subquery.subquery.as_ref().clone(), names)?;
    let plan = plan.transform_up(|plan| {
        let plan = plan.map_expressions(|expr| expr.transform_up(outer))?;
        plan.map_data(LogicalPlan::recompute_schema)
    })?;
    let columns = subquery.outer_ref_columns.into_iter();
    let columns = columns.map(|expr| expr.transform_up(outer).map(|expr| expr.data)).collect::<Result<Vec<_>>>()?;
    Ok(Subquery { subquery: Arc::new(plan.data), outer_ref_columns: columns, ..subquery })
}
