//! Values of parameters.

use weft::{DataType, Value};
use weft_format::{Code, Error, Result};

use super::{EPOCH_DAYS, EPOCH_MICROS, numeric};
use crate::protocol::Fields;

const NUMERIC: u32 = 1700;
const UNKNOWN: u32 = 705;

/// Reads a parameter: text is left to the statement, which knows its type; bytes are read as the type that the client
/// named, or else as the statement's.
pub(crate) fn read_parameter(bytes: &[u8], binary: bool, named_oid: u32, data_type: DataType) -> Result<Value> {
    if !binary {
        return text(bytes);
    }
    let oid = if named_oid == 0 { weft_sql::oids::oid_of(data_type) } else { named_oid };
    match oid {
        NUMERIC => return numeric::read(bytes).map(|text| Value::Text(text.into())),
        UNKNOWN => return text(bytes),
        _ => {}
    }
    let Some(data_type) = weft_sql::oids::type_of(oid) else {
        let message = format!("a parameter of the type with OID {oid} cannot be read from its binary form");
        return Err(Error::new(Code::FeatureNotSupported, message).hint("send it as text"));
    };
    let mut fields = Fields::new(bytes);
    let value = read_binary(&mut fields, data_type, bytes);
    value.and_then(|value| fields.end().map(|()| value)).map_err(|error| match error.code() {
        Code::ProtocolViolation => {
            let message = format!("incorrect binary data format for a parameter of type {data_type}");
            Error::new(Code::InvalidBinary, message)
        }
        _ => error,
    })
}

fn read_binary<'a>(fields: &mut Fields<'a>, data_type: DataType, bytes: &'a [u8]) -> Result<Value> {
    Ok(match data_type {
        DataType::Boolean => Value::Bool(fields.u8()? != 0),
        DataType::SmallInt => Value::Int(fields.i16()?.into()),
        DataType::Integer => Value::Int(fields.i32()?.into()),
        DataType::BigInt => Value::Int(fields.i64()?),
        DataType::Real => Value::Float(f32::from_bits(fields.u32()?).into()),
        DataType::DoublePrecision => Value::Float(f64::from_bits(fields.i64()? as u64)),
        DataType::Date => Value::Int(i64::from(fields.i32()?) + EPOCH_DAYS),
        DataType::Timestamp | DataType::TimestampTz => {
            let overflow = || Error::new(Code::DatetimeOverflow, "timestamp out of range in a parameter");
            Value::Int(fields.i64()?.checked_add(EPOCH_MICROS).ok_or_else(overflow)?)
        }
        DataType::Text | DataType::Varchar(_) => {
            fields.bytes(bytes.len())?;
            text(bytes)?
        }
        DataType::Numeric { .. } => unreachable!("numeric is read by its OID"),
    })
}

fn text(bytes: &[u8]) -> Result<Value> {
    let text = std::str::from_utf8(bytes).map_err(|_| {
        Error::new(Code::CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\" in a parameter")
    })?;
    Ok(Value::Text(text.into()))
}
