//! Type names of SQL.

use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType as SqlType, ExactNumberInfo, ObjectName, TimezoneInfo,
};
pub use weft_expr::text::NUMERIC_DEFAULT;
use weft_format::enums::{self, EnumId};
use weft_format::{Code, DataType, Error, Result};

use crate::parse::fold;

const TYPES_HINT: &str = "there are boolean, smallint, integer, bigint, real, double precision, numeric(p,s), text, \
     varchar(n), char(n), bytea, uuid, date, time, timestamp, timestamptz, interval, json, jsonb, jsonpath, \
     bit(n), bit varying(n), oid, and arrays of them";

/// Whether a type is one that only the catalog has: the query engine knows it.
pub(super) fn is_of_catalog(sql_type: &SqlType) -> bool {
    const NAMES: &[&str] =
        &["char", "int2vector", "name", "oidvector", "regnamespace", "regproc", "regprocedure", "regrole", "regtype"];
    match sql_type {
        SqlType::Regclass => true,
        SqlType::Custom(name, arguments) => {
            let last = name.0.last().and_then(|part| part.as_ident());
            arguments.is_empty() && last.is_some_and(|ident| NAMES.contains(&ident.value.to_lowercase().as_str()))
        }
        _ => false,
    }
}

/// The greatest length of char(n) and varchar(n).
const LENGTH_MAX: u64 = 10_485_760;

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
        SqlType::Char(length) | SqlType::Character(length) => char(length.as_ref())?,
        SqlType::Bytea => DataType::Bytea,
        SqlType::Uuid => DataType::Uuid,
        SqlType::JSON => DataType::Json,
        SqlType::JSONB => DataType::Jsonb,
        SqlType::Bit(length) => DataType::Bit(bits(length.or(Some(1)), "bit")?),
        SqlType::BitVarying(length) | SqlType::VarBit(length) => DataType::VarBit(bits(*length, "varbit")?),
        SqlType::Date => DataType::Date,
        SqlType::Time(precision, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            if precision.is_some_and(|digits| digits != 6) {
                return Err(unsupported(sql_type).hint("times have microseconds: time or time(6)"));
            }
            DataType::Time
        }
        SqlType::Timestamp(precision, zone) => {
            if precision.is_some_and(|digits| digits != 6) {
                return Err(unsupported(sql_type).hint("timestamps have microseconds: timestamp or timestamp(6)"));
            }
            match zone {
                TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => DataType::Timestamp,
                TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => DataType::TimestampTz,
            }
        }
        SqlType::Interval { fields: None, precision: None } => DataType::Interval,
        SqlType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => array(data_type_of(element)?)?,
        SqlType::Custom(name, arguments) => named(name, arguments)?,
        other => return Err(unsupported(other)),
    })
}

/// Types that the parser does not know by name.
fn named(name: &ObjectName, arguments: &[String]) -> Result<DataType> {
    let parts: Vec<_> = name.0.iter().filter_map(|part| part.as_ident()).collect();
    let own = match parts.as_slice() {
        [schema, own] if fold(schema) == "pg_catalog" => Some(own),
        [own] => Some(own),
        _ => None,
    };
    // "char" in quotes is a type of its own: one byte.
    if own.is_some_and(|own| own.quote_style.is_some() && own.value == "char") {
        return Ok(DataType::Char(1));
    }
    // In quotes, bit has any length.
    if own.is_some_and(|own| own.quote_style.is_some() && own.value == "bit") {
        return Ok(DataType::Bit(0));
    }
    // An enum, by the name that needs no catalog (`types`).
    if let Some(id) = own.and_then(|own| EnumId::of_fixed_name(&own.value)).filter(|id| enums::known(*id).is_some()) {
        return Ok(DataType::Enum(id));
    }
    if let Some(own) = own.filter(|own| crate::domains::of_fixed_name(&own.value).is_some()) {
        let error = Error::new(Code::FeatureNotSupported, format!("a cast to a domain is not supported here: {own}"));
        return Err(error.hint("cast to the type that the domain is made of"));
    }
    let word = own.map_or_else(|| name.to_string().to_lowercase(), |own| fold(own));
    if let Some(element) = word.strip_prefix('_').and_then(short) {
        return array(element);
    }
    match (word.as_str(), arguments) {
        ("bpchar", []) => Ok(DataType::Char(0)),
        ("bpchar", [length]) => {
            char(length.parse().ok().map(|length| CharacterLength::IntegerLength { length, unit: None }).as_ref())
        }
        (word, []) => short(word).ok_or_else(|| {
            Error::new(Code::UndefinedObject, format!("type \"{word}\" does not exist")).hint(TYPES_HINT)
        }),
        (word, _) => Err(Error::new(Code::UndefinedObject, format!("type \"{word}\" does not exist")).hint(TYPES_HINT)),
    }
}

/// PostgreSQL's short names.
fn short(word: &str) -> Option<DataType> {
    Some(match word {
        "bool" => DataType::Boolean,
        "int2" => DataType::SmallInt,
        "int4" => DataType::Integer,
        "int8" => DataType::BigInt,
        "float4" => DataType::Real,
        "float8" => DataType::DoublePrecision,
        "numeric" => NUMERIC_DEFAULT,
        "text" | "name" | "varchar" | "citext" => DataType::Text,
        "bpchar" => DataType::Char(0),
        "bytea" => DataType::Bytea,
        "uuid" => DataType::Uuid,
        "date" => DataType::Date,
        "time" => DataType::Time,
        "timestamp" => DataType::Timestamp,
        "timestamptz" => DataType::TimestampTz,
        "interval" => DataType::Interval,
        "json" => DataType::Json,
        "jsonb" => DataType::Jsonb,
        "jsonpath" => DataType::JsonPath,
        "bit" => DataType::Bit(0),
        "varbit" => DataType::VarBit(0),
        "oid" | "regclass" | "regtype" | "regproc" => DataType::Oid,
        _ => return None,
    })
}

fn array(element: DataType) -> Result<DataType> {
    element.array().ok_or_else(|| {
        Error::new(Code::FeatureNotSupported, "arrays have one dimension").hint("keep inner arrays as jsonb")
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
        Some(CharacterLength::IntegerLength { length, unit: None }) if (1..=LENGTH_MAX).contains(length) => {
            Ok(DataType::Varchar(*length as u32))
        }
        Some(length) => Err(invalid(format!("varchar({length}): the length must be from 1 to {LENGTH_MAX}"))),
    }
}

fn char(length: Option<&CharacterLength>) -> Result<DataType> {
    match length {
        None => Ok(DataType::Char(1)),
        Some(CharacterLength::IntegerLength { length, unit: None }) if (1..=LENGTH_MAX).contains(length) => {
            Ok(DataType::Char(*length as u32))
        }
        Some(length) => Err(invalid(format!("char({length}): the length must be from 1 to {LENGTH_MAX}"))),
    }
}

/// The length of a type of bits; 0: any.
fn bits(length: Option<u64>, name: &str) -> Result<u32> {
    const BITS_MAX: u64 = 83_886_080;
    match length {
        None => Ok(0),
        Some(0) => Err(invalid(format!("length for type {name} must be at least 1"))),
        Some(length) if length > BITS_MAX => Err(invalid(format!("length for type {name} cannot exceed {BITS_MAX}"))),
        Some(length) => Ok(length as u32),
    }
}

fn invalid(message: String) -> Error {
    Error::new(Code::InvalidParameterValue, message)
}

fn unsupported(sql_type: &SqlType) -> Error {
    Error::new(Code::FeatureNotSupported, format!("type {sql_type} is not supported"))
}
