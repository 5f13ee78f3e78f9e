//! Header and trailer: what a file is, and where its footer lies.

use crate::bytes::array;
use crate::encoding::BLOCK_ROWS;
use crate::error::{Code, Error, Result};
use crate::ids::{FileId, TableId};
use crate::table::layout::{
    END_MAGIC, FORMAT_VERSION, FORMAT_VERSION_MIN, HEADER_BYTES, INDEX_ROWS, MAGIC, TRAILER_BYTES,
};

/// The header's fields that vary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) table: TableId,
    pub(crate) file: FileId,
    pub(crate) schema_version: u32,
    /// Stored columns, the insert timestamps included.
    pub(crate) column_count: u32,
    pub(crate) row_count: u32,
    pub(crate) version: u16,
}

impl Header {
    pub(crate) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&self.version.to_le_bytes());
        bytes[10..12].copy_from_slice(&(HEADER_BYTES as u16).to_le_bytes());
        bytes[12..16].copy_from_slice(&self.table.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.file.0.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.schema_version.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.column_count.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.row_count.to_le_bytes());
        bytes[36..40].copy_from_slice(&(BLOCK_ROWS as u32).to_le_bytes());
        bytes[40..44].copy_from_slice(&(INDEX_ROWS as u32).to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..HEADER_BYTES - 4]);
        bytes[HEADER_BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a header; the errors name no file, the caller adds it.
    pub(crate) fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Header> {
        let number = |at: usize| u32::from_le_bytes(array(&bytes[at..]));
        if bytes[..8] != MAGIC {
            return Err(Error::corrupt("it does not start as a column table does"));
        }
        if crc32c::crc32c(&bytes[..HEADER_BYTES - 4]) != number(HEADER_BYTES - 4) {
            return Err(Error::corrupt("its header fails the checksum"));
        }
        let version = u16::from_le_bytes(array(&bytes[8..]));
        if !(FORMAT_VERSION_MIN..=FORMAT_VERSION).contains(&version) {
            let reads = format!("{FORMAT_VERSION_MIN} to {FORMAT_VERSION}");
            let what = format!("it has format version {version}, this release reads {reads}");
            return Err(
                Error::new(Code::VersionMismatch, what).hint("open the directory with the release that wrote it")
            );
        }
        let layout = (u16::from_le_bytes(array(&bytes[10..])), number(36), number(40));
        if layout != (HEADER_BYTES as u16, BLOCK_ROWS as u32, INDEX_ROWS as u32) {
            return Err(Error::corrupt(format!("its header claims the sizes {layout:?}")));
        }
        let header = Header {
            table: TableId(number(12)),
            file: FileId(u64::from_le_bytes(array(&bytes[16..]))),
            schema_version: number(24),
            column_count: number(28),
            row_count: number(32),
            version,
        };
        match header {
            Header { row_count: 0, .. } => Err(Error::corrupt("its header claims no rows")),
            // The insert timestamps are always there.
            Header { column_count: 0, .. } => Err(Error::corrupt("its header claims no columns")),
            header => Ok(header),
        }
    }
}

/// Where the footer lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trailer {
    pub(crate) footer_offset: u64,
    pub(crate) footer_bytes: u32,
    pub(crate) footer_checksum: u32,
}

pub(crate) fn trailer_bytes(
    file: FileId,
    footer_offset: u64,
    footer_bytes: u32,
    footer_checksum: u32,
) -> [u8; TRAILER_BYTES] {
    let mut bytes = [0; TRAILER_BYTES];
    bytes[..8].copy_from_slice(&footer_offset.to_le_bytes());
    bytes[8..12].copy_from_slice(&footer_bytes.to_le_bytes());
    bytes[12..16].copy_from_slice(&footer_checksum.to_le_bytes());
    bytes[16..24].copy_from_slice(&file.0.to_le_bytes());
    let checksum = crc32c::crc32c(&bytes[..24]);
    bytes[24..28].copy_from_slice(&checksum.to_le_bytes());
    bytes[28..].copy_from_slice(&END_MAGIC);
    bytes
}

impl Trailer {
    /// Reads the trailer of a file of `file_bytes` bytes.
    pub(crate) fn parse(bytes: &[u8; TRAILER_BYTES], file: FileId, file_bytes: u64) -> Result<Trailer> {
        if bytes[28..] != END_MAGIC || crc32c::crc32c(&bytes[..24]) != u32::from_le_bytes(array(&bytes[24..])) {
            return Err(Error::corrupt("its trailer fails the checksum (was the file cut off?)"));
        }
        let trailer = Trailer {
            footer_offset: u64::from_le_bytes(array(bytes)),
            footer_bytes: u32::from_le_bytes(array(&bytes[8..])),
            footer_checksum: u32::from_le_bytes(array(&bytes[12..])),
        };
        let end = trailer.footer_offset.checked_add(u64::from(trailer.footer_bytes) + TRAILER_BYTES as u64);
        if u64::from_le_bytes(array(&bytes[16..])) != file.0 || end != Some(file_bytes) {
            return Err(Error::corrupt("its trailer belongs to another file or length"));
        }
        Ok(trailer)
    }
}
