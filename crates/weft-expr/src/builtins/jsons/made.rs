//! JSON made of arrays, and of lists of keys and values.

use weft_format::{Code, DataType, Error, Result, Value};

use super::super::builtin::Call;
use super::texts::texts;
use crate::json;

type Pairs = Vec<(Option<String>, Option<String>)>;

/// `json_object(texts)`: keys and values in turns.
pub(super) fn object_of_pairs(call: &Call<'_>) -> Result<Value> {
    let all = texts(call, 0);
    if !all.len().is_multiple_of(2) {
        return Err(Error::new(Code::ArraySubscript, "array must have even number of elements"));
    }
    let mut pairs = Pairs::with_capacity(all.len() / 2);
    let mut all = all.into_iter();
    while let (Some(key), Some(value)) = (all.next(), all.next()) {
        pairs.push((key, value));
    }
    object(pairs, call.result)
}

/// `json_object(keys, values)`
pub(super) fn object_of_lists(call: &Call<'_>) -> Result<Value> {
    let (keys, values) = (texts(call, 0), texts(call, 1));
    if keys.is_empty() != values.is_empty() {
        return Err(Error::new(Code::ArraySubscript, "wrong number of array subscripts"));
    }
    if keys.len() != values.len() {
        return Err(Error::new(Code::ArraySubscript, "mismatched array dimensions"));
    }
    object(keys.into_iter().zip(values).collect(), call.result)
}

/// A json with the members as they come; a jsonb with the last of equal keys.
fn object(pairs: Pairs, result: DataType) -> Result<Value> {
    let mut members = Vec::with_capacity(pairs.len());
    for (key, value) in pairs {
        let null = || Error::new(Code::NullNotAllowed, "null value not allowed for object key");
        members.push((key.ok_or_else(null)?, value.map_or_else(|| "null".to_owned(), |value| quoted(&value))));
    }
    if result == DataType::Jsonb {
        return Ok(Value::Text(json::object_text(members).into()));
    }
    let written: Vec<String> = members.iter().map(|(key, value)| format!("{} : {value}", quoted(key))).collect();
    Ok(Value::Text(format!("{{{}}}", written.join(", ")).into()))
}

pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    json::quote(text, &mut out);
    out
}

/// `array_to_json(array [, pretty])`: with a line for each element if it is to be pretty.
pub(super) fn array_to_json(call: &Call<'_>) -> Result<Value> {
    let element = call.types[0].element().expect("an argument that takes arrays was cast to one");
    let Value::Array(array) = &call.args[0] else { return Ok(Value::Null) };
    let style = &call.local.style;
    let items = array.values(element);
    let written = items.iter().map(|item| json::json_text(item, element, style)).collect::<Result<Vec<String>>>()?;
    let between = if call.count() > 1 && call.bool(1) { ",\n " } else { "," };
    Ok(Value::Text(format!("[{}]", written.join(between)).into()))
}
