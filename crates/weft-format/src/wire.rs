//! Numbers, texts, types and values as bytes, and the one reader that takes them back from bytes that may be damaged.
//!
//! ```text
//!   u32 7                07 00 00 00                  little-endian, as all fixed numbers
//!   varint 300           ac 02                        seven bits per byte, low bits first, high bit: more follow
//!   text "id"            02 00 00 00  69 64
//!   optional "x", none   01  01 00 00 00  78          00
//!   numeric(10,2)        07 0a 02
//!   value 42, NULL       02  2a 00 00 00 00 00 00 00  00
//! ```
//!
//! What a reader finds wrong it hands to a function of its owner, which says of what it is: "a catalog entry is
//! damaged: it ends too early". No count is believed beyond the bytes that are there: no memory is taken for what is
//! not.

use crate::array::ArrayValue;
use crate::error::{Error, Result};
use crate::interval::Interval;
use crate::types::DataType;
use crate::value::{Value, ValueRef};

/// Appends a number.
#[inline]
pub fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends a count or a length.
///
/// # Panics
///
/// For 2^32 and more: nothing that is written here has so many parts.
#[inline]
pub fn put_count(out: &mut Vec<u8>, count: usize) {
    put_u32(out, u32::try_from(count).expect("what is written has fewer than 2^32 parts and bytes"));
}

/// Appends a varint.
pub fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a length and the bytes.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends a text, or that there is none.
pub fn put_optional(out: &mut Vec<u8>, text: Option<&str>) {
    out.push(u8::from(text.is_some()));
    if let Some(text) = text {
        put_bytes(out, text.as_bytes());
    }
}

/// Appends a type.
pub fn put_type(out: &mut Vec<u8>, data_type: DataType) {
    match data_type {
        DataType::Boolean => out.push(1),
        DataType::SmallInt => out.push(2),
        DataType::Integer => out.push(3),
        DataType::BigInt => out.push(4),
        DataType::Real => out.push(5),
        DataType::DoublePrecision => out.push(6),
        DataType::Numeric { precision, scale } => out.extend_from_slice(&[7, precision, scale]),
        DataType::Text => out.push(8),
        DataType::Varchar(limit) => {
            out.push(9);
            put_u32(out, limit);
        }
        DataType::Date => out.push(10),
        DataType::Timestamp => out.push(11),
        DataType::TimestampTz => out.push(12),
        other => out.extend_from_slice(&other.code()),
    }
}

/// Appends a value, which says itself what it is.
pub fn put_value(out: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => put_tagged(out, 0, &[]),
        ValueRef::Bool(v) => put_tagged(out, 1, &[u8::from(v)]),
        ValueRef::Int(v) => put_tagged(out, 2, &v.to_le_bytes()),
        ValueRef::Float(v) => put_tagged(out, 3, &v.to_bits().to_le_bytes()),
        ValueRef::Decimal(v) => put_tagged(out, 4, &v.to_le_bytes()),
        ValueRef::Text(v) => {
            out.push(5);
            put_bytes(out, v.as_bytes());
        }
        ValueRef::Bytes(v) => {
            out.push(6);
            put_bytes(out, v);
        }
        ValueRef::Uuid(v) => put_tagged(out, 7, &v.to_le_bytes()),
        ValueRef::Interval(v) => put_tagged(out, 8, &v.to_bits().to_le_bytes()),
        ValueRef::Array(v) => {
            out.push(9);
            put_bytes(out, v);
        }
    }
}

#[inline]
fn put_tagged(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

/// Bytes not read yet.
#[derive(Clone, Copy, Debug)]
pub struct ByteReader<'a> {
    /// What is left.
    pub bytes: &'a [u8],
    /// The error of what is wrong; says of what it is.
    damaged: fn(&str) -> Error,
}

impl<'a> ByteReader<'a> {
    /// All of some bytes.
    pub fn new(bytes: &'a [u8], damaged: fn(&str) -> Error) -> ByteReader<'a> {
        ByteReader { bytes, damaged }
    }

    #[cold]
    fn cut_off(&self) -> Error {
        (self.damaged)("it ends too early")
    }

    /// Takes so many bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or_else(|| self.cut_off())?;
        self.bytes = rest;
        Ok(taken)
    }

    /// Takes `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or_else(|| self.cut_off())?;
        self.bytes = rest;
        Ok(*taken)
    }

    /// Takes a byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Takes a number.
    #[inline]
    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Takes a number.
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Takes a number.
    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Takes a number that was written by [`put_varint`].
    #[inline]
    pub fn varint(&mut self) -> Result<u64> {
        if let [byte @ 0..=0x7f, rest @ ..] = self.bytes {
            self.bytes = rest;
            return Ok(u64::from(*byte));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64> {
        let mut number = 0u128;
        for shift in (0..70).step_by(7) {
            let byte = self.u8()?;
            number |= u128::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u64::try_from(number).map_err(|_| (self.damaged)("a number is too large"));
            }
        }
        Err((self.damaged)("a number does not end"))
    }

    /// Takes a count of things that take at least `least_bytes` bytes each.
    pub fn count_of(&mut self, least_bytes: usize) -> Result<usize> {
        let count = self.u32()? as usize;
        if count.saturating_mul(least_bytes) > self.bytes.len() {
            return Err((self.damaged)("it has fewer items than it says"));
        }
        Ok(count)
    }

    /// Takes a count of things of at least one byte each.
    pub fn count(&mut self) -> Result<usize> {
        self.count_of(1)
    }

    /// Takes a length and that many bytes.
    #[inline]
    pub fn byte_string(&mut self) -> Result<&'a [u8]> {
        let length = self.u32()? as usize;
        self.take(length)
    }

    /// Takes 0 or 1.
    pub fn flag(&mut self) -> Result<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err((self.damaged)(&format!("a flag is {other}"))),
        }
    }

    /// Takes a length and a text.
    pub fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.byte_string()?).map_err(|_| (self.damaged)("a text is not UTF-8"))
    }

    /// Takes a text that was written by [`put_optional`].
    pub fn optional(&mut self) -> Result<Option<&'a str>> {
        if self.flag()? { self.text().map(Some) } else { Ok(None) }
    }

    /// Takes a type.
    pub fn data_type(&mut self) -> Result<DataType> {
        Ok(match self.u8()? {
            1 => DataType::Boolean,
            2 => DataType::SmallInt,
            3 => DataType::Integer,
            4 => DataType::BigInt,
            5 => DataType::Real,
            6 => DataType::DoublePrecision,
            7 => {
                let [precision, scale] = self.array()?;
                DataType::Numeric { precision, scale }
            }
            8 => DataType::Text,
            9 => DataType::Varchar(self.u32()?),
            10 => DataType::Date,
            11 => DataType::Timestamp,
            12 => DataType::TimestampTz,
            tag => {
                let [a, b, c, d, e, f, g] = self.array()?;
                let code = [tag, a, b, c, d, e, f, g];
                DataType::from_code(code).map_err(|error| (self.damaged)(error.message()))?
            }
        })
    }

    /// Takes a value that was written by [`put_value`].
    pub fn value(&mut self) -> Result<Value> {
        Ok(match self.u8()? {
            0 => Value::Null,
            1 => Value::Bool(self.flag()?),
            2 => Value::Int(self.u64()?.cast_signed()),
            3 => Value::Float(f64::from_bits(self.u64()?)),
            4 => Value::Decimal(i128::from_le_bytes(self.array()?)),
            5 => Value::Text(self.text()?.into()),
            6 => Value::Bytes(self.byte_string()?.into()),
            7 => Value::Uuid(u128::from_le_bytes(self.array()?)),
            8 => Value::Interval(Interval::from_bits(u128::from_le_bytes(self.array()?))),
            9 => Value::Array(ArrayValue::from_bytes(self.byte_string()?)),
            tag => return Err((self.damaged)(&format!("a value has the unknown tag {tag}"))),
        })
    }

    /// Nothing may be left.
    pub fn end(self) -> Result<()> {
        match self.bytes.len() {
            0 => Ok(()),
            left => Err((self.damaged)(&format!("{left} bytes are left over"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damaged(what: &str) -> Error {
        Error::corrupt(format!("a test: {what}"))
    }

    #[test]
    fn numbers_read_back() {
        let mut out = Vec::new();
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        numbers.iter().for_each(|&number| put_varint(&mut out, number));
        let mut reader = ByteReader::new(&out, damaged);
        numbers.iter().for_each(|&number| assert_eq!(reader.varint().unwrap(), number));
        assert_eq!(reader.varint().unwrap_err().message(), "a test: it ends too early");
        assert!(ByteReader::new(&[0xff; 12], damaged).varint().is_err());
        let tenth = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert_eq!(ByteReader::new(&tenth, damaged).varint().unwrap_err().message(), "a test: a number is too large");
    }

    #[test]
    fn types_and_values_read_back_and_every_beginning_is_an_error() {
        let types = [
            DataType::Boolean,
            DataType::SmallInt,
            DataType::Integer,
            DataType::BigInt,
            DataType::Real,
            DataType::DoublePrecision,
            DataType::Numeric { precision: 38, scale: 3 },
            DataType::Text,
            DataType::Varchar(7),
            DataType::Date,
            DataType::Timestamp,
            DataType::TimestampTz,
            DataType::Uuid,
            DataType::Bytea,
            DataType::Interval,
            DataType::Time,
            DataType::Oid,
        ];
        let values = [
            Value::Null,
            Value::Bool(true),
            Value::Int(-7),
            Value::Float(-0.0),
            Value::Decimal(i128::MIN),
            Value::Text("ä".into()),
            Value::Bytes([0, 255].as_slice().into()),
            Value::Uuid(u128::MAX),
        ];
        for data_type in types {
            let mut out = Vec::new();
            put_type(&mut out, data_type);
            let mut reader = ByteReader::new(&out, damaged);
            assert_eq!(reader.data_type().unwrap(), data_type);
            reader.end().unwrap();
            (0..out.len()).for_each(|end| assert!(ByteReader::new(&out[..end], damaged).data_type().is_err()));
        }
        for value in values {
            let mut out = Vec::new();
            put_value(&mut out, value.as_ref());
            let mut reader = ByteReader::new(&out, damaged);
            assert_eq!(reader.value().unwrap(), value);
            reader.end().unwrap();
            (0..out.len()).for_each(|end| assert!(ByteReader::new(&out[..end], damaged).value().is_err()));
        }
    }

    #[test]
    fn what_says_more_than_there_is_is_an_error() {
        let mut out = Vec::new();
        put_count(&mut out, 5);
        out.extend([1, 2, 3, 4, 5]);
        assert_eq!(ByteReader::new(&out, damaged).count().unwrap(), 5);
        assert!(ByteReader::new(&out, damaged).count_of(2).is_err());
        assert_eq!(ByteReader::new(&out, damaged).byte_string().unwrap(), [1, 2, 3, 4, 5]);
        assert!(ByteReader::new(&out[..8], damaged).byte_string().is_err());
        for (bytes, wrong) in [(&[2u8][..], "a flag is 2"), (&[1, 1, 0, 0, 0, 0xff], "a text is not UTF-8")] {
            let found = ByteReader::new(bytes, damaged).optional().unwrap_err();
            assert_eq!(found.message(), format!("a test: {wrong}"));
        }
        assert_eq!(ByteReader::new(&[1, 2], damaged).end().unwrap_err().message(), "a test: 2 bytes are left over");
    }
}
