//! A one-dimensional array as bytes whose order under memcmp is the order of arrays.
//!
//! ```text
//!   '{7,NULL}'::integer[]     01 80 00 00 07   02   00        a value: 01 and its key bytes; NULL: 02; the end: 00
//! ```
//!
//! 1. Arrays compare element by element, NULL above every value, and a prefix is below what it begins; so do the bytes:
//!    the end is below every element, and no key is a prefix of another.
//! 2. One array has one spelling; -0.0 is 0.0 and there is one NaN. Intervals, whose keys are their spans, have their
//!    months and days behind them.
//!
//! Rows, keys, blocks and statistics treat arrays as these bytes.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::interval::Interval;
use crate::key;
use crate::row::array as bytes_of;
use crate::types::DataType;
use crate::value::{Value, ValueRef};

const END: u8 = 0;
const VALUE: u8 = 1;
const NULL: u8 = 2;

/// An array's values; who has one knows the type of its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayValue(Arc<[u8]>);

impl ArrayValue {
    /// An array of values of a type.
    pub fn new<'a>(element: DataType, values: impl IntoIterator<Item = ValueRef<'a>>) -> ArrayValue {
        let mut bytes = Vec::new();
        for value in values {
            push(&mut bytes, element, value);
        }
        bytes.push(END);
        ArrayValue(bytes.into())
    }

    /// An array that was [`ArrayValue::as_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> ArrayValue {
        ArrayValue(bytes.into())
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The elements in order, which are of this type.
    pub fn values(&self, element: DataType) -> Vec<Value> {
        elements(&self.0, element).expect("arrays are made by ArrayValue::new, or were checked")
    }
}

fn push(bytes: &mut Vec<u8>, element: DataType, value: ValueRef<'_>) {
    if value.is_null() {
        bytes.push(NULL);
        return;
    }
    bytes.push(VALUE);
    key::put(bytes, element, value);
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
                let value = key::take(&mut bytes, element).ok_or_else(damaged)?;
                values.push(match value {
                    Value::Interval(key) => {
                        let (fields, rest) = bytes.split_at_checked(8).ok_or_else(damaged)?;
                        bytes = rest;
                        let months = i32::from_le_bytes(bytes_of(fields));
                        let days = i32::from_le_bytes(bytes_of(&fields[4..]));
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
