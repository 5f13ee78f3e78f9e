//! The values that were taken of a column, before they are sorted.
//!
//! ```text
//!   integers     Some(7) None Some(3)       sorted as numbers
//!   texts        "pear" NULL "fig"          sorted by their first eight bytes, then whole
//!   documents    nothing                    nobody asks for their order
//! ```
//!
//! 1. Every column has one for each row that was taken, NULLs included; one without order has none at all.

use crate::encoding::Kind;
use crate::summary::frequent::compare;
use crate::summary::histogram::cut;
use crate::types::DataType;
use crate::value::{Value, ValueRef};

#[derive(Debug)]
pub(crate) enum Sample {
    None,
    Ints(Vec<Option<i64>>),
    Values(Vec<Value>),
}

impl Sample {
    /// An empty one.
    pub(crate) fn of(data_type: DataType) -> Sample {
        match data_type {
            DataType::Json | DataType::Jsonb | DataType::JsonPath | DataType::Array(_) => Sample::None,
            _ if Kind::of(data_type).is_int() => Sample::Ints(Vec::new()),
            _ => Sample::Values(Vec::new()),
        }
    }

    /// Whether the values have an order that people ask for, and may be common.
    pub(crate) fn is_ordered(&self) -> bool {
        !matches!(self, Sample::None)
    }

    /// Takes the value of a row.
    pub(crate) fn push(&mut self, value: ValueRef<'_>) {
        match (self, value) {
            (Sample::None, _) => {}
            (Sample::Ints(ints), ValueRef::Int(int)) => ints.push(Some(int)),
            (Sample::Ints(ints), _) => {
                debug_assert!(value.is_null(), "a column of integers has integers and NULLs");
                ints.push(None);
            }
            (Sample::Values(values), value) => values.push(cut(value)),
        }
    }

    /// Of each row that was taken: does it stay?
    pub(crate) fn thin(&mut self, stays: &[bool]) {
        let mut stays = stays.iter();
        let mut stays = || *stays.next().unwrap_or(&true);
        match self {
            Sample::None => {}
            Sample::Ints(ints) => ints.retain(|_| stays()),
            Sample::Values(values) => values.retain(|_| stays()),
        }
    }

    /// The values without NULLs, ascending.
    pub(crate) fn sorted(self) -> Vec<Value> {
        match self {
            Sample::None => Vec::new(),
            Sample::Ints(ints) => {
                let mut ints: Vec<i64> = ints.into_iter().flatten().collect();
                ints.sort_unstable();
                ints.into_iter().map(Value::Int).collect()
            }
            Sample::Values(values) => {
                let present = values.into_iter().filter(|value| !value.is_null());
                let mut values: Vec<(u64, Value)> = present.map(|value| (first_bytes(&value), value)).collect();
                values.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| compare(&a.1, &b.1)));
                values.into_iter().map(|(_, value)| value).collect()
            }
        }
    }
}

/// The first bytes of a text as a number, in its order; 0 of what has none.
fn first_bytes(value: &Value) -> u64 {
    let mut first = [0; 8];
    if let Some(bytes) = value.as_ref().as_bytes() {
        let len = bytes.len().min(first.len());
        first[..len].copy_from_slice(&bytes[..len]);
    }
    u64::from_be_bytes(first)
}
