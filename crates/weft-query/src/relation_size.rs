//! About how many rows a relation of a plan has, which columns are unique in it, and what conditions leave of it.
//!
//! ```text
//!   TableScan orders (1,500,000 rows, key o_orderkey)      Filter o_orderstatus = 'F'     about 730,000 rows
//!   Aggregate by o_custkey                                 as many groups as o_custkey has values
//! ```
//!
//! What single conditions leave is the business of `shares.rs`.

use std::sync::Arc;

use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan};

use super::provider::WeftTable;
use super::shares::{Size, share_of};

/// Rows of what nothing is known of.
const UNKNOWN_ROWS: f64 = 1_000.0;

/// The size of a relation.
pub(super) fn size_of(plan: &LogicalPlan) -> Size {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let provider = source_as_provider(&scan.source).ok();
            let table = provider.as_ref().and_then(|provider| provider.downcast_ref::<WeftTable>());
            let Some(table) = table else { return Size::of_rows(UNKNOWN_ROWS) };
            let size = table.size();
            let share = share_of(&scan.filters.iter().collect::<Vec<_>>(), &size);
            Size { rows: (size.rows * share).max(1.0), ..size }
        }
        LogicalPlan::SubqueryAlias(alias) => size_of(&alias.input),
        LogicalPlan::Filter(filter) => size_of(&filter.input).filtered(&filter.predicate),
        LogicalPlan::Projection(projection) => {
            // A key is one as long as its columns keep their names.
            let mut size = size_of(&projection.input);
            let is_kept = |name: &String| {
                projection.expr.iter().any(|expr| matches!(expr, Expr::Column(column) if column.name == *name))
            };
            size.unique.retain(|key| key.iter().all(is_kept));
            if !size.spans.keys().all(is_kept) {
                let kept = size.spans.iter().filter(|(name, _)| is_kept(name));
                size.spans = Arc::new(kept.map(|(name, known)| (name.clone(), known.clone())).collect());
            }
            size
        }
        LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => Size::of_rows(1.0),
        LogicalPlan::Aggregate(aggregate) => {
            let columns = aggregate.group_expr.iter().map(|expr| match expr {
                Expr::Column(column) => Some(column.name.clone()),
                _ => None,
            });
            let unique = columns.collect::<Option<Vec<String>>>().into_iter().collect();
            let input = size_of(&aggregate.input);
            let groups = input.groups(&aggregate.group_expr).unwrap_or_else(|| input.rows.powf(0.75));
            Size { unique, ..Size::of_rows(groups) }
        }
        LogicalPlan::Join(join) => {
            let (left, right) = (size_of(&join.left).rows, size_of(&join.right).rows);
            Size::of_rows(match join.join_type {
                JoinType::LeftSemi | JoinType::LeftAnti => left / 2.0,
                JoinType::RightSemi | JoinType::RightAnti => right / 2.0,
                JoinType::LeftMark => left,
                JoinType::RightMark => right,
                _ if join.on.is_empty() && join.filter.is_none() => left * right,
                _ => left.max(right),
            })
        }
        LogicalPlan::Union(union) => Size::of_rows(union.inputs.iter().map(|input| size_of(input).rows).sum()),
        LogicalPlan::Values(values) => Size::of_rows(values.values.len() as f64),
        LogicalPlan::EmptyRelation(_) => Size::of_rows(1.0),
        LogicalPlan::Limit(limit) => {
            let rows = size_of(&limit.input).rows;
            Size::of_rows(match limit.get_fetch_type() {
                Ok(datafusion::logical_expr::FetchType::Literal(Some(fetch))) => rows.min(fetch as f64),
                _ => rows,
            })
        }
        LogicalPlan::Sort(_) | LogicalPlan::Distinct(_) | LogicalPlan::Window(_) | LogicalPlan::Subquery(_) => {
            plan.inputs().first().map_or(Size::of_rows(UNKNOWN_ROWS), |input| Size::of_rows(size_of(input).rows))
        }
        _ => Size::of_rows(UNKNOWN_ROWS),
    }
}
