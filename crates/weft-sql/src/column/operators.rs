//! Operators that mean something else in PostgreSQL than in the query engine.
//!
//! | SQL | here |
//! |---|---|
//! | `date - date` | integer, days |
//! | `date + integer`, `date - integer` | date |
//! | `date + interval` of whole days or months | date (PostgreSQL: timestamp at midnight) |
//! | `date + interval` with a time | timestamp |

use arrow::datatypes::{DataType as ArrowType, TimeUnit};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, Operator, binary_expr, cast};
use sqlparser::ast::BinaryOperator;

use super::semantics::read_as;

/// Plans date arithmetic.
#[derive(Debug)]
pub(crate) struct WeftOperators;

impl ExprPlanner for WeftOperators {
    fn plan_binary_op(&self, raw: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let raw = typed(raw, schema);
        let op = match raw.op {
            BinaryOperator::Plus => Operator::Plus,
            BinaryOperator::Minus => Operator::Minus,
            _ => return Ok(PlannerResult::Original(raw)),
        };
        let (Ok(left), Ok(right)) = (raw.left.get_type(schema), raw.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(raw));
        };
        let planned = match (&left, &right) {
            (ArrowType::Date32, ArrowType::Date32) if op == Operator::Minus => {
                cast(binary_expr(days(raw.left), op, days(raw.right)), ArrowType::Int32)
            }
            (ArrowType::Date32, integer) if integer.is_integer() => {
                cast(binary_expr(days(raw.left), op, cast(raw.right, ArrowType::Int32)), ArrowType::Date32)
            }
            (integer, ArrowType::Date32) if integer.is_integer() && op == Operator::Plus => {
                cast(binary_expr(days(raw.right), op, cast(raw.left, ArrowType::Int32)), ArrowType::Date32)
            }
            (ArrowType::Date32, ArrowType::Interval(_)) if !whole_days(&raw.right) => {
                binary_expr(midnight(raw.left), op, raw.right)
            }
            _ => return Ok(PlannerResult::Original(raw)),
        };
        Ok(PlannerResult::Planned(planned))
    }
}

/// The operands of arithmetic and comparisons: a string constant beside a number is read as one, a real or a numeric
/// that meets a number of another kind is double precision.
fn typed(raw: RawBinaryExpr, schema: &DFSchema) -> RawBinaryExpr {
    use BinaryOperator::{Divide, Eq, Gt, GtEq, Lt, LtEq, Minus, Modulo, Multiply, NotEq, Plus};
    let arithmetic = matches!(raw.op, Plus | Minus | Multiply | Divide | Modulo);
    if !arithmetic && !matches!(raw.op, Eq | NotEq | Lt | LtEq | Gt | GtEq) {
        return raw;
    }
    let RawBinaryExpr { op, left, right } = raw;
    let left = beside(left, &right, schema);
    let right = beside(right, &left, schema);
    RawBinaryExpr { op, left, right }
}

fn beside(expr: Expr, other: &Expr, schema: &DFSchema) -> Expr {
    let (Ok(from), Ok(to)) = (expr.get_type(schema), other.get_type(schema)) else { return expr };
    let double = match (&from, &to) {
        (ArrowType::Float32, to) => to.is_decimal() || to.is_integer(),
        (from, ArrowType::Float32 | ArrowType::Float64) => from.is_decimal(),
        _ => false,
    };
    if double { cast(expr, ArrowType::Float64) } else { read_as(expr, other, schema) }
}

fn days(date: Expr) -> Expr {
    cast(date, ArrowType::Int32)
}

fn midnight(date: Expr) -> Expr {
    cast(date, ArrowType::Timestamp(TimeUnit::Microsecond, None))
}

fn whole_days(interval: &Expr) -> bool {
    match interval {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(value)), _) => value.nanoseconds == 0,
        Expr::Literal(ScalarValue::IntervalDayTime(Some(value)), _) => value.milliseconds == 0,
        Expr::Literal(ScalarValue::IntervalYearMonth(_), _) => true,
        _ => false,
    }
}
