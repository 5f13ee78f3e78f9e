//! `width_bucket`: in which of a row of buckets a value lies.
//!
//! ```text
//!   width_bucket(5.35, 0.024, 10.06, 5)      3     5 buckets of one width; 0 and 6 are outside
//!   width_bucket(now(), array['yesterday', 'today', 'tomorrow']::timestamptz[])     2
//! ```

use std::cmp::Ordering;

use weft_format::{Code, DataType, Error, Result, Value};

use super::super::builtin::Call;
use super::wide::Wide;
use crate::arithmetic::out_of_range;
use crate::cast::cast;
use crate::text::{decimal_overflow, pow10, type_name};
use crate::types::common_type;

/// Bounds and numbers that make no buckets.
pub(super) fn wrong(what: &str) -> Error {
    Error::new(Code::WidthBucketArgument, what)
}

/// The number of buckets.
pub(super) fn count(call: &Call<'_>) -> Result<i64> {
    if call.int(3) > 0 { Ok(call.int(3)) } else { Err(wrong("count must be greater than zero")) }
}

pub(super) fn bucket(number: i64) -> Result<Value> {
    let number = i32::try_from(number).map_err(|_| out_of_range(DataType::Integer))?;
    Ok(Value::Int(number.into()))
}

/// Of numerics, exactly.
pub(super) fn of_numerics(call: &Call<'_>) -> Result<Value> {
    let count = count(call)?;
    let scale = (0..3).map(|at| call.decimal(at).1).max().unwrap_or(0);
    let aligned = |at: usize| {
        let (value, from) = call.decimal(at);
        value.checked_mul(pow10(scale - from)).ok_or_else(|| decimal_overflow(38, scale))
    };
    let (operand, low, high) = (aligned(0)?, aligned(1)?, aligned(2)?);
    let (is_below, is_above) = match low.cmp(&high) {
        Ordering::Equal => return Err(wrong("lower bound cannot equal upper bound")),
        Ordering::Less => (operand < low, operand >= high),
        Ordering::Greater => (operand > low, operand <= high),
    };
    if is_below {
        return bucket(0);
    }
    if is_above {
        return bucket(count + 1);
    }
    let (part, all) = (operand.abs_diff(low), high.abs_diff(low));
    let at = Wide::product(part, count.unsigned_abs().into()).divided(all);
    match at.and_then(|at| i64::try_from(at).ok()) {
        Some(at) => bucket(at + 1),
        None => Err(decimal_overflow(38, scale)),
    }
}

/// Of the thresholds of an array, which are in order: how many of them are not above the value.
pub(super) fn of_array(call: &Call<'_>) -> Result<Value> {
    let element = call.types[1].element().expect("the argument is an array");
    let is_constant = call.types[0] == DataType::Text && !element.is_text();
    let common = if is_constant { Some(element) } else { common_type(call.types[0], element) };
    let Some(common) = common else {
        let (value, element) = (type_name(call.types[0]), type_name(element));
        let message = format!("function width_bucket({value}, {element}[]) does not exist");
        return Err(Error::new(Code::UndefinedFunction, message));
    };
    let value = cast(call.args[0].clone(), call.types[0], common, call.local)?;
    let Value::Array(array) = &call.args[1] else { return Ok(Value::Null) };
    let thresholds = array.values(element);
    if thresholds.iter().any(Value::is_null) {
        // PostgreSQL has 22004 for it.
        return Err(Error::new(Code::NullNotAllowed, "thresholds array must not contain NULLs"));
    }
    let (mut low, mut high) = (0, thresholds.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let threshold = cast(thresholds[middle].clone(), element, common, call.local)?;
        match value.as_ref().compare(threshold.as_ref()) {
            Ordering::Less => high = middle,
            _ => low = middle + 1,
        }
    }
    bucket(low as i64)
}
