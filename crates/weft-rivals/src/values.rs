//! Values of one column, side by side: 64-bit integers as such as long as nothing else is there.
//!
//! ```text
//!   push 7, push 8      Ints [7, 8]                      8 bytes each, as the paper's columns
//!   push NULL           Any [Int 7, Int 8, NULL]         from then on
//! ```

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use weft_format::arrow_values::array_of;
use weft_format::{DataType, Value, ValueRef};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    /// Integers alone.
    Ints(Vec<i64>),
    /// Anything.
    Any(Vec<Value>),
}

impl Default for Values {
    fn default() -> Values {
        Values::Ints(Vec::new())
    }
}

impl Values {
    pub(crate) fn len(&self) -> usize {
        match self {
            Values::Ints(values) => values.len(),
            Values::Any(values) => values.len(),
        }
    }

    pub(crate) fn get(&self, at: usize) -> ValueRef<'_> {
        match self {
            Values::Ints(values) => ValueRef::Int(values[at]),
            Values::Any(values) => values[at].as_ref(),
        }
    }

    /// As a column that takes anything.
    fn any(&mut self) -> &mut Vec<Value> {
        if let Values::Ints(values) = self {
            *self = Values::Any(values.iter().map(|value| Value::Int(*value)).collect());
        }
        match self {
            Values::Any(values) => values,
            Values::Ints(_) => unreachable!("it was turned into anything a moment ago"),
        }
    }

    pub(crate) fn push(&mut self, value: Value) {
        match (&mut *self, value) {
            (Values::Ints(values), Value::Int(value)) => values.push(value),
            (_, value) => self.any().push(value),
        }
    }

    /// Replaces a value; returns what was there.
    pub(crate) fn replace(&mut self, at: usize, value: Value) -> Value {
        match (&mut *self, value) {
            (Values::Ints(values), Value::Int(value)) => Value::Int(std::mem::replace(&mut values[at], value)),
            (_, value) => std::mem::replace(&mut self.any()[at], value),
        }
    }

    /// Adds values that mean nothing until there are so many.
    pub(crate) fn pad(&mut self, len: usize) {
        match self {
            Values::Ints(values) => values.resize(len.max(values.len()), 0),
            Values::Any(values) => values.resize(len.max(values.len()), Value::Null),
        }
    }

    /// Adds the same value until there are so many.
    pub(crate) fn fill(&mut self, len: usize, value: ValueRef<'_>) {
        if len <= self.len() {
            return;
        }
        match (&mut *self, value) {
            (Values::Ints(values), ValueRef::Int(value)) => values.resize(len, value),
            (_, value) => self.any().resize(len, value.to_value()),
        }
    }

    /// Adds some of another column.
    pub(crate) fn extend(&mut self, other: &Values, range: Range<usize>) {
        match (&mut *self, other) {
            (Values::Ints(values), Values::Ints(others)) => values.extend_from_slice(&others[range]),
            (_, other) => self.any().extend(range.map(|at| other.get(at).to_value())),
        }
    }

    /// Leaves those that are kept.
    pub(crate) fn retain(&mut self, keep: &[bool]) {
        assert_eq!(keep.len(), self.len(), "each value is kept or not");
        let mut keep = keep.iter();
        let mut is_kept = || *keep.next().expect("as many as there are values");
        match self {
            Values::Ints(values) => values.retain(|_| is_kept()),
            Values::Any(values) => values.retain(|_| is_kept()),
        }
    }

    /// As an Arrow array of a type.
    pub(crate) fn into_array(self, data_type: DataType) -> ArrayRef {
        match (self, data_type) {
            (Values::Ints(values), DataType::BigInt) => Arc::new(Int64Array::from(values)),
            (Values::Ints(values), data_type) => array_of(data_type, values.iter().map(|value| ValueRef::Int(*value))),
            (Values::Any(values), data_type) => array_of(data_type, values.iter().map(Value::as_ref)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_stay_integers_until_something_else_comes() {
        let mut values = Values::default();
        values.push(Value::Int(7));
        values.fill(3, ValueRef::Int(8));
        assert_eq!(values.replace(1, Value::Int(9)), Value::Int(8));
        assert!(matches!(&values, Values::Ints(ints) if *ints == [7, 9, 8]));
        let mut other = Values::default();
        other.extend(&values, 1..3);
        assert_eq!(other.replace(0, Value::Null), Value::Int(9));
        values.extend(&other, 0..1);
        values.retain(&[true, false, true, true]);
        assert!(matches!(&values, Values::Any(any) if *any == [Value::Int(7), Value::Int(8), Value::Null]));
        let array = values.into_array(DataType::BigInt);
        assert_eq!((array.len(), array.null_count()), (3, 1));
    }
}
