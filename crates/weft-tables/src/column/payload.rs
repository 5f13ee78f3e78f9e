//! What a manifest edit says about a `column` table, as bytes (docs/format/column-method.md).
//!
//! ```text
//!   conversion at cut 40:   added [file 7: 900 rows]             removed []      marks {3: [5, 17], 7: [2]}
//!   move at cut 40:         moved [7 to transition]              borders [k]
//!   to baseline at cut 40:  added [file 9: 1200 rows, baseline]  removed [3, 7]  marks {9: [88]}
//!   folded:                 added [file 9: 1200 rows, baseline]  borders [k]     marks {9: [88]}
//! ```
//!
//! 1. All payloads in order describe exactly the snapshot at the cut of the last: the rows of the listed files that are
//!    not marked. So marks need no timestamps here.
//! 2. A mark's file is listed, its position is below the file's row count, and it is marked once.
//! 3. Folding keeps the meaning: the state after the fold is the state after the payloads.
//! 4. A payload of version 1 has no layers and borders: its files are incremental.

use std::collections::{BTreeMap, BTreeSet};

use weft_format::wire::{ByteReader, put_bytes, put_count, put_varint};
use weft_format::{Error, FileId, Result, Timestamp};

/// The first byte of every payload.
pub const PAYLOAD_VERSION: u8 = 2;
/// Added to the layer of a file that was cut for its size.
const FULL: u8 = 0x80;
/// The first version, which is still read.
const VERSION_WITHOUT_LAYERS: u8 = 1;

/// The layer that a column table is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// As conversion and bulk statements write them: any range of keys.
    #[default]
    Incremental = 0,
    /// Within the range of one bucket; tables of a bucket may overlap.
    Transition = 1,
    /// Within the range of one bucket; no two overlap.
    Baseline = 2,
}

impl Layer {
    /// All of them, newest data first.
    pub const ALL: [Layer; 3] = [Layer::Incremental, Layer::Transition, Layer::Baseline];

    /// The name, as views show it.
    pub const fn name(self) -> &'static str {
        match self {
            Layer::Incremental => "incremental",
            Layer::Transition => "transition",
            Layer::Baseline => "baseline",
        }
    }

    fn from_byte(byte: u8) -> Result<Layer> {
        let layer = Layer::ALL.into_iter().find(|layer| *layer as u8 == byte);
        layer.ok_or_else(|| damaged(format!("names layer {byte}, which there is not")))
    }
}

/// A file that becomes part of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartEntry {
    /// The file.
    pub file: FileId,
    /// Rows in it.
    pub row_count: u32,
    /// The commit timestamp of all its rows, for a file that a bulk statement built; 0: the file has its own.
    pub attached_at: Timestamp,
    /// The layer that it is in.
    pub layer: Layer,
    /// Cut for its size: merging would not make it larger, however few bytes it came to.
    pub full: bool,
}

/// One change of a table's files and marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// Files that appear.
    pub added: Vec<PartEntry>,
    /// Files that vanish.
    pub removed: Vec<FileId>,
    /// Files that are in another layer from here on.
    pub moved: Vec<(FileId, Layer)>,
    /// The borders of the buckets from here on, ascending; none: as before.
    pub borders: Option<Vec<Box<[u8]>>>,
    /// New marks, positions ascending.
    pub marks: BTreeMap<FileId, Vec<u32>>,
}

/// Files, borders and marks after some payloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartSet {
    /// By file: what is known of it and its dead positions.
    pub parts: BTreeMap<FileId, (PartEntry, BTreeSet<u32>)>,
    /// The borders of the buckets, ascending.
    pub borders: Vec<Box<[u8]>>,
}

impl Payload {
    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![PAYLOAD_VERSION];
        put_count(&mut out, self.added.len());
        for part in &self.added {
            out.extend(part.file.0.to_le_bytes());
            out.extend(part.row_count.to_le_bytes());
            out.extend(part.attached_at.0.to_le_bytes());
            out.push(part.layer as u8 | if part.full { FULL } else { 0 });
        }
        put_count(&mut out, self.removed.len());
        for file in &self.removed {
            out.extend(file.0.to_le_bytes());
        }
        put_count(&mut out, self.moved.len());
        for (file, layer) in &self.moved {
            out.extend(file.0.to_le_bytes());
            out.push(*layer as u8);
        }
        out.push(self.borders.is_some().into());
        if let Some(borders) = &self.borders {
            assert!(borders.is_sorted_by(|a, b| a < b), "borders ascend, or the payload could not be read (layout 5)");
            put_count(&mut out, borders.len());
            for border in borders {
                put_bytes(&mut out, border);
            }
        }
        put_count(&mut out, self.marks.len());
        for (file, positions) in &self.marks {
            out.extend(file.0.to_le_bytes());
            put_count(&mut out, positions.len());
            let mut next = 0;
            for &position in positions {
                assert!(position >= next, "marks ascend (payload 2)");
                put_varint(&mut out, u64::from(position - next));
                next = position + 1;
            }
        }
        out
    }

    /// Reads the bytes; anything that [`Payload::encode`] does not write is an error.
    pub fn decode(bytes: &[u8]) -> Result<Payload> {
        let mut reader = ByteReader::new(bytes, |what| damaged(format_args!("is damaged: {what}")));
        let version = reader.u8()?;
        if version != PAYLOAD_VERSION && version != VERSION_WITHOUT_LAYERS {
            return Err(damaged(format!(
                "has version {version}, this release reads {VERSION_WITHOUT_LAYERS} and {PAYLOAD_VERSION}"
            )));
        }
        let has_layers = version != VERSION_WITHOUT_LAYERS;
        let mut payload = Payload::default();
        for _ in 0..reader.u32()? {
            let file = FileId(reader.u64()?);
            let row_count = reader.u32()?;
            let attached_at = Timestamp(reader.u64()?);
            let byte = if has_layers { reader.u8()? } else { Layer::Incremental as u8 };
            let (layer, full) = (Layer::from_byte(byte & !FULL)?, byte & FULL != 0);
            payload.added.push(PartEntry { file, row_count, attached_at, layer, full });
        }
        for _ in 0..reader.u32()? {
            payload.removed.push(FileId(reader.u64()?));
        }
        if has_layers {
            for _ in 0..reader.u32()? {
                payload.moved.push((FileId(reader.u64()?), Layer::from_byte(reader.u8()?)?));
            }
            payload.borders = read_borders(&mut reader)?;
        }
        payload.marks = read_marks(&mut reader)?;
        reader.end().map(|()| payload)
    }
}

fn read_borders(reader: &mut ByteReader<'_>) -> Result<Option<Vec<Box<[u8]>>>> {
    if !reader.flag()? {
        return Ok(None);
    }
    let mut borders: Vec<Box<[u8]>> = Vec::new();
    for _ in 0..reader.count_of(4)? {
        let border = reader.byte_string()?;
        if borders.last().is_some_and(|last| **last >= *border) {
            return Err(damaged("has borders that do not ascend"));
        }
        borders.push(border.into());
    }
    Ok(Some(borders))
}

fn read_marks(reader: &mut ByteReader<'_>) -> Result<BTreeMap<FileId, Vec<u32>>> {
    let beyond = || damaged("has a mark beyond any file");
    let mut marks = BTreeMap::new();
    for _ in 0..reader.count()? {
        let file = FileId(reader.u64()?);
        let count = reader.count()?;
        let mut positions = Vec::with_capacity(count);
        let mut next = 0u32;
        for _ in 0..count {
            let distance = u32::try_from(reader.varint()?).map_err(|_| beyond())?;
            let position = next.checked_add(distance).ok_or_else(beyond)?;
            positions.push(position);
            next = position.checked_add(1).ok_or_else(beyond)?;
        }
        if marks.insert(file, positions).is_some() {
            return Err(damaged(format!("marks file {file} twice")));
        }
    }
    Ok(marks)
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
        for (file, layer) in &payload.moved {
            let moved = self.parts.get_mut(file);
            moved.ok_or_else(|| damaged(format!("moves file {file}, which is not listed")))?.0.layer = *layer;
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
        if let Some(borders) = &payload.borders {
            self.borders.clone_from(borders);
        }
        Ok(())
    }

    /// One payload that leads here from nothing.
    pub fn to_payload(&self) -> Payload {
        let borders = (!self.borders.is_empty()).then(|| self.borders.clone());
        let mut payload = Payload { borders, ..Payload::default() };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<Payload> {
        let part = |file, row_count, at, layer| PartEntry {
            file: FileId(file),
            row_count,
            attached_at: Timestamp(at),
            layer,
            full: file == 9,
        };
        let incremental = Layer::Incremental;
        vec![
            Payload { added: vec![part(3, 600, 0, incremental), part(4, 10, 31, incremental)], ..Payload::default() },
            Payload {
                added: vec![part(7, 900, 0, incremental)],
                moved: vec![(FileId(3), Layer::Transition), (FileId(4), Layer::Baseline)],
                borders: Some(vec![(*b"g").into(), (*b"mm").into()]),
                marks: BTreeMap::from([(FileId(3), vec![0, 5, 599]), (FileId(7), vec![200])]),
                ..Payload::default()
            },
            Payload {
                added: vec![part(9, 1200, 0, Layer::Baseline)],
                removed: vec![FileId(3), FileId(7)],
                moved: vec![(FileId(4), Layer::Transition)],
                borders: Some(vec![(*b"mm").into()]),
                marks: BTreeMap::from([(FileId(9), vec![88])]),
            },
        ]
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_bytes_never_change() {
        assert_eq!(
            hex(&sample()[2].encode()),
            "02010000000900000000000000b0040000000000000000000082020000000300000000000000070000000000000001000000\
             04000000000000000101010000000200000\
             06d6d0100000009000000000000000100000058"
        );
    }

    #[test]
    fn payloads_of_version_1_are_read() {
        let mut bytes = vec![1];
        for field in [
            &1u32.to_le_bytes()[..],
            &9u64.to_le_bytes(),
            &1200u32.to_le_bytes(),
            &0u64.to_le_bytes(),
            &2u32.to_le_bytes(),
            &3u64.to_le_bytes(),
            &7u64.to_le_bytes(),
            &1u32.to_le_bytes(),
            &9u64.to_le_bytes(),
            &1u32.to_le_bytes(),
            &[88],
        ] {
            bytes.extend_from_slice(field);
        }
        assert_eq!(
            hex(&bytes),
            "01010000000900000000000000b00400000000000000000000020000000300000000000000070000000000000001000000\
             09000000000000000100000058"
        );
        let payload = Payload::decode(&bytes).unwrap();
        let part = PartEntry {
            file: FileId(9),
            row_count: 1200,
            attached_at: Timestamp(0),
            layer: Layer::Incremental,
            full: false,
        };
        assert_eq!(payload.added, [part]);
        assert_eq!(payload.removed, [FileId(3), FileId(7)]);
        assert_eq!((payload.moved.len(), payload.borders), (0, None));
        assert_eq!(payload.marks, BTreeMap::from([(FileId(9), vec![88])]));
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
        assert_eq!(PartSet::from_payloads(&payloads).unwrap().borders, [Box::from(*b"mm")]);
    }

    #[test]
    fn damaged_payloads_are_errors() {
        for payload in &sample()[1..] {
            damage(payload);
        }
        let twice = [sample()[0].encode(), sample()[0].encode()];
        assert!(PartSet::from_payloads(&twice).is_err());
        let nothing = Payload { moved: vec![(FileId(1), Layer::Baseline)], ..Payload::default() };
        assert!(PartSet::from_payloads(&[nothing.encode()]).is_err());
    }

    fn damage(payload: &Payload) {
        let bytes = payload.encode();
        assert_eq!(Payload::decode(&bytes).unwrap(), *payload);
        for end in 0..bytes.len() {
            assert!(Payload::decode(&bytes[..end]).is_err());
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                // Never a panic; the manifest's checksum finds the flips that still decode.
                let decoded = Payload::decode(&flipped);
                assert!(decoded.is_err() || decoded.unwrap() != *payload, "byte {at} bit {bit} means nothing");
                let _ = PartSet::from_payloads(&[flipped]);
            }
        }
    }
}
