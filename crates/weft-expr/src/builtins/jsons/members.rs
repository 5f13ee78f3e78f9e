//! The members of an object: `json_each` and its kin, by columns.
//!
//! ```text
//!   jsonb_each('{"a": 1, "b": "x"}')      keys {a,b}   values {1,"x"}   texts {1,x}   rows {(a,1),(b,"""x""")}
//! ```
//!
//! The second argument is the function that was called, for messages.

use weft_format::{ArrayValue, Code, DataType, Error, Result, Value};

use super::super::builtin::Call;
use super::records::written_row;
use crate::json;

fn members<'a>(call: &'a Call<'_>) -> Result<Vec<(String, &'a str)>> {
    let text = call.text(0);
    if let Some(members) = json::members(text)? {
        return Ok(members);
    }
    let is_array = json::kind(text) == "array";
    let message = match (call.types[0], is_array) {
        (DataType::Jsonb, _) => format!("cannot call {} on a non-object", call.text(1)),
        (_, true) => "cannot deconstruct an array as an object".to_owned(),
        (_, false) => "cannot deconstruct a scalar".to_owned(),
    };
    Err(Error::new(Code::InvalidParameterValue, message))
}

fn array(element: DataType, values: &[Value]) -> Value {
    Value::Array(ArrayValue::new(element, values.iter().map(Value::as_ref)))
}

/// `weft_json_keys(object, name)`
pub(super) fn keys(call: &Call<'_>) -> Result<Value> {
    let keys: Vec<Value> = members(call)?.into_iter().map(|(key, _)| Value::Text(key.into())).collect();
    Ok(array(DataType::Text, &keys))
}

/// `weft_json_values(object, name)`
pub(super) fn values(call: &Call<'_>) -> Result<Value> {
    let values: Vec<Value> = members(call)?.into_iter().map(|(_, value)| Value::Text(value.into())).collect();
    Ok(array(call.types[0], &values))
}

/// `weft_json_texts(object, name)`
pub(super) fn plain_texts(call: &Call<'_>) -> Result<Value> {
    let plain = |value: &str| Ok(json::plain_text(value)?.map_or(Value::Null, |text| Value::Text(text.into())));
    let texts = members(call)?.into_iter().map(|(_, value)| plain(value)).collect::<Result<Vec<Value>>>()?;
    Ok(array(DataType::Text, &texts))
}

/// `weft_json_members(object, name)`: as texts of two columns.
pub(super) fn rows(call: &Call<'_>) -> Result<Value> {
    let is_text = call.text(1).ends_with("_text");
    let mut rows = Vec::new();
    for (key, value) in members(call)? {
        let value = if is_text { json::plain_text(value)? } else { Some(value.to_owned()) };
        rows.push(Value::Text(written_row([Some(key), value].into_iter()).into()));
    }
    Ok(array(DataType::Text, &rows))
}
