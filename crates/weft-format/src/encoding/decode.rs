//! Blocks as Arrow arrays: whole, or the rows of a sparse selection.
//!
//! Plain values are handed out without a copy; bit-packed ones are unpacked straight into the target's width. Texts
//! become views: those up to 12 bytes lie in the view itself, longer ones in one buffer that all views share (the
//! block's own bytes, the dictionary, or what the symbols spell).

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType, TimestampSecondType, UInt32Type,
};
use arrow_array::{
    ArrayRef, BinaryViewArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, PrimitiveArray, StringViewArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, ScalarBuffer};

use crate::arrow_values::logical;
use crate::encoding::block::{Block, Body, Constant, Slices, unpacked};
use crate::encoding::kind::{Kind, Lane, UUID_FLIP};
use crate::encoding::packed::UNIT_ROWS;
use crate::interval::Interval;
use crate::mask::Mask;
use crate::types::DataType;

/// Longest text that lies within its view.
pub(crate) const INLINE_BYTES_MAX: usize = 12;

impl Block {
    /// Every row, in the Arrow type of `data_type`, which is one of those that the block's kind stores.
    pub fn decode(&self, data_type: DataType) -> ArrayRef {
        assert_eq!(self.kind, Kind::of(data_type), "a block is decoded as its column's type");
        let nulls = self.nulls();
        match self.kind {
            Kind::Bool => Arc::new(BooleanArray::new(self.booleans(), nulls)),
            Kind::Int16 => finish(self.buffer_of::<u16>(), self.rows, nulls, data_type),
            Kind::Int32 | Kind::Float32 => finish(self.buffer_of::<u32>(), self.rows, nulls, data_type),
            Kind::Int64 | Kind::Float64 => finish(self.buffer_of::<u64>(), self.rows, nulls, data_type),
            Kind::Decimal | Kind::Uuid | Kind::Interval => finish(self.decimals(), self.rows, nulls, data_type),
            Kind::Text | Kind::Bytes => {
                let (views, buffers) = self.views();
                variable_array(views, buffers, nulls, data_type)
            }
        }
    }

    /// The rows that a mask selects, when they can be had without decoding all of them first: bit-packed integers
    /// without NULL.
    pub fn decode_kept(&self, data_type: DataType, mask: &Mask) -> Option<ArrayRef> {
        assert_eq!((self.kind, self.rows), (Kind::of(data_type), mask.len()), "a mask of this block's rows");
        let Body::Frame(packed) = &self.body else { return None };
        if self.null_count > 0 {
            return None;
        }
        let bytes = self.buffer.as_slice();
        let kept = match self.kind {
            Kind::Int16 => Buffer::from_vec(packed.unpack_kept::<u16>(bytes, mask)),
            Kind::Int32 => Buffer::from_vec(packed.unpack_kept::<u32>(bytes, mask)),
            Kind::Int64 => Buffer::from_vec(packed.unpack_kept::<u64>(bytes, mask)),
            _ => return None,
        };
        Some(finish(kept, mask.count(), None, data_type))
    }

    /// The selected rows (positions in any order, repeats allowed), in the Arrow type of `data_type`.
    pub fn decode_selected(&self, data_type: DataType, selection: &[u32]) -> ArrayRef {
        assert_eq!(self.kind, Kind::of(data_type), "a block is decoded as its column's type");
        let nulls = self.nulls().map(|nulls| {
            let bits = selection.iter().map(|&row| nulls.is_valid(row as usize));
            NullBuffer::new(bits.collect::<BooleanBuffer>())
        });
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let rows = selection.len();
        match self.kind {
            Kind::Bool => {
                let bits = selection.iter().map(|&row| self.bits_at(row as usize) != 0);
                Arc::new(BooleanArray::new(bits.collect(), nulls))
            }
            Kind::Int16 => finish(Buffer::from_vec(self.gather::<u16>(selection)), rows, nulls, data_type),
            Kind::Int32 | Kind::Float32 => {
                finish(Buffer::from_vec(self.gather::<u32>(selection)), rows, nulls, data_type)
            }
            Kind::Int64 | Kind::Float64 => {
                finish(Buffer::from_vec(self.gather::<u64>(selection)), rows, nulls, data_type)
            }
            Kind::Decimal | Kind::Uuid | Kind::Interval => {
                let values: Vec<i128> = selection.iter().map(|&row| self.bits_at(row as usize) as i128).collect();
                finish(Buffer::from_vec(values), rows, nulls, data_type)
            }
            Kind::Text | Kind::Bytes => {
                let (views, buffers) = self.selected_views(selection);
                variable_array(views, buffers, nulls, data_type)
            }
        }
    }

    fn booleans(&self) -> BooleanBuffer {
        match &self.body {
            Body::Bits(at) => BooleanBuffer::new(self.buffer.slice(*at), 0, self.rows),
            Body::Constant(Constant::Bits(bits)) if *bits != 0 => BooleanBuffer::new_set(self.rows),
            Body::Constant(_) | Body::AllNull => BooleanBuffer::new_unset(self.rows),
            _ => (0..self.rows).map(|row| self.bits_at(row) != 0).collect(),
        }
    }

    /// Words of all rows, without a copy when they are stored plain.
    fn buffer_of<T: Lane + arrow_buffer::ArrowNativeType>(&self) -> Buffer {
        match &self.body {
            Body::Plain(at) => self.buffer.slice_with_length(*at, self.rows * size_of::<T>()),
            _ => Buffer::from_vec(self.words::<T>()),
        }
    }

    /// Words of all rows of a kind of up to 8 bytes.
    pub(crate) fn words<T: Lane>(&self) -> Vec<T> {
        let bytes = self.buffer.as_slice();
        match &self.body {
            Body::AllNull => vec![T::default(); self.rows],
            Body::Constant(Constant::Bits(bits)) => vec![T::from_bits(*bits); self.rows],
            Body::Plain(at) => T::read_all(&bytes[*at..], self.rows),
            Body::Frame(packed) => unpacked(packed, bytes, self.rows),
            Body::RunLength(ends, values) => spread(ends, &values.words::<T>(), self.rows),
            Body::Dictionary(codes, values) => {
                let entries = values.words::<T>();
                unpacked::<u16>(codes, bytes, self.rows).into_iter().map(|code| entries[usize::from(code)]).collect()
            }
            _ => unreachable!("a body of bits or texts in a block of {:?}", self.kind),
        }
    }

    /// The words of a block of smallints without NULL, in runs: a word, and how many rows have it in a row.
    pub(crate) fn word_runs<E>(&self, mut each: impl FnMut(u16, usize) -> Result<(), E>) -> Result<(), E> {
        assert!(self.kind == Kind::Int16 && self.null_count == 0, "runs are asked of smallints");
        match &self.body {
            Body::Constant(Constant::Bits(bits)) => each(*bits as u16, self.rows),
            Body::RunLength(ends, values) => {
                let mut start = 0;
                for (run, &end) in ends.iter().enumerate() {
                    let end = usize::from(end).min(self.rows);
                    each(values.bits_at(run) as u16, end - start)?;
                    start = end;
                }
                Ok(())
            }
            _ => {
                let mut words = Vec::new();
                for unit in 0..self.rows.div_ceil(UNIT_ROWS) {
                    self.unit_words(unit, &mut words);
                    // A unit that is not whole is unpacked whole.
                    words.truncate(self.rows - unit * UNIT_ROWS);
                    words.chunk_by(|a, b| a == b).try_for_each(|run| each(run[0], run.len()))?;
                }
                Ok(())
            }
        }
    }

    /// The words of one unit of 1024 rows of a block of smallints without NULL, in place of what was in `out`.
    pub(crate) fn unit_words(&self, unit: usize, out: &mut Vec<u16>) {
        assert!(self.kind == Kind::Int16 && self.null_count == 0, "units are asked of smallints");
        let bytes = self.buffer.as_slice();
        let rows = unit * UNIT_ROWS..self.rows.min((unit + 1) * UNIT_ROWS);
        out.clear();
        match &self.body {
            Body::Constant(Constant::Bits(bits)) => out.resize(rows.len(), *bits as u16),
            Body::Plain(at) => {
                let (words, _) = bytes[*at + rows.start * size_of::<u16>()..].as_chunks();
                out.extend(words[..rows.len()].iter().map(|word| u16::from_le_bytes(*word)));
            }
            Body::Frame(packed) => {
                out.resize(UNIT_ROWS, 0);
                packed.unpack(bytes, unit, out);
            }
            Body::RunLength(ends, values) => {
                let mut run = ends.partition_point(|&end| usize::from(end) <= rows.start);
                while out.len() < rows.len() {
                    let end = usize::from(ends[run]).min(rows.end);
                    out.resize(end - rows.start, values.bits_at(run) as u16);
                    run += 1;
                }
            }
            Body::Dictionary(codes, values) => {
                let entries = values.words::<u16>();
                out.resize(UNIT_ROWS, 0);
                codes.unpack(bytes, unit, out);
                out.truncate(rows.len());
                out.iter_mut().for_each(|code| *code = entries[usize::from(*code)]);
            }
            _ => unreachable!("a body of bits or texts in a block of {:?}", self.kind),
        }
        out.truncate(rows.len());
    }

    fn decimals(&self) -> Buffer {
        let bytes = self.buffer.as_slice();
        let values: Vec<i128> = match &self.body {
            Body::Plain(at) => return self.buffer.slice_with_length(*at, self.rows * 16),
            Body::Frame(packed) => {
                unpacked::<u64>(packed, bytes, self.rows).into_iter().map(|word| i128::from(word as i64)).collect()
            }
            _ => (0..self.rows).map(|row| self.bits_at(row) as i128).collect(),
        };
        Buffer::from_vec(values)
    }

    fn gather<T: Lane>(&self, selection: &[u32]) -> Vec<T> {
        let dense = selection.len() * 6 > self.rows;
        if dense && !matches!(self.body, Body::Plain(_)) {
            let words = self.words::<T>();
            return selection.iter().map(|&row| words[row as usize]).collect();
        }
        selection.iter().map(|&row| T::from_bits(self.bits_at(row as usize))).collect()
    }

    /// Views of all texts and the buffers they point into. NULL rows have any view.
    pub(crate) fn views(&self) -> (Vec<u128>, Vec<Buffer>) {
        let bytes = self.buffer.as_slice();
        match &self.body {
            Body::AllNull => (vec![0; self.rows], Vec::new()),
            Body::Constant(Constant::Text(start, end)) => {
                let view = view_of(&bytes[*start..*end], 0);
                let buffer = self.buffer.slice_with_length(*start, end - start);
                (vec![view; self.rows], shared(buffer, end - start > INLINE_BYTES_MAX))
            }
            Body::Texts(index) => {
                let (start, len) = index.extent();
                let all = Texts::new(self.kind, index.all(bytes));
                let mut views = Vec::with_capacity(self.rows);
                let mut long = false;
                index.for_each(bytes, self.rows, |start, end| {
                    views.push(all.view(start, end));
                    long |= end - start > INLINE_BYTES_MAX;
                });
                (views, shared(self.buffer.slice_with_length(start, len), long))
            }
            Body::Symbols(index, symbols) => {
                let codes = index.all(bytes);
                let mut text = Vec::with_capacity(codes.len() * 3);
                let mut ends = Vec::with_capacity(self.rows);
                index.for_each(bytes, self.rows, |start, end| {
                    symbols.decompress(&codes[start..end], &mut text);
                    ends.push(text.len());
                });
                views_of_ends(self.kind, text, &ends)
            }
            Body::Letters(index, alphabet) => {
                let mut ends = Vec::with_capacity(self.rows);
                index.for_each(bytes, self.rows, |_, end| ends.push(end));
                let total = ends.last().copied().unwrap_or(0);
                let mut text = Vec::with_capacity(total);
                alphabet.unpack(index.all(bytes), 0, total, &mut text);
                views_of_ends(self.kind, text, &ends)
            }
            Body::RunLength(ends, values) => {
                let (entries, buffers) = values.views();
                (spread(ends, &entries, self.rows), buffers)
            }
            Body::Dictionary(codes, values) => {
                let (entries, buffers) = values.views();
                let codes = unpacked::<u16>(codes, bytes, self.rows);
                (codes.into_iter().map(|code| entries[usize::from(code)]).collect(), buffers)
            }
            Body::Slices(slices) => slices.views(self.rows),
            _ => unreachable!("a body of numbers in a block of texts"),
        }
    }

    fn selected_views(&self, selection: &[u32]) -> (Vec<u128>, Vec<Buffer>) {
        let whole = match &self.body {
            Body::Texts(_) | Body::Symbols(..) | Body::Letters(..) | Body::Slices(_) => selection.len() * 3 > self.rows,
            _ => true,
        };
        if whole {
            let (views, buffers) = self.views();
            return (selection.iter().map(|&row| views[row as usize]).collect(), buffers);
        }
        let (mut text, mut ends, mut scratch) = (Vec::new(), Vec::with_capacity(selection.len()), Vec::new());
        for &row in selection {
            text.extend_from_slice(self.text_bytes_at(row as usize, &mut scratch));
            ends.push(text.len());
        }
        views_of_ends(self.kind, text, &ends)
    }
}

impl Slices {
    /// Views of all texts, which point into a buffer per slice.
    pub(crate) fn views(&self, rows: usize) -> (Vec<u128>, Vec<Buffer>) {
        let (mut views, mut buffers) = (Vec::with_capacity(rows), Vec::new());
        for (rows, slice) in self.with_rows(rows) {
            let Some(slice) = slice else {
                views.resize(rows.end, 0);
                continue;
            };
            let (part, part_buffers) = slice.views();
            if part_buffers.is_empty() || buffers.is_empty() {
                views.extend_from_slice(&part);
            } else {
                // The number of the buffer lies behind length and prefix; texts within their view have none.
                let moved = (buffers.len() as u128) << 64;
                views.extend(part.iter().map(|&view| if is_inline(view) { view } else { view + moved }));
            }
            buffers.extend(part_buffers);
        }
        (views, buffers)
    }
}

/// Whether a text lies within its view.
fn is_inline(view: u128) -> bool {
    view as u32 as usize <= INLINE_BYTES_MAX
}

/// Views of texts that lie one after the other in `text`; tests that all are UTF-8.
fn views_of_ends(kind: Kind, text: Vec<u8>, ends: &[usize]) -> (Vec<u128>, Vec<Buffer>) {
    let all = Texts::new(kind, &text);
    let mut views = Vec::with_capacity(ends.len());
    let (mut start, mut long) = (0, false);
    for &end in ends {
        views.push(all.view(start, end));
        long |= end - start > INLINE_BYTES_MAX;
        start = end;
    }
    (views, if long { vec![Buffer::from_vec(text)] } else { Vec::new() })
}

/// Bytes of many texts, tested to be UTF-8 when they are texts.
enum Texts<'a> {
    Utf8(&'a str),
    Bytes(&'a [u8]),
}

impl<'a> Texts<'a> {
    fn new(kind: Kind, bytes: &'a [u8]) -> Texts<'a> {
        match kind {
            Kind::Text => Texts::Utf8(std::str::from_utf8(bytes).expect("writers store only UTF-8; checksums hold")),
            _ => Texts::Bytes(bytes),
        }
    }

    #[inline]
    fn view(&self, start: usize, end: usize) -> u128 {
        match self {
            Texts::Utf8(text) => {
                assert!(text.is_char_boundary(start) && text.is_char_boundary(end), "texts end between characters");
                view_of_range(text.as_bytes(), start, end)
            }
            Texts::Bytes(bytes) => view_of_range(bytes, start, end),
        }
    }
}

fn shared(buffer: Buffer, long: bool) -> Vec<Buffer> {
    if long { vec![buffer] } else { Vec::new() }
}

/// The view of `bytes[start..end]`, pointing into buffer 0 when it is long.
#[inline]
fn view_of_range(bytes: &[u8], start: usize, end: usize) -> u128 {
    let len = end - start;
    if len <= INLINE_BYTES_MAX && start + 16 <= bytes.len() {
        let word = u128::from_le_bytes(crate::bytes::array(&bytes[start..]));
        let text = word & ((1 << (len * 8)) - 1);
        return text << 32 | len as u128;
    }
    view_of(&bytes[start..end], start)
}

fn view_of(text: &[u8], offset: usize) -> u128 {
    arrow_array::builder::make_view(text, 0, offset as u32)
}

fn variable_array(views: Vec<u128>, buffers: Vec<Buffer>, nulls: Option<NullBuffer>, data_type: DataType) -> ArrayRef {
    let views = ScalarBuffer::from(views);
    if Kind::of(data_type) == Kind::Bytes {
        // SAFETY: every view was made from a range of the buffer that it names, or holds its bytes itself.
        let bytes = unsafe { BinaryViewArray::new_unchecked(views, buffers, nulls) };
        return logical(Arc::new(bytes), data_type);
    }
    // SAFETY: every view was made from a range of the buffer that it names, which was tested to be UTF-8 between
    // character boundaries, or holds such a text itself.
    let texts = unsafe { StringViewArray::new_unchecked(views, buffers, nulls) };
    logical(Arc::new(texts), data_type)
}

/// Repeats each run's value up to its end.
fn spread<T: Copy>(ends: &[u16], values: &[T], rows: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(rows);
    for (&end, &value) in ends.iter().zip(values) {
        out.resize(end.into(), value);
    }
    out
}

fn finish(buffer: Buffer, rows: usize, nulls: Option<NullBuffer>, data_type: DataType) -> ArrayRef {
    match data_type {
        DataType::SmallInt => primitive::<Int16Type>(buffer, rows, nulls),
        DataType::Integer => primitive::<Int32Type>(buffer, rows, nulls),
        DataType::Date => primitive::<Date32Type>(buffer, rows, nulls),
        DataType::BigInt => primitive::<Int64Type>(buffer, rows, nulls),
        DataType::Real => primitive::<Float32Type>(buffer, rows, nulls),
        DataType::DoublePrecision => primitive::<Float64Type>(buffer, rows, nulls),
        DataType::Timestamp => primitive::<TimestampMicrosecondType>(buffer, rows, nulls),
        DataType::TimestampTz => {
            let values = ScalarBuffer::new(buffer, 0, rows);
            Arc::new(PrimitiveArray::<TimestampMicrosecondType>::new(values, nulls).with_timezone("UTC"))
        }
        DataType::Enum(id) => {
            let values = ScalarBuffer::new(buffer, 0, rows);
            Arc::new(PrimitiveArray::<TimestampSecondType>::new(values, nulls).with_timezone(id.zone()))
        }
        DataType::Numeric { precision, scale } => {
            let values = Decimal128Array::new(ScalarBuffer::new(buffer, 0, rows), nulls);
            let typed = values.with_precision_and_scale(precision, scale as i8);
            Arc::new(typed.expect("a schema's precision and scale are valid"))
        }
        DataType::Time => primitive::<Time64MicrosecondType>(buffer, rows, nulls),
        DataType::Oid => {
            let words = ScalarBuffer::<i64>::new(buffer, 0, rows);
            let values: Vec<u32> = words.iter().map(|&word| word as u32).collect();
            Arc::new(PrimitiveArray::<UInt32Type>::new(values.into(), nulls))
        }
        DataType::Uuid => {
            let words = ScalarBuffer::<i128>::new(buffer, 0, rows);
            let bytes: Vec<u8> = words.iter().flat_map(|&word| (word as u128 ^ UUID_FLIP).to_be_bytes()).collect();
            Arc::new(FixedSizeBinaryArray::new(16, Buffer::from_vec(bytes), nulls))
        }
        DataType::Interval => {
            let words = ScalarBuffer::<i128>::new(buffer, 0, rows);
            let values: Vec<_> = words.iter().map(|&word| Interval::from_bits(word as u128).to_arrow()).collect();
            Arc::new(PrimitiveArray::<IntervalMonthDayNanoType>::new(values.into(), nulls))
        }
        _ => unreachable!("{data_type} has no fixed words"),
    }
}

fn primitive<T: ArrowPrimitiveType>(buffer: Buffer, rows: usize, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::new(buffer, 0, rows), nulls))
}

/// Bits as an Arrow buffer.
pub(crate) fn bits_buffer(words: &[u64]) -> Buffer {
    let mut buffer = MutableBuffer::with_capacity(words.len() * 8);
    words.iter().for_each(|word| buffer.push(*word));
    buffer.into()
}

impl From<&crate::mask::Mask> for BooleanBuffer {
    fn from(mask: &crate::mask::Mask) -> BooleanBuffer {
        BooleanBuffer::new(bits_buffer(mask.words()), 0, mask.len())
    }
}
