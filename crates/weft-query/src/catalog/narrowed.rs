//! What joins ask of relations of the catalog, by the rows of others that are known when a plan is made.
//!
//! ```text
//!   pg_class c JOIN pg_attribute a ON a.attrelid = c.oid    c is asked for relname t: one row, oid 16390
//!                                                           a is asked for attrelid 16390
//! ```
//!
//! 1. A scan is asked for more, never for less than the join needs: its rows are joined as before.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, JoinType, Result};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Expr, LogicalPlan, TableScan};
use weft_format::Value;
use weft_pgcatalog::Snapshot;

use super::table::CatalogTable;
use crate::types::{output_type, scalar_of};

/// The most values that a scan is asked for.
const VALUES_MAX: usize = 256;

/// A plan whose scans are asked for what joins with known rows need.
pub(crate) fn narrowed(plan: LogicalPlan, snapshot: &Snapshot) -> Result<LogicalPlan> {
    let narrowed = plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::Join(mut join) = node else { return Ok(Transformed::no(node)) };
        let mut changed = false;
        for (left, right) in join.on.clone() {
            let (Some(left), Some(right)) = (column_of(&left), column_of(&right)) else { continue };
            if matches!(join.join_type, JoinType::Inner | JoinType::Left | JoinType::LeftSemi | JoinType::RightSemi)
                && let Some(values) = values_of(&join.left, &left, snapshot)
                && let Some(made) = asked(&join.right, &right, &values)?
            {
                join.right = made.into();
                changed = true;
            }
            if matches!(join.join_type, JoinType::Inner | JoinType::Right | JoinType::LeftSemi | JoinType::RightSemi)
                && let Some(values) = values_of(&join.right, &right, snapshot)
                && let Some(made) = asked(&join.left, &left, &values)?
            {
                join.left = made.into();
                changed = true;
            }
        }
        let node = LogicalPlan::Join(join);
        Ok(if changed { Transformed::yes(node) } else { Transformed::no(node) })
    })?;
    Ok(narrowed.data)
}

fn column_of(expr: &Expr) -> Option<Column> {
    match expr {
        Expr::Column(column) => Some(column.clone()),
        _ => None,
    }
}

/// The column of a plan's input that a column of it is, and the place of that input.
fn below(plan: &LogicalPlan, column: &Column) -> Option<(usize, Column)> {
    match plan {
        LogicalPlan::Filter(_) | LogicalPlan::Sort(_) => Some((0, column.clone())),
        LogicalPlan::SubqueryAlias(alias) => {
            let place = alias.schema.maybe_index_of_column(column)?;
            Some((0, Column::from(alias.input.schema().qualified_field(place))))
        }
        LogicalPlan::Projection(projection) => {
            let place = projection.schema.maybe_index_of_column(column)?;
            Some((0, column_of(&projection.expr[place].clone().unalias())?))
        }
        LogicalPlan::Join(join) => {
            let is_left = join.left.schema().maybe_index_of_column(column).is_some();
            let is_kept = match join.join_type {
                JoinType::Inner => true,
                JoinType::Left | JoinType::LeftSemi => is_left,
                JoinType::Right | JoinType::RightSemi => !is_left,
                _ => false,
            };
            is_kept.then(|| (usize::from(!is_left), column.clone()))
        }
        _ => None,
    }
}

/// The values of a column, if it is one of a relation of the catalog whose rows are asked for; there may be more than
/// the plan has.
fn values_of(plan: &LogicalPlan, column: &Column, snapshot: &Snapshot) -> Option<Vec<Value>> {
    if let LogicalPlan::TableScan(scan) = plan {
        let provider = source_as_provider(&scan.source).ok()?;
        let table = provider.downcast_ref::<CatalogTable>()?;
        return table.values(&scan.filters, &column.name, snapshot).filter(|values| values.len() <= VALUES_MAX);
    }
    let (place, column) = below(plan, column)?;
    values_of(plan.inputs().get(place)?, &column, snapshot)
}

/// The plan with the scan of a column's relation asked for these values; none when it is no scan of the catalog's.
fn asked(plan: &LogicalPlan, column: &Column, values: &[Value]) -> Result<Option<LogicalPlan>> {
    if let LogicalPlan::TableScan(scan) = plan {
        return asked_scan(scan, column, values).map(|made| made.map(LogicalPlan::TableScan));
    }
    let Some((place, column)) = below(plan, column) else { return Ok(None) };
    let mut inputs: Vec<LogicalPlan> = plan.inputs().into_iter().cloned().collect();
    let Some(input) = inputs.get(place) else { return Ok(None) };
    let Some(made) = asked(input, &column, values)? else { return Ok(None) };
    inputs[place] = made;
    plan.with_new_exprs(plan.expressions(), inputs).map(Some)
}

fn asked_scan(scan: &TableScan, column: &Column, values: &[Value]) -> Result<Option<TableScan>> {
    let provider = source_as_provider(&scan.source)?;
    if provider.downcast_ref::<CatalogTable>().is_none() {
        return Ok(None);
    }
    let schema = scan.source.schema();
    let Ok(field) = schema.field_with_name(&column.name) else { return Ok(None) };
    let data_type = output_type(field.data_type());
    let mut list = Vec::with_capacity(values.len());
    for value in values.iter().filter(|value| !value.is_null()) {
        match scalar_of(value, data_type) {
            Ok(scalar) => list.push(Expr::Literal(scalar, None)),
            Err(_) => return Ok(None),
        }
    }
    let of = Expr::Column(Column::new(Some(scan.table_name.clone()), &column.name));
    let mut scan = scan.clone();
    scan.filters.push(Expr::InList(InList::new(Box::new(of), list, false)));
    Ok(Some(scan))
}
