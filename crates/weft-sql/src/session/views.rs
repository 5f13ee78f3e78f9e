//! Views: CREATE VIEW, and queries that name them.
//!
//! ```text
//!   CREATE VIEW v (x) AS SELECT a FROM t    query: SELECT a FROM public.t     columns: a as x
//!   SELECT * FROM v WHERE x > 1     SELECT * FROM (SELECT "a" AS "x" FROM (SELECT a FROM public.t) AS "v") AS v
//! ```
//!
//! A view is its text, with the schemas of the relations that it names and the columns of its stars written out, and
//! the columns that it had when it was made. Whoever names it gets it as a subquery.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{
    CopySource, CreateTableOptions, CreateView, Ident, ObjectName, Query, SetExpr, SqlOption, Statement, TableAlias,
    TableFactor, TableObject, TableVersion, VisitMut, VisitorMut,
};
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::{Object, ObjectKind, SchemaId, Transaction};

use super::answers::unsupported;
use super::work::Work;
use super::{Session, stars, temporary};
use crate::changes;
use crate::ddl::dependents::{is_materialized, is_populated};
use crate::notice::Notice;
use crate::outcome::{Outcome, OutputColumn, Tag};
use crate::parse::{Parsed, fold, parse, period_of, read_at, table_name, written};
use crate::resolve::{self, Relation};
use crate::types;
use crate::view_columns::SEPARATOR;

/// How deep views may lie within views.
const NESTING_MAX: usize = 64;

/// A statement with the views that it reads, and the changes that it asks for, as subqueries, and with the fixed names
/// of users' types.
pub(super) fn expand_views<'s>(txn: &Transaction, statement: &'s Statement) -> Result<Cow<'s, Statement>> {
    let has_views = txn.has_objects(ObjectKind::View);
    let fixed = types::fixed(txn, statement)?;
    if !has_views && !changes::has_calls(&fixed) {
        return Ok(fixed);
    }
    if has_views {
        refuse_target(txn, &fixed)?;
    }
    let mut expanded = fixed.into_owned();
    let mut names = Names { txn, with: Vec::new(), depth: 0, use_of: Use::Expand { is_read: true } };
    match VisitMut::visit(&mut expanded, &mut names) {
        ControlFlow::Continue(()) => Ok(Cow::Owned(expanded)),
        ControlFlow::Break(error) => Err(error),
    }
}

/// A query with its views as subqueries, for who looks at its columns only.
pub(super) fn expand_unread(txn: &Transaction, query: &Query) -> Result<Statement> {
    let mut statement = Statement::Query(Box::new(query.clone()));
    let mut names = Names { txn, with: Vec::new(), depth: 0, use_of: Use::Expand { is_read: false } };
    match VisitMut::visit(&mut statement, &mut names) {
        ControlFlow::Continue(()) => Ok(statement),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Fails when a statement would change a view.
fn refuse_target(txn: &Transaction, statement: &Statement) -> Result<()> {
    if let Statement::Query(query) = statement {
        let with = query.with.iter().flat_map(|with| &with.cte_tables).map(|table| &*table.query);
        for part in with.chain([&**query]) {
            if let SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner) | SetExpr::Merge(inner) =
                &*part.body
            {
                refuse_target(txn, inner)?;
            }
        }
    }
    let name = match statement {
        Statement::Insert(insert) => match &insert.table {
            TableObject::TableName(name) => Some(("insert into", name)),
            _ => None,
        },
        Statement::Update(update) => match &update.table.relation {
            TableFactor::Table { name, .. } => Some(("update", name)),
            _ => None,
        },
        Statement::Copy { source: CopySource::Table { table_name, .. }, to, .. } => {
            Some((if *to { "copy from" } else { "copy to" }, table_name))
        }
        Statement::Merge(merge) => match &merge.table {
            TableFactor::Table { name, .. } => Some(("merge into", name)),
            _ => None,
        },
        Statement::Delete(delete) => {
            let (sqlparser::ast::FromTable::WithFromKeyword(from) | sqlparser::ast::FromTable::WithoutKeyword(from)) =
                &delete.from;
            match from.first().map(|from| &from.relation) {
                Some(TableFactor::Table { name, .. }) => Some(("delete from", name)),
                _ => None,
            }
        }
        _ => None,
    };
    let Some((verb, name)) = name else { return Ok(()) };
    if let Some(Relation::Table(table)) = resolve::relation(txn, &table_name(name)?)
        && is_materialized(&table.def)
    {
        let message = match verb {
            "copy from" => format!("cannot copy from materialized view \"{}\"", table.def.name),
            _ => format!("cannot change materialized view \"{}\"", table.def.name),
        };
        return Err(Error::new(Code::WrongObjectType, message).hint("REFRESH MATERIALIZED VIEW, or COPY a query of it"));
    }
    match resolve::object(txn, ObjectKind::View, &table_name(name)?) {
        // COPY says itself what it thinks of views.
        Some(_) if verb.starts_with("copy") => Ok(()),
        Some(view) => {
            let message = format!("cannot {verb} view \"{}\"", view.name);
            Err(Error::new(Code::FeatureNotSupported, message).hint("change the tables that it reads"))
        }
        None => Ok(()),
    }
}

/// What is done with the names of relations.
enum Use {
    /// Views become subqueries; when they are read, materialised ones must have rows.
    Expand { is_read: bool },
    /// Schemas are written out; the numbers of what is named are noted.
    Qualify(Vec<u32>),
}

struct Names<'a> {
    txn: &'a Transaction,
    /// The names of the WITH clauses in sight.
    with: Vec<Vec<String>>,
    depth: usize,
    use_of: Use,
}

impl VisitorMut for Names<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        self.with.push(tables.map(|table| fold(&table.alias.name)).collect());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.with.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        match self.factor(factor) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Names<'_> {
    fn factor(&mut self, factor: &mut TableFactor) -> Result<()> {
        match &mut self.use_of {
            Use::Qualify(needs) => {
                if let Some(table) = changes::qualify(self.txn, factor)? {
                    if !needs.contains(&table.def.oid) {
                        needs.push(table.def.oid);
                    }
                    return Ok(());
                }
            }
            Use::Expand { .. } => {
                if let Some(query) = changes::expanded(self.txn, factor)? {
                    *factor = query;
                    return Ok(());
                }
            }
        }
        let TableFactor::Table { name, alias, version, args: None, .. } = factor else { return Ok(()) };
        let Ok(known_as) = table_name(name) else { return Ok(()) };
        if self.with.iter().flatten().any(|with| *with == known_as) {
            return Ok(());
        }
        if resolve::of_catalog(self.txn, &known_as).is_some() {
            return Ok(());
        }
        let Some(relation) = resolve::relation(self.txn, &known_as) else { return Ok(()) };
        if let Use::Qualify(needs) = &mut self.use_of {
            let (id, namespace, own) = match &relation {
                Relation::Table(table) => (table.def.oid, table.def.namespace, table.def.name.clone()),
                Relation::Object(object) => (object.id, object.namespace, object.name.clone()),
                Relation::Index(..) => return Ok(()),
            };
            if !needs.contains(&id) {
                needs.push(id);
            }
            let schema = resolve::schema_name(self.txn, namespace);
            let quoted = |name: &str| match weft_pgcatalog::quoted(name).starts_with('"') {
                true => Ident::with_quote('"', name),
                false => Ident::new(name),
            };
            if alias.is_none() {
                *alias = Some(alias_of(&own));
            }
            *name = ObjectName::from(vec![quoted(&schema), quoted(&own)]);
            return Ok(());
        }
        if let (Relation::Table(table), Use::Expand { is_read: true }) = (&relation, &self.use_of)
            && !is_populated(&table.def)
        {
            let message = format!("materialized view \"{}\" has not been populated", table.def.name);
            let error = Error::new(Code::NotInPrerequisiteState, message);
            return Err(error.hint("Use the REFRESH MATERIALIZED VIEW command."));
        }
        let Relation::Object(view) = relation else { return Ok(()) };
        if view.kind != ObjectKind::View {
            return Ok(());
        }
        let alias = alias.take().unwrap_or_else(|| alias_of(&view.name));
        let mut subquery = Box::new(self.query_of(&view)?);
        if let Some(version) = version.take() {
            if matches!(&version, TableVersion::ForSystemTimeAsOf(moment) if period_of(moment).is_some()) {
                let message = format!("\"{}\" is a view: versions are those of tables", view.name);
                let hint = "make a view whose query has the clause, or read the view AS OF a moment";
                return Err(Error::new(Code::FeatureNotSupported, message).hint(hint));
            }
            read_at(&mut subquery, &version);
        }
        *factor = TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None };
        Ok(())
    }

    /// The query of a view, with the views that it reads as subqueries.
    fn query_of(&self, view: &Object) -> Result<Query> {
        if self.depth == NESTING_MAX {
            return Err(Error::new(Code::StatementTooComplex, "views lie too deep within views"));
        }
        let damaged = || Error::corrupt(format!("the catalog's entry of view \"{}\" is damaged", view.name));
        let text = view.property("query").ok_or_else(damaged)?;
        let (from, names) = (view.property("from").ok_or_else(damaged)?, view.property("columns").ok_or_else(damaged)?);
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let items = from.split(SEPARATOR).zip(names.split(SEPARATOR));
        let items: Vec<String> = items.map(|(from, name)| format!("{} AS {}", quoted(from), quoted(name))).collect();
        let sql = format!("SELECT {} FROM ({text}) AS {}", items.join(", "), quoted(&view.name));
        let Some(Parsed::Sql { statement, .. }) = parse(&sql)?.pop() else { return Err(damaged()) };
        let Statement::Query(mut query) = *statement else { return Err(damaged()) };
        let is_read = matches!(self.use_of, Use::Expand { is_read: true });
        let use_of = Use::Expand { is_read };
        let mut names = Names { txn: self.txn, with: Vec::new(), depth: self.depth + 1, use_of };
        match VisitMut::visit(&mut *query, &mut names) {
            ControlFlow::Continue(()) => Ok(*query),
            ControlFlow::Break(error) => Err(error),
        }
    }
}

fn alias_of(name: &str) -> TableAlias {
    TableAlias { explicit: true, name: Ident::with_quote('"', name), columns: Vec::new(), at: None }
}

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
        check_options(&create.options)?;
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
        let (mut query, needs) = qualified_query(work, &create.query)?;
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
        lock_needs(work, &needs)?;
        view.needs = needs;
        work.txn.put_object(view)?;
        Ok(Outcome::done(Tag::Done("CREATE VIEW")))
    })
}

/// A view's query with the schemas of what it names written out, and the numbers of these.
pub(super) fn qualified_query(work: &Work<'_>, query: &Query) -> Result<(Query, Vec<u32>)> {
    let mut query = query.clone();
    let mut names = Names { txn: work.txn, with: Vec::new(), depth: 0, use_of: Use::Qualify(Vec::new()) };
    if let ControlFlow::Break(error) = VisitMut::visit(&mut query, &mut names) {
        return Err(error);
    }
    let Use::Qualify(needs) = names.use_of else { return Err(Error::internal("names were qualified")) };
    Ok((query, needs))
}

/// What a view reads stays as it is until the view is there.
pub(super) fn lock_needs(work: &mut Work<'_>, needs: &[u32]) -> Result<()> {
    for id in needs {
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

/// Whether a query names a temporary relation.
pub(super) fn reads_temporary(txn: &Transaction, query: &Query) -> Result<bool> {
    let mut query = query.clone();
    let mut names = Names { txn, with: Vec::new(), depth: 0, use_of: Use::Qualify(Vec::new()) };
    if let ControlFlow::Break(error) = VisitMut::visit(&mut query, &mut names) {
        return Err(error);
    }
    let Use::Qualify(needs) = names.use_of else { return Ok(false) };
    let is_temporary = |id: &u32| {
        let table = || txn.tables().iter().find(|def| def.oid == *id).map(|def| def.namespace);
        let namespace = txn.object_of(*id).map(|object| object.namespace).or_else(table);
        namespace.is_some_and(|namespace| resolve::is_temporary(txn, namespace))
    };
    Ok(needs.iter().any(is_temporary))
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

/// Fails when a view is to have options: none is honoured here but those that say what is so in any case.
fn check_options(options: &CreateTableOptions) -> Result<()> {
    let options = match options {
        CreateTableOptions::None => return Ok(()),
        CreateTableOptions::With(options) => options,
        _ => return Err(unsupported("this CREATE VIEW")),
    };
    for option in options {
        let SqlOption::KeyValue { key, value } = option else {
            return Err(unsupported(&format!("{option} of a view")));
        };
        let (name, value) = (fold(key), value.to_string().trim_matches('\'').to_lowercase());
        let remedy = match name.as_str() {
            "security_invoker" | "security_barrier" if matches!(&*value, "false" | "off" | "no" | "0") => continue,
            "security_invoker" => {
                "the view reads its tables with the rights of its owner: grant it to those who may see all"
            }
            "security_barrier" => {
                "conditions of those who read the view may be tested before its own: filter in a table"
            }
            "check_option" => "rows cannot be written through views: write into its table, with a CHECK there",
            _ => {
                let message = format!("unrecognized parameter \"{name}\"");
                return Err(Error::new(Code::InvalidParameterValue, message));
            }
        };
        return Err(unsupported(&format!("the option {name} of a view")).hint(remedy));
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
