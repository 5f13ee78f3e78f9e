//! What a version of the catalog has: schemas, tables, indexes, views, sequences and comments as plain data, found by
//! number and by name.
//!
//! ```text
//!   tables  16387 customers     indexes  16390 customers_pkey of 16387      by number  16390 → index 0
//!                                                                          by name    customers → 16387 in 2200
//! ```
//!
//! 1. It holds nothing that changes without DDL ([`Figures`](crate::Figures) tell that), so that all statements of
//!    one version of the catalog share it.
//! 2. What looks for one object finds it without a walk over all of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use weft_format::DataType;

use crate::schemas::{INFORMATION_SCHEMA, PG_CATALOG};
use crate::user_functions::UserFunction;
use crate::user_types::{UserType, array_oid};

/// Places for the constraints of one table, in the numbers of constraints.
pub(crate) const CONSTRAINTS_MAX: u32 = 128;

/// The objects of a database.
#[derive(Debug, Default)]
pub struct Objects {
    /// Schemas of users: number and name; `public` is one of them.
    pub schemas: Vec<(u32, String)>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Indexes, those of primary keys among them.
    pub indexes: Vec<Index>,
    /// Views.
    pub views: Vec<View>,
    /// Sequences.
    pub sequences: Vec<Sequence>,
    /// Types that users made.
    pub types: Vec<UserType>,
    /// Functions that users made.
    pub functions: Vec<UserFunction>,
    /// Comments by what they are about: number, and column or 0.
    pub comments: BTreeMap<(u32, i64), String>,
    /// Comments on constraints, until they have numbers: table, name, text.
    pub constraint_comments: Vec<(u32, String, String)>,
    places: HashMap<u32, Place>,
    named: HashMap<String, Vec<(u32, u32)>>,
    indexes_of: HashMap<u32, Vec<usize>>,
    owned_by: HashMap<u32, Vec<usize>>,
    parents: BTreeSet<u32>,
}

/// Where the object of a number is.
#[derive(Clone, Copy, Debug)]
enum Place {
    Table(usize),
    Index(usize),
    View(usize),
    Sequence(usize),
}

impl Objects {
    /// The objects, to be found by number and by name from now on.
    pub fn indexed(mut self) -> Arc<Objects> {
        self.places.clear();
        self.named.clear();
        let tables = self.tables.iter().enumerate().map(|(at, t)| (t.oid, t.schema, &t.name, Place::Table(at)));
        let indexes = self.indexes.iter().enumerate().map(|(at, t)| (t.oid, t.schema, &t.name, Place::Index(at)));
        let views = self.views.iter().enumerate().map(|(at, t)| (t.oid, t.schema, &t.name, Place::View(at)));
        let sequences = self.sequences.iter().enumerate();
        let sequences = sequences.map(|(at, t)| (t.oid, t.schema, &t.name, Place::Sequence(at)));
        for (oid, schema, name, place) in tables.chain(indexes).chain(views).chain(sequences) {
            self.places.entry(oid).or_insert(place);
            self.named.entry(name.clone()).or_default().push((schema, oid));
        }
        self.indexes_of.clear();
        for (at, index) in self.indexes.iter().enumerate() {
            self.indexes_of.entry(index.table).or_default().push(at);
        }
        self.owned_by.clear();
        for (at, sequence) in self.sequences.iter().enumerate() {
            if let Some((table, ..)) = sequence.owner {
                self.owned_by.entry(table).or_default().push(at);
            }
        }
        self.parents = self.tables.iter().flat_map(|table| &table.foreign_keys).map(|key| key.parent).collect();
        for (table, name, text) in std::mem::take(&mut self.constraint_comments) {
            if let Some(oid) = self.constraint_oid(table, &name) {
                self.comments.insert((oid, 0), text);
            }
        }
        Arc::new(self)
    }

    /// The type of a number, and whether that is the number of its arrays.
    pub(crate) fn user_type(&self, oid: i64) -> Option<(&UserType, bool)> {
        let is_it = |own: &u32| i64::from(*own) == oid;
        self.types.iter().find_map(|known| {
            let is_array = is_it(&array_oid(known.oid));
            (is_array || is_it(&known.oid)).then_some((known, is_array))
        })
    }

    /// The name of a schema.
    pub(crate) fn schema_name(&self, oid: u32) -> &str {
        match oid {
            PG_CATALOG => "pg_catalog",
            INFORMATION_SCHEMA => "information_schema",
            _ => self.schemas.iter().find(|(known, _)| *known == oid).map_or("???", |(_, name)| name),
        }
    }

    /// Whether a schema has the temporary relations of a session.
    pub(crate) fn is_temporary(&self, oid: u32) -> bool {
        self.schema_name(oid).starts_with("pg_temp_")
    }

    /// The number of a schema.
    pub(crate) fn schema_oid(&self, name: &str) -> Option<u32> {
        match name {
            "pg_catalog" => Some(PG_CATALOG),
            "information_schema" => Some(INFORMATION_SCHEMA),
            _ => self.schemas.iter().find(|(_, known)| known == name).map(|(oid, _)| *oid),
        }
    }

    /// The table of a number.
    pub(crate) fn table(&self, oid: u32) -> Option<&Table> {
        match self.places.get(&oid) {
            Some(Place::Table(at)) => Some(&self.tables[*at]),
            _ => None,
        }
    }

    /// The index of a number.
    pub(crate) fn index(&self, oid: u32) -> Option<&Index> {
        match self.places.get(&oid) {
            Some(Place::Index(at)) => Some(&self.indexes[*at]),
            _ => None,
        }
    }

    /// The view of a number.
    pub(crate) fn view(&self, oid: u32) -> Option<&View> {
        match self.places.get(&oid) {
            Some(Place::View(at)) => Some(&self.views[*at]),
            _ => None,
        }
    }

    /// The sequence of a number.
    pub(crate) fn sequence(&self, oid: u32) -> Option<&Sequence> {
        match self.places.get(&oid) {
            Some(Place::Sequence(at)) => Some(&self.sequences[*at]),
            _ => None,
        }
    }

    /// Schema and name of a user's relation.
    pub(crate) fn own_relation(&self, oid: u32) -> Option<(u32, &str)> {
        Some(match self.places.get(&oid)? {
            Place::Table(at) => (self.tables[*at].schema, &self.tables[*at].name),
            Place::Index(at) => (self.indexes[*at].schema, &self.indexes[*at].name),
            Place::View(at) => (self.views[*at].schema, &self.views[*at].name),
            Place::Sequence(at) => (self.sequences[*at].schema, &self.sequences[*at].name),
        })
    }

    /// Users' relations of a name: schema and number.
    pub(crate) fn named(&self, name: &str) -> &[(u32, u32)] {
        self.named.get(name).map_or(&[], Vec::as_slice)
    }

    /// The indexes of a table.
    pub(crate) fn indexes_of(&self, table: u32) -> impl Iterator<Item = &Index> {
        self.indexes_of.get(&table).into_iter().flatten().map(|at| &self.indexes[*at])
    }

    /// The sequences of a table's columns.
    pub(crate) fn sequences_of(&self, table: u32) -> impl Iterator<Item = &Sequence> {
        self.owned_by.get(&table).into_iter().flatten().map(|at| &self.sequences[*at])
    }

    /// Adds the constraints of a table with their numbers.
    pub(crate) fn add_constraints<'a>(&'a self, table: &'a Table, all: &mut Vec<(u32, Constraint<'a>)>) {
        let number = |table: u32, place: usize| {
            0x4000_0000 | ((table & 0x3f_ffff) * CONSTRAINTS_MAX + (place as u32 % CONSTRAINTS_MAX))
        };
        let mut place = 1;
        for index in self.indexes_of(table.oid) {
            if index.primary {
                all.push((number(table.oid, 0), Constraint::Primary(index)));
            } else if index.constraint {
                // A unique constraint has the place of its index: it stays when others go.
                all.push((0x4000_0000 | ((index.oid & 0x3f_ffff) * CONSTRAINTS_MAX), Constraint::Unique(index)));
            }
        }
        for at in 0..table.checks.len() {
            all.push((number(table.oid, place), Constraint::Check(table, at)));
            place += 1;
        }
        for at in 0..table.foreign_keys.len() {
            all.push((number(table.oid, place), Constraint::Foreign(table, at)));
            place += 1;
        }
    }

    /// The number of a table's constraint of a name.
    fn constraint_oid(&self, table: u32, name: &str) -> Option<u32> {
        let mut all = Vec::new();
        self.add_constraints(self.table(table)?, &mut all);
        all.into_iter().find(|(_, constraint)| constraint.name() == name).map(|(oid, _)| oid)
    }

    /// Whether a foreign key refers to a table.
    pub(crate) fn is_referred_to(&self, table: u32) -> bool {
        self.parents.contains(&table)
    }
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Number.
    pub oid: u32,
    /// Its schema's number.
    pub schema: u32,
    /// Name.
    pub name: String,
    /// Columns in the order of their numbers, dropped ones among them.
    pub columns: Vec<Column>,
    /// Name and column numbers of the primary key.
    pub primary_key: Option<(String, Vec<i64>)>,
    /// CHECK constraints: name and condition.
    pub checks: Vec<(String, String)>,
    /// Names of CHECK constraints that say NO INHERIT.
    pub no_inherit: Vec<String>,
    /// Names of constraints that say NOT VALID.
    pub not_valid: Vec<String>,
    /// Foreign keys.
    pub foreign_keys: Vec<ForeignKey>,
    /// The access method.
    pub method: String,
    /// Options of WITH, as `name=value`.
    pub options: Vec<String>,
    /// It is a materialised view.
    pub materialized: Option<Materialized>,
}

/// What a materialised view is made of.
#[derive(Clone, Debug)]
pub struct Materialized {
    /// Its text.
    pub query: String,
    /// The numbers of the relations that it reads.
    pub reads: Vec<u32>,
    /// Whether it may be read.
    pub populated: bool,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type; of a domain the type of its values.
    pub data_type: DataType,
    /// The number of the domain that is its type, and whether it has arrays of it.
    pub domain: Option<(u32, bool)>,
    /// NOT NULL
    pub not_null: bool,
    /// It was dropped.
    pub dropped: bool,
    /// DEFAULT as SQL text.
    pub default: Option<String>,
    /// GENERATED AS IDENTITY: whether ALWAYS.
    pub identity: Option<bool>,
    /// GENERATED AS (expression) STORED: `default` is the expression.
    pub generated: bool,
}

/// A foreign key.
#[derive(Clone, Debug)]
pub struct ForeignKey {
    /// Name of the constraint.
    pub name: String,
    /// Numbers of the referencing columns.
    pub columns: Vec<i64>,
    /// The referenced table.
    pub parent: u32,
    /// Numbers of the referenced columns.
    pub parent_columns: Vec<i64>,
    /// `a` nothing, `r` restrict, `c` cascade, `n` set null, `d` set default.
    pub on_delete: char,
    /// The same for UPDATE.
    pub on_update: char,
    /// MATCH FULL.
    pub full: bool,
    /// Numbers of the columns that are set when a row is deleted; empty: all.
    pub set_on_delete: Vec<i64>,
    /// DEFERRABLE, and INITIALLY DEFERRED.
    pub deferrable: (bool, bool),
}

/// An index.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// Number.
    pub oid: u32,
    /// Its schema's number.
    pub schema: u32,
    /// Name.
    pub name: String,
    /// The table's number.
    pub table: u32,
    /// Key parts: number of the column, or 0, and the text.
    pub parts: Vec<(i64, String)>,
    /// Numbers of INCLUDE columns.
    pub included: Vec<i64>,
    /// Whether no two rows have the same value.
    pub unique: bool,
    /// Whether it is that of the primary key.
    pub primary: bool,
    /// Whether it is that of a constraint.
    pub constraint: bool,
    /// The condition of a partial index.
    pub predicate: Option<String>,
    /// Whether it keeps columns beside the table, `USING columns`.
    pub of_columns: bool,
}

impl Index {
    /// What follows USING.
    pub(crate) fn method(&self) -> &'static str {
        if self.of_columns { "columns" } else { "btree" }
    }
}

/// A view.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Number.
    pub oid: u32,
    /// Its schema's number.
    pub schema: u32,
    /// Name.
    pub name: String,
    /// Columns.
    pub columns: Vec<(String, DataType)>,
    /// Its text.
    pub query: String,
    /// The numbers of the relations that it reads.
    pub reads: Vec<u32>,
    /// Options as they were given: `check_option=local`.
    pub options: Vec<String>,
    /// Of some columns, by place: their defaults.
    pub defaults: Vec<(usize, String)>,
    /// What can be done through it: 4 for UPDATE, 8 for INSERT, 16 for DELETE.
    pub events: i64,
    /// Of each column: whether it can be updated.
    pub updatable: Vec<bool>,
}

impl View {
    /// The default of a column, by its number.
    pub(crate) fn default_of(&self, number: i64) -> Option<&str> {
        let place = usize::try_from(number - 1).ok()?;
        self.defaults.iter().find(|(known, _)| *known == place).map(|(_, text)| text.as_str())
    }

    /// The value of an option.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().filter_map(|text| text.split_once('=')).find(|(known, _)| *known == name).map(|(_, to)| to)
    }

    /// Whether all of some events can be done through it.
    pub(crate) fn takes(&self, events: i64) -> bool {
        self.events & events == events
    }
}

/// A sequence.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// Number.
    pub oid: u32,
    /// Its schema's number.
    pub schema: u32,
    /// Name.
    pub name: String,
    /// Type of its numbers.
    pub data_type: DataType,
    /// Start, least, greatest, step, how many are taken at once.
    pub bounds: [i64; 5],
    /// Whether it begins anew.
    pub cycle: bool,
    /// The column that it belongs to: table and column number, and whether that is an identity column.
    pub owner: Option<(u32, i64, bool)>,
}

/// The type of a number in `pg_constraint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constraint<'a> {
    Primary(&'a Index),
    Unique(&'a Index),
    Check(&'a Table, usize),
    Foreign(&'a Table, usize),
}

impl<'a> Constraint<'a> {
    /// Its name.
    pub(crate) fn name(&self) -> &'a str {
        match *self {
            Constraint::Primary(index) | Constraint::Unique(index) => &index.name,
            Constraint::Check(table, at) => &table.checks[at].0,
            Constraint::Foreign(table, at) => &table.foreign_keys[at].name,
        }
    }

    /// The number of the table that has it.
    pub(crate) fn table(&self) -> u32 {
        match self {
            Constraint::Primary(index) | Constraint::Unique(index) => index.table,
            Constraint::Check(table, _) | Constraint::Foreign(table, _) => table.oid,
        }
    }
}

impl PartialEq for Index {
    fn eq(&self, other: &Index) -> bool {
        self.oid == other.oid
    }
}

impl Eq for Index {}

impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        self.oid == other.oid
    }
}

impl Eq for Table {}
