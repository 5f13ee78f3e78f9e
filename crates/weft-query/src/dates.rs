//! Dates beside timestamps.
//!
//! ```text
//!   x < date '1993-07-01' + interval '3 months'      x < the day 1993-10-01: scans and statistics know what that means
//!   x < timestamp '1993-10-01 12:00'                 the midnight of x, in microseconds
//! ```
//!
//! 1. A date is never turned to nanoseconds, which the years 1 and 9999 have not: the engine would, beside a timestamp.

use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, TimeUnit};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Case, Cast};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlanBuilder, Operator, cast};
use weft_expr::Local;
use weft_format::{DataType, Value};

/// The timestamp at the beginning of a date.
pub(crate) fn midnight(date: Expr) -> Expr {
    cast(date, ArrowType::Timestamp(TimeUnit::Microsecond, None))
}

/// Whether an interval is a constant of whole days or months: `interval '3 months'` is a text that is cast.
fn whole_days(interval: &Expr) -> bool {
    match interval {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(value)), _) => value.nanoseconds == 0,
        Expr::Cast(Cast { expr, field }) if matches!(field.data_type(), ArrowType::Interval(_)) => match &**expr {
            Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => {
                let text = Value::Text(text.as_str().into());
                let read = weft_expr::cast(text, DataType::Text, DataType::Interval, Local::fixed());
                matches!(read, Ok(Value::Interval(read)) if read.micros == 0)
            }
            _ => false,
        },
        _ => false,
    }
}

/// A date with whole days or months added is a midnight: beside a date it is compared as that day.
pub(crate) fn day_of(expr: Expr, other: &Expr, schema: &DFSchema) -> Expr {
    let is_midnight = match &expr {
        Expr::BinaryExpr(sum) => {
            let moves = matches!(sum.op, Operator::Plus | Operator::Minus) && whole_days(&sum.right);
            moves && matches!(&*sum.left, Expr::Cast(begins) if is_date(&begins.expr, schema))
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

/// The type in which dates and timestamps among values meet; none when there are not both.
pub(crate) fn moment_of<'a>(
    mut values: impl Iterator<Item = &'a Expr> + Clone,
    schema: &DFSchema,
) -> Option<ArrowType> {
    let stamp = |value: &Expr| value.get_type(schema).ok().filter(|to| matches!(to, ArrowType::Timestamp(..)));
    let to = values.clone().find_map(stamp)?;
    values.any(|value| is_date(value, schema)).then_some(to)
}

/// A date as a timestamp of a type, anything else as it is.
pub(crate) fn as_moment(expr: Expr, to: &ArrowType, schema: &DFSchema) -> Expr {
    if is_date(&expr, schema) { cast(expr, to.clone()) } else { expr }
}

/// CASE x WHEN with its dates as timestamps; as it was where these are not among what is compared.
pub(crate) fn case_in_moments(mut case: Case, schema: &DFSchema) -> std::result::Result<Case, Case> {
    let whens = case.when_then_expr.iter().map(|(when, _)| &**when);
    let compared = case.expr.iter().map(|of| &**of).chain(whens);
    let Some(to) = case.expr.as_ref().and_then(|_| moment_of(compared, schema)) else { return Err(case) };
    case.expr = case.expr.map(|of| Box::new(as_moment(*of, &to, schema)));
    let branches = std::mem::take(&mut case.when_then_expr).into_iter();
    case.when_then_expr = branches.map(|(when, then)| (Box::new(as_moment(*when, &to, schema)), then)).collect();
    Ok(case)
}

/// A value and the subquery whose rows it is compared with, dates among them as timestamps where the others are these.
pub(crate) fn moments(value: Expr, subquery: Subquery, schema: &DFSchema) -> Result<(Expr, Subquery)> {
    let plan = &subquery.subquery;
    let field = plan.schema().field(0);
    match (value.get_type(schema), field.data_type()) {
        (Ok(ArrowType::Date32), to @ ArrowType::Timestamp(..)) => Ok((cast(value, to.clone()), subquery)),
        (Ok(to @ ArrowType::Timestamp(..)), ArrowType::Date32) => {
            let column = Expr::Column(Column::from(plan.schema().qualified_field(0)));
            let moments = vec![cast(column, to).alias(field.name())];
            let moments = LogicalPlanBuilder::from(plan.as_ref().clone()).project(moments)?.build()?;
            Ok((value, subquery.with_plan(Arc::new(moments))))
        }
        _ => Ok((value, subquery)),
    }
}

fn is_date(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(ArrowType::Date32))
}
