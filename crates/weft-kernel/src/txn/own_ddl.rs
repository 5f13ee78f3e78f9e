//! What a transaction itself has made, altered and dropped so far: it sees that, others do not. Recovery reads the same
//! of the log.
//!
//! ```text
//!   CREATE t · ALTER t ADD c · DROP u       [Create(t), Alter(t, t with c), Drop(u)]       the newest says what is
//! ```

use std::sync::Arc;

use weft_format::TableId;

use crate::catalog::{Object, Relation, SchemaId};

/// A DDL statement of the transaction itself.
pub(crate) enum OwnDdl {
    Create(Relation),
    Drop(Relation),
    /// The relation under its definition before and after.
    Alter(Relation, Relation),
    /// An object before and after; none: it was or is not there.
    Object(Option<Arc<Object>>, Option<Arc<Object>>),
}

impl OwnDdl {
    /// What the transaction's own DDL says of a name: nothing, a relation, or that there is none.
    pub(super) fn find(ddl: &[OwnDdl], namespace: SchemaId, name: &str) -> Option<Option<Relation>> {
        let has_name = |relation: &Relation| {
            let def = relation.def();
            def.namespace == namespace && def.name == name
        };
        ddl.iter().rev().find_map(|ddl| match ddl {
            OwnDdl::Create(it) | OwnDdl::Alter(_, it) if has_name(it) => Some(Some(it.clone())),
            OwnDdl::Drop(it) | OwnDdl::Alter(it, _) if has_name(it) => Some(None),
            _ => None,
        })
    }

    /// A relation under the newest definition that the transaction's own DDL gave it.
    pub(super) fn by_id(ddl: &[OwnDdl], id: TableId) -> Option<Relation> {
        ddl.iter().rev().find_map(|ddl| match ddl {
            OwnDdl::Create(it) | OwnDdl::Alter(_, it) if it.id() == id => Some(it.clone()),
            _ => None,
        })
    }

    /// Whether the transaction drops a relation.
    pub(super) fn drops(ddl: &[OwnDdl], id: TableId) -> bool {
        ddl.iter().any(|ddl| matches!(ddl, OwnDdl::Drop(it) if it.id() == id))
    }

    /// Whether the transaction makes a relation.
    pub(super) fn creates(ddl: &[OwnDdl], id: TableId) -> bool {
        ddl.iter().any(|ddl| matches!(ddl, OwnDdl::Create(it) if it.id() == id))
    }

    /// Whether the transaction alters a relation.
    pub(in crate::txn) fn alters(ddl: &[OwnDdl], id: TableId) -> bool {
        ddl.iter().any(|ddl| matches!(ddl, OwnDdl::Alter(_, it) if it.id() == id))
    }

    /// What is about a relation that the transaction makes and drops: others never hear of it.
    pub(super) fn is_never_there(&self, ddl: &[OwnDdl]) -> bool {
        match self {
            OwnDdl::Create(it) | OwnDdl::Drop(it) | OwnDdl::Alter(_, it) => {
                OwnDdl::drops(ddl, it.id()) && OwnDdl::creates(ddl, it.id())
            }
            OwnDdl::Object(..) => false,
        }
    }
}
