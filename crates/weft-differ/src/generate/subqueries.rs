//! Subqueries in expressions. They see the frames around them, so that some are correlated.

use crate::parts;
use crate::tree::{Node, Part, Role};
use crate::types::Type;

use super::Generator;
use super::frames::{Expr, Frame};

impl Generator<'_> {
    /// `(SELECT ...)` of at most one row.
    pub(super) fn scalar_subquery(&mut self, data_type: Type, depth: usize) -> Expr {
        let query = match self.random.below(10) {
            0..=4 => self.one_row(data_type, depth),
            5..=7 if data_type.is_ordered() => self.first_row(data_type, depth),
            _ => self.without_from(data_type, depth),
        };
        let bound = data_type.magnitude_max() * 10.0;
        Expr::new(data_type, parts!["(", query, ")"]).bound(bound).exact(false)
    }

    /// An aggregate without GROUP BY: one row always.
    fn one_row(&mut self, data_type: Type, depth: usize) -> Node {
        self.enter_select();
        let (source, frame) = self.source(depth.min(2));
        self.frames.push(frame);
        let filter = self.filter(depth.min(2));
        let aggregate = self.aggregate(data_type);
        let having = if self.random.chance(10) {
            let condition = self.aggregate(Type::Bool);
            Node::optional(parts![" HAVING ", condition])
        } else {
            Node::nothing()
        };
        self.frames.pop();
        let parts = parts!["SELECT ", aggregate, " FROM ", source, filter, having];
        Node::new(Role::Query(vec![data_type]), parts)
    }

    /// The first row of a total order.
    fn first_row(&mut self, data_type: Type, depth: usize) -> Node {
        self.enter_select();
        let (source, frame) = self.source(depth.min(2));
        self.frames.push(frame);
        let filter = self.filter(depth.min(2));
        let value = self.value(data_type, depth.min(2) - 1);
        let value = if value.is_constant() { self.leaf(data_type) } else { value };
        self.frames.pop();
        let (direction, offset) = (self.direction(), if self.random.chance(20) { " OFFSET 1" } else { "" });
        let order = format!(" ORDER BY 1{direction} LIMIT 1{offset}");
        Node::new(Role::Query(vec![data_type]), parts!["SELECT ", value, " FROM ", source, filter, order])
    }

    /// A value without rows, which may be there or not.
    fn without_from(&mut self, data_type: Type, depth: usize) -> Node {
        self.enter_select();
        let mut leaves = self.frames.last().map(|frame| frame.leaves.clone()).unwrap_or_default();
        leaves.retain(Expr::is_qualified);
        self.frames.push(Frame { leaves, unique: None });
        let value = self.value(data_type, depth - 1);
        let filter = if self.random.chance(50) {
            let condition = self.condition(depth - 1);
            Node::optional(parts![" WHERE ", condition])
        } else {
            Node::nothing()
        };
        self.frames.pop();
        Node::new(Role::Query(vec![data_type]), parts!["SELECT ", value, filter])
    }

    /// `ARRAY(SELECT ...)` in a total order.
    pub(super) fn array_subquery(&mut self, data_type: Type) -> Expr {
        let element = if data_type == Type::Int4Array { Type::Int4 } else { Type::Text };
        self.enter_select();
        let (source, frame) = self.source(1);
        self.frames.push(frame);
        let filter = self.filter(1);
        let value = self.leaf(element);
        self.frames.pop();
        let direction = self.direction();
        let query: Vec<Part> = parts!["ARRAY(SELECT ", value, " FROM ", source, filter, " ORDER BY 1", direction, ")"];
        Expr::new(data_type, query)
    }

    /// EXISTS, IN, ANY, ALL, and IN of rows.
    pub(super) fn condition_subquery(&mut self, depth: usize) -> Expr {
        let inner = (depth - 1).min(2);
        let parts = match self.random.below(10) {
            0..=2 => {
                let types = self.types(2);
                let word = self.random.word(&["EXISTS (", "NOT EXISTS ("]);
                parts!["(", word, self.query(&types, inner, false), "))"]
            }
            3..=6 => {
                let data_type = self.ordered_type();
                let value = self.value(data_type, depth - 1);
                let word = self.random.word(&[" IN (", " NOT IN ("]);
                parts!["(", value, word, self.query(&[data_type], inner, false), "))"]
            }
            7 => {
                let types = [self.ordered_type(), self.ordered_type()];
                let (a, b) = (self.leaf(types[0]), self.leaf(types[1]));
                let word = self.random.word(&[") IN (", ") NOT IN ("]);
                parts!["((", a, ", ", b, word, self.query(&types, inner, false), "))"]
            }
            _ => {
                let data_type = self.ordered_type();
                let value = self.value(data_type, depth - 1);
                let operator = self.random.word(&[" = ", " <> ", " < ", " >= ", " > "]);
                let word = self.random.word(&["ANY (", "ALL (", "SOME ("]);
                parts!["(", value, operator, word, self.query(&[data_type], inner, false), "))"]
            }
        };
        Expr::new(Type::Bool, parts)
    }

    /// Another SELECT of the statement.
    pub(super) fn enter_select(&mut self) {
        self.selects_left = self.selects_left.saturating_sub(1);
    }

    /// How a column is ordered.
    pub(super) fn direction(&mut self) -> &'static str {
        self.random.word(&["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST", " ASC NULLS LAST"])
    }
}
