//! Fields of dates and times, what they are cut to, and the bins that timestamps fall into.

use weft_format::{Code, DataType, Error, Interval, Result, Value};

use super::super::builtin::Call;
use super::made::interval_range;
use crate::routines::{Routine, Signature, add_to_timestamp, call as call_routine, is_field};
use crate::style::Style;
use crate::text::{parse_interval, shorten, type_name};

/// `date_bin(stride, value, origin)`: where the stride begins that the value is in, of strides counted from the origin.
pub(super) fn date_bin(call: &Call<'_>) -> Result<Value> {
    let (stride, at, origin) = (call.interval(0), call.int(1), call.int(2));
    if stride.months != 0 {
        let message = "timestamps cannot be binned into intervals containing months or years";
        return Err(Error::new(Code::FeatureNotSupported, message));
    }
    let length = i64::try_from(stride.span()).map_err(|_| interval_range())?;
    if length <= 0 {
        return Err(Error::new(Code::DatetimeOverflow, "stride must be greater than zero"));
    }
    let since = at.checked_sub(origin).ok_or_else(interval_range)?;
    let whole = since.checked_sub(since.rem_euclid(length)).ok_or_else(interval_range)?;
    add_to_timestamp(origin, Interval::new(0, 0, whole)).map(Value::Int)
}

/// `date_part(field, value)` of a timestamp, or of a date, which is midnight.
pub(super) fn part(call: &Call<'_>) -> Result<Value> {
    let timestamp = crate::cast(call.args[1].clone(), call.types[1], DataType::Timestamp, call.local)?;
    part_of(call, timestamp, DataType::Timestamp)
}

/// `date_part(field, time)`: the fields of a length of that time, but for those that only longer lengths have.
pub(super) fn time_part(call: &Call<'_>) -> Result<Value> {
    let unit = call.text(0);
    if !is_field(unit) {
        return Err(unknown(unit, DataType::Time));
    }
    let is_clock = matches!(length(unit), Some(Interval { months: 0, days: 0, .. }));
    if !is_clock && !unit.eq_ignore_ascii_case("epoch") {
        return Err(unsupported(unit, DataType::Time));
    }
    part_of(call, Value::Interval(Interval::new(0, 0, call.int(1))), DataType::Interval)
}

fn part_of(call: &Call<'_>, value: Value, of: DataType) -> Result<Value> {
    let signature = Signature::new(Routine::Part, [DataType::Text, of], call.result);
    call_routine(&signature, &[call.args[0].clone(), value], call.local, call.random)
}

/// `date_trunc(field, timestamp)`
pub(super) fn timestamp_trunc(call: &Call<'_>) -> Result<Value> {
    call_routine(&Signature::new(Routine::Trunc, call.types, call.result), call.args, call.local, call.random)
}

/// `date_trunc(field, interval)`: fields below that one are zero, and it is cut to a multiple of it, towards zero.
pub(super) fn interval_trunc(call: &Call<'_>) -> Result<Value> {
    let (unit, Interval { months, days, micros }) = (call.text(0), call.interval(1));
    Ok(Value::Interval(match length(unit) {
        Some(Interval { months: step, .. }) if step > 0 => Interval::new(months - months % step, 0, 0),
        Some(Interval { days: 1, .. }) => Interval::new(months, days, 0),
        Some(Interval { days: 0, micros: step, .. }) => Interval::new(months, days, micros - micros % step),
        Some(_) => {
            return Err(unsupported(unit, DataType::Interval).detail("Months usually have fractional weeks."));
        }
        None => return Err(unknown(unit, DataType::Interval)),
    }))
}

/// How long a unit is: what an interval of one of it says, or a quarter, which intervals do not know.
fn length(unit: &str) -> Option<Interval> {
    if unit.is_empty() || !unit.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    if unit.eq_ignore_ascii_case("quarter") || unit.eq_ignore_ascii_case("qtr") {
        return Some(Interval::new(3, 0, 0));
    }
    parse_interval(&format!("1 {unit}"), &Style::default()).ok()
}

fn unknown(unit: &str, of: DataType) -> Error {
    let message = format!("unit \"{}\" not recognized for type {}", shorten(&unit.to_lowercase()), type_name(of));
    Error::new(Code::InvalidParameterValue, message)
}

fn unsupported(unit: &str, of: DataType) -> Error {
    let message = format!("unit \"{}\" not supported for type {}", shorten(&unit.to_lowercase()), type_name(of));
    Error::new(Code::FeatureNotSupported, message)
}
