//! Comparisons of a column with a value that is computed once, written in one way.
//!
//! ```text
//!   x = 5 AND 2 + 3 = x            becomes x = 5 AND x = 2 + 3: the engine takes x = 5 and 5 = x, of which the second
//!                                  was not 5 before it was computed, for two values, and gives no row
//!   f = 0 AND -0.0::float8 = f     becomes ... f = -0.0::float8 + 0: the same of the two zeros
//! ```

use arrow::datatypes::DataType as ArrowType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, binary_expr, lit};

/// A comparison with its column on the left.
pub(super) fn told_once(comparison: BinaryExpr, schema: &DFSchema) -> Transformed<Expr> {
    let BinaryExpr { left, op, right } = comparison;
    if let Some(turned) = op.swap().filter(|_| is_column(&right) && is_computed_once(&left)) {
        return Transformed::yes(binary_expr(*right, turned, one_zero(*left, schema)));
    }
    if is_column(&left) && is_computed_once(&right) && may_be_negative_zero(&right, schema) {
        return Transformed::yes(binary_expr(*left, op, one_zero(*right, schema)));
    }
    Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))
}

/// Whether an expression is a column, cast or not.
fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(Cast { expr, .. }) => is_column(expr),
        other => matches!(other, Expr::Column(_)),
    }
}

fn is_computed_once(expr: &Expr) -> bool {
    !expr.any_column_refs() && !expr.contains_outer()
}

/// Whether a value is, or may come to be, a negative zero; of parameters that is not asked, so that scans take them.
fn may_be_negative_zero(value: &Expr, schema: &DFSchema) -> bool {
    match value {
        Expr::Literal(ScalarValue::Float64(Some(value)), _) => *value == 0.0 && value.is_sign_negative(),
        Expr::Literal(ScalarValue::Float32(Some(value)), _) => *value == 0.0 && value.is_sign_negative(),
        Expr::Literal(..) => false,
        other => {
            let has_parameter = other.exists(|part| Ok(matches!(part, Expr::Placeholder(_))));
            !has_parameter.unwrap_or(true) && other.get_type(schema).is_ok_and(|given| given.is_floating())
        }
    }
}

fn one_zero(value: Expr, schema: &DFSchema) -> Expr {
    if !may_be_negative_zero(&value, schema) {
        return value;
    }
    match value.get_type(schema) {
        Ok(ArrowType::Float32) => binary_expr(value, Operator::Plus, lit(0_f32)),
        _ => binary_expr(value, Operator::Plus, lit(0_f64)),
    }
}
