//! Every constant of the column table file; `docs/format/column-table.md` is its specification.

/// First bytes of the file.
pub const MAGIC: [u8; 8] = *b"WEFTCOLT";
/// Last bytes of the file.
pub const END_MAGIC: [u8; 4] = *b"WEND";
/// Version of the format that this release writes.
pub const FORMAT_VERSION: u16 = 4;
/// The first version that this release reads: before version 2 every block was one slice.
pub const FORMAT_VERSION_MIN: u16 = 1;
/// The first version whose blocks may be cut into slices.
pub(crate) const SLICES_VERSION: u16 = 2;
/// The first version whose blocks of jsonb may be documents as columns.
pub(crate) const DOCUMENTS_VERSION: u16 = 3;
/// The first version that has summaries of its columns before the footer.
pub(crate) const SUMMARIES_VERSION: u16 = 4;
/// In place of the rows per slice: the block's slices are pieces of documents.
pub(crate) const DOCUMENTS_MARK: u8 = u8::MAX;
/// Bytes of the header.
pub const HEADER_BYTES: usize = 64;
/// Bytes of the trailer.
pub const TRAILER_BYTES: usize = 32;
/// Rows per entry of the sparse key index.
pub const INDEX_ROWS: usize = 1_024;
/// A column that was not asked for gets a Bloom filter only when the filter has at most this many bytes.
pub const COLUMN_BLOOM_BYTES_MAX: usize = 2_048;

/// Statistics flag: a lower bound follows.
pub(crate) const STATS_HAS_MIN: u8 = 1;
/// Statistics flag: an upper bound follows.
pub(crate) const STATS_HAS_MAX: u8 = 2;
/// Statistics flag: the lower bound occurs.
pub(crate) const STATS_MIN_EXACT: u8 = 4;
/// Statistics flag: the upper bound occurs.
pub(crate) const STATS_MAX_EXACT: u8 = 8;

/// CRC32C of a block or footer, which covers where it belongs: file, column, block (all ones for the footer).
pub(crate) fn checksum(file: crate::FileId, column: u32, block: u32, bytes: &[u8]) -> u32 {
    let mut place = [0; 16];
    place[..8].copy_from_slice(&file.0.to_le_bytes());
    place[8..12].copy_from_slice(&column.to_le_bytes());
    place[12..].copy_from_slice(&block.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c(&place), bytes)
}

/// The column number that the checksum of the summaries covers; the block is 0.
pub(crate) const SUMMARIES_PLACE: u32 = u32::MAX - 1;

/// The column and block number that the footer's checksum covers.
pub(crate) const FOOTER_PLACE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::encoding::layout::{ALIGN_BYTES, BLOCK_HEADER_BYTES, FLAG_VALIDITY, SLICE_ROWS_MIN};
    use crate::encoding::{BLOCK_ROWS, Encoding, Kind, TEXT_GROUP_ROWS, UNIT_ROWS};
    use crate::types::{DataType, Element, TYPE_BYTES};

    /// A change here is a change of the file format: raise FORMAT_VERSION and the documents with it.
    #[test]
    fn on_disk_constants() {
        let mut found = String::new();
        let mut note = |name: &str, value: &dyn std::fmt::Debug| writeln!(found, "{name} {value:?}").unwrap();
        note("MAGIC", &std::str::from_utf8(&MAGIC).unwrap());
        note("END_MAGIC", &std::str::from_utf8(&END_MAGIC).unwrap());
        note("FORMAT_VERSION", &(FORMAT_VERSION_MIN, FORMAT_VERSION));
        note("HEADER_BYTES", &HEADER_BYTES);
        note("TRAILER_BYTES", &TRAILER_BYTES);
        note("INDEX_ROWS", &INDEX_ROWS);
        note("COLUMN_BLOOM_BYTES_MAX", &COLUMN_BLOOM_BYTES_MAX);
        note("TYPE_BYTES", &TYPE_BYTES);
        note("STATS", &[STATS_HAS_MIN, STATS_HAS_MAX, STATS_MIN_EXACT, STATS_MAX_EXACT]);
        note("STATS_TEXT_BYTES_MAX", &crate::stats::STATS_TEXT_BYTES_MAX);
        note("FOOTER_PLACE", &FOOTER_PLACE);
        note("SUMMARIES", &(SUMMARIES_PLACE, crate::summary::ON_DISK));
        note("BLOCK_ROWS", &BLOCK_ROWS);
        note("BLOCK_HEADER_BYTES", &BLOCK_HEADER_BYTES);
        note("ALIGN_BYTES", &ALIGN_BYTES);
        note("FLAG_VALIDITY", &FLAG_VALIDITY);
        note("SLICE_ROWS_MIN", &SLICE_ROWS_MIN);
        note("UNIT_ROWS", &UNIT_ROWS);
        note("TEXT_GROUP_ROWS", &TEXT_GROUP_ROWS);
        note("DOCUMENTS", &(DOCUMENTS_MARK, crate::document::ON_DISK));
        note("ENCODINGS", &Encoding::ALL.map(|encoding| (encoding as u8, encoding)));
        let letters = [crate::encoding::letters::LETTERS_MAX, crate::encoding::letters::LETTERS_SLACK];
        note("LETTERS", &letters);
        note("KINDS", &(1..=11).map(|byte| Kind::from_byte(byte).unwrap()).collect::<Vec<_>>());
        note("ESCAPE", &crate::encoding::symbols::ESCAPE);
        note("BLOOM_BITS_PER_KEY", &crate::bloom::BLOOM_BITS_PER_KEY);
        note("BLOOM_BLOCK_BYTES", &crate::bloom::BLOOM_BLOCK_BYTES);
        note("SALTS", &crate::bloom::SALTS);
        note("HASH_KEYS", &crate::bloom::HASH_KEYS);
        let types = [
            DataType::Boolean,
            DataType::SmallInt,
            DataType::Integer,
            DataType::BigInt,
            DataType::Real,
            DataType::DoublePrecision,
            DataType::Numeric { precision: 9, scale: 2 },
            DataType::Text,
            DataType::Varchar(258),
            DataType::Date,
            DataType::Timestamp,
            DataType::TimestampTz,
            DataType::Uuid,
            DataType::Bytea,
            DataType::Time,
            DataType::Interval,
            DataType::Json,
            DataType::Jsonb,
            DataType::Char(258),
            DataType::Oid,
            DataType::Enum(crate::enums::EnumId::new(258 << 32 | 16_400)),
            DataType::JsonPath,
            DataType::Bit(258),
            DataType::VarBit(258),
            DataType::Array(Element::Varchar(258)),
            DataType::Array(Element::Numeric { precision: 9, scale: 2 }),
        ];
        assert!(types.iter().all(|&data_type| DataType::from_code(data_type.code()).ok() == Some(data_type)));
        types.iter().for_each(|&data_type| note(&data_type.to_string(), &data_type.code()));
        note("CHECKSUM", &checksum(crate::FileId(7), 1, 2, b"weft"));
        assert_eq!(found, include_str!("constants.golden"), "found:\n{found}");
    }
}
