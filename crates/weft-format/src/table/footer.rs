//! The footer: keys, filters, and for every column its type, symbol table, and blocks with their statistics.

use crate::bloom::BloomFilter;
use crate::encoding::layout::SLICE_ROWS_MIN;
use crate::encoding::{BLOCK_ROWS, Kind};
use crate::error::{Error, Result};
use crate::ids::Timestamp;
use crate::interval::Interval;
use crate::stats::ColumnStats;
use crate::table::header::Header;
use crate::table::layout::{
    DOCUMENTS_MARK, DOCUMENTS_VERSION, INDEX_ROWS, SLICES_VERSION, STATS_HAS_MAX, STATS_HAS_MIN, STATS_MAX_EXACT,
    STATS_MIN_EXACT, SUMMARIES_VERSION,
};
use crate::types::{DataType, TYPE_BYTES};
use crate::value::Value;
use crate::wire::{ByteReader, put_bytes};

/// Everything that is read when a table is opened.
pub(crate) struct Footer {
    pub(crate) max_key: Vec<u8>,
    /// The key of every 1024th row; the first is the smallest key.
    pub(crate) first_keys: Vec<Vec<u8>>,
    pub(crate) key_filter: BloomFilter,
    pub(crate) min_insert_ts: Timestamp,
    pub(crate) max_insert_ts: Timestamp,
    pub(crate) columns: Vec<ColumnEntry>,
    /// Bytes and checksum of the summaries, when the file has them.
    pub(crate) summaries: Option<SliceEntry>,
}

/// One stored column.
pub(crate) struct ColumnEntry {
    pub(crate) data_type: DataType,
    /// Empty when no block needs one.
    pub(crate) symbols: Vec<u8>,
    pub(crate) filter: Option<BloomFilter>,
    pub(crate) blocks: Vec<BlockEntry>,
}

impl ColumnEntry {
    /// Statistics of all blocks.
    pub(crate) fn stats(&self) -> ColumnStats {
        let mut stats = ColumnStats::empty();
        self.blocks.iter().for_each(|block| stats.merge(&block.stats));
        stats
    }
}

/// One block.
pub(crate) struct BlockEntry {
    /// Rows of each slice but the last, a power of two; [`BLOCK_ROWS`] of a block that is not cut.
    pub(crate) slice_rows: usize,
    pub(crate) slices: Vec<SliceEntry>,
    /// Bytes of the documents whose pieces the slices are.
    pub(crate) document_bytes: Option<u32>,
    pub(crate) stats: ColumnStats,
}

/// One slice of a block.
#[derive(Clone, Copy)]
pub(crate) struct SliceEntry {
    pub(crate) bytes: u32,
    pub(crate) checksum: u32,
}

impl Footer {
    /// In a version of the format; versions before 2 know no slices.
    pub(crate) fn to_bytes(&self, version: u16) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&self.min_insert_ts.0.to_le_bytes());
        out.extend_from_slice(&self.max_insert_ts.0.to_le_bytes());
        put_bytes(&mut out, &self.max_key);
        self.first_keys.iter().for_each(|key| put_bytes(&mut out, key));
        put_filter(&mut out, Some(&self.key_filter));
        for column in &self.columns {
            out.extend_from_slice(&column.data_type.code());
            put_bytes(&mut out, &column.symbols);
            put_filter(&mut out, column.filter.as_ref());
            for block in &column.blocks {
                match block.document_bytes {
                    Some(bytes) => {
                        out.push(DOCUMENTS_MARK);
                        out.extend_from_slice(&bytes.to_le_bytes());
                        out.extend_from_slice(&(block.slices.len() as u32).to_le_bytes());
                    }
                    None if version >= SLICES_VERSION => out.push(block.slice_rows.ilog2() as u8),
                    None => {}
                }
                for slice in &block.slices {
                    out.extend_from_slice(&slice.bytes.to_le_bytes());
                    out.extend_from_slice(&slice.checksum.to_le_bytes());
                }
                put_stats(&mut out, &block.stats);
            }
        }
        if version >= SUMMARIES_VERSION {
            let SliceEntry { bytes, checksum } = self.summaries.unwrap_or(SliceEntry { bytes: 0, checksum: 0 });
            out.extend_from_slice(&bytes.to_le_bytes());
            out.extend_from_slice(&checksum.to_le_bytes());
        }
        out
    }

    /// Reads a footer that passed its checksum. `types` are those of the columns that the reader knows; the file may
    /// have fewer (schema 1), or more, which nobody asks for then.
    pub(crate) fn parse(bytes: &[u8], header: &Header, types: &[DataType]) -> Result<Footer> {
        let (rows, count) = (header.row_count as usize, header.column_count as usize);
        let mut input = ByteReader::new(bytes, damaged);
        let min_insert_ts = Timestamp(input.u64()?);
        let max_insert_ts = Timestamp(input.u64()?);
        let max_key = input.byte_string()?.to_vec();
        let mut first_keys = Vec::new();
        for _ in 0..rows.div_ceil(INDEX_ROWS) {
            first_keys.push(input.byte_string()?.to_vec());
        }
        let key_filter = BloomFilter::read(input.byte_string()?)?;
        let mut columns = Vec::new();
        for number in 0..count {
            let is_last = number + 1 == count;
            let expected = if is_last { Some(&DataType::BigInt) } else { types.get(number) };
            let found = DataType::from_code(input.array::<TYPE_BYTES>()?)
                .map_err(|_| Error::corrupt(format!("its column {number} is of a type that nobody knows")))?;
            if let Some(&expected) = expected.filter(|expected| !is_stored_alike(**expected, found)) {
                return Err(Error::corrupt(format!("its column {number} is not of type {expected}")));
            }
            columns.push(parse_column(&mut input, header, found)?);
        }
        let summaries = if header.version >= SUMMARIES_VERSION { parse_summaries(&mut input)? } else { None };
        input.end()?;
        let rising = first_keys.windows(2).all(|pair| pair[0] <= pair[1]);
        if !rising || first_keys.last().is_none_or(|last| *last > max_key) || min_insert_ts > max_insert_ts {
            return Err(Error::corrupt("its keys or timestamps contradict each other"));
        }
        Ok(Footer { max_key, first_keys, key_filter, min_insert_ts, max_insert_ts, columns, summaries })
    }
}

fn parse_summaries(input: &mut ByteReader<'_>) -> Result<Option<SliceEntry>> {
    let entry = SliceEntry { bytes: input.u32()?, checksum: input.u32()? };
    match entry {
        SliceEntry { bytes: 0, checksum: 0 } => Ok(None),
        SliceEntry { bytes: 0, .. } => Err(damaged("there are no summaries, and a checksum of them")),
        entry => Ok(Some(entry)),
    }
}

/// Whether values of two types are stored in the same way: a column may have changed from one to the other.
fn is_stored_alike(a: DataType, b: DataType) -> bool {
    match (a, b) {
        (DataType::Numeric { scale: a, .. }, DataType::Numeric { scale: b, .. }) => a == b,
        (a, b) => a == b || (a.is_text() && b.is_text()),
    }
}

fn parse_column(input: &mut ByteReader<'_>, header: &Header, data_type: DataType) -> Result<ColumnEntry> {
    let (rows, kind) = (header.row_count as usize, Kind::of(data_type));
    let symbols = input.byte_string()?.to_vec();
    let filter = match input.byte_string()? {
        [] => None,
        bytes => Some(BloomFilter::read(bytes)?),
    };
    let mut blocks = Vec::new();
    for block in 0..rows.div_ceil(BLOCK_ROWS) {
        let block_rows = BLOCK_ROWS.min(rows - block * BLOCK_ROWS);
        let has_documents = header.version >= DOCUMENTS_VERSION && data_type == DataType::Jsonb;
        let document_bytes = if has_documents { parse_mark(input)? } else { None };
        let (slice_rows, slice_count) = match document_bytes {
            Some(_) => (BLOCK_ROWS, input.u32()? as usize),
            None if header.version >= SLICES_VERSION => {
                let slice_rows = parse_slice_rows(input, kind)?;
                (slice_rows, block_rows.div_ceil(slice_rows))
            }
            None => (BLOCK_ROWS, 1),
        };
        let mut slices = Vec::new();
        for _ in 0..slice_count {
            slices.push(SliceEntry { bytes: input.u32()?, checksum: input.u32()? });
        }
        let stats = parse_stats(input, kind, block_rows as u64)?;
        blocks.push(BlockEntry { slice_rows, slices, document_bytes, stats });
    }
    Ok(ColumnEntry { data_type, symbols, filter, blocks })
}

/// The bytes of documents, when a block has them as pieces.
fn parse_mark(input: &mut ByteReader<'_>) -> Result<Option<u32>> {
    if input.bytes.first() != Some(&DOCUMENTS_MARK) {
        return Ok(None);
    }
    input.take(1)?;
    Ok(Some(input.u32()?))
}

/// Only texts are cut.
fn parse_slice_rows(input: &mut ByteReader<'_>, kind: Kind) -> Result<usize> {
    let [exponent] = input.array()?;
    let slice_rows = 1usize.checked_shl(exponent.into()).unwrap_or(0);
    let can_be = slice_rows == BLOCK_ROWS || kind.is_variable() && (SLICE_ROWS_MIN..BLOCK_ROWS).contains(&slice_rows);
    if can_be {
        Ok(slice_rows)
    } else {
        Err(Error::corrupt(format!("a block of {kind:?} claims slices of 2^{exponent} rows")))
    }
}

fn put_filter(out: &mut Vec<u8>, filter: Option<&BloomFilter>) {
    let mut bytes = Vec::new();
    if let Some(filter) = filter {
        filter.write(&mut bytes);
    }
    put_bytes(out, &bytes);
}

fn put_stats(out: &mut Vec<u8>, stats: &ColumnStats) {
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    out.push(
        flag(!stats.min.is_null(), STATS_HAS_MIN)
            | flag(!stats.max.is_null(), STATS_HAS_MAX)
            | flag(stats.min_exact, STATS_MIN_EXACT)
            | flag(stats.max_exact, STATS_MAX_EXACT),
    );
    out.extend_from_slice(&(stats.null_count as u32).to_le_bytes());
    for bound in [&stats.min, &stats.max] {
        match bound {
            Value::Null => {}
            Value::Bool(v) => out.push(u8::from(*v)),
            Value::Int(v) => out.extend_from_slice(&v.to_le_bytes()),
            Value::Float(v) => out.extend_from_slice(&v.to_bits().to_le_bytes()),
            Value::Decimal(v) => out.extend_from_slice(&v.to_le_bytes()),
            Value::Text(v) => {
                out.push(v.len() as u8);
                out.extend_from_slice(v.as_bytes());
            }
            Value::Bytes(v) => {
                out.push(v.len() as u8);
                out.extend_from_slice(v);
            }
            Value::Uuid(v) => out.extend_from_slice(&v.to_le_bytes()),
            Value::Interval(v) => out.extend_from_slice(&v.to_bits().to_le_bytes()),
            Value::Array(_) => unreachable!("the bounds of a block of arrays are their bytes"),
        }
    }
}

fn parse_stats(input: &mut ByteReader<'_>, kind: Kind, row_count: u64) -> Result<ColumnStats> {
    let [flags] = input.array()?;
    let null_count = u64::from(input.u32()?);
    let mut bound = |present: bool| if present { read_bound(input, kind) } else { Ok(Value::Null) };
    let min = bound(flags & STATS_HAS_MIN != 0)?;
    let max = bound(flags & STATS_HAS_MAX != 0)?;
    let (min_exact, max_exact) = (flags & STATS_MIN_EXACT != 0, flags & STATS_MAX_EXACT != 0);
    let empty = null_count == row_count;
    let unordered = !min.is_null() && min.as_ref().compare(max.as_ref()).is_gt();
    if flags >= 16 || null_count > row_count || empty != min.is_null() || empty && !max.is_null() || unordered {
        return Err(Error::corrupt("the statistics of a block contradict themselves"));
    }
    if !empty && max.is_null() && max_exact {
        return Err(Error::corrupt("an upper bound is missing and called exact"));
    }
    Ok(ColumnStats { min, max, min_exact, max_exact, null_count, row_count })
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("its footer is damaged: {what}"))
}

fn read_bound(input: &mut ByteReader<'_>, kind: Kind) -> Result<Value> {
    Ok(match kind {
        Kind::Bool => match input.array()? {
            [byte @ (0 | 1)] => Value::Bool(byte == 1),
            [byte] => return Err(Error::corrupt(format!("a boolean bound is {byte}"))),
        },
        Kind::Int16 | Kind::Int32 | Kind::Int64 => Value::Int(i64::from_le_bytes(input.array()?)),
        Kind::Float32 | Kind::Float64 => Value::Float(f64::from_bits(u64::from_le_bytes(input.array()?))),
        Kind::Decimal => Value::Decimal(i128::from_le_bytes(input.array()?)),
        Kind::Text => {
            let [len] = input.array()?;
            let text = std::str::from_utf8(input.take(len.into())?);
            Value::Text(text.map_err(|_| Error::corrupt("a text bound is not UTF-8"))?.into())
        }
        Kind::Bytes => {
            let [len] = input.array()?;
            Value::Bytes(input.take(len.into())?.into())
        }
        Kind::Uuid => Value::Uuid(u128::from_le_bytes(input.array()?)),
        Kind::Interval => Value::Interval(Interval::from_bits(u128::from_le_bytes(input.array()?))),
    })
}
