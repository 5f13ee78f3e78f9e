//! About how many rows a relation of a plan has, which columns are unique in it, and what conditions leave of it.
//!
//! ```text
//!   TableScan orders (1,500,000 rows, key o_orderkey)      Filter o_orderstatus = 'F'     about 1,200 rows
//! ```
//!
//! Of a column's values the lowest and the highest are known, where rows are in files: whole numbers between them are
//! as many values as there can be, and a bound cuts off its part. Else an equality leaves as much as if a column had as
//! many values as the root of the rows.

use std::sync::Arc;

use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::expr::{Between, InList, Like};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, JoinType, LogicalPlan, Operator};

use super::provider::WeftTable;
use super::spans::{Span, Spans};

/// Rows of what nothing is known of.
const UNKNOWN_ROWS: f64 = 1_000.0;
/// What `<` and its like leave.
const RANGE_SHARE: f64 = 0.3;
/// What a pattern leaves.
const LIKE_SHARE: f64 = 0.1;
/// What any other condition leaves.
const OTHER_SHARE: f64 = 0.3;
/// A column that is no key has at least so many values.
const VALUES_MIN: f64 = 10.0;

/// Rows and keys of a relation.
pub(super) struct Size {
    /// About how many rows it has.
    pub(super) rows: f64,
    /// About how many it has without its own conditions: so many values its keys have.
    pub(super) keys: f64,
    /// The names of columns that are unique together.
    unique: Vec<Vec<String>>,
    spans: Spans,
}

/// The column that an expression is, perhaps as another type.
pub(super) fn column_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Column(column) => Some(&column.name),
        Expr::Cast(cast) => column_name(&cast.expr),
        Expr::Alias(alias) => column_name(&alias.expr),
        _ => None,
    }
}

impl Size {
    fn of_rows(rows: f64) -> Size {
        Size { rows: rows.max(1.0), keys: rows.max(1.0), unique: Vec::new(), spans: Spans::default() }
    }

    /// The size with this condition.
    fn filtered(self, condition: &Expr) -> Size {
        let share = share_of(&split_conjunction(condition), &self);
        Size { rows: (self.rows * share).max(1.0), ..self }
    }

    /// Whether these columns have no values twice.
    fn is_unique(&self, columns: &[&str]) -> bool {
        self.unique.iter().any(|key| key.iter().all(|column| columns.contains(&column.as_str())))
    }

    /// The names of columns that are unique together.
    pub(super) fn unique(&self) -> &[Vec<String>] {
        &self.unique
    }

    /// About how many values a column, or an expression, has in all rows.
    pub(super) fn values(&self, column: &Expr) -> f64 {
        match column_name(column) {
            Some(column) if self.is_unique(&[column]) => self.keys,
            name => match name.and_then(|name| self.spans.get(name)).and_then(|span| span.count()) {
                Some(count) => count.clamp(1.0, self.keys),
                None => self.keys.sqrt().max(VALUES_MIN).min(self.keys),
            },
        }
    }

    fn span(&self, column: &Expr) -> Option<Span> {
        match column {
            Expr::Column(column) => self.spans.get(&column.name).copied(),
            _ => None,
        }
    }
}

/// The size of a relation.
pub(super) fn size_of(plan: &LogicalPlan) -> Size {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let provider = source_as_provider(&scan.source).ok();
            let table = provider.as_ref().and_then(|provider| provider.downcast_ref::<WeftTable>());
            let Some(table) = table else { return Size::of_rows(UNKNOWN_ROWS) };
            let of_rows = Size::of_rows(table.row_count() as f64);
            let size = Size { unique: table.unique_columns(), spans: table.spans(), ..of_rows };
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
                size.spans = Arc::new(kept.map(|(name, span)| (name.clone(), *span)).collect());
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
            Size { unique, ..Size::of_rows(size_of(&aggregate.input).rows.powf(0.75)) }
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

/// The share of its rows that conditions on a relation leave together: bounds of one column cut off its ends.
pub(super) fn share_of(conditions: &[&Expr], size: &Size) -> f64 {
    let (mut share, mut bounds): (f64, Vec<(&str, f64, f64)>) = (1.0, Vec::new());
    for condition in conditions.iter().flat_map(|condition| split_conjunction(condition)) {
        let Some((name, from, to)) = bound_of(condition, size) else {
            share *= kept_share(condition, size);
            continue;
        };
        match bounds.iter_mut().find(|known| known.0 == name) {
            Some(known) => (known.1, known.2) = (known.1.max(from), known.2.min(to)),
            None => bounds.push((name, from, to)),
        }
    }
    let least = 1.0 / size.keys;
    bounds.iter().fold(share, |share, (_, from, to)| share * (to - from).clamp(least, 1.0))
}

/// Which part of a column's span a bound leaves: from and to, 0 to 1.
fn bound_of<'a>(condition: &'a Expr, size: &Size) -> Option<(&'a str, f64, f64)> {
    if let Expr::Between(Between { expr, negated: false, low, high }) = condition {
        let (span, name) = (size.span(expr)?, column_name(expr)?);
        let (Expr::Literal(low, _), Expr::Literal(high, _)) = (&**low, &**high) else { return None };
        return Some((name, span.below(low)?, span.below(high)?));
    }
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else { return None };
    let (column, op, constant) = match (&**left, &**right) {
        (column, Expr::Literal(constant, _)) => (column, *op, constant),
        (Expr::Literal(constant, _), column) => (column, op.swap()?, constant),
        _ => return None,
    };
    let (span, name) = (size.span(column)?, column_name(column)?);
    match op {
        Operator::Lt | Operator::LtEq => Some((name, 0.0, span.below(constant)?)),
        Operator::Gt | Operator::GtEq => Some((name, span.below(constant)?, 1.0)),
        _ => None,
    }
}

/// The share of its rows that a condition on a relation leaves.
pub(super) fn kept_share(condition: &Expr, size: &Size) -> f64 {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And => share_of(&[left, right], size),
            Operator::Or => (share_of(&[left], size) + share_of(&[right], size)).min(1.0),
            Operator::Eq => {
                let (column, other) = if column_name(left).is_some() { (left, right) } else { (right, left) };
                match (size.span(column), &**other) {
                    (Some(span), Expr::Literal(constant, _)) if span.lacks(constant) => 1.0 / size.keys,
                    _ => 1.0 / size.values(column),
                }
            }
            Operator::NotEq => 1.0,
            Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => RANGE_SHARE,
            _ => OTHER_SHARE,
        },
        Expr::InList(InList { expr, list, negated: false }) => (list.len() as f64 / size.values(expr)).min(1.0),
        Expr::Between(Between { negated: false, .. }) => RANGE_SHARE * RANGE_SHARE,
        Expr::Like(Like { negated: false, .. }) => LIKE_SHARE,
        Expr::IsNotNull(_) | Expr::InList(_) | Expr::Like(_) | Expr::Between(_) | Expr::Not(_) => 1.0,
        _ => OTHER_SHARE,
    }
}
