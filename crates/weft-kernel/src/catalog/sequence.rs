//! The numbers of sequences: not of any transaction, as in PostgreSQL, but durable.
//!
//! ```text
//!   nextval  1    logged: 33        the log says where to go on after a crash
//!   nextval  2    …  33             from memory
//!   nextval  34   logged: 66
//! ```
//!
//! 1. A number that was given is at or before the last one logged, in the sequence's direction; the record is in the
//!    log before the commit of whoever uses the number.
//! 2. The catalog's image has the number that was given last, and from then on the next one is logged again.
//!
//! Concurrency: one lock per sequence, held while a record is appended.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use weft_env::sync::{Mutex, MutexGuard};
use weft_format::{Error, Result};

use super::objects::Object;
use crate::log::SequenceValue;

/// The state of one sequence.
#[derive(Debug)]
pub(crate) struct SequenceState {
    pub(crate) value: SequenceValue,
    /// So many numbers after `value` may be given without a record.
    pub(crate) reserved: u64,
}

/// One sequence, shared by all who use it.
#[derive(Debug)]
pub(crate) struct Sequence {
    state: Mutex<SequenceState>,
}

impl Sequence {
    pub(crate) fn lock(&self) -> MutexGuard<'_, SequenceState> {
        self.state.lock()
    }
}

/// The sequences by number.
#[derive(Default)]
pub(crate) struct Sequences {
    by_id: Mutex<HashMap<u32, Arc<Sequence>>>,
}

impl Sequences {
    /// The sequence of a number, which begins at `value` when nobody asked for it before.
    pub(crate) fn get(&self, id: u32, value: SequenceValue) -> Arc<Sequence> {
        let mut sequences = self.by_id.lock();
        let made = || Arc::new(Sequence { state: Mutex::new(SequenceState { value, reserved: 0 }) });
        sequences.entry(id).or_insert_with(made).clone()
    }

    /// What the log or the catalog says of a sequence.
    pub(crate) fn recover(&self, id: u32, value: SequenceValue) {
        let sequence = self.get(id, value);
        *sequence.lock() = SequenceState { value, reserved: 0 };
    }

    /// The sequences of which more is logged than given, and what was given last.
    pub(crate) fn unsettled(&self) -> Vec<(u32, SequenceValue)> {
        let sequences: Vec<(u32, Arc<Sequence>)> =
            self.by_id.lock().iter().map(|(id, sequence)| (*id, sequence.clone())).collect();
        let value = |(id, sequence): (u32, Arc<Sequence>)| {
            let state = sequence.lock();
            (state.reserved > 0).then_some((id, state.value))
        };
        sequences.into_iter().filter_map(value).collect()
    }

    /// The numbers given last (sequence 2).
    pub(crate) fn image(&self) -> Vec<(u32, SequenceValue)> {
        let mut sequences: Vec<(u32, Arc<Sequence>)> =
            self.by_id.lock().iter().map(|(id, sequence)| (*id, sequence.clone())).collect();
        sequences.sort_by_key(|(id, _)| *id);
        let value = |(id, sequence): (u32, Arc<Sequence>)| {
            let mut state = sequence.lock();
            state.reserved = 0;
            (id, state.value)
        };
        sequences.into_iter().map(value).collect()
    }
}

/// What CREATE SEQUENCE says of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceOptions {
    /// The distance of two numbers, not zero.
    pub increment: i64,
    /// The least number.
    pub min: i64,
    /// The greatest number.
    pub max: i64,
    /// The first number.
    pub start: i64,
    /// Whether it begins again behind its end.
    pub cycle: bool,
}

impl SequenceOptions {
    /// The options as an object's properties.
    pub fn put(&self, properties: &mut BTreeMap<String, String>) {
        let numbers = [("increment", self.increment), ("min", self.min), ("max", self.max), ("start", self.start)];
        for (name, number) in numbers {
            properties.insert(name.into(), number.to_string());
        }
        properties.insert("cycle".into(), self.cycle.to_string());
    }

    /// The options of a sequence; an error when the object is none.
    pub fn of(object: &Object) -> Result<SequenceOptions> {
        let damaged = || Error::corrupt(format!("the catalog's entry of sequence \"{}\" is damaged", object.name));
        let number = |name| object.property(name).and_then(|text| text.parse::<i64>().ok()).ok_or_else(damaged);
        let (increment, min, max, start) = (number("increment")?, number("min")?, number("max")?, number("start")?);
        if increment == 0 || min > max {
            return Err(damaged());
        }
        Ok(SequenceOptions { increment, min, max, start, cycle: object.property("cycle") == Some("true") })
    }

    /// Where a sequence begins.
    pub fn begin(&self) -> SequenceValue {
        SequenceValue { last: self.start, is_called: false }
    }

    /// The number after a value; none when the sequence has no more.
    pub fn next(&self, value: SequenceValue) -> Option<i64> {
        debug_assert!(self.increment != 0, "a sequence goes up or down");
        debug_assert!(self.min <= self.max, "a sequence has a number");
        if !value.is_called {
            return Some(value.last);
        }
        let next = value.last.checked_add(self.increment).filter(|next| (self.min..=self.max).contains(next));
        let first = if self.increment > 0 { self.min } else { self.max };
        next.or_else(|| self.cycle.then_some(first))
    }

    /// The value after so many more numbers, as far as there are.
    pub fn advanced(&self, value: SequenceValue, count: u64) -> SequenceValue {
        let steps = i128::from(self.increment) * i128::from(count);
        let last = (i128::from(value.last) + steps).clamp(i128::from(self.min), i128::from(self.max));
        SequenceValue { last: last as i64, is_called: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_each_other() {
        let up = SequenceOptions { increment: 2, min: 1, max: 5, start: 3, cycle: true };
        let mut value = up.begin();
        let mut given = Vec::new();
        for _ in 0..5 {
            value = SequenceValue { last: up.next(value).unwrap(), is_called: true };
            given.push(value.last);
        }
        assert_eq!(given, [3, 5, 1, 3, 5]);
        let down = SequenceOptions { increment: -1, min: i64::MIN, max: -1, start: i64::MIN + 1, cycle: false };
        assert_eq!(down.next(SequenceValue { last: i64::MIN, is_called: true }), None);
        assert_eq!(down.advanced(down.begin(), 32).last, i64::MIN);
        let mut object = Object::new(super::super::ObjectKind::Sequence, Default::default(), "s");
        up.put(&mut object.properties);
        assert_eq!(SequenceOptions::of(&object).unwrap(), up);
        object.properties.insert("increment".into(), "0".into());
        assert!(SequenceOptions::of(&object).is_err());
    }
}
