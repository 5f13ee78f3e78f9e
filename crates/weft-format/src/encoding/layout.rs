//! Constants of an encoded block; `docs/format/column-table.md` describes them.

/// Most rows of one block.
pub const BLOCK_ROWS: usize = 8_192;
/// Bytes of a block's header.
pub(crate) const BLOCK_HEADER_BYTES: usize = 16;
/// Blocks, nested blocks, bitmaps, values and units start at multiples of this many bytes.
pub(crate) const ALIGN_BYTES: usize = 16;
/// Header flag: a validity bitmap follows the header.
pub(crate) const FLAG_VALIDITY: u8 = 1;
/// A block of texts with at least this many bytes is written in slices: below, cutting it saves a point read little.
pub(crate) const SLICED_BYTES_MIN: usize = 128 << 10;
/// Slices have about this many bytes, at most: what a point read loads of a column, and a scan fetches at once.
pub(crate) const SLICE_BYTES: usize = 32 << 10;
/// Slices have at least this many rows: a word of a mask.
pub(crate) const SLICE_ROWS_MIN: usize = 64;

/// How a block's payload is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Encoding {
    /// Every row is NULL; no payload.
    AllNull = 0,
    /// One value for every row that is not NULL.
    Constant = 1,
    /// The values side by side; booleans as bits; texts behind an index.
    Plain = 2,
    /// Frame of reference with bit-packing, units of 1024.
    Frame = 3,
    /// Ends of runs, and a nested block with each run's value.
    RunLength = 4,
    /// Bit-packed codes, and a nested block with the distinct values.
    Dictionary = 5,
    /// Texts as codes of the column's symbol table (FSST), behind an index.
    Symbols = 6,
    /// Texts as bit-packed indexes into an alphabet of at most 64 bytes, behind an index.
    Letters = 7,
}

impl Encoding {
    /// Every encoding.
    pub const ALL: [Encoding; 8] = [
        Encoding::AllNull,
        Encoding::Constant,
        Encoding::Plain,
        Encoding::Frame,
        Encoding::RunLength,
        Encoding::Dictionary,
        Encoding::Symbols,
        Encoding::Letters,
    ];

    /// Reads an encoding's byte.
    pub(crate) fn from_byte(byte: u8) -> Option<Encoding> {
        Encoding::ALL.into_iter().find(|encoding| *encoding as u8 == byte)
    }
}
