//! Queries: SELECT, set operations, VALUES, WITH.

use crate::parts;
use crate::tree::{Node, Part, Role};
use crate::types::Type;

use super::Generator;
use super::frames::Known;

impl Generator<'_> {
    /// A query with columns of these types.
    pub(super) fn query(&mut self, types: &[Type], depth: usize, top: bool) -> Node {
        if depth == 0 || self.selects_left == 0 {
            return if self.random.chance(10) { self.rows_of_values(types) } else { self.select(types, 0, top) };
        }
        match self.random.below(100) {
            0..=13 => self.set_operation(types, depth, top),
            14..=16 => self.rows_of_values(types),
            17..=26 if top || self.random.chance(30) => self.with(types, depth, top),
            _ => self.select(types, depth, top),
        }
    }

    /// VALUES.
    pub(super) fn rows_of_values(&mut self, types: &[Type]) -> Node {
        let rows: Vec<Node> = (0..self.random.between(1, 3))
            .map(|place| {
                let values = types.iter().map(|data_type| {
                    let typed = place == 0 || self.random.chance(50);
                    if self.random.chance(15) {
                        return if typed { self.null(*data_type).node } else { Node::plain(parts!["NULL"]) };
                    }
                    let mut node = self.constant(*data_type, typed).node;
                    // As a parameter it would have the type of the other rows, as a constant it has one of its own.
                    if let Role::Constant { typed: false, open, .. } = &mut node.role {
                        *open = false;
                    }
                    node
                });
                let values: Vec<Node> = values.collect();
                Node::plain(parts!["(", Node::new(Role::Plain, separated(values)), ")"])
            })
            .collect();
        Node::new(Role::Query(types.to_vec()), parts!["VALUES ", Node::list(rows)])
    }

    fn set_operation(&mut self, types: &[Type], depth: usize, top: bool) -> Node {
        let (left, right) = (self.query(types, depth - 1, false), self.query(types, depth - 1, false));
        let word = self.random.word(&[
            ") UNION ALL (",
            ") UNION (",
            ") INTERSECT (",
            ") EXCEPT (",
            ") UNION ALL (",
            ") INTERSECT ALL (",
            ") EXCEPT ALL (",
        ]);
        let is_ordered = types.iter().all(|data_type| data_type.is_ordered());
        let order =
            if is_ordered && self.random.chance(30) { self.positions(types.len(), top) } else { Node::nothing() };
        Node::new(Role::Query(types.to_vec()), parts!["(", left, word, right, ")", order])
    }

    /// Columns of a set operation have the names of its left side: positions only.
    fn positions(&mut self, columns: usize, top: bool) -> Node {
        loop {
            let order = self.order_by(columns, top);
            if !matches!(&order.parts[0], Part::Text(text) if text.contains(" c")) {
                return order;
            }
        }
    }

    fn with(&mut self, types: &[Type], depth: usize, top: bool) -> Node {
        let before = self.known.len();
        let mut items = Vec::new();
        let recursive = self.random.chance(25);
        for place in 0..self.random.between(1, 2) {
            let name = self.alias("w");
            let (node, columns) = if recursive && place == 0 {
                self.recursive()
            } else {
                let types = self.types(3);
                let frames = std::mem::take(&mut self.frames);
                let query = self.query(&types, depth - 1, false);
                self.frames = frames;
                (
                    query,
                    types.iter().enumerate().map(|(at, t)| (format!("c{at}"), *t, t.magnitude_max() * 10.0)).collect(),
                )
            };
            let names: Vec<&str> = columns.iter().map(|(name, _, _): &(String, Type, f64)| name.as_str()).collect();
            let kind = self.random.word(&[" AS (", " AS (", " AS MATERIALIZED (", " AS NOT MATERIALIZED ("]);
            items.push(Node::plain(parts![format!("{name} ({})", names.join(", ")), kind, node, ")"]));
            self.known.push(Known { name, columns });
        }
        let query = self.select(types, depth, top);
        self.known.truncate(before);
        let word = if recursive { "WITH RECURSIVE " } else { "WITH " };
        let is_ordered = query.is_ordered();
        let mut parts: Vec<Part> = parts![word, Node::list(items), " "];
        if is_ordered {
            // The order of the SELECT is that of the whole.
            parts.extend(query.parts);
        } else {
            parts.push(query.into());
        }
        Node::new(Role::Query(types.to_vec()), parts)
    }

    /// A recursion that ends.
    fn recursive(&mut self) -> (Node, Vec<(String, Type, f64)>) {
        let name = format!("w{}", self.aliases);
        let most = self.random.between(1, 5);
        let union = self.random.word(&[" UNION ALL ", " UNION "]);
        let columns = vec![("c0".to_owned(), Type::Int4, 1000.0), ("c1".to_owned(), Type::Text, 0.0)];
        let place = self.random.below(self.tables.len());
        let table = self.tables[place].name.clone();
        let text = match self.random.below(3) {
            0 => format!("SELECT 1, 'a'::text{union}SELECT c0 + 1, c1 || 'b' FROM {name} WHERE c0 < {most}"),
            1 => format!(
                "SELECT id, t::text FROM {table} WHERE id < 2{union}SELECT r.id, r.t::text FROM {name} AS l \
                 JOIN {table} AS r ON r.id = l.c0 + 1 WHERE l.c0 < {most}"
            ),
            _ => format!("SELECT 0, NULL::text{union}SELECT (c0 + 2) % 5, c1 FROM {name} WHERE c0 < {}", most.min(3)),
        };
        // The last adds rows for ever unless equal ones are one.
        let text = if text.contains("% 5") { text.replace(" UNION ALL ", " UNION ") } else { text };
        (Node::plain(parts![text]), columns)
    }
}

/// Nodes with commas between them that stay.
pub(super) fn separated(nodes: Vec<Node>) -> Vec<Part> {
    let mut parts = Vec::new();
    for (place, node) in nodes.into_iter().enumerate() {
        parts.extend(parts![if place == 0 { "" } else { ", " }, node]);
    }
    parts
}
