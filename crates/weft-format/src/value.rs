//! Single values, owned and borrowed. The column's [`DataType`](crate::DataType) says what the number in `Int` counts,
//! and of what type an array's elements are.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::array::ArrayValue;
use crate::interval::Interval;

/// An owned value.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// SQL NULL.
    #[default]
    Null,
    /// boolean
    Bool(bool),
    /// smallint, integer, bigint, oid, date (days), time, timestamp and timestamptz (microseconds)
    Int(i64),
    /// real and double precision
    Float(f64),
    /// numeric, as an integer scaled by the column's scale
    Decimal(i128),
    /// text, varchar, char (without trailing blanks), json, jsonb (canonical)
    Text(Box<str>),
    /// bytea
    Bytes(Arc<[u8]>),
    /// uuid; its first byte is the number's highest
    Uuid(u128),
    /// interval
    Interval(Interval),
    /// An array; the column's type says what of.
    Array(ArrayValue),
}

/// A borrowed value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// SQL NULL.
    Null,
    /// boolean
    Bool(bool),
    /// smallint, integer, bigint, oid, date (days), time, timestamp and timestamptz (microseconds)
    Int(i64),
    /// real and double precision
    Float(f64),
    /// numeric, as an integer scaled by the column's scale
    Decimal(i128),
    /// text, varchar, char (without trailing blanks), json, jsonb (canonical)
    Text(&'a str),
    /// bytea; within storage also arrays
    Bytes(&'a [u8]),
    /// uuid
    Uuid(u128),
    /// interval
    Interval(Interval),
    /// The bytes of an [`ArrayValue`].
    Array(&'a [u8]),
}

impl Value {
    /// The memory behind the value, bytes.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len() + 16,
            Value::Array(array) => array.as_bytes().len() + 16,
            _ => 0,
        }
    }

    /// Borrows the value.
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Bool(v) => ValueRef::Bool(*v),
            Value::Int(v) => ValueRef::Int(*v),
            Value::Float(v) => ValueRef::Float(*v),
            Value::Decimal(v) => ValueRef::Decimal(*v),
            Value::Text(v) => ValueRef::Text(v),
            Value::Bytes(v) => ValueRef::Bytes(v),
            Value::Uuid(v) => ValueRef::Uuid(*v),
            Value::Interval(v) => ValueRef::Interval(*v),
            Value::Array(v) => ValueRef::Array(v.as_bytes()),
        }
    }

    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

impl<'a> ValueRef<'a> {
    /// An owned copy.
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Bool(v) => Value::Bool(v),
            ValueRef::Int(v) => Value::Int(v),
            ValueRef::Float(v) => Value::Float(v),
            ValueRef::Decimal(v) => Value::Decimal(v),
            ValueRef::Text(v) => Value::Text(v.into()),
            ValueRef::Bytes(v) => Value::Bytes(v.into()),
            ValueRef::Uuid(v) => Value::Uuid(v),
            ValueRef::Interval(v) => Value::Interval(v),
            ValueRef::Array(v) => Value::Array(ArrayValue::from_bytes(v)),
        }
    }

    /// Whether this is NULL.
    pub fn is_null(self) -> bool {
        matches!(self, ValueRef::Null)
    }

    /// The bytes of a value that has no fixed width.
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        match self {
            ValueRef::Text(v) => Some(v.as_bytes()),
            ValueRef::Bytes(v) | ValueRef::Array(v) => Some(v),
            _ => None,
        }
    }

    /// Orders two values of one column: NULL last, NaN above every number, -0.0 equal to 0.0, text by bytes, intervals
    /// with months of 30 days.
    pub fn compare(self, other: ValueRef<'_>) -> Ordering {
        match (self, other) {
            (ValueRef::Null, ValueRef::Null) => Ordering::Equal,
            (ValueRef::Null, _) => Ordering::Greater,
            (_, ValueRef::Null) => Ordering::Less,
            (ValueRef::Bool(a), ValueRef::Bool(b)) => a.cmp(&b),
            (ValueRef::Int(a), ValueRef::Int(b)) => a.cmp(&b),
            (ValueRef::Float(a), ValueRef::Float(b)) => compare_floats(a, b),
            (ValueRef::Decimal(a), ValueRef::Decimal(b)) => a.cmp(&b),
            (ValueRef::Text(a), ValueRef::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (ValueRef::Bytes(a) | ValueRef::Array(a), ValueRef::Bytes(b) | ValueRef::Array(b)) => a.cmp(b),
            (ValueRef::Uuid(a), ValueRef::Uuid(b)) => a.cmp(&b),
            (ValueRef::Interval(a), ValueRef::Interval(b)) => a.span().cmp(&b.span()),
            (a, b) => panic!("values of one column have one kind: {a:?}, {b:?}"),
        }
    }
}

/// PostgreSQL's order of floats: NaN equal to itself and above every number, -0.0 equal to 0.0.
pub fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}
