//! Every constant of the column table file; `docs/format/column-table.md` is its specification.

use crate::types::DataType;

/// First bytes of the file.
pub const MAGIC: [u8; 8] = *b"WEFTCOLT";
/// Last bytes of the file.
pub const END_MAGIC: [u8; 4] = *b"WEND";
/// Version of the format that this release writes and reads.
pub const FORMAT_VERSION: u16 = 1;
/// Bytes of the header.
pub const HEADER_BYTES: usize = 64;
/// Bytes of the trailer.
pub const TRAILER_BYTES: usize = 32;
/// Rows per entry of the sparse key index.
pub const INDEX_ROWS: usize = 1_024;
/// A column that was not asked for gets a Bloom filter only when the filter has at most this many bytes.
pub const COLUMN_BLOOM_BYTES_MAX: usize = 2_048;
/// Bytes of a column's type in the footer.
pub const TYPE_BYTES: usize = 8;

/// Statistics flag: a lower bound follows.
pub(crate) const STATS_HAS_MIN: u8 = 1;
/// Statistics flag: an upper bound follows.
pub(crate) const STATS_HAS_MAX: u8 = 2;
/// Statistics flag: the lower bound occurs.
pub(crate) const STATS_MIN_EXACT: u8 = 4;
/// Statistics flag: the upper bound occurs.
pub(crate) const STATS_MAX_EXACT: u8 = 8;

/// A logical type as stored: tag, precision, scale, 0, length limit u32.
pub(crate) fn type_bytes(data_type: DataType) -> [u8; TYPE_BYTES] {
    let (tag, precision, scale, limit) = match data_type {
        DataType::Boolean => (1, 0, 0, 0),
        DataType::SmallInt => (2, 0, 0, 0),
        DataType::Integer => (3, 0, 0, 0),
        DataType::BigInt => (4, 0, 0, 0),
        DataType::Real => (5, 0, 0, 0),
        DataType::DoublePrecision => (6, 0, 0, 0),
        DataType::Numeric { precision, scale } => (7, precision, scale, 0),
        DataType::Text => (8, 0, 0, 0),
        DataType::Varchar(limit) => (9, 0, 0, limit),
        DataType::Date => (10, 0, 0, 0),
        DataType::Timestamp => (11, 0, 0, 0),
        DataType::TimestampTz => (12, 0, 0, 0),
    };
    let limit: [u8; 4] = u32::to_le_bytes(limit);
    [tag, precision, scale, 0, limit[0], limit[1], limit[2], limit[3]]
}

/// The logical type that these bytes are, if they are one.
pub(crate) fn type_of(bytes: [u8; TYPE_BYTES]) -> Option<DataType> {
    let [tag, precision, scale, _, limit @ ..] = bytes;
    let found = match tag {
        1 => DataType::Boolean,
        2 => DataType::SmallInt,
        3 => DataType::Integer,
        4 => DataType::BigInt,
        5 => DataType::Real,
        6 => DataType::DoublePrecision,
        7 => DataType::Numeric { precision, scale },
        8 => DataType::Text,
        9 => DataType::Varchar(u32::from_le_bytes(limit)),
        10 => DataType::Date,
        11 => DataType::Timestamp,
        12 => DataType::TimestampTz,
        _ => return None,
    };
    (type_bytes(found) == bytes).then_some(found)
}

/// CRC32C of a block or footer, which covers where it belongs: file, column, block (all ones for the footer).
pub(crate) fn checksum(file: crate::FileId, column: u32, block: u32, bytes: &[u8]) -> u32 {
    let mut place = [0; 16];
    place[..8].copy_from_slice(&file.0.to_le_bytes());
    place[8..12].copy_from_slice(&column.to_le_bytes());
    place[12..].copy_from_slice(&block.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c(&place), bytes)
}

/// The column and block number that the footer's checksum covers.
pub(crate) const FOOTER_PLACE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::encoding::layout::{ALIGN_BYTES, BLOCK_HEADER_BYTES, FLAG_VALIDITY};
    use crate::encoding::{BLOCK_ROWS, Encoding, Kind, TEXT_GROUP_ROWS, UNIT_ROWS};

    /// A change here is a change of the file format: raise FORMAT_VERSION and the documents with it.
    #[test]
    fn on_disk_constants() {
        let mut found = String::new();
        let mut note = |name: &str, value: &dyn std::fmt::Debug| writeln!(found, "{name} {value:?}").unwrap();
        note("MAGIC", &std::str::from_utf8(&MAGIC).unwrap());
        note("END_MAGIC", &std::str::from_utf8(&END_MAGIC).unwrap());
        note("FORMAT_VERSION", &FORMAT_VERSION);
        note("HEADER_BYTES", &HEADER_BYTES);
        note("TRAILER_BYTES", &TRAILER_BYTES);
        note("INDEX_ROWS", &INDEX_ROWS);
        note("COLUMN_BLOOM_BYTES_MAX", &COLUMN_BLOOM_BYTES_MAX);
        note("TYPE_BYTES", &TYPE_BYTES);
        note("STATS", &[STATS_HAS_MIN, STATS_HAS_MAX, STATS_MIN_EXACT, STATS_MAX_EXACT]);
        note("STATS_TEXT_BYTES_MAX", &crate::stats::STATS_TEXT_BYTES_MAX);
        note("FOOTER_PLACE", &FOOTER_PLACE);
        note("BLOCK_ROWS", &BLOCK_ROWS);
        note("BLOCK_HEADER_BYTES", &BLOCK_HEADER_BYTES);
        note("ALIGN_BYTES", &ALIGN_BYTES);
        note("FLAG_VALIDITY", &FLAG_VALIDITY);
        note("UNIT_ROWS", &UNIT_ROWS);
        note("TEXT_GROUP_ROWS", &TEXT_GROUP_ROWS);
        note("ENCODINGS", &Encoding::ALL.map(|encoding| (encoding as u8, encoding)));
        let letters = [crate::encoding::letters::LETTERS_MAX, crate::encoding::letters::LETTERS_SLACK];
        note("LETTERS", &letters);
        note("KINDS", &(1..=8).map(|byte| Kind::from_byte(byte).unwrap()).collect::<Vec<_>>());
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
        ];
        assert!(types.iter().all(|&data_type| type_of(type_bytes(data_type)) == Some(data_type)));
        types.iter().for_each(|&data_type| note(&data_type.to_string(), &type_bytes(data_type)));
        note("CHECKSUM", &checksum(crate::FileId(7), 1, 2, b"weft"));
        assert_eq!(found, include_str!("constants.golden"), "found:\n{found}");
    }
}
