//! Bytes to values.

use weft_expr::Local;
use weft_expr::text;
use weft_format::{ArrayValue, Code, DataType, Error, Interval, Result, Value};

use super::fields::Fields;
use super::{EPOCH_DAYS, EPOCH_MICROS, JSONB_VERSION, bits, numeric};
use crate::oids;

const MICROS_OF_DAY: i64 = 86_400_000_000;

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
        DataType::Oid => Value::Int(fields.u32()?.into()),
        DataType::Time => {
            let micros = fields.i64()?;
            if !(0..=MICROS_OF_DAY).contains(&micros) {
                return Err(Error::new(Code::DatetimeOverflow, "time out of range"));
            }
            Value::Int(micros)
        }
        DataType::Uuid => Value::Uuid(u128::from_be_bytes(fields.bytes(16)?.try_into().expect("16 bytes were taken"))),
        DataType::Interval => {
            let (micros, days, months) = (fields.i64()?, fields.i32()?, fields.i32()?);
            Value::Interval(Interval { months, days, micros })
        }
        DataType::Bytea => Value::Bytes(fields.bytes(fields.len())?.into()),
        DataType::Text | DataType::Varchar(_) => Value::Text(utf8(fields.bytes(fields.len())?)?.into()),
        DataType::Char(_) | DataType::Json | DataType::Enum(_) => {
            text::parse(utf8(fields.bytes(fields.len())?)?, data_type, Local::fixed())?
        }
        DataType::Jsonb | DataType::JsonPath => {
            let version = fields.u8()?;
            if version != JSONB_VERSION {
                let message = match data_type {
                    DataType::Jsonb => format!("unsupported jsonb version number {version}"),
                    _ => format!("unsupported jsonpath version number: {version}"),
                };
                return Err(Error::new(Code::InvalidBinary, message));
            }
            text::parse(utf8(fields.bytes(fields.len())?)?, data_type, Local::fixed())?
        }
        DataType::Bit(_) | DataType::VarBit(_) => Value::Text(bits::read(fields)?.into()),
        DataType::Array(element) => Value::Array(read_array(fields, element.data_type())?),
        DataType::Numeric { precision, scale } => {
            let text = numeric::read(fields.bytes(fields.len())?)?;
            Value::Decimal(crate::text::parse_decimal(&text, precision, scale)?)
        }
    })
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes)
        .map_err(|_| Error::new(Code::CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\""))
}

fn read_array(fields: &mut Fields<'_>, element: DataType) -> Result<ArrayValue> {
    let dimensions = fields.i32()?;
    fields.i32()?;
    let oid = fields.u32()?;
    if !(0..=1).contains(&dimensions) {
        let message = format!("arrays of {dimensions} dimensions are not supported");
        return Err(Error::new(Code::FeatureNotSupported, message).hint("arrays have one dimension"));
    }
    if oid != oids::oid_of(element) && !element.is_text() {
        return Err(Error::new(Code::DatatypeMismatch, format!("the elements of the array are not of type {element}")));
    }
    let count = if dimensions == 0 { 0 } else { fields.u32()? as usize };
    if dimensions == 1 {
        fields.i32()?;
    }
    // Each element has its length at least: more than the bytes can hold is not taken memory for.
    let mut values = Vec::with_capacity(count.min(fields.len() / 4));
    for _ in 0..count {
        values.push(match fields.i32()? {
            -1 => Value::Null,
            length => {
                let length = usize::try_from(length).map_err(|_| super::violation("a negative length"))?;
                read(fields.bytes(length)?, element)?
            }
        });
    }
    Ok(ArrayValue::new(element, values.iter().map(Value::as_ref)))
}
