//! Rows of a relation under the making.
//!
//! ```text
//!   rows.add([("oid", 16387), ("relname", customers)])     16387|customers|0|...
//! ```
//!
//! A maker of rows names the columns that it knows; the others have the zero of their type: NULL for text, `f`, 0, "".

use crate::declared::Relation;
use crate::snapshot::Snapshot;
use crate::value::{Datum, Row, Type};
use crate::wanted::{Scope, Wanted};

/// Rows under the making: by the names of columns.
pub(crate) struct Rows<'w> {
    relation: &'static Relation,
    wanted: &'w Wanted,
    /// What is looked at.
    pub(crate) scope: Scope,
    pub(crate) rows: Vec<Row>,
    /// How many rows were made, those that are not asked for among them.
    pub(crate) made: usize,
}

impl<'w> Rows<'w> {
    /// No rows of a relation yet, of which some are asked for.
    pub(crate) fn of(relation: &'static Relation, wanted: &'w Wanted, snapshot: &Snapshot) -> Rows<'w> {
        let scope = Scope::of(relation.name, wanted, snapshot);
        Rows { relation, wanted, scope, rows: Vec::new(), made: 0 }
    }

    /// The place of a column.
    fn column(&self, name: &str) -> Option<usize> {
        self.relation.columns.iter().position(|(known, _)| *known == name)
    }

    /// Adds a row; columns that are not named have the zero of their type.
    pub(crate) fn add<const N: usize>(&mut self, values: [(&str, Datum); N]) {
        let mut row = self.zeros();
        for (name, value) in values {
            let place = self.column(name).unwrap_or_else(|| panic!("{} has no column {name}", self.relation.name));
            row[place] = value;
        }
        self.put(row);
    }

    /// The same; columns that the relation does not have are left out.
    pub(crate) fn add_known<const N: usize>(&mut self, values: [(&str, Datum); N]) {
        let mut row = self.zeros();
        for (name, value) in values {
            if let Some(place) = self.column(name) {
                row[place] = value;
            }
        }
        self.put(row);
    }

    fn zeros(&self) -> Row {
        let zero = |(_, data_type): &(&str, Type)| match data_type {
            Type::Bool => Datum::Bool(false),
            Type::Int2 | Type::Int4 | Type::Int8 | Type::Oid => Datum::Int(0),
            Type::Float4 | Type::Float8 | Type::Numeric => Datum::Float(0.0),
            Type::Char => Datum::text(""),
            _ => Datum::Null,
        };
        self.relation.columns.iter().map(zero).collect()
    }

    fn put(&mut self, row: Row) {
        self.made += 1;
        if self.wanted.holds(self.relation, &row) {
            self.rows.push(row);
        }
    }
}
