//! Enums are timestamps to the engine (`weft_format::enums`), which must not compute with them as such.
//!
//! ```text
//!   m < 'ok'     m = n, of one enum          as of timestamps
//!   m < now()    m = c, of two enums         42883
//!   m + interval '1 day', date_trunc('day', m)    42883
//!   a cast that the engine wrote: mood → text     ours;   mood → color, mood → timestamptz     42846
//! ```

use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{Cast, ScalarFunction, WindowFunction};
use datafusion::logical_expr::{Expr, ExprSchemable};
use sqlparser::ast::BinaryOperator;
use weft_format::{Code, DataType, Error};
use weft_sql::expr::compare_op;

use super::error::wrap;
use super::operands::operand_type;
use super::routines::cast_to;
use super::types::{field_type, output_type};
use super::window_calls::is_range_with_offset;

/// The engine's functions of times.
const OF_TIMES: &[&str] = &[
    "age",
    "date_bin",
    "date_format",
    "date_part",
    "date_trunc",
    "datepart",
    "datetrunc",
    "extract",
    "from_unixtime",
    "isfinite",
    "timezone",
    "to_char",
    "to_date",
    "to_local_time",
    "to_time",
    "to_timestamp",
    "to_timestamp_micros",
    "to_timestamp_millis",
    "to_timestamp_nanos",
    "to_timestamp_seconds",
    "to_unixtime",
];

fn is_enum(data_type: DataType) -> bool {
    matches!(data_type.element().unwrap_or(data_type), DataType::Enum(_))
}

fn name(given: Option<DataType>) -> String {
    given.map_or_else(|| "unknown".to_owned(), |data_type| weft_expr::text::type_name(data_type).into_owned())
}

/// An error for an operator of an enum, or of an array of them, that there is not.
pub(super) fn check_operator(op: &BinaryOperator, left: Option<DataType>, right: Option<DataType>) -> Result<()> {
    let sides = [left, right];
    if !sides.iter().flatten().any(|data_type| is_enum(*data_type)) {
        return Ok(());
    }
    let is_one = sides.iter().any(Option::is_none) || left == right;
    let is_array = sides.iter().flatten().any(|data_type| data_type.element().is_some());
    let is_there = match op {
        BinaryOperator::StringConcat => true,
        op if compare_op(op).is_some() => is_one,
        _ => is_array,
    };
    if is_there {
        return Ok(());
    }
    let message = format!("operator does not exist: {} {op} {}", name(left), name(right));
    Err(wrap(Error::new(Code::UndefinedFunction, message).hint("add explicit type casts")))
}

/// An error for a function of times that is called with an enum.
pub(super) fn check_call(call: &ScalarFunction, schema: &DFSchema) -> Result<()> {
    if !OF_TIMES.contains(&call.func.name()) {
        return Ok(());
    }
    let given: Vec<Option<DataType>> = call.args.iter().map(|arg| operand_type(arg, schema)).collect();
    if !given.iter().flatten().any(|data_type| is_enum(*data_type)) {
        return Ok(());
    }
    let names: Vec<String> = given.into_iter().map(name).collect();
    let message = format!("function {}({}) does not exist", call.func.name(), names.join(", "));
    Err(wrap(Error::new(Code::UndefinedFunction, message).hint("cast the enum to text")))
}

/// An error for RANGE with an offset over an enum.
pub(super) fn check_frame(window: &WindowFunction, schema: &DFSchema) -> Result<()> {
    if !is_range_with_offset(&window.params.window_frame) {
        return Ok(());
    }
    let mut keys = window.params.order_by.iter().filter_map(|key| operand_type(&key.expr, schema));
    match keys.find(|data_type| is_enum(*data_type)) {
        Some(data_type) => {
            let column = name(Some(data_type));
            let message = format!("RANGE with offset PRECEDING/FOLLOWING is not supported for column type {column}");
            Err(wrap(Error::new(Code::FeatureNotSupported, message)))
        }
        None => Ok(()),
    }
}

/// A cast from or to an enum that the engine wrote, as ours, or an error where there is none; none for other casts.
pub(super) fn settled_cast(cast: &Cast, schema: &DFSchema) -> Result<Option<Expr>> {
    let to = field_type(&cast.field);
    let Ok(from) = cast.expr.get_type(schema) else { return Ok(None) };
    let given = output_type(&from);
    if from.is_null() || given == to || !(is_enum(given) || is_enum(to)) {
        return Ok(None);
    }
    if weft_expr::is_castable(given, to) {
        let made = cast_to((*cast.expr).clone(), to);
        // The engine has more than one form of texts.
        let is_same = to.arrow() == *cast.field.data_type();
        let made = if is_same { made } else { Expr::Cast(Cast { expr: Box::new(made), field: cast.field.clone() }) };
        return Ok(Some(made));
    }
    Err(wrap(weft_expr::no_cast(given, to)))
}
