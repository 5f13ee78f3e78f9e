//! The keys that rows may have which satisfy some predicates.

use weft_format::{CompareOp, KeyCodec, Predicate, Schema, Value, ValueRef};

/// Keys from one on, and below another, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyRange {
    pub(super) from: Vec<u8>,
    pub(super) to: Option<Vec<u8>>,
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
    pub(super) fn new(schema: &Schema, keys: &KeyCodec, predicates: &[Predicate]) -> KeyRange {
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
        let least = of(CompareOp::Gt).filter_map(behind).chain(of(CompareOp::GtEq)).max();
        range.from = least.into_iter().chain([range.from]).max().unwrap_or_default();
        let most = of(CompareOp::Lt).chain(of(CompareOp::LtEq).filter_map(behind)).min();
        range.to = most.into_iter().chain(range.to).min();
        range
    }

    /// Whether no key is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.to.as_ref().is_some_and(|to| *to <= self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_format::{Column, DataType};

    #[test]
    fn conditions_on_the_first_columns_of_the_key_bound_it() {
        let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: true };
        let schema = Schema::new(vec![column("a"), column("b"), column("c")], vec![1, 0]);
        let keys = KeyCodec::new(&schema);
        let is = |column, op, value| Predicate::Compare { column, op, value: Value::Int(value) };
        let key = |b: i64, a: i64| keys.encode([ValueRef::Int(b), ValueRef::Int(a)]);
        let has = |predicates: &[Predicate], b, a| {
            let range = KeyRange::new(&schema, &keys, predicates);
            *key(b, a) >= *range.from && range.to.is_none_or(|to| key(b, a) < to)
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
}
