//! Single values, owned and borrowed. The column's [`DataType`](crate::DataType) says what the number in `Int` counts.

use std::cmp::Ordering;

/// An owned value.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// SQL NULL.
    #[default]
    Null,
    /// boolean
    Bool(bool),
    /// smallint, integer, bigint, date (days), timestamp and timestamptz (microseconds)
    Int(i64),
    /// real and double precision
    Float(f64),
    /// numeric, as an integer scaled by the column's scale
    Decimal(i128),
    /// text and varchar
    Text(Box<str>),
}

/// A borrowed value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// SQL NULL.
    Null,
    /// boolean
    Bool(bool),
    /// smallint, integer, bigint, date (days), timestamp and timestamptz (microseconds)
    Int(i64),
    /// real and double precision
    Float(f64),
    /// numeric, as an integer scaled by the column's scale
    Decimal(i128),
    /// text and varchar
    Text(&'a str),
}

impl Value {
    /// Borrows the value.
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Bool(v) => ValueRef::Bool(*v),
            Value::Int(v) => ValueRef::Int(*v),
            Value::Float(v) => ValueRef::Float(*v),
            Value::Decimal(v) => ValueRef::Decimal(*v),
            Value::Text(v) => ValueRef::Text(v),
        }
    }

    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

impl ValueRef<'_> {
    /// An owned copy.
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Bool(v) => Value::Bool(v),
            ValueRef::Int(v) => Value::Int(v),
            ValueRef::Float(v) => Value::Float(v),
            ValueRef::Decimal(v) => Value::Decimal(v),
            ValueRef::Text(v) => Value::Text(v.into()),
        }
    }

    /// Whether this is NULL.
    pub fn is_null(self) -> bool {
        matches!(self, ValueRef::Null)
    }

    /// Orders two values of one column: NULL last, NaN above every number, -0.0 equal to 0.0, text by bytes.
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
            (a, b) => panic!("values of one column have one kind: {a:?}, {b:?}"),
        }
    }
}

/// PostgreSQL's order of floats: NaN equal to itself and above every number, -0.0 equal to 0.0.
pub fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}
