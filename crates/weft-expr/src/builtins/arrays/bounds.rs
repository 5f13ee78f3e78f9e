//! The bounds of arrays.

use weft_format::{ArrayValue, DataType, Result, Value};

use super::super::builtin::Call;
use super::items::elements;

/// `array_dims(array)`: NULL for one without elements, which has no bounds.
pub(super) fn array_dims(call: &Call<'_>) -> Result<Value> {
    let (items, _) = elements(call, 0);
    Ok(if items.is_empty() { Value::Null } else { Value::Text(format!("[1:{}]", items.len()).into()) })
}

/// `generate_subscripts(array, dimension [, reverse])`: no rows for a dimension that there is not.
pub(super) fn generate_subscripts(call: &Call<'_>) -> Result<Value> {
    let (items, _) = elements(call, 0);
    let count = if call.int(1) == 1 { items.len() as i64 } else { 0 };
    let is_reverse = call.count() > 2 && call.bool(2);
    let places = (1..=count).map(|place| Value::Int(if is_reverse { count + 1 - place } else { place }));
    let places: Vec<Value> = places.collect();
    Ok(Value::Array(ArrayValue::new(DataType::Integer, places.iter().map(Value::as_ref))))
}
