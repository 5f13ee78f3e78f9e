//! Pages as bytes, and which file has which page.
//!
//! ```text
//!   file      hash u64 | count | count x (number u64, count x (key, since u64, row))
//!   payload   count | count x (number u64, lowest key, file u64)          pages written by one job; later ones win
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_env::File;
use weft_format::bloom::hash_bytes;
use weft_format::wire::{ByteReader, put_bytes, put_count};
use weft_format::{Error, FileId, Result, Timestamp};

use super::page::Page;

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("a file or payload of method in_place is damaged: {what}")).hint("restore it from a backup")
}

/// Where each page was written last: its lowest key, and the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places(pub(super) BTreeMap<u64, (Vec<u8>, FileId)>);

impl Places {
    /// What payloads add up to, oldest first.
    pub(super) fn from_payloads(payloads: &[Vec<u8>]) -> Result<Places> {
        let mut places = Places::default();
        for payload in payloads {
            let mut reader = ByteReader::new(payload, damaged);
            for _ in 0..reader.count()? {
                let (number, low) = (reader.u64()?, reader.byte_string()?.to_vec());
                places.0.insert(number, (low, FileId(reader.u64()?)));
            }
            reader.end()?;
        }
        Ok(places)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_count(&mut bytes, self.0.len());
        for (number, (low, file)) in &self.0 {
            bytes.extend(number.to_le_bytes());
            put_bytes(&mut bytes, low);
            bytes.extend(file.0.to_le_bytes());
        }
        bytes
    }

    /// The files that some page needs.
    pub(super) fn files(&self) -> BTreeSet<FileId> {
        self.0.values().map(|(_, file)| *file).collect()
    }
}

/// The bytes of pages as of a timestamp.
pub(super) fn pages_as_of<'a>(pages: impl ExactSizeIterator<Item = &'a Page>, ts: Timestamp) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_count(&mut bytes, pages.len());
    for page in pages {
        bytes.extend(page.number.to_le_bytes());
        let rows: Vec<_> = page.slots().iter().filter_map(|slot| Some((&slot.key, slot.seen(ts)?))).collect();
        put_count(&mut bytes, rows.len());
        for (key, version) in rows {
            put_bytes(&mut bytes, key);
            bytes.extend(version.since.0.to_le_bytes());
            put_bytes(&mut bytes, &version.row);
        }
    }
    [&hash_bytes(&bytes).to_le_bytes()[..], &bytes].concat()
}

/// The pages of a file, whose hash must fit.
pub(super) fn read_pages(handle: &dyn File) -> Result<Vec<Page>> {
    let failed = |error: std::io::Error| Error::io("reading a file of method in_place", &error);
    let mut bytes = vec![0; handle.len().map_err(failed)? as usize];
    handle.read_exact_at(&mut bytes, 0).map_err(failed)?;
    let (hash, bytes) = bytes.split_at_checked(8).ok_or_else(|| damaged("it ends too early"))?;
    if hash_bytes(bytes).to_le_bytes() != *hash {
        return Err(damaged("its checksum does not fit"));
    }
    let mut reader = ByteReader::new(bytes, damaged);
    let mut pages = Vec::new();
    for _ in 0..reader.count()? {
        let number = reader.u64()?;
        let mut rows = Vec::new();
        for _ in 0..reader.count()? {
            let (key, since): (Arc<[u8]>, _) = (reader.byte_string()?.into(), Timestamp(reader.u64()?));
            rows.push((key, since, reader.byte_string()?.into()));
        }
        pages.push(Page::of_rows(number, rows));
    }
    reader.end()?;
    Ok(pages)
}
