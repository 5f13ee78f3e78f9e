//! What a manifest edit says about an index, as bytes (docs/format/index-run.md).
//!
//! ```text
//!   flush:    added [file 12: 900 entries]    removed []       ranges {"": [7 9 12], "k": [12 13]}
//!   merge:    added [file 14: 2100 entries]   removed [7 9]    ranges {"": [14]}             12 is still read by "k"
//!   folded:   added [12 13 14]                                 ranges {"": [14], "k": [12 13]}
//! ```
//!
//! 1. A payload names each range that changed, with all the files it reads from then on; the others stay as they were.
//! 2. A file is listed as long as some range reads it.
//! 3. Folding keeps the meaning: the state after the fold is the state after the payloads.

use std::collections::{BTreeMap, BTreeSet};

use weft_format::wire::{ByteReader, put_bytes};
use weft_format::{Error, FileId, Result, Timestamp};

/// The first byte of every payload.
pub(crate) const PAYLOAD_VERSION: u8 = 1;

/// A run file of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileEntry {
    pub(crate) file: FileId,
    pub(crate) entry_count: u64,
    /// No entry is older than this: the commit of the statement that built the file; 0 for others.
    pub(crate) attached_at: Timestamp,
}

/// Ranges by where they begin: the files they read, ascending.
pub(crate) type Ranges = BTreeMap<Vec<u8>, Vec<FileId>>;

/// One change of an index's files and ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Payload {
    pub(crate) added: Vec<FileEntry>,
    pub(crate) removed: Vec<FileId>,
    pub(crate) ranges: Ranges,
}

/// Files and ranges after some payloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileSet {
    pub(crate) files: BTreeMap<FileId, FileEntry>,
    pub(crate) ranges: Ranges,
}

impl Payload {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![PAYLOAD_VERSION];
        put_count(&mut out, self.added.len());
        for entry in &self.added {
            out.extend_from_slice(&entry.file.0.to_le_bytes());
            out.extend_from_slice(&entry.entry_count.to_le_bytes());
            out.extend_from_slice(&entry.attached_at.0.to_le_bytes());
        }
        put_files(&mut out, &self.removed);
        put_count(&mut out, self.ranges.len());
        for (low, files) in &self.ranges {
            put_bytes(&mut out, low);
            put_files(&mut out, files);
        }
        out
    }

    /// Reads the bytes; anything that [`Payload::encode`] does not write is an error.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Payload> {
        let mut input = ByteReader::new(bytes, |what| damaged(format_args!("is damaged: {what}")));
        let [version] = input.array()?;
        if version != PAYLOAD_VERSION {
            return Err(damaged(format!("has version {version}, this release reads {PAYLOAD_VERSION}")));
        }
        let mut payload = Payload::default();
        for _ in 0..input.count_of(24)? {
            let (file, entry_count, attached_at) = (FileId(input.u64()?), input.u64()?, Timestamp(input.u64()?));
            payload.added.push(FileEntry { file, entry_count, attached_at });
        }
        payload.removed = take_files(&mut input)?;
        for _ in 0..input.count_of(8)? {
            let low = input.byte_string()?.to_vec();
            let files = take_files(&mut input)?;
            if payload.ranges.last_key_value().is_some_and(|(last, _)| *last >= low) {
                return Err(damaged("names its ranges out of order"));
            }
            payload.ranges.insert(low, files);
        }
        input.end()?;
        Ok(payload)
    }
}

impl FileSet {
    /// The state after payloads, oldest first.
    pub(crate) fn from_payloads(payloads: &[Vec<u8>]) -> Result<FileSet> {
        let mut set = FileSet::default();
        for bytes in payloads {
            set.apply(Payload::decode(bytes)?)?;
        }
        let first = set.ranges.first_key_value();
        if first.is_some_and(|(low, _)| !low.is_empty()) {
            return Err(damaged("has no range for the lowest values"));
        }
        let read: BTreeSet<FileId> = set.ranges.values().flatten().copied().collect();
        if !read.iter().eq(set.files.keys()) {
            return Err(damaged("lists files that no range reads, or the other way round"));
        }
        Ok(set)
    }

    fn apply(&mut self, payload: Payload) -> Result<()> {
        for entry in payload.added {
            if self.files.insert(entry.file, entry).is_some() {
                return Err(damaged(format!("adds file {} a second time", entry.file)));
            }
        }
        self.ranges.extend(payload.ranges);
        for file in payload.removed {
            self.files.remove(&file).ok_or_else(|| damaged(format!("removes file {file}, which is not listed")))?;
        }
        Ok(())
    }

    /// One payload that leads here from nothing.
    pub(crate) fn to_payload(&self) -> Payload {
        Payload { added: self.files.values().copied().collect(), removed: Vec::new(), ranges: self.ranges.clone() }
    }
}

/// Folds the payloads of an index's manifest edits into one that means the same. Pure; for the manifest's `fold` hook.
pub fn fold_payloads(payloads: &[Vec<u8>]) -> Result<Vec<u8>> {
    Ok(FileSet::from_payloads(payloads)?.to_payload().encode())
}

fn damaged(what: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("a manifest payload of an index {what}"))
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    let count = u32::try_from(count).expect("an index has fewer than 2^32 files and ranges");
    out.extend_from_slice(&count.to_le_bytes());
}

fn put_files(out: &mut Vec<u8>, files: &[FileId]) {
    put_count(out, files.len());
    files.iter().for_each(|file| out.extend_from_slice(&file.0.to_le_bytes()));
}

fn take_files(input: &mut ByteReader<'_>) -> Result<Vec<FileId>> {
    let count = input.count_of(8)?;
    (0..count).map(|_| input.u64().map(FileId)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<Payload> {
        let entry = |file, entry_count, at| FileEntry { file: FileId(file), entry_count, attached_at: Timestamp(at) };
        let files = |ids: &[u64]| ids.iter().map(|&id| FileId(id)).collect::<Vec<_>>();
        vec![
            Payload {
                added: vec![entry(7, 600, 0), entry(9, 10, 31)],
                removed: vec![],
                ranges: BTreeMap::from([(b"".to_vec(), files(&[7, 9]))]),
            },
            Payload {
                added: vec![entry(12, 900, 0)],
                removed: vec![],
                ranges: BTreeMap::from([(b"".to_vec(), files(&[7, 9, 12])), (b"k".to_vec(), files(&[12]))]),
            },
            Payload {
                added: vec![entry(14, 1500, 0)],
                removed: files(&[7, 9]),
                ranges: BTreeMap::from([(b"".to_vec(), files(&[14]))]),
            },
        ]
    }

    #[test]
    fn the_bytes_never_change() {
        let hex: String = sample()[2].encode().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "01010000000e00000000000000dc05000000000000000000000000000002000000070000000000000009000000000000000100\
             000000000000010000000e00000000000000"
        );
    }

    #[test]
    fn folding_keeps_the_meaning() {
        let payloads: Vec<Vec<u8>> = sample().iter().map(Payload::encode).collect();
        for end in 0..=payloads.len() {
            let state = FileSet::from_payloads(&payloads[..end]).unwrap();
            let folded = fold_payloads(&payloads[..end]).unwrap();
            assert_eq!(FileSet::from_payloads(&[folded]).unwrap(), state);
        }
    }

    #[test]
    fn damaged_payloads_are_errors() {
        let bytes = sample()[1].encode();
        assert_eq!(Payload::decode(&bytes).unwrap(), sample()[1]);
        for end in 0..bytes.len() {
            assert!(Payload::decode(&bytes[..end]).is_err());
        }
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            // Never a panic; the manifest's checksum finds the flips that still decode.
            let _ = FileSet::from_payloads(&[flipped]);
        }
        let twice = [sample()[0].encode(), sample()[0].encode()];
        assert!(FileSet::from_payloads(&twice).is_err());
        assert!(FileSet::from_payloads(&[sample()[0].encode(), sample()[2].encode(), sample()[2].encode()]).is_err());
    }
}
