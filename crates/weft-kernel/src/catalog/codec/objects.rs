//! What definitions and catalogs have from format version 6 on: numbers, schemas, dropped and added columns, objects,
//! sequences.
//!
//! ```text
//!   rest of a definition   number, schema, properties, dropped columns, first columns, missing values
//!   object                 id, kind, schema, name, properties, needs
//!   sequence               id, last i64, called
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_format::wire::{ByteReader, put_count, put_u32};
use weft_format::{Evolution, Result, RowCodec, Schema, Timestamp};

use super::super::objects::{Object, ObjectKind};

use weft_contract::{SchemaId, TableDef};

use super::bytes::{damaged, put_pairs, put_text, read_pairs, read_text, reader};
use crate::log::SequenceValue;

/// What a definition ends with.
#[derive(Default)]
pub(super) struct Rest {
    pub(super) oid: u32,
    pub(super) namespace: SchemaId,
    pub(super) properties: BTreeMap<String, String>,
    pub(super) evolution: Evolution,
}

pub(super) fn put_rest(bytes: &mut Vec<u8>, def: &TableDef) {
    put_u32(bytes, def.oid);
    put_u32(bytes, def.namespace.0);
    put_pairs(bytes, def.properties.iter());
    let Evolution { dropped, first_columns, missing } = &def.schema.evolution;
    assert!(dropped.is_sorted_by(|a, b| a < b), "dropped columns ascend");
    assert!(dropped.iter().all(|ordinal| !def.schema.key.contains(ordinal)), "no column of the key is dropped");
    assert!(*first_columns <= def.schema.columns.len(), "columns are never fewer than at first");
    put_count(bytes, dropped.len());
    dropped.iter().for_each(|&ordinal| put_count(bytes, ordinal));
    put_count(bytes, *first_columns);
    let missing = missing.as_deref().unwrap_or_default();
    put_count(bytes, missing.len());
    bytes.extend(missing);
}

/// Reads the end of a definition whose schema is known up to it.
pub(super) fn read_rest(input: &mut ByteReader<'_>, schema: &Schema) -> Result<Rest> {
    let oid = input.u32()?;
    let namespace = SchemaId(input.u32()?);
    let properties = read_pairs(input)?.into_iter().collect();
    let mut dropped = Vec::new();
    for _ in 0..input.count()? {
        let ordinal = input.u32()? as usize;
        if ordinal >= schema.columns.len() || schema.key.contains(&ordinal) || dropped.last() >= Some(&ordinal) {
            return Err(damaged(format!("column {ordinal} cannot have been dropped")));
        }
        dropped.push(ordinal);
    }
    let first_columns = input.u32()? as usize;
    let length = input.count()?;
    let missing = input.take(length)?;
    if first_columns > schema.columns.len() {
        return Err(damaged(format!("{first_columns} columns were there at first, of {}", schema.columns.len())));
    }
    if !missing.is_empty() {
        RowCodec::new(schema).check(missing).map_err(|error| damaged(error.message().to_owned()))?;
    }
    let missing = (!missing.is_empty()).then(|| missing.into());
    Ok(Rest { oid, namespace, properties, evolution: Evolution { dropped, first_columns, missing } })
}

/// Appends an object.
pub(crate) fn encode_object(object: &Object, bytes: &mut Vec<u8>) {
    put_u32(bytes, object.id);
    bytes.push(match object.kind {
        ObjectKind::Schema => 1,
        ObjectKind::View => 2,
        ObjectKind::Sequence => 3,
        ObjectKind::Comment => 4,
        ObjectKind::Other => 5,
        ObjectKind::Type => 6,
        ObjectKind::Function => 7,
    });
    put_u32(bytes, object.namespace.0);
    put_text(bytes, &object.name);
    put_pairs(bytes, object.properties.iter());
    put_count(bytes, object.needs.len());
    object.needs.iter().for_each(|&id| put_u32(bytes, id));
}

/// Reads an object that is all of some bytes.
pub(crate) fn decode_object(bytes: &[u8]) -> Result<Object> {
    let mut input = reader(bytes);
    let object = read_object(&mut input)?;
    input.end()?;
    Ok(object)
}

fn read_object(input: &mut ByteReader<'_>) -> Result<Object> {
    let id = input.u32()?;
    let kind = match input.u8()? {
        1 => ObjectKind::Schema,
        2 => ObjectKind::View,
        3 => ObjectKind::Sequence,
        4 => ObjectKind::Comment,
        5 => ObjectKind::Other,
        6 => ObjectKind::Type,
        7 => ObjectKind::Function,
        other => return Err(damaged(format!("object {id} is of kind {other}"))),
    };
    let namespace = SchemaId(input.u32()?);
    let name = read_text(input)?;
    let properties = read_pairs(input)?.into_iter().collect();
    let mut needs = Vec::new();
    for _ in 0..input.count()? {
        needs.push(input.u32()?);
    }
    if id == 0 {
        return Err(damaged(format!("object {name} has no number")));
    }
    Ok(Object { id, kind, namespace, name, properties, needs })
}

pub(super) fn put_objects(
    bytes: &mut Vec<u8>,
    objects: &[(Timestamp, Arc<Object>)],
    sequences: &[(u32, SequenceValue)],
) {
    put_count(bytes, objects.len());
    for (since, object) in objects {
        bytes.extend(since.0.to_le_bytes());
        encode_object(object, bytes);
    }
    put_count(bytes, sequences.len());
    for (id, value) in sequences {
        put_u32(bytes, *id);
        bytes.extend(value.last.to_le_bytes());
        bytes.push(u8::from(value.is_called));
    }
}

type Objects = (Vec<(Timestamp, Arc<Object>)>, Vec<(u32, SequenceValue)>);

pub(super) fn read_objects(input: &mut ByteReader<'_>, next_id: u32) -> Result<Objects> {
    let (mut objects, mut sequences) = (Vec::new(), Vec::new());
    for _ in 0..input.count()? {
        let since = Timestamp(input.u64()?);
        let object = read_object(input)?;
        if object.id >= next_id {
            return Err(damaged(format!("object {} has the id {} of {next_id}", object.name, object.id)));
        }
        objects.push((since, Arc::new(object)));
    }
    for _ in 0..input.count()? {
        let id = input.u32()?;
        let last = input.u64()?.cast_signed();
        sequences.push((id, SequenceValue { last, is_called: input.flag()? }));
    }
    Ok((objects, sequences))
}
