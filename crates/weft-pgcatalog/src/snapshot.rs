//! What a transaction sees of the database, as plain data: what the catalog's rows are made of.
//!
//! ```text
//!   schemas  2200 public, 16401 shop      tables  16387 customers: columns, key, checks, foreign keys
//!   indexes  16390 orders_by_day          views, sequences, roles, settings, comments
//! ```
//!
//! Numbers are PostgreSQL's kind: of relations and schemas as they are shown (`16384 +` the kernel's number).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use weft_format::{DataType, Result};

use crate::declared;
use crate::rights::{Access, Acl, Kind, OWNER, Target};
pub use crate::schemas::{FIRST, INFORMATION_SCHEMA, PG_CATALOG, PUBLIC};
use crate::value::Datum;

/// Everything that catalog queries see.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The database's name.
    pub database: String,
    /// Who asks: the role whose rights count.
    pub user: String,
    /// Who logged in.
    pub session_user: String,
    /// What `version()` says.
    pub version: String,
    /// The schemas of the search path, by number.
    pub search_path: Vec<u32>,
    /// The schema of the session's temporary relations, which is part of the path.
    pub temporary: Option<u32>,
    /// The session's number.
    pub backend: i64,
    /// The transaction's number.
    pub txid: i64,
    /// Microseconds since 1970 UTC: the time of the transaction.
    pub now_micros: i64,
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
    /// Comments by what they are about: number, and column or 0.
    pub comments: BTreeMap<(u32, i64), String>,
    /// Roles, and who may what.
    pub access: Arc<Access>,
    /// The last commit that the query sees.
    pub read_ts: u64,
    /// Settings: name, value, what it says.
    pub settings: Vec<(String, String, String)>,
    /// For each setting: context, type, source, value at the start.
    pub settings_more: Vec<[String; 4]>,
    /// Sessions, if the query may ask for them.
    pub sessions: Vec<SessionShown>,
    /// Locks, if the query may ask for them.
    pub locks: Vec<LockShown>,
    /// What was counted since the start.
    pub counts: CountsShown,
    /// What the query's functions asked for, to be carried out after it.
    pub requests: RefCell<Vec<Request>>,
    /// Says when a query is to stop.
    pub stop: Stop,
}

/// What a query asks now and then: an error when it was asked to stop, or its time is over.
#[derive(Clone, Default)]
pub struct Stop(Option<Arc<dyn Fn() -> Result<()> + Send + Sync>>);

impl Stop {
    /// A stop that is asked like this.
    pub fn when(check: impl Fn() -> Result<()> + Send + Sync + 'static) -> Stop {
        Stop(Some(Arc::new(check)))
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |check| check())
    }
}

impl std::fmt::Debug for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stop")
    }
}

/// A session.
#[derive(Clone, Debug, Default)]
pub struct SessionShown {
    /// Its number.
    pub pid: i64,
    /// The role.
    pub user: String,
    /// What its client calls itself.
    pub application_name: String,
    /// Where the client is; none on the unix socket.
    pub client_address: Option<String>,
    /// The client's port; -1 on the unix socket.
    pub client_port: Option<i64>,
    /// Microseconds since 1970 UTC.
    pub backend_start_micros: i64,
    /// When its transaction began, if one is open.
    pub transaction_start_micros: Option<i64>,
    /// When its statement began.
    pub query_start_micros: Option<i64>,
    /// When it came to be in this state.
    pub state_change_micros: i64,
    /// What it waits for: type and event.
    pub wait: Option<(&'static str, &'static str)>,
    /// PostgreSQL's word.
    pub state: &'static str,
    /// The statement.
    pub query: String,
    /// Whether who asks may see more than that the session is there.
    pub may_watch: bool,
    /// Whether who asks may stop it.
    pub may_stop: bool,
}

/// A lock that is held or waited for.
#[derive(Clone, Debug, Default)]
pub struct LockShown {
    /// The table, for the lock of one.
    pub relation: Option<u32>,
    /// The transaction.
    pub transaction: u64,
    /// Its session.
    pub pid: Option<i64>,
    /// Whether others are kept from reading under a lock.
    pub exclusive: bool,
    /// Held, and not waited for.
    pub granted: bool,
}

/// Numbers since the start.
#[derive(Clone, Debug, Default)]
pub struct CountsShown {
    /// Transactions committed.
    pub commits: i64,
    /// Transactions rolled back.
    pub rollbacks: i64,
    /// Blocks that were not in the cache.
    pub blocks_read: i64,
    /// Blocks that were.
    pub blocks_hit: i64,
    /// Deadlocks that clients were told of.
    pub deadlocks: i64,
    /// Sessions begun.
    pub sessions: i64,
}

/// What a function asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Stops the statement of a session.
    Cancel(i64),
    /// Ends a session.
    Terminate(i64),
    /// Reads the configuration again.
    Reload,
    /// Keeps the transaction's snapshot for others until it ends.
    Export,
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
    /// Foreign keys.
    pub foreign_keys: Vec<ForeignKey>,
    /// The access method.
    pub method: String,
    /// Options of WITH, as `name=value`.
    pub options: Vec<String>,
    /// It is a materialised view.
    pub materialized: Option<Materialized>,
    /// Rows, about.
    pub rows: u64,
    /// Bytes on disk and in memory, about.
    pub bytes: u64,
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
    /// Type.
    pub data_type: DataType,
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
    /// `a` nothing, `r` restrict, `c` cascade, `n` set null.
    pub on_delete: char,
    /// The same for UPDATE.
    pub on_update: char,
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
    /// Bytes, about.
    pub bytes: u64,
}

/// A view.
#[derive(Clone, Debug)]
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
    /// The number that it is at.
    pub value: i64,
    /// Whether that number was given already; else it is the next one.
    pub is_called: bool,
    /// The column that it belongs to: table and column number, and whether that is an identity column.
    pub owner: Option<(u32, i64, bool)>,
}

impl Sequence {
    /// The last number, when one was given.
    pub(crate) fn last(&self) -> Option<i64> {
        self.is_called.then_some(self.value)
    }
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
    pub(crate) fn name(&self) -> &'a str {
        match *self {
            Constraint::Primary(index) | Constraint::Unique(index) => &index.name,
            Constraint::Check(table, at) => &table.checks[at].0,
            Constraint::Foreign(table, at) => &table.foreign_keys[at].name,
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

/// Places for the constraints of one table, in the numbers of constraints.
const CONSTRAINTS_MAX: u32 = 128;

impl Snapshot {
    /// The number of the index that a primary key is shown as: derived from its table's.
    pub fn primary_index_oid(table: u32) -> u32 {
        0x3000_0000 | table & 0x0fff_ffff
    }

    /// The number of a table's row type.
    pub(crate) fn row_type(relation: u32) -> u32 {
        0x2000_0000 | relation & 0x0fff_ffff
    }

    /// The number of the type of arrays of its rows.
    pub(crate) fn rows_type(relation: u32) -> u32 {
        0x1000_0000 | relation & 0x0fff_ffff
    }

    /// The number of a view's rule.
    pub(crate) fn rule_oid(view: u32) -> u32 {
        0x5000_0000 | view & 0x0fff_ffff
    }

    /// The unique index over just these columns: what a foreign key refers to.
    pub(crate) fn unique_index(&self, table: u32, columns: &[i64]) -> Option<&Index> {
        let is_on = |index: &&Index| {
            index.table == table
                && index.unique
                && index.predicate.is_none()
                && index.parts.len() == columns.len()
                && index.parts.iter().all(|(number, _)| columns.contains(number))
        };
        self.indexes.iter().find(is_on)
    }

    /// The number of a DEFAULT.
    pub(crate) fn default_oid(table: u32, column: i64) -> u32 {
        0x6000_0000 | ((table & 0xf_ffff) << 9) | (column as u32 & 0x1ff)
    }

    /// All constraints with their numbers.
    pub(crate) fn constraints(&self) -> Vec<(u32, Constraint<'_>)> {
        self.tables.iter().flat_map(|table| self.constraints_of(table)).collect()
    }

    /// The constraints of a table with their numbers.
    fn constraints_of<'a>(&'a self, table: &'a Table) -> Vec<(u32, Constraint<'a>)> {
        let number = |table: u32, place: usize| {
            0x4000_0000 | ((table & 0x3f_ffff) * CONSTRAINTS_MAX + (place as u32 % CONSTRAINTS_MAX))
        };
        let mut all = Vec::new();
        for index in self.indexes.iter().filter(|index| index.table == table.oid) {
            if index.primary {
                all.push((number(table.oid, 0), Constraint::Primary(index)));
            } else if index.constraint {
                // A unique constraint has the place of its index: it stays when others go.
                all.push((0x4000_0000 | ((index.oid & 0x3f_ffff) * CONSTRAINTS_MAX), Constraint::Unique(index)));
            }
        }
        let mut place = 1;
        for at in 0..table.checks.len() {
            all.push((number(table.oid, place), Constraint::Check(table, at)));
            place += 1;
        }
        for at in 0..table.foreign_keys.len() {
            all.push((number(table.oid, place), Constraint::Foreign(table, at)));
            place += 1;
        }
        all
    }

    /// The number of a table's constraint of a name.
    pub fn constraint_oid(&self, table: u32, name: &str) -> Option<u32> {
        let constraints = self.constraints_of(self.table(table)?);
        constraints.into_iter().find(|(_, constraint)| constraint.name() == name).map(|(oid, _)| oid)
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

    /// Schema and name of a relation.
    pub(crate) fn relation(&self, oid: u32) -> Option<(u32, &str)> {
        let table = self.tables.iter().map(|t| (t.oid, t.schema, &t.name));
        let index = self.indexes.iter().map(|t| (t.oid, t.schema, &t.name));
        let view = self.views.iter().map(|t| (t.oid, t.schema, &t.name));
        let sequence = self.sequences.iter().map(|t| (t.oid, t.schema, &t.name));
        let mut own = table.chain(index).chain(view).chain(sequence);
        if let Some((_, schema, name)) = own.find(|(known, ..)| *known == oid) {
            return Some((schema, name));
        }
        declared::all().iter().find(|known| known.oid == oid).map(|known| (known.schema, known.name))
    }

    /// The relation of a name, with its schema or along the search path.
    pub(crate) fn relation_named(&self, schema: Option<&str>, name: &str) -> Option<u32> {
        let places = match schema {
            Some(schema) => vec![self.schema_oid(schema)?],
            None => std::iter::once(PG_CATALOG).chain(self.search_path.iter().copied()).collect(),
        };
        let table = self.tables.iter().map(|t| (t.oid, t.schema, t.name.as_str()));
        let index = self.indexes.iter().map(|t| (t.oid, t.schema, t.name.as_str()));
        let view = self.views.iter().map(|t| (t.oid, t.schema, t.name.as_str()));
        let sequence = self.sequences.iter().map(|t| (t.oid, t.schema, t.name.as_str()));
        let system = declared::all().iter().map(|known| (known.oid, known.schema, known.name));
        let all: Vec<(u32, u32, &str)> = table
            .chain(index)
            .chain(view)
            .chain(sequence)
            .chain(system)
            .filter(|(_, _, known)| *known == name)
            .collect();
        places.into_iter().find_map(|place| all.iter().find(|(_, schema, _)| *schema == place).map(|(oid, ..)| *oid))
    }

    /// Whether a relation is found by its name alone.
    pub(crate) fn is_visible(&self, oid: u32) -> bool {
        self.relation(oid).is_some_and(|(_, name)| self.relation_named(None, name) == Some(oid))
    }

    pub(crate) fn table(&self, oid: u32) -> Option<&Table> {
        self.tables.iter().find(|table| table.oid == oid)
    }

    /// The number of a role.
    pub(crate) fn role_oid(&self, name: &str) -> Option<u32> {
        self.access.oid(name)
    }

    pub(crate) fn role_name(&self, oid: i64) -> String {
        let found = u32::try_from(oid).ok().and_then(|oid| self.access.name(oid));
        found.map_or_else(|| format!("unknown (OID={oid})"), str::to_owned)
    }

    /// The number of who asks.
    pub(crate) fn own_oid(&self) -> u32 {
        self.role_oid(&self.user).unwrap_or(OWNER)
    }

    /// The name of an object's owner.
    pub(crate) fn owner_name(&self, target: Target) -> String {
        self.role_name(self.access.owner(target).into())
    }

    /// A list of rights as a value; NULL when it is as it began.
    pub(crate) fn acl_value(&self, acl: Option<&Acl>) -> Datum {
        let name = |oid: u32| quoted(&self.access.shown(oid));
        acl.map_or(Datum::Null, |acl| Datum::list(acl.print(name).into_iter().map(Datum::text).collect()))
    }

    /// What kind of object a relation is, for rights.
    pub(crate) fn kind_of(&self, relation: u32) -> Kind {
        let is_sequence = self.sequences.iter().any(|sequence| sequence.oid == relation);
        if is_sequence { Kind::Sequence } else { Kind::Table }
    }
}

/// A name as SQL writes it: in quotes where it needs them.
pub fn quoted(name: &str) -> String {
    weft_expr::quoted(name).into_owned()
}
