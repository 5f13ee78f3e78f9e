//! Temporary tables and views: in a schema of the session, which goes with it.
//!
//! ```text
//!   session 7   CREATE TEMP TABLE t ...     schema pg_temp_7, table pg_temp_7.t      t, pg_temp.t: found by session 7
//!   others      t                           along their search path; pg_temp_7 is a schema that is not there
//!   session 7 ends, DISCARD TEMP            what is in pg_temp_7 is dropped
//!   the database is opened                  so are all such schemas, which only a crash leaves behind
//! ```
//!
//! Rows are kept as those of any table are, log included: a temporary table costs what another one costs, and each one
//! that is made or dropped is a change of the catalog, after which all sessions plan their statements anew.
//!
//! 1. A schema of a session is found only along the search path of that session.
//! 2. Nothing outside of such a schema depends on what is in it: views over it lie in it, too; foreign keys, defaults
//!    and materialised views of others that name it are refused.

use std::sync::Arc;

use sqlparser::ast::{CreateTable, Ident, ObjectName, OnCommit};
use weft_format::{Code, Error, Result, TableId};
use weft_kernel::{Durability, Object, ObjectKind, SchemaId, TableDef, Transaction};

use super::objects::drop_table;
use super::own_schema::Temporary;
use super::schemas::drop_contents;
use super::work::Work;
use super::{Session, schemas};
use crate::ddl::{self, ON_COMMIT};
use crate::engine::SqlEngine;
use crate::parse::table_name;
use crate::resolve::{self, TEMPORARY, TEMPORARY_PREFIX};
use crate::rights::adopt;

/// Does at a commit what ON COMMIT says.
pub(super) fn at_commit(temporary: &Temporary, txn: &mut Transaction) -> Result<()> {
    if !temporary.ends_with_commits || txn.is_read_only() {
        return Ok(());
    }
    let Some(schema) = temporary.schema(txn) else { return Ok(()) };
    let tables: Vec<Arc<TableDef>> = txn.tables().into_iter().filter(|def| def.namespace == schema).collect();
    let dropped = tables.iter().filter(|def| said(def) == Some("drop"));
    let dropped: Vec<TableId> = dropped.map(|def| def.id).collect();
    for def in tables {
        let Some(table) = txn.table_of(def.id) else { continue };
        match said(&def) {
            Some("drop") => drop_table(txn, &table, &dropped, true, &mut Vec::new())?,
            Some("delete") if ddl::has_rows(txn, &table)? => drop(ddl::truncate(txn, &table)?),
            _ => {}
        }
    }
    Ok(())
}

fn said(def: &TableDef) -> Option<&str> {
    def.properties.get(ON_COMMIT).map(String::as_str)
}

/// Whether CREATE TABLE makes a temporary table.
pub(super) fn is_asked(create: &CreateTable) -> bool {
    create.temporary || names_schema(&create.name)
}

/// Whether a name has the schema of temporary tables before it.
pub(super) fn names_schema(name: &ObjectName) -> bool {
    table_name(name).is_ok_and(|name| resolve::split(&name).0 == Some(TEMPORARY))
}

/// The same CREATE TABLE of a table in the session's schema, which is made when it is not there.
pub(super) fn in_schema(work: &mut Work<'_>, create: &CreateTable) -> Result<CreateTable> {
    let mut made = create.clone();
    made.name = place(work, &create.name)?;
    made.temporary = false;
    if matches!(create.on_commit, Some(OnCommit::DeleteRows | OnCommit::Drop)) {
        work.temporary.ends_with_commits = true;
    }
    Ok(made)
}

/// The name in the session's schema, which is made when it is not there.
pub(super) fn place(work: &mut Work<'_>, name: &ObjectName) -> Result<ObjectName> {
    let folded = table_name(name)?;
    let (schema, own) = resolve::split(&folded);
    if let Some(other) = schema.filter(|schema| *schema != TEMPORARY) {
        let message = "cannot create temporary relation in non-temporary schema";
        let error = Error::new(Code::InvalidTableDefinition, message);
        return Err(error.hint(format!("leave \"{other}\" out: temporary relations have a schema of their own")));
    }
    ensure(work)?;
    Ok(ObjectName::from(vec![Ident::with_quote('"', TEMPORARY), Ident::with_quote('"', own)]))
}

/// The session's schema is there, and the first of the search path.
fn ensure(work: &mut Work<'_>) -> Result<()> {
    work.permit.check_temporary(&work.settings.database)?;
    let name = work.temporary.name.clone();
    let known = work.txn.object(ObjectKind::Schema, SchemaId::PUBLIC, &name);
    match known {
        Some(_) if work.temporary.used => return Ok(()),
        // A crash left it behind.
        Some(known) => drop_contents(work.txn, SchemaId(known.id), &name, true, &mut Vec::new())?,
        None => drop(work.txn.put_object(Object::new(ObjectKind::Schema, SchemaId::PUBLIC, name))?),
    }
    work.temporary.used = true;
    schemas::set_search_path(work.txn, work.settings, work.permit, work.temporary);
    Ok(())
}

impl Session {
    /// DISCARD TEMP: drops what is temporary.
    pub(super) fn discard_temporary(&mut self) -> Result<()> {
        if !self.temporary.used {
            return Ok(());
        }
        self.in_statement(|work| {
            let Some(schema) = work.temporary.schema(work.txn) else { return Ok(()) };
            let name = work.temporary.name.clone();
            drop_contents(work.txn, schema, &name, true, &mut Vec::new())
        })
    }

    /// The end of the session: what is temporary goes. What cannot go now goes when the database is opened again.
    pub(super) fn end_temporary(&mut self) {
        if !self.temporary.used {
            return;
        }
        drop(self.block.take());
        let schema = self.temporary.name.clone();
        if drop_schema(&self.db, &schema).is_ok() {
            self.db.forget();
        }
    }
}

impl SqlEngine {
    /// Drops the temporary relations of sessions that a crash has ended: for who has just opened the database.
    pub fn drop_leftovers(&self) {
        let Ok(txn) = self.kernel().begin() else { return };
        let is_left =
            |object: &Arc<Object>| object.kind == ObjectKind::Schema && object.name.starts_with(TEMPORARY_PREFIX);
        let left: Vec<String> = match txn.has_objects(ObjectKind::Schema) {
            true => txn.objects().into_iter().filter(is_left).map(|object| object.name.clone()).collect(),
            false => Vec::new(),
        };
        txn.rollback();
        for schema in left {
            // Where nothing can be written nobody finds them all the same (invariant 1).
            let _ = drop_schema(self, &schema);
        }
    }
}

/// Drops a session's schema with all that is in it, in a transaction of its own.
fn drop_schema(db: &SqlEngine, name: &str) -> Result<()> {
    let mut txn = db.kernel().begin()?;
    txn.set_durability(Durability::Async);
    let Some(schema) = txn.object(ObjectKind::Schema, SchemaId::PUBLIC, name) else {
        txn.rollback();
        return Ok(());
    };
    drop_contents(&mut txn, SchemaId(schema.id), name, true, &mut Vec::new())?;
    txn.drop_object(&schema)?;
    let since = txn.ddl_since(0);
    adopt(&mut txn, &crate::rights::Permit::default(), &since)?;
    txn.commit().map(|_| ())
}
