//! A key as bytes whose order under memcmp is the order of the values, and none of which is a prefix of another.
//!
//! | type | bytes |
//! |---|---|
//! | boolean | 0 or 1 |
//! | integers, date, timestamps | big-endian in the type's width, sign bit flipped |
//! | floats | IEEE bits big-endian; all bits flipped when negative, else the sign bit; -0.0 as 0.0, one NaN |
//! | numeric | 16 bytes big-endian, sign bit flipped |
//! | uuid | its 16 bytes |
//! | interval | its span in microseconds, 12 bytes big-endian, sign bit flipped |
//! | text, bytes, arrays | bytes with 00 as 00 FF, ended by 00 00 |
//!
//! Key columns are never NULL.

use crate::error::{Error, Result};
use crate::interval::Interval;
use crate::row::{RowCodec, array};
use crate::schema::Schema;
use crate::types::DataType;
use crate::value::{Value, ValueRef};

/// Writes and reads the keys of one schema.
#[derive(Clone, Debug)]
pub struct KeyCodec {
    columns: Vec<usize>,
    types: Vec<DataType>,
}

impl KeyCodec {
    /// The codec of a schema's keys.
    pub fn new(schema: &Schema) -> KeyCodec {
        let types = schema.key.iter().map(|&ordinal| schema.columns[ordinal].data_type).collect();
        KeyCodec { columns: schema.key.clone(), types }
    }

    /// Encodes the key columns' values, in key order.
    pub fn encode<'a>(&self, values: impl IntoIterator<Item = ValueRef<'a>>) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.types.len() * 9);
        let mut count = 0;
        for (value, data_type) in values.into_iter().zip(&self.types) {
            put(&mut key, *data_type, value);
            count += 1;
        }
        assert_eq!(count, self.types.len(), "a key has one value per key column");
        key
    }

    /// The key of an encoded row.
    pub fn of_row(&self, codec: &RowCodec, row: &[u8]) -> Vec<u8> {
        self.encode(self.columns.iter().map(|&ordinal| codec.get(row, ordinal)))
    }

    /// As [`KeyCodec::of_row`], into a buffer that is used again and again.
    pub fn put_row(&self, codec: &RowCodec, row: &[u8], key: &mut Vec<u8>) {
        key.clear();
        for (&ordinal, data_type) in self.columns.iter().zip(&self.types) {
            put(key, *data_type, codec.get(row, ordinal));
        }
    }

    /// The values of a key, in key order.
    pub fn decode(&self, mut key: &[u8]) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(self.types.len());
        for data_type in &self.types {
            values.push(take(&mut key, *data_type).ok_or_else(|| Error::corrupt("a key ends too early"))?);
        }
        if key.is_empty() { Ok(values) } else { Err(Error::corrupt("a key has bytes left over")) }
    }

    /// The value of a column of a key, if it is an integer, a date or a timestamp and none but such come before it.
    /// Then the key tells without a search what a row has.
    pub fn integer_of(&self, mut key: &[u8], column: usize) -> Option<Value> {
        for (&ordinal, data_type) in self.columns.iter().zip(&self.types) {
            let is_integer = matches!(
                data_type,
                DataType::SmallInt
                    | DataType::Integer
                    | DataType::BigInt
                    | DataType::Date
                    | DataType::Timestamp
                    | DataType::TimestampTz
            );
            let value = if is_integer { take(&mut key, *data_type) } else { None }?;
            if ordinal == column {
                return Some(value);
            }
        }
        None
    }
}

/// Appends one value in key order.
pub fn put(key: &mut Vec<u8>, data_type: DataType, value: ValueRef<'_>) {
    match (data_type, value) {
        (DataType::Boolean, ValueRef::Bool(v)) => key.push(u8::from(v)),
        (DataType::SmallInt, ValueRef::Int(v)) => key.extend(((v as i16) ^ i16::MIN).to_be_bytes()),
        (DataType::Integer | DataType::Date, ValueRef::Int(v)) => key.extend(((v as i32) ^ i32::MIN).to_be_bytes()),
        (_, ValueRef::Int(v)) => key.extend((v ^ i64::MIN).to_be_bytes()),
        (_, ValueRef::Float(v)) => key.extend(float_bits(v).to_be_bytes()),
        (_, ValueRef::Decimal(v)) => key.extend((v ^ i128::MIN).to_be_bytes()),
        (_, ValueRef::Uuid(v)) => key.extend(v.to_be_bytes()),
        (_, ValueRef::Interval(v)) => key.extend(&(v.span() ^ SPAN_SIGN).to_be_bytes()[4..]),
        (_, ValueRef::Text(v)) => put_bytes(key, v.as_bytes()),
        (_, ValueRef::Bytes(v) | ValueRef::Array(v)) => put_bytes(key, v),
        (data_type, value) => panic!("key value {value:?} is not a {data_type}"),
    }
}

/// The first 8 bytes as a number, zeros for those that are missing: of two strings whose heads differ the one with the
/// smaller head is the smaller.
#[inline]
pub fn head(bytes: &[u8]) -> u64 {
    if let Some(first) = bytes.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    let mut head = [0; 8];
    head[..bytes.len()].copy_from_slice(bytes);
    u64::from_be_bytes(head)
}

/// The sign bit of the 96 bits that an interval's span is stored in.
const SPAN_SIGN: i128 = 1 << 95;

fn put_bytes(key: &mut Vec<u8>, bytes: &[u8]) {
    for &byte in bytes {
        key.push(byte);
        if byte == 0 {
            key.push(0xff);
        }
    }
    key.extend([0, 0]);
}

fn float_bits(v: f64) -> u64 {
    let canonical = if v.is_nan() { f64::NAN.abs() } else { v + 0.0 };
    let bits = canonical.to_bits();
    if bits >> 63 == 1 { !bits } else { bits ^ (1 << 63) }
}

/// Reads one value from the front of a key.
pub(crate) fn take(key: &mut &[u8], data_type: DataType) -> Option<Value> {
    if data_type.is_variable() {
        let bytes = take_bytes(key)?;
        return match data_type {
            DataType::Bytea => Some(Value::Bytes(bytes.into())),
            DataType::Array(element) => {
                crate::array::elements(&bytes, element.data_type()).ok()?;
                Some(ValueRef::Array(&bytes).to_value())
            }
            _ => Some(Value::Text(String::from_utf8(bytes).ok()?.into())),
        };
    }
    let width = match data_type {
        DataType::Real => 8,
        DataType::Interval => 12,
        other => other.slot_bytes(),
    };
    let bytes = key.get(..width)?;
    *key = &key[width..];
    Some(match data_type {
        DataType::Boolean if bytes[0] > 1 => return None,
        DataType::Boolean => Value::Bool(bytes[0] == 1),
        DataType::SmallInt => Value::Int((i16::from_be_bytes(array(bytes)) ^ i16::MIN).into()),
        DataType::Integer | DataType::Date => Value::Int((i32::from_be_bytes(array(bytes)) ^ i32::MIN).into()),
        DataType::Real | DataType::DoublePrecision => {
            let bits = u64::from_be_bytes(array(bytes));
            Value::Float(f64::from_bits(if bits >> 63 == 1 { bits ^ (1 << 63) } else { !bits }))
        }
        DataType::Numeric { .. } => Value::Decimal(i128::from_be_bytes(array(bytes)) ^ i128::MIN),
        DataType::Uuid => Value::Uuid(u128::from_be_bytes(array(bytes))),
        DataType::Interval => {
            let mut wide = [0; 16];
            wide[4..].copy_from_slice(bytes);
            let span = (i128::from_be_bytes(wide) ^ SPAN_SIGN) << 32 >> 32;
            let interval = Interval::of_span(span);
            if interval.span() != span {
                return None;
            }
            Value::Interval(interval)
        }
        _ => Value::Int(i64::from_be_bytes(array(bytes)) ^ i64::MIN),
    })
}

fn take_bytes(key: &mut &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut at = 0;
    loop {
        match (*key.get(at)?, key.get(at + 1)) {
            (0, Some(0)) => break,
            (0, Some(0xff)) => {
                text.push(0);
                at += 2;
            }
            (0, _) => return None,
            (byte, _) => {
                text.push(byte);
                at += 1;
            }
        }
    }
    *key = &key[at + 2..];
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::tests::{Random, TYPES, random_type, random_value};
    use crate::schema::Column;

    fn codec(types: &[DataType]) -> KeyCodec {
        let column = |&data_type| Column { name: String::new(), data_type, not_null: true };
        KeyCodec::new(&Schema::new(types.iter().map(column).collect(), (0..types.len()).collect()))
    }

    #[test]
    fn bytes_compare_as_values_do() {
        let mut random = Random(21);
        for data_type in TYPES {
            let codec = codec(&[data_type]);
            let mut values: Vec<Value> = (0..400).map(|i| random_value(data_type, i, &mut random)).collect();
            if data_type.is_text() {
                values.extend(
                    ["", "\0", "\0\0", "a", "a\0", "a\0b", "a\u{1}", "ab", "é"].map(|text| Value::Text(text.into())),
                );
            }
            let keys: Vec<Vec<u8>> = values.iter().map(|value| codec.encode([value.as_ref()])).collect();
            for (a, key_a) in values.iter().zip(&keys) {
                for (b, key_b) in values.iter().zip(&keys) {
                    assert_eq!(key_a.cmp(key_b), a.as_ref().compare(b.as_ref()), "{data_type}: {a:?}, {b:?}");
                    assert!(key_a == key_b || !key_b.starts_with(key_a), "{data_type}: {a:?} is a prefix of {b:?}");
                }
            }
        }
    }

    #[test]
    fn heads_are_in_the_order_of_strings() {
        let ascending: [&[u8]; 7] =
            [b"", b"\0", b"\0\0", b"\0\0\0\0\0\0\0\0", b"\0\0\0\0\0\0\0\0\x01", b"a", b"abcdefgh"];
        for pair in ascending.windows(2) {
            assert!(head(pair[0]) <= head(pair[1]), "{pair:?}");
        }
        assert_eq!(head(b"abcdefghi"), head(b"abcdefgh"));
    }

    #[test]
    fn integers_are_read_off_keys() {
        let types = [DataType::SmallInt, DataType::Timestamp, DataType::Text, DataType::Integer];
        let codec = codec(&types);
        let values = [Value::Int(-7), Value::Int(1 << 50), Value::Text("a".into()), Value::Int(3)];
        let key = codec.encode(values.iter().map(Value::as_ref));
        let found: Vec<Option<Value>> = (0..5).map(|column| codec.integer_of(&key, column)).collect();
        assert_eq!(found, [Some(Value::Int(-7)), Some(Value::Int(1 << 50)), None, None, None]);
        assert_eq!(codec.integer_of(&key[..5], 1), None);
    }

    #[test]
    fn several_columns_round_trip_and_compare_in_order() {
        let mut random = Random(22);
        for _ in 0..300 {
            let types: Vec<DataType> = (0..1 + random.below(3)).map(|_| random_type(&mut random)).collect();
            let codec = codec(&types);
            let mut row =
                || -> Vec<Value> { types.iter().map(|t| random_value(*t, random.below(5), &mut random)).collect() };
            let (a, b) = (row(), row());
            let (key_a, key_b) = (codec.encode(a.iter().map(Value::as_ref)), codec.encode(b.iter().map(Value::as_ref)));
            let order = a.iter().zip(&b).map(|(a, b)| a.as_ref().compare(b.as_ref())).find(|order| order.is_ne());
            assert_eq!(key_a.cmp(&key_b), order.unwrap_or(std::cmp::Ordering::Equal), "{a:?}, {b:?}");
            let back = codec.decode(&key_a).unwrap();
            assert!(back.iter().zip(&a).all(|(a, b)| a.as_ref().compare(b.as_ref()).is_eq()), "{back:?}, {a:?}");
        }
    }

    #[test]
    fn known_bytes() {
        assert_eq!(codec(&[DataType::Integer]).encode([ValueRef::Int(-2)]), [0x7f, 0xff, 0xff, 0xfe]);
        assert_eq!(codec(&[DataType::Text]).encode([ValueRef::Text("a\0")]), [b'a', 0, 0xff, 0, 0]);
        let zero = codec(&[DataType::DoublePrecision]).encode([ValueRef::Float(-0.0)]);
        assert_eq!(zero, [0x80, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn damaged_keys_are_refused() {
        let mut random = Random(23);
        let codec = codec(&[DataType::Boolean, DataType::Text, DataType::SmallInt]);
        let good = codec.encode([ValueRef::Bool(true), ValueRef::Text("é\0"), ValueRef::Int(7)]);
        for len in 0..good.len() {
            assert!(codec.decode(&good[..len]).is_err(), "{len} bytes");
        }
        assert!(codec.decode(&[&good[..], &[0]].concat()).is_err());
        for _ in 0..5_000 {
            let mut bad = good.clone();
            bad[random.below(good.len() as u64) as usize] = random.next() as u8;
            if let Ok(values) = codec.decode(&bad) {
                assert_eq!(codec.encode(values.iter().map(Value::as_ref)), bad, "an accepted key is the only spelling");
            }
        }
    }
}
