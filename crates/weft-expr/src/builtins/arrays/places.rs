//! Where a value is among the elements of an array.

use std::cmp::Ordering;

use weft_format::{ArrayValue, Code, DataType, Error, Result, Value};

use super::super::builtin::Call;
use super::items::elements;
use crate::json;
use crate::text::type_name;
use crate::types::common_type;

/// `array_position(array, value, start)`: the first place from the start on that has the value.
pub(super) fn array_position(call: &Call<'_>) -> Result<Value> {
    if call.is_null(0) {
        return Ok(Value::Null);
    }
    if call.is_null(2) {
        return Err(Error::new(Code::NullNotAllowed, "initial position must not be null"));
    }
    let start = call.int(2);
    let found = places(call)?.into_iter().find(|place| *place >= start);
    Ok(found.map_or(Value::Null, Value::Int))
}

/// `array_positions(array, value)`: all places that have the value; NULL is where NULL is.
pub(super) fn array_positions(call: &Call<'_>) -> Result<Value> {
    if call.is_null(0) {
        return Ok(Value::Null);
    }
    let places: Vec<Value> = places(call)?.into_iter().map(Value::Int).collect();
    Ok(Value::Array(ArrayValue::new(DataType::Integer, places.iter().map(Value::as_ref))))
}

fn places(call: &Call<'_>) -> Result<Vec<i64>> {
    let (items, value, common) = comparable(call)?;
    let mut found = Vec::new();
    for (item, place) in items.iter().zip(1..) {
        if is_same(item, &value, common)? {
            found.push(place);
        }
    }
    Ok(found)
}

fn is_same(a: &Value, b: &Value, of: DataType) -> Result<bool> {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) if of == DataType::Jsonb => json::is_equal(a, b),
        _ => Ok(a.as_ref().compare(b.as_ref()) == Ordering::Equal),
    }
}

/// The elements of the array and the value, in the type that they meet in. A text is read as an element.
fn comparable(call: &Call<'_>) -> Result<(Vec<Value>, Value, DataType)> {
    let ((items, element), given) = (elements(call, 0), call.types[1]);
    let common = match common_type(element, given) {
        Some(common) => common,
        None if given.is_text() => element,
        None => {
            let message = format!("could not compare {} with {}", type_name(element), type_name(given));
            return Err(Error::new(Code::UndefinedFunction, message).hint("cast the value to the type of the elements"));
        }
    };
    if common == DataType::Json {
        let message = "could not identify an equality operator for type json";
        return Err(Error::new(Code::UndefinedFunction, message));
    }
    let to_common = |item: Value, from| crate::cast(item, from, common, call.local);
    let items = items.into_iter().map(|item| to_common(item, element)).collect::<Result<Vec<Value>>>()?;
    Ok((items, to_common(call.args[1].clone(), given)?, common))
}
