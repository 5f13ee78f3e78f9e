//! Text to values that are no arrays.

use weft_format::{Code, DataType, Error, Result, Value, enums};

use super::bits::parse_bits;
use super::bytes::parse_bytes;
use super::datetime::{parse_date, parse_time, parse_timestamp, parse_timestamptz};
use super::interval::parse_interval;
use super::messages::{invalid_text, shorten};
use super::number::{parse_decimal, parse_float, parse_integer};
use super::uuid::parse_uuid;
use crate::bits;
use crate::builtins::jsonpath;
use crate::json;
use crate::style::Local;

/// Reads a value of a type that is no array, as a session means it.
pub(super) fn read_scalar(text: &str, data_type: DataType, local: &Local) -> Result<Value> {
    match data_type {
        DataType::Boolean => parse_boolean(text).map(Value::Bool),
        DataType::SmallInt | DataType::Integer | DataType::BigInt => parse_integer(text, data_type).map(Value::Int),
        DataType::Real | DataType::DoublePrecision => parse_float(text, data_type).map(Value::Float),
        DataType::Numeric { precision, scale } => parse_decimal(text, precision, scale).map(Value::Decimal),
        DataType::Text | DataType::Varchar(_) => Ok(Value::Text(text.into())),
        DataType::Char(_) => Ok(Value::Text(text.trim_end_matches(' ').into())),
        DataType::Oid => parse_oid(text).map(Value::Int),
        DataType::Bytea => parse_bytes(text).map(|bytes| Value::Bytes(bytes.into())),
        DataType::Uuid => parse_uuid(text).map(Value::Uuid),
        DataType::Time => parse_time(text, local).map(Value::Int),
        DataType::Interval => parse_interval(text, &local.style).map(Value::Interval),
        DataType::Json => json::validate(text).map(|()| Value::Text(text.into())),
        DataType::Jsonb => json::canonical(text).map(|text| Value::Text(text.into())),
        DataType::JsonPath => jsonpath::canonical(text).map(|text| Value::Text(text.into())),
        DataType::Bit(_) | DataType::VarBit(_) => {
            let bits = parse_bits(text)?;
            bits::fit(&bits, data_type)?;
            Ok(Value::Text(bits.into()))
        }
        DataType::Enum(id) => enums::code_of(id, text).map(Value::Int),
        DataType::Array(_) => unreachable!("elements of arrays are no arrays"),
        DataType::Date => parse_date(text, local).map(Value::Int),
        DataType::Timestamp => parse_timestamp(text, local).map(Value::Int),
        DataType::TimestampTz => parse_timestamptz(text, local).map(Value::Int),
    }
}

fn parse_boolean(text: &str) -> Result<bool> {
    let word = text.trim().to_ascii_lowercase();
    let is_prefix = |full: &str, least: usize| word.len() >= least && full.starts_with(&word);
    if is_prefix("true", 1) || is_prefix("yes", 1) || word == "on" || word == "1" {
        Ok(true)
    } else if is_prefix("false", 1) || is_prefix("no", 1) || is_prefix("off", 2) || word == "0" {
        Ok(false)
    } else {
        Err(invalid_text(text, DataType::Boolean))
    }
}

/// Reads an oid; negative numbers wrap around, as PostgreSQL has it.
fn parse_oid(text: &str) -> Result<i64> {
    let value = parse_integer(text, DataType::BigInt).map_err(|_| invalid_text(text, DataType::Oid))?;
    match u32::try_from(value).or_else(|_| i32::try_from(value).map(|value| value as u32)) {
        Ok(oid) => Ok(oid.into()),
        Err(_) => {
            let message = format!("value \"{}\" is out of range for type oid", shorten(text));
            Err(Error::new(Code::NumericOutOfRange, message))
        }
    }
}
