//! A key as bytes whose order under memcmp is the order of the values, and none of which is a prefix of another.
//!
//! The bytes of each type: `ordered`. Key columns are never NULL.

use crate::error::{Error, Result};
use crate::ordered::take;
pub use crate::ordered::{head, put};
use crate::row::RowCodec;
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

    /// What all keys begin with that have these values in their first columns; no key beside them does.
    pub fn encode_first<'a>(&self, values: impl IntoIterator<Item = ValueRef<'a>>) -> Vec<u8> {
        let mut key = Vec::new();
        for (value, data_type) in values.into_iter().zip(&self.types) {
            put(&mut key, *data_type, value);
        }
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
                    | DataType::Enum(_)
            );
            let value = if is_integer { take(&mut key, *data_type) } else { None }?;
            if ordinal == column {
                return Some(value);
            }
        }
        None
    }
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
