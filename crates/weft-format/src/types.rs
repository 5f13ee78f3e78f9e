//! The column types, with PostgreSQL's names.

use std::fmt;

use arrow_schema::{DataType as ArrowType, TimeUnit};

/// A column's logical type. The comment after each is the [`crate::Value`] variant that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    /// `Bool`
    Boolean,
    /// `Int`, 16 bits
    SmallInt,
    /// `Int`, 32 bits
    Integer,
    /// `Int`, 64 bits
    BigInt,
    /// `Float`, rounded to 32 bits
    Real,
    /// `Float`
    DoublePrecision,
    /// `Decimal`: an integer of at most `precision` (1 to 38) digits, `scale` (0 to precision) of them after the point
    Numeric {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// `Text`, UTF-8
    Text,
    /// `Text` of at most this many characters
    Varchar(u32),
    /// `Int`: days since 1970-01-01
    Date,
    /// `Int`: microseconds since 1970-01-01 00:00:00, without a time zone
    Timestamp,
    /// `Int`: microseconds since 1970-01-01 00:00:00 UTC
    TimestampTz,
}

impl DataType {
    /// The Arrow type that batches carry. Text is `Utf8View`; timestamps are in microseconds.
    pub fn arrow(self) -> ArrowType {
        match self {
            DataType::Boolean => ArrowType::Boolean,
            DataType::SmallInt => ArrowType::Int16,
            DataType::Integer => ArrowType::Int32,
            DataType::BigInt => ArrowType::Int64,
            DataType::Real => ArrowType::Float32,
            DataType::DoublePrecision => ArrowType::Float64,
            DataType::Numeric { precision, scale } => ArrowType::Decimal128(precision, scale as i8),
            DataType::Text | DataType::Varchar(_) => ArrowType::Utf8View,
            DataType::Date => ArrowType::Date32,
            DataType::Timestamp => ArrowType::Timestamp(TimeUnit::Microsecond, None),
            DataType::TimestampTz => ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        }
    }

    /// Width in bytes of the fixed slot in a row; text slots hold an offset and a length (4 bytes each).
    pub fn slot_bytes(self) -> usize {
        match self {
            DataType::Boolean => 1,
            DataType::SmallInt => 2,
            DataType::Integer | DataType::Real | DataType::Date => 4,
            DataType::BigInt | DataType::DoublePrecision | DataType::Timestamp | DataType::TimestampTz => 8,
            DataType::Text | DataType::Varchar(_) => 8,
            DataType::Numeric { .. } => 16,
        }
    }

    /// Whether values are [`crate::Value::Text`].
    pub fn is_text(self) -> bool {
        matches!(self, DataType::Text | DataType::Varchar(_))
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataType::Boolean => f.write_str("boolean"),
            DataType::SmallInt => f.write_str("smallint"),
            DataType::Integer => f.write_str("integer"),
            DataType::BigInt => f.write_str("bigint"),
            DataType::Real => f.write_str("real"),
            DataType::DoublePrecision => f.write_str("double precision"),
            DataType::Numeric { precision, scale } => write!(f, "numeric({precision},{scale})"),
            DataType::Text => f.write_str("text"),
            DataType::Varchar(n) => write!(f, "varchar({n})"),
            DataType::Date => f.write_str("date"),
            DataType::Timestamp => f.write_str("timestamp"),
            DataType::TimestampTz => f.write_str("timestamptz"),
        }
    }
}
