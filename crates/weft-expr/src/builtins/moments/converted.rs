//! The functions behind casts of dates and times, which have the names of types.

use weft_format::interval::DAY_MICROS;
use weft_format::{Code, DataType, Error, Interval, Result, Value};

use super::super::builtin::Call;
use crate::routines::add_to_timestamp;

/// `date(value)`, `timestamp(value)`, ...: the argument cast to the type.
pub(super) fn converted(call: &Call<'_>) -> Result<Value> {
    crate::cast(call.args[0].clone(), call.types[0], call.result, call.local)
}

/// `timestamp(date, time)`, and `timestamptz(date, time)` by the clocks of the session's zone.
pub(super) fn date_and_time(call: &Call<'_>) -> Result<Value> {
    let range = || Error::new(Code::DatetimeOverflow, "timestamp out of range");
    let midnight = call.int(0).checked_mul(DAY_MICROS).ok_or_else(range)?;
    let wall = add_to_timestamp(midnight, Interval::new(0, 0, call.int(1)))?;
    if call.result == DataType::Timestamp {
        return Ok(Value::Int(wall));
    }
    call.local.style.zone.moment_of(wall).map(Value::Int).ok_or_else(range)
}
