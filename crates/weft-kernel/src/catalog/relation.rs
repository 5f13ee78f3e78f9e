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

use weft_contract::{Derived, TableDef, Upkeep};
use weft_format::{TableId, Timestamp};

use super::columns_ref::ColumnsRef;
use super::index_ref::IndexRef;
use super::life::Life;
use super::table_ref::TableRef;
use crate::index::STORED_BY;

/// See above. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Relation {
    Table(TableRef),
    Index(IndexRef),
    Columns(ColumnsRef),
}

impl Relation {
    /// Name, columns, options.
    pub(crate) fn def(&self) -> &Arc<TableDef> {
        match self {
            Relation::Table(table) => &table.def,
            Relation::Index(index) => &index.def,
            Relation::Columns(columns) => &columns.def,
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
            Relation::Columns(columns) => columns.upkeep(),
        }
    }

    /// The same relation under a later definition.
    pub(crate) fn with_def(&self, def: Arc<TableDef>) -> Relation {
        match self {
            Relation::Table(table) => table.with_def(def).into(),
            Relation::Index(index) => index.with_def(def).into(),
            Relation::Columns(columns) => columns.with_def(def).into(),
        }
    }

    pub(super) fn life(&self) -> &Life {
        match self {
            Relation::Table(table) => table.life(),
            Relation::Index(index) => index.life(),
            Relation::Columns(columns) => columns.life(),
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
            Relation::Index(_) | Relation::Columns(_) => None,
        }
    }

    /// The index, when it is one.
    pub(crate) fn index(&self) -> Option<&IndexRef> {
        match self {
            Relation::Table(_) | Relation::Columns(_) => None,
            Relation::Index(index) => Some(index),
        }
    }

    /// The column index, when it is one.
    pub(crate) fn columns(&self) -> Option<&ColumnsRef> {
        match self {
            Relation::Table(_) | Relation::Index(_) => None,
            Relation::Columns(columns) => Some(columns),
        }
    }

    /// The table that it is derived from; none of a table.
    pub(crate) fn owner(&self) -> Option<TableId> {
        match self {
            Relation::Table(_) => None,
            Relation::Index(index) => Some(index.index.table()),
            Relation::Columns(columns) => Some(columns.table()),
        }
    }

    /// What takes in what a commit does to the table; none of a table, and of what could not be opened.
    pub(crate) fn derived(&self) -> Option<&dyn Derived> {
        match self {
            Relation::Table(_) => None,
            Relation::Index(index) => Some(&*index.index),
            Relation::Columns(columns) => columns.index.as_deref().map(|index| index as &dyn Derived),
        }
    }

    /// What the method is called that stores it; none of an index, which the kernel stores.
    pub(crate) fn stored_by(&self) -> Option<&str> {
        match self {
            Relation::Table(table) => Some(&table.def.method),
            Relation::Index(_) => None,
            Relation::Columns(_) => Some(STORED_BY),
        }
    }

    /// The table, when it is one.
    pub(crate) fn into_table(self) -> Option<TableRef> {
        match self {
            Relation::Table(table) => Some(table),
            Relation::Index(_) | Relation::Columns(_) => None,
        }
    }

    /// The column index, when it is one.
    pub(crate) fn into_columns(self) -> Option<ColumnsRef> {
        match self {
            Relation::Table(_) | Relation::Index(_) => None,
            Relation::Columns(columns) => Some(columns),
        }
    }

    /// The index, when it is one.
    pub(crate) fn into_index(self) -> Option<IndexRef> {
        match self {
            Relation::Table(_) | Relation::Columns(_) => None,
            Relation::Index(index) => Some(index),
        }
    }
}

impl From<TableRef> for Relation {
    fn from(table: TableRef) -> Relation {
        Relation::Table(table)
    }
}

impl From<ColumnsRef> for Relation {
    fn from(columns: ColumnsRef) -> Relation {
        Relation::Columns(columns)
    }
}

impl From<IndexRef> for Relation {
    fn from(index: IndexRef) -> Relation {
        Relation::Index(index)
    }
}
