//! How values are spread: points of their distribution, and straight lines between them.
//!
//! ```text
//!   value      0      10      20       30
//!   below      0.00   0.30    0.33     0.99         the share of values below it
//!   through    0.01   0.31    0.83     1.00         the share up to it: half of all values are 20
//!
//!   v < 15     0.31 + (0.33 - 0.31) / 2             v <= 20    0.83
//! ```
//!
//! 1. Points ascend by value, and their shares with them: `below <= through <= below of the next`, all of 0 to 1.
//! 2. The first point is the least value that was seen, the last the greatest. No NULL is among them.
//! 3. Points say what they stand for, so leaving some out makes others no less true: only what lies between is known
//!    less well.

use crate::summary::frequent::{compare, runs};
use crate::value::{Value, ValueRef};

/// A longer text is cut: what it is like is known by its first bytes.
pub(crate) const POINT_BYTES_MAX: usize = 48;
/// Bytes of two texts that are told apart by how far they are from each other.
const TEXT_DIGITS: usize = 7;

/// A value and where it stands among all.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The value.
    pub value: Value,
    /// The share of values below it.
    pub below: f64,
    /// The share of values up to it.
    pub through: f64,
}

/// Points of a distribution; none of a column without values, or whose values have no order that helps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    pub(crate) points: Vec<Point>,
}

impl Histogram {
    /// Of a sorted sample, whose least and greatest value may lie within those of all.
    pub(crate) fn of_sample(sorted: &[Value], ends: Option<(Value, Value)>, max: usize) -> Histogram {
        let all = sorted.len() as f64;
        let mut points: Vec<Point> = Vec::new();
        for (start, len) in runs(sorted) {
            let (below, through) = (start as f64 / all, (start + len) as f64 / all);
            points.push(Point { value: sorted[start].clone(), below, through });
        }
        if let Some((low, high)) = ends {
            if points.first().is_none_or(|first| compare(&low, &first.value).is_lt()) {
                points.insert(0, Point { value: low, below: 0.0, through: 0.0 });
            }
            if points.last().is_none_or(|last| compare(&high, &last.value).is_gt()) {
                points.push(Point { value: high, below: 1.0, through: 1.0 });
            }
        }
        let mut histogram = Histogram { points };
        histogram.thin(max);
        histogram
    }

    /// The points, ascending.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The share of values below one, or up to it.
    pub fn below(&self, value: ValueRef<'_>, inclusive: bool) -> Option<f64> {
        if self.points.is_empty() {
            return None;
        }
        let at = self.points.partition_point(|point| point.value.as_ref().compare(value).is_lt());
        let (below, through) = self.shares_at(at, value);
        Some(if inclusive { through } else { below })
    }

    /// The shares of values below one and up to it, which lies at or before this point, and behind the one before it.
    fn shares_at(&self, at: usize, value: ValueRef<'_>) -> (f64, f64) {
        let before = at.checked_sub(1).map(|at| &self.points[at]);
        match (before, self.points.get(at)) {
            (_, Some(point)) if point.value.as_ref().compare(value).is_eq() => (point.below, point.through),
            (None, first) => [first.map_or(0.0, |first| first.below); 2].into(),
            (Some(before), Some(next)) => {
                let part = position(before.value.as_ref(), next.value.as_ref(), value);
                [before.through + (next.below - before.through) * part; 2].into()
            }
            (Some(last), None) => (last.through, last.through),
        }
    }

    /// Whether a value lies between the least and the greatest.
    pub fn covers(&self, value: ValueRef<'_>) -> bool {
        match (self.points.first(), self.points.last()) {
            (Some(first), Some(last)) => {
                first.value.as_ref().compare(value).is_le() && last.value.as_ref().compare(value).is_ge()
            }
            _ => false,
        }
    }

    /// That of both together, each with its number of values.
    pub(crate) fn merged(&self, mine: f64, other: &Histogram, others: f64, max: usize) -> Histogram {
        let mut values: Vec<&Value> = self.points.iter().chain(&other.points).map(|point| &point.value).collect();
        values.sort_by(|a, b| compare(a, b));
        values.dedup_by(|a, b| compare(a, b).is_eq());
        let all = (mine + others).max(1.0);
        let (mut at, mut other_at, mut reached) = (0, 0, 0.0f64);
        let mut point = |value: &Value| {
            let passed = |histogram: &Histogram, at: usize| {
                histogram.points.get(at).is_some_and(|point| compare(&point.value, value).is_lt())
            };
            // Each of both has at most one point more below the next value.
            at += usize::from(passed(self, at));
            other_at += usize::from(passed(other, other_at));
            debug_assert!(!passed(self, at) && !passed(other, other_at), "every point's value is visited");
            let (a, b) = (self.shares_at(at, value.as_ref()), other.shares_at(other_at, value.as_ref()));
            let share = |a: f64, b: f64| ((a * mine + b * others) / all).clamp(0.0, 1.0);
            // Sums of shares may fall by a last digit.
            let below = share(a.0, b.0).max(reached);
            reached = share(a.1, b.1).max(below);
            Point { value: value.clone(), below, through: reached }
        };
        let mut histogram = Histogram { points: values.into_iter().map(&mut point).collect() };
        histogram.thin(max);
        histogram
    }

    /// Leaves points out where the fewest values lie between their neighbours.
    fn thin(&mut self, max: usize) {
        let max = max.max(2);
        if self.points.len() > 4 * max {
            self.pick(2 * max);
        }
        while self.points.len() > max {
            let between = |at: usize| self.points[at + 1].below - self.points[at - 1].through;
            let least = (1..self.points.len() - 1).min_by(|&a, &b| between(a).total_cmp(&between(b)));
            let Some(least) = least else { return };
            self.points.remove(least);
        }
    }

    /// Of very many points those that lie nearest to even shares.
    fn pick(&mut self, count: usize) {
        let last = self.points.len() - 1;
        let mut stays = vec![false; self.points.len()];
        (stays[0], stays[last]) = (true, true);
        let width = 1.0 / count as f64;
        let mut next = width;
        for (at, point) in self.points.iter().enumerate() {
            let is_common = point.through - point.below >= width / 2.0;
            if is_common || point.through >= next {
                stays[at] = true;
                next = point.through + width;
            }
        }
        let mut stays = stays.into_iter();
        self.points.retain(|_| stays.next().unwrap_or(true));
    }

    /// The memory behind it, bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let values: usize = self.points.iter().map(|point| point.value.memory_bytes()).sum();
        self.points.capacity() * size_of::<Point>() + values
    }
}

/// The value, or of a long text its first bytes.
pub(crate) fn cut(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Text(text) if text.len() > POINT_BYTES_MAX => {
            let end = (0..=POINT_BYTES_MAX).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
            Value::Text(text[..end].into())
        }
        ValueRef::Bytes(bytes) if bytes.len() > POINT_BYTES_MAX => Value::Bytes(bytes[..POINT_BYTES_MAX].into()),
        value => value.to_value(),
    }
}

/// Where between two values a third one lies: 0 to 1.
pub(crate) fn position(low: ValueRef<'_>, high: ValueRef<'_>, value: ValueRef<'_>) -> f64 {
    let numbers = match (low.as_bytes(), high.as_bytes(), value.as_bytes()) {
        (Some(low), Some(high), Some(value)) => {
            let same = low.iter().zip(high).take_while(|(a, b)| a == b).count();
            [low, high, value].map(|bytes| Some(digits(&bytes[same.min(bytes.len())..])))
        }
        _ => [low, high, value].map(number),
    };
    let [Some(low), Some(high), Some(value)] = numbers else { return 0.5 };
    let part = (value - low) / (high - low);
    if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.5 }
}

fn digits(bytes: &[u8]) -> f64 {
    let digit = |at: usize| f64::from(bytes.get(at).copied().unwrap_or(0));
    (0..TEXT_DIGITS).fold(0.0, |number, at| number * 256.0 + digit(at))
}

fn number(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Int(number) => Some(number as f64),
        ValueRef::Decimal(number) => Some(number as f64),
        ValueRef::Float(number) => Some(number).filter(|number| number.is_finite()),
        ValueRef::Bool(value) => Some(f64::from(u8::from(value))),
        ValueRef::Uuid(number) => Some(number as f64),
        ValueRef::Interval(value) => Some(value.span() as f64),
        _ => None,
    }
}
