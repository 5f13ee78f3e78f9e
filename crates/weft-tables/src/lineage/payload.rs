//! What a manifest edit says about a `lineage` table, as bytes (docs/format/lineage-method.md).
//!
//! ```text
//!   merge at cut 52   added [7: pages of segment 0, columns 1 4, 900 rows] [8: keys, 52] [9: history (40, 52]]
//!                     removed [3]    known from 12
//!   key merge         added [11: keys, 52]     removed [8, 5]
//! ```
//!
//! 1. All payloads in order describe the files as of the cut of the last. Of several pages of one column of a segment
//!    the one that was listed last counts; a file of which none counts is removed by the same payload.
//! 2. Folding keeps the meaning.

use std::collections::BTreeMap;

use weft_format::wire::{ByteReader, put_count};
use weft_format::{Error, FileId, Result, Timestamp};

/// The first byte of every payload.
pub const PAYLOAD_VERSION: u8 = 1;

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Pages of a segment.
    Pages {
        /// The segment.
        segment: u64,
        /// Its rows.
        rows: u32,
        /// How many of them are alive.
        alive: u32,
        /// The columns that there are pages of, by ordinal.
        ordinals: Vec<u16>,
        /// The commit that brought all its rows, when the file does not say when they came; 0: it does.
        born: Timestamp,
    },
    /// Keys and their row ids.
    Keys {
        /// Of two files with a key the one with the higher rank counts; of two of one rank that of greater row ids.
        rank: u64,
        /// What is added to the row ids in the file.
        offset: u64,
    },
    /// What was replaced from behind one commit to another.
    History {
        /// Behind this one.
        after: Timestamp,
        /// To this one.
        to: Timestamp,
    },
}

/// One change of a table's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// Files that appear.
    pub added: Vec<(FileId, Entry)>,
    /// Files that vanish.
    pub removed: Vec<FileId>,
    /// Segments of which nothing is left: all their rows are gone, and nobody looks behind that.
    pub dropped: Vec<u64>,
    /// From here on history is complete.
    pub known_from: Timestamp,
}

/// The files after some payloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSet {
    /// In the order in which they were listed.
    pub files: Vec<(FileId, Entry)>,
    /// From here on history is complete.
    pub known_from: Timestamp,
}

const PAGES: u8 = 0;
const KEYS: u8 = 1;
const HISTORY: u8 = 2;
const LOADED_PAGES: u8 = 3;
const LOADED_KEYS: u8 = 4;

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("a payload of a lineage table is damaged: {what}"))
}

impl Payload {
    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![PAYLOAD_VERSION];
        out.extend(self.known_from.0.to_le_bytes());
        put_count(&mut out, self.added.len());
        for (file, entry) in &self.added {
            out.extend(file.0.to_le_bytes());
            match entry {
                Entry::Pages { segment, rows, alive, ordinals, born } => {
                    if *born == Timestamp(0) {
                        out.push(PAGES);
                    } else {
                        out.push(LOADED_PAGES);
                        out.extend(born.0.to_le_bytes());
                    }
                    out.extend(segment.to_le_bytes());
                    out.extend(rows.to_le_bytes());
                    out.extend(alive.to_le_bytes());
                    put_count(&mut out, ordinals.len());
                    ordinals.iter().for_each(|ordinal| out.extend(ordinal.to_le_bytes()));
                }
                Entry::Keys { rank, offset } => {
                    if *offset == 0 {
                        out.push(KEYS);
                    } else {
                        out.push(LOADED_KEYS);
                        out.extend(offset.to_le_bytes());
                    }
                    out.extend(rank.to_le_bytes());
                }
                Entry::History { after, to } => {
                    out.push(HISTORY);
                    out.extend(after.0.to_le_bytes());
                    out.extend(to.0.to_le_bytes());
                }
            }
        }
        put_count(&mut out, self.removed.len());
        self.removed.iter().for_each(|file| out.extend(file.0.to_le_bytes()));
        put_count(&mut out, self.dropped.len());
        self.dropped.iter().for_each(|segment| out.extend(segment.to_le_bytes()));
        out
    }

    /// Reads the bytes; anything that [`Payload::encode`] does not write is an error.
    pub fn decode(bytes: &[u8]) -> Result<Payload> {
        let mut reader = ByteReader::new(bytes, damaged);
        let version = reader.u8()?;
        if version != PAYLOAD_VERSION {
            return Err(damaged(&format!("it has version {version}, this release reads {PAYLOAD_VERSION}")));
        }
        let mut payload = Payload { known_from: Timestamp(reader.u64()?), ..Payload::default() };
        for _ in 0..reader.count_of(9)? {
            let file = FileId(reader.u64()?);
            let entry = match reader.u8()? {
                kind @ (PAGES | LOADED_PAGES) => {
                    let born = Timestamp(if kind == PAGES { 0 } else { reader.u64()? });
                    let (segment, rows, alive) = (reader.u64()?, reader.u32()?, reader.u32()?);
                    let ordinals = (0..reader.count_of(2)?).map(|_| reader.u16()).collect::<Result<_>>()?;
                    Entry::Pages { segment, rows, alive, ordinals, born }
                }
                KEYS => Entry::Keys { rank: reader.u64()?, offset: 0 },
                LOADED_KEYS => {
                    let offset = reader.u64()?;
                    Entry::Keys { rank: reader.u64()?, offset }
                }
                HISTORY => Entry::History { after: Timestamp(reader.u64()?), to: Timestamp(reader.u64()?) },
                other => return Err(damaged(&format!("there is no kind {other} of files"))),
            };
            payload.added.push((file, entry));
        }
        for _ in 0..reader.count_of(8)? {
            payload.removed.push(FileId(reader.u64()?));
        }
        for _ in 0..reader.count_of(8)? {
            payload.dropped.push(reader.u64()?);
        }
        reader.end().map(|()| payload)
    }
}

impl FileSet {
    /// The files after some payloads, oldest first.
    pub fn from_payloads(payloads: &[Vec<u8>]) -> Result<FileSet> {
        let mut set = FileSet::default();
        let mut places: BTreeMap<FileId, usize> = BTreeMap::new();
        let mut files: Vec<Option<(FileId, Entry)>> = Vec::new();
        for bytes in payloads {
            let payload = Payload::decode(bytes)?;
            for file in &payload.removed {
                let at = places.remove(file).ok_or_else(|| damaged(&format!("file {file} vanishes twice")))?;
                files[at] = None;
            }
            for (file, entry) in payload.added {
                if places.insert(file, files.len()).is_some() {
                    return Err(damaged(&format!("file {file} appears twice")));
                }
                files.push(Some((file, entry)));
            }
            if payload.known_from < set.known_from {
                return Err(damaged("what was forgotten is known again"));
            }
            set.known_from = payload.known_from;
        }
        set.files = files.into_iter().flatten().collect();
        Ok(set)
    }

    /// One payload that means the same as those that the set was made of.
    pub fn to_payload(&self) -> Payload {
        Payload { added: self.files.clone(), known_from: self.known_from, ..Payload::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> [Payload; 2] {
        let pages = |segment, born, ordinals: &[u16]| {
            let (born, ordinals) = (Timestamp(born), ordinals.to_vec());
            Entry::Pages { segment, rows: 9, alive: 7, ordinals, born }
        };
        let keys = |offset| Entry::Keys { rank: 9, offset };
        let history = Entry::History { after: Timestamp(4), to: Timestamp(9) };
        let first = Payload {
            added: vec![
                (FileId(1), pages(0, 8, &[0, 1])),
                (FileId(2), keys(0)),
                (FileId(3), history),
                (FileId(4), keys(64)),
            ],
            ..Payload::default()
        };
        let second = Payload {
            added: vec![(FileId(5), pages(0, 0, &[1]))],
            removed: vec![FileId(2)],
            dropped: vec![7],
            known_from: Timestamp(3),
        };
        [first, second]
    }

    #[test]
    fn payloads_are_read_as_they_were_written() {
        for payload in some() {
            let bytes = payload.encode();
            assert_eq!(Payload::decode(&bytes).unwrap(), payload);
            (0..bytes.len()).for_each(|len| assert!(Payload::decode(&bytes[..len]).is_err(), "{len}"));
        }
    }

    #[test]
    fn a_fold_means_the_same() {
        let payloads: Vec<Vec<u8>> = some().iter().map(Payload::encode).collect();
        let set = FileSet::from_payloads(&payloads).unwrap();
        assert_eq!(set.files.iter().map(|(file, _)| file.0).collect::<Vec<_>>(), [1, 3, 4, 5]);
        assert_eq!(FileSet::from_payloads(&[set.to_payload().encode()]).unwrap(), set);
        let twice = [payloads[0].clone(), payloads[0].clone()];
        assert!(FileSet::from_payloads(&twice).is_err());
    }
}
