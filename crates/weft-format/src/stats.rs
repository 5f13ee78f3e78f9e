//! What is known about the values of a block or a whole column: bounds, NULLs, rows; and what that rules out.
//!
//! ```text
//!   values 3, NULL, 9       min 3, max 9, null_count 1, row_count 3      a > 9 cannot match, a IS NULL may
//!   a text of 70 "z"        min = its first 64 bytes (not exact), max = the next text after that prefix (not exact)
//! ```
//!
//! 1. Every non-NULL value v has min <= v <= max in [`ValueRef::compare`]'s order (so a NaN makes max NaN).
//! 2. A bound that is exact is a value that occurs. Only texts, bytes and arrays over [`STATS_TEXT_BYTES_MAX`] bytes
//!    have inexact bounds.
//! 3. `max` is NULL with values present when no text follows the prefix: there is no upper bound.
//! 4. No values (all NULL): both bounds are NULL.

use crate::predicate::{CompareOp, Predicate};
use crate::value::{Value, ValueRef};

/// Longest text kept whole as a bound, in bytes.
pub const STATS_TEXT_BYTES_MAX: usize = 64;

/// Statistics of one column over some rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStats {
    /// Lower bound; NULL when there are no values.
    pub min: Value,
    /// Upper bound; NULL when there are no values or no bound is known.
    pub max: Value,
    /// Whether `min` occurs.
    pub min_exact: bool,
    /// Whether `max` occurs.
    pub max_exact: bool,
    /// How many rows are NULL.
    pub null_count: u64,
    /// How many rows there are, NULLs included.
    pub row_count: u64,
}

impl ColumnStats {
    /// Statistics of no rows.
    pub fn empty() -> ColumnStats {
        let (min, max) = (Value::Null, Value::Null);
        ColumnStats { min, max, min_exact: true, max_exact: true, null_count: 0, row_count: 0 }
    }

    /// Statistics of rows whose smallest and greatest values are known (NULL: there are none).
    pub fn new(min: ValueRef<'_>, max: ValueRef<'_>, null_count: u64, row_count: u64) -> ColumnStats {
        let (min, min_exact) = lower_bound(min);
        let (max, max_exact) = upper_bound(max);
        ColumnStats { min, max, min_exact, max_exact, null_count, row_count }
    }

    /// The memory of the bounds, beside the statistics themselves.
    pub fn memory_bytes(&self) -> usize {
        self.min.memory_bytes() + self.max.memory_bytes()
    }

    fn has_values(&self) -> bool {
        self.null_count < self.row_count
    }

    /// Widens these statistics by those of more rows.
    pub fn merge(&mut self, other: &ColumnStats) {
        if other.has_values() {
            let first = !self.has_values();
            if first || other.min.as_ref().compare(self.min.as_ref()).is_lt() {
                (self.min, self.min_exact) = (other.min.clone(), other.min_exact);
            }
            // NULL sorts last, so an unbounded maximum wins by itself.
            if first || other.max.as_ref().compare(self.max.as_ref()).is_gt() {
                (self.max, self.max_exact) = (other.max.clone(), other.max_exact);
            }
        }
        self.null_count += other.null_count;
        self.row_count += other.row_count;
    }

    /// Whether some row may satisfy the predicate; false is certain.
    pub fn may_match(&self, predicate: &Predicate) -> bool {
        match predicate {
            Predicate::IsNull { .. } => self.null_count > 0,
            Predicate::IsNotNull { .. } => self.has_values(),
            Predicate::Compare { op, value, .. } => self.has_values() && self.may_compare(*op, value.as_ref()),
            Predicate::In { values, .. } => {
                self.has_values() && values.iter().any(|value| self.may_compare(CompareOp::Eq, value.as_ref()))
            }
        }
    }

    fn may_compare(&self, op: CompareOp, value: ValueRef<'_>) -> bool {
        if value.is_null() {
            return false;
        }
        let min = self.min.as_ref().compare(value);
        // NULL as the upper bound compares greater than everything.
        let max = self.max.as_ref().compare(value);
        match op {
            CompareOp::Eq => min.is_le() && max.is_ge(),
            CompareOp::NotEq => !(self.min_exact && self.max_exact && min.is_eq() && max.is_eq()),
            CompareOp::Lt => min.is_lt(),
            CompareOp::LtEq => min.is_le(),
            CompareOp::Gt => max.is_gt(),
            CompareOp::GtEq => max.is_ge(),
        }
    }

    /// Whether a value lies within the bounds (NULL: whether any NULL is counted).
    pub fn covers(&self, value: ValueRef<'_>) -> bool {
        if value.is_null() { self.null_count > 0 } else { self.may_compare(CompareOp::Eq, value) }
    }
}

/// The longest prefix of at most [`STATS_TEXT_BYTES_MAX`] bytes that ends between characters.
fn prefix(text: &str) -> &str {
    let mut end = STATS_TEXT_BYTES_MAX.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn lower_bound(value: ValueRef<'_>) -> (Value, bool) {
    match value {
        ValueRef::Text(text) if text.len() > STATS_TEXT_BYTES_MAX => (Value::Text(prefix(text).into()), false),
        ValueRef::Bytes(bytes) if bytes.len() > STATS_TEXT_BYTES_MAX => {
            (Value::Bytes(bytes[..STATS_TEXT_BYTES_MAX].into()), false)
        }
        other => (other.to_value(), true),
    }
}

fn upper_bound(value: ValueRef<'_>) -> (Value, bool) {
    if let ValueRef::Bytes(bytes) = value {
        return upper_bound_of_bytes(bytes);
    }
    let ValueRef::Text(text) = value else { return (value.to_value(), true) };
    if text.len() <= STATS_TEXT_BYTES_MAX {
        return (value.to_value(), true);
    }
    let mut chars: Vec<char> = prefix(text).chars().collect();
    while let Some(last) = chars.pop() {
        if let Some(next) = next_char(last) {
            chars.push(next);
            return (Value::Text(chars.into_iter().collect::<String>().into()), false);
        }
    }
    (Value::Null, false)
}

/// The bytes themselves, or the least that are above everything that begins as they do.
fn upper_bound_of_bytes(bytes: &[u8]) -> (Value, bool) {
    if bytes.len() <= STATS_TEXT_BYTES_MAX {
        return (Value::Bytes(bytes.into()), true);
    }
    let mut bound = bytes[..STATS_TEXT_BYTES_MAX].to_vec();
    while let Some(last) = bound.pop() {
        if last < u8::MAX {
            bound.push(last + 1);
            return (Value::Bytes(bound.into()), false);
        }
    }
    (Value::Null, false)
}

/// The next character in code point order, which is UTF-8's byte order.
fn next_char(c: char) -> Option<char> {
    match c {
        '\u{d7ff}' => Some('\u{e000}'),
        other => char::from_u32(u32::from(other) + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(op: CompareOp, value: Value) -> Predicate {
        Predicate::Compare { column: 0, op, value }
    }

    #[test]
    fn long_texts_keep_proper_bounds() {
        let cases = ["z".repeat(70), "é".repeat(40), "\u{10ffff}".repeat(20), format!("a{}", "\u{10ffff}".repeat(20))];
        for text in &cases {
            let stats = ColumnStats::new(ValueRef::Text(text), ValueRef::Text(text), 0, 1);
            assert!(!stats.min_exact && !stats.max_exact);
            assert!(stats.covers(ValueRef::Text(text)), "{text}");
            assert!(stats.min.as_ref().compare(ValueRef::Text(text)).is_lt());
            assert!(stats.may_match(&compare(CompareOp::NotEq, Value::Text(text.as_str().into()))));
            assert!(stats.max.as_ref().compare(ValueRef::Text(text)).is_gt());
        }
        assert_eq!(ColumnStats::new(ValueRef::Null, ValueRef::Text(&cases[2]), 0, 1).max, Value::Null);
    }

    #[test]
    fn floats_with_nan_are_not_pruned_wrongly() {
        let stats = ColumnStats::new(ValueRef::Float(1.0), ValueRef::Float(f64::NAN), 0, 2);
        assert!(stats.may_match(&compare(CompareOp::Gt, Value::Float(f64::INFINITY))));
        assert!(stats.may_match(&compare(CompareOp::Eq, Value::Float(f64::NAN))));
        assert!(!stats.may_match(&compare(CompareOp::Lt, Value::Float(1.0))));
        let zero = ColumnStats::new(ValueRef::Float(-0.0), ValueRef::Float(-0.0), 0, 1);
        assert!(zero.may_match(&compare(CompareOp::Eq, Value::Float(0.0))));
        assert!(!zero.may_match(&compare(CompareOp::NotEq, Value::Float(0.0))));
    }

    #[test]
    fn all_null_matches_only_is_null() {
        let stats = ColumnStats::new(ValueRef::Null, ValueRef::Null, 3, 3);
        assert!(stats.may_match(&Predicate::IsNull { column: 0 }));
        assert!(!stats.may_match(&Predicate::IsNotNull { column: 0 }));
        for op in [CompareOp::Eq, CompareOp::NotEq, CompareOp::Lt, CompareOp::GtEq] {
            assert!(!stats.may_match(&compare(op, Value::Int(1))));
        }
    }

    #[test]
    fn random_sets_never_lose_a_match() {
        let mut state = 7u64;
        let mut random = move |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % n
        };
        let ops = [CompareOp::Eq, CompareOp::NotEq, CompareOp::Lt, CompareOp::LtEq, CompareOp::Gt, CompareOp::GtEq];
        for _ in 0..5_000 {
            let mut stats = ColumnStats::empty();
            let rows: Vec<Value> = (0..random(4))
                .map(|_| if random(4) == 0 { Value::Null } else { Value::Int(random(5) as i64) })
                .collect();
            for row in &rows {
                let nulls = u64::from(row.is_null());
                stats.merge(&ColumnStats::new(row.as_ref(), row.as_ref(), nulls, 1));
            }
            for op in ops {
                let predicate = compare(op, Value::Int(random(5) as i64));
                let any = rows.iter().any(|row| predicate.matches(row.as_ref()));
                assert!(!any || stats.may_match(&predicate), "{rows:?} {predicate:?} {stats:?}");
            }
        }
    }
}
