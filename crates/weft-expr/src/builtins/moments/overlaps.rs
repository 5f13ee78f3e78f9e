//! Whether two stretches of time have a moment in common: `overlaps(start, end or length, start, end or length)`.
//!
//! ```text
//!   10:00-11:00   11:00-12:00    false: an end is not part of its stretch
//!   10:00-10:00   10:00-11:00    true: a stretch without length is its moment
//!   11:00-10:00   10:30-12:00    true: the ends may be given in either order
//!   NULL-11:00    10:30-12:00    true: one end of the first is in the second
//!   NULL-11:00    11:30-12:00    NULL: the other end may be in it
//! ```

use weft_format::{DataType, Result, Value};

use super::super::builtin::Call;
use crate::routines::{Routine, Signature, call as call_routine};

pub(super) fn overlaps(call: &Call<'_>) -> Result<Value> {
    let (a, b) = (stretch(call, 0)?, stretch(call, 2)?);
    let (Some((start, end)), Some((other_start, other_end))) = (a, b) else { return Ok(Value::Null) };
    let found = if start > other_start {
        is_before(start, other_end, end)
    } else if start < other_start {
        is_before(other_start, end, other_end)
    } else {
        end.and(other_end).map(|_| true)
    };
    Ok(found.map_or(Value::Null, Value::Bool))
}

/// Whether a start is before the end of the stretch that starts earlier; only a start of a whole stretch is not.
fn is_before(start: i64, earlier_end: Option<i64>, later_end: Option<i64>) -> Option<bool> {
    match earlier_end {
        None => None,
        Some(earlier_end) if start < earlier_end => Some(true),
        Some(_) => later_end.map(|_| false),
    }
}

/// The start and end of the stretch whose arguments begin at a place; one of them if the other is unknown, and nothing
/// if both are.
fn stretch(call: &Call<'_>, at: usize) -> Result<Option<(i64, Option<i64>)>> {
    let known = |value: &Value| match value {
        Value::Int(number) => Some(*number),
        _ => None,
    };
    let start = known(&call.args[at]);
    let end = match call.types[at + 1] {
        DataType::Interval => known(&later(call, at)?),
        _ => known(&call.args[at + 1]),
    };
    Ok(match (start, end) {
        (Some(start), Some(end)) => Some((start.min(end), Some(start.max(end)))),
        (one, other) => one.or(other).map(|known| (known, None)),
    })
}

/// The start at a place and the length behind it added.
fn later(call: &Call<'_>, at: usize) -> Result<Value> {
    let of = call.types[at];
    let routine = if of == DataType::Time { Routine::TimePlusInterval } else { Routine::TimestampPlusInterval };
    let signature = Signature::new(routine, [of, DataType::Interval], of);
    call_routine(&signature, &call.args[at..at + 2], call.local, call.random)
}
