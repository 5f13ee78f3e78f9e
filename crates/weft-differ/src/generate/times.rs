//! Expressions that are dates, timestamps and intervals.

use crate::parts;
use crate::types::Type;

use super::Generator;
use super::frames::Expr;

const UNITS: &[&str] = &["'year'", "'quarter'", "'month'", "'week'", "'day'", "'hour'", "'minute'", "'second'"];

impl Generator<'_> {
    /// A date.
    pub(super) fn date(&mut self, depth: usize) -> Expr {
        let parts = match self.random.below(4) {
            0 | 1 => {
                let days = self.value(Type::Int4, depth - 1);
                if days.bound > 1e5 {
                    return self.leaf(Type::Date);
                }
                let operator = self.random.word(&[" + ", " - "]);
                parts!["(", self.leaf(Type::Date), operator, days, ")"]
            }
            2 => parts!["(", self.value(Type::Timestamp, depth - 1), ")::date"],
            _ => parts!["(", self.leaf(Type::Date), " - 1)"],
        };
        Expr::new(Type::Date, parts)
    }

    /// A timestamp.
    pub(super) fn timestamp(&mut self, depth: usize) -> Expr {
        let parts = match self.random.below(6) {
            0 | 1 => {
                let operator = self.random.word(&[" + ", " - "]);
                parts!["(", self.leaf(Type::Timestamp), operator, self.leaf(Type::Interval), ")"]
            }
            2 => {
                let operator = self.random.word(&[" + ", " - "]);
                parts!["(", self.leaf(Type::Date), operator, self.leaf(Type::Interval), ")"]
            }
            3 | 4 => {
                let unit = self.random.word(UNITS);
                parts!["date_trunc(", unit, ", ", self.value(Type::Timestamp, depth - 1), ")"]
            }
            _ => parts!["(", self.value(Type::Date, depth - 1), ")::timestamp"],
        };
        Expr::new(Type::Timestamp, parts)
    }

    /// A timestamp with time zone; sessions are in UTC.
    pub(super) fn timestamptz(&mut self, _depth: usize) -> Expr {
        let parts = match self.random.below(3) {
            0 => {
                let operator = self.random.word(&[" + ", " - "]);
                parts!["(", self.leaf(Type::Timestamptz), operator, self.leaf(Type::Interval), ")"]
            }
            1 => {
                let unit = self.random.word(UNITS);
                parts!["date_trunc(", unit, ", ", self.leaf(Type::Timestamptz), ")"]
            }
            _ => parts!["(", self.leaf(Type::Timestamp), " AT TIME ZONE 'UTC')"],
        };
        Expr::new(Type::Timestamptz, parts)
    }

    /// An interval.
    pub(super) fn interval(&mut self, _depth: usize) -> Expr {
        let parts = match self.random.below(4) {
            0 => parts!["(", self.leaf(Type::Timestamp), " - ", self.leaf(Type::Timestamp), ")"],
            1 => parts!["(", self.leaf(Type::Interval), " + ", self.leaf(Type::Interval), ")"],
            2 => parts!["(- ", self.leaf(Type::Interval), ")"],
            _ => parts!["(", self.leaf(Type::Interval), " * ", self.random.between(0, 3).to_string(), ")"],
        };
        Expr::new(Type::Interval, parts)
    }
}
