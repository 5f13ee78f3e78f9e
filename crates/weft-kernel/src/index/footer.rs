//! Header, footer and trailer of a run file: what it is, where its blocks lie, between which entries.
//!
//! ```text
//!   block        0          1          2
//!   entries      ab1 ab7    ab8 ca2    da1 dz9
//!   separators   ""         "ab8"      "d"        shortest string above the block before and not above its own entries
//!
//!   lookup "ca":  the last separator at or below it is "ab8": block 1, or nowhere
//! ```
//!
//! 1. `separator[i] <= first entry of block i`, and every entry of block i-1 is below it; separator 0 is empty.
//! 2. So the first entry at or above `t` lies in the last block whose separator is at or below `t`, or begins the next;
//!    and if entries begin with the value `t`, the first of them lies in that last block.
//! 3. Blocks and segments follow each other without gaps: 16 blocks, their segment, 16 blocks, ...
//!
//! The bytes: docs/format/index-run.md.

use weft_format::wire::{ByteReader, put_bytes};
use weft_format::{Code, Error, FileId, Result, TableId, Timestamp};

use super::block::WHOLE_EVERY;
use super::filter::{FILTER_BITS_MAX, FilterShape, SEGMENT_BLOCKS};

/// The first bytes of a run file.
pub(crate) const MAGIC: [u8; 8] = *b"WEFTINDX";
/// The last bytes of a run file.
pub(crate) const END_MAGIC: [u8; 4] = *b"IEND";
/// The version this release writes and reads.
pub(crate) const FORMAT_VERSION: u16 = 1;
/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 64;
/// Bytes of the trailer.
pub(crate) const TRAILER_BYTES: usize = 32;

/// What a checksummed piece of a run is, for its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Block(usize),
    Segment(usize),
    Footer,
}

impl Piece {
    /// The piece's checksum: its place and its bytes, so a piece that lies in another's place fails.
    pub(crate) fn checksum(self, file: FileId, bytes: &[u8]) -> u32 {
        let (kind, number) = match self {
            Piece::Block(number) => (0u32, number as u32),
            Piece::Segment(number) => (1, number as u32),
            Piece::Footer => (2, 0),
        };
        let mut place = [0; 16];
        place[..8].copy_from_slice(&file.0.to_le_bytes());
        place[8..12].copy_from_slice(&kind.to_le_bytes());
        place[12..].copy_from_slice(&number.to_le_bytes());
        crc32c::crc32c_append(crc32c::crc32c(&place), bytes)
    }
}

/// Where a block or segment lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) checksum: u32,
    /// Entries in it; 0 for a segment.
    pub(crate) entries: u32,
}

/// An entry's bytes and the length of its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EdgeEntry {
    pub(crate) bytes: Vec<u8>,
    pub(crate) value_len: u32,
}

/// What a footer says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) entry_count: u64,
    /// Distinct values.
    pub(crate) value_count: u64,
    pub(crate) ts_min: Timestamp,
    pub(crate) ts_max: Timestamp,
    pub(crate) filter: FilterShape,
    pub(crate) first: EdgeEntry,
    pub(crate) last: EdgeEntry,
    pub(crate) blocks: Vec<Place>,
    pub(crate) segments: Vec<Place>,
    /// All separators, one behind the other.
    pub(crate) separators: Vec<u8>,
    /// Where each separator ends.
    pub(crate) separator_ends: Vec<u32>,
}

impl Footer {
    /// The separator of a block (footer 1).
    pub(crate) fn separator(&self, block: usize) -> &[u8] {
        let start = if block == 0 { 0 } else { self.separator_ends[block - 1] as usize };
        &self.separators[start..self.separator_ends[block] as usize]
    }

    /// The last block whose separator is at or below `target` (footer 2).
    pub(crate) fn block_of(&self, target: &[u8]) -> usize {
        let block = self.blocks_before(|separator| separator <= target).saturating_sub(1);
        debug_assert!(self.separator(block) <= target, "separator 0 is empty, and separators ascend (footer 1)");
        block
    }

    /// What the entries of a block lie between: none is below the first, all are below the second.
    pub(crate) fn fences(&self, number: usize) -> (&[u8], Option<&[u8]>) {
        let next = (number + 1 < self.blocks.len()).then(|| self.separator(number + 1));
        (self.separator(number), next)
    }

    /// The last block that may hold an entry below `high`; none: the last of all.
    pub(crate) fn last_block_below(&self, high: Option<&[u8]>) -> usize {
        match high {
            None => self.blocks.len() - 1,
            Some(high) => self.blocks_before(|separator| separator < high).saturating_sub(1),
        }
    }

    fn blocks_before(&self, test: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.blocks.len());
        while low < high {
            let middle = low.midpoint(high);
            if test(self.separator(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The blocks that may hold entries of a stretch.
    fn blocks_within(&self, low: &[u8], high: Option<&[u8]>) -> std::ops::RangeInclusive<usize> {
        self.block_of(low)..=self.last_block_below(high)
    }

    /// Entries and bytes that lie in a stretch, about: the blocks that touch it.
    pub(crate) fn share(&self, low: &[u8], high: Option<&[u8]>) -> (u64, u64) {
        let blocks = self.blocks_within(low, high);
        if blocks.is_empty() {
            return (0, 0);
        }
        let (first, last) = (&self.blocks[*blocks.start()], &self.blocks[*blocks.end()]);
        let bytes = last.offset + u64::from(last.bytes) - first.offset;
        let share = (blocks.end() - blocks.start() + 1) as u64;
        (self.entry_count * share / self.blocks.len() as u64, bytes)
    }

    /// The separators of the blocks that touch a stretch, and the blocks' bytes.
    pub(crate) fn separators_within<'a>(
        &'a self,
        low: &[u8],
        high: Option<&[u8]>,
    ) -> impl Iterator<Item = (&'a [u8], u64)> + use<'a> {
        self.blocks_within(low, high).map(|block| (self.separator(block), u64::from(self.blocks[block].bytes)))
    }

    /// Memory that an open run takes for it, bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        (self.blocks.len() + self.segments.len()) * size_of::<Place>()
            + self.separators.len()
            + self.separator_ends.len() * 4
            + self.first.bytes.len()
            + self.last.bytes.len()
    }

    /// The bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for number in [self.entry_count, self.value_count, self.ts_min.0, self.ts_max.0, self.filter.seed] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.filter.bits.to_le_bytes());
        for edge in [&self.first, &self.last] {
            out.extend_from_slice(&edge.value_len.to_le_bytes());
            put_bytes(&mut out, &edge.bytes);
        }
        out.extend_from_slice(&(self.blocks.len() as u32).to_le_bytes());
        for (number, block) in self.blocks.iter().enumerate() {
            [block.bytes, block.checksum, block.entries].iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
            put_bytes(&mut out, self.separator(number));
        }
        for segment in &self.segments {
            out.extend_from_slice(&segment.bytes.to_le_bytes());
            out.extend_from_slice(&segment.checksum.to_le_bytes());
        }
        out
    }

    /// Reads the bytes, which end where the blocks and segments do not: at `footer_offset` (footer 3).
    pub(crate) fn decode(bytes: &[u8], footer_offset: u64) -> Result<Footer> {
        let mut input = ByteReader::new(bytes, |what| damaged("the footer", what));
        let mut footer = Footer { entry_count: input.u64()?, value_count: input.u64()?, ..Footer::default() };
        footer.ts_min = Timestamp(input.u64()?);
        footer.ts_max = Timestamp(input.u64()?);
        footer.filter.seed = input.u64()?;
        footer.filter.bits = input.u32()?;
        for edge in [&mut footer.first, &mut footer.last] {
            edge.value_len = input.u32()?;
            edge.bytes = input.byte_string()?.to_vec();
        }
        let count = input.count_of(16)?;
        for number in 0..count {
            let (bytes, checksum, entries) = (input.u32()?, input.u32()?, input.u32()?);
            let separator = input.byte_string()?;
            if number > 0 && separator <= footer.separator(number - 1) {
                return Err(Error::corrupt("its separators do not ascend"));
            }
            footer.separators.extend_from_slice(separator);
            footer.separator_ends.push(footer.separators.len() as u32);
            footer.blocks.push(Place { offset: 0, bytes, checksum, entries });
        }
        for _ in 0..count.div_ceil(SEGMENT_BLOCKS) {
            footer.segments.push(Place { bytes: input.u32()?, checksum: input.u32()?, ..Place::default() });
        }
        input.end()?;
        footer.place(footer_offset)?;
        footer.test()?;
        Ok(footer)
    }

    /// Gives blocks and segments their offsets.
    fn place(&mut self, end: u64) -> Result<()> {
        let mut offset = HEADER_BYTES as u64;
        for (number, segment) in self.segments.iter_mut().enumerate() {
            let blocks = number * SEGMENT_BLOCKS..((number + 1) * SEGMENT_BLOCKS).min(self.blocks.len());
            for place in self.blocks[blocks].iter_mut().chain([segment]) {
                place.offset = offset;
                offset += u64::from(place.bytes);
            }
        }
        if offset == end { Ok(()) } else { Err(Error::corrupt("its blocks do not end where its footer begins")) }
    }

    fn test(&self) -> Result<()> {
        let entries: u64 = self.blocks.iter().map(|block| u64::from(block.entries)).sum();
        let edges_fit = [&self.first, &self.last].iter().all(|edge| edge.value_len as usize <= edge.bytes.len());
        let segments_fit = self.segments.iter().all(|segment| segment.bytes > 0 && segment.bytes.is_multiple_of(32));
        let right = !self.blocks.is_empty()
            && self.separator(0).is_empty()
            && entries == self.entry_count
            && self.blocks.iter().all(|block| block.entries > 0)
            && (1..=entries).contains(&self.value_count)
            && self.ts_min <= self.ts_max
            && self.first.bytes <= self.last.bytes
            && (1..=FILTER_BITS_MAX).contains(&self.filter.bits);
        if right && edges_fit && segments_fit { Ok(()) } else { Err(Error::corrupt("its footer contradicts itself")) }
    }
}

/// The header's bytes.
pub(crate) fn header_bytes(index: TableId, file: FileId) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..10].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes[10..12].copy_from_slice(&(HEADER_BYTES as u16).to_le_bytes());
    bytes[12..16].copy_from_slice(&index.0.to_le_bytes());
    bytes[16..24].copy_from_slice(&file.0.to_le_bytes());
    bytes[24..28].copy_from_slice(&(SEGMENT_BLOCKS as u32).to_le_bytes());
    bytes[28..32].copy_from_slice(&WHOLE_EVERY.to_le_bytes());
    let checksum = crc32c::crc32c(&bytes[..HEADER_BYTES - 4]);
    bytes[HEADER_BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Tests a header; errors name no file, the caller adds it.
pub(crate) fn test_header(bytes: &[u8; HEADER_BYTES], index: TableId, file: FileId) -> Result<()> {
    if bytes[..8] != MAGIC {
        return Err(Error::corrupt("it does not start as a run of an index does"));
    }
    let mut input = ByteReader::new(&bytes[8..], |what| damaged("the header", what));
    let version = u16::from_le_bytes(input.array()?);
    let sum = ByteReader::new(&bytes[HEADER_BYTES - 4..], |what| damaged("the header", what)).u32()?;
    if crc32c::crc32c(&bytes[..HEADER_BYTES - 4]) != sum {
        return Err(Error::corrupt("its header fails the checksum"));
    }
    if version != FORMAT_VERSION {
        let what = format!("it has format version {version}, this release reads {FORMAT_VERSION}");
        return Err(Error::new(Code::VersionMismatch, what).hint("open the directory with the release that wrote it"));
    }
    if bytes[..] != header_bytes(index, file)[..] {
        return Err(Error::corrupt("it belongs to another index or file"));
    }
    Ok(())
}

/// Where the footer lies, and its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trailer {
    pub(crate) footer_offset: u64,
    pub(crate) footer_bytes: u32,
    pub(crate) footer_checksum: u32,
}

impl Trailer {
    pub(crate) fn encode(self, file: FileId) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        bytes[..8].copy_from_slice(&self.footer_offset.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.footer_bytes.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.footer_checksum.to_le_bytes());
        bytes[16..24].copy_from_slice(&file.0.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..24]);
        bytes[24..28].copy_from_slice(&checksum.to_le_bytes());
        bytes[28..].copy_from_slice(&END_MAGIC);
        bytes
    }

    /// Reads the trailer of a file of `file_bytes` bytes.
    pub(crate) fn decode(bytes: &[u8; TRAILER_BYTES], file: FileId, file_bytes: u64) -> Result<Trailer> {
        let mut input = ByteReader::new(bytes, |what| damaged("the trailer", what));
        let trailer =
            Trailer { footer_offset: input.u64()?, footer_bytes: input.u32()?, footer_checksum: input.u32()? };
        if bytes[..] != trailer.encode(file)[..] {
            return Err(Error::corrupt("its trailer fails the checksum (was the file cut off?)"));
        }
        let end = trailer.footer_offset.checked_add(u64::from(trailer.footer_bytes) + TRAILER_BYTES as u64);
        if end != Some(file_bytes) || trailer.footer_offset < HEADER_BYTES as u64 {
            return Err(Error::corrupt("its trailer belongs to a file of another length"));
        }
        Ok(trailer)
    }
}

fn damaged(part: &str, what: &str) -> Error {
    Error::corrupt(format!("{part} is damaged: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Footer, u64) {
        let edge = |bytes: &[u8]| EdgeEntry { bytes: bytes.to_vec(), value_len: 1 };
        let mut footer = Footer {
            entry_count: 40,
            value_count: 20,
            ts_min: Timestamp(3),
            ts_max: Timestamp(9),
            first: edge(b"a1"),
            last: edge(b"z9"),
            ..Footer::default()
        };
        for number in 0..20u8 {
            footer.blocks.push(Place { offset: 0, bytes: 100, checksum: 7, entries: 2 });
            footer.separators.extend((number > 0).then_some(b'a' + number));
            footer.separator_ends.push(footer.separators.len() as u32);
        }
        footer.segments = vec![Place { bytes: 32, checksum: 8, ..Place::default() }; 2];
        let end = HEADER_BYTES as u64 + 20 * 100 + 2 * 32;
        footer.place(end).unwrap();
        (footer, end)
    }

    #[test]
    fn footers_come_back_and_find_blocks() {
        let (footer, end) = sample();
        assert_eq!(Footer::decode(&footer.encode(), end).unwrap(), footer);
        assert_eq!(
            ["", "a", "b", "bz", "c", "zz"].map(|target| footer.block_of(target.as_bytes())),
            [0, 0, 1, 1, 2, 19]
        );
        assert_eq!(
            [Some("b"), Some("bz"), None].map(|high| footer.last_block_below(high.map(str::as_bytes))),
            [0, 1, 19]
        );
        assert_eq!(footer.blocks[16].offset, 64 + 1600 + 32, "behind the first segment");
        assert_eq!(footer.share(b"", None), (40, 2032));
        assert_eq!(footer.share(b"b", Some(b"d")), (4, 200));
        assert_eq!(footer.separators_within(b"bz", Some(b"d")).map(|block| block.0[0]).collect::<Vec<_>>(), b"bc");
    }

    #[test]
    fn footers_that_contradict_themselves_are_errors_and_never_panics() {
        let (footer, end) = sample();
        let bytes = footer.encode();
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            // The checksum finds the flips that still decode.
            let _ = Footer::decode(&flipped, end);
        }
        for len in 0..bytes.len() {
            assert!(Footer::decode(&bytes[..len], end).is_err());
        }
        assert!(Footer::decode(&bytes, end + 1).is_err());
        for break_it in [
            |footer: &mut Footer| footer.entry_count += 1,
            |footer: &mut Footer| footer.value_count = 41,
            |footer: &mut Footer| footer.ts_min = Timestamp(10),
            |footer: &mut Footer| footer.filter.bits = 21,
            |footer: &mut Footer| footer.first.value_len = 3,
            |footer: &mut Footer| footer.first.bytes = b"zz".to_vec(),
            |footer: &mut Footer| footer.separators.swap(3, 4),
            |footer: &mut Footer| footer.segments[1].bytes = 0,
        ] {
            let mut broken = footer.clone();
            break_it(&mut broken);
            assert!(Footer::decode(&broken.encode(), end).is_err(), "{broken:?}");
        }
    }
}
