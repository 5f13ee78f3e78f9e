//! Type names of SQL, types of literals, and the type two operands meet in.

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

/// The type of a number as it stands in SQL text: integer, bigint, or numeric with the digits it has. None when it has
/// more digits than numeric can hold.
pub fn literal_number_type(text: &str) -> Option<DataType> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        if text.parse::<i32>().is_ok() {
            return Some(DataType::Integer);
        }
        if text.parse::<i64>().is_ok() {
            return Some(DataType::BigInt);
        }
    }
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = whole.trim_start_matches('0').len() as i64;
    let scale = (fraction.len() as i64 - exponent).max(0);
    let precision = ((whole + exponent).max(0) + scale).max(1);
    if precision > 38 {
        return None;
    }
    Some(DataType::Numeric { precision: precision as u8, scale: scale as u8 })
}

/// Digits of an integer type, as a numeric without scale.
pub(crate) fn as_numeric(data_type: DataType) -> Option<(u8, u8)> {
    match data_type {
        DataType::SmallInt => Some((5, 0)),
        DataType::Integer => Some((10, 0)),
        DataType::BigInt => Some((20, 0)),
        DataType::Numeric { precision, scale } => Some((precision, scale)),
        _ => None,
    }
}

/// Whether values are numbers.
pub(crate) fn is_number(data_type: DataType) -> bool {
    as_numeric(data_type).is_some() || is_float(data_type)
}

/// Whether values are smallint, integer or bigint.
pub(crate) fn is_integer(data_type: DataType) -> bool {
    matches!(data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt)
}

fn is_float(data_type: DataType) -> bool {
    matches!(data_type, DataType::Real | DataType::DoublePrecision)
}

/// The type in which two types are compared or chosen between; none when they have nothing in common.
pub fn common_type(a: DataType, b: DataType) -> Option<DataType> {
    if a == b {
        return Some(a);
    }
    if a.is_text() && b.is_text() {
        return Some(DataType::Text);
    }
    if is_integer(a) && is_integer(b) {
        return Some(if a.slot_bytes() >= b.slot_bytes() { a } else { b });
    }
    if is_number(a) && is_number(b) {
        if is_float(a) || is_float(b) {
            return Some(DataType::DoublePrecision);
        }
        let ((p1, s1), (p2, s2)) = (as_numeric(a)?, as_numeric(b)?);
        let scale = s1.max(s2);
        let precision = ((p1 - s1).max(p2 - s2) + scale).min(38);
        return Some(DataType::Numeric { precision, scale });
    }
    let rank = |data_type| match data_type {
        DataType::Date => 1,
        DataType::Timestamp => 2,
        DataType::TimestampTz => 3,
        _ => 0,
    };
    match (rank(a), rank(b)) {
        (0, _) | (_, 0) => None,
        (x, y) => Some(if x > y { a } else { b }),
    }
}
