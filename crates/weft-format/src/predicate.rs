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
//! 4. [`all_implied`] may say no of what is implied, never yes of what is not.

use std::cmp::Ordering;

use crate::value::{Value, ValueRef};

/// A comparison, row value first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// Whether every row that satisfies all of `known` satisfies all of `wanted` (predicate 4).
///
/// ```text
///   a > 5 AND b = 'x'   implies   a >= 5, a <> 3, a IS NOT NULL, b IN ('x', 'y')         not: a > 6, c IS NULL
/// ```
pub fn all_implied(known: &[Predicate], wanted: &[Predicate]) -> bool {
    wanted.iter().all(|wanted| known.iter().any(|known| known.implies(wanted)))
}

impl Predicate {
    /// Whether every value that satisfies this one satisfies the other.
    fn implies(&self, wanted: &Predicate) -> bool {
        if self.column() != wanted.column() {
            return false;
        }
        match (self, wanted) {
            (Predicate::IsNull { .. }, Predicate::IsNull { .. }) => true,
            (Predicate::IsNull { .. }, _) | (_, Predicate::IsNull { .. }) => false,
            (_, Predicate::IsNotNull { .. }) => true,
            (Predicate::IsNotNull { .. }, _) => false,
            (Predicate::Compare { op: CompareOp::Eq, value, .. }, _) => wanted.matches(value.as_ref()),
            (Predicate::In { values, .. }, _) => {
                values.iter().filter(|value| !value.is_null()).all(|value| wanted.matches(value.as_ref()))
            }
            (Predicate::Compare { op, value, .. }, Predicate::Compare { op: other, value: bound, .. }) => {
                !value.is_null()
                    && !bound.is_null()
                    && range_implies(*op, value.as_ref().compare(bound.as_ref()), *other)
            }
            (Predicate::Compare { .. }, Predicate::In { .. }) => false,
        }
    }
}

/// Whether `x op a` implies `x other b`, given how a compares with b; `op` is no equality.
fn range_implies(op: CompareOp, ordering: Ordering, other: CompareOp) -> bool {
    use CompareOp::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    match (op, other) {
        (_, Eq) | (Eq, _) => false,
        (NotEq, NotEq) => ordering.is_eq(),
        (NotEq, _) => false,
        (Gt, Gt | GtEq | NotEq) | (GtEq, GtEq) => ordering.is_ge(),
        (GtEq, Gt | NotEq) => ordering.is_gt(),
        (Lt, Lt | LtEq | NotEq) | (LtEq, LtEq) => ordering.is_le(),
        (LtEq, Lt | NotEq) => ordering.is_lt(),
        (Gt | GtEq, Lt | LtEq) | (Lt | LtEq, Gt | GtEq) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All predicates over 0..5, against each other: an implication holds for every value, and those of single
    /// comparisons are all found but where integers have no value between two bounds.
    #[test]
    fn implications_hold_for_every_value() {
        let ops = [CompareOp::Eq, CompareOp::NotEq, CompareOp::Lt, CompareOp::LtEq, CompareOp::Gt, CompareOp::GtEq];
        let compare = |op: CompareOp, v: f64| Predicate::Compare { column: 0, op, value: Value::Float(v) };
        let mut all: Vec<Predicate> =
            ops.iter().flat_map(|&op| (0..5).map(move |v| compare(op, f64::from(v)))).collect();
        let list = |values: &[f64]| Predicate::In {
            column: 0,
            values: values.iter().map(|&v| Value::Float(v)).chain([Value::Null]).collect(),
        };
        all.extend([list(&[1.0, 3.0]), list(&[3.0]), list(&[1.0, 2.0, 3.0])]);
        all.extend([Predicate::IsNull { column: 0 }, Predicate::IsNotNull { column: 0 }]);
        // Halves lie between the constants, so what holds for all of these holds for all numbers.
        let values: Vec<ValueRef<'_>> = (-2..12)
            .map(|v| ValueRef::Float(f64::from(v) / 2.0))
            .chain([ValueRef::Float(f64::NAN), ValueRef::Null])
            .collect();
        let mut found = 0;
        for known in &all {
            for wanted in &all {
                let is_true = values.iter().all(|&value| !known.matches(value) || wanted.matches(value));
                let said = all_implied(std::slice::from_ref(known), std::slice::from_ref(wanted));
                assert_eq!(said, is_true, "{known:?} implies {wanted:?}");
                found += usize::from(said);
            }
        }
        assert!(found > 100, "{found}");
        let other = Predicate::Compare { column: 1, op: CompareOp::Eq, value: Value::Float(1.0) };
        assert!(!all_implied(std::slice::from_ref(&other), &[compare(CompareOp::Eq, 1.0)]));
        assert!(all_implied(
            &[other, compare(CompareOp::Eq, 1.0)],
            &[compare(CompareOp::Lt, 2.0), Predicate::IsNotNull { column: 1 }]
        ));
        assert!(!all_implied(&[], &[Predicate::IsNotNull { column: 1 }]) && all_implied(&[], &[]));
        let null = Predicate::Compare { column: 0, op: CompareOp::Gt, value: Value::Null };
        assert!(!all_implied(&[compare(CompareOp::Gt, 1.0)], &[null]));
    }

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
