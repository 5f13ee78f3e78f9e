//! Statements that define: CREATE and ALTER TABLE, CREATE and DROP INDEX.

use std::sync::Arc;

use sqlparser::ast::{
    AlterTable, AlterTableOperation, ColumnOption, CreateIndex, CreateTable, ObjectName, RenameTableNameKind,
    Statement, TableConstraint,
};
use weft_format::{Code, Error, Result};
use weft_kernel::{ObjectKind, SchemaId, Transaction};
use weft_pgcatalog::rights::Rights;

use super::alter_view::{change_of, change_view};
use super::work::{Work, with_context};
use super::{Session, temporary};
use crate::ddl::dependents::is_materialized;
use crate::ddl::{self, create_asked};
use crate::dml::PreparedWrite;
use crate::expansion::expand_views;
use crate::expr::EvalContext;
use crate::notice::Notice;
use crate::outcome::{Outcome, Tag};
use crate::parse::{Parsed, fold, like_of, table_name};
use crate::resolve::{self, Relation};
use crate::rights::Need;
use crate::settings::EngineChoice;
use crate::types;

/// The method that the session gives to new tables, when it is not the one that they have anyway.
pub(super) fn method_of_session(session: &Session) -> Option<String> {
    Some(session.settings.table_method.clone()).filter(|method| method != "heap")
}

pub(super) fn create_table(
    session: &mut Session,
    create: &CreateTable,
    method: Option<&str>,
    source: &str,
) -> Result<Outcome> {
    let engine = session.settings.engine;
    let preferred = method_of_session(session);
    let method = method.or(preferred.as_deref());
    session.in_statement(|work| {
        work.check_writable("CREATE TABLE")?;
        let create = &*types::fixed(work.txn, create)?;
        types::hold(work.txn, create)?;
        let is_temporary = temporary::is_asked(create);
        let placed = if is_temporary { Some(temporary::in_schema(work, create)?) } else { None };
        let create = placed.as_ref().unwrap_or(create);
        if create.on_commit.is_some() && !is_temporary {
            let message = "ON COMMIT can only be used on temporary tables";
            return Err(Error::new(Code::InvalidTableDefinition, message).hint("CREATE TEMPORARY TABLE"));
        }
        let (namespace, name) = resolve::creation(work.txn, &table_name(&create.name)?)?;
        if !is_temporary {
            work.permit.check_creates_in(work.txn, namespace)?;
        }
        if create.if_not_exists && resolve::is_taken(work.txn, namespace, &name) {
            let message = format!("relation \"{name}\" already exists, skipping");
            work.notices.push(Notice { sqlstate: "42P07", ..Notice::plain(message) });
            return Ok(Outcome::done(Tag::Done("CREATE TABLE")));
        }
        let Some(query) = &create.query else {
            check_likes(work, create)?;
            let wanted = ddl::new_table(work.txn, create, method, source, &work.local)?;
            check_free(work.txn, namespace, &name)?;
            work.notices.extend(wanted.notices.iter().cloned());
            create_asked(work.txn, wanted, &work.local)?;
            return Ok(Outcome::done(Tag::Done("CREATE TABLE")));
        };
        if engine == EngineChoice::Point {
            return Err(Error::new(Code::FeatureNotSupported, "the point engine cannot run CREATE TABLE AS")
                .hint("SET engine = auto"));
        }
        let queries = work.db.queries()?;
        let reading = Statement::Query(query.clone());
        work.permit.check_statement(work.txn, &reading)?;
        let reading = expand_views(work.txn, &reading)?;
        let prepared = queries.prepare(&*work.txn, &reading, source, &work.local)?;
        check_free(work.txn, namespace, &name)?;
        // The query's snapshot is taken before the new table is there, so it cannot read it.
        let (table, notices) = ddl::table_of_query(work.txn, create, method, prepared.columns())?;
        work.notices.extend(notices);
        types::hold_columns(work.txn, &table.schema)?;
        let table = work.txn.create_table(table)?;
        if create.copy_grants {
            return Ok(Outcome::done(Tag::Done("CREATE TABLE AS")));
        }
        let insert = insert_of_query(&resolve::full_name(work.txn, &table.def), query)?;
        let insert = expand_views(work.txn, &insert)?;
        let filling = PreparedWrite::prepare(&*queries, &*work.txn, &insert, source, &work.local)?;
        let filled = with_context(work, |context| filling.execute(context))?;
        Ok(Outcome::done(Tag::Select(filled.tag.row_count())))
    })
}

/// Tests that the tables of LIKE may be read.
fn check_likes(work: &Work<'_>, create: &CreateTable) -> Result<()> {
    for column in &create.columns {
        let Some(like) = like_of(column)? else { continue };
        match resolve::relation(work.txn, &like.table) {
            Some(Relation::Table(table)) => work.permit.check_need(&Need::of_table(&table.def, Rights::SELECT))?,
            Some(Relation::Object(object)) => work.permit.check_need(&Need::of_object(&object, Rights::SELECT))?,
            _ => {}
        }
    }
    Ok(())
}

/// `INSERT INTO "table" query`
pub(super) fn insert_of_query(table: &str, query: &sqlparser::ast::Query) -> Result<Statement> {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let name: Vec<String> = table.split(resolve::QUALIFIER).map(quoted).collect();
    match crate::parse::parse(&format!("INSERT INTO {} {query}", name.join(".")))?.pop() {
        Some(Parsed::Sql { statement, .. }) => Ok(*statement),
        _ => Err(Error::internal("an INSERT made from a query is one statement")),
    }
}

/// Tests that the columns which new foreign keys refer to may be referred to.
fn check_references(work: &Work<'_>, alter: &AlterTable) -> Result<()> {
    if work.permit.is_superuser() {
        return Ok(());
    }
    let mut keys = Vec::new();
    for operation in &alter.operations {
        match operation {
            AlterTableOperation::AddConstraint { constraint: TableConstraint::ForeignKey(key), .. } => keys.push(key),
            AlterTableOperation::AddColumn { column_def, .. } => {
                keys.extend(column_def.options.iter().filter_map(|option| match &option.option {
                    ColumnOption::ForeignKey(key) => Some(key),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    for key in keys {
        let parent = resolve::table(work.txn, &table_name(&key.foreign_table)?)?;
        let schema = &parent.def.schema;
        let columns = match key.referred_columns.as_slice() {
            [] => schema.key.clone(),
            named => named.iter().filter_map(|name| schema.visible_ordinal(&fold(name))).collect(),
        };
        work.permit.check_references(&parent.def, &columns)?;
    }
    Ok(())
}

/// ALTER TABLE
pub(super) fn alter_table(session: &mut Session, alter: &AlterTable, source: &str) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable("ALTER TABLE")?;
        let alter = &*types::fixed(work.txn, alter)?;
        types::hold(work.txn, alter)?;
        let name = table_name(&alter.name)?;
        let found = resolve::relation(work.txn, &name);
        if let Some(relation) = &found {
            work.permit.check_owns(relation)?;
            if alter.operations.iter().any(|op| matches!(op, AlterTableOperation::RenameTable { .. })) {
                work.permit.check_creates_in(work.txn, relation.namespace())?;
            }
        }
        check_references(work, alter)?;
        let table = match found {
            Some(Relation::Table(table)) if is_materialized(&table.def) => return Err(not_a_table(&table.def.name)),
            Some(Relation::Table(table)) => table,
            None if alter.if_exists => {
                let message = format!("relation \"{}\" does not exist, skipping", resolve::shown(&name));
                work.notices.push(Notice::plain(message));
                return Ok(Outcome::done(Tag::Done("ALTER TABLE")));
            }
            None => return Err(resolve::undefined(&name)),
            Some(other) => {
                // ALTER TABLE renames any relation.
                if let [AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(new) }] =
                    alter.operations.as_slice()
                {
                    ddl::rename_relation(work.txn, &alter.name, new)?;
                    return Ok(Outcome::done(Tag::Done("ALTER TABLE")));
                }
                return alter_other(work, &other, alter, source);
            }
        };
        let rng = Arc::clone(&work.txn.engine().env().rng);
        let eval = EvalContext { params: &[], local: &work.local, rng: Some(&*rng) };
        ddl::Altering { txn: work.txn, table, source, eval, notices: work.notices }.run(alter)?;
        Ok(Outcome::done(Tag::Done("ALTER TABLE")))
    })
}

/// ALTER TABLE of what is no table: of a view it does what ALTER VIEW does.
fn alter_other(work: &mut Work<'_>, other: &Relation, alter: &AlterTable, source: &str) -> Result<Outcome> {
    let view = match other {
        Relation::Object(object) if object.kind == ObjectKind::View => object,
        _ => {
            let message = format!("\"{}\" is not a table", alter.name);
            return Err(Error::new(Code::WrongObjectType, message));
        }
    };
    for operation in &alter.operations {
        let Some(change) = change_of(operation) else {
            let message = format!("ALTER action {operation} cannot be performed on relation \"{}\"", view.name);
            let error = Error::new(Code::WrongObjectType, message);
            return Err(error.detail("This operation is not supported for views."));
        };
        let view = work.txn.object_of(view.id).unwrap_or_else(|| Arc::clone(view));
        change_view(work, &view, &change, source)?;
    }
    Ok(Outcome::done(Tag::Done("ALTER TABLE")))
}

/// ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY
pub(super) fn drop_identity(
    session: &mut Session,
    (table, if_exists): (&ObjectName, bool),
    (column, is_known): (&str, bool),
    source: &str,
) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable("ALTER TABLE")?;
        let name = table_name(table)?;
        let table = match resolve::relation(work.txn, &name) {
            Some(Relation::Table(table)) => table,
            None if if_exists => {
                let message = format!("relation \"{}\" does not exist, skipping", resolve::shown(&name));
                work.notices.push(Notice::plain(message));
                return Ok(Outcome::done(Tag::Done("ALTER TABLE")));
            }
            None => return Err(resolve::undefined(&name)),
            Some(_) => return Err(not_a_table(resolve::split(&name).1)),
        };
        work.permit.check_owns_table(&table)?;
        let rng = Arc::clone(&work.txn.engine().env().rng);
        let eval = EvalContext { params: &[], local: &work.local, rng: Some(&*rng) };
        let mut altering = ddl::Altering { txn: work.txn, table, source, eval, notices: work.notices };
        altering.drop_identity(column, is_known)?;
        Ok(Outcome::done(Tag::Done("ALTER TABLE")))
    })
}

/// ALTER TABLE of a materialised view.
fn not_a_table(name: &str) -> Error {
    let error = Error::new(Code::WrongObjectType, format!("\"{name}\" is not a table"));
    error.hint("drop the materialized view, and make it again")
}

/// RENAME TO of any relation.
pub(super) fn rename(
    session: &mut Session,
    name: &ObjectName,
    if_exists: bool,
    new: &ObjectName,
    tag: &'static str,
) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable(tag)?;
        let known_as = table_name(name)?;
        if let Some(relation) = resolve::relation(work.txn, &known_as) {
            work.permit.check_owns(&relation)?;
            work.permit.check_creates_in(work.txn, relation.namespace())?;
        }
        if if_exists && resolve::relation(work.txn, &known_as).is_none() {
            let message = format!("relation \"{}\" does not exist, skipping", resolve::shown(&known_as));
            work.notices.push(Notice::plain(message));
            return Ok(Outcome::done(Tag::Done(tag)));
        }
        if !ddl::rename_relation(work.txn, name, new)? {
            let table = resolve::table(work.txn, &known_as)?;
            if is_materialized(&table.def) {
                return Err(not_a_table(&table.def.name));
            }
            let rng = Arc::clone(&work.txn.engine().env().rng);
            let eval = EvalContext { params: &[], local: &work.local, rng: Some(&*rng) };
            let kind = RenameTableNameKind::To(new.clone());
            ddl::Altering { txn: work.txn, table, source: "", eval, notices: work.notices }.rename(&kind)?;
        }
        Ok(Outcome::done(Tag::Done(tag)))
    })
}

/// SET SCHEMA of a table, a view or a sequence.
pub(super) fn set_schema(session: &mut Session, name: &ObjectName, if_exists: bool, schema: &str) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable("ALTER TABLE")?;
        let name = table_name(name)?;
        let done = Ok(Outcome::done(Tag::Done("ALTER TABLE")));
        let Some(relation) = resolve::relation(work.txn, &name) else {
            if !if_exists {
                return Err(resolve::undefined(&name));
            }
            let message = format!("relation \"{}\" does not exist, skipping", resolve::shown(&name));
            work.notices.push(Notice::plain(message));
            return done;
        };
        work.permit.check_owns(&relation)?;
        let to = resolve::schema_of(work.txn, schema).ok_or_else(|| resolve::no_schema(schema))?;
        if resolve::is_temporary(work.txn, to) || resolve::is_temporary(work.txn, relation.namespace()) {
            let message = "cannot move objects into or out of temporary schemas";
            return Err(Error::new(Code::FeatureNotSupported, message));
        }
        work.permit.check_creates_in(work.txn, to)?;
        let own = resolve::split(&name).1.to_owned();
        if resolve::is_taken(work.txn, to, &own) {
            let message = format!("relation \"{own}\" already exists in schema \"{schema}\"");
            return Err(Error::new(Code::DuplicateTable, message));
        }
        match relation {
            Relation::Table(table) if is_materialized(&table.def) => return Err(not_a_table(&table.def.name)),
            Relation::Table(table) => ddl::move_table(work.txn, &table, to)?,
            Relation::Index(..) | Relation::Columns(..) => {
                let message = format!("\"{own}\" is not a table, view or sequence");
                return Err(Error::new(Code::WrongObjectType, message));
            }
            Relation::Object(object) => ddl::move_object(work.txn, &object, to)?,
        }
        done
    })
}

/// An error when a relation has the name.
fn check_free(txn: &Transaction, namespace: SchemaId, name: &str) -> Result<()> {
    if !resolve::is_taken(txn, namespace, name) {
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
        let create = &*types::fixed(work.txn, create)?;
        let name = table_name(&create.table_name)?;
        let table = match resolve::relation(work.txn, &name) {
            Some(Relation::Table(table)) => table,
            Some(other) => {
                let what = match other {
                    Relation::Index(..) | Relation::Columns(..) => "indexes",
                    Relation::Object(object) if object.kind == ObjectKind::View => "views",
                    _ => "sequences",
                };
                let name = resolve::shown(&name);
                let error = Error::new(Code::WrongObjectType, format!("cannot create index on relation \"{name}\""));
                return Err(error.hint(format!("this operation is not supported for {what}")));
            }
            None => return Err(resolve::undefined(&name)),
        };
        work.permit.check_owns_table(&table)?;
        let namespace = table.def.namespace;
        let is_taken = |name: &str| resolve::is_taken(work.txn, namespace, name);
        let new = ddl::new_index(create, method, &table, source, &work.local, &is_taken)?;
        if create.if_not_exists && is_taken(new.name()) {
            let message = format!("relation \"{}\" already exists, skipping", new.name());
            work.notices.push(Notice { sqlstate: "42P07", ..Notice::plain(message) });
            return Ok(Outcome::done(Tag::Done("CREATE INDEX")));
        }
        check_free(work.txn, namespace, new.name())?;
        match new {
            ddl::AnyIndex::Entries(new) => drop(work.txn.create_index(&table, new)?),
            ddl::AnyIndex::Columns(new) => drop(work.txn.create_column_index(&table, new)?),
        }
        Ok(Outcome::done(Tag::Done("CREATE INDEX")))
    })
}

pub(super) fn drop_indexes(session: &mut Session, names: &[ObjectName], if_exists: bool) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable("DROP INDEX")?;
        for name in names {
            let name = table_name(name)?;
            if let Some(Relation::Columns(table, columns)) = resolve::relation(work.txn, &name) {
                work.permit.check_drops(&Relation::Columns(table, columns.clone()))?;
                work.txn.drop_column_index_in(columns.def.namespace, &columns.def.name)?;
                continue;
            }
            match resolve::index(work.txn, &name) {
                Some((table, index)) if index.is_constraint() => {
                    return Err(of_constraint(&index.name(), &table.def.name));
                }
                Some((table, index)) => {
                    work.permit.check_drops(&Relation::Index(table.clone(), Arc::clone(&index)))?;
                    work.txn.drop_index_in(table.def.namespace, &index.name())?;
                }
                None if check_no_index(work.txn, &name, if_exists)? => {
                    let message = format!("index \"{}\" does not exist, skipping", resolve::shown(&name));
                    work.notices.push(Notice::plain(message));
                }
                None => {}
            }
        }
        Ok(Outcome::done(Tag::Done("DROP INDEX")))
    })
}

/// What DROP INDEX says of a name that is no index; true when it need not be.
fn check_no_index(txn: &Transaction, name: &str, if_exists: bool) -> Result<bool> {
    if resolve::relation(txn, name).is_some() {
        let error = Error::new(Code::WrongObjectType, format!("\"{}\" is not an index", resolve::shown(name)));
        return Err(error.hint("use DROP TABLE to remove a table"));
    }
    let name = resolve::split(name).1;
    if let Some(def) = txn.tables().iter().find(|def| def.primary_key.as_deref() == Some(name)) {
        return Err(of_constraint(name, &def.name));
    }
    if if_exists {
        return Ok(true);
    }
    Err(Error::new(Code::UndefinedObject, format!("index \"{name}\" does not exist")))
}

fn of_constraint(name: &str, table: &str) -> Error {
    let message = format!("cannot drop index {name} because constraint {name} on table {table} requires it");
    Error::new(Code::DependentObjects, message).hint("it goes with its table").about(table, None, Some(name))
}
