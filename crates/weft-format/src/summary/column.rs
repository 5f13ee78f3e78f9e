//! What is known of the values of one column, and what conditions on it leave.
//!
//! ```text
//!   1,000 rows, 100 NULL; 450 'a', 90 'b' of about 62 values
//!   c = 'a'        0.45                                     its own count
//!   c = 'x'        (900 - 450 - 90) / (62 - 2) / 1,000      as any of the others
//!   c < 'm'        0.45, and of the other 0.36 what the histogram says
//!   c = 'zz'       beyond the last point: at most the share of rows that came since
//!   c IS NULL      0.1
//! ```
//!
//! 1. `nulls <= rows`; the counts of common values are at most the rows that are not NULL.
//! 2. A common value counts once: by itself, and not again in what the histogram says of the others.
//! 3. A text that is longer than what is kept is cut before it is compared: it may be any of those that begin like it.

use std::cmp::Ordering;

use crate::summary::frequent::{Common, compare, kept, merged};
use crate::summary::histogram::{Histogram, Point, cut, position};
use crate::summary::sketch::Sketch;
use crate::summary::{PARTS_MAX, UNION_MAX};
use crate::value::{Value, ValueRef};

/// The share of rows that may lie beyond an end of the histogram, however well it is known: a hundredth of what lies
/// between two of a hundred points, as PostgreSQL has it.
const OUTSIDE_SHARE: f64 = 0.0001;
/// Two standard errors of a sketch: it does not tell so large a share of the rows from all of them.
const NEARLY_ALL: f64 = 1.0 - 2.0 * 0.0325;

/// How many values there are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Distinct {
    /// Nobody counted.
    Unknown,
    /// Of all rows.
    Sketched(Sketch),
    /// Concluded from a sample.
    About(f64),
}

impl Distinct {
    fn count(&self) -> f64 {
        match self {
            Distinct::Unknown => 0.0,
            Distinct::Sketched(sketch) => sketch.count(),
            Distinct::About(count) => *count,
        }
    }
}

/// A summary of the values of a column over some rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSummary {
    pub(crate) rows: u64,
    pub(crate) nulls: u64,
    /// Of all values together.
    pub(crate) bytes: u64,
    pub(crate) distinct: Distinct,
    pub(crate) common: Common,
    pub(crate) histogram: Histogram,
}

impl ColumnSummary {
    /// How many rows it is of.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The share of rows that are NULL.
    pub fn null_share(&self) -> f64 {
        if self.rows == 0 { 0.0 } else { self.nulls as f64 / self.rows as f64 }
    }

    /// The bytes of a value, on average, a text's length byte included.
    pub fn average_bytes(&self) -> f64 {
        match self.present() {
            0 => 0.0,
            present => self.bytes as f64 / present as f64,
        }
    }

    /// Rows that are not NULL.
    pub fn present(&self) -> u64 {
        self.rows - self.nulls
    }

    /// About how many different values there are; none: nobody knows. When they may be one for each row that is not
    /// NULL, they are.
    pub fn distinct(&self) -> Option<f64> {
        let present = self.present() as f64;
        let least = (self.common.len() as f64).max(1.0).min(present);
        if self.distinct == Distinct::Unknown {
            return None;
        }
        let count = self.distinct.count();
        let is_exact = matches!(&self.distinct, Distinct::Sketched(sketch) if sketch.is_exact());
        let count = if !is_exact && count > NEARLY_ALL * present { present } else { count };
        Some(count.clamp(least, present.max(least)))
    }

    /// The most common values, each with its share of all rows.
    pub fn common(&self) -> impl ExactSizeIterator<Item = (&Value, f64)> {
        let rows = self.rows.max(1) as f64;
        self.common.iter().map(move |(value, count)| (value, *count as f64 / rows))
    }

    /// How its values are spread.
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// The share of rows of a value that is not among the common ones, and how many such values there are.
    fn rest(&self) -> Option<(f64, f64)> {
        let others = self.distinct()? - self.common.len() as f64;
        if others < 0.5 || self.rows == 0 {
            return Some((0.0, 0.0));
        }
        let counted: u64 = self.common.iter().map(|(_, count)| count).sum();
        let share = self.present().saturating_sub(counted) as f64 / self.rows as f64;
        let least_common = self.common.last().map_or(1.0, |(_, count)| *count as f64 / self.rows as f64);
        Some(((share / others).min(least_common), others))
    }

    /// The share of rows that have this value; NULL equals nothing. None: nobody knows.
    pub fn equal_share(&self, value: ValueRef<'_>) -> Option<f64> {
        if value.is_null() {
            return Some(0.0);
        }
        if let Some((_, share)) = self.common().find(|(known, _)| known.as_ref().compare(value).is_eq()) {
            return Some(share);
        }
        if !self.histogram.points.is_empty() && !self.histogram.covers(cut(value).as_ref()) {
            return Some(0.0);
        }
        self.rest().map(|(share, _)| share)
    }

    /// The share of rows that a value has which is not known now, on average.
    pub fn average_share(&self) -> Option<f64> {
        Some((1.0 - self.null_share()) / self.distinct()?.max(1.0))
    }

    /// Whether no row is known to have this value, nor any like it: it lies outside of the histogram, or all values are
    /// common ones and it is none.
    pub fn lacks(&self, value: ValueRef<'_>) -> bool {
        if value.is_null() || self.common.iter().any(|(known, _)| known.as_ref().compare(value).is_eq()) {
            return false;
        }
        let is_outside = !self.histogram.points.is_empty() && !self.histogram.covers(cut(value).as_ref());
        is_outside || self.rest().is_some_and(|(_, others)| others == 0.0)
    }

    /// The share of rows that have a value which the summary lacks, when it does not have so great a share of the rows:
    /// as many as other values have, at most those that it does not have. None: nobody knows.
    pub fn lacked_share(&self, unseen: f64) -> Option<f64> {
        let (share, others) = self.rest()?;
        let usual = if others > 0.0 { share } else { self.average_share()? };
        Some(usual.min(unseen.max(OUTSIDE_SHARE)))
    }

    /// The least share of rows that has values beyond the ends of the histogram: below it, and above it when it does
    /// not have so great a share of the rows. New values are mostly greater ones.
    pub fn outside_shares(&self, unseen: f64) -> (f64, f64) {
        let present = 1.0 - self.null_share();
        (OUTSIDE_SHARE * present, unseen.clamp(OUTSIDE_SHARE, 1.0) * present)
    }

    /// The share of rows with a value below this one, or up to it: common values one by one, the others by the
    /// histogram. None: nobody knows.
    pub fn below_share(&self, value: ValueRef<'_>, inclusive: bool) -> Option<f64> {
        if value.is_null() {
            return Some(0.0);
        }
        let (cut, present) = (cut(value), 1.0 - self.null_share());
        let is_cut = cut.as_ref().compare(value).is_ne();
        let points = &self.histogram.points;
        let (first, last) = (points.first()?, points.last()?);
        let at = points.partition_point(|point| compare(&point.value, &cut).is_lt());
        let share = match points.get(at) {
            // On which side of the others that begin like it nobody knows.
            Some(point) if compare(&point.value, &cut).is_eq() && is_cut => (point.below + point.through) / 2.0,
            Some(point) if compare(&point.value, &cut).is_eq() && inclusive => point.through,
            Some(point) if compare(&point.value, &cut).is_eq() => point.below,
            Some(_) if at == 0 => first.below,
            Some(next) => return Some(self.below_between([&points[at - 1], next], value, inclusive)),
            None => last.through,
        };
        Some((share * present).min(present))
    }

    /// The same of a value between two points: the common values between them lie where they are, what is left lies
    /// evenly.
    fn below_between(&self, [before, next]: [&Point; 2], value: ValueRef<'_>, inclusive: bool) -> f64 {
        let present = 1.0 - self.null_share();
        let (from, to) = (before.through * present, next.below * present);
        let (mut lower, mut common, mut is_common) = (0.0, 0.0, false);
        for (known, share) in self.common() {
            if compare(known, &before.value).is_le() || compare(known, &next.value).is_ge() {
                continue;
            }
            let order = known.as_ref().compare(value);
            common += share;
            lower += if order.is_lt() || inclusive && order.is_eq() { share } else { 0.0 };
            is_common |= order.is_eq();
        }
        let width = (to - from).max(0.0);
        let scale = if common > width { width / common } else { 1.0 };
        let rest = (width - common * scale) * position(before.value.as_ref(), next.value.as_ref(), value);
        let equal = if inclusive && !is_common { self.rest().map_or(0.0, |(share, _)| share) } else { 0.0 };
        (from + lower * scale + rest + equal).min(to.max(from))
    }

    /// Takes in the summary of other rows (summary 1).
    pub fn merge(&mut self, other: &ColumnSummary) {
        if other.rows == 0 {
            return;
        }
        if self.rows == 0 {
            return self.clone_from(other);
        }
        let (mine, others) = (self.present() as f64, other.present() as f64);
        // How many rows a value has that a list lacks: counting a sketch is not for each of them.
        let rows_of = |summary: &ColumnSummary| summary.rest().map_or(0.0, |(share, _)| share * summary.rows as f64);
        let (rest, rest_of_other) = (rows_of(self), rows_of(other));
        let of = |histogram: &Histogram, rest: f64, value: &Value| {
            if histogram.points.is_empty() || histogram.covers(value.as_ref()) { rest } else { 0.0 }
        };
        let common = {
            let mine = |value: &Value| of(&self.histogram, rest, value);
            let others = |value: &Value| of(&other.histogram, rest_of_other, value);
            merged(&self.common, &other.common, [&mine, &others])
        };
        self.histogram = self.histogram.merged(mine, &other.histogram, others, UNION_MAX);
        self.rows += other.rows;
        self.nulls += other.nulls;
        self.bytes += other.bytes;
        self.distinct = match (std::mem::replace(&mut self.distinct, Distinct::Unknown), &other.distinct) {
            (Distinct::Sketched(mut sketch), Distinct::Sketched(others)) => {
                sketch.merge(others);
                Distinct::Sketched(sketch)
            }
            (Distinct::Unknown, _) | (_, Distinct::Unknown) => Distinct::Unknown,
            (mine, others) => Distinct::About(mine.count().max(others.count())),
        };
        let distinct = self.distinct().unwrap_or(f64::INFINITY);
        self.common = kept(common, self.present(), distinct, UNION_MAX);
        self.limit_common();
    }

    /// Column 1.
    pub(crate) fn limit_common(&mut self) {
        let mut left = self.present();
        for (_, count) in &mut self.common {
            *count = (*count).min(left);
            left -= *count;
        }
        self.common.retain(|(_, count)| *count > 0);
    }

    /// The memory behind it, bytes.
    pub fn memory_bytes(&self) -> usize {
        let sketch = match &self.distinct {
            Distinct::Sketched(sketch) => sketch.memory_bytes(),
            _ => 0,
        };
        let common: usize = self.common.iter().map(|(value, _)| value.memory_bytes()).sum();
        sketch + common + self.common.capacity() * size_of::<(Value, u64)>() + self.histogram.memory_bytes()
    }

    /// So many common values and points has one of so many rows: small files have small summaries.
    pub(crate) fn size_for(rows: u64) -> usize {
        (rows / 8).clamp(8, PARTS_MAX as u64) as usize
    }
}

/// The share of all pairs of rows of two columns that have equal values, when both have lists of common ones: those in
/// both lists pair as they are, the others as the average (PostgreSQL's `eqjoinsel_inner`). None: too little is known.
pub fn join_share(a: &ColumnSummary, b: &ColumnSummary) -> Option<f64> {
    if a.common.is_empty() || b.common.is_empty() {
        return None;
    }
    let ((_, others_a), (_, others_b)) = (a.rest()?, b.rest()?);
    let by_value = |summary: &ColumnSummary| {
        let mut values: Vec<(Value, f64)> = summary.common().map(|(value, share)| (value.clone(), share)).collect();
        values.sort_by(|a, b| compare(&a.0, &b.0));
        values
    };
    let (mine, others) = (by_value(a), by_value(b));
    let (mut matched, mut left_matched, mut right_matched) = (0.0, 0.0, 0.0);
    let (mut at, mut other_at) = (0, 0);
    while let (Some((value, share)), Some((other, other_share))) = (mine.get(at), others.get(other_at)) {
        match compare(value, other) {
            Ordering::Less => at += 1,
            Ordering::Greater => other_at += 1,
            Ordering::Equal => {
                matched += share * other_share;
                left_matched += share;
                right_matched += other_share;
                (at, other_at) = (at + 1, other_at + 1);
            }
        }
    }
    let sum = |summary: &ColumnSummary| summary.common().map(|(_, share)| share).sum::<f64>();
    let left_unmatched = (sum(a) - left_matched).max(0.0);
    let right_unmatched = (sum(b) - right_matched).max(0.0);
    let left_others = (1.0 - a.null_share() - sum(a)).max(0.0);
    let right_others = (1.0 - b.null_share() - sum(b)).max(0.0);
    // Seen from each side: its common values meet the other's others, and its others whatever the other has left.
    let part = |share: f64, values: f64| if values >= 0.5 { share / values } else { 0.0 };
    let from_left = matched
        + left_unmatched * part(right_others, others_b)
        + left_others * part(right_others + right_unmatched, others_b + b.common.len() as f64);
    let from_right = matched
        + right_unmatched * part(left_others, others_a)
        + right_others * part(left_others + left_unmatched, others_a + a.common.len() as f64);
    Some(from_left.min(from_right))
}
