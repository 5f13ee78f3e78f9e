//! What a transaction sees of the database, as plain data: what the catalog's rows are made of.
//!
//! ```text
//!   schemas  2200 public, 16401 shop      tables  16387 customers: columns, key, checks, foreign keys
//!   indexes  16390 orders_by_day          views, sequences, roles, settings, comments
//! ```
//!
//! Numbers are PostgreSQL's kind: of relations and schemas as they are shown (`16384 +` the kernel's number).

use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use weft_env::sync::Mutex;
use weft_format::Result;

use crate::declared;
use crate::objects::{CONSTRAINTS_MAX, Constraint, Index, Objects};
use crate::rights::{Access, Acl, Kind, OWNER, Target};
pub use crate::schemas::{FIRST, INFORMATION_SCHEMA, PG_CATALOG, PUBLIC};
use crate::user_types::array_oid;
use crate::value::Datum;

/// Everything that catalog queries see.
#[derive(Debug, Default)]
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
    /// Whether the server follows another one.
    pub in_recovery: bool,
    /// The transaction's number.
    pub txid: i64,
    /// Microseconds since 1970 UTC: the time of the transaction.
    pub now_micros: i64,
    /// Schemas, tables, indexes, views, sequences and comments.
    pub objects: Arc<Objects>,
    /// How many rows and bytes they have, and which numbers sequences are at.
    pub figures: Moment,
    /// Roles, and who may what.
    pub access: Arc<Access>,
    /// The last commit that the query sees.
    pub read_ts: u64,
    /// Settings.
    pub settings: SettingsShown,
    /// For each setting: context, type, source, value at the start.
    pub settings_more: Vec<[String; 4]>,
    /// Sessions, if the query may ask for them.
    pub sessions: Vec<SessionShown>,
    /// Locks, if the query may ask for them.
    pub locks: Vec<LockShown>,
    /// What was counted since the start.
    pub counts: CountsShown,
    /// What the query's functions asked for, to be carried out after it.
    pub requests: Mutex<Vec<Request>>,
    /// Says when a query is to stop.
    pub stop: Stop,
}

impl Deref for Snapshot {
    type Target = Objects;

    fn deref(&self) -> &Objects {
        &self.objects
    }
}

/// What changes without DDL.
pub trait Figures: Send + Sync {
    /// About how many rows and bytes a table has.
    fn table(&self, oid: u32) -> (u64, u64);

    /// About how many bytes an index has.
    fn index(&self, oid: u32) -> u64;

    /// The number that a sequence is at, and whether it was given already; else it is the next one.
    fn sequence(&self, oid: u32) -> Option<(i64, bool)>;

    /// What the values of a table's columns are like, as far as that is known.
    fn columns(&self, oid: u32) -> Vec<ColumnFigures>;
}

/// What the values of a column are like, as `pg_stats` has it.
#[derive(Clone, Debug, Default)]
pub struct ColumnFigures {
    /// The number of the column.
    pub number: i64,
    /// The share of rows that are NULL.
    pub null_share: f64,
    /// Bytes of a value, on average.
    pub average_bytes: f64,
    /// How many values there are; negative: as a share of the rows.
    pub distinct: f64,
    /// The most common values, as an array and with their shares of all rows; none: no value is common.
    pub common: Option<(String, Vec<f64>)>,
    /// Values between which about as many others lie, as an array; none: nobody knows.
    pub bounds: Option<String>,
}

/// The figures of the moment, for those who ask.
#[derive(Clone, Default)]
pub struct Moment(Option<Arc<dyn Figures>>);

impl Moment {
    /// These figures.
    pub fn of(figures: Arc<dyn Figures>) -> Moment {
        Moment(Some(figures))
    }

    /// What the values of a table's columns are like.
    pub(crate) fn columns(&self, oid: u32) -> Vec<ColumnFigures> {
        self.0.as_ref().map_or_else(Vec::new, |figures| figures.columns(oid))
    }

    /// Rows and bytes of a table.
    pub(crate) fn table(&self, oid: u32) -> (u64, u64) {
        self.0.as_ref().map_or((0, 0), |figures| figures.table(oid))
    }

    /// Bytes of an index.
    pub(crate) fn index(&self, oid: u32) -> u64 {
        self.0.as_ref().map_or(0, |figures| figures.index(oid))
    }

    /// The number that a sequence is at, and whether it was given already.
    pub(crate) fn sequence(&self, oid: u32) -> (i64, bool) {
        self.0.as_ref().and_then(|figures| figures.sequence(oid)).unwrap_or((1, false))
    }

    /// The last number of a sequence, when one was given.
    pub(crate) fn last(&self, oid: u32) -> Option<i64> {
        let (value, is_called) = self.sequence(oid);
        is_called.then_some(value)
    }
}

impl std::fmt::Debug for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Moment")
    }
}

/// A setting: its name, its value, what it says.
pub type SettingShown = (String, String, String);

/// Settings, put together for the first who looks at them.
pub struct SettingsShown(LazyLock<Vec<SettingShown>, Box<dyn FnOnce() -> Vec<SettingShown> + Send>>);

impl SettingsShown {
    /// Settings that this makes.
    pub fn made(make: impl FnOnce() -> Vec<SettingShown> + Send + 'static) -> SettingsShown {
        SettingsShown(LazyLock::new(Box::new(make)))
    }
}

impl Default for SettingsShown {
    fn default() -> SettingsShown {
        SettingsShown::made(Vec::new)
    }
}

impl Deref for SettingsShown {
    type Target = [SettingShown];

    fn deref(&self) -> &[SettingShown] {
        &self.0
    }
}

impl std::fmt::Debug for SettingsShown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SettingsShown")
    }
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
    /// Of an advisory lock: `classid`, `objid` and `objsubid`.
    pub advisory: Option<(u32, u32, u8)>,
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
    /// A node that follows is to write.
    Promote,
    /// Keeps the transaction's snapshot for others until it ends.
    Export,
}

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
        array_oid(relation)
    }

    /// The number of a view's rule.
    pub(crate) fn rule_oid(view: u32) -> u32 {
        0x5000_0000 | view & 0x0fff_ffff
    }

    /// The unique index over just these columns: what a foreign key refers to.
    pub(crate) fn unique_index(&self, table: u32, columns: &[i64]) -> Option<&Index> {
        let is_on = |index: &&Index| {
            index.unique
                && index.predicate.is_none()
                && index.parts.len() == columns.len()
                && index.parts.iter().all(|(number, _)| columns.contains(number))
        };
        self.indexes_of(table).find(is_on)
    }

    /// The number of a DEFAULT.
    pub(crate) fn default_oid(table: u32, column: i64) -> u32 {
        0x6000_0000 | ((table & 0xf_ffff) << 9) | (column as u32 & 0x1ff)
    }

    /// All constraints with their numbers.
    pub(crate) fn constraints(&self) -> Vec<(u32, Constraint<'_>)> {
        let mut all = Vec::new();
        self.tables.iter().for_each(|table| self.add_constraints(table, &mut all));
        all
    }

    /// The constraint of a number.
    pub(crate) fn constraint(&self, oid: i64) -> Option<Constraint<'_>> {
        let oid = u32::try_from(oid).ok()?;
        // The number of a table or of an index stands in it, as far as there is room.
        let stem = (oid & 0x0fff_ffff) / CONSTRAINTS_MAX;
        let near = self.table(stem).or_else(|| self.table(self.index(stem)?.table));
        let mut found = Vec::new();
        match near {
            Some(table) => self.add_constraints(table, &mut found),
            None => found = self.constraints(),
        }
        let of = |found: &[(u32, Constraint<'_>)]| found.iter().position(|(known, _)| *known == oid);
        if of(&found).is_none() && near.is_some() {
            found = self.constraints();
        }
        let at = of(&found)?;
        Some(found[at].1)
    }

    /// Schema and name of a relation.
    pub(crate) fn relation(&self, oid: u32) -> Option<(u32, &str)> {
        self.own_relation(oid).or_else(|| declared::by_oid(oid).map(|known| (known.schema, known.name)))
    }

    /// The relation of a name, with its schema or along the search path. The session's temporary relations come before
    /// the catalog's, and these before those of other schemas.
    pub(crate) fn relation_named(&self, schema: Option<&str>, name: &str) -> Option<u32> {
        let own = self.named(name);
        let in_schema = |place: u32| {
            let system = || declared::in_schema(place, name).map(|known| known.oid);
            own.iter().find(|(schema, _)| *schema == place).map(|(_, oid)| *oid).or_else(system)
        };
        if let Some(schema) = schema {
            return in_schema(self.schema_oid(schema)?);
        }
        let path = self.search_path.iter().copied();
        self.temporary.into_iter().chain([PG_CATALOG]).chain(path).find_map(in_schema)
    }

    /// Whether a relation is found by its name alone.
    pub(crate) fn is_visible(&self, oid: u32) -> bool {
        self.relation(oid).is_some_and(|(_, name)| self.relation_named(None, name) == Some(oid))
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
        let is_sequence = self.sequence(relation).is_some();
        if is_sequence { Kind::Sequence } else { Kind::Table }
    }
}

/// A name as SQL writes it: in quotes where it needs them.
pub fn quoted(name: &str) -> String {
    weft_expr::quoted(name).into_owned()
}
