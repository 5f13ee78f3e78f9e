//! Statements that define: CREATE and DROP of tables and indexes.

use sqlparser::ast::{CreateIndex, CreateTable, ObjectName, Statement};
use weft_format::{Code, Error, Result};
use weft_kernel::index::NewIndex;
use weft_kernel::{TableRef, Transaction};

use super::Session;
use super::utility::with_context;
use crate::ddl;
use crate::dml::PreparedWrite;
use crate::outcome::{Outcome, Tag};
use crate::parse::{Parsed, table_name};
use crate::settings::EngineChoice;

pub(super) fn create_table(
    session: &mut Session,
    create: &CreateTable,
    method: Option<&str>,
    source: &str,
) -> Result<Outcome> {
    let engine = session.settings.engine;
    session.in_statement(|work| {
        work.check_writable("CREATE TABLE")?;
        let name = table_name(&create.name)?;
        if create.if_not_exists && is_taken(work.txn, &name) {
            return Ok(Outcome::done(Tag::Done("CREATE TABLE")));
        }
        let Some(query) = &create.query else {
            let (table, uniques) = ddl::new_table(work.txn, create, method, source)?;
            check_free(work.txn, &table.name)?;
            let table = work.txn.create_table(table)?;
            create_uniques(work.txn, &table, uniques)?;
            return Ok(Outcome::done(Tag::Done("CREATE TABLE")));
        };
        if engine == EngineChoice::Row {
            return Err(Error::new(Code::FeatureNotSupported, "the row engine cannot run CREATE TABLE AS")
                .hint("SET engine = auto"));
        }
        let columns_engine = work.db.columns()?;
        let prepared = columns_engine.prepare(&*work.txn, &Statement::Query(query.clone()), source)?;
        check_free(work.txn, &name)?;
        // The query's snapshot is taken before the new table is there, so it cannot read it.
        let table = work.txn.create_table(ddl::table_of_query(create, method, prepared.columns())?)?;
        let insert = insert_of_query(&table.def.name, query)?;
        let filling = PreparedWrite::prepare(&columns_engine, &*work.txn, &insert, source)?;
        let filled = with_context(work, |context| filling.execute(context))?;
        Ok(Outcome::done(Tag::Select(filled.tag.row_count())))
    })
}

/// `INSERT INTO "table" query`
fn insert_of_query(table: &str, query: &sqlparser::ast::Query) -> Result<Statement> {
    let quoted = table.replace('"', "\"\"");
    match crate::parse::parse(&format!("INSERT INTO \"{quoted}\" {query}"))?.pop() {
        Some(Parsed::Sql { statement, .. }) => Ok(*statement),
        _ => Err(Error::internal("an INSERT made from a query is one statement")),
    }
}

pub(super) fn drop_tables(session: &mut Session, names: &[ObjectName], if_exists: bool) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable("DROP TABLE")?;
        let mut names = names.iter().map(table_name).collect::<Result<Vec<String>>>()?;
        // A table is younger than those that it refers to.
        names.sort_by_key(|name| work.txn.table(name).ok().map(|table| std::cmp::Reverse(table.id())));
        for name in names {
            if work.txn.index(&name).is_some() {
                let error = Error::new(Code::WrongObjectType, format!("\"{name}\" is not a table"));
                return Err(error.hint("use DROP INDEX to remove an index"));
            }
            match work.txn.drop_table(&name) {
                Err(error) if if_exists && error.code() == Code::UndefinedTable => {}
                result => result?,
            }
        }
        Ok(Outcome::done(Tag::Done("DROP TABLE")))
    })
}

/// Makes the indexes of UNIQUE constraints.
fn create_uniques(txn: &mut Transaction, table: &TableRef, uniques: Vec<ddl::NewUnique>) -> Result<()> {
    for ddl::NewUnique { name, columns } in uniques {
        let name = name.unwrap_or_else(|| {
            let schema = &table.def.schema;
            let names: Vec<&str> = columns.iter().map(|&ordinal| schema.columns[ordinal].name.as_str()).collect();
            let is_taken = |name: &str| is_taken(txn, name) || table.def.primary_key.as_deref() == Some(name);
            ddl::free_name(&format!("{}_{}", table.def.name, names.join("_")), "key", &is_taken)
        });
        check_free(txn, &name)?;
        txn.create_index(table, NewIndex { constraint: true, ..NewIndex::new(name, columns, true) })?;
    }
    Ok(())
}

fn is_taken(txn: &Transaction, name: &str) -> bool {
    txn.table(name).is_ok() || txn.index(name).is_some()
}

/// An error when a table or an index has the name.
fn check_free(txn: &Transaction, name: &str) -> Result<()> {
    if !is_taken(txn, name) {
        return Ok(());
    }
    Err(Error::new(Code::DuplicateTable, format!("relation \"{name}\" already exists")).about(name, None, None))
}

pub(super) fn create_index(
    session: &mut Session,
    create: &CreateIndex,
    method: Option<&str>,
    source: &str,
) -> Result<Outcome> {
    if create.concurrently && session.in_transaction() {
        let message = "CREATE INDEX CONCURRENTLY cannot run inside a transaction block";
        let error = Error::new(Code::ActiveTransaction, message);
        return Err(session.fail(error.hint("leave CONCURRENTLY out: writes go on in any case")));
    }
    session.in_statement(|work| {
        work.check_writable("CREATE INDEX")?;
        let name = table_name(&create.table_name)?;
        if work.txn.index(&name).is_some() {
            let error = Error::new(Code::WrongObjectType, format!("cannot create index on relation \"{name}\""));
            return Err(error.hint("this operation is not supported for indexes"));
        }
        let table = work.txn.table(&name)?;
        let new = ddl::new_index(create, method, &table, source, &|name| is_taken(work.txn, name))?;
        if create.if_not_exists && is_taken(work.txn, &new.name) {
            return Ok(Outcome::done(Tag::Done("CREATE INDEX")));
        }
        check_free(work.txn, &new.name)?;
        work.txn.create_index(&table, new)?;
        Ok(Outcome::done(Tag::Done("CREATE INDEX")))
    })
}

pub(super) fn drop_indexes(session: &mut Session, names: &[ObjectName], if_exists: bool) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable("DROP INDEX")?;
        for name in names {
            let name = table_name(name)?;
            match work.txn.index(&name) {
                Some((table, index)) if index.is_constraint() => return Err(of_constraint(&name, &table.def.name)),
                Some(_) => work.txn.drop_index(&name)?,
                None => check_no_index(work.txn, &name, if_exists)?,
            }
        }
        Ok(Outcome::done(Tag::Done("DROP INDEX")))
    })
}

/// What DROP INDEX says of a name that is no index.
fn check_no_index(txn: &Transaction, name: &str, if_exists: bool) -> Result<()> {
    if txn.table(name).is_ok() {
        let error = Error::new(Code::WrongObjectType, format!("\"{name}\" is not an index"));
        return Err(error.hint("use DROP TABLE to remove a table"));
    }
    if let Some(def) = txn.tables().iter().find(|def| def.primary_key.as_deref() == Some(name)) {
        return Err(of_constraint(name, &def.name));
    }
    if if_exists {
        return Ok(());
    }
    Err(Error::new(Code::UndefinedObject, format!("index \"{name}\" does not exist")))
}

fn of_constraint(name: &str, table: &str) -> Error {
    let message = format!("cannot drop index {name} because constraint {name} on table {table} requires it");
    Error::new(Code::DependentObjects, message).hint("it goes with its table").about(table, None, Some(name))
}
