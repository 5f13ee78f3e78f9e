//! Summaries of the columns of a file as bytes; `docs/format/column-table.md` is their specification.

use crate::encoding::Kind;
use crate::error::{Error, Result};
use crate::summary::column::{ColumnSummary, Distinct};
use crate::summary::frequent::{Common, compare};
use crate::summary::histogram::{Histogram, Point};
use crate::summary::sketch::{FEW_MAX, RANK_MAX, REGISTERS, Seen, Sketch};
#[cfg(test)]
use crate::summary::{PARTS_MAX, frequent, histogram, sampling};
use crate::types::DataType;
use crate::value::Value;
use crate::wire::{ByteReader, put_u32, put_value, put_varint};

/// The column has no number of values.
const UNKNOWN: u8 = 0;
/// Hashes follow.
const FEW: u8 = 1;
/// Registers follow.
const MANY: u8 = 2;
/// Bits of a register.
const REGISTER_BITS: usize = 6;
const REGISTERS_BYTES: usize = REGISTERS * REGISTER_BITS / 8;

/// The constants that files depend on.
#[cfg(test)]
pub(crate) const ON_DISK: ([u8; 3], [usize; 8]) = (
    [UNKNOWN, FEW, MANY],
    [
        REGISTERS,
        REGISTER_BITS,
        RANK_MAX as usize,
        FEW_MAX,
        PARTS_MAX,
        frequent::COMMON_BYTES_MAX,
        histogram::POINT_BYTES_MAX,
        sampling::SAMPLE_ROWS_MAX,
    ],
);

/// The bytes of the summaries of all columns.
pub(crate) fn write_summaries(summaries: &[ColumnSummary]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, summaries.len() as u64);
    summaries.iter().for_each(|summary| write(&mut out, summary));
    out
}

fn write(out: &mut Vec<u8>, summary: &ColumnSummary) {
    put_varint(out, summary.nulls);
    put_varint(out, summary.bytes);
    match &summary.distinct {
        Distinct::Sketched(Sketch(Seen::Few(hashes))) => {
            out.extend_from_slice(&[FEW, hashes.len() as u8]);
            hashes.iter().for_each(|hash| out.extend_from_slice(&hash.to_le_bytes()));
        }
        Distinct::Sketched(Sketch(Seen::Many(registers))) => {
            out.push(MANY);
            for four in registers.as_chunks::<4>().0 {
                let packed =
                    four.iter().rev().fold(0u32, |bits, &register| bits << REGISTER_BITS | u32::from(register));
                out.extend_from_slice(&packed.to_le_bytes()[..3]);
            }
        }
        Distinct::Unknown | Distinct::About(_) => out.push(UNKNOWN),
    }
    out.push(summary.common.len() as u8);
    for (value, count) in &summary.common {
        put_value(out, value.as_ref());
        put_varint(out, *count);
    }
    out.push(summary.histogram.points.len() as u8);
    for point in &summary.histogram.points {
        put_value(out, point.value.as_ref());
        put_u32(out, (point.below as f32).to_bits());
        put_u32(out, (point.through as f32).to_bits());
    }
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("its summaries are damaged: {what}"))
}

/// Reads the summaries of columns of these types, of a file of so many rows.
pub(crate) fn read_summaries(bytes: &[u8], types: &[DataType], rows: u64) -> Result<Vec<ColumnSummary>> {
    let mut input = ByteReader::new(bytes, damaged);
    if input.varint()? != types.len() as u64 {
        return Err(damaged("they are of another number of columns"));
    }
    let mut summaries = Vec::with_capacity(types.len());
    for data_type in types {
        summaries.push(read(&mut input, Kind::of(*data_type), rows)?);
    }
    input.end()?;
    Ok(summaries)
}

fn read(input: &mut ByteReader<'_>, kind: Kind, rows: u64) -> Result<ColumnSummary> {
    let (nulls, bytes) = (input.varint()?, input.varint()?);
    if nulls > rows {
        return Err(damaged("there are more NULLs than rows"));
    }
    let distinct = read_sketch(input)?;
    let common = read_common(input, kind, rows - nulls)?;
    let histogram = read_histogram(input, kind)?;
    Ok(ColumnSummary { rows, nulls, bytes, distinct, common, histogram })
}

fn read_sketch(input: &mut ByteReader<'_>) -> Result<Distinct> {
    let seen = match input.u8()? {
        UNKNOWN => return Ok(Distinct::Unknown),
        FEW => {
            let mut hashes = Vec::new();
            for _ in 0..input.u8()? {
                hashes.push(input.u64()?);
            }
            if hashes.len() > FEW_MAX || !hashes.is_sorted_by(|a, b| a < b) {
                return Err(damaged("hashes are out of order, or too many"));
            }
            Seen::Few(hashes)
        }
        MANY => {
            let mut registers = Box::new([0; REGISTERS]);
            let packed = input.take(REGISTERS_BYTES)?;
            for (four, bytes) in registers.as_chunks_mut::<4>().0.iter_mut().zip(packed.as_chunks::<3>().0) {
                let bits = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
                *four = std::array::from_fn(|at| (bits >> (at * REGISTER_BITS) & 0x3f) as u8);
            }
            if registers.iter().any(|register| *register > RANK_MAX) {
                return Err(damaged("a register is too great"));
            }
            Seen::Many(registers)
        }
        other => return Err(damaged(&format!("a sketch is of kind {other}"))),
    };
    Ok(Distinct::Sketched(Sketch(seen)))
}

fn read_value(input: &mut ByteReader<'_>, kind: Kind) -> Result<Value> {
    let value = input.value()?;
    let is_kind = match &value {
        Value::Null | Value::Array(_) => false,
        Value::Bool(_) => kind == Kind::Bool,
        Value::Int(_) => matches!(kind, Kind::Int16 | Kind::Int32 | Kind::Int64),
        Value::Float(_) => matches!(kind, Kind::Float32 | Kind::Float64),
        Value::Decimal(_) => kind == Kind::Decimal,
        Value::Text(_) => kind == Kind::Text,
        Value::Bytes(_) => kind == Kind::Bytes,
        Value::Uuid(_) => kind == Kind::Uuid,
        Value::Interval(_) => kind == Kind::Interval,
    };
    if is_kind { Ok(value) } else { Err(damaged(&format!("{value:?} is not of the kind {kind:?}"))) }
}

fn read_common(input: &mut ByteReader<'_>, kind: Kind, mut left: u64) -> Result<Common> {
    let mut common: Common = Vec::new();
    for _ in 0..input.u8()? {
        let (value, count) = (read_value(input, kind)?, input.varint()?);
        left = left.checked_sub(count).ok_or_else(|| damaged("common values are in more rows than there are"))?;
        if count == 0 || common.last().is_some_and(|(_, before)| *before < count) {
            return Err(damaged("common values do not come by their counts"));
        }
        common.push((value, count));
    }
    Ok(common)
}

fn read_histogram(input: &mut ByteReader<'_>, kind: Kind) -> Result<Histogram> {
    let (mut points, mut reached): (Vec<Point>, f64) = (Vec::new(), 0.0);
    for _ in 0..input.u8()? {
        let value = read_value(input, kind)?;
        let mut share = || Ok(f64::from(f32::from_bits(input.u32()?)));
        let (below, through): (f64, f64) = (share()?, share()?);
        let is_rising = points.last().is_none_or(|last| compare(&last.value, &value).is_lt());
        // A share that is no number is none of these.
        let are_shares = reached <= below && below <= through && through <= 1.0;
        if !is_rising || !are_shares {
            return Err(damaged("the points of a histogram do not rise"));
        }
        reached = through;
        points.push(Point { value, below, through });
    }
    Ok(Histogram { points })
}
