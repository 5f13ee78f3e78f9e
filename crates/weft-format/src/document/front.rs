//! The front of a stretch of documents: their schema, and of each path where its pieces are and what is known of them.
//!
//! ```text
//!   rows 8192 · bytes of text · schema · stream 0: 8192 levels, all Number; 8192 numbers from piece 1, 1 to 8192
//!                                        stream 1: 655,360 levels from piece 2, ...
//! ```
//!
//! It is the first piece, a block of one row of bytes. Everything that decides whether other pieces are wanted is here:
//! the branches of a path, how often each occurs, bounds; and for every 1024 rows, or 128 where arrays are, where they
//! begin in a stream, so that a row is found without reading those before it. Read once, it is kept beside its block
//! in the cache.
//!
//! 1. A piece is a block of at most 8192 levels or values; those of one stream or column have consecutive numbers.
//! 2. A stream of one level only has no pieces, and that level once for every row. Equal streams share theirs.
//! 3. Nothing that a front says is believed beyond the pieces that are there: a stream has no more levels than its
//!    pieces can hold, a column no more values than its stream has levels.
//!
//! Source: page 0 of Alkowaileet and Carey (VLDB 2022), section 4.2, without its fixed size and with exact bounds.

use std::ops::Range;
use std::sync::Arc;

use crate::document::decimal::{Decimal, Form};
use crate::document::faults::{Fault, active};
use crate::document::levels::{TAG_COUNT, Tag};
#[cfg(test)]
use crate::document::plan::{ARRAY_SKIP_ROWS, SKIP_ROWS};
use crate::document::plan::{Plan, StreamPlan};
use crate::document::schema::DocumentSchema;
use crate::encoding::{BLOCK_ROWS, Block, Kind};
use crate::error::{Error, Result};
use crate::stats::ColumnStats;
use crate::value::{Value, ValueRef};
use crate::wire::{ByteReader, put_value, put_varint};

/// The number of this form of documents, the first byte of a front.
pub(crate) const FRONT_VERSION: u8 = 2;

/// What a change of the form would change.
#[cfg(test)]
pub(crate) const ON_DISK: [usize; 7] = [
    FRONT_VERSION as usize,
    SKIP_ROWS,
    ARRAY_SKIP_ROWS,
    TAG_COUNT,
    Tag::Raw as usize,
    crate::document::levels::DEPTH_MAX,
    crate::document::levels::STOP as usize,
];

/// What is read before any other piece.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) rows: usize,
    pub(crate) schema: DocumentSchema,
    pub(crate) streams: Vec<StreamFront>,
}

/// One stream of levels, and the columns of its path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StreamFront {
    pub(crate) level_count: usize,
    /// The only level that there is.
    pub(crate) constant: Option<u16>,
    pub(crate) first_piece: u32,
    /// How many levels there are before every 128th row; empty when each row has one.
    pub(crate) level_skips: Vec<u32>,
    /// How many values there are of each kind.
    pub(crate) counts: [u32; TAG_COUNT],
    /// Numbers, numerals, strings, raw texts.
    pub(crate) columns: [Option<Box<ColumnFront>>; 4],
}

/// Values of one kind at a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ColumnFront {
    pub(crate) count: usize,
    pub(crate) first_piece: u32,
    /// Of numbers.
    pub(crate) form: Form,
    /// How many values there are before every 1024th row, or 128th; empty when each level has one.
    pub(crate) skips: Vec<u32>,
    pub(crate) bounds: Bounds,
}

/// The smallest and the greatest value.
#[derive(Clone, Debug, PartialEq)]
pub enum Bounds {
    /// Of raw texts and numerals: not known.
    Unknown,
    /// Of numbers: both occur. Written with a mantissa and a scale: `mantissa / 10^scale`.
    Numbers((i64, u8), (i64, u8)),
    /// Of strings: long ones are cut, and a bound that is not exact does not occur.
    Strings(Box<ColumnStats>),
}

impl Bounds {
    /// The bounds of numbers.
    pub(crate) fn of_numbers(numbers: impl Iterator<Item = Decimal> + Clone, form: Form, mantissas: &[i64]) -> Bounds {
        let Some(first) = numbers.clone().next() else { return Bounds::Unknown };
        let mantissas = if active(Fault::StaleBounds) { &mantissas[..mantissas.len().div_ceil(2)] } else { mantissas };
        if form != Form::Each
            && let (Some(&min), Some(&max)) = (mantissas.iter().min(), mantissas.iter().max())
        {
            // Of one scale: mantissas have the order of the numbers.
            let [min, max] = [min, max].map(|mantissa| form.number(mantissa, 0));
            return Bounds::Numbers((min.mantissa, min.scale), (max.mantissa, max.scale));
        }
        let (mut min, mut max) = (first, first);
        for number in numbers {
            min = if number.compare(min).is_lt() { number } else { min };
            max = if number.compare(max).is_gt() { number } else { max };
        }
        Bounds::Numbers((min.mantissa, min.scale), (max.mantissa, max.scale))
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Bounds::Unknown => out.push(0),
            Bounds::Numbers(min, max) => {
                out.push(1);
                for (mantissa, scale) in [min, max] {
                    put_value(out, ValueRef::Int(*mantissa));
                    out.push(*scale);
                }
            }
            Bounds::Strings(stats) => {
                out.push(2 | u8::from(stats.min_exact) << 2 | u8::from(stats.max_exact) << 3);
                put_value(out, stats.min.as_ref());
                put_value(out, stats.max.as_ref());
            }
        }
    }

    fn read(input: &mut ByteReader<'_>, count: usize) -> Result<Bounds> {
        let [head] = input.array()?;
        match head {
            0 => Ok(Bounds::Unknown),
            1 => {
                let mut bound = || match (input.value()?, input.array()?) {
                    (Value::Int(mantissa), [scale @ 0..=18]) => Ok((mantissa, scale)),
                    _ => Err(damaged("a bound is no number")),
                };
                Ok(Bounds::Numbers(bound()?, bound()?))
            }
            head if head & 3 == 2 && head < 16 => {
                let (min, max) = (input.value()?, input.value()?);
                if !matches!((&min, &max), (Value::Text(_), Value::Text(_) | Value::Null)) {
                    return Err(damaged("a bound is no text"));
                }
                let (min_exact, max_exact) = (head & 4 != 0, head & 8 != 0);
                let row_count = count as u64;
                Ok(Bounds::Strings(Box::new(ColumnStats { min, max, min_exact, max_exact, null_count: 0, row_count })))
            }
            _ => Err(damaged("a bound is of no kind")),
        }
    }
}

pub(crate) fn damaged(what: &str) -> Error {
    Error::corrupt(format!("the front of its documents is damaged: {what}"))
}

/// How many pieces so many levels or values have.
pub(crate) fn piece_count(count: usize) -> usize {
    count.div_ceil(BLOCK_ROWS)
}

impl ColumnFront {
    /// How many pieces it has: the scales of numbers that have each their own lie behind the mantissas.
    fn pieces(&self) -> usize {
        piece_count(self.count) * if self.form == Form::Each { 2 } else { 1 }
    }
}

impl StreamFront {
    /// The piece behind its last one.
    fn end_piece(&self) -> usize {
        let levels = if self.constant.is_none() { piece_count(self.level_count) } else { 0 };
        let end = |column: &ColumnFront| column.first_piece as usize + column.pieces();
        let columns = self.columns.iter().flatten().map(|column| end(column)).max().unwrap_or(0);
        columns.max(self.first_piece as usize + levels)
    }

    /// Its pieces, those of levels only if they are wanted.
    pub(crate) fn pieces(&self, with_levels: bool) -> impl Iterator<Item = usize> {
        let levels = if with_levels { self.level_pieces() } else { 0..0 };
        levels.chain((0..self.columns.len()).flat_map(|column| self.value_pieces(column)))
    }

    /// The pieces of its levels.
    pub(crate) fn level_pieces(&self) -> Range<usize> {
        let count = if self.constant.is_none() { piece_count(self.level_count) } else { 0 };
        let first = self.first_piece as usize;
        first..first + count
    }

    /// The pieces of one of its columns.
    pub(crate) fn value_pieces(&self, column: usize) -> Range<usize> {
        self.columns[column].as_ref().map_or(0..0, |column| {
            let first = column.first_piece as usize;
            first..first + column.pieces()
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_varint(out, self.level_count as u64);
        put_varint(out, self.constant.map_or(0, |code| u64::from(code) + 1));
        put_varint(out, self.first_piece.into());
        put_skips(out, &self.level_skips);
        self.counts.iter().for_each(|&count| put_varint(out, count.into()));
        for column in self.columns.iter().flatten() {
            put_varint(out, column.count as u64);
            put_varint(out, column.first_piece.into());
            out.extend_from_slice(&column.form.code());
            put_skips(out, &column.skips);
            column.bounds.write(out);
        }
    }

    fn read(input: &mut ByteReader<'_>, plan: &StreamPlan, rows: usize, pieces: usize) -> Result<StreamFront> {
        let level_count = number(input)?;
        let constant = match number(input)? {
            0 => None,
            code => Some(u16::try_from(code - 1).map_err(|_| damaged("a level is of no kind"))?),
        };
        let first_piece = number(input)? as u32;
        let has_arrays = plan.first_array.is_some();
        // An array with elements has two levels at least, which differ.
        let has_one_each = !has_arrays || constant.is_some();
        if level_count < rows || has_one_each && level_count != rows {
            return Err(damaged("a stream has too few levels, or too many"));
        }
        if constant.is_some_and(|code| !plan.may_be_all(code)) {
            return Err(damaged("a path has a value of another kind"));
        }
        let level_skips = read_skips(input, rows.div_ceil(plan.skip_rows()), level_count)?;
        if level_skips.is_empty() == has_arrays {
            return Err(damaged("a stream does not say where its rows begin"));
        }
        let mut counts = [0; TAG_COUNT];
        let mut left = level_count;
        for (count, tag) in counts.iter_mut().zip(Tag::ALL) {
            let found = number(input)?;
            left = left.checked_sub(found).ok_or_else(|| damaged("a path has more values than levels"))?;
            if found > 0 && (!plan.has(tag) || constant.is_some_and(|code| code != tag as u16 || found != level_count))
            {
                return Err(damaged("a path has a value of another kind"));
            }
            *count = found as u32;
        }
        let mut columns = [None, None, None, None];
        for (column, tag) in columns.iter_mut().zip(Tag::WITH_VALUES) {
            let count = counts[tag as usize] as usize;
            if count == 0 {
                continue;
            }
            if number(input)? != count {
                return Err(damaged("a column has another number of values than its stream has levels"));
            }
            let first_piece = number(input)? as u32;
            let form = Form::from_code(input.array()?).ok_or_else(|| damaged("numbers are of no form"))?;
            let skips = read_skips(input, rows.div_ceil(plan.skip_rows()), count)?;
            if skips.is_empty() != (count == level_count) {
                return Err(damaged("a column does not say where its rows begin"));
            }
            let bounds = Bounds::read(input, count)?;
            *column = Some(Box::new(ColumnFront { count, first_piece, form, skips, bounds }));
        }
        let read = StreamFront { level_count, constant, first_piece, level_skips, counts, columns };
        // The counts are bounded by what so many pieces hold.
        if read.end_piece() > pieces { Err(damaged("a piece is missing")) } else { Ok(read) }
    }

    /// About how many bytes it has in memory.
    fn memory_bytes(&self) -> usize {
        let of_column = |column: &ColumnFront| {
            let bounds = if let Bounds::Strings(stats) = &column.bounds { stats.memory_bytes() } else { 0 };
            size_of::<ColumnFront>() + column.skips.capacity() * size_of::<u32>() + bounds
        };
        let columns: usize = self.columns.iter().flatten().map(|column| of_column(column)).sum();
        size_of::<StreamFront>() + self.level_skips.capacity() * size_of::<u32>() + columns
    }
}

/// A number below 2^32.
fn number(input: &mut ByteReader<'_>) -> Result<usize> {
    let number = u32::try_from(input.varint()?).map_err(|_| damaged("a number is too large"))?;
    Ok(number as usize)
}

fn put_skips(out: &mut Vec<u8>, skips: &[u32]) {
    out.push(u8::from(!skips.is_empty()));
    let mut last = 0;
    for &skip in skips {
        put_varint(out, (skip - std::mem::replace(&mut last, skip)).into());
    }
}

fn read_skips(input: &mut ByteReader<'_>, places: usize, count: usize) -> Result<Vec<u32>> {
    let [has_skips] = input.array()?;
    let mut skips = Vec::new();
    if has_skips == 0 {
        return Ok(skips);
    }
    let mut last = 0_usize;
    for _ in 0..places {
        last += number(input)?;
        if last > count || skips.is_empty() && last > 0 {
            return Err(damaged("a row lies behind the end of its stream"));
        }
        skips.push(last as u32);
    }
    Ok(skips)
}

impl Front {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![FRONT_VERSION];
        put_varint(&mut out, self.rows as u64);
        self.schema.root.write(&mut out);
        self.streams.iter().for_each(|stream| stream.write(&mut out));
        out
    }

    /// Reads a front with the plan of its schema; so many pieces there are.
    fn read(bytes: &[u8], rows: usize, pieces: usize) -> Result<(Front, Plan)> {
        let mut input = ByteReader::new(bytes, damaged);
        let [version] = input.array()?;
        if version != FRONT_VERSION || number(&mut input)? != rows {
            return Err(damaged("it is of another version, or of other rows"));
        }
        let schema = DocumentSchema::read(&mut input)?;
        let plan = Plan::new(&schema);
        let mut streams = Vec::with_capacity(plan.streams.len());
        for stream in &plan.streams {
            streams.push(StreamFront::read(&mut input, stream, rows, pieces)?);
        }
        input.end()?;
        Ok((Front { rows, schema, streams }, plan))
    }
}

/// A front as its readers want it.
#[derive(Debug)]
pub(crate) struct OpenFront {
    pub(crate) front: Front,
    pub(crate) plan: Plan,
    pieces: usize,
}

impl OpenFront {
    /// Reads the front of documents that have so many rows and pieces.
    pub(crate) fn read(block: &Block, rows: usize, pieces: usize) -> Result<OpenFront> {
        if block.kind() != Kind::Bytes || block.null_count() > 0 {
            return Err(damaged("it is no bytes"));
        }
        let mut scratch = Vec::new();
        let bytes = block.text_within(0, &mut scratch).ok_or_else(|| damaged("it is cut off"))?;
        let (front, plan) = Front::read(bytes, rows, pieces)?;
        Ok(OpenFront { front, plan, pieces })
    }

    /// Whether it is that of documents with so many rows and pieces.
    pub(crate) fn is_of(&self, rows: usize, pieces: usize) -> bool {
        self.front.rows == rows && self.pieces == pieces
    }

    /// About how many bytes it has in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        let streams: usize = self.front.streams.iter().map(StreamFront::memory_bytes).sum();
        size_of::<OpenFront>() + streams + self.plan.memory_bytes() + self.front.schema.memory_bytes()
    }
}

/// Keeps the front of documents beside their first piece: what is read once is not read for every row.
pub(crate) fn attach_front(block: &mut Block, rows: usize, pieces: usize) -> Result<()> {
    let open = OpenFront::read(block, rows, pieces)?;
    let bytes = open.memory_bytes();
    block.attach(Arc::new(open), bytes);
    Ok(())
}
