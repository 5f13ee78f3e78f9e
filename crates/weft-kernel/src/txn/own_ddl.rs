//! What a transaction itself has made, altered and dropped so far: it sees that, others do not.
//!
//! ```text
//!   CREATE t · ALTER t ADD c · DROP u       [Create(t), Alter(t, t with c), Drop(u)]       the newest says what is
//! ```

use std::sync::Arc;

use weft_format::TableId;

use crate::catalog::{Object, SchemaId, TableRef};

/// A DDL statement of the transaction itself.
pub(super) enum OwnDdl {
    Create(TableRef),
    Drop(TableRef),
    /// The table under its definition before and after.
    Alter(TableRef, TableRef),
    /// An object before and after; none: it was or is not there.
    Object(Option<Arc<Object>>, Option<Arc<Object>>),
}

impl OwnDdl {
    /// What the transaction's own DDL says of a name: nothing, a table, or that there is none.
    pub(super) fn find(ddl: &[OwnDdl], namespace: SchemaId, name: &str) -> Option<Option<TableRef>> {
        let has_name = |table: &TableRef| table.def.namespace == namespace && table.def.name == name;
        ddl.iter().rev().find_map(|ddl| match ddl {
            OwnDdl::Create(table) | OwnDdl::Alter(_, table) if has_name(table) => Some(Some(table.clone())),
            OwnDdl::Drop(table) | OwnDdl::Alter(table, _) if has_name(table) => Some(None),
            _ => None,
        })
    }

    /// The newest definition that the transaction's own DDL gave a table.
    pub(super) fn by_id(ddl: &[OwnDdl], id: TableId) -> Option<TableRef> {
        ddl.iter().rev().find_map(|ddl| match ddl {
            OwnDdl::Create(table) | OwnDdl::Alter(_, table) if table.def.id == id => Some(table.clone()),
            _ => None,
        })
    }

    /// Whether the transaction drops a table.
    pub(super) fn drops(ddl: &[OwnDdl], id: TableId) -> bool {
        ddl.iter().any(|ddl| matches!(ddl, OwnDdl::Drop(table) if table.def.id == id))
    }

    /// Whether the transaction makes a table.
    pub(super) fn creates(ddl: &[OwnDdl], id: TableId) -> bool {
        ddl.iter().any(|ddl| matches!(ddl, OwnDdl::Create(table) if table.def.id == id))
    }

    /// Whether the transaction alters a table.
    pub(in crate::txn) fn alters(ddl: &[OwnDdl], id: TableId) -> bool {
        ddl.iter().any(|ddl| matches!(ddl, OwnDdl::Alter(_, table) if table.def.id == id))
    }

    /// What is about a table that the transaction makes and drops: others never hear of it.
    pub(super) fn is_never_there(&self, ddl: &[OwnDdl]) -> bool {
        match self {
            OwnDdl::Create(table) | OwnDdl::Drop(table) | OwnDdl::Alter(_, table) => {
                OwnDdl::drops(ddl, table.def.id) && OwnDdl::creates(ddl, table.def.id)
            }
            OwnDdl::Object(..) => false,
        }
    }
}
