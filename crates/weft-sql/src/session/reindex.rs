//! REINDEX: indexes dropped and made again from the rows of their tables, under their names and numbers.
//!
//! Whoever writes to a table waits from the time that its indexes are made until the statement's transaction ends, with
//! CONCURRENTLY, too. A primary key is the order of its table: there is nothing to make.

use sqlparser::ast::ObjectName;
use weft_format::{Code, Error, Result};
use weft_kernel::{SchemaId, TableRef};

use super::Session;
use super::work::Work;
use crate::notice::Notice;
use crate::outcome::{Outcome, Tag};
use crate::parse::{Reindex, Reindexed, fold, table_name};
use crate::resolve::{self, Relation};

/// REINDEX
pub(super) fn run(session: &mut Session, reindex: &Reindex) -> Result<Outcome> {
    let alone = match reindex.of {
        _ if reindex.concurrently => Some("REINDEX CONCURRENTLY"),
        Reindexed::Schema => Some("REINDEX SCHEMA"),
        Reindexed::Database => Some("REINDEX DATABASE"),
        Reindexed::Index | Reindexed::Table => None,
    };
    if let Some(what) = alone.filter(|_| session.in_transaction()) {
        let message = format!("{what} cannot run inside a transaction block");
        return Err(session.fail(Error::new(Code::ActiveTransaction, message)));
    }
    session.in_statement(|work| {
        work.check_writable("REINDEX")?;
        match reindex.of {
            Reindexed::Index => one(work, &table_name(&reindex.name)?)?,
            Reindexed::Table => of_table(work, &table_name(&reindex.name)?)?,
            Reindexed::Schema => {
                let name = plain(&reindex.name)?;
                let schema = resolve::schema_of(work.txn, &name).ok_or_else(|| resolve::no_schema(&name))?;
                work.permit.check_owns_schema(schema, &name)?;
                of_tables(work, Some(schema))?;
            }
            Reindexed::Database => {
                let name = plain(&reindex.name)?;
                if name != work.settings.database {
                    let message = "can only reindex the currently open database";
                    return Err(Error::new(Code::FeatureNotSupported, message));
                }
                work.permit.check_owns_database(&name)?;
                of_tables(work, None)?;
            }
        }
        Ok(Outcome::done(Tag::Done("REINDEX")))
    })
}

/// A name without a schema.
fn plain(name: &ObjectName) -> Result<String> {
    match name.0.as_slice() {
        [part] => part.as_ident().map(fold),
        _ => None,
    }
    .ok_or_else(|| Error::new(Code::SyntaxError, format!("{name} has a schema")))
}

fn one(work: &mut Work<'_>, name: &str) -> Result<()> {
    match resolve::relation(work.txn, name) {
        Some(Relation::Index(table, index)) => {
            work.permit.check_owns(&Relation::Index(table.clone(), index.clone()))?;
            work.txn.rebuild_index(table.def.namespace, &index.name())
        }
        Some(Relation::Columns(table, columns)) => {
            work.permit.check_owns(&Relation::Columns(table, columns.clone()))?;
            work.txn.rebuild_column_index(columns.def.namespace, &columns.def.name)
        }
        Some(_) => {
            let message = format!("\"{}\" is not an index", resolve::shown(name));
            Err(Error::new(Code::WrongObjectType, message))
        }
        None => match table_of_key(work, name) {
            Some(table) => work.permit.check_owns_table(&table),
            None => Err(resolve::undefined(name)),
        },
    }
}

/// The table whose primary key has a name.
fn table_of_key(work: &Work<'_>, name: &str) -> Option<TableRef> {
    let (schema, own) = resolve::split(name);
    let schemas: Vec<SchemaId> = match schema {
        Some(schema) => resolve::schema_of(work.txn, schema).into_iter().collect(),
        None => work.txn.search_path().to_vec(),
    };
    let tables = work.txn.tables();
    let def = tables.iter().find(|def| schemas.contains(&def.namespace) && def.primary_key.as_deref() == Some(own))?;
    work.txn.table_of(def.id)
}

fn of_table(work: &mut Work<'_>, name: &str) -> Result<()> {
    let table = match resolve::relation(work.txn, name) {
        Some(Relation::Table(table)) => table,
        None if table_of_key(work, name).is_none() => return Err(resolve::undefined(name)),
        _ => {
            let message = format!("\"{}\" is not a table or materialized view", resolve::shown(name));
            return Err(Error::new(Code::WrongObjectType, message));
        }
    };
    work.permit.check_owns_table(&table)?;
    let count = all_of(work, &table)?;
    if count == 0 && table.def.primary_key.is_none() {
        let message = format!("table \"{}\" has no indexes to reindex", table.def.name);
        work.notices.push(Notice::plain(message));
    }
    Ok(())
}

fn of_tables(work: &mut Work<'_>, schema: Option<SchemaId>) -> Result<()> {
    for def in work.txn.tables() {
        let is_wanted = schema.is_none_or(|schema| schema == def.namespace);
        if let Some(table) = work.txn.table_of(def.id).filter(|_| is_wanted) {
            all_of(work, &table)?;
        }
    }
    Ok(())
}

/// Makes the indexes of a table again: how many there are.
fn all_of(work: &mut Work<'_>, table: &TableRef) -> Result<usize> {
    let indexes = work.txn.indexes_of(table);
    for index in &indexes {
        work.txn.rebuild_index(index.def.namespace, &index.def.name)?;
    }
    let columns = work.txn.column_indexes_of(table);
    for index in &columns {
        work.txn.rebuild_column_index(index.def.namespace, &index.def.name)?;
    }
    Ok(indexes.len() + columns.len())
}
