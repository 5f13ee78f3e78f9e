//! Rows as JSON and as texts, and the columns of JSON objects.
//!
//! ```text
//!   row_to_json(t)                      weft_json_row(false, 'id', t.id, 'name', t.name)      {"id":1,"name":"a"}
//!   SELECT t FROM t                     weft_row_text('(', t.id, t.name)                      (1,a)
//!   json_to_record(j) AS r (a int)      weft_json_field(weft_json_record(j, name), 'a', CAST(NULL AS int)) AS a
//!   json_to_recordset(j) AS r (a int)   the same of each of weft_json_records(j, name)
//! ```
//!
//! 1. The last argument of a field is what it is when the object has no such key; it gives the type.

use weft_format::{ArrayValue, Code, DataType, Error, Result, Value};

use super::super::builtin::Call;
use crate::cast::cast;
use crate::json;
use crate::style::Local;
use crate::text::print_as;

/// A row as a json: whether it is to be pretty, then names and values in turns.
pub const JSON_ROW: &str = "weft_json_row";
/// A row as a text; its first argument says nothing.
pub const ROW_TEXT: &str = "weft_row_text";
/// A column of such an object.
pub const JSON_FIELD: &str = "weft_json_field";

/// `weft_json_row(pretty, name, value, ...)`
pub(super) fn json_row(call: &Call<'_>) -> Result<Value> {
    let is_pretty = matches!(call.args[0], Value::Bool(true));
    let mut out = String::from("{");
    let (args, types) = (&call.args[1..], &call.types[1..]);
    for (at, (pair, types)) in args.chunks(2).zip(types.chunks(2)).enumerate() {
        let ([Value::Text(name), value], [_, of]) = (pair, types) else {
            return Err(Error::internal("a row as json has names and values in turns"));
        };
        if at > 0 {
            out.push_str(if is_pretty { ",\n " } else { "," });
        }
        json::quote(name, &mut out);
        out.push(':');
        out.push_str(&json::json_text(value, *of, &call.local.style)?);
    }
    out.push('}');
    Ok(Value::Text(out.into()))
}

/// `weft_row_text('(', value, ...)`
pub(super) fn row_text(call: &Call<'_>) -> Result<Value> {
    let column = |(value, of): (&Value, &DataType)| match value {
        Value::Null => None,
        Value::Bool(value) => Some(if *value { "t" } else { "f" }.to_owned()),
        value => Some(print_as(value.as_ref(), *of, &call.local.style)),
    };
    Ok(Value::Text(written_row(call.args.iter().zip(call.types).skip(1).map(column)).into()))
}

/// The text of a row: `(1,"a b",)`.
pub(super) fn written_row(columns: impl Iterator<Item = Option<String>>) -> String {
    let mut out = String::from("(");
    for (at, column) in columns.enumerate() {
        if at > 0 {
            out.push(',');
        }
        let Some(column) = column else { continue };
        let is_blank = |c: char| c.is_ascii_whitespace() || c == '\u{b}';
        let is_plain = |c: char| !matches!(c, '"' | '\\' | '(' | ')' | ',') && !is_blank(c);
        if !column.is_empty() && column.chars().all(is_plain) {
            out.push_str(&column);
            continue;
        }
        out.push('"');
        for c in column.chars() {
            if matches!(c, '"' | '\\') {
                out.push(c);
            }
            out.push(c);
        }
        out.push('"');
    }
    out.push(')');
    out
}

/// `weft_json_record(object, name)`: the object, if it is one.
pub(super) fn record(call: &Call<'_>) -> Result<Value> {
    let text = call.text(0);
    let what = match json::kind(text) {
        "object" => return Ok(call.args[0].clone()),
        "array" => "an array",
        _ => "a scalar",
    };
    Err(Error::new(Code::InvalidParameterValue, format!("cannot call {} on {what}", call.text(1))))
}

/// `weft_json_records(array, name)`: its objects.
pub(super) fn records(call: &Call<'_>) -> Result<Value> {
    let (text, name) = (call.text(0), call.text(1));
    let Some(items) = json::items(text)? else {
        let what = if json::kind(text) == "object" { "an object" } else { "a scalar" };
        return Err(Error::new(Code::InvalidParameterValue, format!("cannot call {name} on {what}")));
    };
    if items.iter().any(|item| json::kind(item) != "object") {
        let message = format!("argument of {name} must be an array of objects");
        return Err(Error::new(Code::InvalidParameterValue, message));
    }
    let items: Vec<Value> = items.into_iter().map(|item| Value::Text(item.into())).collect();
    Ok(Value::Array(ArrayValue::new(call.types[0], items.iter().map(Value::as_ref))))
}

/// `weft_json_field(object, key, default)`
pub(super) fn field(call: &Call<'_>) -> Result<Value> {
    let (Value::Text(object), Value::Text(key)) = (&call.args[0], &call.args[1]) else {
        return Ok(call.args[2].clone());
    };
    match json::get_key(object, key)? {
        Some(found) => read(found, call.types[2], key, call.local),
        None => Ok(call.args[2].clone()),
    }
}

/// A json value as a value of a type.
pub(in super::super) fn read(found: &str, to: DataType, key: &str, local: &Local) -> Result<Value> {
    let kind = json::kind(found);
    if kind == "null" {
        return Ok(Value::Null);
    }
    match to {
        DataType::Json => Ok(Value::Text(found.into())),
        DataType::Jsonb => Ok(Value::Text(json::canonical(found)?.into())),
        DataType::Array(element) if kind != "string" => {
            let Some(items) = json::items(found)? else {
                let error = Error::new(Code::InvalidText, "expected JSON array");
                return Err(error.hint(format!("See the value of key \"{key}\".")));
            };
            let element = element.data_type();
            let values = items.into_iter().map(|item| match json::kind(item) {
                "array" if !matches!(element, DataType::Json | DataType::Jsonb) => {
                    let message = format!("an array of arrays (key \"{key}\") is not supported");
                    Err(Error::new(Code::FeatureNotSupported, message).hint("take the column as json"))
                }
                _ => read(item, element, key, local),
            });
            let values = values.collect::<Result<Vec<Value>>>()?;
            Ok(Value::Array(ArrayValue::new(element, values.iter().map(Value::as_ref))))
        }
        _ => {
            let plain = json::plain_text(found)?.unwrap_or_default();
            cast(Value::Text(plain.into()), DataType::Text, to, local)
        }
    }
}
