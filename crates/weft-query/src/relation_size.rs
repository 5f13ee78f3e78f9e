//! About how many rows a relation of a plan has, which columns are unique in it, and what conditions leave of it.
//!
//! ```text
//!   TableScan orders (1,500,000 rows, key o_orderkey)      Filter o_orderstatus = 'F'     about 1,200 rows
//! ```
//!
//! Nothing is known of values: an equality leaves as much as if a column had as many values as the root of the rows.

use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::expr::{Between, InList, Like};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, JoinType, LogicalPlan, Operator};

use super::provider::WeftTable;

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
        Size { rows: rows.max(1.0), keys: rows.max(1.0), unique: Vec::new() }
    }

    /// The size with this condition.
    fn filtered(self, condition: &Expr) -> Size {
        let share: f64 = split_conjunction(condition).into_iter().map(|part| kept_share(part, &self)).product();
        Size { rows: (self.rows * share).max(1.0), ..self }
    }

    /// Whether these columns have no values twice.
    pub(super) fn is_unique(&self, columns: &[&str]) -> bool {
        self.unique.iter().any(|key| key.iter().all(|column| columns.contains(&column.as_str())))
    }

    /// About how many values a column has.
    fn values(&self, column: &Expr) -> f64 {
        match column_name(column) {
            Some(column) if self.is_unique(&[column]) => self.keys,
            _ => self.keys.sqrt().max(VALUES_MIN),
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
            let size = Size { unique: table.unique_columns(), ..Size::of_rows(table.row_count() as f64) };
            scan.filters.iter().fold(size, Size::filtered)
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

/// The share of its rows that a condition on a relation leaves.
pub(super) fn kept_share(condition: &Expr, size: &Size) -> f64 {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And => kept_share(left, size) * kept_share(right, size),
            Operator::Or => (kept_share(left, size) + kept_share(right, size)).min(1.0),
            Operator::Eq if column_name(left).is_some() => 1.0 / size.values(left),
            Operator::Eq => 1.0 / size.values(right),
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
