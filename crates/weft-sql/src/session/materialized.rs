//! Materialised views: tables of what a query gave.
//!
//! ```text
//!   CREATE MATERIALIZED VIEW m AS SELECT ...     table m, property materialized = the query, populated = yes
//!                                                and a view "␀17" of m's number, which needs what the query reads
//!   REFRESH MATERIALIZED VIEW m                  m is stored anew, from the query
//!   ... WITH NO DATA                             populated = no: who reads m gets 55000
//! ```
//!
//! 1. The rows of one are changed by REFRESH alone.
//! 2. Its query is stored as that of a view is (views), and read with the rights of its owner, whoever asks.
//! 3. Readers go on with their snapshots while it runs; with or without CONCURRENTLY it is the same.

use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{ColumnDef, CreateView, DataType as SqlType, Ident, ObjectName, Query, Statement};
use weft_format::{Code, Error, Result};
use weft_kernel::{NewTable, Object, ObjectKind, TableRef};

use super::Session;
use super::answers::unsupported;
use super::definitions::{insert_of_query, method_of_session};
use super::views::{column_names, lock_needs, names_and_types, write_columns};
use super::work::{Work, with_context};
use crate::ddl::dependents::{MATERIALIZED, POPULATED, companion_name, is_materialized, is_populated};
use crate::ddl::{self, emptied};
use crate::dml::PreparedWrite;
use crate::expansion::{expand_unread, expand_views, qualified_query, reads_temporary};
use crate::functions;
use crate::notice::Notice;
use crate::outcome::{Outcome, Tag};
use crate::parse::{Parsed, Refresh, parse, table_name, written};
use crate::resolve::{self, Relation};
use crate::rights::Permit;
use crate::types;
use crate::view_columns::SEPARATOR;

/// CREATE MATERIALIZED VIEW
pub(super) fn create(
    session: &mut Session,
    create: &CreateView,
    method: Option<&str>,
    source: &str,
) -> Result<Outcome> {
    if create.or_replace || create.temporary || create.or_alter || create.secure {
        return Err(session.fail(unsupported("this CREATE MATERIALIZED VIEW")));
    }
    let with_data = !create.copy_grants;
    let preferred = method_of_session(session);
    let method = method.or(preferred.as_deref());
    session.in_statement(|work| {
        work.check_writable("CREATE MATERIALIZED VIEW")?;
        let create = &*types::fixed(work.txn, create)?;
        types::hold(work.txn, create)?;
        let (namespace, name) = resolve::creation(work.txn, &table_name(&create.name)?)?;
        work.permit.check_creates_in(work.txn, namespace)?;
        if resolve::is_taken(work.txn, namespace, &name) {
            let message = format!("relation \"{name}\" already exists");
            if !create.if_not_exists {
                return Err(Error::new(Code::DuplicateTable, message).about(&name, None, None));
            }
            work.notices.push(Notice { sqlstate: "42P07", ..Notice::plain(format!("{message}, skipping")) });
            return Ok(Outcome::done(Tag::Done("CREATE MATERIALIZED VIEW")));
        }
        if reads_temporary(work.txn, &create.query)? {
            let message = "materialized views must not use temporary tables or views";
            return Err(Error::new(Code::FeatureNotSupported, message));
        }
        let (mut query, needs) = qualified_query(work.txn, &*functions::fixed(work.txn, &*create.query)?)?;
        let reading = Statement::Query(Box::new(query.clone()));
        work.permit.check_statement(work.txn, &reading)?;
        let described = expand_unread(work.txn, &query)?;
        let prepared = work.db.queries()?.prepare(&*work.txn, &described, source, &work.local)?;
        let (mut from, types) = names_and_types(prepared.columns());
        let names = column_names(create, &from)?;
        if write_columns(work, &mut query, (&from, &types), &names, source) {
            from.clone_from(&names);
        }
        let (mut new, notices) = ddl::table_of_query(work.txn, &table_of(create, &names), method, prepared.columns())?;
        work.notices.extend(notices);
        new.properties.insert(MATERIALIZED.into(), written(&query));
        note_populated(&mut new, with_data);
        lock_needs(work, &needs)?;
        types::hold_columns(work.txn, &new.schema)?;
        let table = work.txn.create_table(new)?;
        let mut companion = Object::new(ObjectKind::View, namespace, companion_name(table.def.oid));
        companion.properties.insert(MATERIALIZED.into(), name);
        companion.properties.insert("query".into(), written(&query));
        companion.properties.insert("from".into(), from.join(&SEPARATOR.to_string()));
        companion.needs = needs;
        work.txn.put_object(companion)?;
        if !with_data {
            return Ok(Outcome::done(Tag::Done("CREATE MATERIALIZED VIEW")));
        }
        fill(work, &table, &query, source).map(|count| Outcome::done(Tag::Select(count)))
    })
}

fn note_populated(new: &mut NewTable, with_data: bool) {
    new.properties.insert(POPULATED.into(), if with_data { "yes" } else { "no" }.into());
}

/// The CREATE TABLE AS of the same name, columns and options.
fn table_of(create: &CreateView, names: &[String]) -> sqlparser::ast::CreateTable {
    let bare = |name: &String| ColumnDef {
        name: Ident::with_quote('"', name),
        data_type: SqlType::Unspecified,
        options: Vec::new(),
    };
    let builder = CreateTableBuilder::new(create.name.clone()).columns(names.iter().map(bare).collect());
    builder.table_options(create.options.clone()).build()
}

/// Runs the query into the table, which is empty.
fn fill(work: &mut Work<'_>, table: &TableRef, query: &Query, source: &str) -> Result<u64> {
    let reading = Statement::Query(Box::new(query.clone()));
    let Statement::Query(expanded) = expand_views(work.txn, &reading)?.into_owned() else {
        return Err(Error::internal("a query stays one"));
    };
    let insert = insert_of_query(&resolve::full_name(work.txn, &table.def), &expanded)?;
    let queries = work.db.queries()?;
    let filling = PreparedWrite::prepare(&*queries, &*work.txn, &insert, source, &work.local)?;
    Ok(with_context(work, |context| filling.execute(context))?.tag.row_count())
}

/// REFRESH MATERIALIZED VIEW
pub(super) fn refresh(session: &mut Session, refresh: &Refresh, source: &str) -> Result<Outcome> {
    if refresh.concurrently && !refresh.with_data {
        let message = "CONCURRENTLY and WITH NO DATA options cannot be used together";
        return Err(session.fail(Error::new(Code::SyntaxError, message)));
    }
    session.in_statement(|work| {
        work.check_writable("REFRESH MATERIALIZED VIEW")?;
        let table = named(work, &refresh.name)?;
        work.permit.check_owns_table(&table)?;
        if refresh.concurrently {
            check_concurrently(work, &table)?;
        }
        let damaged = || Error::corrupt(format!("the query of materialized view \"{}\" is damaged", table.def.name));
        let text = table.def.properties.get(MATERIALIZED).ok_or_else(damaged)?;
        let Some(Parsed::Sql { statement, .. }) = parse(text)?.pop() else { return Err(damaged()) };
        if refresh.with_data {
            Permit::check_as_owner(work.db, work.txn, table.def.oid, &statement)?;
        }
        let Statement::Query(query) = *statement else { return Err(damaged()) };
        let made = emptied(work.txn, &table, |new| note_populated(new, refresh.with_data))?;
        if refresh.with_data {
            fill(work, &made, &query, source)?;
        }
        Ok(Outcome::done(Tag::Done("REFRESH MATERIALIZED VIEW")))
    })
}

/// The materialised view of a name.
fn named(work: &Work<'_>, name: &ObjectName) -> Result<TableRef> {
    let name = table_name(name)?;
    match resolve::relation(work.txn, &name) {
        Some(Relation::Table(table)) if is_materialized(&table.def) => Ok(table),
        Some(other) => {
            let message = format!("\"{}\" is not a materialized view", resolve::shown(&name));
            let is_table = matches!(other, Relation::Table(_));
            Err(Error::new(if is_table { Code::FeatureNotSupported } else { Code::WrongObjectType }, message))
        }
        None => Err(resolve::undefined(&name)),
    }
}

/// PostgreSQL tells old rows from new ones by a unique index; here nothing is told apart, but scripts that would fail
/// there fail here, too.
fn check_concurrently(work: &Work<'_>, table: &TableRef) -> Result<()> {
    if !is_populated(&table.def) {
        let message = "CONCURRENTLY cannot be used when the materialized view is not populated";
        return Err(Error::new(Code::FeatureNotSupported, message));
    }
    let indexes = work.txn.indexes_of(table);
    if indexes.iter().any(|index| index.index.is_unique() && !index.index.is_partial()) {
        return Ok(());
    }
    let schema = resolve::schema_name(work.txn, table.def.namespace);
    let message = format!("cannot refresh materialized view \"{schema}.{}\" concurrently", table.def.name);
    let hint = "Create a unique index with no WHERE clause on one or more columns of the materialized view.";
    Err(Error::new(Code::NotInPrerequisiteState, message).hint(hint))
}
