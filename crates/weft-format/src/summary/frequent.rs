//! The most common values of a column, with how often they occur.
//!
//! ```text
//!   sample   F F O F O P F O        of 8,000 rows       F 4,000   O 3,000   P 1,000: three values, all are kept
//!   merged   {F 4,000} of 8,000 rows and {O 900} of 1,000, where one of 50 other values has 2 rows
//!                                                       F 4,002   O 902
//! ```
//!
//! 1. No NULL is among them, and no two compare equal. They come by their count, the greatest first, then by value.
//! 2. A value is kept when it is clearly more common than the average of all, or when all values are few enough to be
//!    kept.
//! 3. Where a list lacks a value that another has, its rows have it as often as any value that the list lacks.

use std::cmp::Ordering;

use crate::value::{Value, ValueRef};

/// So much more common than the average is a value that is kept among many.
const COMMON_TIMES: f64 = 1.25;
/// So often the sample has a value that is kept among many.
const SAMPLED_MIN: f64 = 3.0;
/// A text with more bytes is not kept.
pub(crate) const COMMON_BYTES_MAX: usize = 44;

/// Values and how many rows have them (common 1).
pub(crate) type Common = Vec<(Value, u64)>;

/// The runs of equal values in sorted values: where each begins, and how long it is.
pub(crate) fn runs(sorted: &[Value]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        let first = sorted.get(start)?;
        let len = sorted[start..].iter().take_while(|value| compare(value, first).is_eq()).count();
        let run = (start, len);
        start += len;
        Some(run)
    })
}

pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    a.as_ref().compare(b.as_ref())
}

/// Those of a sorted sample, which stands for `rows` rows of `distinct` values.
pub(crate) fn of_sample(sorted: &[Value], rows: u64, distinct: f64, max: usize) -> Common {
    let times = rows as f64 / sorted.len().max(1) as f64;
    let is_few = distinct <= max as f64 + 0.5;
    let is_whole = sorted.len() as u64 >= rows;
    // So often chance alone draws hardly any value of the average.
    let average = sorted.len() as f64 / distinct.max(1.0);
    let least = (average + 4.0 * average.sqrt() + 1.0).max(SAMPLED_MIN);
    let found = runs(sorted).filter(|&(_, len)| is_few || is_whole && len > 1 || len as f64 >= least);
    let found = found.filter(|&(start, _)| is_short(sorted[start].as_ref()));
    let counted = found.map(|(start, len)| (sorted[start].clone(), ((len as f64 * times) as u64).max(1)));
    kept(counted.collect(), rows, distinct, max)
}

fn is_short(value: ValueRef<'_>) -> bool {
    value.as_bytes().is_none_or(|bytes| bytes.len() <= COMMON_BYTES_MAX)
}

/// Common 2.
pub(crate) fn kept(mut values: Common, rows: u64, distinct: f64, max: usize) -> Common {
    if distinct > max as f64 + 0.5 {
        let least = COMMON_TIMES * rows as f64 / distinct.max(1.0);
        values.retain(|(_, count)| *count as f64 > least);
    }
    values.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| compare(&a.0, &b.0)));
    values.truncate(max);
    values
}

/// Both lists as one; `rest` says how many rows of each have a value that its list lacks.
pub(crate) fn merged(a: &Common, b: &Common, rest: [&dyn Fn(&Value) -> f64; 2]) -> Common {
    let by_value = |values: &Common, side: usize| {
        let mut values: Vec<(Value, u64, usize)> = values.iter().map(|(v, count)| (v.clone(), *count, side)).collect();
        values.sort_by(|a, b| compare(&a.0, &b.0));
        values
    };
    let mut all = by_value(a, 0);
    all.extend(by_value(b, 1));
    all.sort_by(|a, b| compare(&a.0, &b.0));
    let mut merged: Common = Vec::with_capacity(all.len());
    let mut values = all.into_iter().peekable();
    while let Some((value, mut count, side)) = values.next() {
        match values.next_if(|next| compare(&next.0, &value).is_eq()) {
            Some((_, other, _)) => count += other,
            None => count += rest[1 - side](&value) as u64,
        }
        merged.push((value, count));
    }
    merged
}
