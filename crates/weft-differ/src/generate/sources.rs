//! FROM: tables, queries, functions, joins of every kind, LATERAL.

use crate::parts;
use crate::tree::{Node, Role};
use crate::types::Type;

use super::Generator;
use super::frames::{Expr, Frame};

impl Generator<'_> {
    /// FROM, and what it brings in sight.
    pub(super) fn source(&mut self, depth: usize) -> (Node, Frame) {
        if depth == 0 || self.random.chance(40) {
            // Alone it needs no name of its own; a query around it may have the same table.
            if self.random.chance(15) {
                let place = self.any_table();
                let name = self.tables[place].name.clone();
                return self.table_as(place, &name);
            }
            return self.relation(depth);
        }
        match self.random.below(10) {
            // Alone: its columns without a qualifier would be ambiguous beside other tables.
            0 => self.same_names(),
            1 | 2 if self.selects_left > 0 => self.lateral(depth),
            3 => self.comma(depth),
            _ => self.join(depth),
        }
    }

    /// What may stand on a side of JOIN.
    fn operand(&mut self, depth: usize) -> (Node, Frame) {
        if depth == 0 || self.random.chance(60) { self.relation(depth) } else { self.join(depth) }
    }

    fn relation(&mut self, depth: usize) -> (Node, Frame) {
        match self.random.below(20) {
            0..=2 if depth > 0 && self.selects_left > 0 => self.derived(depth - 1, ""),
            3 if !self.known.is_empty() => self.of_with(),
            4 if !self.known.is_empty() => self.of_with(),
            5 => self.series(),
            6 => self.listed(),
            _ => self.table(),
        }
    }

    /// A table.
    pub(super) fn table(&mut self) -> (Node, Frame) {
        let place = self.any_table();
        let alias = self.alias("a");
        self.table_as(place, &alias)
    }

    /// A table; a large one at most twice, so that products of them stay small.
    fn any_table(&mut self) -> usize {
        let place = self.random.below(self.tables.len());
        if self.tables[place].rows.len() <= 8 {
            return place;
        }
        self.large_left = self.large_left.saturating_sub(1);
        if self.large_left > 0 {
            return place;
        }
        (0..self.tables.len()).find(|&other| self.tables[other].rows.len() <= 8).unwrap_or(place)
    }

    fn table_as(&mut self, place: usize, alias: &str) -> (Node, Frame) {
        let table = &self.tables[place];
        let column = |column: &crate::tables::Column| {
            Expr::column(column.data_type, format!("{alias}.{}", column.name), column.bound)
        };
        let leaves: Vec<Expr> = table.columns.iter().map(column).collect();
        // The rows of a table that was made without a key have their numbers, too.
        let unique = Some(vec![leaves[0].clone()]);
        let text = if table.name == alias { alias.to_owned() } else { format!("{} AS {alias}", table.name) };
        let node = Node::new(Role::Source, parts![text]);
        (node, Frame { leaves, unique })
    }

    /// A query in parentheses.
    fn derived(&mut self, depth: usize, lateral: &'static str) -> (Node, Frame) {
        let types = self.types(3);
        // What is in sight around it is not inside, unless it is LATERAL.
        let hidden = if lateral.is_empty() { self.frames.pop() } else { None };
        let frames = if lateral.is_empty() { std::mem::take(&mut self.frames) } else { Vec::new() };
        let query = self.query(&types, depth, false);
        if lateral.is_empty() {
            self.frames = frames;
            self.frames.extend(hidden);
        }
        let alias = self.alias("q");
        let names: Vec<String> = (0..types.len()).map(|place| format!("c{place}")).collect();
        let leaves = names.iter().zip(&types).map(|(name, data_type)| {
            let bound = data_type.magnitude_max() * 10.0;
            Expr::column(*data_type, format!("{alias}.{name}"), bound).exact(false)
        });
        let leaves = leaves.collect();
        let end = format!(") AS {alias} ({})", names.join(", "));
        (Node::new(Role::Source, parts![lateral, "(", query, end]), Frame { leaves, unique: None })
    }

    fn of_with(&mut self) -> (Node, Frame) {
        let known = self.random.pick(&self.known).clone();
        let alias = self.alias("w");
        let leaves = known
            .columns
            .iter()
            .map(|(name, data_type, bound)| Expr::column(*data_type, format!("{alias}.{name}"), *bound).exact(false));
        let leaves = leaves.collect();
        (Node::new(Role::Source, parts![format!("{} AS {alias}", known.name)]), Frame { leaves, unique: None })
    }

    fn series(&mut self) -> (Node, Frame) {
        let alias = self.alias("g");
        let (low, high) = (self.random.between(0, 2), self.random.between(1, 5));
        let leaf = Expr::column(Type::Int4, format!("{alias}.x"), 10.0);
        let text = format!("generate_series({low}, {high}) AS {alias}(x)");
        (Node::new(Role::Source, parts![text]), Frame { unique: Some(vec![leaf.clone()]), leaves: vec![leaf] })
    }

    /// VALUES as an item of FROM.
    fn listed(&mut self) -> (Node, Frame) {
        let types = self.types(2);
        let alias = self.alias("v");
        let names: Vec<String> = (0..types.len()).map(|place| format!("c{place}")).collect();
        let query = self.rows_of_values(&types);
        let leaves = names
            .iter()
            .zip(&types)
            .map(|(name, data_type)| Expr::column(*data_type, format!("{alias}.{name}"), 100.0));
        let leaves = leaves.collect();
        let end = format!(") AS {alias} ({})", names.join(", "));
        (Node::new(Role::Source, parts!["(", query, end]), Frame { leaves, unique: None })
    }

    fn comma(&mut self, depth: usize) -> (Node, Frame) {
        let (left, left_frame) = self.operand(depth - 1);
        let (right, right_frame) = self.relation(depth - 1);
        (Node::new(Role::Source, parts![left, ", ", right]), both(left_frame, right_frame))
    }

    /// A join with ON, or CROSS JOIN.
    fn join(&mut self, depth: usize) -> (Node, Frame) {
        let (left, left_frame) = self.operand(depth - 1);
        let (right, right_frame) = self.operand(depth.saturating_sub(2));
        let frame = both(left_frame.clone(), right_frame.clone());
        if self.random.chance(8) {
            return (Node::new(Role::Source, parts!["(", left, " CROSS JOIN ", right, ")"]), frame);
        }
        let kind = self.random.word(&[" JOIN ", " JOIN ", " LEFT JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN "]);
        let condition = self.join_condition(&left_frame, &right_frame, kind == " FULL JOIN ", depth);
        (Node::new(Role::Source, parts!["(", left, kind, right, " ON ", condition, ")"]), frame)
    }

    /// PostgreSQL's FULL JOIN takes equalities only.
    fn join_condition(&mut self, left: &Frame, right: &Frame, full: bool, depth: usize) -> Expr {
        let pairs: Vec<(&Expr, &Expr)> = left
            .leaves
            .iter()
            .flat_map(|l| right.leaves.iter().map(move |r| (l, r)))
            .filter(|(l, r)| l.data_type == r.data_type && l.data_type.is_ordered())
            .collect();
        let equality = if pairs.is_empty() {
            None
        } else {
            let (l, r) = *self.random.pick(&pairs);
            Some(Expr::new(Type::Bool, parts!["(", l.clone(), " = ", r.clone(), ")"]))
        };
        if full {
            return equality.unwrap_or_else(|| Expr::new(Type::Bool, parts!["true"]));
        }
        if self.random.chance(55)
            && let Some(equality) = equality
        {
            if self.random.chance(30) {
                self.frames.push(both(left.clone(), right.clone()));
                let more = self.condition(depth.min(2));
                self.frames.pop();
                return Expr::new(Type::Bool, parts!["(", equality, " AND ", more, ")"]);
            }
            return equality;
        }
        self.frames.push(both(left.clone(), right.clone()));
        let condition = self.condition(depth.min(2));
        self.frames.pop();
        condition
    }

    /// USING and NATURAL of two tables: columns of the same name are one.
    fn same_names(&mut self) -> (Node, Frame) {
        let places = (self.any_table(), self.any_table());
        let aliases = (self.alias("a"), self.alias("a"));
        let (left, left_frame) = self.table_as(places.0, &aliases.0);
        let (right, right_frame) = self.table_as(places.1, &aliases.1);
        let kind = self.random.word(&[" JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN "]);
        let names =
            |place: usize| self.tables[place].columns.iter().map(|column| (column.name.clone(), column.data_type));
        let shared: Vec<(String, Type)> =
            names(places.0).filter(|(name, _)| names(places.1).any(|(other, _)| other == *name)).collect();
        let natural = self.random.chance(30);
        let used: Vec<(String, Type)> = if natural {
            shared
        } else {
            let mut used = shared;
            used.retain(|(_, data_type)| *data_type != Type::Jsonb && self.random.chance(35));
            if used.is_empty() {
                used.push(("id".into(), Type::Int4));
            }
            used
        };
        let names: Vec<&str> = used.iter().map(|(name, _)| name.as_str()).collect();
        let end = if natural { String::new() } else { format!(" USING ({})", names.join(", ")) };
        let kind = if natural { format!(" NATURAL{kind}") } else { kind.to_owned() };
        let mut frame = both(left_frame, right_frame);
        let full_bound = |name: &str| {
            let bounds = frame.leaves.iter().filter(|leaf| leaf.node.sql().ends_with(&format!(".{name}")));
            bounds.map(|leaf| leaf.bound).fold(0.0, f64::max)
        };
        let merged: Vec<Expr> =
            used.iter().map(|(name, data_type)| Expr::column(*data_type, name.clone(), full_bound(name))).collect();
        frame.leaves.extend(merged);
        (Node::new(Role::Source, parts![left, kind, right, end]), frame)
    }

    /// A query that sees what is on its left.
    fn lateral(&mut self, depth: usize) -> (Node, Frame) {
        let (left, left_frame) = self.operand(depth - 1);
        self.frames.push(left_frame.clone());
        let (right, right_frame) = self.derived(depth - 1, "LATERAL ");
        self.frames.pop();
        let (word, end) = match self.random.below(3) {
            0 => (", ", ""),
            1 => (" CROSS JOIN ", ""),
            _ => (" LEFT JOIN ", " ON true"),
        };
        (Node::new(Role::Source, parts![left, word, right, end]), both(left_frame, right_frame))
    }
}

/// What two items of FROM bring in sight.
pub(super) fn both(mut left: Frame, right: Frame) -> Frame {
    left.leaves.extend(right.leaves);
    left.unique = left.unique.zip(right.unique).map(|(mut left, right)| {
        left.extend(right);
        left
    });
    left
}
