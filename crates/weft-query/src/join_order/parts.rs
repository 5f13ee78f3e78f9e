//! A tree of inner joins taken apart.
//!
//! ```text
//!   Filter a.x > 1 (a ⋈ b ON a.x = b.x) ⋈ c ON b.y < c.y
//!     relations a, b, c      conditions a.x > 1, a.x = b.x, b.y < c.y
//! ```
//!
//! 1. Relations are sorted by the name of their first column, which FROM's order has no part in.

use std::sync::Arc;

use datafusion::common::{Column, NullEquality};
use datafusion::logical_expr::logical_plan::{Filter, Join};
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{BinaryExpr, Expr, JoinType, LogicalPlan, Operator, binary_expr};
use weft_joins::Set;

/// See the module.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) relations: Vec<LogicalPlan>,
    pub(super) conditions: Vec<Expr>,
}

/// An equality: its sides, and which relations they read.
pub(super) struct Equality<'a> {
    pub(super) left: (&'a Expr, Set),
    pub(super) right: (&'a Expr, Set),
    /// NULLs are equal, too.
    pub(super) takes_nulls: bool,
}

impl Parts {
    /// Takes a tree apart, with a filter on top.
    pub(super) fn of(plan: LogicalPlan) -> Parts {
        let mut parts = Parts::default();
        let joins = match plan {
            LogicalPlan::Filter(Filter { predicate, input, .. }) => {
                parts.conditions = split_conjunction_owned(predicate);
                Arc::unwrap_or_clone(input)
            }
            plan => plan,
        };
        parts.take(joins);
        parts.relations.sort_by_cached_key(|relation| relation.schema().columns().first().map(Column::flat_name));
        parts
    }

    fn take(&mut self, plan: LogicalPlan) {
        match plan {
            LogicalPlan::Join(join) if join.join_type == JoinType::Inner => {
                let Join { left, right, on, filter, null_equality, .. } = join;
                let op = match null_equality {
                    NullEquality::NullEqualsNothing => Operator::Eq,
                    NullEquality::NullEqualsNull => Operator::IsNotDistinctFrom,
                };
                self.conditions.extend(on.into_iter().map(|(left, right)| binary_expr(left, op, right)));
                self.conditions.extend(filter.into_iter().flat_map(split_conjunction_owned));
                self.take(Arc::unwrap_or_clone(left));
                self.take(Arc::unwrap_or_clone(right));
            }
            // Conditions right above joins within the tree.
            LogicalPlan::Filter(Filter { predicate, input, .. }) if is_inner_join(&input) => {
                self.conditions.extend(split_conjunction_owned(predicate));
                self.take(Arc::unwrap_or_clone(input));
            }
            relation => self.relations.push(relation),
        }
    }

    /// The relations that an expression reads.
    pub(super) fn reads(&self, expr: &Expr) -> Set {
        let columns = expr.column_refs();
        let has = |relation: &LogicalPlan| columns.iter().any(|column| relation.schema().has_column(column));
        let relations = self.relations.iter().enumerate().filter(|(_, relation)| has(relation));
        relations.fold(Set::NONE, |all, (at, _)| all.with(Set::of(at)))
    }

    /// A condition as an equality of different relations.
    pub(super) fn equality<'a>(&self, condition: &'a Expr) -> Option<Equality<'a>> {
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else { return None };
        if !matches!(op, Operator::Eq | Operator::IsNotDistinctFrom) {
            return None;
        }
        let (left, right) = ((&**left, self.reads(left)), (&**right, self.reads(right)));
        let is_between = !left.1.is_empty() && !right.1.is_empty() && !left.1.meets(right.1);
        is_between.then_some(Equality { left, right, takes_nulls: *op == Operator::IsNotDistinctFrom })
    }
}

/// Whether a plan is an inner join.
pub(super) fn is_inner_join(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(join) if join.join_type == JoinType::Inner)
}
