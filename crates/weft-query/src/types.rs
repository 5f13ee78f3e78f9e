//! SQL types, Weft types and Arrow types.
//!
//! ```text
//!   SQL in a query        numeric(10,2)    timestamp      varchar(3)   character(3)         jsonb      integer[]
//!   Arrow inside a plan   Decimal128(10,2) Timestamp(us)  Utf8View     Utf8View, metadata   LargeUtf8  List(Int32)
//!   column of the result  numeric(10,2)    timestamp      text         character(3)         jsonb      integer[]
//! ```
//!
//! 1. A result column has a Weft type for every Arrow type a plan can end in; [`output_type`] is total, and what has
//!    none (arrays of arrays, records) is refused by [`check_columns`].
//! 2. Timestamps are in microseconds everywhere: no cast to nanoseconds is planned, so years 1 to 9999 work.

use arrow::datatypes::{DataType as ArrowType, Field, Fields};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use sqlparser::ast::{DataType as SqlType, ExactNumberInfo, TimezoneInfo};
use weft_format::enums::EnumId;
use weft_format::{Code, DataType, Error, Value};
use weft_sql::expr::{NUMERIC_DEFAULT, data_type_of};

/// A column of a plan.
pub(crate) fn field_of(name: &str, data_type: DataType) -> Field {
    weft_format::schema::arrow_field(name, data_type, true)
}

/// The type of a column of a plan, or of a result.
pub(crate) fn field_type(field: &Field) -> DataType {
    match (output_type(field.data_type()), field.metadata().get(weft_format::schema::CHAR_LENGTH)) {
        (DataType::Bit(_), _) => weft_format::schema::bits_type(field),
        (DataType::Text, Some(length)) => DataType::Char(length.parse().unwrap_or(0)),
        (data_type, _) => data_type,
    }
}

/// The type of a result column whose plan ends in this Arrow type.
pub(crate) fn output_type(arrow: &ArrowType) -> DataType {
    match arrow {
        ArrowType::Boolean => DataType::Boolean,
        ArrowType::Int8 | ArrowType::UInt8 | ArrowType::Int16 => DataType::SmallInt,
        ArrowType::UInt16 | ArrowType::Int32 => DataType::Integer,
        ArrowType::Int64 | ArrowType::UInt64 => DataType::BigInt,
        ArrowType::UInt32 => DataType::Oid,
        ArrowType::Float16 | ArrowType::Float32 => DataType::Real,
        ArrowType::Float64 => DataType::DoublePrecision,
        ArrowType::Decimal32(p, s) | ArrowType::Decimal64(p, s) | ArrowType::Decimal128(p, s) => numeric(*p, *s),
        ArrowType::Decimal256(_, s) => numeric(38, *s),
        ArrowType::Date32 | ArrowType::Date64 => DataType::Date,
        ArrowType::Timestamp(_, None) => DataType::Timestamp,
        ArrowType::Timestamp(_, Some(_)) => EnumId::of_arrow(arrow).map_or(DataType::TimestampTz, DataType::Enum),
        ArrowType::Dictionary(..) if *arrow == DataType::JsonPath.arrow() => DataType::JsonPath,
        ArrowType::Dictionary(_, value) => output_type(value),
        ArrowType::Time32(_) | ArrowType::Time64(_) => DataType::Time,
        ArrowType::Interval(_) | ArrowType::Duration(_) => DataType::Interval,
        ArrowType::FixedSizeBinary(16) => DataType::Uuid,
        ArrowType::LargeUtf8 => DataType::Jsonb,
        ArrowType::LargeBinary => DataType::Json,
        ArrowType::Binary => DataType::Bit(0),
        ArrowType::BinaryView | ArrowType::FixedSizeBinary(_) => DataType::Bytea,
        ArrowType::List(item) | ArrowType::LargeList(item) | ArrowType::FixedSizeList(item, _) => {
            output_type(item.data_type()).array().unwrap_or(DataType::Text)
        }
        _ => DataType::Text,
    }
}

/// Refuses results whose columns have no type here: arrays of arrays, records.
pub(crate) fn check_columns(fields: &Fields) -> weft_format::Result<()> {
    for field in fields {
        let (what, remedy) = match field.data_type() {
            ArrowType::List(item) | ArrowType::LargeList(item) | ArrowType::FixedSizeList(item, _)
                if output_type(item.data_type()).array().is_none() =>
            {
                ("an array of arrays", "arrays have one dimension; use jsonb")
            }
            ArrowType::Struct(_) | ArrowType::Map(..) | ArrowType::Union(..) => {
                ("a record", "name the columns of the record, or use jsonb")
            }
            _ => continue,
        };
        let message = format!("column {:?} of the result would be {what}", field.name());
        return Err(Error::new(Code::FeatureNotSupported, message).hint(remedy));
    }
    Ok(())
}

fn numeric(precision: u8, scale: i8) -> DataType {
    let scale = u8::try_from(scale).unwrap_or(0).min(38);
    DataType::Numeric { precision: precision.clamp(scale.max(1), 38), scale }
}

/// A constant of a plan, from a value of a type.
pub(crate) fn scalar_of(value: &Value, data_type: DataType) -> Result<ScalarValue> {
    if value.is_null() {
        return ScalarValue::try_from(&data_type.arrow());
    }
    let mismatch = || DataFusionError::Plan(format!("parameter value {value:?} is not a {data_type}"));
    Ok(match (data_type, value) {
        (DataType::Boolean, Value::Bool(v)) => ScalarValue::Boolean(Some(*v)),
        (DataType::SmallInt, Value::Int(v)) => ScalarValue::Int16(Some((*v).try_into().map_err(|_| mismatch())?)),
        (DataType::Integer, Value::Int(v)) => ScalarValue::Int32(Some((*v).try_into().map_err(|_| mismatch())?)),
        (DataType::Date, Value::Int(v)) => ScalarValue::Date32(Some((*v).try_into().map_err(|_| mismatch())?)),
        (DataType::BigInt, Value::Int(v)) => ScalarValue::Int64(Some(*v)),
        (DataType::Timestamp, Value::Int(v)) => ScalarValue::TimestampMicrosecond(Some(*v), None),
        (DataType::TimestampTz, Value::Int(v)) => ScalarValue::TimestampMicrosecond(Some(*v), Some("UTC".into())),
        (DataType::Enum(id), Value::Int(v)) => ScalarValue::TimestampSecond(Some(*v), Some(id.zone())),
        (DataType::Real, Value::Float(v)) => ScalarValue::Float32(Some(*v as f32)),
        (DataType::DoublePrecision, Value::Float(v)) => ScalarValue::Float64(Some(*v)),
        (DataType::Numeric { precision, scale }, Value::Decimal(v)) => {
            ScalarValue::Decimal128(Some(*v), precision, scale as i8)
        }
        (DataType::Text | DataType::Varchar(_) | DataType::Char(_), Value::Text(v)) => {
            ScalarValue::Utf8View(Some(v.to_string()))
        }
        (data_type, Value::Text(_)) if !data_type.is_utf8() => return Err(mismatch()),
        (data_type, Value::Int(_)) if !matches!(data_type, DataType::Oid | DataType::Time) => return Err(mismatch()),
        (data_type, Value::Bool(_) | Value::Float(_) | Value::Decimal(_)) => {
            let _ = data_type;
            return Err(mismatch());
        }
        (data_type, value) => {
            let array = weft_sql::array_of(std::iter::once(value), data_type);
            ScalarValue::try_from_array(&array, 0)?
        }
    })
}

/// The value of a constant, if it has the Arrow type of `data_type`.
pub(crate) fn value_of(scalar: &ScalarValue, data_type: DataType) -> Option<Value> {
    if scalar.is_null() {
        return Some(Value::Null);
    }
    Some(match (data_type, scalar) {
        (DataType::Boolean, ScalarValue::Boolean(Some(v))) => Value::Bool(*v),
        (DataType::SmallInt, ScalarValue::Int16(Some(v))) => Value::Int((*v).into()),
        (DataType::Integer, ScalarValue::Int32(Some(v))) => Value::Int((*v).into()),
        (DataType::Date, ScalarValue::Date32(Some(v))) => Value::Int((*v).into()),
        (DataType::BigInt, ScalarValue::Int64(Some(v))) => Value::Int(*v),
        (DataType::Timestamp, ScalarValue::TimestampMicrosecond(Some(v), None))
        | (DataType::TimestampTz, ScalarValue::TimestampMicrosecond(Some(v), Some(_))) => Value::Int(*v),
        (DataType::Real, ScalarValue::Float32(Some(v))) => Value::Float((*v).into()),
        (DataType::DoublePrecision, ScalarValue::Float64(Some(v))) => Value::Float(*v),
        (DataType::Numeric { scale, .. }, ScalarValue::Decimal128(Some(v), _, s)) if *s == scale as i8 => {
            Value::Decimal(*v)
        }
        (
            DataType::Text | DataType::Varchar(_) | DataType::Char(_),
            ScalarValue::Utf8(Some(v)) | ScalarValue::Utf8View(Some(v)),
        ) => Value::Text(v.as_str().into()),
        (data_type, scalar) if scalar.data_type() == data_type.arrow() => {
            let array = scalar.to_array().ok()?;
            weft_sql::value_at(&array, 0, data_type)
        }
        _ => return None,
    })
}

/// The Weft type that a SQL type names, or none when Weft has no such type.
pub(crate) fn sql_type(sql: &SqlType) -> Option<DataType> {
    Some(match sql {
        SqlType::Boolean | SqlType::Bool => DataType::Boolean,
        SqlType::SmallInt(_) | SqlType::Int2(_) => DataType::SmallInt,
        SqlType::Int(_) | SqlType::Integer(_) | SqlType::Int4(_) => DataType::Integer,
        SqlType::BigInt(_) | SqlType::Int8(_) => DataType::BigInt,
        SqlType::Real | SqlType::Float4 => DataType::Real,
        SqlType::Float(ExactNumberInfo::Precision(bits)) if *bits <= 24 => DataType::Real,
        SqlType::Float(_) | SqlType::Float8 | SqlType::DoublePrecision | SqlType::Double(_) => {
            DataType::DoublePrecision
        }
        SqlType::Numeric(info) | SqlType::Decimal(info) | SqlType::Dec(info) => exact(*info)?,
        SqlType::Text
        | SqlType::String(_)
        | SqlType::Varchar(_)
        | SqlType::CharacterVarying(_)
        | SqlType::CharVarying(_) => DataType::Text,
        SqlType::Date => DataType::Date,
        SqlType::Timestamp(_, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone) => DataType::TimestampTz,
        SqlType::Timestamp(..) => DataType::Timestamp,
        other => data_type_of(other).ok()?,
    })
}

fn exact(info: ExactNumberInfo) -> Option<DataType> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => return Some(NUMERIC_DEFAULT),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    let precision = u8::try_from(precision).ok().filter(|p| (1..=38).contains(p))?;
    let scale = u8::try_from(scale).ok().filter(|s| *s <= precision)?;
    Some(DataType::Numeric { precision, scale })
}
