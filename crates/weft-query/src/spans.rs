//! What is known of the values of columns: what estimates go by.
//!
//! ```text
//!   o_orderdate  1992-01-01 to 1998-08-02      2,406 values at most      below 1995-01-01: 0.46 of them
//!   summary      about 2,406 values, 5 % NULL  common: 1995-03-05 0.7 %  below 1995-01-01: 0.447 by its histogram
//! ```
//!
//! A summary answers where the table has one ([`TableRef::known_columns`]); else the lowest and the highest value do.
//!
//! [`TableRef::known_columns`]: weft_kernel::TableRef::known_columns

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::ScalarValue;
use weft_expr::like;
use weft_format::{ColumnSummary, DataType, Value, ValueRef};
use weft_kernel::KnownColumns;

use super::types::value_of;

/// The lowest and the highest value of a column that is a number or a moment.
#[derive(Clone, Copy, Debug)]
struct Span {
    low: f64,
    high: f64,
    data_type: DataType,
}

impl Span {
    /// Of the lowest and highest value of a column.
    fn of(low: &Value, high: &Value, data_type: DataType) -> Option<Span> {
        let (low, high) = (number(low)?, number(high)?);
        (low <= high).then_some(Span { low, high, data_type })
    }

    /// How many values there can be.
    fn count(self) -> Option<f64> {
        let is_whole = matches!(self.data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt)
            || matches!(self.data_type, DataType::Date | DataType::Oid);
        is_whole.then_some(self.high - self.low + 1.0)
    }

    /// Which part of it lies below a constant.
    fn below(self, constant: &ScalarValue) -> Option<f64> {
        let at = number(&value_of(constant, self.data_type)?)?;
        let width = self.high - self.low;
        Some(if width > 0.0 { ((at - self.low) / width).clamp(0.0, 1.0) } else { f64::from(u8::from(at >= self.low)) })
    }

    /// Whether a constant lies outside of it.
    fn lacks(self, constant: &ScalarValue) -> bool {
        let at = value_of(constant, self.data_type).as_ref().and_then(number);
        at.is_some_and(|at| at < self.low || at > self.high)
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Decimal(number) => Some(*number as f64),
        Value::Float(number) if number.is_finite() => Some(*number),
        _ => None,
    }
}

/// Columns by their names.
pub(super) type Spans = Arc<HashMap<String, Known>>;

/// What is known of one column.
#[derive(Clone)]
pub(super) struct Known {
    span: Option<Span>,
    data_type: DataType,
    ordinal: usize,
    columns: Arc<KnownColumns>,
}

/// Points of a histogram that a pattern is tried on, at least.
const PATTERN_POINTS_MIN: usize = 16;
/// A longer text may have been cut in a summary: a pattern may match what is not there.
const TEXT_BYTES_MAX: usize = 44;

impl Known {
    /// Of a column with this ordinal, whose lowest and highest value may be known.
    pub(super) fn of(
        range: Option<&(Value, Value)>,
        data_type: DataType,
        ordinal: usize,
        columns: &Arc<KnownColumns>,
    ) -> Known {
        let span = range.and_then(|(low, high)| Span::of(low, high, data_type));
        Known { span, data_type, ordinal, columns: columns.clone() }
    }

    /// What its values are like.
    pub(super) fn summary(&self) -> Option<&ColumnSummary> {
        self.columns.column(self.ordinal)
    }

    /// Whether values of both are compared as they are stored.
    pub(super) fn is_like(&self, other: &Known) -> bool {
        match (self.data_type, other.data_type) {
            (DataType::Numeric { scale: a, .. }, DataType::Numeric { scale: b, .. }) => a == b,
            (a, b) => a == b || a.is_text() && b.is_text(),
        }
    }

    /// About how many values there are.
    pub(super) fn count(&self) -> Option<f64> {
        self.summary().and_then(ColumnSummary::distinct).or_else(|| self.span?.count())
    }

    /// The share of rows that are NULL.
    pub(super) fn null_share(&self) -> Option<f64> {
        self.summary().map(ColumnSummary::null_share)
    }

    /// The share of rows that have this value; 0 when none is known to. One that came since the summary was made is not
    /// known to have none.
    pub(super) fn equal(&self, constant: &ScalarValue) -> Option<f64> {
        let Some(summary) = self.summary() else {
            return self.span.filter(|span| span.lacks(constant)).map(|_| 0.0);
        };
        let value = value_of(constant, self.data_type)?;
        if summary.lacks(value.as_ref()) {
            return summary.lacked_share(self.columns.unseen_share(self.ordinal));
        }
        summary.equal_share(value.as_ref())
    }

    /// The share of rows that have some value which is not known yet.
    pub(super) fn equal_to_any(&self) -> Option<f64> {
        self.summary()?.average_share()
    }

    /// Where the rows below a value end, or those up to it, and where all rows with values do: 0 to 1.
    pub(super) fn below(&self, constant: &ScalarValue, inclusive: bool) -> Option<(f64, f64)> {
        let Some(summary) = self.summary() else {
            return Some((self.span?.below(constant)?, 1.0));
        };
        let below = summary.below_share(value_of(constant, self.data_type)?.as_ref(), inclusive)?;
        Some((below, 1.0 - summary.null_share()))
    }

    /// The least shares of rows with values below and above all that are known.
    pub(super) fn outside(&self) -> (f64, f64) {
        let unseen = self.columns.unseen_share(self.ordinal);
        self.summary().map_or((0.0, 0.0), |summary| summary.outside_shares(unseen))
    }

    /// The share of rows that match a pattern: of common values those that do, of the others as many as of the points
    /// of the histogram that are no common values, or what lies behind the characters that the pattern begins with.
    pub(super) fn matching(&self, pattern: &str) -> Option<f64> {
        let summary = self.summary().filter(|_| self.data_type.is_text())?;
        let is_match = |value: &Value| match value {
            Value::Text(text) => like(text, pattern, Some('\\')).unwrap_or(false),
            _ => false,
        };
        let (mut counted, mut share) = (0.0, 0.0);
        for (value, part) in summary.common() {
            counted += part;
            share += if is_match(value) { part } else { 0.0 };
        }
        let others = (1.0 - summary.null_share() - counted).max(0.0);
        let of_prefix = prefix_share(summary, pattern, others);
        let is_common = |value: &Value| summary.common().any(|(known, _)| known == value);
        // A text that may have been cut matches what nobody knows.
        let points = summary.histogram().points().iter().map(|point| &point.value);
        let points: Vec<&Value> = points.filter(|value| is_whole(value) && !is_common(value)).collect();
        if points.len() < PATTERN_POINTS_MIN {
            return Some(if others == 0.0 { share } else { (share + others * of_prefix?).min(1.0) });
        }
        let matched = points.iter().filter(|value| is_match(value)).count() as f64;
        let of_points = matched.max(0.5) / points.len() as f64;
        Some(share + others * of_prefix.map_or(of_points, |of_prefix| of_points.min(of_prefix)))
    }
}

/// Whether a text of a summary is no longer than those that are kept whole.
fn is_whole(value: &Value) -> bool {
    value.as_ref().as_bytes().is_none_or(|bytes| bytes.len() <= TEXT_BYTES_MAX)
}

/// The share that those have which begin as a pattern does, of the values that are not common, whose share of all rows
/// is `others`; none when it begins with anything.
fn prefix_share(summary: &ColumnSummary, pattern: &str, others: f64) -> Option<f64> {
    let prefix = pattern.split(['%', '_', '\\']).next().filter(|prefix| !prefix.is_empty())?;
    let after = format!("{prefix}\u{10ffff}");
    let below = |text: &str| summary.below_share(ValueRef::Text(text), false);
    let begins = |value: &Value| matches!(value, Value::Text(text) if text.starts_with(prefix));
    let common: f64 = summary.common().filter(|(value, _)| begins(value)).map(|(_, share)| share).sum();
    let rest = below(&after)? - below(prefix)? - common;
    Some(if others > 0.0 { (rest / others).clamp(0.0, 1.0) } else { 0.0 })
}
