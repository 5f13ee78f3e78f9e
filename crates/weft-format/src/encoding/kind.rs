//! The kinds of stored values, and the machine words that hold those of fixed width.

use fastlanes::FoR;

use crate::interval::Interval;
use crate::types::DataType;
use crate::value::{Value, ValueRef};

/// How a column's values are stored; several logical types share a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// boolean, one bit
    Bool = 1,
    /// smallint
    Int16 = 2,
    /// integer, date
    Int32 = 3,
    /// bigint, oid, time, timestamps
    Int64 = 4,
    /// real, as its bits
    Float32 = 5,
    /// double precision, as its bits
    Float64 = 6,
    /// numeric, scaled 128-bit integer
    Decimal = 7,
    /// text, varchar, char, json, jsonb, jsonpath, bit, bit varying
    Text = 8,
    /// bytea, arrays
    Bytes = 9,
    /// uuid, as a 128-bit integer with the highest bit flipped, so that signed order is its order
    Uuid = 10,
    /// interval, its fields side by side
    Interval = 11,
}

impl Kind {
    /// The kind that stores a logical type.
    pub fn of(data_type: DataType) -> Kind {
        match data_type {
            DataType::Boolean => Kind::Bool,
            DataType::SmallInt => Kind::Int16,
            DataType::Integer | DataType::Date => Kind::Int32,
            DataType::BigInt | DataType::Oid | DataType::Time | DataType::Timestamp | DataType::TimestampTz => {
                Kind::Int64
            }
            DataType::Enum(_) => Kind::Int64,
            DataType::Real => Kind::Float32,
            DataType::DoublePrecision => Kind::Float64,
            DataType::Numeric { .. } => Kind::Decimal,
            DataType::Text | DataType::Varchar(_) | DataType::Char(_) | DataType::Json | DataType::Jsonb => Kind::Text,
            DataType::JsonPath | DataType::Bit(_) | DataType::VarBit(_) => Kind::Text,
            DataType::Bytea | DataType::Array(_) => Kind::Bytes,
            DataType::Uuid => Kind::Uuid,
            DataType::Interval => Kind::Interval,
        }
    }

    /// Reads a kind's byte.
    pub fn from_byte(byte: u8) -> Option<Kind> {
        const KINDS: [Kind; 11] = [
            Kind::Bool,
            Kind::Int16,
            Kind::Int32,
            Kind::Int64,
            Kind::Float32,
            Kind::Float64,
            Kind::Decimal,
            Kind::Text,
            Kind::Bytes,
            Kind::Uuid,
            Kind::Interval,
        ];
        KINDS.into_iter().find(|kind| *kind as u8 == byte)
    }

    /// Bytes of one plain value; 0 for booleans (bits), text and bytes.
    pub(crate) fn width(self) -> usize {
        match self {
            Kind::Bool | Kind::Text | Kind::Bytes => 0,
            Kind::Int16 => 2,
            Kind::Int32 | Kind::Float32 => 4,
            Kind::Int64 | Kind::Float64 => 8,
            Kind::Decimal | Kind::Uuid | Kind::Interval => 16,
        }
    }

    /// Whether values have no fixed width.
    pub(crate) fn is_variable(self) -> bool {
        matches!(self, Kind::Text | Kind::Bytes)
    }

    /// The value that these bytes are; those of a text are UTF-8.
    pub(crate) fn variable(self, bytes: &[u8]) -> ValueRef<'_> {
        match self {
            Kind::Text => ValueRef::Text(std::str::from_utf8(bytes).expect("writers store only UTF-8; checksums hold")),
            _ => ValueRef::Bytes(bytes),
        }
    }

    /// Whether values are integers that frame of reference applies to.
    pub(crate) fn is_int(self) -> bool {
        matches!(self, Kind::Int16 | Kind::Int32 | Kind::Int64)
    }

    /// The value whose bits, zero-extended, these are. Not for text.
    pub(crate) fn value(self, bits: u128) -> Value {
        match self {
            Kind::Bool => Value::Bool(bits != 0),
            Kind::Int16 => Value::Int((bits as i16).into()),
            Kind::Int32 => Value::Int((bits as i32).into()),
            Kind::Int64 => Value::Int(bits as i64),
            Kind::Float32 => Value::Float(f32::from_bits(bits as u32).into()),
            Kind::Float64 => Value::Float(f64::from_bits(bits as u64)),
            Kind::Decimal => Value::Decimal(bits as i128),
            Kind::Uuid => Value::Uuid(bits ^ UUID_FLIP),
            Kind::Interval => Value::Interval(Interval::from_bits(bits)),
            Kind::Text | Kind::Bytes => panic!("texts have no fixed bits"),
        }
    }
}

/// What turns the order of uuids into that of signed integers.
pub(crate) const UUID_FLIP: u128 = 1 << 127;

/// A machine word that blocks store: u16, u32 and u64 can be bit-packed, u128 only copied.
pub(crate) trait Word: Copy + Eq + Default + Send + Sync + 'static {
    /// From the low bits.
    fn from_bits(bits: u128) -> Self;
    /// Zero-extended.
    fn to_bits(self) -> u128;
    /// Sign-extended.
    fn signed(self) -> i128;
    /// Appends little-endian bytes of all values.
    fn write_all(values: &[Self], out: &mut Vec<u8>);
    /// Reads `values.len()` little-endian words.
    fn read_all(bytes: &[u8], count: usize) -> Vec<Self>;
    /// Reads one word.
    fn read(bytes: &[u8], index: usize) -> Self;
}

macro_rules! word {
    ($word:ty, $signed:ty) => {
        impl Word for $word {
            #[inline]
            fn from_bits(bits: u128) -> Self {
                bits as $word
            }
            #[inline]
            fn to_bits(self) -> u128 {
                self.into()
            }
            #[inline]
            fn signed(self) -> i128 {
                (self as $signed).into()
            }
            fn write_all(values: &[Self], out: &mut Vec<u8>) {
                out.reserve(size_of_val(values));
                for value in values {
                    out.extend_from_slice(&value.to_le_bytes());
                }
            }
            fn read_all(bytes: &[u8], count: usize) -> Vec<Self> {
                let (chunks, _) = bytes.as_chunks();
                chunks[..count].iter().map(|chunk| <$word>::from_le_bytes(*chunk)).collect()
            }
            #[inline]
            fn read(bytes: &[u8], index: usize) -> Self {
                <$word>::from_le_bytes(crate::bytes::array(&bytes[index * size_of::<$word>()..]))
            }
        }
    };
}

word!(u16, i16);
word!(u32, i32);
word!(u64, i64);
word!(u128, i128);

/// A word that FastLanes packs.
pub(crate) trait Lane: Word + FoR {}
impl Lane for u16 {}
impl Lane for u32 {}
impl Lane for u64 {}
