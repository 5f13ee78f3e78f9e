//! Bytes to values.

use weft_format::{Code, DataType, Error, Result, Value};

use super::fields::Fields;
use super::{EPOCH_DAYS, EPOCH_MICROS, numeric};

/// Reads a value of a type from all of these bytes.
pub fn read(bytes: &[u8], data_type: DataType) -> Result<Value> {
    let mut fields = Fields::new(bytes);
    let value = read_fields(&mut fields, data_type);
    value.and_then(|value| fields.end().map(|()| value)).map_err(|error| match error.code() {
        Code::ProtocolViolation => {
            Error::new(Code::InvalidBinary, format!("incorrect binary data format for type {data_type}"))
        }
        _ => error,
    })
}

fn read_fields(fields: &mut Fields<'_>, data_type: DataType) -> Result<Value> {
    Ok(match data_type {
        DataType::Boolean => Value::Bool(fields.u8()? != 0),
        DataType::SmallInt => Value::Int(fields.i16()?.into()),
        DataType::Integer => Value::Int(fields.i32()?.into()),
        DataType::BigInt => Value::Int(fields.i64()?),
        DataType::Real => Value::Float(f32::from_bits(fields.u32()?).into()),
        DataType::DoublePrecision => Value::Float(f64::from_bits(fields.i64()? as u64)),
        DataType::Date => Value::Int(i64::from(fields.i32()?) + EPOCH_DAYS),
        DataType::Timestamp | DataType::TimestampTz => {
            let overflow = || Error::new(Code::DatetimeOverflow, "timestamp out of range");
            Value::Int(fields.i64()?.checked_add(EPOCH_MICROS).ok_or_else(overflow)?)
        }
        DataType::Text | DataType::Varchar(_) => {
            let bytes = fields.bytes(fields.len())?;
            let text = std::str::from_utf8(bytes).map_err(|_| {
                Error::new(Code::CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\"")
            })?;
            Value::Text(text.into())
        }
        DataType::Numeric { precision, scale } => {
            let text = numeric::read(fields.bytes(fields.len())?)?;
            Value::Decimal(crate::text::parse_decimal(&text, precision, scale)?)
        }
    })
}
