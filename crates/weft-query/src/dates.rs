//! Dates beside timestamps.
//!
//! ```text
//!   x < date '1993-07-01' + interval '3 months'      x < the day 1993-10-01: scans and statistics know what that means
//!   x < timestamp '1993-10-01 12:00'                 the midnight of x, in microseconds
//! ```
//!
//! 1. A date is never turned to nanoseconds, which the years 1 and 9999 have not: the engine would, beside a timestamp.

use arrow::datatypes::{DataType as ArrowType, TimeUnit};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::{Expr, ExprSchemable, Operator, cast};

/// The timestamp at the beginning of a date.
pub(crate) fn midnight(date: Expr) -> Expr {
    cast(date, ArrowType::Timestamp(TimeUnit::Microsecond, None))
}

/// Whether an interval is a constant of whole days or months.
pub(crate) fn whole_days(interval: &Expr) -> bool {
    match interval {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(value)), _) => value.nanoseconds == 0,
        Expr::Literal(ScalarValue::IntervalDayTime(Some(value)), _) => value.milliseconds == 0,
        Expr::Literal(ScalarValue::IntervalYearMonth(_), _) => true,
        _ => false,
    }
}

/// A date with whole days or months added is a midnight: beside a date it is compared as that day.
pub(crate) fn day_of(expr: Expr, other: &Expr, schema: &DFSchema) -> Expr {
    let is_midnight = match &expr {
        Expr::BinaryExpr(sum) if matches!(sum.op, Operator::Plus | Operator::Minus) && whole_days(&sum.right) => {
            matches!(&*sum.left, Expr::Cast(midnight) if is_date(&midnight.expr, schema))
        }
        _ => false,
    };
    if is_midnight && is_date(other, schema) { cast(expr, ArrowType::Date32) } else { expr }
}

/// A date that is compared with a timestamp among others, as a timestamp (dates 1).
pub(crate) fn beside_timestamps<'a>(expr: Expr, mut others: impl Iterator<Item = &'a Expr>, schema: &DFSchema) -> Expr {
    let stamp = |other: &Expr| other.get_type(schema).ok().filter(|to| matches!(to, ArrowType::Timestamp(..)));
    match is_date(&expr, schema).then(|| others.find_map(stamp)).flatten() {
        Some(to) => cast(expr, to),
        None => expr,
    }
}

fn is_date(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(ArrowType::Date32))
}
