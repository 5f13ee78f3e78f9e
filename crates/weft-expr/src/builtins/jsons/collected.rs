//! What `json_agg` and `json_object_agg` make of an `array_agg`.
//!
//! ```text
//!   json_agg(x)                weft_json_list(array_agg(weft_json_item(x)))             [1, 2]     [[1,2], ⏎ [3]]
//!   json_object_agg(k, v)      weft_json_object(array_agg(weft_json_pair(k, v)))        { "a" : 1, "b" : 2 }
//!   jsonb_object_agg(k, v)     weft_jsonb_object(array_agg(weft_jsonb_pair(k, v)))      {"a": 1, "b": 2}
//! ```
//!
//! 1. An element that begins with [`ON_A_LINE`] stands on a line of its own: arrays and rows do.

use weft_format::{Code, DataType, Error, Result, Value};

use super::super::builtin::Call;
use super::super::limits::check_pieces;
use super::made::quoted;
use crate::json;
use crate::text::print_as;

/// An element of `json_agg`, as a json.
pub const JSON_ITEM: &str = "weft_json_item";
/// The json array of an array.
pub const JSON_LIST: &str = "weft_json_list";
/// A member of `json_object_agg`.
pub const JSON_PAIR: &str = "weft_json_pair";
/// The json object of members.
pub const JSON_OBJECT: &str = "weft_json_object";
/// A member of `jsonb_object_agg`.
pub const JSONB_PAIR: &str = "weft_jsonb_pair";
/// The jsonb object of members.
pub const JSONB_OBJECT: &str = "weft_jsonb_object";

/// Begins an element with a line of its own; no json begins with it.
pub(super) const ON_A_LINE: char = '\u{1}';

/// `weft_json_item(value [, is a row])`
pub(super) fn json_item(call: &Call<'_>) -> Result<Value> {
    let text = json::json_text(&call.args[0], call.types[0], &call.local.style)?;
    let is_lined = call.types[0].element().is_some() || call.count() > 1 && call.bool(1);
    Ok(Value::Text(if is_lined { format!("{ON_A_LINE}{text}") } else { text }.into()))
}

/// `weft_json_list(array)`
pub(super) fn json_list(call: &Call<'_>) -> Result<Value> {
    let element = call.types[0].element().expect("an argument that takes arrays was cast to one");
    let Value::Array(array) = &call.args[0] else { return Ok(Value::Null) };
    let mut out = String::from("[");
    for (at, item) in array.values(element).iter().enumerate() {
        let text = json::json_text(item, element, &call.local.style)?;
        let lined = text.strip_prefix(ON_A_LINE);
        if at > 0 {
            out.push_str(if lined.is_some() { ", \n " } else { ", " });
        }
        out.push_str(lined.unwrap_or(&text));
    }
    out.push(']');
    check_pieces([out.len()])?;
    Ok(Value::Text(out.into()))
}

fn key(call: &Call<'_>) -> Result<String> {
    match &call.args[0] {
        Value::Null => Err(Error::new(Code::InvalidParameterValue, "field name must not be null")),
        Value::Array(_) => {
            let message = "key value must be scalar, not array, composite, or json";
            Err(Error::new(Code::InvalidParameterValue, message))
        }
        Value::Bool(value) => Ok(value.to_string()),
        other => Ok(print_as(other.as_ref(), call.types[0], &call.local.style)),
    }
}

/// `weft_json_pair(key, value)`: a part of an object; NULL for a key that is NULL, of a row that may be filtered out.
pub(super) fn json_pair(call: &Call<'_>) -> Result<Value> {
    if call.is_null(0) {
        return Ok(Value::Null);
    }
    let value = json::json_text(&call.args[1], call.types[1], &call.local.style)?;
    Ok(Value::Text(format!("{} : {value}", quoted(&key(call)?)).into()))
}

/// `weft_json_object(pairs)`
pub(super) fn json_object_of(call: &Call<'_>) -> Result<Value> {
    let pairs = parts(call)?;
    check_pieces(pairs.iter().map(|pair| pair.len() + 2))?;
    Ok(Value::Text(format!("{{ {} }}", pairs.join(", ")).into()))
}

/// `weft_jsonb_pair(key, value)`: an object of one member; NULL for a key that is NULL.
pub(super) fn jsonb_pair(call: &Call<'_>) -> Result<Value> {
    if call.is_null(0) {
        return Ok(Value::Null);
    }
    let value = json::value_text(&call.args[1], call.types[1], &call.local.style)?;
    Ok(Value::Text(json::object_text(vec![(key(call)?, value)]).into()))
}

/// `weft_jsonb_object(pairs)`: of equal keys the last one counts.
pub(super) fn jsonb_object_of(call: &Call<'_>) -> Result<Value> {
    let pairs = parts(call)?;
    check_pieces(pairs.iter().map(String::len))?;
    let mut members = Vec::with_capacity(pairs.len());
    for pair in &pairs {
        let pair = json::members(pair)?.unwrap_or_default();
        members.extend(pair.into_iter().map(|(key, value)| (key, value.to_owned())));
    }
    Ok(Value::Text(json::object_text(members).into()))
}

/// The pairs of an aggregate, each with a key.
fn parts(call: &Call<'_>) -> Result<Vec<String>> {
    let Value::Array(array) = &call.args[0] else { return Ok(Vec::new()) };
    let without_key = || Error::new(Code::InvalidParameterValue, "field name must not be null");
    let pairs = array.values(DataType::Json).into_iter();
    pairs.map(|pair| super::texts::text(pair).ok_or_else(without_key)).collect()
}
