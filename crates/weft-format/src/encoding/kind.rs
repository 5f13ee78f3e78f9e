//! The eight kinds of stored values, and the machine words that hold those of fixed width.

use fastlanes::FoR;

use crate::types::DataType;
use crate::value::Value;

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
    /// bigint, timestamps
    Int64 = 4,
    /// real, as its bits
    Float32 = 5,
    /// double precision, as its bits
    Float64 = 6,
    /// numeric, scaled 128-bit integer
    Decimal = 7,
    /// text, varchar
    Text = 8,
}

impl Kind {
    /// The kind that stores a logical type.
    pub fn of(data_type: DataType) -> Kind {
        match data_type {
            DataType::Boolean => Kind::Bool,
            DataType::SmallInt => Kind::Int16,
            DataType::Integer | DataType::Date => Kind::Int32,
            DataType::BigInt | DataType::Timestamp | DataType::TimestampTz => Kind::Int64,
            DataType::Real => Kind::Float32,
            DataType::DoublePrecision => Kind::Float64,
            DataType::Numeric { .. } => Kind::Decimal,
            DataType::Text | DataType::Varchar(_) => Kind::Text,
        }
    }

    /// Reads a kind's byte.
    pub fn from_byte(byte: u8) -> Option<Kind> {
        const KINDS: [Kind; 8] = [
            Kind::Bool,
            Kind::Int16,
            Kind::Int32,
            Kind::Int64,
            Kind::Float32,
            Kind::Float64,
            Kind::Decimal,
            Kind::Text,
        ];
        KINDS.into_iter().find(|kind| *kind as u8 == byte)
    }

    /// Bytes of one plain value; 0 for booleans (bits) and text.
    pub(crate) fn width(self) -> usize {
        match self {
            Kind::Bool | Kind::Text => 0,
            Kind::Int16 => 2,
            Kind::Int32 | Kind::Float32 => 4,
            Kind::Int64 | Kind::Float64 => 8,
            Kind::Decimal => 16,
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
            Kind::Text => panic!("texts have no fixed bits"),
        }
    }
}

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
                <$word>::from_le_bytes(crate::row::array(&bytes[index * size_of::<$word>()..]))
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
