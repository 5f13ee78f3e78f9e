//! TRUNCATE, VACUUM, ANALYZE, DISCARD, CHECKPOINT.

use std::sync::Arc;

use sqlparser::ast::{CascadeOption, DiscardObject, ObjectName, Truncate, TruncateIdentityOption};
use weft_format::{Code, Error, Result, TableId};
use weft_kernel::TableRef;
use weft_pgcatalog::rights::Rights;

use super::Session;
use super::answers::unsupported;
use crate::ddl::dependents::is_materialized;
use crate::ddl::{self, sequence};
use crate::notice::Notice;
use crate::outcome::{Outcome, Tag};
use crate::parse::table_name;
use crate::resolve;
use crate::rights::Need;

/// TRUNCATE: the tables are stored anew, without rows.
pub(super) fn truncate(session: &mut Session, truncate: &Truncate) -> Result<Outcome> {
    if truncate.partitions.is_some() || truncate.on_cluster.is_some() {
        return Err(session.fail(unsupported("this form of TRUNCATE")));
    }
    session.in_statement(|work| {
        work.check_writable("TRUNCATE TABLE")?;
        let mut tables: Vec<TableRef> = Vec::new();
        for target in &truncate.table_names {
            let name = table_name(&target.name)?;
            let table = resolve::table(work.txn, &name)?;
            if is_materialized(&table.def) {
                return Err(Error::new(Code::WrongObjectType, format!("\"{}\" is not a table", table.def.name)));
            }
            if !tables.iter().any(|known| known.id() == table.id()) {
                tables.push(table);
            }
        }
        let cascade = truncate.cascade == Some(CascadeOption::Cascade);
        let mut at = 0;
        while let Some(table) = tables.get(at).cloned() {
            let all: Vec<usize> = (0..table.def.schema.columns.len()).collect();
            for (child, _) in work.txn.referring_to(&table, &all) {
                if tables.iter().any(|known| known.id() == child.id()) {
                    continue;
                }
                if !cascade {
                    let (child, name) = (&child.def.name, &table.def.name);
                    let hint = format!(
                        "Table \"{child}\" references \"{name}\". Truncate table \"{child}\" at the same time, or use \
                         TRUNCATE ... CASCADE."
                    );
                    let message = "cannot truncate a table referenced in a foreign key constraint";
                    return Err(Error::new(Code::FeatureNotSupported, message).hint(hint));
                }
                work.notices.push(Notice::plain(format!("truncate cascades to table \"{}\"", child.def.name)));
                tables.push(child);
            }
            at += 1;
        }
        for table in &tables {
            work.permit.check_need(&Need::of_table(&table.def, Rights::TRUNCATE))?;
            if truncate.identity == Some(TruncateIdentityOption::Restart) {
                work.permit.check_owns_table(table)?;
            }
        }
        let ids: Vec<TableId> = tables.iter().map(TableRef::id).collect();
        for id in ids {
            // Another one's turn may have changed its foreign keys.
            let Some(table) = work.txn.table_of(id) else { continue };
            if truncate.identity == Some(TruncateIdentityOption::Restart) {
                sequence::restart_owned(work.txn, table.def.oid)?;
            }
            ddl::truncate(work.txn, &table)?;
        }
        Ok(Outcome::done(Tag::Done("TRUNCATE TABLE")))
    })
}

/// Freezes what is in memory and runs all jobs that are offered.
pub(super) fn vacuum(session: &mut Session, tables: &[ObjectName], with_analyze: bool) -> Result<Outcome> {
    if session.in_transaction() {
        let message = "VACUUM cannot run inside a transaction block";
        return Err(session.fail(Error::new(Code::ActiveTransaction, message)));
    }
    check_tables(session, tables)?;
    if !may_vacuum(session, tables, "vacuum")? {
        return Ok(Outcome::done(Tag::Done("VACUUM")));
    }
    let kernel = session.db.kernel();
    kernel.freeze()?;
    kernel.run_jobs()?;
    if with_analyze {
        count_columns(session, tables)?;
    }
    Ok(Outcome::done(Tag::Done("VACUUM")))
}

/// What the values of columns are like is known as files are written; of rows that are in none it is counted now.
pub(super) fn analyze(session: &mut Session, tables: &[ObjectName]) -> Result<Outcome> {
    check_tables(session, tables)?;
    if may_vacuum(session, tables, "analyze")? {
        count_columns(session, tables)?;
    }
    Ok(Outcome::done(Tag::Done("ANALYZE")))
}

/// The error of a table whose rows could not be counted: those before it were, and what was known of it stays.
fn not_analyzed(table: &TableRef, error: Error) -> Error {
    if error.code() == Code::QueryCanceled {
        return error;
    }
    let message = format!("table {:?} could not be analyzed: {}", table.def.name, error.message());
    let hint =
        error.hint_text().unwrap_or("what was known of its columns before stays; queries on it are planned by that");
    Error::new(error.code(), message).hint(hint)
}

/// Of the tables that are named, or of all, those that the role owns. When all are meant, one that cannot be counted
/// keeps no other from being counted; the first error is told at the end.
fn count_columns(session: &mut Session, tables: &[ObjectName]) -> Result<()> {
    session.in_statement(|work| {
        let counted: Vec<TableRef> = if tables.is_empty() {
            let all = work.txn.tables();
            all.iter().filter_map(|def| work.txn.table_of(def.id)).collect()
        } else {
            tables.iter().map(|name| resolve::table(work.txn, &table_name(name)?)).collect::<Result<_>>()?
        };
        let owned: Vec<TableRef> =
            counted.into_iter().filter(|table| work.permit.check_owns_table(table).is_ok()).collect();
        let mut failed = None;
        for table in owned {
            work.txn.check_goes_on()?;
            let counted = table.count_columns(&mut || work.txn.check_goes_on());
            if let Err(error) = counted {
                let error = not_analyzed(&table, error);
                if !tables.is_empty() || error.code() == Code::QueryCanceled {
                    return Err(error);
                }
                failed = failed.or(Some(error));
            }
        }
        failed.map_or(Ok(()), Err)
    })
}

/// Whether the role owns some of the tables, or the database when none is named; a warning for each that it does not.
fn may_vacuum(session: &mut Session, tables: &[ObjectName], verb: &str) -> Result<bool> {
    session.in_statement(|work| {
        if tables.is_empty() {
            return Ok(work.permit.check_owns_database(&work.settings.database).is_ok());
        }
        let mut may = false;
        for name in tables {
            let table = resolve::table(work.txn, &table_name(name)?)?;
            if work.permit.check_owns_table(&table).is_ok() {
                may = true;
                continue;
            }
            let message = format!("permission denied to {verb} \"{}\", skipping it", table.def.name);
            work.notices.push(Notice::warning("42501", message));
        }
        Ok(may)
    })
}

fn check_tables(session: &mut Session, tables: &[ObjectName]) -> Result<()> {
    session.in_statement(|work| {
        tables.iter().try_for_each(|name| resolve::table(work.txn, &table_name(name)?).map(|_| ()))
    })
}

pub(super) fn checkpoint(session: &mut Session) -> Result<Outcome> {
    let may = session.in_statement(|work| Ok(work.permit.has_role("pg_checkpoint")))?;
    if !may {
        let message = "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT";
        return Err(session.fail(Error::new(Code::InsufficientPrivilege, message)));
    }
    session.db.kernel().checkpoint()?;
    Ok(Outcome::done(Tag::Done("CHECKPOINT")))
}

/// DISCARD
pub(super) fn discard(session: &mut Session, what: &DiscardObject) -> Result<Outcome> {
    let tag = match what {
        DiscardObject::ALL => {
            if session.in_transaction() {
                let message = "DISCARD ALL cannot run inside a transaction block";
                return Err(session.fail(Error::new(Code::ActiveTransaction, message)));
            }
            // Who logged in, too.
            session.settings = Arc::clone(&session.defaults);
            session.named.clear();
            session.of_client.clear();
            session.cursors.clear();
            session.numbers.forget();
            session.locks.release_all();
            session.discard_temporary()?;
            "DISCARD ALL"
        }
        DiscardObject::PLANS => {
            session.db.forget();
            "DISCARD PLANS"
        }
        DiscardObject::SEQUENCES => {
            session.numbers.forget();
            "DISCARD SEQUENCES"
        }
        DiscardObject::TEMP => {
            session.discard_temporary()?;
            "DISCARD TEMP"
        }
    };
    Ok(Outcome::done(Tag::Done(tag)))
}
