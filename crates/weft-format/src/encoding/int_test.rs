//! A predicate on integers, as what is cheap to test.
//!
//! ```text
//!   a >= 7        7 ..= MAX             a IN (3, 9)    the list, sorted
//!   a <> 7        not 7 ..= 7           a IN (3)       3 ..= 3
//! ```

use crate::predicate::{CompareOp, Predicate};
use crate::value::Value;

/// What an integer has to satisfy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IntTest {
    /// It lies in a range.
    Range(IntRange),
    /// It is one of these, ascending.
    List(Vec<i64>),
}

/// `low <= value <= high`, or the opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IntRange {
    pub(crate) low: i64,
    pub(crate) high: i64,
    pub(crate) inverted: bool,
}

impl IntTest {
    /// The test of a predicate; none when that asks for NULL, compares with NULL, or is about no integers.
    pub(crate) fn of(predicate: &Predicate) -> Option<IntTest> {
        match predicate {
            Predicate::Compare { op, value: Value::Int(value), .. } => Some(IntTest::Range(IntRange::of(*op, *value))),
            Predicate::In { values, .. } => {
                let ints = values.iter().filter(|value| !value.is_null()).map(|value| match value {
                    Value::Int(value) => Some(*value),
                    _ => None,
                });
                let mut list = ints.collect::<Option<Vec<i64>>>()?;
                list.sort_unstable();
                list.dedup();
                Some(match list[..] {
                    [only] => IntTest::Range(IntRange::of(CompareOp::Eq, only)),
                    _ => IntTest::List(list),
                })
            }
            _ => None,
        }
    }
}

impl IntRange {
    /// The range of a comparison; an empty one has `low > high`.
    pub(crate) fn of(op: CompareOp, value: i64) -> IntRange {
        let empty = IntRange { low: 1, high: 0, inverted: false };
        let range = |low, high| IntRange { low, high, inverted: false };
        match op {
            CompareOp::Eq => range(value, value),
            CompareOp::NotEq => IntRange { low: value, high: value, inverted: true },
            CompareOp::Lt => value.checked_sub(1).map_or(empty, |high| range(i64::MIN, high)),
            CompareOp::LtEq => range(i64::MIN, value),
            CompareOp::Gt => value.checked_add(1).map_or(empty, |low| range(low, i64::MAX)),
            CompareOp::GtEq => range(value, i64::MAX),
        }
    }

    /// Whether a value satisfies it.
    pub(crate) fn contains(&self, value: i64) -> bool {
        (self.low <= value && value <= self.high) != self.inverted
    }
}
