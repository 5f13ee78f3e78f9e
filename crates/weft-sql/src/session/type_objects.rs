//! The objects of users' types: names that are free, types that are one's own.

use std::sync::Arc;

use sqlparser::ast::{Ident, ObjectName};
use weft_format::{Code, Error, Result};
use weft_kernel::{Object, ObjectKind, SchemaId, Transaction};

use super::work::Work;
use crate::resolve::{self, Relation};
use crate::types;

/// Fails when a schema has a type or a relation of a name, or the system has such a type.
pub(super) fn check_free(txn: &Transaction, namespace: SchemaId, name: &str) -> Result<()> {
    let is_of_system = crate::expr::data_type_of(&sqlparser::ast::DataType::Custom(
        ObjectName::from(vec![Ident::with_quote('"', name)]),
        Vec::new(),
    ))
    .is_ok();
    if is_of_system {
        let message = format!("type \"{name}\" already exists");
        return Err(Error::new(Code::DuplicateObject, message).hint("a type of the system has this name; take another"));
    }
    if txn.object(ObjectKind::Type, namespace, name).is_some() || resolve::is_taken(txn, namespace, name) {
        return Err(Error::new(Code::DuplicateObject, format!("type \"{name}\" already exists")));
    }
    Ok(())
}

/// The type of a name, which the session's role owns.
pub(super) fn own(work: &Work<'_>, name: &ObjectName) -> Result<Arc<Object>> {
    let found = types::find(work.txn, name).ok_or_else(|| types::missing(name))?;
    // What it was before is known, whatever becomes of it.
    types::note_all(work.txn)?;
    work.permit.check_owns(&Relation::Object(Arc::clone(&found)))?;
    Ok(found)
}
