//! Slices of arrays, and values with a part assigned: what `SET a[2] = x`, `SET a[2:3] = x` and `SET j['k'] = x` put
//! into a column.
//!
//! ```text
//!   weft_slice('{a,b,c}', -1, 2)                          {a,b}
//!   weft_put_element('{a,b}', 'x', 4)                     {a,b,NULL,x}
//!   weft_put_slice('{a,b,c}', '{x,y}', 'both', 2, 3)      {a,x,y}
//!   weft_put_json('{"a": 1}', '2', 'b', 0)                {"a": 1, "b": [2]}
//! ```
//!
//! A column that is NULL is taken for an empty array, or for an empty array or object by the first subscript.

use weft_format::{ArrayValue, Code, DataType, Error, Result, Value};

use super::builtin::Call;
use super::limits::check_elements;
use crate::json;

/// `weft_slice(array, lower, upper)`
pub(super) fn slice(call: &Call<'_>) -> Result<Value> {
    let element = call.result.element().expect("the first argument is an array");
    let all = items(call, 0, element);
    let lower = usize::try_from(call.int(1) - 1).unwrap_or_default();
    let upper = usize::try_from(call.int(2)).unwrap_or_default().min(all.len());
    let found = all.get(lower..upper).unwrap_or_default();
    Ok(Value::Array(ArrayValue::new(element, found.iter().map(Value::as_ref))))
}

/// `weft_put_element(array, element, subscript)`
pub(super) fn put_element(call: &Call<'_>) -> Result<Value> {
    let element = call.result.element().expect("the first argument is an array");
    let mut items = items(call, 0, element);
    let place = place(call, 2)?;
    put_at(&mut items, place, std::slice::from_ref(&call.args[1]))?;
    Ok(Value::Array(ArrayValue::new(element, items.iter().map(Value::as_ref))))
}

/// `weft_put_slice(array, elements, which bounds are given, lower, upper)`
pub(super) fn put_slice(call: &Call<'_>) -> Result<Value> {
    if call.is_null(2) {
        return Ok(Value::Null);
    }
    let element = call.result.element().expect("the first argument is an array");
    let mut all = items(call, 0, element);
    let whole = |all: &[Value]| Value::Array(ArrayValue::new(element, all.iter().map(Value::as_ref)));
    let (has_lower, has_upper) = match call.text(2) {
        "both" => (true, true),
        "lower" => (true, false),
        "upper" => (false, true),
        _ => (false, false),
    };
    let lower = if has_lower { place(call, 3)? } else { 1 };
    let upper = if has_upper { place(call, 4)? } else { all.len() as i64 };
    if call.is_null(1) {
        return Ok(whole(&all));
    }
    if all.is_empty() && !(has_lower && has_upper) {
        return Err(Error::new(Code::ArraySubscript, "array slice subscript must provide both boundaries")
            .detail("When assigning to a slice of an empty array value, slice boundaries must be fully specified."));
    }
    if lower > upper {
        return match all.is_empty() && lower == upper + 1 {
            true => Ok(whole(&all)),
            false => Err(Error::new(Code::ArraySubscript, "upper bound cannot be less than lower bound")),
        };
    }
    let new = items(call, 1, element);
    let count = usize::try_from(upper - lower + 1).unwrap_or(usize::MAX);
    let Some(new) = new.get(..count) else {
        return Err(Error::new(Code::ArraySubscript, "source array too small"));
    };
    put_at(&mut all, lower, new)?;
    Ok(whole(&all))
}

/// `weft_put_json(value, part, subscript, ...)`
pub(super) fn put_json(call: &Call<'_>) -> Result<Value> {
    let mut path = Vec::with_capacity(call.count() - 2);
    for at in 2..call.count() {
        let data_type = call.types[at];
        if !data_type.is_text() && !matches!(data_type, DataType::Integer | DataType::SmallInt) {
            let message = format!("subscript type {} is not supported", crate::text::type_name(data_type));
            return Err(Error::new(Code::DatatypeMismatch, message)
                .hint("jsonb subscript must be coercible to either integer or text."));
        }
        path.push(match &call.args[at] {
            Value::Null => {
                let message = "jsonb subscript in assignment must not be null";
                return Err(Error::new(Code::NullNotAllowed, message));
            }
            _ => call.shown(at),
        });
    }
    let empty = if call.types[2].is_text() { "{}" } else { "[]" };
    let old = if call.is_null(0) { empty } else { call.text(0) };
    let new = if call.is_null(1) { "null" } else { call.text(1) };
    json::assigned(old, &path, new).map(|made| Value::Text(made.into()))
}

fn items(call: &Call<'_>, at: usize, element: DataType) -> Vec<Value> {
    match &call.args[at] {
        Value::Array(array) => array.values(element),
        _ => Vec::new(),
    }
}

fn place(call: &Call<'_>, at: usize) -> Result<i64> {
    if call.is_null(at) {
        return Err(Error::new(Code::NullNotAllowed, "array subscript in assignment must not be null"));
    }
    Ok(call.int(at))
}

/// Puts elements from a subscript on; NULLs fill what is between them and the end.
fn put_at(all: &mut Vec<Value>, place: i64, new: &[Value]) -> Result<()> {
    let is_first = all.is_empty() && place != 1;
    let Some(from) = usize::try_from(place - 1).ok().filter(|_| !is_first) else {
        return Err(Error::new(Code::FeatureNotSupported, "the lower bound of an array is 1")
            .hint("assign to the subscript 1 first, or put the elements into one array with ||"));
    };
    check_elements(from.saturating_add(new.len()))?;
    if all.len() < from + new.len() {
        all.resize(from + new.len(), Value::Null);
    }
    all[from..from + new.len()].clone_from_slice(new);
    Ok(())
}
