//! What stands in the catalog under a name and an id of its own: a table, or what is derived from one.
//!
//! ```text
//!   t     Table   rows, read by statements      jobs, files, a cut, a life from CREATE to DROP
//!   t_a   Index   entries, fed by t             the same
//! ```
//!
//! Who works on what both have (jobs, checkpoints, checks, backups, DDL) holds a [`Relation`]; who reads or writes rows
//! holds a [`TableRef`], and never meets an index in it.

use std::sync::Arc;

use weft_contract::{TableDef, Upkeep};
use weft_format::{TableId, Timestamp};

use super::index_ref::IndexRef;
use super::life::Life;
use super::table_ref::TableRef;

/// See above. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Relation {
    Table(TableRef),
    Index(IndexRef),
}

impl Relation {
    /// Name, columns, options.
    pub(crate) fn def(&self) -> &Arc<TableDef> {
        match self {
            Relation::Table(table) => &table.def,
            Relation::Index(index) => &index.def,
        }
    }

    pub(crate) fn id(&self) -> TableId {
        self.def().id
    }

    /// Jobs, cut and files.
    pub(crate) fn upkeep(&self) -> &dyn Upkeep {
        match self {
            Relation::Table(table) => &*table.table,
            Relation::Index(index) => index.upkeep(),
        }
    }

    /// The same relation under a later definition.
    pub(crate) fn with_def(&self, def: Arc<TableDef>) -> Relation {
        match self {
            Relation::Table(table) => table.with_def(def).into(),
            Relation::Index(index) => index.with_def(def).into(),
        }
    }

    pub(super) fn life(&self) -> &Life {
        match self {
            Relation::Table(table) => table.life(),
            Relation::Index(index) => index.life(),
        }
    }

    /// When it was dropped; [`Timestamp::MAX`] while it is alive.
    pub(crate) fn drop_ts(&self) -> Timestamp {
        self.life().drop_ts()
    }

    /// Whether it was not dropped.
    pub(crate) fn is_alive(&self) -> bool {
        self.drop_ts() == Timestamp::MAX
    }

    /// The table, when it is one.
    pub(crate) fn table(&self) -> Option<&TableRef> {
        match self {
            Relation::Table(table) => Some(table),
            Relation::Index(_) => None,
        }
    }

    /// The index, when it is one.
    pub(crate) fn index(&self) -> Option<&IndexRef> {
        match self {
            Relation::Table(_) => None,
            Relation::Index(index) => Some(index),
        }
    }

    /// The table, when it is one.
    pub(crate) fn into_table(self) -> Option<TableRef> {
        match self {
            Relation::Table(table) => Some(table),
            Relation::Index(_) => None,
        }
    }

    /// The index, when it is one.
    pub(crate) fn into_index(self) -> Option<IndexRef> {
        match self {
            Relation::Table(_) => None,
            Relation::Index(index) => Some(index),
        }
    }
}

impl From<TableRef> for Relation {
    fn from(table: TableRef) -> Relation {
        Relation::Table(table)
    }
}

impl From<IndexRef> for Relation {
    fn from(index: IndexRef) -> Relation {
        Relation::Index(index)
    }
}
