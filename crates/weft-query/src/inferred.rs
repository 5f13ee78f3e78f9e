//! Conditions are not asked of rows that they were not written for.
//!
//! ```text
//!   FROM a JOIN b ON a.x = b.y WHERE a.x = 5              b.y = 5 is known, too: fewer rows of b
//!   FROM a JOIN b ON a.x = b.y WHERE 100 / a.x < 3        100 / b.y < 3 is not asked: a 0 may join nothing
//!   FROM (SELECT -1 AS c FROM t GROUP BY CUBE (x)) WHERE c = 2       -1 = 2 stays above: () has a row of no rows
//! ```
//!
//! 1. The engine's rule infers conditions from keys of joins that are equal. What it infers here never fails.
//! 2. It is kept from it by a join that tells NULLs in its keys apart, which looks at nothing else; the mark is taken
//!    off again before anyone sees it.
//! 3. A condition without columns is not asked below grouping sets: of no rows they make one.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::DataType as ArrowType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, Result, internal_err};
use datafusion::logical_expr::expr::{Cast, Like, ScalarFunction};
use datafusion::logical_expr::logical_plan::{Aggregate, Filter, Join};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use super::semantics::is_comparison;

/// Functions that have a result for every argument of their types.
const TOTAL: &[&str] = &["lower", "upper", "coalesce", "nullif", "character_length", "octet_length", "starts_with"];

/// The engine's rule, with the invariants above.
#[derive(Debug, Default)]
pub(super) struct SafeInference(PushDownFilter);

impl OptimizerRule for SafeInference {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let (conditions, below) = apart(plan);
        match below {
            LogicalPlan::Join(join) if !join.null_aware => self.on_join(conditions, join, config),
            LogicalPlan::Aggregate(aggregate) if makes_rows(&aggregate) => {
                let (of_columns, constant): (Vec<_>, Vec<_>) =
                    conditions.into_iter().partition(|condition| !condition.column_refs().is_empty());
                let below = self.0.rewrite(filtered(of_columns, LogicalPlan::Aggregate(aggregate))?, config)?;
                let is_changed = below.transformed || !constant.is_empty();
                Ok(Transformed::new_transformed(filtered(constant, below.data)?, is_changed))
            }
            below => self.0.rewrite(filtered(conditions, below)?, config),
        }
    }
}

impl SafeInference {
    /// Invariant 1: from what is safe the rule may infer; what may fail follows when that has gone down.
    fn on_join(
        &self,
        conditions: Vec<Expr>,
        mut join: Join,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let own = join.filter.take().map(split_conjunction_owned).unwrap_or_default();
        let keys = keys_of(&join);
        let is_safe = |condition: &Expr| !(is_of(condition, &keys) && may_fail(condition, &join.schema));
        let (safe, failing): (Vec<_>, Vec<_>) = conditions.into_iter().partition(is_safe);
        let (safe_own, failing_own): (Vec<_>, Vec<_>) = own.into_iter().partition(is_safe);
        join.filter = conjunction(safe_own);
        if failing.is_empty() && failing_own.is_empty() {
            return self.0.rewrite(filtered(safe, LogicalPlan::Join(join))?, config);
        }
        let made = self.0.rewrite(filtered(safe, LogicalPlan::Join(join))?, config)?;
        let (kept, below) = apart(made.data);
        let LogicalPlan::Join(mut join) = below else {
            return internal_err!("a condition on a join has become {}", below.display());
        };
        join.filter = conjunction(join.filter.take().into_iter().chain(failing_own));
        join.null_aware = true;
        let all = filtered(kept.into_iter().chain(failing).collect(), LogicalPlan::Join(join))?;
        Ok(Transformed::yes(unmarked(self.0.rewrite(all, config)?.data)))
    }
}

/// Conditions that lie one on the other, the lowest first, and what is below them.
fn apart(mut plan: LogicalPlan) -> (Vec<Expr>, LogicalPlan) {
    let mut conditions: Vec<Expr> = Vec::new();
    while let LogicalPlan::Filter(filter) = plan {
        let above = std::mem::replace(&mut conditions, split_conjunction_owned(filter.predicate));
        for condition in above {
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
        plan = Arc::unwrap_or_clone(filter.input);
    }
    (conditions, plan)
}

fn filtered(conditions: Vec<Expr>, below: LogicalPlan) -> Result<LogicalPlan> {
    match conjunction(conditions) {
        Some(condition) => Ok(LogicalPlan::Filter(Filter::try_new(condition, Arc::new(below))?)),
        None => Ok(below),
    }
}

/// The join, or that right below a condition, without the mark (invariant 2).
fn unmarked(plan: LogicalPlan) -> LogicalPlan {
    match plan {
        LogicalPlan::Join(join) => LogicalPlan::Join(Join { null_aware: false, ..join }),
        LogicalPlan::Filter(mut filter) => {
            filter.input = Arc::new(unmarked(Arc::unwrap_or_clone(filter.input)));
            LogicalPlan::Filter(filter)
        }
        other => other,
    }
}

/// Whether there is a row of no rows (invariant 3).
fn makes_rows(aggregate: &Aggregate) -> bool {
    aggregate.group_expr.is_empty() || aggregate.group_expr.iter().any(|of| matches!(of, Expr::GroupingSet(_)))
}

/// Columns that a join says are equal.
fn keys_of(join: &Join) -> HashSet<Column> {
    let sides = join.on.iter().flat_map(|(left, right)| [left, right]);
    sides.filter_map(|side| side.try_as_col()).cloned().collect()
}

fn is_of(condition: &Expr, keys: &HashSet<Column>) -> bool {
    condition.column_refs().into_iter().any(|column| keys.contains(column))
}

fn may_fail(condition: &Expr, schema: &DFSchema) -> bool {
    condition.exists(|expr| Ok(!is_total(expr, schema))).unwrap_or(true)
}

/// Whether it has a result for all values of what it is made of.
fn is_total(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::BinaryExpr(binary) => is_comparison(binary.op) || binary.op.is_logic_operator(),
        Expr::Cast(Cast { expr, field }) => expr.get_type(schema).is_ok_and(|from| is_wider(&from, field.data_type())),
        Expr::ScalarFunction(ScalarFunction { func, .. }) => TOTAL.contains(&func.name()),
        Expr::Like(Like { pattern, escape_char, .. }) => {
            escape_char.is_none() && matches!(&**pattern, Expr::Literal(..))
        }
        Expr::Column(_)
        | Expr::Literal(..)
        | Expr::Placeholder(_)
        | Expr::Alias(_)
        | Expr::Not(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::Between(_)
        | Expr::InList(_)
        | Expr::Case(_) => true,
        _ => false,
    }
}

/// Whether a cast has a result for every value.
fn is_wider(from: &ArrowType, to: &ArrowType) -> bool {
    let (wide, whole) = (to.primitive_width(), from.is_integer() && to.is_integer());
    from == to
        || (whole && wide >= from.primitive_width())
        || (from.is_integer() && to == &ArrowType::Float64)
        || (from == &ArrowType::Float32 && to == &ArrowType::Float64)
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::{cast, col, lit};

    use super::*;

    #[test]
    fn arithmetic_and_narrow_casts_may_fail() {
        let field = arrow::datatypes::Field::new("x", ArrowType::Int32, true);
        let schema = DFSchema::from_unqualified_fields(vec![field].into(), Default::default()).unwrap();
        for (condition, fails) in [
            (col("x").eq(lit(5)), false),
            (col("x").lt_eq(lit(5)).or(col("x").is_null()), false),
            (cast(col("x"), ArrowType::Int64).eq(lit(5_i64)), false),
            (cast(col("x"), ArrowType::Int16).eq(lit(5_i16)), true),
            ((lit(100) / col("x")).lt(lit(3)), true),
            (datafusion::functions::math::expr_fn::ln(col("x")).lt(lit(3.0)), true),
        ] {
            assert_eq!(may_fail(&condition, &schema), fails, "{condition}");
        }
    }
}
