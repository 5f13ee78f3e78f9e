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

/// Plans date arithmetic.
#[derive(Debug)]
pub(crate) struct WeftOperators;

impl ExprPlanner for WeftOperators {
    fn plan_binary_op(&self, raw: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
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
