//! Type names of SQL.

use sqlparser::ast::{CharacterLength, DataType as SqlType, ExactNumberInfo, TimezoneInfo};
use weft_format::{Code, DataType, Error, Result};

const TYPES_HINT: &str = "there are boolean, smallint, integer, bigint, real, double precision, numeric(p,s), text, \
     varchar(n), date, timestamp, timestamptz";

/// The precision and scale of `numeric` without arguments.
const NUMERIC_DEFAULT: DataType = DataType::Numeric { precision: 38, scale: 10 };

/// The type that a type name of SQL means.
pub fn data_type_of(sql_type: &SqlType) -> Result<DataType> {
    Ok(match sql_type {
        SqlType::Boolean | SqlType::Bool => DataType::Boolean,
        SqlType::SmallInt(None) | SqlType::Int2(None) => DataType::SmallInt,
        SqlType::Int(None) | SqlType::Integer(None) | SqlType::Int4(None) => DataType::Integer,
        SqlType::BigInt(None) | SqlType::Int8(None) => DataType::BigInt,
        SqlType::Real | SqlType::Float4 => DataType::Real,
        SqlType::DoublePrecision | SqlType::Float8 | SqlType::Float(ExactNumberInfo::None) => DataType::DoublePrecision,
        SqlType::Float(ExactNumberInfo::Precision(bits)) => match bits {
            1..=24 => DataType::Real,
            25..=53 => DataType::DoublePrecision,
            _ => return Err(invalid(format!("float({bits}): the precision must be from 1 to 53 bits"))),
        },
        SqlType::Numeric(info) | SqlType::Decimal(info) | SqlType::Dec(info) => numeric(*info)?,
        SqlType::Text => DataType::Text,
        SqlType::Varchar(length) | SqlType::CharacterVarying(length) | SqlType::CharVarying(length) => {
            varchar(length.as_ref())?
        }
        SqlType::Date => DataType::Date,
        SqlType::Timestamp(precision, zone) => {
            if precision.is_some_and(|digits| digits != 6) {
                return Err(unsupported(sql_type).hint("timestamps have microseconds: timestamp or timestamp(6)"));
            }
            match zone {
                TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => DataType::Timestamp,
                TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => DataType::TimestampTz,
            }
        }
        SqlType::Custom(name, arguments) if arguments.is_empty() => match name.to_string().to_lowercase().as_str() {
            "pg_catalog.int4" => DataType::Integer,
            "pg_catalog.int8" => DataType::BigInt,
            "pg_catalog.text" => DataType::Text,
            other => {
                return Err(
                    Error::new(Code::UndefinedObject, format!("type \"{other}\" does not exist")).hint(TYPES_HINT)
                );
            }
        },
        other => return Err(unsupported(other)),
    })
}

fn numeric(info: ExactNumberInfo) -> Result<DataType> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => return Ok(NUMERIC_DEFAULT),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    match (u8::try_from(precision), u8::try_from(scale)) {
        (Ok(p @ 1..=38), Ok(s)) if s <= p => Ok(DataType::Numeric { precision: p, scale: s }),
        _ => Err(invalid(format!(
            "numeric({precision},{scale}): the precision must be from 1 to 38 and the scale from 0 to the precision"
        ))),
    }
}

fn varchar(length: Option<&CharacterLength>) -> Result<DataType> {
    match length {
        None => Ok(DataType::Text),
        Some(CharacterLength::IntegerLength { length, unit: None }) if (1..=10_485_760).contains(length) => {
            Ok(DataType::Varchar(*length as u32))
        }
        Some(length) => Err(invalid(format!("varchar({length}): the length must be from 1 to 10485760"))),
    }
}

fn invalid(message: String) -> Error {
    Error::new(Code::InvalidParameterValue, message)
}

fn unsupported(sql_type: &SqlType) -> Error {
    Error::new(Code::FeatureNotSupported, format!("type {sql_type} is not supported"))
}
