//! Sequences, comments, and DROP of every kind of relation.

use std::sync::Arc;

use sqlparser::ast::{CommentObject, ObjectName};
use weft_format::{Code, DataType, Error, Result, TableId};
use weft_kernel::{Object, ObjectKind, TableRef, Transaction};

use super::Session;
use super::work::Work;
use crate::ddl::comment::{self, About};
use crate::ddl::dependents::{self, is_materialized};
use crate::ddl::sequence;
use crate::expr::data_type_of;
use crate::notice::Notice;
use crate::outcome::{Outcome, Tag};
use crate::parse::{AlterSequence, CreateSequence, table_name};
use crate::resolve::{self, Relation};

pub(super) fn create_sequence(session: &mut Session, create: &CreateSequence) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable("CREATE SEQUENCE")?;
        let data_type = create.data_type.as_ref().map_or(Ok(DataType::BigInt), data_type_of)?;
        if !matches!(data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt) {
            let message = "sequence type must be smallint, integer, or bigint";
            return Err(Error::new(Code::InvalidParameterValue, message));
        }
        let name = table_name(&create.name)?;
        let (namespace, own) = resolve::creation(work.txn, &name)?;
        work.permit.check_creates_in(work.txn, namespace)?;
        if resolve::is_taken(work.txn, namespace, &own) {
            let message = format!("relation \"{own}\" already exists");
            if !create.if_not_exists {
                return Err(Error::new(Code::DuplicateTable, message));
            }
            work.notices.push(Notice { sqlstate: "42P07", ..Notice::plain(format!("{message}, skipping")) });
            return Ok(Outcome::done(Tag::Done("CREATE SEQUENCE")));
        }
        let made = sequence::create(work.txn, &name, data_type, &create.options)?;
        if let Some(column) = &create.owned_by {
            own_by(work.txn, &made, column)?;
        }
        Ok(Outcome::done(Tag::Done("CREATE SEQUENCE")))
    })
}

/// OWNED BY table.column
fn own_by(txn: &mut Transaction, made: &Arc<Object>, column: &ObjectName) -> Result<()> {
    let wrong = || Error::new(Code::SyntaxError, format!("OWNED BY takes table.column or NONE, not {column}"));
    let (column_part, table_parts) = column.0.split_last().ok_or_else(wrong)?;
    let column_name = crate::parse::fold(column_part.as_ident().ok_or_else(wrong)?);
    if table_parts.is_empty() {
        return Err(wrong());
    }
    let table = resolve::table(txn, &table_name(&ObjectName(table_parts.to_vec()))?)?;
    let ordinal = table.def.schema.visible_ordinal(&column_name).ok_or_else(|| {
        let message = format!("column \"{column_name}\" of relation \"{}\" does not exist", table.def.name);
        Error::new(Code::UndefinedColumn, message)
    })?;
    sequence::own(txn, made, &table.def, ordinal)
}

pub(super) fn alter_sequence(session: &mut Session, alter: &AlterSequence) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable("ALTER SEQUENCE")?;
        let name = table_name(&alter.name)?;
        let Some(mut known) = resolve::object(work.txn, ObjectKind::Sequence, &name) else {
            if !alter.if_exists {
                return Err(missing(work.txn, &name, "a sequence"));
            }
            let message = format!("relation \"{}\" does not exist, skipping", resolve::shown(&name));
            work.notices.push(Notice::plain(message));
            return Ok(Outcome::done(Tag::Done("ALTER SEQUENCE")));
        };
        work.permit.check_owns(&Relation::Object(Arc::clone(&known)))?;
        if let Some(owner) = &alter.owned_by {
            match owner {
                Some(column) => own_by(work.txn, &known, column)?,
                None => {
                    let mut free = (*known).clone();
                    free.properties.retain(|name, _| name != "table" && name != "column");
                    work.txn.put_object(free)?;
                }
            }
            known = work.txn.object_of(known.id).ok_or_else(|| resolve::undefined(&name))?;
        }
        let restart = match &alter.restart {
            Some(at) => Some(at.as_ref().map(sequence::number).transpose()?),
            None => None,
        };
        sequence::alter(work.txn, &known, &alter.options, restart)?;
        Ok(Outcome::done(Tag::Done("ALTER SEQUENCE")))
    })
}

/// The error of a name that is not of the kind asked for.
fn missing(txn: &Transaction, name: &str, kind: &str) -> Error {
    match resolve::relation(txn, name) {
        Some(_) => Error::new(Code::WrongObjectType, format!("\"{}\" is not {kind}", resolve::shown(name))),
        None => resolve::undefined(name),
    }
}

/// DROP TABLE, VIEW or SEQUENCE.
pub(super) fn drop_relations(
    session: &mut Session,
    kind: Kind,
    names: &[ObjectName],
    if_exists: bool,
    cascade: bool,
) -> Result<Outcome> {
    session.in_statement(|work| {
        let tag = kind.tag();
        work.check_writable(tag)?;
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            let name = table_name(name)?;
            match (kind, resolve::relation(work.txn, &name)) {
                (Kind::Table | Kind::Materialized, Some(Relation::Table(table)))
                    if is_materialized(&table.def) == (kind == Kind::Materialized) =>
                {
                    found.push(Relation::Table(table));
                }
                (Kind::View, Some(Relation::Object(object))) if object.kind == ObjectKind::View => {
                    found.push(Relation::Object(object));
                }
                (Kind::Sequence, Some(Relation::Object(object))) if object.kind == ObjectKind::Sequence => {
                    found.push(Relation::Object(object));
                }
                (_, Some(other)) => return Err(kind.wrong(&name, &other)),
                (_, None) if if_exists => {
                    let message = format!("{} \"{}\" does not exist, skipping", kind.word(), resolve::shown(&name));
                    work.notices.push(Notice::plain(message));
                }
                (_, None) => {
                    let message = format!("{} \"{}\" does not exist", kind.word(), resolve::shown(&name));
                    return Err(Error::new(Code::UndefinedTable, message).about(&resolve::shown(&name), None, None));
                }
            }
        }
        found.iter().try_for_each(|relation| work.permit.check_drops(relation))?;
        let tables = found.iter().filter_map(|relation| match relation {
            Relation::Table(table) => Some(table.id()),
            _ => None,
        });
        let ids: Vec<TableId> = tables.collect();
        for relation in found {
            match relation {
                Relation::Table(table) => drop_table(work.txn, &table, &ids, cascade, work.notices)?,
                Relation::Object(object) => {
                    if let Some(object) = work.txn.object_of(object.id) {
                        drop_object(work.txn, &object, cascade, work.notices)?;
                    }
                }
                Relation::Index(..) | Relation::Columns(..) => {}
            }
        }
        Ok(Outcome::done(Tag::Done(tag)))
    })
}

/// Drops relations by their numbers, with what belongs to them.
pub(super) fn drop_numbered(work: &mut Work<'_>, numbers: &[u32], cascade: bool) -> Result<()> {
    let tables = work.txn.tables().into_iter().filter(|def| numbers.contains(&def.oid));
    let ids: Vec<TableId> = tables.map(|def| def.id).collect();
    for (object, _) in work.txn.objects_of(ObjectKind::Function) {
        if numbers.contains(&object.id)
            && let Some(object) = work.txn.object_of(object.id)
        {
            dependents::drop_function(work.txn, &object, cascade, work.notices)?;
        }
    }
    // Views first: they may read the tables.
    for kind in [ObjectKind::View, ObjectKind::Sequence] {
        let objects = work.txn.objects().into_iter();
        let found: Vec<_> = objects.filter(|found| found.kind == kind && numbers.contains(&found.id)).collect();
        if kind == ObjectKind::Sequence {
            for id in &ids {
                if let Some(table) = work.txn.table_of(*id) {
                    drop_table(work.txn, &table, &ids, cascade, work.notices)?;
                }
            }
        }
        for object in found {
            if let Some(object) = work.txn.object_of(object.id) {
                drop_object(work.txn, &object, cascade, work.notices)?;
            }
        }
    }
    Ok(())
}

/// What a DROP drops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Table,
    View,
    Materialized,
    Sequence,
}

impl Kind {
    fn tag(self) -> &'static str {
        match self {
            Kind::Table => "DROP TABLE",
            Kind::View => "DROP VIEW",
            Kind::Materialized => "DROP MATERIALIZED VIEW",
            Kind::Sequence => "DROP SEQUENCE",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Kind::Table => "table",
            Kind::View => "view",
            Kind::Materialized => "materialized view",
            Kind::Sequence => "sequence",
        }
    }

    fn wrong(self, name: &str, other: &Relation) -> Error {
        let what = match other {
            Relation::Table(table) if is_materialized(&table.def) => "MATERIALIZED VIEW",
            Relation::Table(_) => "TABLE",
            Relation::Index(..) | Relation::Columns(..) => "INDEX",
            Relation::Object(object) if object.kind == ObjectKind::View => "VIEW",
            Relation::Object(_) => "SEQUENCE",
        };
        let message = format!("\"{}\" is not a {}", resolve::shown(name), self.word());
        Error::new(Code::WrongObjectType, message).hint(format!("use DROP {what} to remove it"))
    }
}

/// Drops a table with what is its own; views and foreign keys of others go, too, or are in the way.
pub(super) fn drop_table(
    txn: &mut Transaction,
    table: &TableRef,
    with: &[TableId],
    cascade: bool,
    notices: &mut Vec<Notice>,
) -> Result<()> {
    let Some(table) = txn.table_of(table.id()) else { return Ok(()) };
    dependents::check_views(txn, &table.def, None, cascade, notices)?;
    let all: Vec<usize> = (0..table.def.schema.columns.len()).collect();
    for (child, key) in txn.referring_to(&table, &all) {
        if child.id() == table.id() || with.contains(&child.id()) {
            continue;
        }
        if !cascade {
            // The kernel says which constraint is in the way.
            break;
        }
        notices.push(Notice::plain(format!("drop cascades to constraint {} on table {}", key.name, child.def.name)));
        let child = txn.table_of(child.id()).unwrap_or(child);
        txn.alter_table(&child, |def| {
            def.foreign_keys.retain(|known| known.name != key.name);
            Ok(())
        })?;
    }
    txn.drop_relation(&table, with)?;
    dependents::drop_companion(txn, &table.def)?;
    sequence::drop_owned(txn, table.def.oid, None)?;
    comment::drop_of(txn, table.def.oid, None)
}

/// Drops a view or a sequence.
pub(super) fn drop_object(
    txn: &mut Transaction,
    object: &Arc<Object>,
    cascade: bool,
    notices: &mut Vec<Notice>,
) -> Result<()> {
    comment::drop_of(txn, object.id, None)?;
    if object.kind == ObjectKind::Sequence {
        return sequence::drop(txn, object, cascade, notices);
    }
    for view in dependents::views_on(txn, object.id) {
        dependents::drop_dependent(txn, &view, &format!("view {}", object.name), cascade, notices)?;
    }
    txn.drop_object(object)
}

/// COMMENT ON
pub(super) fn comment_on(
    session: &mut Session,
    kind: &CommentObject,
    name: &ObjectName,
    text: Option<&str>,
) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable("COMMENT")?;
        let about =
            match kind {
                CommentObject::Table
                | CommentObject::View
                | CommentObject::MaterializedView
                | CommentObject::Index
                | CommentObject::Sequence => {
                    let name = table_name(name)?;
                    let found = resolve::relation(work.txn, &name);
                    found.as_ref().map_or(Ok(()), |relation| work.permit.check_owns(relation))?;
                    match found {
                        Some(Relation::Table(table)) => About::Relation(table.def.oid),
                        Some(Relation::Index(_, index)) => About::Relation(index.id().0),
                        Some(Relation::Columns(_, columns)) => About::Relation(columns.def.oid),
                        Some(Relation::Object(object)) => About::Relation(object.id),
                        None => return Err(resolve::undefined(&name)),
                    }
                }
                CommentObject::Column => {
                    let (about, table) = column_of(work.txn, name)?;
                    work.permit.check_owns_table(&table)?;
                    about
                }
                CommentObject::Schema => {
                    let name =
                        crate::parse::fold(name.0.last().and_then(|part| part.as_ident()).ok_or_else(|| {
                            Error::new(Code::SyntaxError, format!("\"{name}\" is not a schema name"))
                        })?);
                    let id = resolve::schema_of(work.txn, &name).ok_or_else(|| resolve::no_schema(&name))?;
                    work.permit.check_owns_schema(id, &name)?;
                    About::Schema(id)
                }
                CommentObject::Database => {
                    work.permit.check_owns_database(&work.settings.database)?;
                    About::Database
                }
                other => return Err(super::answers::unsupported(&format!("COMMENT ON {other}"))),
            };
        comment::set(work.txn, &about, text)?;
        Ok(Outcome::done(Tag::Done("COMMENT")))
    })
}

/// COMMENT ON CONSTRAINT
pub(super) fn comment_on_constraint(
    session: &mut Session,
    name: &str,
    table: &ObjectName,
    text: Option<&str>,
) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable("COMMENT")?;
        let table = resolve::table(work.txn, &table_name(table)?)?;
        work.permit.check_owns_table(&table)?;
        let def = &table.def;
        let is_known = def.primary_key.as_deref() == Some(name)
            || def.checks.iter().any(|(known, _)| known == name)
            || def.foreign_keys.iter().any(|key| key.name == name)
            || work.txn.indexes_of(&table).iter().any(|known| known.def.name == name && known.index.is_constraint());
        if !is_known {
            let message = format!("constraint \"{name}\" for table \"{}\" does not exist", def.name);
            return Err(Error::new(Code::UndefinedObject, message));
        }
        comment::set(work.txn, &About::Constraint(def.oid, name.to_owned()), text)?;
        Ok(Outcome::done(Tag::Done("COMMENT")))
    })
}

fn column_of(txn: &Transaction, name: &ObjectName) -> Result<(About, TableRef)> {
    let wrong = || Error::new(Code::SyntaxError, "column name must be qualified");
    let (column, table) = name.0.split_last().ok_or_else(wrong)?;
    let column = crate::parse::fold(column.as_ident().ok_or_else(wrong)?);
    if table.is_empty() {
        return Err(wrong());
    }
    let table_name = table_name(&ObjectName(table.to_vec()))?;
    let table = resolve::table(txn, &table_name)?;
    let ordinal = table.def.schema.visible_ordinal(&column).ok_or_else(|| {
        let message = format!("column \"{column}\" of relation \"{}\" does not exist", table.def.name);
        Error::new(Code::UndefinedColumn, message)
    })?;
    Ok((About::Column(table.def.oid, ordinal), table))
}
