//! Table definitions and the whole catalog as bytes; docs/format/catalog.md is the specification.
//!
//! ```text
//!   text "id"          02 00 00 00  69 64
//!   column id integer  02 00 00 00  69 64   03   01           name, type, not null
//!   numeric(10,2)      07 0a 02
//! ```
//!
//! Little-endian; a text is its length (u32) and UTF-8 bytes; a list is its count (u32) and its items. Bytes that do
//! not read to their end are [`Code::DataCorrupted`], an unknown format version is
//! [`Code::VersionMismatch`].

mod bytes;
mod objects;
mod predicates;

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_contract::{Deferrable, FkAction, ForeignKey, TableDef};
use weft_expr::Expr;
#[cfg(doc)]
use weft_format::Code;
use weft_format::wire::{ByteReader, put_count, put_optional, put_type, put_u32};
use weft_format::{Column, Evolution, Result, Schema, TableId, Timestamp};

use self::bytes::{
    FORMAT_VERSION, damaged, put_pairs, put_text, read_action, read_optional, read_pairs, read_text, read_type,
    read_version, reader,
};
use self::objects::{Rest, put_objects, put_rest, read_objects, read_rest};
pub(crate) use self::objects::{decode_object, encode_object};
use self::predicates::{put_predicates, read_predicates};
use super::objects::Object;
use crate::log::SequenceValue;
use crate::timeline::{WallImage, put_walls, read_walls};

/// Definitions from this version on have foreign keys.
const WITH_FOREIGN_KEYS: u8 = 2;
/// Definitions from this version on have the predicate of a partial index.
const WITH_PREDICATE: u8 = 3;
/// Foreign keys from this version on may be deferrable and initially immediate.
const WITH_DEFERRABLE: u8 = 4;
/// Definitions from this version on have the expressions of an index.
const WITH_EXPRESSIONS: u8 = 5;

/// Definitions from this version on have numbers, schemas and what ALTER TABLE made; catalogs have objects.
const WITH_OBJECTS: u8 = 6;

/// Catalogs from this version on say how far back definitions are known, and when commits were made.
const WITH_HISTORY: u8 = 7;

/// Foreign keys from this version on say how NULLs match, and which columns are set when a row is deleted.
const WITH_MATCH: u8 = 8;

/// The catalog as the manifest stores it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CatalogImage {
    /// Above every table id ever used.
    pub(crate) next_id: u32,
    /// When each table was created, and its definition.
    pub(crate) tables: Vec<(Timestamp, Arc<TableDef>)>,
    /// Since when each object is as it is, and the object.
    pub(crate) objects: Vec<(Timestamp, Arc<Object>)>,
    /// Where sequences are.
    pub(crate) sequences: Vec<(u32, SequenceValue)>,
    /// The last DDL: from there on snapshots see these definitions. None in what the release before wrote.
    pub(crate) last_ddl: Option<Timestamp>,
    /// When commits were made, up to the cut.
    pub(crate) walls: WallImage,
}

/// Appends a definition.
pub fn encode_def(def: &TableDef, bytes: &mut Vec<u8>) {
    assert_eq!(def.defaults.len(), def.schema.columns.len(), "each column has a default, or that it has none");
    assert!(!def.schema.key.is_empty(), "a table has a key, if a hidden one");
    bytes.push(FORMAT_VERSION);
    put_u32(bytes, def.id.0);
    put_text(bytes, &def.name);
    put_text(bytes, &def.method);
    put_u32(bytes, def.schema.version);
    bytes.push(u8::from(def.schema.hidden_row_id));
    put_count(bytes, def.schema.columns.len());
    for column in &def.schema.columns {
        put_text(bytes, &column.name);
        put_type(bytes, column.data_type);
        bytes.push(u8::from(column.not_null));
    }
    put_count(bytes, def.schema.key.len());
    for &ordinal in &def.schema.key {
        put_count(bytes, ordinal);
    }
    put_pairs(bytes, def.options.iter());
    put_count(bytes, def.defaults.len());
    for default in &def.defaults {
        put_optional(bytes, default.as_deref());
    }
    put_pairs(bytes, def.checks.iter().map(|(name, check)| (name, check)));
    put_optional(bytes, def.primary_key.as_deref());
    put_count(bytes, def.foreign_keys.len());
    for foreign_key in &def.foreign_keys {
        put_foreign_key(bytes, foreign_key);
    }
    put_predicates(bytes, &def.predicate);
    put_count(bytes, def.expressions.len());
    for expression in &def.expressions {
        let encoded = expression.encode().expect("an index is made with expressions that can be stored");
        put_count(bytes, encoded.len());
        bytes.extend(encoded);
    }
    put_rest(bytes, def);
    for foreign_key in &def.foreign_keys {
        bytes.push(u8::from(foreign_key.full));
        put_count(bytes, foreign_key.set_on_delete.len());
        foreign_key.set_on_delete.iter().for_each(|&column| put_count(bytes, column));
    }
}

fn put_foreign_key(bytes: &mut Vec<u8>, foreign_key: &ForeignKey) {
    let (columns, parent_columns) = (&foreign_key.columns, &foreign_key.parent_columns);
    assert_eq!(columns.len(), parent_columns.len(), "each column of a foreign key refers to one of the parent");
    assert_ne!(foreign_key.parent, ForeignKey::ITSELF, "a foreign key that is stored names its table by number");
    put_text(bytes, &foreign_key.name);
    put_u32(bytes, foreign_key.parent.0);
    put_count(bytes, foreign_key.columns.len());
    for (&column, &parent_column) in foreign_key.columns.iter().zip(&foreign_key.parent_columns) {
        put_count(bytes, column);
        put_count(bytes, parent_column);
    }
    bytes.extend([action_byte(foreign_key.on_delete), action_byte(foreign_key.on_update)]);
    bytes.push(match foreign_key.deferrable {
        Deferrable::No => 0,
        Deferrable::InitiallyDeferred => 1,
        Deferrable::InitiallyImmediate => 2,
    });
}

fn action_byte(action: FkAction) -> u8 {
    match action {
        FkAction::NoAction => 0,
        FkAction::Restrict => 1,
        FkAction::Cascade => 2,
        FkAction::SetNull => 3,
        FkAction::SetDefault => 4,
    }
}

/// Reads a definition from the front of `bytes` and moves them behind it.
pub fn decode_def(bytes: &mut &[u8]) -> Result<TableDef> {
    let mut input = reader(bytes);
    let def = read_def(&mut input)?;
    *bytes = input.bytes;
    Ok(def)
}

/// The bytes of a catalog edit's payload.
pub(crate) fn encode_image(image: &CatalogImage) -> Vec<u8> {
    let has_number = |id: u32| (1..image.next_id).contains(&id);
    assert!(image.tables.iter().all(|(_, def)| has_number(def.id.0)), "the next id is above every table's (catalog 3)");
    assert!(image.objects.iter().all(|(_, object)| has_number(object.id)), "and above every object's (objects 2)");
    let mut bytes = vec![WITH_HISTORY];
    put_u32(&mut bytes, image.next_id);
    put_count(&mut bytes, image.tables.len());
    for (create_ts, def) in &image.tables {
        bytes.extend(create_ts.0.to_le_bytes());
        encode_def(def, &mut bytes);
    }
    put_objects(&mut bytes, &image.objects, &image.sequences);
    bytes.extend(image.last_ddl.map_or(u64::MAX, |ts| ts.0).to_le_bytes());
    put_walls(&mut bytes, &image.walls);
    bytes
}

/// Reads a catalog edit's payload.
pub(crate) fn decode_image(bytes: &[u8]) -> Result<CatalogImage> {
    let mut input = reader(bytes);
    let version = read_version(&mut input, WITH_HISTORY)?;
    let next_id = input.u32()?;
    let mut tables = Vec::new();
    for _ in 0..input.count()? {
        let create_ts = Timestamp(input.u64()?);
        let def = read_def(&mut input)?;
        if def.id.0 >= next_id || def.id.0 == 0 {
            return Err(damaged(format!("table {} has the id {} of {next_id}", def.name, def.id)));
        }
        tables.push((create_ts, Arc::new(def)));
    }
    let (objects, sequences) =
        if version >= WITH_OBJECTS { read_objects(&mut input, next_id)? } else { Default::default() };
    let (mut last_ddl, mut walls) = (None, WallImage::default());
    if version >= WITH_HISTORY {
        last_ddl = Some(input.u64()?).filter(|ts| *ts != u64::MAX).map(Timestamp);
        walls = read_walls(&mut input, || damaged("commits were not made in their order".into()))?;
    }
    input.end()?;
    Ok(CatalogImage { next_id, tables, objects, sequences, last_ddl, walls })
}

fn read_def(input: &mut ByteReader<'_>) -> Result<TableDef> {
    let version = read_version(input, FORMAT_VERSION)?;
    let id = TableId(input.u32()?);
    let name = read_text(input)?;
    if matches!(id.0, 0 | u32::MAX) {
        return Err(damaged(format!("table {name} has the number {}", id.0)));
    }
    let method = read_text(input)?;
    let schema = read_schema(input)?;
    let options = read_pairs(input)?.into_iter().collect::<BTreeMap<_, _>>();
    let mut defaults = Vec::new();
    for _ in 0..input.count()? {
        defaults.push(read_optional(input)?);
    }
    let checks = read_pairs(input)?;
    let primary_key = read_optional(input)?;
    if version < WITH_OBJECTS && schema.hidden_row_id {
        defaults.push(None);
    }
    if defaults.len() != schema.columns.len() {
        return Err(damaged(format!("table {name} has {} defaults", defaults.len())));
    }
    let mut foreign_keys = Vec::new();
    if version >= WITH_FOREIGN_KEYS {
        for _ in 0..input.count()? {
            foreign_keys.push(read_foreign_key(input, version, schema.columns.len())?);
        }
    }
    let predicate = if version >= WITH_PREDICATE { read_predicates(input)? } else { Vec::new() };
    let mut expressions = Vec::new();
    if version >= WITH_EXPRESSIONS {
        for _ in 0..input.count()? {
            let length = input.count()?;
            expressions.push(Expr::decode(input.take(length)?)?);
        }
    }
    let mut schema = schema;
    let Rest { oid, namespace, properties, evolution } =
        if version >= WITH_OBJECTS { read_rest(input, &schema)? } else { Rest { oid: id.0, ..Rest::default() } };
    schema.evolution = evolution;
    if version >= WITH_MATCH {
        foreign_keys.iter_mut().try_for_each(|foreign_key| read_match(input, foreign_key))?;
    }
    let schema = Arc::new(schema);
    Ok(TableDef {
        id,
        oid,
        namespace,
        properties,
        name,
        schema,
        method,
        options,
        defaults,
        checks,
        primary_key,
        foreign_keys,
        predicate,
        expressions,
    })
}

fn read_foreign_key(input: &mut ByteReader<'_>, version: u8, column_count: usize) -> Result<ForeignKey> {
    let name = read_text(input)?;
    let parent = TableId(input.u32()?);
    let (mut columns, mut parent_columns) = (Vec::new(), Vec::new());
    for _ in 0..input.count()? {
        columns.push(input.u32()? as usize);
        parent_columns.push(input.u32()? as usize);
    }
    if columns.is_empty() || columns.iter().any(|&column| column >= column_count) || parent == ForeignKey::ITSELF {
        return Err(damaged(format!("foreign key {name} of columns {columns:?} refers to table {parent}")));
    }
    let (on_delete, on_update) = (read_action(input)?, read_action(input)?);
    let deferrable = match input.u8()? {
        0 => Deferrable::No,
        1 => Deferrable::InitiallyDeferred,
        2 if version >= WITH_DEFERRABLE => Deferrable::InitiallyImmediate,
        other => return Err(damaged(format!("foreign key {name} is deferrable as {other}"))),
    };
    let (full, set_on_delete) = (false, Vec::new());
    Ok(ForeignKey { name, columns, parent, parent_columns, on_delete, on_update, deferrable, full, set_on_delete })
}

/// What stands at the end of a definition about a foreign key.
fn read_match(input: &mut ByteReader<'_>, foreign_key: &mut ForeignKey) -> Result<()> {
    foreign_key.full = input.flag()?;
    for _ in 0..input.count()? {
        foreign_key.set_on_delete.push(input.u32()? as usize);
    }
    let ForeignKey { name, columns, set_on_delete, .. } = foreign_key;
    match set_on_delete.iter().all(|column| columns.contains(column)) {
        true => Ok(()),
        false => Err(damaged(format!("foreign key {name} of columns {columns:?} sets columns {set_on_delete:?}"))),
    }
}

fn read_schema(input: &mut ByteReader<'_>) -> Result<Schema> {
    let version = input.u32()?;
    let hidden_row_id = input.flag()?;
    let mut columns = Vec::new();
    for _ in 0..input.count()? {
        columns.push(Column { name: read_text(input)?, data_type: read_type(input)?, not_null: input.flag()? });
    }
    let mut key = Vec::new();
    for _ in 0..input.count()? {
        let ordinal = input.u32()? as usize;
        if !columns.get(ordinal).is_some_and(|column| column.not_null) {
            return Err(damaged(format!("key column {ordinal} does not exist or is nullable")));
        }
        key.push(ordinal);
    }
    if key.is_empty() || (hidden_row_id && key.len() != 1) {
        return Err(damaged(format!("the key {key:?} does not fit {} columns", columns.len())));
    }
    Ok(Schema { columns, key, hidden_row_id, version, evolution: Evolution::default() })
}

#[cfg(test)]
mod tests;
