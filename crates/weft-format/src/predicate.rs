//! What a scan may ask of one column: a comparison with a constant, membership in a list, NULL or not.
//!
//! ```text
//!   WHERE a >= 7 AND b IN ('x', 'y') AND c IS NULL
//!   [Compare { column: 0, op: GtEq, value: Int(7) },
//!    In { column: 1, values: [Text("x"), Text("y")] },
//!    IsNull { column: 2 }]
//! ```
//!
//! A scan takes a conjunction `&[Predicate]` and keeps the rows for which every one is true.
//!
//! 1. Three-valued logic: NULL, as a row's value or as the constant, satisfies no comparison and no list.
//! 2. Order and equality are [`ValueRef::compare`]'s: NaN equals itself and is above every number, -0.0 equals 0.0.
//! 3. Constants have the column's kind of value; the caller has cast them.

use std::cmp::Ordering;

use crate::value::{Value, ValueRef};

/// A comparison, row value first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `=`
    Eq,
    /// `<>`
    NotEq,
    /// `<`
    Lt,
    /// `<=`
    LtEq,
    /// `>`
    Gt,
    /// `>=`
    GtEq,
}

impl CompareOp {
    /// Whether `row op constant` holds, given how the row compares with the constant.
    pub fn holds(self, ordering: Ordering) -> bool {
        match self {
            CompareOp::Eq => ordering.is_eq(),
            CompareOp::NotEq => ordering.is_ne(),
            CompareOp::Lt => ordering.is_lt(),
            CompareOp::LtEq => ordering.is_le(),
            CompareOp::Gt => ordering.is_gt(),
            CompareOp::GtEq => ordering.is_ge(),
        }
    }
}

/// One condition on one column (its ordinal in the schema).
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// `column op value`
    Compare {
        /// Ordinal in the schema.
        column: usize,
        /// The comparison.
        op: CompareOp,
        /// The constant; NULL is never satisfied.
        value: Value,
    },
    /// `column IN (values)`
    In {
        /// Ordinal in the schema.
        column: usize,
        /// The list; NULLs in it are satisfied by no row.
        values: Vec<Value>,
    },
    /// `column IS NULL`
    IsNull {
        /// Ordinal in the schema.
        column: usize,
    },
    /// `column IS NOT NULL`
    IsNotNull {
        /// Ordinal in the schema.
        column: usize,
    },
}

impl Predicate {
    /// The ordinal of the column asked about.
    pub fn column(&self) -> usize {
        match self {
            Predicate::Compare { column, .. }
            | Predicate::In { column, .. }
            | Predicate::IsNull { column }
            | Predicate::IsNotNull { column } => *column,
        }
    }

    /// Whether the predicate is true (not false, not unknown) of a value.
    pub fn matches(&self, row: ValueRef<'_>) -> bool {
        match self {
            Predicate::IsNull { .. } => row.is_null(),
            Predicate::IsNotNull { .. } => !row.is_null(),
            _ if row.is_null() => false,
            Predicate::Compare { op, value, .. } => !value.is_null() && op.holds(row.compare(value.as_ref())),
            Predicate::In { values, .. } => {
                values.iter().any(|value| !value.is_null() && row.compare(value.as_ref()).is_eq())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_satisfies_no_comparison() {
        for op in [CompareOp::Eq, CompareOp::NotEq, CompareOp::Lt, CompareOp::LtEq, CompareOp::Gt, CompareOp::GtEq] {
            let with_null = Predicate::Compare { column: 0, op, value: Value::Null };
            let with_one = Predicate::Compare { column: 0, op, value: Value::Int(1) };
            assert!(!with_null.matches(ValueRef::Int(1)) && !with_null.matches(ValueRef::Null));
            assert!(!with_one.matches(ValueRef::Null));
        }
        let list = Predicate::In { column: 0, values: vec![Value::Null, Value::Int(2)] };
        assert!(list.matches(ValueRef::Int(2)) && !list.matches(ValueRef::Int(1)) && !list.matches(ValueRef::Null));
    }

    #[test]
    fn nan_is_above_every_number() {
        let above = Predicate::Compare { column: 0, op: CompareOp::Gt, value: Value::Float(f64::INFINITY) };
        assert!(above.matches(ValueRef::Float(f64::NAN)));
        let equal = Predicate::Compare { column: 0, op: CompareOp::Eq, value: Value::Float(0.0) };
        assert!(equal.matches(ValueRef::Float(-0.0)) && !equal.matches(ValueRef::Float(f64::NAN)));
    }
}
