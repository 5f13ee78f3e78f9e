//! The records of the present manifest, for people and tests: read only, and nothing is cleaned away.
//!
//! ```text
//!   MANIFEST-3   edit {table 5, cut 40, +7} · mark · forget table 4 · mark
//! ```

use std::path::Path;

use weft_env::Env;
use weft_format::{Result, TableId};

use super::edit::Edit;
use super::files::{read_current, read_file};
use super::layout::{
    FILE_HEADER_BYTES, FileHeader, KIND_DATABASE, KIND_EDIT, KIND_FORGET, KIND_MARK, RecordView, damaged, manifest_name,
};

/// A record of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManifestRecord {
    /// A change of a table's files; table 0 is the catalog.
    Edit(Edit),
    /// A dropped table is forgotten.
    Forget(TableId),
    /// What lies before is durable.
    Mark,
    /// Which database it is.
    Database(u64),
}

/// The manifest that CURRENT names: its file's name, and its records up to the first one that is not whole. The first
/// edits are the snapshot with which the file began.
pub fn read_manifest(env: &Env, dir: &Path) -> Result<(String, Vec<ManifestRecord>)> {
    let number = read_current(env, dir)?;
    let name = manifest_name(number);
    let bytes = read_file(env, &dir.join(&name))?;
    let header = FileHeader::decode(&bytes, number)?;
    let mut records = Vec::new();
    let mut offset = FILE_HEADER_BYTES;
    while let Some(record) = RecordView::decode(&bytes, offset, &header) {
        let unreadable = || damaged(&name, offset, "a record cannot be read although its checksum fits");
        records.push(match record.kind {
            KIND_EDIT => ManifestRecord::Edit(Edit::decode(record.payload).ok_or_else(unreadable)?),
            KIND_FORGET => {
                let id: [u8; 4] = record.payload.try_into().map_err(|_| unreadable())?;
                ManifestRecord::Forget(TableId(u32::from_le_bytes(id)))
            }
            KIND_MARK => ManifestRecord::Mark,
            KIND_DATABASE => {
                let number: [u8; 8] = record.payload.try_into().map_err(|_| unreadable())?;
                ManifestRecord::Database(u64::from_le_bytes(number))
            }
            _ => return Err(unreadable()),
        });
        offset += record.size;
    }
    Ok((name, records))
}
