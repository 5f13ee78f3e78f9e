//! Where each byte of the manifest lies: header, records, CURRENT.
//!
//! ```text
//!   header 64  magic | version u32 | salt u32 | number u64 | snapshot end u64 | file max u64 | table max u32
//!              | log u64 | edits u64 | crc
//!   record     magic 4 | crc u32 | offset u64 | durable u64 | payload bytes u32 | kind u32 | log u64
//!              | payload | 0 up to 8
//! ```
//!
//! The byte-exact description is docs/format/manifest.md; a test compares every constant here with a snapshot.

use weft_format::{Code, Error, FileId, Lsn, Result, TableId};

/// The first bytes of a manifest.
pub(crate) const FILE_MAGIC: [u8; 8] = *b"WEFTMAN\n";
/// The version of this format.
pub(crate) const FORMAT_VERSION: u32 = 4;
/// The oldest version that is read: it names no positions of the log. Versions 2 and 3 do not say which database it
/// is; releases of 2 do not know the names of first segments ([`crate::log`]), and must not open what has them. Files
/// of all of them are rewritten at open.
pub(crate) const FORMAT_VERSION_BEFORE: u32 = 1;
/// A file header.
pub(crate) const FILE_HEADER_BYTES: usize = 64;
/// Where a file header's checksum lies.
pub(crate) const FILE_CRC_OFFSET: usize = 60;
/// The first bytes of a record.
pub(crate) const RECORD_MAGIC: [u8; 4] = *b"WEDT";
/// A record header.
pub(crate) const RECORD_HEADER_BYTES: usize = 40;
/// The same in the version before.
pub(crate) const RECORD_HEADER_BYTES_BEFORE: usize = 32;
/// Records begin at multiples of this, and their length is one.
pub(crate) const RECORD_ALIGN: usize = 8;
/// A record that is an [`super::Edit`].
pub(crate) const KIND_EDIT: u32 = 1;
/// A record that forgets a table: the payload is its id.
pub(crate) const KIND_FORGET: u32 = 2;
/// A record without payload that says: what lies before is durable.
pub(crate) const KIND_MARK: u32 = 3;
/// A record that says which database it is: the payload is its number. The first one of a snapshot.
pub(crate) const KIND_DATABASE: u32 = 4;
/// Names the manifest.
pub(crate) const CURRENT: &str = "CURRENT";
/// The next CURRENT before it is renamed.
pub(crate) const CURRENT_TEMPORARY: &str = "CURRENT.tmp";
/// Manifest file names begin with this, before a decimal number.
pub(crate) const MANIFEST_PREFIX: &str = "MANIFEST-";

/// What a manifest's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    /// Seeds the checksums of the records.
    pub(crate) salt: u32,
    /// The number in the file's name.
    pub(crate) number: u64,
    /// Everything before this offset was durable before CURRENT named the file.
    pub(crate) snapshot_end: u64,
    /// No higher file number was ever named before this file was written.
    pub(crate) file_max: FileId,
    /// The same for tables.
    pub(crate) table_max: TableId,
    /// The snapshot depends on everything in the log before this.
    pub(crate) log: Lsn,
    /// How many edits the log may name that are in the snapshot.
    pub(crate) edits: u64,
    /// In which version of the format the file is.
    pub(crate) version: u32,
}

impl FileHeader {
    /// The header's bytes.
    pub(crate) fn encode(&self) -> [u8; FILE_HEADER_BYTES] {
        let mut bytes = [0; FILE_HEADER_BYTES];
        bytes[..8].copy_from_slice(&FILE_MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.salt.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.snapshot_end.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.file_max.0.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.table_max.0.to_le_bytes());
        bytes[44..52].copy_from_slice(&self.log.0.to_le_bytes());
        bytes[52..60].copy_from_slice(&self.edits.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..FILE_CRC_OFFSET]);
        bytes[FILE_CRC_OFFSET..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads and tests the header of manifest `number`.
    pub(crate) fn decode(bytes: &[u8], number: u64) -> Result<FileHeader> {
        let name = manifest_name(number);
        let whole = bytes.get(..FILE_HEADER_BYTES).filter(|bytes| {
            bytes[..8] == FILE_MAGIC && crc32c::crc32c(&bytes[..FILE_CRC_OFFSET]) == read_u32(bytes, FILE_CRC_OFFSET)
        });
        let bytes = whole.ok_or_else(|| damaged(&name, 0, "the header's checksum does not fit"))?;
        let version = read_u32(bytes, 8);
        if !(FORMAT_VERSION_BEFORE..=FORMAT_VERSION).contains(&version) {
            let what = format!(
                "{name} has format version {version}; this release reads {FORMAT_VERSION_BEFORE} to {FORMAT_VERSION}"
            );
            return Err(
                Error::new(Code::VersionMismatch, what).hint("open the directory with the release that wrote it")
            );
        }
        let header = FileHeader {
            salt: read_u32(bytes, 12),
            number: read_u64(bytes, 16),
            snapshot_end: read_u64(bytes, 24),
            file_max: FileId(read_u64(bytes, 32)),
            table_max: TableId(read_u32(bytes, 40)),
            // In the version before these bytes are 0.
            log: Lsn(read_u64(bytes, 44)),
            edits: read_u64(bytes, 52),
            version,
        };
        if header.number != number {
            return Err(damaged(&name, 16, &format!("the header says it is {}", manifest_name(header.number))));
        }
        Ok(header)
    }
}

/// A record of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordView<'a> {
    /// Everything before this offset was known durable when the record was written.
    pub(crate) durable: u64,
    /// What it says depends on everything in the log before this; 0 in the version before.
    pub(crate) log: Lsn,
    /// What the payload is.
    pub(crate) kind: u32,
    /// The payload.
    pub(crate) payload: &'a [u8],
    /// Bytes of the whole record.
    pub(crate) size: usize,
}

impl<'a> RecordView<'a> {
    /// The record at `offset` of the file `bytes`, when a whole valid one is there.
    pub(crate) fn decode(bytes: &'a [u8], offset: usize, header: &FileHeader) -> Option<RecordView<'a>> {
        let is_before = header.version == FORMAT_VERSION_BEFORE;
        let header_bytes = if is_before { RECORD_HEADER_BYTES_BEFORE } else { RECORD_HEADER_BYTES };
        let rest = bytes.get(offset..)?;
        if rest.len() < header_bytes || rest[..4] != RECORD_MAGIC || read_u64(rest, 8) != offset as u64 {
            return None;
        }
        let payload_bytes = read_u32(rest, 24) as usize;
        let size = (header_bytes + payload_bytes).next_multiple_of(RECORD_ALIGN);
        let record = rest.get(..size)?;
        let fits = crc32c::crc32c_append(header.salt, &record[8..]) == read_u32(record, 4);
        fits.then(|| RecordView {
            durable: read_u64(record, 16),
            log: if is_before { Lsn(0) } else { Lsn(read_u64(record, 32)) },
            kind: read_u32(record, 28),
            payload: &record[header_bytes..header_bytes + payload_bytes],
            size,
        })
    }
}

/// What a record says of what lies before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    /// Everything before this offset of the file is durable.
    pub(crate) durable: u64,
    /// Everything before this position of the log is durable, and the record depends on it.
    pub(crate) log: Lsn,
}

/// Appends a record to `out`, whose first byte lies at file offset `base`.
pub(crate) fn push_record(out: &mut Vec<u8>, base: u64, before: Before, salt: u32, kind: u32, payload: &[u8]) {
    let start = out.len();
    let offset = base + start as u64;
    assert!(offset.is_multiple_of(RECORD_ALIGN as u64), "records begin at multiples of 8, where they are looked for");
    assert!(before.durable <= offset, "a record vouches for nothing that lies behind its own start");
    let payload_bytes = u32::try_from(payload.len()).expect("the caller bounds payloads");
    out.extend_from_slice(&RECORD_MAGIC);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&offset.to_le_bytes());
    out.extend_from_slice(&before.durable.to_le_bytes());
    out.extend_from_slice(&payload_bytes.to_le_bytes());
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&before.log.0.to_le_bytes());
    out.extend_from_slice(payload);
    out.resize(start + record_bytes(payload.len()), 0);
    let crc = crc32c::crc32c_append(salt, &out[start + 8..]);
    out[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
}

/// The length of a record with that much payload.
pub(crate) fn record_bytes(payload_bytes: usize) -> usize {
    (RECORD_HEADER_BYTES + payload_bytes).next_multiple_of(RECORD_ALIGN)
}

/// The name of manifest `number`.
pub(crate) fn manifest_name(number: u64) -> String {
    format!("{MANIFEST_PREFIX}{number}")
}

/// The number of the manifest file `name`, when it is one.
pub(crate) fn manifest_number(name: &str) -> Option<u64> {
    let number = name.strip_prefix(MANIFEST_PREFIX)?.parse().ok()?;
    (manifest_name(number) == name).then_some(number)
}

/// What CURRENT holds: the manifest's name and its checksum.
pub(crate) fn encode_current(number: u64) -> String {
    let name = manifest_name(number);
    format!("{name} {:08x}\n", crc32c::crc32c(name.as_bytes()))
}

/// The manifest that CURRENT names.
pub(crate) fn decode_current(bytes: &[u8]) -> Result<u64> {
    let number = std::str::from_utf8(bytes).ok().and_then(|text| {
        let number = manifest_number(text.split(' ').next()?)?;
        (encode_current(number) == text).then_some(number)
    });
    number.ok_or_else(|| {
        Error::corrupt("the file CURRENT is damaged: it does not name a manifest").hint("restore it from a backup")
    })
}

/// A damaged place in a manifest.
pub(crate) fn damaged(name: &str, offset: usize, what: &str) -> Error {
    Error::corrupt(format!("{name} is damaged at offset {offset}: {what}")).hint("restore the directory from a backup")
}

fn read_u32(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes"))
}

fn read_u64(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}
