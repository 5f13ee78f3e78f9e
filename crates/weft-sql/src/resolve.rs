//! Names of relations: with a schema or along the search path.
//!
//! ```text
//!   t        search path public: public.t
//!   s.t      "s\0t" inside: the schema s, its table t           shown as s.t
//! ```
//!
//! A name with a schema travels as one text, schema and name with [`QUALIFIER`] between: no SQL text has that
//! character.

use std::sync::Arc;

use weft_format::{Code, Error, Result};
use weft_kernel::index::Index;
use weft_kernel::{ColumnsRef, Object, ObjectKind, SchemaId, TableDef, TableRef, Transaction};
use weft_pgcatalog::CatalogRelation;

/// Between a schema and a name.
pub(crate) const QUALIFIER: char = '\0';

/// What a session calls the schema of its temporary relations, and what the name of each such schema begins with.
pub(crate) const TEMPORARY: &str = "pg_temp";
pub(crate) const TEMPORARY_PREFIX: &str = "pg_temp_";

/// The name of the schema that is always there.
pub(crate) const PUBLIC: &str = "public";

/// A relation of some kind.
pub(crate) enum Relation {
    Table(TableRef),
    Index(TableRef, Arc<Index>),
    /// A column index, with its table.
    Columns(TableRef, ColumnsRef),
    Object(Arc<Object>),
}

impl Relation {
    /// The schema that it is in.
    pub(crate) fn namespace(&self) -> SchemaId {
        match self {
            Relation::Table(table) | Relation::Index(table, _) | Relation::Columns(table, _) => table.def.namespace,
            Relation::Object(object) => object.namespace,
        }
    }
}

/// Schema and name of a name that has perhaps a schema.
pub(crate) fn split(name: &str) -> (Option<&str>, &str) {
    match name.split_once(QUALIFIER) {
        Some((schema, name)) => (Some(schema), name),
        None => (None, name),
    }
}

/// A name with a schema.
pub fn qualified(schema: &str, name: &str) -> String {
    format!("{schema}{QUALIFIER}{name}")
}

/// A name as people read it.
pub(crate) fn shown(name: &str) -> String {
    name.replace(QUALIFIER, ".")
}

/// The schema of a name.
pub(crate) fn schema_of(txn: &Transaction, name: &str) -> Option<SchemaId> {
    if name == PUBLIC {
        return Some(SchemaId::PUBLIC);
    }
    if name == TEMPORARY || name.starts_with(TEMPORARY_PREFIX) {
        // Those of other sessions are not found.
        let own = txn.search_path().iter().copied().find(|id| is_temporary(txn, *id))?;
        return (name == TEMPORARY || schema_name(txn, own) == name).then_some(own);
    }
    txn.object(ObjectKind::Schema, SchemaId::PUBLIC, name).map(|object| SchemaId(object.id))
}

/// The name of a schema.
pub(crate) fn schema_name(txn: &Transaction, id: SchemaId) -> String {
    match id {
        SchemaId::PUBLIC => PUBLIC.to_owned(),
        SchemaId(id) => txn.object_of(id).map_or_else(|| format!("schema {id}"), |object| object.name.clone()),
    }
}

/// Whether a schema is that of a session's temporary relations.
pub(crate) fn is_temporary(txn: &Transaction, id: SchemaId) -> bool {
    id != SchemaId::PUBLIC && txn.object_of(id.0).is_some_and(|object| object.name.starts_with(TEMPORARY_PREFIX))
}

/// An error when one of two tables, in these schemas, refers to another and only one of them is temporary.
pub(crate) fn check_same_life(txn: &Transaction, child: SchemaId, parent: SchemaId) -> Result<()> {
    let message = match (is_temporary(txn, child), is_temporary(txn, parent)) {
        (true, false) => "constraints on temporary tables may reference only temporary tables",
        (false, true) => "constraints on permanent tables may reference only permanent tables",
        _ => return Ok(()),
    };
    Err(Error::new(Code::InvalidTableDefinition, message))
}

/// The error of a schema that is not there.
pub(crate) fn no_schema(name: &str) -> Error {
    Error::new(Code::UndefinedSchema, format!("schema \"{name}\" does not exist"))
}

/// Where a name may be: the schemas and the name in them.
fn places<'a>(txn: &Transaction, name: &'a str) -> (Vec<SchemaId>, &'a str) {
    let (schema, name) = split(name);
    match schema {
        Some(schema) => (schema_of(txn, schema).into_iter().collect(), name),
        None => (txn.search_path().to_vec(), name),
    }
}

/// The relation of a name.
pub(crate) fn relation(txn: &Transaction, name: &str) -> Option<Relation> {
    let (schemas, name) = places(txn, name);
    schemas.into_iter().find_map(|schema| {
        if let Ok(table) = txn.table_in(schema, name) {
            return Some(Relation::Table(table));
        }
        if let Some((table, index)) = txn.index_in(schema, name) {
            return Some(Relation::Index(table, index));
        }
        if let Some(columns) = txn.column_index_in(schema, name)
            && let Some(table) = txn.table_of(columns.table())
        {
            return Some(Relation::Columns(table, columns));
        }
        let kinds = [ObjectKind::View, ObjectKind::Sequence];
        kinds.into_iter().find_map(|kind| txn.object(kind, schema, name)).map(Relation::Object)
    })
}

/// The relation of the catalog that a name is of. Without a schema those of `pg_catalog` come before users' relations,
/// but for the session's temporary ones.
pub(crate) fn of_catalog(txn: &Transaction, name: &str) -> Option<CatalogRelation> {
    let (schema, own) = split(name);
    let found = CatalogRelation::find(schema, own)?;
    let is_hidden = || relation(txn, name).is_some_and(|known| is_temporary(txn, known.namespace()));
    (schema.is_some() || !is_hidden()).then_some(found)
}

/// The table of a name.
pub(crate) fn table(txn: &Transaction, name: &str) -> Result<TableRef> {
    // One look for the name that most have.
    if let [schema] = **txn.search_path()
        && !name.contains(QUALIFIER)
        && let Ok(table) = txn.table_in(schema, name)
    {
        return Ok(table);
    }
    match relation(txn, name) {
        Some(Relation::Table(table)) => Ok(table),
        Some(Relation::Index(..) | Relation::Columns(..)) => {
            let message = format!("\"{}\" is an index", shown(name));
            Err(Error::new(Code::WrongObjectType, message).hint("name its table"))
        }
        Some(Relation::Object(object)) => {
            let what = if object.kind == ObjectKind::View { "view" } else { "sequence" };
            let message = format!("\"{}\" is a {what}, not a table", shown(name));
            Err(Error::new(Code::WrongObjectType, message))
        }
        None => Err(undefined(name)),
    }
}

/// The index of a name, with its table.
pub(crate) fn index(txn: &Transaction, name: &str) -> Option<(TableRef, Arc<Index>)> {
    match relation(txn, name)? {
        Relation::Index(table, index) => Some((table, index)),
        _ => None,
    }
}

/// The object of a relation's name.
pub(crate) fn object(txn: &Transaction, kind: ObjectKind, name: &str) -> Option<Arc<Object>> {
    match relation(txn, name)? {
        Relation::Object(object) if object.kind == kind => Some(object),
        _ => None,
    }
}

/// The object of a name, of a kind that is no relation.
pub(crate) fn no_relation(txn: &Transaction, kind: ObjectKind, name: &str) -> Option<Arc<Object>> {
    let (schemas, name) = places(txn, name);
    schemas.into_iter().find_map(|schema| txn.object(kind, schema, name))
}

/// No relation of this name is seen.
pub(crate) fn undefined(name: &str) -> Error {
    let shown = shown(name);
    let message = format!("relation \"{shown}\" does not exist");
    Error::new(Code::UndefinedTable, message).about(&shown, None, None)
}

/// The schema in which something of a name is made, and the name without it.
pub(crate) fn creation(txn: &Transaction, name: &str) -> Result<(SchemaId, String)> {
    let (schema, name) = split(name);
    let id = match schema {
        Some(schema) => schema_of(txn, schema).ok_or_else(|| no_schema(schema))?,
        None => txn.search_path().iter().copied().find(|id| !is_temporary(txn, *id)).ok_or_else(|| {
            Error::new(Code::UndefinedSchema, "no schema has been selected to create in").hint("SET search_path")
        })?,
    };
    Ok((id, name.to_owned()))
}

/// Whether a relation in a schema has a name.
pub(crate) fn is_taken(txn: &Transaction, schema: SchemaId, name: &str) -> bool {
    txn.table_in(schema, name).is_ok()
        || txn.index_in(schema, name).is_some()
        || txn.column_index_in(schema, name).is_some()
        || [ObjectKind::View, ObjectKind::Sequence].into_iter().any(|kind| txn.object(kind, schema, name).is_some())
}

/// The name of a table under which a later look-up finds just it.
pub(crate) fn full_name(txn: &Transaction, def: &TableDef) -> String {
    qualified(&schema_name(txn, def.namespace), &def.name)
}
