//! Arrays made of one value, and arrays cut at their end.

use weft_format::{ArrayValue, Code, DataType, Error, Result, Value};

use super::super::builtin::Call;
use super::super::limits::check_elements;
use super::items::elements;

/// The most elements of an array, as PostgreSQL has it.
const ELEMENTS_MAX: i64 = 134_217_727;
/// The most dimensions of an array, as PostgreSQL has it.
const DIMENSIONS_MAX: usize = 6;
/// The most bytes of an array that is made at one time.
const BYTES_MAX: usize = 256 << 20;

/// `array_fill(value, dimensions [, lower bounds])`
pub(super) fn array_fill(call: &Call<'_>) -> Result<Value> {
    let null = |what: &str| Error::new(Code::NullNotAllowed, format!("{what} cannot be null"));
    if (1..call.count()).any(|at| call.is_null(at)) {
        return Err(null("dimension array or low bound array"));
    }
    let whole = |at: usize| elements(call, at).0.iter().map(as_int).collect::<Option<Vec<i64>>>();
    let sizes = whole(1).ok_or_else(|| null("dimension values"))?;
    let lower = if call.count() > 2 { whole(2).ok_or_else(|| null("dimension values"))? } else { vec![1; sizes.len()] };
    if lower.len() != sizes.len() {
        return Err(Error::new(Code::ArraySubscript, "wrong number of array subscripts")
            .detail("Low bound array has different size than dimensions array."));
    }
    let count = match sizes[..] {
        [] => 0,
        [count] => count,
        _ if sizes.len() > DIMENSIONS_MAX => {
            let message =
                format!("number of array dimensions ({}) exceeds the maximum allowed ({DIMENSIONS_MAX})", sizes.len());
            return Err(Error::new(Code::ProgramLimit, message));
        }
        _ if sizes.contains(&0) => 0,
        _ => return Err(one_dimension()),
    };
    let Some(element) = call.result.element().filter(|element| *element == call.types[0]) else {
        return Err(one_dimension());
    };
    if !(0..=ELEMENTS_MAX).contains(&count) {
        return Err(too_large());
    }
    if count > 0 && lower[0] != 1 {
        return Err(one_dimension());
    }
    filled(&call.args[0], element, count as usize)
}

fn as_int(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}

fn filled(value: &Value, element: DataType, count: usize) -> Result<Value> {
    let one = ArrayValue::new(element, [value.as_ref()]);
    if one.as_bytes().len().saturating_mul(count) > BYTES_MAX {
        return Err(too_large());
    }
    check_elements(count)?;
    Ok(Value::Array(ArrayValue::new(element, std::iter::repeat_n(value.as_ref(), count))))
}

fn one_dimension() -> Error {
    Error::new(Code::FeatureNotSupported, "arrays have one dimension, and its lower bound is 1")
        .hint("keep inner arrays as jsonb")
}

fn too_large() -> Error {
    Error::new(Code::ProgramLimit, format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})"))
}

/// `trim_array(array, n)`: without its last n elements.
pub(super) fn trim_array(call: &Call<'_>) -> Result<Value> {
    let (items, element) = elements(call, 0);
    let left = usize::try_from(call.int(1)).ok().and_then(|cut| items.len().checked_sub(cut));
    let Some(left) = left else {
        let message = format!("number of elements to trim must be between 0 and {}", items.len());
        return Err(Error::new(Code::ArraySubscript, message));
    };
    Ok(Value::Array(ArrayValue::new(element, items[..left].iter().map(Value::as_ref))))
}
