//! What a manifest edit says about a `column` table, as bytes (docs/format/column-method.md).
//!
//! ```text
//!   conversion at cut 40:   added [file 7: 900 rows]   removed []       marks {3: [5, 17], 7: [2]}
//!   compaction at cut 40:   added [file 9: 1200 rows]  removed [3, 7]   marks {9: [88]}
//!   folded:                 added [file 9: 1200 rows]  removed []       marks {9: [88]}
//! ```
//!
//! 1. All payloads in order describe exactly the snapshot at the cut of the last: the rows of the listed files that are
//!    not marked. So marks need no timestamps here.
//! 2. A mark's file is listed, its position is below the file's row count, and it is marked once.
//! 3. Folding keeps the meaning: the state after the fold is the state after the payloads.

use std::collections::{BTreeMap, BTreeSet};

use weft_format::{Error, FileId, Result, Timestamp};

/// The first byte of every payload.
pub const PAYLOAD_VERSION: u8 = 1;

/// A file that becomes part of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartEntry {
    /// The file.
    pub file: FileId,
    /// Rows in it.
    pub row_count: u32,
    /// The commit timestamp of all its rows, for a file that a bulk statement built; 0: the file has its own.
    pub attached_at: Timestamp,
}

/// One change of a table's files and marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// Files that appear.
    pub added: Vec<PartEntry>,
    /// Files that vanish.
    pub removed: Vec<FileId>,
    /// New marks, positions ascending.
    pub marks: BTreeMap<FileId, Vec<u32>>,
}

/// Files and marks after some payloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartSet {
    /// By file: what is known of it and its dead positions.
    pub parts: BTreeMap<FileId, (PartEntry, BTreeSet<u32>)>,
}

impl Payload {
    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![PAYLOAD_VERSION];
        put_u32(&mut out, self.added.len());
        for part in &self.added {
            out.extend(part.file.0.to_le_bytes());
            out.extend(part.row_count.to_le_bytes());
            out.extend(part.attached_at.0.to_le_bytes());
        }
        put_u32(&mut out, self.removed.len());
        for file in &self.removed {
            out.extend(file.0.to_le_bytes());
        }
        put_u32(&mut out, self.marks.len());
        for (file, positions) in &self.marks {
            out.extend(file.0.to_le_bytes());
            put_u32(&mut out, positions.len());
            let mut next = 0;
            for &position in positions {
                assert!(position >= next, "marks ascend (payload 2)");
                put_varint(&mut out, position - next);
                next = position + 1;
            }
        }
        out
    }

    /// Reads the bytes; anything that [`Payload::encode`] does not write is an error.
    pub fn decode(bytes: &[u8]) -> Result<Payload> {
        let mut reader = Reader { bytes };
        let version = reader.take::<1>()?[0];
        if version != PAYLOAD_VERSION {
            return Err(damaged(format!("has version {version}, this release reads {PAYLOAD_VERSION}")));
        }
        let mut payload = Payload::default();
        for _ in 0..reader.u32()? {
            let file = FileId(reader.u64()?);
            let row_count = reader.u32()?;
            payload.added.push(PartEntry { file, row_count, attached_at: Timestamp(reader.u64()?) });
        }
        for _ in 0..reader.u32()? {
            payload.removed.push(FileId(reader.u64()?));
        }
        for _ in 0..reader.u32()? {
            let file = FileId(reader.u64()?);
            let count = reader.u32()? as usize;
            let mut positions = Vec::with_capacity(count.min(reader.bytes.len()));
            let mut next = 0u32;
            for _ in 0..count {
                let position =
                    next.checked_add(reader.varint()?).ok_or_else(|| damaged("has a mark beyond any file"))?;
                positions.push(position);
                next = position.checked_add(1).ok_or_else(|| damaged("has a mark beyond any file"))?;
            }
            if payload.marks.insert(file, positions).is_some() {
                return Err(damaged(format!("marks file {file} twice")));
            }
        }
        if reader.bytes.is_empty() { Ok(payload) } else { Err(damaged("has bytes left over")) }
    }
}

impl PartSet {
    /// The state after payloads, oldest first.
    pub fn from_payloads(payloads: &[Vec<u8>]) -> Result<PartSet> {
        let mut set = PartSet::default();
        for bytes in payloads {
            set.apply(&Payload::decode(bytes)?)?;
        }
        Ok(set)
    }

    fn apply(&mut self, payload: &Payload) -> Result<()> {
        for part in &payload.added {
            if self.parts.insert(part.file, (*part, BTreeSet::new())).is_some() {
                return Err(damaged(format!("adds file {} a second time", part.file)));
            }
        }
        for (file, positions) in &payload.marks {
            let (part, dead) =
                self.parts.get_mut(file).ok_or_else(|| damaged(format!("marks file {file}, which is not listed")))?;
            for &position in positions {
                if position >= part.row_count || !dead.insert(position) {
                    return Err(damaged(format!("marks row {position} of file {file} twice or beyond its end")));
                }
            }
        }
        for file in &payload.removed {
            self.parts.remove(file).ok_or_else(|| damaged(format!("removes file {file}, which is not listed")))?;
        }
        Ok(())
    }

    /// One payload that leads here from nothing.
    pub fn to_payload(&self) -> Payload {
        let mut payload = Payload::default();
        for (file, (part, dead)) in &self.parts {
            payload.added.push(*part);
            if !dead.is_empty() {
                payload.marks.insert(*file, dead.iter().copied().collect());
            }
        }
        payload
    }
}

fn damaged(what: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("a manifest payload of a column table {what}"))
}

fn put_u32(out: &mut Vec<u8>, count: usize) {
    out.extend(u32::try_from(count).expect("a table has fewer than 2^32 files and rows per file").to_le_bytes());
}

fn put_varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, tail) = self.bytes.split_first_chunk().ok_or_else(|| damaged("ends too early"))?;
        self.bytes = tail;
        Ok(*head)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn varint(&mut self) -> Result<u32> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.take::<1>()?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).map_err(|_| damaged("has a position that does not fit 32 bits"));
            }
        }
        Err(damaged("has a position that does not end"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<Payload> {
        let part = |file, row_count, at| PartEntry { file: FileId(file), row_count, attached_at: Timestamp(at) };
        vec![
            Payload { added: vec![part(3, 600, 0), part(4, 10, 31)], ..Payload::default() },
            Payload {
                added: vec![part(7, 900, 0)],
                removed: vec![],
                marks: BTreeMap::from([(FileId(3), vec![0, 5, 599]), (FileId(7), vec![200])]),
            },
            Payload {
                added: vec![part(9, 1200, 0)],
                removed: vec![FileId(3), FileId(7)],
                marks: BTreeMap::from([(FileId(9), vec![88])]),
            },
        ]
    }

    #[test]
    fn the_bytes_never_change() {
        let hex: String = sample()[2].encode().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "01010000000900000000000000b00400000000000000000000020000000300000000000000070000000000000001000000\
             09000000000000000100000058"
        );
    }

    #[test]
    fn folding_keeps_the_meaning() {
        let payloads: Vec<Vec<u8>> = sample().iter().map(Payload::encode).collect();
        for end in 0..=payloads.len() {
            let state = PartSet::from_payloads(&payloads[..end]).unwrap();
            let folded = state.to_payload().encode();
            assert_eq!(PartSet::from_payloads(&[folded]).unwrap(), state);
        }
        assert_eq!(PartSet::from_payloads(&payloads).unwrap().parts.len(), 2);
    }

    #[test]
    fn damaged_payloads_are_errors() {
        let bytes = sample()[1].encode();
        assert_eq!(Payload::decode(&bytes).unwrap(), sample()[1]);
        for end in 0..bytes.len() {
            assert!(Payload::decode(&bytes[..end]).is_err());
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                // Never a panic; the manifest's checksum finds the flips that still decode.
                let _ = PartSet::from_payloads(&[flipped]);
            }
        }
        let twice = [sample()[0].encode(), sample()[0].encode()];
        assert!(PartSet::from_payloads(&twice).is_err());
    }
}
