//! Values as PostgreSQL reads and writes them as text.
//!
//! ```text
//!   '  42 '        integer            Int(42)                 42
//!   't'            boolean            Bool(true)              t
//!   '1e3'          numeric(10,2)      Decimal(100000)         1000.00
//!   '0.1'          double precision   Float(0.1)              0.1
//!   '2013-01-01'   date               Int(15706)              2013-01-01
//!   '2013-01-01 05:15+01'  timestamptz  Int(1357013700000000)  2013-01-01 04:15:00+00
//!   '{1,NULL}'     integer[]          Array(...)              {1,NULL}
//! ```
//!
//! 1. `parse(print_as(v, t, style), t) == v` for every value of every type and every style, but for moments that a
//!    clock shows twice and that the style tells apart by an abbreviation only.
//! 2. Dates lie in the years 0001 to 9999; `infinity` is refused, not approximated.
//! 3. What depends on the session says so: it takes a [`Local`] or its [`Style`](crate::style::Style). [`print()`] and
//!    [`write()`] are the engine's own text: ISO, UTC.

mod array;
mod bytes;
mod datetime;
mod interval;
mod number;
mod print;
mod set_zone;
mod uuid;

pub use crate::days::{date_parts, days_of};
pub use array::{parse_array, write_array};
pub use bytes::{decode, encode, parse_bytes, write_hex};
use datetime::is_absolute;
pub(crate) use datetime::offset_seconds;
pub(crate) use datetime::write_xsd;
pub use datetime::{parse_date, parse_time, parse_timestamp, parse_timestamptz, reads_present};
pub use interval::{parse_interval, write_interval};
pub use number::{
    NUMERIC_DEFAULT, decimal_overflow, fits_integer, parse_decimal, parse_float, parse_integer, pow10, rescale,
};
pub use print::{print, print_as, write, write_as};
pub use uuid::{parse_uuid, random_uuid, uuid_text};

use std::borrow::Cow;

use weft_format::{Code, DataType, Error, Result, Value};

use crate::json;
use crate::style::Local;

/// Reads a value of a type, as a session means it. Lengths of varchar and char are not tested here: that is the
/// assignment's business.
pub fn parse(text: &str, data_type: DataType, local: &Local) -> Result<Value> {
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
        DataType::Array(element) => parse_array(text, element.data_type(), local).map(Value::Array),
        DataType::Date => parse_date(text, local).map(Value::Int),
        DataType::Timestamp => parse_timestamp(text, local).map(Value::Int),
        DataType::TimestampTz => parse_timestamptz(text, local).map(Value::Int),
    }
}

/// Whether a text means another value of a type in another session, or at another time.
pub fn depends_on_session(text: &str, data_type: DataType) -> bool {
    match data_type {
        DataType::Array(element) => matches!(
            element.data_type(),
            DataType::Date | DataType::Time | DataType::Timestamp | DataType::TimestampTz | DataType::Interval
        ),
        DataType::Date | DataType::Time | DataType::Timestamp | DataType::TimestampTz => !is_absolute(text, data_type),
        // The sign before an interval's first field may be that of all.
        DataType::Interval => text.trim_start().starts_with('-'),
        _ => false,
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

/// `invalid input syntax for type integer: "x"`.
fn invalid_text(text: &str, data_type: DataType) -> Error {
    let name = type_name(data_type);
    Error::new(Code::InvalidText, format!("invalid input syntax for type {name}: \"{}\"", shorten(text)))
}

/// The name of a type in messages, without its arguments.
pub fn type_name(data_type: DataType) -> Cow<'static, str> {
    let name = match data_type {
        DataType::Array(element) => return Cow::Owned(format!("{}[]", type_name(element.data_type()))),
        DataType::Boolean => "boolean",
        DataType::SmallInt => "smallint",
        DataType::Integer => "integer",
        DataType::BigInt => "bigint",
        DataType::Real => "real",
        DataType::DoublePrecision => "double precision",
        DataType::Numeric { .. } => "numeric",
        DataType::Text => "text",
        DataType::Varchar(_) => "character varying",
        DataType::Date => "date",
        DataType::Timestamp => "timestamp without time zone",
        DataType::TimestampTz => "timestamp with time zone",
        DataType::Char(_) => "character",
        DataType::Oid => "oid",
        DataType::Bytea => "bytea",
        DataType::Uuid => "uuid",
        DataType::Time => "time without time zone",
        DataType::Interval => "interval",
        DataType::Json => "json",
        DataType::Jsonb => "jsonb",
    };
    Cow::Borrowed(name)
}

/// At most 100 characters of an offending text, for messages.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod styles_tests;
#[cfg(test)]
mod tests;
