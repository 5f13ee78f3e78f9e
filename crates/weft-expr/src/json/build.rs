//! JSON text from parts, and from SQL values.

use weft_format::{DataType, Result, Value};

use super::canonical::canonical;
use crate::style::Style;
use crate::text::{print, print_as, write_xsd};

/// Appends a JSON string.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// An object of canonical members: of equal keys the last one counts.
pub fn object_text(mut members: Vec<(String, String)>) -> String {
    // Stable, and turned around first: the last of equal keys comes first.
    members.reverse();
    members.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
    members.dedup_by(|(later, _), (first, _)| later == first);
    let mut out = String::from("{");
    for (at, (key, member)) in members.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        quote(key, &mut out);
        out.push_str(": ");
        out.push_str(member);
    }
    out.push('}');
    out
}

/// An array of canonical elements.
pub fn array_text<'a>(elements: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::from("[");
    for (at, element) in elements.enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        out.push_str(element);
    }
    out.push(']');
    out
}

/// `to_jsonb(value)`, `to_json(value)`: timestamps in ISO 8601, in the session's zone.
pub fn value_text(value: &Value, data_type: DataType, style: &Style) -> Result<String> {
    Ok(match value {
        Value::Null => "null".to_owned(),
        Value::Bool(v) => v.to_string(),
        Value::Text(text) if data_type == DataType::Jsonb => text.to_string(),
        Value::Text(text) if data_type == DataType::Json => canonical(text)?,
        Value::Array(array) => {
            let element = data_type.element().unwrap_or(DataType::Text);
            let parts = array
                .values(element)
                .iter()
                .map(|item| value_text(item, element, style))
                .collect::<Result<Vec<_>>>()?;
            array_text(parts.iter().map(String::as_str))
        }
        Value::Float(v) if v.is_finite() => canonical(&print(value.as_ref(), data_type))?,
        Value::Decimal(_) => print(value.as_ref(), data_type),
        Value::Int(v) if matches!(data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt) => {
            v.to_string()
        }
        other => {
            let mut printed = String::new();
            match (data_type, other) {
                (DataType::Timestamp | DataType::TimestampTz, Value::Int(micros)) => {
                    write_xsd(&mut printed, *micros, data_type == DataType::TimestampTz, style);
                }
                (DataType::Date, _) => printed = print(other.as_ref(), data_type),
                _ => printed = print_as(other.as_ref(), data_type, style),
            }
            let mut out = String::with_capacity(printed.len() + 2);
            quote(&printed, &mut out);
            out
        }
    })
}
