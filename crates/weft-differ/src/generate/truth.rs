//! Conditions.

use crate::parts;
use crate::types::Type;

use super::Generator;
use super::frames::Expr;

const COMPARISONS: &[&str] = &[" = ", " = ", " <> ", " < ", " <= ", " > ", " >= "];

impl Generator<'_> {
    /// A condition.
    pub(super) fn condition(&mut self, depth: usize) -> Expr {
        let depth = depth.max(1);
        let parts = match self.random.below(100) {
            0..=29 => return self.comparison(depth),
            30..=44 if !self.may_fail => {
                let operator = self.random.word(&[" AND ", " OR "]);
                parts!["(", self.value(Type::Bool, depth - 1), operator, self.value(Type::Bool, depth - 1), ")"]
            }
            45..=50 => parts!["(NOT ", self.value(Type::Bool, depth - 1), ")"],
            51..=57 => {
                let data_type = self.type_in_sight();
                let test = self.random.word(&[" IS NULL)", " IS NOT NULL)"]);
                parts!["(", self.value(data_type, depth - 1), test]
            }
            58..=61 => {
                let test = self.random.word(&[
                    " IS TRUE)",
                    " IS NOT TRUE)",
                    " IS FALSE)",
                    " IS NOT FALSE)",
                    " IS UNKNOWN)",
                    " IS NOT UNKNOWN)",
                ]);
                parts!["(", self.value(Type::Bool, depth - 1), test]
            }
            62..=66 => return self.between(depth),
            67..=72 => return self.in_list(depth),
            73..=76 => return self.pattern(depth),
            77 | 78 => return self.rows(depth),
            79 => return self.of_arrays(depth),
            80..=83 if !self.may_fail => return self.asked_twice(depth),
            84..=93 if self.subqueries && self.selects_left > 0 => return self.condition_subquery(depth),
            _ => return self.comparison(depth),
        };
        Expr::new(Type::Bool, parts)
    }

    /// `a = b`, mostly of a column and something of its type.
    fn comparison(&mut self, depth: usize) -> Expr {
        let data_type = self.type_in_sight();
        let operator = if self.random.chance(12) {
            self.random.word(&[" IS DISTINCT FROM ", " IS NOT DISTINCT FROM "])
        } else if data_type.is_ordered() {
            self.random.word(COMPARISONS)
        } else {
            self.random.word(&[" = ", " <> "])
        };
        let left = self.value(data_type, depth - 1);
        let right = match self.random.below(10) {
            // A literal without a type, or a parameter, takes the type of the other side.
            0..=2 if left.is_column => self.constant(data_type, false),
            3 if data_type.is_number() => {
                let other = *self.random.pick(&[Type::Int4, Type::Int8, Type::Numeric, Type::Float8]);
                self.value(other, depth - 1)
            }
            _ => self.value(data_type, depth - 1),
        };
        if left.is_constant() && right.is_constant() && self.random.chance(80) {
            return self.leaf(Type::Bool);
        }
        Expr::new(Type::Bool, parts!["(", left, operator, right, ")"])
    }

    /// One column compared with one value twice, which is written in two ways and stands on either side:
    /// `c = 5 AND 2 + 3 >= c`. Rules that compare the two literally, or turn one of them around, must come to the same
    /// rows.
    fn asked_twice(&mut self, depth: usize) -> Expr {
        let data_type = self.ordered_type();
        let Some(column) = self.in_sight(data_type) else { return self.comparison(depth) };
        let value = self.constant(data_type, true);
        let written = match data_type {
            Type::Int2 | Type::Int4 | Type::Int8 | Type::Numeric | Type::Float8 => {
                let around = self.random.word(&[" + 0)", " - 0)", " * 1)"]);
                parts!["(", value.clone(), around]
            }
            Type::Text => parts!["(", value.clone(), " || '')"],
            Type::Date => parts!["(", value.clone(), " + 0)"],
            Type::Timestamp | Type::Timestamptz => parts!["(", value.clone(), " + interval '0')"],
            _ => parts!["coalesce(", value.clone(), ", ", self.constant(data_type, true), ")"],
        };
        let written = Expr::new(data_type, written);
        let (first, second) = (self.random.word(COMPARISONS), self.random.word(COMPARISONS));
        let connective = self.random.word(&[" AND ", " AND ", " AND NOT ", " OR "]);
        let again = if self.random.chance(70) {
            parts!["(", written, second, column.clone(), ")"]
        } else {
            parts!["(", column.clone(), second, written, ")"]
        };
        let again = Expr::new(Type::Bool, again);
        Expr::new(Type::Bool, parts!["((", column, first, value, ")", connective, again, ")"])
    }

    fn between(&mut self, depth: usize) -> Expr {
        let data_type = self.ordered_type();
        let between = self.random.word(&[
            " BETWEEN ",
            " NOT BETWEEN ",
            " BETWEEN SYMMETRIC ",
            " NOT BETWEEN SYMMETRIC ",
            " BETWEEN ",
        ]);
        let value = self.value(data_type, depth - 1);
        let (low, high) = (self.leaf(data_type), self.leaf(data_type));
        Expr::new(Type::Bool, parts!["(", value, between, low, " AND ", high, ")"])
    }

    fn in_list(&mut self, depth: usize) -> Expr {
        let data_type = self.ordered_type();
        let value = self.value(data_type, depth - 1);
        let word = self.random.word(&[" IN (", " NOT IN ("]);
        let mut parts = parts!["(", value, word];
        for place in 0..self.random.between(1, 4) {
            let item = if self.random.chance(10) {
                Expr::new(data_type, parts!["NULL"])
            } else {
                let depth = (depth - 1).min(1);
                self.value(data_type, depth)
            };
            parts.extend(parts![if place == 0 { "" } else { ", " }, item]);
        }
        parts.push("))".into());
        Expr::new(Type::Bool, parts)
    }

    fn pattern(&mut self, depth: usize) -> Expr {
        let text = self.value(Type::Text, depth - 1);
        let word = self.random.word(&[" LIKE ", " NOT LIKE ", " ILIKE ", " LIKE ", " ~ ", " !~ ", " ~* "]);
        let pattern = if word.contains('~') {
            self.random.word(&["'^a'", "'b$'", "'[a-c]+'", "'.'", "'^$'", "'(a|b)c?'"])
        } else {
            self.random.word(&["'a%'", "'%b'", "'_'", "'%'", "''", "'x\\_y'", "'%\\%'", "'A%'", "'_b%'", "NULL"])
        };
        Expr::new(Type::Bool, parts!["(", text, word, pattern, ")"])
    }

    fn rows(&mut self, depth: usize) -> Expr {
        let (first, second) = (self.ordered_type(), self.ordered_type());
        let operator = self.random.word(COMPARISONS);
        let (a, b) = (self.value(first, depth - 1), self.leaf(second));
        let (c, d) = (self.leaf(first), self.leaf(second));
        Expr::new(Type::Bool, parts!["((", a, ", ", b, ")", operator, "(", c, ", ", d, "))"])
    }

    fn of_arrays(&mut self, depth: usize) -> Expr {
        let array = *self.random.pick(&[Type::Int4Array, Type::TextArray]);
        let element = if array == Type::Int4Array { Type::Int4 } else { Type::Text };
        let parts = match self.random.below(4) {
            0 => parts!["(", self.value(array, depth - 1), " @> ", self.leaf(array), ")"],
            1 => parts!["(", self.value(array, depth - 1), " && ", self.leaf(array), ")"],
            2 => parts!["(", self.value(element, depth - 1), " = ANY (", self.leaf(array), "))"],
            _ => parts!["(", self.value(element, depth - 1), " <> ALL (", self.leaf(array), "))"],
        };
        Expr::new(Type::Bool, parts)
    }

    /// A type in sight that has an order.
    pub(super) fn ordered_type(&mut self) -> Type {
        let found = self.type_in_sight();
        if found.is_ordered() { found } else { Type::Int4 }
    }
}
