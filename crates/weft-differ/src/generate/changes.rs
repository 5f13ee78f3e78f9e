//! Statements that change rows, and queries of a few rows by key or index.

use crate::parts;
use crate::tables::Column;
use crate::tree::{Node, Part, Role};
use crate::types::Type;

use super::Generator;
use super::frames::{Expr, Frame};
use super::queries::separated;

impl Generator<'_> {
    /// INSERT, UPDATE or DELETE.
    pub(super) fn change(&mut self) -> Node {
        self.selects_left = 2;
        match self.random.below(10) {
            0..=3 => self.insert(),
            4..=7 => self.update(),
            _ => self.delete(),
        }
    }

    /// A table whose columns are named without an alias.
    fn target(&mut self) -> (usize, Frame) {
        let place = self.random.below(self.tables.len());
        let table = &self.tables[place];
        let name =
            |column: &Column| Expr::column(column.data_type, format!("{}.{}", table.name, column.name), column.bound);
        (place, Frame { leaves: table.columns.iter().map(name).collect(), unique: None })
    }

    fn update(&mut self) -> Node {
        let (place, frame) = self.target();
        self.frames.push(frame);
        let mut sets = Vec::new();
        for column in &self.tables[place].columns[1..] {
            if self.random.chance(30) {
                sets.push(self.set(column));
            }
        }
        if sets.is_empty() {
            let column = &self.tables[place].columns[1];
            sets.push(self.set(column));
        }
        let filter = self.few_rows();
        let returning = self.returning();
        self.frames.pop();
        let head = format!("UPDATE {} SET ", self.tables[place].name);
        Node::plain(parts![head, Node::list(sets), filter, returning])
    }

    fn set(&mut self, column: &Column) -> Node {
        let value = self.stored(column);
        Node::plain(parts![format!("{} = ", column.name), value])
    }

    /// A value that fits the column.
    fn stored(&mut self, column: &Column) -> Node {
        let value = if self.random.chance(40) { self.value(column.data_type, 2) } else { self.leaf(column.data_type) };
        let value = if column.data_type.is_number() && value.bound > column.bound.max(1000.0) {
            self.constant(column.data_type, true)
        } else {
            value
        };
        if column.declared.starts_with("varchar") {
            return Node::plain(parts!["left(", value, ", 60)"]);
        }
        value.node
    }

    fn delete(&mut self) -> Node {
        let (place, frame) = self.target();
        self.frames.push(frame);
        let filter = self.few_rows();
        let returning = self.returning();
        self.frames.pop();
        Node::plain(parts![format!("DELETE FROM {}", self.tables[place].name), filter, returning])
    }

    /// WHERE by key, by another column, or by anything.
    fn few_rows(&mut self) -> Node {
        let condition = match self.random.below(4) {
            0 | 1 => self.by_key(),
            _ => self.condition(2),
        };
        Node::optional(parts![" WHERE ", condition])
    }

    fn by_key(&mut self) -> Expr {
        let Some(id) = self.frames.last().map(|frame| frame.leaves[0].clone()) else { unreachable!("a frame is open") };
        let text = self.random.below(9).to_string();
        let key = self.constant_of(Type::Int4, text, false);
        Expr::new(Type::Bool, parts!["(", id, " = ", key, ")"])
    }

    fn returning(&mut self) -> Node {
        if self.random.chance(50) {
            return Node::nothing();
        }
        let subqueries = std::mem::replace(&mut self.subqueries, false);
        let items: Vec<Node> = self.types(3).into_iter().map(|data_type| self.value(data_type, 1).node).collect();
        self.subqueries = subqueries;
        Node::optional(parts![" RETURNING ", Node::list(items)])
    }

    fn insert(&mut self) -> Node {
        let (place, frame) = self.target();
        let table = &self.tables[place];
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let head = format!("INSERT INTO {} ({}) ", table.name, names.join(", "));
        let rows: Vec<Node> = (0..self.random.between(1, 3)).map(|row| self.inserted(place, row)).collect();
        let rows = Node::list(rows);
        let conflict = if table.is_keyed && self.random.chance(70) { self.conflict(place) } else { Node::nothing() };
        self.frames.push(frame);
        let returning = self.returning();
        self.frames.pop();
        Node::plain(parts![head, "VALUES ", rows, conflict, returning])
    }

    fn inserted(&mut self, place: usize, row: usize) -> Node {
        let mut values = Vec::new();
        for (at, column) in self.tables[place].columns.iter().enumerate() {
            let value = if at == 0 {
                let key = self.random.below(4) + 4 * row;
                self.constant_of(Type::Int4, key.to_string(), false).node
            } else {
                match column.value(&mut self.random, false) {
                    Some(text) => {
                        let typed = self.random.chance(50);
                        self.constant_of(column.data_type, text, typed).node
                    }
                    None => Node::plain(parts!["NULL"]),
                }
            };
            values.push(value);
        }
        Node::plain(parts!["(", Node::plain(separated(values)), ")"])
    }

    fn conflict(&mut self, place: usize) -> Node {
        if self.random.chance(35) {
            return Node::optional(parts![" ON CONFLICT (id) DO NOTHING"]);
        }
        let table = &self.tables[place];
        let at = self.random.between(1, table.columns.len() - 1);
        let column = &table.columns[at];
        let (name, column_name) = (&table.name, &column.name);
        let mut parts: Vec<Part> = parts![format!(" ON CONFLICT (id) DO UPDATE SET {column_name} = ")];
        match self.random.below(3) {
            0 => parts.push(format!("EXCLUDED.{column_name}").into()),
            1 => parts.push(format!("coalesce(EXCLUDED.{column_name}, {name}.{column_name})").into()),
            _ => parts.push(format!("coalesce({name}.{column_name}, EXCLUDED.{column_name})").into()),
        }
        if self.random.chance(30) {
            parts.push(format!(" WHERE {name}.id < EXCLUDED.id + 2").into());
        }
        Node::optional(parts)
    }

    /// A query of a few rows: the point engine answers most of these.
    pub(super) fn point(&mut self) -> Node {
        let place = self.random.below(self.tables.len());
        let table = &self.tables[place];
        let leaves: Vec<Expr> =
            table.columns.iter().map(|c| Expr::column(c.data_type, c.name.clone(), c.bound)).collect();
        self.frames.push(Frame { leaves: leaves.clone(), unique: None });
        self.subqueries = false;
        let types = self.types(4);
        let items: Vec<Node> = types.iter().map(|data_type| self.value(*data_type, 2).node).collect();
        let condition = match self.random.below(5) {
            0 | 1 => self.by_key(),
            2 if !table.indexed.is_empty() => {
                let leaf = &leaves[*self.random.pick(&table.indexed)];
                let key = self.constant(leaf.data_type, false);
                let operator = self.random.word(&[" = ", " = ", " < ", " >= "]);
                Expr::new(Type::Bool, parts!["(", leaf.clone(), operator, key, ")"])
            }
            3 => {
                let (low, high) = (self.random.below(6), self.random.below(9));
                Expr::new(Type::Bool, parts![format!("(id BETWEEN {low} AND {high})")])
            }
            _ => {
                let (a, b) = (self.random.below(6), self.random.below(9));
                Expr::new(Type::Bool, parts![format!("(id IN ({a}, {b}))")])
            }
        };
        let more = if self.random.chance(30) {
            let condition = self.condition(1);
            Node::optional(parts![" AND ", condition])
        } else {
            Node::nothing()
        };
        self.frames.pop();
        let order = if self.random.chance(40) {
            let order = format!(" ORDER BY id{}", self.direction());
            let limit = if self.random.chance(50) {
                Node::optional(parts![format!(" LIMIT {}", self.random.below(4))])
            } else {
                Node::nothing()
            };
            Node::new(Role::Order, parts![order, limit])
        } else {
            Node::nothing()
        };
        let head = format!(" FROM {} WHERE ", table.name);
        Node::new(Role::Query(types), parts!["SELECT ", Node::list(items), head, condition, more, order])
    }
}
