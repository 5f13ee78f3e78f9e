//! One column of up to 8192 rows, as parsed: cheap access to single values without decoding the rest.
//!
//! ```text
//!   ┌──────────┬──────┬───────┬───┬──────────┬────────────┬─────────────┐ ┌──────────────────┐ ┌─────────┐
//!   │ encoding │ kind │ flags │ 0 │ rows u32 │ nulls u32  │ bytes u32   │ │ validity bitmap  │ │ payload │
//!   └──────────┴──────┴───────┴───┴──────────┴────────────┴─────────────┘ └──────────────────┘ └─────────┘
//!     header, 16 bytes                                                     only with flag 1     by encoding
//! ```
//!
//! 1. The bytes passed their checksum before they are parsed; parsing tests every length and offset again, so that no
//!    access leaves the block, whatever the bytes are. [`Block::check`] tests the contents too.
//! 2. A bit of the validity bitmap is 1 when the row has a value. Slots of NULL rows hold any value.
//! 3. Run ends rise strictly and the last is the row count; dictionary codes lie below the number of entries.
//! 4. Nested blocks have no NULLs and are Constant, Plain, Frame, Symbols or Letters.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer, MutableBuffer, NullBuffer};

use crate::bytes::array;
use crate::encoding::kind::{Kind, Lane, Word};
use crate::encoding::layout::{ALIGN_BYTES, BLOCK_HEADER_BYTES, BLOCK_ROWS, Encoding, FLAG_VALIDITY};
use crate::encoding::letters::Alphabet;
use crate::encoding::packed::Packed;
use crate::encoding::slices::rows_of_slice;
use crate::encoding::symbols::SymbolTable;
use crate::encoding::text::TextIndex;
use crate::error::{Error, Result};
use crate::value::{Value, ValueRef};

/// A parsed block. Owns its bytes in aligned memory; cheap to share behind an `Arc`.
#[derive(Debug)]
pub struct Block {
    pub(crate) kind: Kind,
    pub(crate) rows: usize,
    pub(crate) null_count: usize,
    pub(crate) buffer: Buffer,
    /// Where the validity bitmap starts.
    pub(crate) validity: Option<usize>,
    pub(crate) body: Body,
    attached: Option<Attached>,
}

/// What a reader has made of a block, and how many bytes that has.
#[derive(Debug)]
struct Attached(Arc<dyn Any + Send + Sync>, usize);

/// What the payload holds; offsets are within the block's buffer.
#[derive(Debug)]
pub(crate) enum Body {
    AllNull,
    Constant(Constant),
    /// Fixed-width values from this offset on.
    Plain(usize),
    /// Booleans from this offset on.
    Bits(usize),
    Texts(TextIndex),
    Symbols(TextIndex, Arc<SymbolTable>),
    Letters(TextIndex, Alphabet),
    Frame(Packed),
    RunLength(Vec<u16>, Box<Block>),
    Dictionary(Packed, Box<Block>),
    /// Of texts.
    Slices(Slices),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Constant {
    Bits(u128),
    /// Start and end of the text.
    Text(usize, usize),
}

/// The slices of a block that were loaded; the rows of the others read as NULL.
#[derive(Debug)]
pub(crate) struct Slices {
    slice_rows: usize,
    all: Vec<Option<Arc<Block>>>,
}

impl Block {
    /// Parses bytes that passed their checksum. `symbols` is the column's table, which [`Encoding::Symbols`] needs.
    pub fn parse(buffer: Buffer, symbols: Option<&Arc<SymbolTable>>) -> Result<Block> {
        let aligned = buffer.as_ptr().align_offset(ALIGN_BYTES) == 0;
        let buffer = if aligned { buffer } else { aligned_copy(buffer.as_slice()) };
        Block::parse_at(buffer, symbols, false)
    }

    fn parse_at(buffer: Buffer, symbols: Option<&Arc<SymbolTable>>, nested: bool) -> Result<Block> {
        let bytes = buffer.as_slice();
        if bytes.len() < BLOCK_HEADER_BYTES || !bytes.len().is_multiple_of(ALIGN_BYTES) {
            return Err(Error::corrupt(format!("a block has {} bytes", bytes.len())));
        }
        let number = |at: usize| u32::from_le_bytes(array(&bytes[at..])) as usize;
        let (rows, null_count) = (number(4), number(8));
        let encoding = Encoding::from_byte(bytes[0])
            .ok_or_else(|| Error::corrupt(format!("a block has the unknown encoding {}", bytes[0])))?;
        let kind = Kind::from_byte(bytes[1])
            .ok_or_else(|| Error::corrupt(format!("a block has values of the unknown kind {}", bytes[1])))?;
        if number(12) != bytes.len() || rows == 0 || rows > BLOCK_ROWS || null_count > rows {
            let what = format!("a block of {} bytes claims {rows} rows and {null_count} NULLs", bytes.len());
            return Err(Error::corrupt(what));
        }
        let has_validity = bytes[2] == FLAG_VALIDITY;
        if bytes[2] > FLAG_VALIDITY || bytes[3] != 0 || has_validity != (null_count > 0 && null_count < rows) {
            return Err(Error::corrupt("a block's flags contradict its NULL count"));
        }
        if (encoding == Encoding::AllNull) != (null_count == rows) || nested && null_count > 0 {
            return Err(Error::corrupt("a block's encoding contradicts its NULL count"));
        }
        let mut at = BLOCK_HEADER_BYTES;
        if has_validity {
            at += rows.div_ceil(ALIGN_BYTES * 8) * ALIGN_BYTES;
            let bitmap = bytes.get(BLOCK_HEADER_BYTES..at).ok_or_else(|| Error::corrupt("a bitmap is cut off"))?;
            if count_bits(bitmap, rows) != rows - null_count {
                return Err(Error::corrupt("a validity bitmap contradicts the NULL count"));
            }
        }
        let validity = has_validity.then_some(BLOCK_HEADER_BYTES);
        let body = parse_body(encoding, kind, rows, &buffer, at, symbols, nested)?;
        Ok(Block { kind, rows, null_count, buffer, validity, body, attached: None })
    }

    /// How many rows the block has.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Never: blocks have at least one row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// How many rows are NULL.
    pub fn null_count(&self) -> usize {
        self.null_count
    }

    /// How values are stored.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How the payload is laid out; of slices, that of the first.
    pub fn encoding(&self) -> Encoding {
        match &self.body {
            Body::AllNull => Encoding::AllNull,
            Body::Constant(_) => Encoding::Constant,
            Body::Plain(_) | Body::Bits(_) | Body::Texts(_) => Encoding::Plain,
            Body::Symbols(..) => Encoding::Symbols,
            Body::Letters(..) => Encoding::Letters,
            Body::Frame(_) => Encoding::Frame,
            Body::RunLength(..) => Encoding::RunLength,
            Body::Dictionary(..) => Encoding::Dictionary,
            Body::Slices(slices) => slices.loaded().next().map_or(Encoding::AllNull, Block::encoding),
        }
    }

    /// Bytes that the block holds in memory (a symbol table is shared and not counted).
    pub fn memory_bytes(&self) -> usize {
        let nested = match &self.body {
            Body::RunLength(ends, _) => ends.len() * 2 + size_of::<Block>(),
            Body::Dictionary(codes, _) => codes.units.len() * 16 + size_of::<Block>(),
            Body::Frame(packed) => packed.units.len() * 16,
            _ => 0,
        };
        let attached = self.attached.as_ref().map_or(0, |attached| attached.1);
        self.buffer.len() + size_of::<Block>() + nested + attached
    }

    /// Keeps what was made of the block beside it, of so many bytes, for as long as the block is kept.
    pub(crate) fn attach<T: Any + Send + Sync>(&mut self, made: Arc<T>, bytes: usize) {
        self.attached = Some(Attached(made, bytes));
    }

    /// What was attached, if it is a `T`.
    pub(crate) fn attached<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.attached.as_ref().and_then(|attached| Arc::clone(&attached.0).downcast().ok())
    }

    /// Whether a row is NULL.
    #[inline]
    pub fn is_null(&self, position: usize) -> bool {
        assert!(position < self.rows, "row {position} of a block of {}", self.rows);
        match self.validity {
            Some(at) => self.buffer.as_slice()[at + position / 8] >> (position % 8) & 1 == 0,
            None if self.null_count == 0 => false,
            None => match &self.body {
                Body::Slices(slices) => slices.at(position).is_none_or(|(slice, row)| slice.is_null(row)),
                _ => true,
            },
        }
    }

    /// One value, decoded alone: constant time, or logarithmic in the number of runs.
    pub fn value(&self, position: usize) -> Value {
        if self.is_null(position) {
            return Value::Null;
        }
        if !self.kind.is_variable() {
            return self.kind.value(self.bits_at(position));
        }
        let mut scratch = Vec::new();
        self.kind.variable(self.text_bytes_at(position, &mut scratch)).to_value()
    }

    /// Runs `each` on one value without copying a text that is stored whole.
    #[inline]
    pub fn with_value<R>(&self, position: usize, each: impl FnOnce(ValueRef<'_>) -> R) -> R {
        self.with_value_in(position, &mut Vec::new(), each)
    }

    /// As [`Block::with_value`], with memory for texts that have to be decompressed.
    #[inline]
    pub(crate) fn with_value_in<R>(
        &self,
        position: usize,
        scratch: &mut Vec<u8>,
        each: impl FnOnce(ValueRef<'_>) -> R,
    ) -> R {
        if self.is_null(position) {
            return each(ValueRef::Null);
        }
        if !self.kind.is_variable() {
            return each(self.kind.value(self.bits_at(position)).as_ref());
        }
        each(self.kind.variable(self.text_bytes_at(position, scratch)))
    }

    /// One integer (smallint, integer, bigint, date, timestamps); nothing when it is NULL or of another kind.
    #[inline]
    pub fn int_at(&self, position: usize) -> Option<i64> {
        if self.is_null(position) {
            return None;
        }
        match self.kind {
            Kind::Int16 => Some((self.bits_at(position) as i16).into()),
            Kind::Int32 => Some((self.bits_at(position) as i32).into()),
            Kind::Int64 => Some(self.bits_at(position) as i64),
            _ => None,
        }
    }

    /// The bits of a value of fixed width, zero-extended; any bits when the row is NULL.
    #[inline]
    pub(crate) fn bits_at(&self, position: usize) -> u128 {
        let bytes = self.buffer.as_slice();
        match &self.body {
            Body::AllNull => 0,
            Body::Constant(Constant::Bits(bits)) => *bits,
            Body::Bits(at) => (bytes[at + position / 8] >> (position % 8) & 1).into(),
            Body::Plain(at) => match self.kind.width() {
                2 => u16::read(&bytes[*at..], position).into(),
                4 => u32::read(&bytes[*at..], position).into(),
                8 => u64::read(&bytes[*at..], position).into(),
                _ => u128::read(&bytes[*at..], position),
            },
            Body::Frame(packed) => match self.kind {
                Kind::Int16 => packed.get::<u16>(bytes, position).into(),
                Kind::Int32 => packed.get::<u32>(bytes, position).into(),
                Kind::Decimal => i128::from(packed.get::<u64>(bytes, position) as i64) as u128,
                _ => packed.get::<u64>(bytes, position).into(),
            },
            Body::RunLength(ends, values) => values.bits_at(run_of(ends, position)),
            Body::Dictionary(codes, values) => values.bits_at(codes.get::<u16>(bytes, position).into()),
            Body::Constant(Constant::Text(..))
            | Body::Texts(_)
            | Body::Symbols(..)
            | Body::Letters(..)
            | Body::Slices(_) => {
                unreachable!("a body of texts in a block of {:?}", self.kind)
            }
        }
    }

    /// The bytes of a text; `scratch` receives them when they have to be decompressed. Any text when the row is NULL.
    pub(crate) fn text_bytes_at<'a>(&'a self, position: usize, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        let bytes = self.buffer.as_slice();
        match &self.body {
            Body::AllNull => &[],
            Body::Constant(Constant::Text(start, end)) => &bytes[*start..*end],
            Body::Texts(index) => {
                let (start, end) = index.range(bytes, position);
                &index.all(bytes)[start..end]
            }
            Body::Symbols(index, symbols) => {
                let (start, end) = index.range(bytes, position);
                scratch.clear();
                symbols.decompress(&index.all(bytes)[start..end], scratch);
                scratch
            }
            Body::Letters(index, alphabet) => {
                let (start, end) = index.range(bytes, position);
                scratch.clear();
                alphabet.unpack(index.all(bytes), start, end, scratch);
                scratch
            }
            Body::RunLength(ends, values) => values.text_bytes_at(run_of(ends, position), scratch),
            Body::Dictionary(codes, values) => values.text_bytes_at(codes.get::<u16>(bytes, position).into(), scratch),
            Body::Slices(slices) => match slices.at(position) {
                Some((slice, row)) => slice.text_bytes_at(row, scratch),
                None => &[],
            },
            _ => unreachable!("a body of numbers in a block of texts"),
        }
    }

    /// As [`Block::text_bytes_at`], of contents that nobody has tested ([`Block::check`]): nothing where the index
    /// leads out of the texts.
    pub(crate) fn text_within<'a>(&'a self, position: usize, scratch: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        let bytes = self.buffer.as_slice();
        let is_within = match &self.body {
            Body::Texts(index) | Body::Symbols(index, _) => index.range(bytes, position).1 <= index.extent().1,
            Body::Letters(index, alphabet) => alphabet.packed_bytes(index.range(bytes, position).1) <= index.extent().1,
            Body::RunLength(ends, values) => return values.text_within(run_of(ends, position), scratch),
            Body::Dictionary(codes, values) => {
                return values.text_within(codes.get::<u16>(bytes, position).into(), scratch);
            }
            _ => self.kind.is_variable(),
        };
        is_within.then(|| self.text_bytes_at(position, scratch))
    }

    /// The validity bitmap as Arrow has it; nothing when no row is NULL.
    pub(crate) fn nulls(&self) -> Option<NullBuffer> {
        match self.validity {
            Some(at) => {
                let bits = BooleanBuffer::new(self.buffer.slice(at), 0, self.rows);
                Some(NullBuffer::new(bits))
            }
            None if self.null_count == 0 => None,
            None => match &self.body {
                Body::Slices(slices) => Some(slices.nulls(self.rows)),
                _ => Some(NullBuffer::new_null(self.rows)),
            },
        }
    }

    /// Tests the contents that [`Block::parse`] takes on trust: texts are UTF-8 and lie where their index says.
    pub fn check(&self) -> Result<()> {
        let bytes = self.buffer.as_slice();
        match &self.body {
            Body::Texts(index) | Body::Symbols(index, _) | Body::Letters(index, _) => {
                let end = index.check(bytes, self.rows)?;
                let expected =
                    if let Body::Letters(_, alphabet) = &self.body { alphabet.packed_bytes(end) } else { end };
                if index.extent().1 != expected {
                    return Err(Error::corrupt("the bytes of texts contradict their index"));
                }
                let mut scratch = Vec::new();
                for position in 0..self.rows {
                    let bytes = self.text_bytes_at(position, &mut scratch);
                    if self.kind == Kind::Text && std::str::from_utf8(bytes).is_err() {
                        return Err(Error::corrupt(format!("text {position} is not UTF-8")));
                    }
                }
                Ok(())
            }
            Body::RunLength(_, values) | Body::Dictionary(_, values) => values.check(),
            Body::Slices(slices) => slices.check(),
            _ => Ok(()),
        }
    }
}

impl Block {
    /// A block of slices of `slice_rows` rows, some of which may be missing.
    pub(crate) fn of_slices(kind: Kind, rows: usize, slice_rows: usize, all: Vec<Option<Arc<Block>>>) -> Block {
        let slices = Slices { slice_rows, all };
        let nulls_of =
            |(rows, slice): (Range<usize>, Option<&Block>)| slice.map_or(rows.len(), |slice| slice.null_count);
        let null_count = slices.with_rows(rows).map(nulls_of).sum();
        let body = Body::Slices(slices);
        let buffer = Buffer::from_vec(Vec::<u8>::new());
        Block { kind, rows, null_count, buffer, validity: None, body, attached: None }
    }
}

impl Slices {
    /// The slice with a row, when it was loaded, and the row's number in it.
    pub(crate) fn at(&self, position: usize) -> Option<(&Block, usize)> {
        self.all[position / self.slice_rows].as_deref().map(|slice| (slice, position % self.slice_rows))
    }

    pub(crate) fn loaded(&self) -> impl Iterator<Item = &Block> {
        self.all.iter().flatten().map(|slice| &**slice)
    }

    /// Each slice with its rows.
    pub(crate) fn with_rows(&self, rows: usize) -> impl Iterator<Item = (Range<usize>, Option<&Block>)> {
        let place = move |(number, slice)| (rows_of_slice(rows, self.slice_rows, number), slice);
        self.all.iter().map(Option::as_deref).enumerate().map(place)
    }

    /// The validity of all rows of a block that has NULLs.
    pub(crate) fn nulls(&self, rows: usize) -> NullBuffer {
        let mut bits = BooleanBufferBuilder::new(rows);
        for (rows, slice) in self.with_rows(rows) {
            match slice.map(Block::nulls) {
                Some(Some(nulls)) => bits.append_buffer(nulls.inner()),
                found => bits.append_n(rows.len(), found.is_some()),
            }
        }
        NullBuffer::new(bits.finish())
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.loaded().try_for_each(Block::check)
    }
}

/// The run that holds a row.
#[inline]
fn run_of(ends: &[u16], position: usize) -> usize {
    ends.partition_point(|&end| usize::from(end) <= position)
}

fn count_bits(bitmap: &[u8], rows: usize) -> usize {
    let whole: usize = bitmap[..rows / 8].iter().map(|byte| byte.count_ones() as usize).sum();
    let rest = if rows.is_multiple_of(8) { 0 } else { bitmap[rows / 8] & ((1 << (rows % 8)) - 1) };
    whole + rest.count_ones() as usize
}

/// Bytes in memory that fits Arrow and FastLanes.
pub(crate) fn aligned_copy(bytes: &[u8]) -> Buffer {
    let mut copy = MutableBuffer::with_capacity(bytes.len());
    copy.extend_from_slice(bytes);
    copy.into()
}

fn parse_body(
    encoding: Encoding,
    kind: Kind,
    rows: usize,
    buffer: &Buffer,
    at: usize,
    symbols: Option<&Arc<SymbolTable>>,
    nested: bool,
) -> Result<Body> {
    let bytes = buffer.as_slice();
    let cut = || Error::corrupt(format!("a {encoding:?} block of {kind:?} is cut off"));
    let contradiction = || Error::corrupt(format!("a {encoding:?} block cannot hold {kind:?} here"));
    match (encoding, kind) {
        (Encoding::AllNull, _) => Ok(Body::AllNull),
        (Encoding::Constant, Kind::Text | Kind::Bytes) => parse_constant_text(bytes, at, kind).map(Body::Constant),
        (Encoding::Constant, _) => {
            let value = bytes.get(at..at + 16).ok_or_else(cut)?;
            Ok(Body::Constant(Constant::Bits(u128::from_le_bytes(array(value)))))
        }
        (Encoding::Plain, Kind::Bool) if at + rows.div_ceil(8) <= bytes.len() => Ok(Body::Bits(at)),
        (Encoding::Plain, Kind::Bool) => Err(cut()),
        (Encoding::Plain, Kind::Text | Kind::Bytes) => {
            let index = TextIndex::parse(bytes, at, rows)?;
            if kind == Kind::Text && std::str::from_utf8(index.all(bytes)).is_err() {
                return Err(Error::corrupt("a block's texts are not UTF-8"));
            }
            Ok(Body::Texts(index))
        }
        (Encoding::Plain, _) if at + rows * kind.width() <= bytes.len() => Ok(Body::Plain(at)),
        (Encoding::Plain, _) => Err(cut()),
        (Encoding::Frame, Kind::Int16) => Ok(Body::Frame(Packed::parse::<u16>(bytes, at, rows)?.0)),
        (Encoding::Frame, Kind::Int32) => Ok(Body::Frame(Packed::parse::<u32>(bytes, at, rows)?.0)),
        (Encoding::Frame, Kind::Int64 | Kind::Decimal) => Ok(Body::Frame(Packed::parse::<u64>(bytes, at, rows)?.0)),
        (Encoding::Symbols, Kind::Text | Kind::Bytes) => {
            let table = symbols.ok_or_else(|| Error::corrupt("a block needs a symbol table, its column has none"))?;
            Ok(Body::Symbols(TextIndex::parse(bytes, at, rows)?, Arc::clone(table)))
        }
        (Encoding::Letters, Kind::Text | Kind::Bytes) => {
            let alphabet = Alphabet::parse(bytes, at)?;
            let index = TextIndex::parse(bytes, at + alphabet.stored_bytes(), rows)?;
            Ok(Body::Letters(index, alphabet))
        }
        (Encoding::RunLength, _) if !nested => {
            let (ends, at) = parse_run_ends(bytes, at, rows)?;
            let values = parse_nested(buffer, at, kind, symbols)?;
            if values.rows == ends.len() { Ok(Body::RunLength(ends, values)) } else { Err(contradiction()) }
        }
        (Encoding::Dictionary, _) if !nested => {
            let width = *bytes.get(at).ok_or_else(cut)?;
            let (codes, at) = Packed::parse_even::<u16>(bytes, at + ALIGN_BYTES, rows, width)?;
            let values = parse_nested(buffer, at, kind, symbols)?;
            if codes_max(&codes, bytes, rows) < values.rows {
                Ok(Body::Dictionary(codes, values))
            } else {
                Err(Error::corrupt("a dictionary code has no entry"))
            }
        }
        _ => Err(contradiction()),
    }
}

fn parse_constant_text(bytes: &[u8], at: usize, kind: Kind) -> Result<Constant> {
    let header = bytes.get(at..at + ALIGN_BYTES).ok_or_else(|| Error::corrupt("a constant is cut off"))?;
    let (start, len) = (at + ALIGN_BYTES, u32::from_le_bytes(array(header)) as usize);
    match bytes.get(start..start + len) {
        Some(text) if kind == Kind::Bytes || std::str::from_utf8(text).is_ok() => {
            Ok(Constant::Text(start, start + len))
        }
        _ => Err(Error::corrupt("a constant is not a text within its block")),
    }
}

fn parse_run_ends(bytes: &[u8], at: usize, rows: usize) -> Result<(Vec<u16>, usize)> {
    let header = bytes.get(at..at + ALIGN_BYTES).ok_or_else(|| Error::corrupt("run ends are cut off"))?;
    let count = u32::from_le_bytes(array(header)) as usize;
    let start = at + ALIGN_BYTES;
    let ends = match bytes.get(start..start + count.min(BLOCK_ROWS) * 2) {
        Some(ends) if (1..=rows).contains(&count) => u16::read_all(ends, count),
        _ => return Err(Error::corrupt(format!("{count} run ends do not fit a block of {rows} rows"))),
    };
    let rising = ends[0] > 0 && ends.windows(2).all(|pair| pair[0] < pair[1]);
    if !rising || usize::from(ends[count - 1]) != rows {
        return Err(Error::corrupt(format!("run ends do not rise to {rows}")));
    }
    Ok((ends, start + (count * 2).next_multiple_of(ALIGN_BYTES)))
}

fn parse_nested(buffer: &Buffer, at: usize, kind: Kind, symbols: Option<&Arc<SymbolTable>>) -> Result<Box<Block>> {
    if at >= buffer.len() {
        return Err(Error::corrupt("a nested block is cut off"));
    }
    let block = Block::parse_at(buffer.slice(at), symbols, true)?;
    if block.kind != kind {
        return Err(Error::corrupt(format!("a block of {kind:?} holds a nested block of {:?}", block.kind)));
    }
    Ok(Box::new(block))
}

fn codes_max(codes: &Packed, bytes: &[u8], rows: usize) -> usize {
    unpacked::<u16>(codes, bytes, rows).into_iter().max().map_or(0, usize::from)
}

/// All values of packed units.
pub(crate) fn unpacked<T: Lane>(packed: &Packed, bytes: &[u8], rows: usize) -> Vec<T> {
    packed.unpack_all(bytes, rows)
}
