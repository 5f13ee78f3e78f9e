//! Values as bytes whose order under memcmp is the order of the values, and none of which is a prefix of another.
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
//! An array is its elements, each a byte and its own bytes; what holds of them stands with [`ArrayValue`].

use crate::array::ArrayValue;
use crate::bytes::array;
use crate::error::{Error, Result};
use crate::interval::Interval;
use crate::types::DataType;
use crate::value::{Value, ValueRef};

const END: u8 = 0;
const VALUE: u8 = 1;
const NULL: u8 = 2;

impl ArrayValue {
    /// An array of values of a type.
    pub fn new<'a>(element: DataType, values: impl IntoIterator<Item = ValueRef<'a>>) -> ArrayValue {
        let mut bytes = Vec::new();
        for value in values {
            push(&mut bytes, element, value);
        }
        bytes.push(END);
        ArrayValue::from_bytes(&bytes)
    }

    /// The elements in order, which are of this type.
    pub fn values(&self, element: DataType) -> Vec<Value> {
        elements(self.as_bytes(), element).expect("arrays are made by ArrayValue::new, or were checked")
    }
}

fn push(bytes: &mut Vec<u8>, element: DataType, value: ValueRef<'_>) {
    if value.is_null() {
        bytes.push(NULL);
        return;
    }
    bytes.push(VALUE);
    put(bytes, element, value);
    if let ValueRef::Interval(interval) = value {
        bytes.extend(interval.months.to_le_bytes());
        bytes.extend(interval.days.to_le_bytes());
    }
}

/// The elements of an array's bytes; an error when the bytes are no array of this type.
pub fn elements(mut bytes: &[u8], element: DataType) -> Result<Vec<Value>> {
    let damaged = || Error::corrupt(format!("an array of {element} is damaged"));
    let mut values = Vec::new();
    loop {
        let (&kind, rest) = bytes.split_first().ok_or_else(damaged)?;
        bytes = rest;
        match kind {
            END => break,
            NULL => values.push(Value::Null),
            VALUE => {
                let value = take(&mut bytes, element).ok_or_else(damaged)?;
                values.push(match value {
                    Value::Interval(key) => {
                        let (fields, rest) = bytes.split_at_checked(8).ok_or_else(damaged)?;
                        bytes = rest;
                        let months = i32::from_le_bytes(array(fields));
                        let days = i32::from_le_bytes(array(&fields[4..]));
                        let micros = key.span() - Interval::new(months, days, 0).span();
                        let micros = i64::try_from(micros).map_err(|_| damaged())?;
                        Value::Interval(Interval { months, days, micros })
                    }
                    other => other,
                });
            }
            _ => return Err(damaged()),
        }
    }
    if bytes.is_empty() { Ok(values) } else { Err(damaged()) }
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
                elements(&bytes, element.data_type()).ok()?;
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
    use crate::encoding::tests::{Random, TYPES, random_value};

    fn random_array(element: DataType, random: &mut Random) -> Vec<Value> {
        let value = |random: &mut Random| match random.below(4) {
            0 => Value::Null,
            _ => random_value(element, random.next() % 5, random),
        };
        (0..random.below(4)).map(|_| value(random)).collect()
    }

    #[test]
    fn bytes_compare_as_arrays_do_and_round_trip() {
        let mut random = Random(61);
        for element in TYPES.into_iter().filter(|data_type| data_type.element().is_none()) {
            for _ in 0..400 {
                let (a, b) = (random_array(element, &mut random), random_array(element, &mut random));
                let bytes = |values: &[Value]| ArrayValue::new(element, values.iter().map(Value::as_ref));
                let (bytes_a, bytes_b) = (bytes(&a), bytes(&b));
                let order = a.iter().zip(&b).map(|(a, b)| a.as_ref().compare(b.as_ref())).find(|order| order.is_ne());
                let order = order.unwrap_or(a.len().cmp(&b.len()));
                if element != DataType::Interval || order.is_ne() {
                    assert_eq!(bytes_a.as_bytes().cmp(bytes_b.as_bytes()), order, "{element}: {a:?} {b:?}");
                }
                let back = bytes_a.values(element);
                assert_eq!(back.len(), a.len());
                assert!(back.iter().zip(&a).all(|(a, b)| a.as_ref().compare(b.as_ref()).is_eq()), "{back:?} {a:?}");
                assert_eq!(bytes(&back), bytes_a, "one spelling");
            }
        }
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let mut random = Random(62);
        for element in TYPES.into_iter().filter(|data_type| data_type.element().is_none()) {
            let values = [Value::Null, random_value(element, 1, &mut random), random_value(element, 2, &mut random)];
            let good = ArrayValue::new(element, values.iter().map(Value::as_ref));
            for end in 0..good.as_bytes().len() {
                assert!(elements(&good.as_bytes()[..end], element).is_err(), "{element}");
            }
            for _ in 0..2_000 {
                let mut bad = good.as_bytes().to_vec();
                bad[random.below(good.as_bytes().len() as u64) as usize] = random.next() as u8;
                let _ = elements(&bad, element);
            }
        }
    }
}
