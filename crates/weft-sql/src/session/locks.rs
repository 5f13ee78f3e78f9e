//! LOCK TABLE: PostgreSQL's modes as the kernel's lock of a table.
//!
//! ```text
//!   ACCESS SHARE, ROW SHARE, ROW EXCLUSIVE     shared      beside all who write rows; nobody alters or drops the table
//!   all stronger ones                          exclusive   beside nobody who writes rows, or holds the shared one
//! ```
//!
//! 1. Whoever PostgreSQL keeps out is kept out, but for those who only read: they need no lock, for they read a
//!    snapshot.
//! 2. At REPEATABLE READ the snapshot is taken after the locks, as in PostgreSQL: a LOCK that comes first sees what
//!    those it waited for wrote.

use weft_format::{Code, Error, Result};
use weft_kernel::{LockMode, ObjectKind, TableRef, Transaction, Wait};
use weft_pgcatalog::rights::Rights;

use super::Session;
use crate::ddl::dependents::is_materialized;
use crate::outcome::{Outcome, Tag};
use crate::parse::{LockTables, TableLock, table_name};
use crate::resolve::{self, Relation};
use crate::rights::{Need, Permit};

/// How deep views may lie within views.
const NESTING_MAX: usize = 64;

/// Runs LOCK TABLE.
pub(super) fn lock(session: &mut Session, lock: &LockTables) -> Result<Outcome> {
    let Some(begun) = session.block.as_ref().map(|block| block.started) else {
        let error = Error::new(Code::NoActiveTransaction, "LOCK TABLE can only be used in transaction blocks");
        return Err(session.fail(error.hint("BEGIN starts one")));
    };
    session.in_statement(|work| {
        let mode = if lock.mode <= TableLock::RowExclusive { LockMode::SHARED } else { LockMode::EXCLUSIVE };
        // It would keep nobody from anything: who writes is elsewhere.
        if mode == LockMode::EXCLUSIVE && work.db.kernel().is_follower() {
            let message = "cannot execute LOCK TABLE during recovery";
            return Err(Error::new(Code::ReadOnlyTransaction, message)
                .hint("on a node that follows a table can be locked up to ROW EXCLUSIVE MODE"));
        }
        let wait = if lock.nowait { Wait::Never } else { work.txn.lock_wait() };
        for name in &lock.names {
            let mut tables = Vec::new();
            let found = relation(work.txn, &table_name(name)?)?;
            check_rights(work.permit, &found, lock.mode)?;
            tables_of(work.txn, &found, &mut tables, 0)?;
            for table in &tables {
                work.txn.lock_whole(table, mode, wait)?;
            }
        }
        Ok(())
    })?;
    if let (false, Some(block)) = (begun, &mut session.block) {
        // Invariant 2: the next statement takes a snapshot of its own.
        block.started = false;
    }
    Ok(Outcome::done(Tag::Done("LOCK TABLE")))
}

fn relation(txn: &Transaction, name: &str) -> Result<Relation> {
    let found = resolve::relation(txn, name).ok_or_else(|| resolve::undefined(name))?;
    let is_sequence = matches!(&found, Relation::Object(object) if object.kind == ObjectKind::Sequence);
    let is_materialized = matches!(&found, Relation::Table(table) if is_materialized(&table.def));
    if is_sequence || is_materialized || matches!(found, Relation::Index(..) | Relation::Columns(..)) {
        let message = format!("\"{}\" is not a table or view", resolve::shown(name));
        return Err(Error::new(Code::WrongObjectType, message).hint("lock the table that it belongs to"));
    }
    Ok(found)
}

/// Some right to write is needed for what keeps writers out, and that to read for the weakest mode.
fn check_rights(permit: &Permit, relation: &Relation, mode: TableLock) -> Result<()> {
    let any: &[Rights] = match mode {
        TableLock::AccessShare => &[Rights::SELECT],
        TableLock::RowExclusive => &[Rights::UPDATE, Rights::DELETE, Rights::TRUNCATE, Rights::INSERT],
        _ => &[Rights::UPDATE, Rights::DELETE, Rights::TRUNCATE],
    };
    let need = |rights: Rights| match relation {
        Relation::Table(table) | Relation::Index(table, _) | Relation::Columns(table, _) => {
            Need::of_table(&table.def, rights)
        }
        Relation::Object(object) => Need::of_object(object, rights),
    };
    let mut result = Ok(());
    for rights in any {
        result = permit.check_need(&need(*rights));
        if result.is_ok() {
            break;
        }
    }
    result
}

/// A table, or those that a view reads.
fn tables_of(txn: &Transaction, relation: &Relation, tables: &mut Vec<TableRef>, depth: usize) -> Result<()> {
    let view = match relation {
        Relation::Table(table) => {
            tables.push(table.clone());
            return Ok(());
        }
        Relation::Object(view) if depth < NESTING_MAX => view,
        _ => return Ok(()),
    };
    for id in &view.needs {
        if let Some(object) = txn.object_of(*id) {
            tables_of(txn, &Relation::Object(object), tables, depth + 1)?;
        } else if let Some(def) = txn.tables().iter().find(|def| def.oid == *id)
            && let Some(table) = txn.table_of(def.id)
        {
            tables.push(table);
        }
    }
    Ok(())
}
