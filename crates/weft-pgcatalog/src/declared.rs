//! The catalog's relations as they are declared: their columns.
//!
//! ```text
//!   data/relations.txt    1259 r pg_catalog pg_class|oid:oid relname:name ...        PostgreSQL 15's columns
//!   data/types.txt        23|int4|4|t|b|N|...                                        and its types
//! ```

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::schemas::{INFORMATION_SCHEMA, PG_CATALOG};
use crate::value::Type;

/// A relation of the catalog.
pub(crate) struct Relation {
    pub(crate) oid: u32,
    pub(crate) is_view: bool,
    pub(crate) schema: u32,
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<(&'static str, Type)>,
    /// The names of the columns' types in `pg_type`.
    pub(crate) type_names: Vec<&'static str>,
}

static ALL: LazyLock<Vec<Relation>> =
    LazyLock::new(|| include_str!("../data/relations.txt").lines().filter_map(relation).collect());

fn relation(line: &'static str) -> Option<Relation> {
    let (head, columns) = line.split_once('|')?;
    let mut words = head.split(' ');
    let (oid, kind, schema, name) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let pairs: Vec<(&str, &str)> = columns.split(' ').filter_map(|column| column.split_once(':')).collect();
    Some(Relation {
        oid: oid.parse().ok()?,
        is_view: kind == "v",
        schema: if schema == "pg_catalog" { PG_CATALOG } else { INFORMATION_SCHEMA },
        name,
        columns: pairs.iter().map(|(name, data_type)| (*name, Type::named(data_type))).collect(),
        type_names: pairs.iter().map(|(_, data_type)| *data_type).collect(),
    })
}

/// All relations of the catalog.
pub(crate) fn all() -> &'static [Relation] {
    &ALL
}

static BY_OID: LazyLock<HashMap<u32, &'static Relation>> =
    LazyLock::new(|| ALL.iter().map(|relation| (relation.oid, relation)).collect());

static BY_NAME: LazyLock<HashMap<(u32, &'static str), &'static Relation>> =
    LazyLock::new(|| ALL.iter().map(|relation| ((relation.schema, relation.name), relation)).collect());

/// The relation of a number.
pub(crate) fn by_oid(oid: u32) -> Option<&'static Relation> {
    BY_OID.get(&oid).copied()
}

/// The relation of a name in a schema.
pub(crate) fn in_schema(schema: u32, name: &str) -> Option<&'static Relation> {
    BY_NAME.get(&(schema, name)).copied()
}

/// The relation of a name; without a schema it is one of `pg_catalog`.
pub(crate) fn find(schema: Option<&str>, name: &str) -> Option<&'static Relation> {
    let schema = match schema {
        None | Some("pg_catalog") => PG_CATALOG,
        Some("information_schema") => INFORMATION_SCHEMA,
        Some(_) => return None,
    };
    in_schema(schema, name)
}
