//! An edit: one atomic change of what the manifest knows of a table.
//!
//! ```text
//!   table u32 | cut u64 | count u32, added u64 ... | count u32, removed u64 ... | length u32, payload
//! ```

use weft_format::{FileId, TableId, Timestamp};

/// A change of a table's files. Table 0 is the catalog: no files, and a payload that is the whole catalog as of the
/// cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// Which table.
    pub table: TableId,
    /// Every change of the table up to here is in its files and payloads; never lower than before.
    pub cut: Timestamp,
    /// Files that become part of the table; durable, with durable directory entries.
    pub added: Vec<FileId>,
    /// Files that are no longer part of it.
    pub removed: Vec<FileId>,
    /// What the table's method wants to know again at open. An empty payload is not kept.
    pub payload: Vec<u8>,
}

impl Edit {
    /// Appends the edit's bytes.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.table.0.to_le_bytes());
        out.extend_from_slice(&self.cut.0.to_le_bytes());
        for files in [&self.added, &self.removed] {
            out.extend_from_slice(&(files.len() as u32).to_le_bytes());
            files.iter().for_each(|file| out.extend_from_slice(&file.0.to_le_bytes()));
        }
        out.extend_from_slice(&(self.payload.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.payload);
    }

    /// The edit that `bytes` are, when they are exactly one.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Edit> {
        let table = TableId(u32::from_le_bytes(take(&mut bytes)?));
        let cut = Timestamp(u64::from_le_bytes(take(&mut bytes)?));
        let added = take_files(&mut bytes)?;
        let removed = take_files(&mut bytes)?;
        let length = u32::from_le_bytes(take(&mut bytes)?) as usize;
        (bytes.len() == length).then(|| Edit { table, cut, added, removed, payload: bytes.to_vec() })
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

fn take_files(bytes: &mut &[u8]) -> Option<Vec<FileId>> {
    let count = u32::from_le_bytes(take(bytes)?) as usize;
    let (ids, rest) = bytes.split_at_checked(count.checked_mul(8)?)?;
    *bytes = rest;
    Some(ids.chunks_exact(8).map(|id| FileId(u64::from_le_bytes(id.try_into().expect("eight bytes")))).collect())
}
