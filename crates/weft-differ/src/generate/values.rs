//! Expressions of a type: what every type has. The operators of each are in the modules beside it.

use crate::parts;
use crate::tree::Part;
use crate::types::Type;

use super::Generator;
use super::frames::Expr;

impl Generator<'_> {
    /// An expression of a type.
    pub(super) fn value(&mut self, data_type: Type, depth: usize) -> Expr {
        if depth == 0 || self.random.chance(25) {
            return self.leaf(data_type);
        }
        if self.may_fail {
            return self.operator(data_type, depth);
        }
        match self.random.below(100) {
            0..=6 => self.case(data_type, depth),
            7..=12 => self.coalesce(data_type, depth),
            13..=15 => self.nullif(data_type, depth),
            16..=18 if data_type.is_ordered() => self.greatest(data_type, depth),
            19..=27 if self.subqueries && self.selects_left > 0 => self.scalar_subquery(data_type, depth),
            28..=33 => self.cast(data_type, depth),
            34..=40 => self.leaf(data_type),
            _ => self.operator(data_type, depth),
        }
    }

    fn operator(&mut self, data_type: Type, depth: usize) -> Expr {
        match data_type {
            Type::Bool => self.condition(depth),
            Type::Int2 | Type::Int4 | Type::Int8 => self.integer(data_type, depth),
            Type::Numeric => self.numeric(depth),
            Type::Float8 => self.float(depth),
            Type::Text => self.text(depth),
            Type::Date => self.date(depth),
            Type::Timestamp => self.timestamp(depth),
            Type::Timestamptz => self.timestamptz(depth),
            Type::Interval => self.interval(depth),
            Type::Jsonb => self.jsonb(depth),
            Type::Int4Array | Type::TextArray => self.array(data_type, depth),
            Type::Uuid | Type::Bytea => self.leaf(data_type),
        }
    }

    fn case(&mut self, data_type: Type, depth: usize) -> Expr {
        let count = self.random.between(1, 2);
        let mut parts: Vec<Part> = parts!["CASE"];
        let (mut bound, mut exact) = (0f64, true);
        let simple = self.random.chance(25);
        let subject = self.type_in_sight();
        let simple = simple && subject.is_ordered();
        if simple {
            parts.extend(parts![" ", self.value(subject, depth - 1)]);
        }
        for _ in 0..count {
            let when = if simple { self.leaf(subject) } else { self.value(Type::Bool, depth - 1) };
            let then = self.value(data_type, depth - 1);
            (bound, exact) = (bound.max(then.bound), exact && then.is_exact);
            parts.extend(parts![" WHEN ", when, " THEN ", then]);
        }
        if self.random.chance(70) {
            let otherwise = self.value(data_type, depth - 1);
            (bound, exact) = (bound.max(otherwise.bound), exact && otherwise.is_exact);
            parts.extend(parts![" ELSE ", otherwise]);
        }
        parts.push(" END".into());
        Expr::new(data_type, parts).bound(bound).exact(exact)
    }

    fn coalesce(&mut self, data_type: Type, depth: usize) -> Expr {
        self.variadic("coalesce", data_type, depth)
    }

    fn greatest(&mut self, data_type: Type, depth: usize) -> Expr {
        let name = self.random.word(&["greatest", "least"]);
        self.variadic(name, data_type, depth)
    }

    fn variadic(&mut self, name: &'static str, data_type: Type, depth: usize) -> Expr {
        let (left, right) = (self.value(data_type, depth - 1), self.value(data_type, depth - 1));
        let (bound, exact) = (left.bound.max(right.bound), left.is_exact && right.is_exact);
        Expr::new(data_type, parts![name, "(", left, ", ", right, ")"]).bound(bound).exact(exact)
    }

    fn nullif(&mut self, data_type: Type, depth: usize) -> Expr {
        let (left, right) = (self.value(data_type, depth - 1), self.leaf(data_type));
        let (bound, exact) = (left.bound, left.is_exact);
        Expr::new(data_type, parts!["nullif(", left, ", ", right, ")"]).bound(bound).exact(exact)
    }

    /// A cast that cannot fail.
    fn cast(&mut self, data_type: Type, depth: usize) -> Expr {
        let from: &[Type] = match data_type {
            Type::Int2 => &[Type::Int4, Type::Int8],
            Type::Int4 => &[Type::Int2, Type::Int8, Type::Bool, Type::Numeric, Type::Float8],
            Type::Int8 => &[Type::Int2, Type::Int4, Type::Numeric, Type::Float8],
            Type::Numeric => &[Type::Int2, Type::Int4, Type::Int8],
            Type::Float8 => &[Type::Int2, Type::Int4, Type::Numeric],
            Type::Text => &[
                Type::Int4,
                Type::Int8,
                Type::Bool,
                Type::Date,
                Type::Timestamp,
                Type::Uuid,
                Type::Interval,
                Type::Float8,
                Type::Int4Array,
                Type::Jsonb,
                Type::Bytea,
                Type::TextArray,
            ],
            Type::Date => &[Type::Timestamp],
            Type::Timestamp => &[Type::Date, Type::Timestamptz],
            Type::Timestamptz => &[Type::Timestamp, Type::Date],
            _ => return self.leaf(data_type),
        };
        let from = *self.random.pick(from);
        let inner = self.value(from, depth - 1);
        if data_type.is_number() {
            let has_nan = from == Type::Float8;
            let limit = if has_nan { 1000.0 } else { data_type.magnitude_max() };
            if inner.bound > limit || (has_nan && data_type.is_integer()) {
                return self.leaf(data_type);
            }
        }
        let (bound, exact) = (inner.bound.max(1.0), inner.is_exact && from != Type::Numeric);
        let parts = if self.random.chance(50) {
            parts!["(", inner, ")::", data_type.name()]
        } else {
            parts!["CAST(", inner, " AS ", data_type.name(), ")"]
        };
        Expr::new(data_type, parts).bound(bound).exact(exact)
    }
}
