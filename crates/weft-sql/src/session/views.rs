//! Views: CREATE VIEW, and queries that name them.
//!
//! ```text
//!   CREATE VIEW v (x) AS SELECT a FROM t    query: SELECT a FROM public.t     columns: a as x
//!   SELECT * FROM v WHERE x > 1     SELECT * FROM (SELECT "a" AS "x" FROM (SELECT a FROM public.t) AS "v") AS v
//! ```
//!
//! A view is its text, with the schemas of the relations that it names and the columns of its stars written out, and
//! the columns that it had when it was made. Whoever names it gets it as a subquery.

use std::sync::Arc;

use sqlparser::ast::{CreateTableOptions, CreateView, Query, SqlOption};
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::{Object, ObjectKind, SchemaId, Transaction};

use super::answers::unsupported;
use super::work::Work;
use super::{Session, stars, temporary};
use crate::expansion::{expand_unread, qualified_query, reads_temporary};
use crate::functions;
use crate::notice::Notice;
use crate::outcome::{Outcome, OutputColumn, Tag};
use crate::parse::{fold, table_name, written};
use crate::resolve::{self, Relation};
use crate::types;
use crate::updatable;
use crate::view_columns::{OPTIONS, SEPARATOR, boolean};

/// CREATE VIEW
pub(super) fn create(session: &mut Session, create: &CreateView, source: &str) -> Result<Outcome> {
    let refused =
        [(create.or_alter || create.secure || create.to.is_some() || create.params.is_some(), "this CREATE VIEW")];
    if let Some((_, what)) = refused.iter().find(|(found, _)| *found) {
        return Err(session.fail(unsupported(what)));
    }
    // WITH NO DATA is noted there.
    if create.copy_grants {
        let error = Error::new(Code::SyntaxError, "syntax error at or near \"NO\"");
        return Err(session.fail(error.hint("a view has no data of its own: CREATE MATERIALIZED VIEW")));
    }
    session.in_statement(|work| {
        let options = options_of(&create.options)?;
        work.check_writable("CREATE VIEW")?;
        let create = &*types::fixed(work.txn, create)?;
        types::hold(work.txn, create)?;
        let (namespace, name) = place(work, create)?;
        let known = work.txn.object(ObjectKind::View, namespace, &name);
        if resolve::is_taken(work.txn, namespace, &name) && !(create.or_replace && known.is_some()) {
            if create.if_not_exists && known.is_some() {
                work.notices.push(Notice::plain(format!("relation \"{name}\" already exists, skipping")));
                return Ok(Outcome::done(Tag::Done("CREATE VIEW")));
            }
            let (code, message) = match create.or_replace {
                true => (Code::WrongObjectType, format!("\"{name}\" is not a view")),
                false => (Code::DuplicateTable, format!("relation \"{name}\" already exists")),
            };
            return Err(Error::new(code, message));
        }
        if let Some(known) = &known {
            work.permit.check_owns(&Relation::Object(Arc::clone(known)))?;
        }
        let (mut query, needs) = qualified_query(work.txn, &*functions::fixed(work.txn, &*create.query)?)?;
        let (mut from, types) = columns_of_query(work, &query, source)?;
        let columns = column_names(create, &from)?;
        if write_columns(work, &mut query, (&from, &types), &columns, source) {
            from.clone_from(&columns);
        }
        if let Some(known) = &known {
            check_replacement(known, &columns, &types)?;
            if needs.contains(&known.id) {
                let message = format!("infinite recursion detected in rules for relation \"{name}\"");
                return Err(Error::new(Code::InvalidObjectDefinition, message));
            }
        }
        let separator = SEPARATOR.to_string();
        let mut view = known.map_or_else(|| Object::new(ObjectKind::View, namespace, name), |known| (*known).clone());
        let texts = [
            ("query", written(&query)),
            ("from", from.join(&separator)),
            ("columns", columns.join(&separator)),
            ("types", types.join(&separator)),
        ];
        view.properties.extend(texts.into_iter().map(|(name, text)| (name.to_owned(), text)));
        put_options(work.txn, &mut view, &options)?;
        lock_needs(work, &needs)?;
        view.needs = needs;
        work.txn.put_object(view)?;
        Ok(Outcome::done(Tag::Done("CREATE VIEW")))
    })
}

/// What a view reads stays as it is until the view is there.
pub(super) fn lock_needs(work: &mut Work<'_>, needs: &[u32]) -> Result<()> {
    for id in needs {
        if let Some(function) = work.txn.object_of(*id).filter(|object| object.kind == ObjectKind::Function) {
            work.txn.hold_object(&function)?;
        }
        if let Some(table) = work.txn.tables().iter().find(|def| def.oid == *id).map(|def| def.id)
            && let Some(table) = work.txn.table_of(table)
        {
            work.txn.lock_against_ddl(&table)?;
        }
    }
    Ok(())
}

/// The schema in which a view is made, and its name: a temporary one where it says so, or reads one.
fn place(work: &mut Work<'_>, create: &CreateView) -> Result<(SchemaId, String)> {
    let is_named = create.temporary || temporary::names_schema(&create.name);
    if !is_named && !reads_temporary(work.txn, &create.query)? {
        let (namespace, name) = resolve::creation(work.txn, &table_name(&create.name)?)?;
        work.permit.check_creates_in(work.txn, namespace)?;
        return Ok((namespace, name));
    }
    let target = temporary::place(work, &create.name)?;
    let (namespace, name) = resolve::creation(work.txn, &table_name(&target)?)?;
    if !is_named {
        work.notices.push(Notice::plain(format!("view \"{name}\" will be a temporary view")));
    }
    Ok((namespace, name))
}

/// Writes out the stars of a view's query and the names of its columns, as far as it gives the same columns then;
/// whether it has the names.
pub(super) fn write_columns(
    work: &Work<'_>,
    query: &mut Query,
    (from, types): (&[String], &[String]),
    columns: &[String],
    source: &str,
) -> bool {
    let gives = |query: &Query, names: &[String]| {
        columns_of_query(work, query, source).is_ok_and(|(found, its)| found == names && its == types)
    };
    let mut written = query.clone();
    let names_of = |query: Query| Ok(columns_of_query(work, &query, source)?.0);
    // What cannot be written out stays a star, which has the same columns today.
    match stars::write_out(&mut written, &names_of) {
        Ok(true) if gives(&written, from) => query.clone_from(&written),
        _ => written.clone_from(query),
    }
    stars::name_columns(&mut written, columns);
    let is_same = gives(&written, columns);
    if is_same {
        *query = written;
    }
    is_same
}

/// The names and types of the columns of a view's query.
fn columns_of_query(work: &Work<'_>, query: &Query, source: &str) -> Result<(Vec<String>, Vec<String>)> {
    let statement = expand_unread(work.txn, query)?;
    let prepared = work.db.queries()?.prepare(&*work.txn, &statement, source, &work.local)?;
    Ok(names_and_types(prepared.columns()))
}

/// The names of columns, and what their types are called.
pub(super) fn names_and_types(columns: &[OutputColumn]) -> (Vec<String>, Vec<String>) {
    let columns = columns.iter();
    let name_of = |data_type: DataType| match data_type.element().unwrap_or(data_type) {
        // A users' type may get another name.
        DataType::Enum(_) => data_type.to_string(),
        _ => crate::text::type_name(data_type).to_string(),
    };
    columns.map(|column| (column.name.clone(), name_of(column.data_type))).unzip()
}

/// The options of a view as they are kept.
fn options_of(options: &CreateTableOptions) -> Result<Vec<(String, String)>> {
    match options {
        CreateTableOptions::None => Ok(Vec::new()),
        CreateTableOptions::With(options) => read_options(options),
        _ => Err(unsupported("this CREATE VIEW")),
    }
}

/// Options as they are kept, each once.
pub(super) fn read_options(options: &[SqlOption]) -> Result<Vec<(String, String)>> {
    let mut read: Vec<(String, String)> = Vec::new();
    for option in options {
        let SqlOption::KeyValue { key, value } = option else {
            return Err(unsupported(&format!("{option} of a view")));
        };
        let (name, value) = (fold(key), value.to_string().trim_matches('\'').to_owned());
        if read.iter().any(|(known, _)| *known == name) {
            let message = format!("parameter \"{name}\" specified more than once");
            return Err(Error::new(Code::InvalidParameterValue, message));
        }
        check_option(&name, &value)?;
        read.push((name, value));
    }
    Ok(read)
}

/// An error when there is no such option, or it cannot have the value.
fn check_option(name: &str, value: &str) -> Result<()> {
    let wrong = |message: String| Error::new(Code::InvalidParameterValue, message);
    match name {
        "security_barrier" | "security_invoker" => {
            let Some(is_on) = boolean(value) else {
                return Err(wrong(format!("invalid value for boolean option \"{name}\": {value}")));
            };
            if is_on && name == "security_barrier" {
                let remedy = "conditions of those who read the view may be tested before its own: filter in a table";
                return Err(unsupported("the option security_barrier of a view").hint(remedy));
            }
            Ok(())
        }
        "check_option" if ["local", "cascaded"].iter().any(|known| value.eq_ignore_ascii_case(known)) => Ok(()),
        "check_option" => {
            let error = wrong(format!("invalid value for enum option \"check_option\": {value}"));
            Err(error.detail("Valid values are \"local\" and \"cascaded\"."))
        }
        _ => Err(wrong(format!("unrecognized parameter \"{name}\""))),
    }
}

/// Gives a view its options; one with a check option must be one that is written through.
pub(super) fn put_options(txn: &Transaction, view: &mut Object, options: &[(String, String)]) -> Result<()> {
    let texts: Vec<String> = options.iter().map(|(name, value)| format!("{name}={value}")).collect();
    view.properties.remove(OPTIONS);
    if !texts.is_empty() {
        view.properties.insert(OPTIONS.to_owned(), texts.join(&SEPARATOR.to_string()));
    }
    if options.iter().any(|(name, _)| name == "check_option")
        && let Some(why) = updatable::refusal_of(txn, view)?
    {
        let message = "WITH CHECK OPTION is supported only on automatically updatable views";
        return Err(Error::new(Code::FeatureNotSupported, message).hint(why));
    }
    Ok(())
}

/// The names of a view's columns: the given ones, then those of its query.
pub(super) fn column_names(create: &CreateView, from: &[String]) -> Result<Vec<String>> {
    let mut columns = from.to_vec();
    if create.columns.len() > columns.len() {
        return Err(Error::new(Code::SyntaxError, "CREATE VIEW specifies more column names than columns"));
    }
    for (given, column) in create.columns.iter().zip(&mut columns) {
        *column = fold(&given.name);
    }
    match (1..columns.len()).find(|&at| columns[..at].contains(&columns[at])) {
        Some(at) => {
            let message = format!("column \"{}\" specified more than once", columns[at]);
            Err(Error::new(Code::DuplicateColumn, message))
        }
        None => Ok(columns),
    }
}

/// A view that is replaced keeps its columns; more may follow.
fn check_replacement(known: &Object, columns: &[String], types: &[String]) -> Result<()> {
    let list = |name: &str| -> Vec<String> {
        known.property(name).unwrap_or_default().split(SEPARATOR).map(str::to_owned).collect()
    };
    let wrong = |message: String| Err(Error::new(Code::InvalidTableDefinition, message));
    let (old, old_types) = (list("columns"), list("types"));
    if columns.len() < old.len() {
        return wrong("cannot drop columns from view".into());
    }
    for (at, name) in old.iter().enumerate() {
        if columns[at] != *name {
            return wrong(format!("cannot change name of view column \"{name}\" to \"{}\"", columns[at]));
        }
        if old_types.get(at).is_some_and(|old| *old != types[at]) {
            let (old, new) = (&old_types[at], &types[at]);
            return wrong(format!("cannot change data type of view column \"{name}\" from {old} to {new}"));
        }
    }
    Ok(())
}
