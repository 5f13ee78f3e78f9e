//! The keys that rows may have which satisfy some predicates.
//!
//! ```text
//!   key (a, b):   a = 7 AND b >= 3      from (7, 3), below what is behind all (7, ..)
//!                 b >= 3                all keys
//! ```
//!
//! The ends are bytes that keys compare with; they need not be keys. No key is a prefix of another.

use crate::{CompareOp, KeyCodec, Predicate, Schema, Value, ValueRef};

/// Keys from one on, and below another, if there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRange {
    /// The first key is at or behind it.
    pub from: Vec<u8>,
    /// All keys are before it; none: it has no end.
    pub to: Option<Vec<u8>>,
}

/// The first string that is above all that begin with this one; none: there is none.
fn behind(mut prefix: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = prefix.pop() {
        if last < u8::MAX {
            prefix.push(last + 1);
            return Some(prefix);
        }
    }
    None
}

fn compared(predicates: &[Predicate], column: usize, op: CompareOp) -> impl Iterator<Item = &Value> {
    predicates.iter().filter_map(move |predicate| match predicate {
        Predicate::Compare { column: of, op: found, value } if *of == column && *found == op => Some(value),
        _ => None,
    })
}

impl KeyRange {
    /// All keys whose rows may satisfy a conjunction.
    pub fn new(schema: &Schema, keys: &KeyCodec, predicates: &[Predicate]) -> KeyRange {
        let mut equal: Vec<ValueRef<'_>> = Vec::new();
        for &column in &schema.key {
            match compared(predicates, column, CompareOp::Eq).next() {
                Some(value) if !matches!(value, Value::Null) => equal.push(value.as_ref()),
                _ => break,
            }
        }
        let prefix = keys.encode_first(equal.iter().copied());
        let mut range = KeyRange { from: prefix.clone(), to: behind(prefix) };
        let Some(&next) = schema.key.get(equal.len()) else { return range };
        let key_of = |value: &Value| keys.encode_first(equal.iter().copied().chain([value.as_ref()]));
        let of = |op| compared(predicates, next, op).filter(|value| !matches!(value, Value::Null)).map(key_of);
        if of(CompareOp::Gt).any(|key| behind(key).is_none()) {
            // More than the greatest value there is.
            return KeyRange { from: Vec::new(), to: Some(Vec::new()) };
        }
        let least = of(CompareOp::Gt).filter_map(behind).chain(of(CompareOp::GtEq)).max();
        range.from = least.into_iter().chain([range.from]).max().unwrap_or_default();
        let most = of(CompareOp::Lt).chain(of(CompareOp::LtEq).filter_map(behind)).min();
        range.to = most.into_iter().chain(range.to).min();
        range
    }

    /// Whether a key is in it.
    pub fn has(&self, key: &[u8]) -> bool {
        key >= self.from.as_slice() && self.to.as_ref().is_none_or(|to| key < to.as_slice())
    }

    /// What of it is behind a key.
    pub fn behind(self, key: &[u8]) -> KeyRange {
        // Nothing lies between a key and this.
        let next = [key, &[0]].concat();
        KeyRange { from: self.from.max(next), to: self.to }
    }

    /// What of it is before a key.
    pub fn before(self, key: &[u8]) -> KeyRange {
        let to = self.to.into_iter().chain([key.to_vec()]).min();
        KeyRange { from: self.from, to }
    }

    /// Whether no key can be in it.
    pub fn is_empty(&self) -> bool {
        self.to.as_ref().is_some_and(|to| *to <= self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, DataType};

    #[test]
    fn conditions_on_the_first_columns_of_the_key_bound_it() {
        let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: true };
        let schema = Schema::new(vec![column("a"), column("b"), column("c")], vec![1, 0]);
        let keys = KeyCodec::new(&schema);
        let is = |column, op, value| Predicate::Compare { column, op, value: Value::Int(value) };
        let key = |b: i64, a: i64| keys.encode([ValueRef::Int(b), ValueRef::Int(a)]);
        let has = |predicates: &[Predicate], b, a| {
            let range = KeyRange::new(&schema, &keys, predicates);
            range.has(&key(b, a))
        };
        let of_b = [is(1, CompareOp::Eq, 7)];
        assert_eq!(
            [(6, 9), (7, i64::MIN), (7, i64::MAX), (8, 0)].map(|(b, a)| has(&of_b, b, a)),
            [false, true, true, false]
        );
        let of_both = [is(1, CompareOp::Eq, 7), is(0, CompareOp::Gt, 3), is(0, CompareOp::LtEq, 5)];
        assert_eq!(
            [(7, 3), (7, 4), (7, 5), (7, 6), (8, 4)].map(|(b, a)| has(&of_both, b, a)),
            [false, true, true, false, false]
        );
        let of_a = [is(0, CompareOp::Eq, 7), is(2, CompareOp::Lt, 0)];
        assert_eq!(KeyRange::new(&schema, &keys, &of_a), KeyRange { from: Vec::new(), to: None });
        assert!(KeyRange::new(&schema, &keys, &[is(1, CompareOp::Gt, 5), is(1, CompareOp::Lt, 5)]).is_empty());
    }

    #[test]
    fn the_ends_of_a_type_bound_as_any_value() {
        let column = |name: &str, data_type| Column { name: name.into(), data_type, not_null: true };
        let schema = Schema::new(vec![column("a", DataType::SmallInt), column("b", DataType::Integer)], vec![0, 1]);
        let keys = KeyCodec::new(&schema);
        let (least, most) = ([i16::MIN.into(), i32::MIN.into()], [i16::MAX.into(), i32::MAX.into()]);
        let values = |column: usize| [least[column], least[column] + 1, 0, most[column] - 1, most[column]];
        let ops = [CompareOp::Lt, CompareOp::LtEq, CompareOp::Gt, CompareOp::GtEq, CompareOp::Eq];
        let mut tried = 0;
        for first in values(0) {
            for (op, end) in ops.into_iter().flat_map(|op| values(1).map(|end| (op, end))) {
                let of = |column, op, value: i64| Predicate::Compare { column, op, value: Value::Int(value) };
                for predicates in [vec![of(0, CompareOp::Eq, first), of(1, op, end)], vec![of(0, op, first)]] {
                    let range = KeyRange::new(&schema, &keys, &predicates);
                    for (a, b) in values(0).into_iter().flat_map(|a| values(1).map(|b| (a, b))) {
                        let row = [a, b];
                        let matches = |predicate: &Predicate| predicate.matches(ValueRef::Int(row[predicate.column()]));
                        let key = keys.encode(row.map(ValueRef::Int));
                        let is_wanted = predicates.iter().all(matches);
                        assert_eq!(!range.is_empty() && range.has(&key), is_wanted, "{row:?} of {predicates:?}");
                        tried += 1;
                    }
                }
            }
        }
        assert_eq!(tried, 5 * 25 * 2 * 25);
    }

    #[test]
    fn what_is_behind_a_key_and_before_it_lacks_the_key() {
        let column = Column { name: "a".into(), data_type: DataType::Text, not_null: true };
        let schema = Schema::new(vec![column], vec![0]);
        let keys = KeyCodec::new(&schema);
        let texts = ["", "\0", "a", "a\0", "aa", "b"].map(|text| keys.encode([ValueRef::Text(text)]));
        for (at, key) in texts.iter().enumerate() {
            for (other, found) in texts.iter().enumerate() {
                assert_eq!(KeyRange::default().behind(key).has(found), other > at);
                assert_eq!(KeyRange::default().before(key).has(found), other < at);
            }
        }
        assert!(KeyRange::default().behind(&texts[2]).before(&texts[2]).is_empty());
    }
}
