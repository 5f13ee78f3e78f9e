//! Aggregates with DISTINCT, FILTER and ORDER BY.

use crate::parts;
use crate::tree::{Node, Part};
use crate::types::Type;

use super::Generator;
use super::frames::Expr;

/// More rows than a FROM here can have.
const ROWS: f64 = 1e5;

impl Generator<'_> {
    /// An aggregate of a type over the innermost frame.
    pub(super) fn aggregate(&mut self, data_type: Type) -> Expr {
        let (subqueries, frames) = (self.subqueries, self.frames.split_off(self.frames.len() - 1));
        // An aggregate of outer columns only would belong to the query around: arguments see the innermost frame only.
        let outer = std::mem::replace(&mut self.frames, frames);
        self.subqueries = false;
        let made = self.made_aggregate(data_type);
        self.subqueries = subqueries;
        let own = std::mem::replace(&mut self.frames, outer);
        self.frames.extend(own);
        made
    }

    fn made_aggregate(&mut self, data_type: Type) -> Expr {
        match data_type {
            Type::Int8 | Type::Numeric | Type::Float8 => self.aggregate_number(data_type),
            Type::Bool => {
                let argument = self.argument(Type::Bool);
                let name = self.random.word(&["bool_and", "bool_or", "every"]);
                self.over(name, argument, Type::Bool)
            }
            Type::Text if self.random.chance(40) => {
                let argument = self.argument(Type::Text);
                let (copy, direction) = (argument.clone(), self.direction());
                if self.random.chance(25) {
                    let parts = parts!["string_agg(DISTINCT ", argument, ", ',' ORDER BY ", copy, direction, ")"];
                    return self.filtered(Expr::new(Type::Text, parts));
                }
                let parts = parts!["string_agg(", argument, ", ',' ORDER BY ", copy, direction, ")"];
                self.filtered(Expr::new(Type::Text, parts))
            }
            Type::Int4Array | Type::TextArray if self.random.chance(70) => {
                let of = if data_type == Type::Int4Array { Type::Int4 } else { Type::Text };
                let argument = self.argument(of);
                // Of a varchar it would be an array of those, which text[] is not compared with.
                let argument = if of == Type::Text { argument.cast_to(of) } else { argument };
                let (copy, direction) = (argument.clone(), self.direction());
                let distinct = self.random.word(&["", "", "DISTINCT "]);
                let parts = parts!["array_agg(", distinct, argument, " ORDER BY ", copy, direction, ")"];
                self.filtered(Expr::new(data_type, parts))
            }
            Type::Int2 | Type::Int4 if self.random.chance(15) => {
                let argument = self.argument(data_type);
                let name = self.random.word(&["bit_and", "bit_or"]);
                let bound = argument.bound * 2.0;
                self.over(name, argument, data_type).bound(bound)
            }
            // PostgreSQL 15 has no min and max of these.
            Type::Uuid | Type::Bytea | Type::Jsonb => {
                let argument = self.argument(data_type);
                let argument = Expr::new(Type::Text, parts!["(", argument, ")::text"]);
                self.over("max", argument, Type::Text).cast_to(data_type)
            }
            _ => self.extreme(data_type),
        }
    }

    /// Counts, sums and averages.
    fn aggregate_number(&mut self, data_type: Type) -> Expr {
        match data_type {
            Type::Int8 if self.random.chance(55) => self.count(),
            Type::Int8 => {
                let of = if self.random.chance(70) { Type::Int4 } else { Type::Int2 };
                let argument = self.argument(of);
                let bound = argument.bound * ROWS;
                self.over("sum", argument, Type::Int8).bound(bound)
            }
            Type::Numeric if self.random.chance(40) => {
                let of = *self.random.pick(&[Type::Int8, Type::Numeric, Type::Numeric]);
                let argument = self.argument(of);
                if argument.bound > 1e12 {
                    return self.over("max", argument, of).cast_to(Type::Numeric);
                }
                let bound = argument.bound * ROWS;
                self.over("sum", argument, Type::Numeric).bound(bound)
            }
            Type::Numeric if self.random.chance(50) => {
                let of = *self.random.pick(&[Type::Int4, Type::Int8, Type::Numeric, Type::Int2]);
                let argument = self.argument(of);
                let bound = argument.bound + 1.0;
                let average = self.over("avg", argument, Type::Numeric);
                Expr::new(Type::Numeric, parts!["round(", average, ", 4)"]).bound(bound)
            }
            Type::Float8 if self.random.chance(50) => {
                let argument = self.argument(Type::Float8);
                let bound = argument.bound * ROWS;
                if argument.is_exact && bound < 1e13 {
                    let name = self.random.word(&["sum", "avg"]);
                    return self.over(name, argument, Type::Float8).bound(bound).exact(false);
                }
                self.over("max", argument, Type::Float8)
            }
            _ => self.extreme(data_type),
        }
    }

    fn extreme(&mut self, data_type: Type) -> Expr {
        let argument = self.argument(data_type);
        let (bound, exact) = (argument.bound, argument.is_exact);
        let name = self.random.word(&["min", "max"]);
        self.over(name, argument, data_type).bound(bound).exact(exact)
    }

    /// count(*), count(x), count(DISTINCT x).
    fn count(&mut self) -> Expr {
        let made = match self.random.below(4) {
            0 | 1 => Expr::new(Type::Int8, parts!["count(*)"]),
            2 => {
                let of = self.type_in_sight();
                let argument = self.argument(of);
                Expr::new(Type::Int8, parts!["count(", argument, ")"])
            }
            _ => {
                let of = self.ordered_type();
                let argument = self.argument(of);
                Expr::new(Type::Int8, parts!["count(DISTINCT ", argument, ")"])
            }
        };
        self.filtered(made.bound(ROWS))
    }

    fn over(&mut self, name: &'static str, argument: Expr, data_type: Type) -> Expr {
        let distinct = if self.random.chance(20) && !name.starts_with("bit") { "DISTINCT " } else { "" };
        self.filtered(Expr::new(data_type, parts![name, "(", distinct, argument, ")"]))
    }

    fn filtered(&mut self, made: Expr) -> Expr {
        if self.random.chance(80) {
            return made;
        }
        let condition = self.condition(1);
        let mut made = made;
        let parts = std::mem::take(&mut made.node.parts);
        let inner: Vec<Part> = parts![Node::plain(parts), Node::optional(parts![" FILTER (WHERE ", condition, ")"])];
        made.node.parts = inner;
        made
    }

    /// What an aggregate is taken of.
    fn argument(&mut self, data_type: Type) -> Expr {
        if self.random.chance(75)
            && let Some(leaf) = self.in_sight(data_type)
        {
            return leaf;
        }
        self.value(data_type, 1)
    }
}

impl Expr {
    pub(super) fn cast_to(self, data_type: Type) -> Expr {
        let bound = self.bound;
        Expr::new(data_type, parts!["(", self, ")::", data_type.name()]).bound(bound)
    }
}
