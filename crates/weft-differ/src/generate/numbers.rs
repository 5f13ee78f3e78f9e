//! Expressions that are numbers.

use crate::parts;
use crate::types::Type;

use super::Generator;
use super::frames::Expr;

impl Generator<'_> {
    /// An integer of a type.
    pub(super) fn integer(&mut self, data_type: Type, depth: usize) -> Expr {
        match self.random.below(16) {
            0..=4 => self.sum(data_type, depth),
            5 | 6 => self.product(data_type, depth),
            7 => {
                let (left, right) = (self.value(data_type, depth - 1), self.leaf(data_type));
                let operator = self.random.word(&[" / ", " % "]);
                // The least integer over -1 does not fit.
                if left.bound > data_type.magnitude_max() && !self.may_fail {
                    return left;
                }
                let bound = left.bound;
                if self.may_fail {
                    return Expr::new(data_type, parts!["(", left, operator, right, ")"]);
                }
                let zero = if data_type == Type::Int4 { "0" } else { "0::int2" };
                Expr::new(data_type, parts!["(", left, operator, "nullif(", right, ", ", zero, "))"]).bound(bound)
            }
            8 => self.magnitude(data_type, depth),
            9 => {
                let operator = self.random.word(&[" & ", " | ", " # "]);
                let (left, right) = (self.value(data_type, depth - 1), self.leaf(data_type));
                let bound = 2.0 * left.bound.max(right.bound);
                Expr::new(data_type, parts!["(", left, operator, right, ")"]).bound(bound)
            }
            10..=12 if data_type == Type::Int4 => self.count_of_text(depth),
            13 if data_type == Type::Int4 => {
                let (left, right) = (self.leaf(Type::Date), self.leaf(Type::Date));
                Expr::new(data_type, parts!["(", left, " - ", right, ")"]).bound(4e6)
            }
            14 if data_type == Type::Int4 => {
                let array = self.value(Type::Int4Array, depth - 1);
                if self.random.chance(50) {
                    Expr::new(data_type, parts!["(", array, ")[", self.constant(Type::Int4, false), "]"])
                } else {
                    let name = self.random.word(&["cardinality(", "array_length("]);
                    let end = if name == "cardinality(" { ")" } else { ", 1)" };
                    Expr::new(data_type, parts![name, array, end])
                }
            }
            _ => self.leaf(data_type),
        }
    }

    fn count_of_text(&mut self, depth: usize) -> Expr {
        let text = self.value(Type::Text, depth - 1);
        let parts = match self.random.below(6) {
            0 => parts!["length(", text, ")"],
            1 => parts!["octet_length(", text, ")"],
            2 => parts!["position(", self.leaf(Type::Text), " in ", text, ")"],
            3 => parts!["strpos(", text, ", ", self.leaf(Type::Text), ")"],
            4 => parts!["ascii(", text, ")"],
            _ => parts!["char_length(", text, ")"],
        };
        Expr::new(Type::Int4, parts).bound(2e5)
    }

    fn sum(&mut self, data_type: Type, depth: usize) -> Expr {
        let (left, right) = (self.value(data_type, depth - 1), self.value(data_type, depth - 1));
        let (bound, exact) = (left.bound + right.bound, left.is_exact && right.is_exact);
        if bound > data_type.magnitude_max() && !self.may_fail {
            return left;
        }
        let operator = self.random.word(&[" + ", " - "]);
        Expr::new(data_type, parts!["(", left, operator, right, ")"]).bound(bound).exact(exact)
    }

    fn product(&mut self, data_type: Type, depth: usize) -> Expr {
        let (left, right) = (self.value(data_type, depth - 1), self.leaf(data_type));
        let bound = left.bound * right.bound;
        if bound > data_type.magnitude_max() && !self.may_fail {
            return left;
        }
        let exact = left.is_exact && right.is_exact && bound < 1e6;
        Expr::new(data_type, parts!["(", left, " * ", right, ")"]).bound(bound).exact(exact)
    }

    fn magnitude(&mut self, data_type: Type, depth: usize) -> Expr {
        let value = self.value(data_type, depth - 1);
        let (bound, exact) = (value.bound, value.is_exact);
        if bound > data_type.magnitude_max() && !self.may_fail {
            return value;
        }
        let name = self.random.word(&["abs(", "(- ", "(+ "]);
        Expr::new(data_type, parts![name, value, ")"]).bound(bound).exact(exact)
    }

    /// A numeric: at most ten digits after the point, so that both engines have all of them.
    pub(super) fn numeric(&mut self, depth: usize) -> Expr {
        let data_type = Type::Numeric;
        match self.random.below(12) {
            0..=3 => self.sum(data_type, depth),
            4 => {
                let (left, right) = (self.leaf(data_type), self.value(Type::Int4, depth - 1));
                let bound = left.bound * right.bound;
                if bound > data_type.magnitude_max() {
                    return left;
                }
                Expr::new(data_type, parts!["(", left, " * ", right, ")"]).bound(bound)
            }
            5 => self.magnitude(data_type, depth),
            6 => {
                let value = self.value(data_type, depth - 1);
                let bound = value.bound + 1.0;
                let parts = match self.random.below(6) {
                    0 => parts!["round(", value, ", 1)"],
                    1 => parts!["trunc(", value, ", 1)"],
                    2 => parts!["round(", value, ")"],
                    3 => parts!["ceil(", value, ")"],
                    4 => parts!["sign(", value, ")"],
                    _ => parts!["floor(", value, ")"],
                };
                Expr::new(data_type, parts).bound(bound)
            }
            7 | 8 => {
                let (left, right) = (self.value(data_type, depth - 1), self.leaf(data_type));
                let bound = left.bound * 100.0;
                if bound > 1e15 {
                    return left;
                }
                if self.may_fail {
                    return Expr::new(data_type, parts!["round(", left, " / ", right, ", 4)"]).bound(bound);
                }
                Expr::new(data_type, parts!["round(", left, " / nullif(", right, ", 0), 4)"]).bound(bound)
            }
            9 => {
                let (left, right) = (self.leaf(data_type), self.leaf(data_type));
                let bound = right.bound;
                Expr::new(data_type, parts!["(", left, " % nullif(", right, ", 0))"]).bound(bound)
            }
            10 => {
                let value = self.value(data_type, depth - 1);
                if value.bound > 1e7 {
                    return value;
                }
                let bound = value.bound + 1.0;
                Expr::new(data_type, parts!["(", value, ")::numeric(10,2)"]).bound(bound)
            }
            _ => self.leaf(data_type),
        }
    }

    /// A floating point number.
    pub(super) fn float(&mut self, depth: usize) -> Expr {
        let data_type = Type::Float8;
        match self.random.below(10) {
            0..=3 => self.sum(data_type, depth),
            4 => self.product(data_type, depth),
            5 => self.magnitude(data_type, depth),
            6 => {
                let value = self.value(data_type, depth - 1);
                let bound = value.bound + 1.0;
                let name = self.random.word(&["round(", "floor(", "ceil(", "trunc(", "sign("]);
                Expr::new(data_type, parts![name, value, ")"]).bound(bound)
            }
            7 => {
                let (left, right) = (self.value(data_type, depth - 1), self.leaf(data_type));
                let bound = left.bound * 100.0;
                let parts = parts!["(", left, " / nullif(", right, ", 0))"];
                Expr::new(data_type, parts).bound(bound).exact(false)
            }
            8 => {
                let value = self.value(data_type, depth - 1);
                let bound = value.bound;
                Expr::new(data_type, parts!["sqrt(abs(", value, "))"]).bound(bound.max(1.0)).exact(false)
            }
            _ => self.leaf(data_type),
        }
    }
}
