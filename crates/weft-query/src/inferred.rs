//! Conditions that may fail are not asked of a relation that does not have them.
//!
//! ```text
//!   FROM a JOIN b ON a.x = b.y WHERE a.x = 5              b.y = 5 is known, too: fewer rows of b
//!   FROM a JOIN b ON a.x = b.y WHERE 100 / a.x < 3        100 / b.y < 3 is not asked: a 0 may join nothing
//! ```
//!
//! 1. The engine's rule infers conditions from keys of joins that are equal. What it infers here never fails.
//! 2. It is kept from it by a join that tells NULLs in its keys apart, which looks at nothing else; the mark is taken
//!    off again before anyone sees it.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::DataType as ArrowType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr::{Cast, Like, ScalarFunction};
use datafusion::logical_expr::logical_plan::{Filter, Join};
use datafusion::logical_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
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
        match plan {
            LogicalPlan::Join(join) if !join.null_aware && may_infer_failing(&join, join.filter.as_ref()) => {
                self.without_inference(LogicalPlan::Join(join), config)
            }
            LogicalPlan::Filter(filter) => match &*filter.input {
                LogicalPlan::Join(join) if !join.null_aware => {
                    if may_infer_failing(join, join.filter.as_ref()) {
                        return self.without_inference(LogicalPlan::Filter(filter), config);
                    }
                    let conditions = split_conjunction_owned(filter.predicate.clone());
                    let (failing, safe): (Vec<_>, Vec<_>) =
                        conditions.into_iter().partition(|condition| may_infer_failing(join, Some(condition)));
                    if failing.is_empty() {
                        return self.0.rewrite(LogicalPlan::Filter(filter), config);
                    }
                    // From the safe ones it may infer; the others follow when they have gone down.
                    let below = match conjunction(safe) {
                        Some(safe) => self.0.rewrite(filtered(safe, filter.input)?, config)?.data,
                        None => Arc::unwrap_or_clone(filter.input),
                    };
                    let failing = conjunction(failing).expect("there is one");
                    let is_join = matches!(below, LogicalPlan::Join(_));
                    let all = filtered(failing, Arc::new(below))?;
                    if is_join { self.without_inference(all, config) } else { Ok(Transformed::yes(all)) }
                }
                _ => self.0.rewrite(LogicalPlan::Filter(filter), config),
            },
            other => self.0.rewrite(other, config),
        }
    }
}

impl SafeInference {
    /// What the rule makes of a join, or of a condition on one, without inferring (invariant 2).
    fn without_inference(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let made = self.0.rewrite(marked(plan, true), config)?;
        Ok(made.update_data(|plan| marked(plan, false)))
    }
}

fn filtered(condition: Expr, input: Arc<LogicalPlan>) -> Result<LogicalPlan> {
    Ok(LogicalPlan::Filter(Filter::try_new(condition, input)?))
}

/// The join, or that right below a condition, with or without the mark.
fn marked(plan: LogicalPlan, null_aware: bool) -> LogicalPlan {
    match plan {
        LogicalPlan::Join(join) => LogicalPlan::Join(Join { null_aware, ..join }),
        LogicalPlan::Filter(mut filter) => {
            filter.input = Arc::new(match Arc::unwrap_or_clone(filter.input) {
                LogicalPlan::Join(join) => LogicalPlan::Join(Join { null_aware, ..join }),
                other => other,
            });
            LogicalPlan::Filter(filter)
        }
        other => other,
    }
}

/// Whether one of these conditions may fail and is of a key, so that another could be inferred from it.
fn may_infer_failing(join: &Join, conditions: Option<&Expr>) -> bool {
    let Some(conditions) = conditions else { return false };
    let sides = join.on.iter().flat_map(|(left, right)| [left, right]);
    let keys: HashSet<&Column> = sides.filter_map(|side| side.try_as_col()).collect();
    split_conjunction(conditions).into_iter().any(|condition| {
        condition.column_refs().iter().any(|column| keys.contains(column)) && may_fail(condition, &join.schema)
    })
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
