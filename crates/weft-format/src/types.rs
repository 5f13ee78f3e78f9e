//! The column types, with PostgreSQL's names.
//!
//! ```text
//!   text, json, jsonb, char(n)   Text    bytes of UTF-8; char(n) without its trailing blanks, jsonb canonical
//!   jsonpath                     Text    canonical: $."a"[*]
//!   bit(n), bit varying(n)       Text    a digit for each bit: 0101
//!   uuid                         Uuid    a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 as the number 0xa0ee...0a11
//!   interval                     Interval { months: 14, days: 3, micros: 14_400_000_000 }: 1 year 2 mons 3 days 4 h
//!   an enum                      Int     the code of the label, in the order of the labels, see [`crate::enums`]
//!   integer[]                    Array   bytes that compare as arrays do, see [`crate::array`]
//! ```

use std::fmt;

use arrow_schema::{DataType as ArrowType, Field, IntervalUnit, TimeUnit};

use crate::enums::EnumId;
use crate::error::{Error, Result};

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
    /// `Int`, 32 bits without a sign
    Oid,
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
    /// `Text` of at most this many characters, without trailing blanks; shown with blanks up to that length
    Char(u32),
    /// `Bytes`
    Bytea,
    /// `Uuid`
    Uuid,
    /// `Int`: days since 1970-01-01
    Date,
    /// `Int`: microseconds since midnight, 0 to 86,400,000,000
    Time,
    /// `Int`: microseconds since 1970-01-01 00:00:00, without a time zone
    Timestamp,
    /// `Int`: microseconds since 1970-01-01 00:00:00 UTC
    TimestampTz,
    /// `Interval`
    Interval,
    /// `Text`, as it was written
    Json,
    /// `Text`, in PostgreSQL's canonical form
    Jsonb,
    /// `Text`, in PostgreSQL's canonical form
    JsonPath,
    /// `Text` of so many digits 0 and 1; of any number of them if this is 0
    Bit(u32),
    /// `Text` of at most so many digits 0 and 1; of any number of them if this is 0
    VarBit(u32),
    /// `Int`: the code of a label
    Enum(EnumId),
    /// `Array` of one dimension
    Array(Element),
}

/// The type of an array's elements: every type but an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// boolean
    Boolean,
    /// smallint
    SmallInt,
    /// integer
    Integer,
    /// bigint
    BigInt,
    /// oid
    Oid,
    /// real
    Real,
    /// double precision
    DoublePrecision,
    /// numeric
    Numeric {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// text
    Text,
    /// varchar
    Varchar(u32),
    /// char
    Char(u32),
    /// bytea
    Bytea,
    /// uuid
    Uuid,
    /// date
    Date,
    /// time
    Time,
    /// timestamp
    Timestamp,
    /// timestamptz
    TimestampTz,
    /// interval
    Interval,
    /// json
    Json,
    /// jsonb
    Jsonb,
    /// jsonpath
    JsonPath,
    /// bit
    Bit(u32),
    /// bit varying
    VarBit(u32),
    /// an enum
    Enum(EnumId),
}

macro_rules! elements {
    ($($plain:ident),*; $($limited:ident),*) => {
        impl From<Element> for DataType {
            fn from(element: Element) -> DataType {
                match element {
                    $(Element::$plain => DataType::$plain,)*
                    $(Element::$limited(limit) => DataType::$limited(limit),)*
                    Element::Numeric { precision, scale } => DataType::Numeric { precision, scale },
                }
            }
        }

        impl Element {
            /// The element type that stands for a type; none for arrays.
            pub fn of(data_type: DataType) -> Option<Element> {
                Some(match data_type {
                    $(DataType::$plain => Element::$plain,)*
                    $(DataType::$limited(limit) => Element::$limited(limit),)*
                    DataType::Numeric { precision, scale } => Element::Numeric { precision, scale },
                    DataType::Array(_) => return None,
                })
            }
        }
    };
}

elements!(
    Boolean, SmallInt, Integer, BigInt, Oid, Real, DoublePrecision, Text, Bytea, Uuid, Date, Time, Timestamp,
    TimestampTz, Interval, Json, Jsonb, JsonPath; Varchar, Char, Bit, VarBit, Enum
);

impl Element {
    /// The type of the elements.
    pub fn data_type(self) -> DataType {
        self.into()
    }
}

impl DataType {
    /// The Arrow type that batches carry. Text is `Utf8View`, json `LargeBinary`, jsonb `LargeUtf8`, and jsonpath a
    /// dictionary of texts, which nothing else is; strings of bits are `Binary`, and a field's metadata says of which
    /// type ([`crate::schema::BITS`]). Timestamps are in microseconds. Enums are timestamps in seconds of a zone that
    /// names the enum ([`crate::enums`]).
    pub fn arrow(self) -> ArrowType {
        match self {
            DataType::Boolean => ArrowType::Boolean,
            DataType::SmallInt => ArrowType::Int16,
            DataType::Integer => ArrowType::Int32,
            DataType::BigInt => ArrowType::Int64,
            DataType::Oid => ArrowType::UInt32,
            DataType::Real => ArrowType::Float32,
            DataType::DoublePrecision => ArrowType::Float64,
            DataType::Numeric { precision, scale } => ArrowType::Decimal128(precision, scale as i8),
            DataType::Text | DataType::Varchar(_) | DataType::Char(_) => ArrowType::Utf8View,
            DataType::Bytea => ArrowType::BinaryView,
            DataType::Uuid => ArrowType::FixedSizeBinary(16),
            DataType::Date => ArrowType::Date32,
            DataType::Time => ArrowType::Time64(TimeUnit::Microsecond),
            DataType::Timestamp => ArrowType::Timestamp(TimeUnit::Microsecond, None),
            DataType::TimestampTz => ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            DataType::Interval => ArrowType::Interval(IntervalUnit::MonthDayNano),
            DataType::Json => ArrowType::LargeBinary,
            DataType::Jsonb => ArrowType::LargeUtf8,
            DataType::JsonPath => ArrowType::Dictionary(ArrowType::Int32.into(), ArrowType::Utf8.into()),
            DataType::Bit(_) | DataType::VarBit(_) => ArrowType::Binary,
            DataType::Enum(id) => ArrowType::Timestamp(TimeUnit::Second, Some(id.zone())),
            DataType::Array(element) => {
                ArrowType::List(Field::new_list_field(element.data_type().arrow(), true).into())
            }
        }
    }

    /// Width in bytes of the fixed slot in a row; slots of texts, bytes and arrays hold an offset and a length (4 bytes
    /// each).
    pub fn slot_bytes(self) -> usize {
        match self {
            DataType::Boolean => 1,
            DataType::SmallInt => 2,
            DataType::Integer | DataType::Real | DataType::Date => 4,
            DataType::BigInt | DataType::Oid | DataType::DoublePrecision => 8,
            DataType::Time | DataType::Timestamp | DataType::TimestampTz => 8,
            DataType::Numeric { .. } | DataType::Uuid | DataType::Interval => 16,
            _ => 8,
        }
    }

    /// Whether values are character strings: text, varchar, char. Their values are [`crate::Value::Text`].
    pub fn is_text(self) -> bool {
        matches!(self, DataType::Text | DataType::Varchar(_) | DataType::Char(_))
    }

    /// Whether values are strings of bits: bit, bit varying. Their values are [`crate::Value::Text`].
    pub fn is_bits(self) -> bool {
        matches!(self, DataType::Bit(_) | DataType::VarBit(_))
    }

    /// Whether values are [`crate::Value::Text`]: character strings, json, paths, and strings of bits.
    pub fn is_utf8(self) -> bool {
        self.is_text() || self.is_bits() || matches!(self, DataType::Json | DataType::Jsonb | DataType::JsonPath)
    }

    /// Whether values have no fixed width: their slots point behind the slots of the row.
    pub fn is_variable(self) -> bool {
        self.is_utf8() || matches!(self, DataType::Bytea | DataType::Array(_))
    }

    /// The type of the elements, if values are arrays.
    pub fn element(self) -> Option<DataType> {
        match self {
            DataType::Array(element) => Some(element.data_type()),
            _ => None,
        }
    }

    /// The array type of a type; none for arrays.
    pub fn array(self) -> Option<DataType> {
        Element::of(self).map(DataType::Array)
    }

    /// The type as stored: tag, precision, scale, tag of the elements, length limit u32 (little-endian).
    pub fn code(self) -> [u8; TYPE_BYTES] {
        let (tag, precision, scale, limit) = match self {
            DataType::Boolean => (1, 0, 0, 0),
            DataType::SmallInt => (2, 0, 0, 0),
            DataType::Integer => (3, 0, 0, 0),
            DataType::BigInt => (4, 0, 0, 0),
            DataType::Real => (5, 0, 0, 0),
            DataType::DoublePrecision => (6, 0, 0, 0),
            DataType::Numeric { precision, scale } => (7, precision, scale, 0),
            DataType::Text => (8, 0, 0, 0),
            DataType::Varchar(limit) => (9, 0, 0, limit),
            DataType::Date => (10, 0, 0, 0),
            DataType::Timestamp => (11, 0, 0, 0),
            DataType::TimestampTz => (12, 0, 0, 0),
            DataType::Uuid => (13, 0, 0, 0),
            DataType::Bytea => (14, 0, 0, 0),
            DataType::Time => (15, 0, 0, 0),
            DataType::Interval => (16, 0, 0, 0),
            DataType::Json => (17, 0, 0, 0),
            DataType::Jsonb => (18, 0, 0, 0),
            DataType::Char(limit) => (19, 0, 0, limit),
            DataType::Oid => (20, 0, 0, 0),
            DataType::JsonPath => (23, 0, 0, 0),
            DataType::Bit(limit) => (24, 0, 0, limit),
            DataType::VarBit(limit) => (25, 0, 0, limit),
            DataType::Enum(id) => {
                let [a, b, c, d, low, high, ..] = id.bits().to_le_bytes();
                (22, low, high, u32::from_le_bytes([a, b, c, d]))
            }
            DataType::Array(element) => {
                let [tag, precision, scale, _, a, b, c, d] = element.data_type().code();
                return [TAG_ARRAY, precision, scale, tag, a, b, c, d];
            }
        };
        let [a, b, c, d]: [u8; 4] = u32::to_le_bytes(limit);
        [tag, precision, scale, 0, a, b, c, d]
    }

    /// Reads what [`DataType::code`] wrote.
    pub fn from_code(code: [u8; TYPE_BYTES]) -> Result<DataType> {
        let [tag, precision, scale, element, a, b, c, d] = code;
        let limit = u32::from_le_bytes([a, b, c, d]);
        let data_type = match tag {
            1 => DataType::Boolean,
            2 => DataType::SmallInt,
            3 => DataType::Integer,
            4 => DataType::BigInt,
            5 => DataType::Real,
            6 => DataType::DoublePrecision,
            7 if (1..=38).contains(&precision) && scale <= precision => DataType::Numeric { precision, scale },
            8 => DataType::Text,
            9 => DataType::Varchar(limit),
            10 => DataType::Date,
            11 => DataType::Timestamp,
            12 => DataType::TimestampTz,
            13 => DataType::Uuid,
            14 => DataType::Bytea,
            15 => DataType::Time,
            16 => DataType::Interval,
            17 => DataType::Json,
            18 => DataType::Jsonb,
            19 => DataType::Char(limit),
            20 => DataType::Oid,
            23 => DataType::JsonPath,
            24 => DataType::Bit(limit),
            25 => DataType::VarBit(limit),
            22 => {
                DataType::Enum(EnumId::new(u64::from(u16::from_le_bytes([precision, scale])) << 32 | u64::from(limit)))
            }
            TAG_ARRAY if element != TAG_ARRAY => {
                let of = DataType::from_code([element, precision, scale, 0, a, b, c, d])?;
                of.array().ok_or_else(|| Error::corrupt("an array type has arrays as elements"))?
            }
            _ => return Err(Error::corrupt(format!("a type has the unknown code {code:?}"))),
        };
        if data_type.code() == code {
            Ok(data_type)
        } else {
            Err(Error::corrupt(format!("a type has the code {code:?}")))
        }
    }
}

/// Bytes of a type as stored.
pub const TYPE_BYTES: usize = 8;
/// The tag of arrays.
const TAG_ARRAY: u8 = 21;

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataType::Boolean => f.write_str("boolean"),
            DataType::SmallInt => f.write_str("smallint"),
            DataType::Integer => f.write_str("integer"),
            DataType::BigInt => f.write_str("bigint"),
            DataType::Oid => f.write_str("oid"),
            DataType::Real => f.write_str("real"),
            DataType::DoublePrecision => f.write_str("double precision"),
            DataType::Numeric { precision, scale } => write!(f, "numeric({precision},{scale})"),
            DataType::Text => f.write_str("text"),
            DataType::Varchar(n) => write!(f, "varchar({n})"),
            DataType::Char(n) => write!(f, "character({n})"),
            DataType::Bytea => f.write_str("bytea"),
            DataType::Uuid => f.write_str("uuid"),
            DataType::Date => f.write_str("date"),
            DataType::Time => f.write_str("time"),
            DataType::Timestamp => f.write_str("timestamp"),
            DataType::TimestampTz => f.write_str("timestamptz"),
            DataType::Interval => f.write_str("interval"),
            DataType::Json => f.write_str("json"),
            DataType::Jsonb => f.write_str("jsonb"),
            DataType::JsonPath => f.write_str("jsonpath"),
            // Without quotes it is bit(1).
            DataType::Bit(0) => f.write_str("\"bit\""),
            DataType::Bit(n) => write!(f, "bit({n})"),
            DataType::VarBit(0) => f.write_str("bit varying"),
            DataType::VarBit(n) => write!(f, "bit varying({n})"),
            // The name that means it everywhere: texts of SQL are made of these.
            DataType::Enum(id) => write!(f, "\"{}\"", id.fixed_name()),
            DataType::Array(element) => write!(f, "{}[]", element.data_type()),
        }
    }
}
