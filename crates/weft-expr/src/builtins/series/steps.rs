//! From step to step.

use weft_format::{ArrayValue, Code, DataType, Error, Result, Value};

use super::super::builtin::Call;
use super::super::limits::check_elements;
use crate::routines::{Routine, Signature, call as call_routine};

fn no_step() -> Error {
    Error::new(Code::InvalidParameterValue, "step size cannot equal zero").hint("give a step other than 0")
}

fn array(call: &Call<'_>, values: &[Value]) -> Value {
    let element = call.result.element().expect("a series is an array");
    Value::Array(ArrayValue::new(element, values.iter().map(Value::as_ref)))
}

/// `generate_series(start, stop [, step])` of integers.
pub(super) fn of_integers(call: &Call<'_>) -> Result<Value> {
    let (start, stop) = (call.int(0), call.int(1));
    let step = if call.count() > 2 { call.int(2) } else { 1 };
    if step == 0 {
        return Err(no_step());
    }
    let is_there = if step > 0 { start <= stop } else { start >= stop };
    let count = if is_there { (i128::from(stop) - i128::from(start)) / i128::from(step) + 1 } else { 0 };
    check_elements(usize::try_from(count).unwrap_or(usize::MAX))?;
    let values: Vec<Value> = (0..count as i64).map(|place| Value::Int(start + place * step)).collect();
    Ok(array(call, &values))
}

/// The same of timestamps, with or without a zone.
pub(super) fn of_moments(call: &Call<'_>) -> Result<Value> {
    let (start, stop, step) = (call.int(0), call.int(1), call.interval(2));
    if step.span() == 0 {
        return Err(no_step());
    }
    let data_type = call.types[0];
    let plus = Signature::new(Routine::TimestampPlusInterval, [data_type, DataType::Interval], data_type);
    let is_forward = step.span() > 0;
    let mut values = Vec::new();
    let mut at = start;
    while if is_forward { at <= stop } else { at >= stop } {
        values.push(Value::Int(at));
        check_elements(values.len())?;
        let next = call_routine(&plus, &[Value::Int(at), call.args[2].clone()], call.local, call.random)?;
        let Value::Int(next) = next else { unreachable!("a timestamp and an interval are a timestamp") };
        if (next > at) != is_forward {
            break;
        }
        at = next;
    }
    Ok(array(call, &values))
}
