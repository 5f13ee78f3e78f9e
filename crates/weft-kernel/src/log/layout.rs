//! Where each byte of a log segment lies: names, segment header, block header.
//!
//! ```text
//!   log-0000000000001240            start LSN in hexadecimal
//!   log-0000000000001240-00000007   the same of the first segment of epoch 7
//!   ┌────────────────────┬──────────────┬──────────────┬───────────────┐
//!   │ segment header 512 │ block        │ block        │ 0 0 0 0 0 ... │
//!   └────────────────────┴──────────────┴──────────────┴───────────────┘
//!    offset 0             512 = LSN 1240  512 + lsn - 1240
//! ```
//!
//! 1. Where several begin at one place, that of the highest epoch counts: the others were empty, or are of a writer
//!    that was slow to notice that another one has taken its place. So each opening begins its log under a name of its
//!    own.
//! 2. A segment says which one lies before it. So one that comes late, at a place where the log did not go on with it
//!    or when those of its place have gone, is told from the log's: the one behind it, of a later epoch, names another
//!    one, of another epoch. It has one block at most, as its writer notices then; so a segment with more is missed
//!    when the one behind it is.
//! 3. What a segment is made of has the epoch of its maker in its name, too: nobody takes away what a later one makes.
//!
//! The byte-exact description is docs/format/log.md; a test compares every constant here with a snapshot.

use std::fmt;

use weft_format::{Code, Error, FileId, Lsn, RecordNo, Result, Timestamp};

use crate::fault::{self, Fault};

/// The first bytes of a segment file.
pub(crate) const SEGMENT_MAGIC: [u8; 8] = *b"WEFTLOG\n";
/// The version of this format.
pub(crate) const FORMAT_VERSION: u32 = 4;
/// The oldest version that is read, and not written: its records have no numbers. In version 3 commits do not say when
/// they were made.
pub(crate) const FORMAT_VERSION_BEFORE: u32 = 2;
/// A segment header is one disk sector, so that no block write touches it.
pub(crate) const SEGMENT_HEADER_BYTES: usize = 512;
/// Where a segment header's checksum lies.
pub(crate) const SEGMENT_CRC_OFFSET: usize = 508;
/// The first bytes of a block.
pub(crate) const BLOCK_MAGIC: [u8; 4] = *b"WBLK";
/// A block header.
pub(crate) const BLOCK_HEADER_BYTES: usize = 32;
/// Blocks begin at multiples of this, and their length is one.
pub(crate) const BLOCK_ALIGN: usize = 8;
/// Segment file names begin with this, before 16 hexadecimal digits.
pub(crate) const SEGMENT_PREFIX: &str = "log-";
/// A segment under construction has this after its name.
pub(crate) const TEMPORARY_SUFFIX: &str = ".tmp";

/// What a segment's header says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    /// Which opening of the database wrote it.
    pub(crate) epoch: u32,
    /// LSN of the first block.
    pub(crate) start: Lsn,
    /// The highest commit timestamp before `start`.
    pub(crate) last_ts: Timestamp,
    /// Random; seeds the checksums of the blocks, so that no other bytes pass for a block of this segment.
    pub(crate) salt: u32,
    /// So many edits of the manifest were durable when it was written.
    pub(crate) edits: u64,
    /// Records from `start` on have this number or higher ones; 0 in a segment of the release before.
    pub(crate) next_number: RecordNo,
    /// The last edit of the manifest that a record before `start` tells of; 0 in a segment of the release before.
    pub(crate) told_edit: u64,
    /// The segment before it: its epoch and its start. Epoch 0: there was none, or nobody said.
    pub(crate) before: (u32, Lsn),
    /// Numbers of data files up to this were given before the epoch began; 0 where nobody said.
    pub(crate) files: FileId,
    /// In which version of the format it is.
    pub(crate) version: u32,
}

impl SegmentHeader {
    /// Whether its records have numbers.
    pub(crate) fn is_numbered(&self) -> bool {
        self.version != FORMAT_VERSION_BEFORE
    }

    /// The header's bytes.
    pub(crate) fn encode(&self) -> [u8; SEGMENT_HEADER_BYTES] {
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        bytes[..8].copy_from_slice(&SEGMENT_MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.start.0.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.last_ts.0.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.salt.to_le_bytes());
        bytes[36..44].copy_from_slice(&self.edits.to_le_bytes());
        bytes[44..52].copy_from_slice(&self.next_number.0.to_le_bytes());
        bytes[52..60].copy_from_slice(&self.told_edit.to_le_bytes());
        bytes[60..64].copy_from_slice(&self.before.0.to_le_bytes());
        bytes[64..72].copy_from_slice(&self.before.1.0.to_le_bytes());
        bytes[72..80].copy_from_slice(&self.files.0.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..SEGMENT_CRC_OFFSET]);
        bytes[SEGMENT_CRC_OFFSET..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads and tests the header of the segment file `name`.
    pub(crate) fn decode(bytes: &[u8], name: &str) -> Result<SegmentHeader> {
        if bytes.len() < SEGMENT_HEADER_BYTES {
            return Err(damaged_header(name, "the file ends inside it"));
        }
        let bytes = &bytes[..SEGMENT_HEADER_BYTES];
        if crc32c::crc32c(&bytes[..SEGMENT_CRC_OFFSET]) != read_u32(bytes, SEGMENT_CRC_OFFSET) {
            return Err(damaged_header(name, "its checksum does not fit"));
        }
        if bytes[..8] != SEGMENT_MAGIC {
            return Err(damaged_header(name, "it is not that of a log segment"));
        }
        let version = read_u32(bytes, 8);
        if !(FORMAT_VERSION_BEFORE..=FORMAT_VERSION).contains(&version) {
            let what = format!(
                "log segment {name} has format version {version}; this release reads {FORMAT_VERSION_BEFORE} to \
                 {FORMAT_VERSION}"
            );
            return Err(
                Error::new(Code::VersionMismatch, what).hint("open the directory with the release that wrote it")
            );
        }
        Ok(SegmentHeader {
            epoch: read_u32(bytes, 12),
            start: Lsn(read_u64(bytes, 16)),
            last_ts: Timestamp(read_u64(bytes, 24)),
            salt: read_u32(bytes, 32),
            edits: read_u64(bytes, 36),
            // In the version before these bytes are 0.
            next_number: RecordNo(read_u64(bytes, 44)),
            told_edit: read_u64(bytes, 52),
            before: (read_u32(bytes, 60), Lsn(read_u64(bytes, 64))),
            files: FileId(read_u64(bytes, 72)),
            version,
        })
    }

    /// Whether it lies behind that segment, as far as it says so (layout 2).
    pub(crate) fn is_behind(&self, other: &SegmentHeader) -> bool {
        self.before.0 == 0 || self.before == (other.epoch, other.start)
    }

    /// Whether that one, which has a lower place, may be none of the log that this one goes on (layout 2).
    pub(crate) fn may_void(&self, other: &SegmentHeader) -> bool {
        let is_another = !self.is_behind(other) && other.epoch != self.before.0 && other.epoch < self.epoch;
        is_another && !fault::active(Fault::READ_STRAY_SEGMENT)
    }
}

/// What a block's header says besides its own position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    /// Position in the log.
    pub(crate) lsn: Lsn,
    /// So many edits of the manifest were durable when the block was written.
    pub(crate) edits: u64,
    /// The epoch of its segment.
    pub(crate) epoch: u32,
    /// Bytes of records after the header, without the padding.
    pub(crate) payload_bytes: u32,
}

impl BlockHeader {
    /// Fills in the header of a block: `block` has room for the header, then the payload, then zeros up to the
    /// alignment.
    pub(crate) fn encode(&self, salt: u32, block: &mut [u8]) {
        assert_eq!(block.len(), block_bytes(self.payload_bytes as usize), "a block has its padding");
        block[8..16].copy_from_slice(&self.lsn.0.to_le_bytes());
        block[16..24].copy_from_slice(&self.edits.to_le_bytes());
        block[24..28].copy_from_slice(&self.payload_bytes.to_le_bytes());
        block[28..32].copy_from_slice(&self.epoch.to_le_bytes());
        let crc = crc32c::crc32c_append(salt, &block[8..]);
        block[..4].copy_from_slice(&BLOCK_MAGIC);
        block[4..8].copy_from_slice(&crc.to_le_bytes());
    }

    /// The header of the block that `bytes` begins with, when a whole valid block for position `lsn` is there.
    pub(crate) fn decode(bytes: &[u8], segment: &SegmentHeader, lsn: Lsn) -> Option<BlockHeader> {
        if bytes.len() < BLOCK_HEADER_BYTES || bytes[..4] != BLOCK_MAGIC || read_u64(bytes, 8) != lsn.0 {
            return None;
        }
        let header = BlockHeader {
            lsn,
            edits: read_u64(bytes, 16),
            payload_bytes: read_u32(bytes, 24),
            epoch: read_u32(bytes, 28),
        };
        let block = bytes.get(..block_bytes(header.payload_bytes as usize))?;
        let fits = crc32c::crc32c_append(segment.salt, &block[8..]) == read_u32(bytes, 4);
        ((fits || fault::active(Fault::SKIP_CHECKSUM)) && header.epoch == segment.epoch).then_some(header)
    }
}

/// The length of a block with that much payload: header, payload, padding.
pub(crate) fn block_bytes(payload_bytes: usize) -> usize {
    (BLOCK_HEADER_BYTES + payload_bytes).next_multiple_of(BLOCK_ALIGN)
}

/// What a segment's file is called. In the order of the log, and of what counts (layout 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentName {
    /// The LSN of its first block.
    pub(crate) start: Lsn,
    /// The epoch that begins with it; 0: one that has begun before, or the first.
    epoch: u32,
}

impl SegmentName {
    /// Of a segment that goes on in an epoch.
    pub(crate) fn of(start: Lsn) -> SegmentName {
        SegmentName { start, epoch: 0 }
    }

    /// Of a segment that begins an epoch.
    pub(crate) fn first_of(start: Lsn, epoch: u32) -> SegmentName {
        SegmentName { start, epoch: if epoch > 1 { epoch } else { 0 } }
    }

    /// The epoch that begins with it; 0: its name says none.
    pub(crate) fn epoch(self) -> u32 {
        self.epoch
    }

    /// Takes it from a file's name, when it is one.
    pub(crate) fn parse(name: &str) -> Option<SegmentName> {
        let digits = name.strip_prefix(SEGMENT_PREFIX)?;
        let (start, epoch) = digits.split_once('-').map_or((digits, None), |(start, epoch)| (start, Some(epoch)));
        let start = Lsn(u64::from_str_radix(start, 16).ok()?);
        let epoch = epoch.map_or(Some(0), |epoch| u32::from_str_radix(epoch, 16).ok())?;
        let parsed = SegmentName { start, epoch };
        (parsed.to_string() == name).then_some(parsed)
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SEGMENT_PREFIX}{:016x}", self.start.0)?;
        if self.epoch > 0 { write!(f, "-{:08x}", self.epoch) } else { Ok(()) }
    }
}

/// Those of some names that count, in the log's order, and those that do not (layout 1).
pub(crate) fn that_count(mut names: Vec<SegmentName>) -> (Vec<SegmentName>, Vec<SegmentName>) {
    names.sort_unstable();
    if fault::active(Fault::KEEP_LATE_SEGMENT) {
        names.reverse();
        names.sort_by_key(|name| name.start);
    }
    let is_last = |(i, name): &(usize, SegmentName)| names.get(i + 1).is_none_or(|next| next.start > name.start);
    let (count, void): (Vec<_>, Vec<_>) = names.iter().copied().enumerate().partition(is_last);
    let plain = |names: Vec<(usize, SegmentName)>| names.into_iter().map(|(_, name)| name).collect();
    let (count, void): (Vec<SegmentName>, Vec<SegmentName>) = (plain(count), plain(void));
    assert!(count.is_sorted_by(|a, b| a.start < b.start), "one segment begins at each place (layout 1)");
    (count, void)
}

/// The name of the segment that starts at `start`, unless it begins an epoch.
pub(crate) fn segment_name(start: Lsn) -> String {
    SegmentName::of(start).to_string()
}

/// The start LSN of the segment file `name`, when it is one.
pub(crate) fn segment_start(name: &str) -> Option<Lsn> {
    SegmentName::parse(name).map(|name| name.start)
}

/// What a file is called that a writer of an epoch makes this segment of, or has made of it (layout 3).
pub(super) fn temporary_name(name: SegmentName, epoch: u32) -> String {
    format!("{}{TEMPORARY_SUFFIX}", SegmentName::first_of(name.start, epoch))
}

/// Whether this is a segment under construction; the epoch of who made it, as far as its name says it.
pub(crate) fn temporary_segment(name: &str) -> Option<u32> {
    SegmentName::parse(name.strip_suffix(TEMPORARY_SUFFIX)?).map(|name| name.epoch)
}

fn damaged_header(name: &str, what: &str) -> Error {
    Error::corrupt(format!("the header of log segment {name} is damaged: {what}"))
        .hint("restore the file from a backup")
}

/// Four bytes at `offset`, little-endian; the caller has tested the length.
pub(crate) fn read_u32(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes"))
}

/// Eight bytes at `offset`, little-endian; the caller has tested the length.
pub(crate) fn read_u64(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}
