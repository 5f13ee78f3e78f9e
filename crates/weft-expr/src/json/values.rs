//! JSON text from SQL values: of json and of jsonb.

use weft_format::{DataType, Result, Value};

use super::build::{array_text, quote};
use super::canonical::canonical;
use crate::style::Style;
use crate::text::{print, print_as, write_xsd};

/// A value within a json: json as it was written, arrays without blanks, floats with their exponents.
pub fn json_text(value: &Value, data_type: DataType, style: &Style) -> Result<String> {
    match value {
        Value::Text(text) if data_type == DataType::Json => Ok(text.to_string()),
        Value::Float(number) if number.is_finite() => Ok(print_as(value.as_ref(), data_type, style)),
        Value::Array(array) => {
            let element = data_type.element().unwrap_or(DataType::Text);
            let items = array.values(element);
            let parts = items.iter().map(|item| json_text(item, element, style)).collect::<Result<Vec<String>>>()?;
            Ok(format!("[{}]", parts.join(",")))
        }
        _ => value_text(value, data_type, style),
    }
}

/// A value within a jsonb: timestamps in ISO 8601, in the session's zone.
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
