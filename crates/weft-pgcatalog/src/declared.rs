//! The catalog's relations as they are declared: their columns, and rows under the making.
//!
//! ```text
//!   data/relations.txt    1259 r pg_catalog pg_class|oid:oid relname:name ...        PostgreSQL 15's columns
//!   data/types.txt        23|int4|4|t|b|N|...                                        and its types
//! ```
//!
//! A maker of rows names the columns that it knows; the others have the zero of their type: NULL for text, `f`, 0, "".

use std::sync::LazyLock;

use crate::schemas::{INFORMATION_SCHEMA, PG_CATALOG};
use crate::value::{Datum, Row, Type};

/// A relation of the catalog.
pub(crate) struct Relation {
    pub(crate) oid: u32,
    pub(crate) is_view: bool,
    pub(crate) schema: u32,
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<(&'static str, Type)>,
    /// The names of the columns' types in `pg_type`.
    pub(crate) type_names: Vec<&'static str>,
}

static ALL: LazyLock<Vec<Relation>> =
    LazyLock::new(|| include_str!("../data/relations.txt").lines().filter_map(relation).collect());

fn relation(line: &'static str) -> Option<Relation> {
    let (head, columns) = line.split_once('|')?;
    let mut words = head.split(' ');
    let (oid, kind, schema, name) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let pairs: Vec<(&str, &str)> = columns.split(' ').filter_map(|column| column.split_once(':')).collect();
    Some(Relation {
        oid: oid.parse().ok()?,
        is_view: kind == "v",
        schema: if schema == "pg_catalog" { PG_CATALOG } else { INFORMATION_SCHEMA },
        name,
        columns: pairs.iter().map(|(name, data_type)| (*name, Type::named(data_type))).collect(),
        type_names: pairs.iter().map(|(_, data_type)| *data_type).collect(),
    })
}

/// All relations of the catalog.
pub(crate) fn all() -> &'static [Relation] {
    &ALL
}

/// The relation of a name; without a schema it is one of `pg_catalog`.
pub(crate) fn find(schema: Option<&str>, name: &str) -> Option<&'static Relation> {
    let schema = match schema {
        None | Some("pg_catalog") => PG_CATALOG,
        Some("information_schema") => INFORMATION_SCHEMA,
        Some(_) => return None,
    };
    all().iter().find(|relation| relation.schema == schema && relation.name == name)
}

/// Rows under the making: by the names of columns.
pub(crate) struct Rows {
    relation: &'static Relation,
    pub(crate) rows: Vec<Row>,
}

impl Rows {
    pub(crate) fn of(relation: &'static Relation) -> Rows {
        Rows { relation, rows: Vec::new() }
    }

    /// The place of a column.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.relation.columns.iter().position(|(known, _)| *known == name)
    }

    /// Adds a row; columns that are not named have the zero of their type.
    pub(crate) fn add<const N: usize>(&mut self, values: [(&str, Datum); N]) {
        let zero = |(_, data_type): &(&str, Type)| match data_type {
            Type::Bool => Datum::Bool(false),
            Type::Int2 | Type::Int4 | Type::Int8 | Type::Oid => Datum::Int(0),
            Type::Float4 | Type::Float8 | Type::Numeric => Datum::Float(0.0),
            Type::Char => Datum::text(""),
            _ => Datum::Null,
        };
        let mut row: Row = self.relation.columns.iter().map(zero).collect();
        for (name, value) in values {
            let place = self.column(name).unwrap_or_else(|| panic!("{} has no column {name}", self.relation.name));
            row[place] = value;
        }
        self.rows.push(row);
    }
}
