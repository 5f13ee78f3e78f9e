//! The schema of a session's temporary relations.
//!
//! ```text
//!   session 7     pg_temp_7     there once the session has made something temporary
//! ```

use weft_kernel::{ObjectKind, SchemaId, Transaction};

use crate::resolve::TEMPORARY_PREFIX;

/// What a session knows of its temporary tables.
pub(super) struct Temporary {
    /// The name of its schema.
    pub(super) name: String,
    /// It has made something temporary.
    pub(super) used: bool,
    /// A commit may have something to do.
    pub(super) ends_with_commits: bool,
}

impl Temporary {
    /// Of the session of a number.
    pub(super) fn of(place: u64) -> Temporary {
        Temporary { name: format!("{TEMPORARY_PREFIX}{place}"), used: false, ends_with_commits: false }
    }

    /// The schema of the session, if it is there.
    pub(super) fn schema(&self, txn: &Transaction) -> Option<SchemaId> {
        let found = if self.used { txn.object(ObjectKind::Schema, SchemaId::PUBLIC, &self.name) } else { None };
        found.map(|object| SchemaId(object.id))
    }
}
