//! Chooses an encoding for a block and writes it.
//!
//! Constant, run length, frame of reference and plain are priced exactly in one pass over the values. A dictionary is
//! tried only when a sample of 512 values repeats itself; the attempt stops once it cannot win. The cheapest wins.

use crate::bloom::{hash_value, hash_word};
use crate::encoding::builder::{BlockBuilder, Data, EncodedBlock, HashesWanted};
use crate::encoding::dictionary::dictionary_of;
use crate::encoding::encode_text::encode_texts;
use crate::encoding::kind::{Kind, Lane, UUID_FLIP, Word};
use crate::encoding::layout::{ALIGN_BYTES, Encoding};
use crate::encoding::packed::{frames, frames_bytes, write_frames};
use crate::encoding::pieces::{Options, Shape, write_codes, write_run_ends};
use crate::encoding::symbols::SymbolTrainer;
use crate::interval::Interval;
use crate::stats::ColumnStats;
use crate::value::{ValueRef, compare_floats};

/// Integers spanning at most this many values have their distinct values found with a bitmap.
const SPAN_MAX: u64 = 4_096;

/// Encodes what a builder holds.
pub(crate) fn encode(builder: &BlockBuilder, trainer: &mut SymbolTrainer, options: Options<'_>) -> EncodedBlock {
    let wanted = options.wanted;
    let kind = Kind::of(builder.data_type());
    let (rows, null_count) = (builder.len(), builder.null_count);
    let shape = Shape { kind, rows, null_count, validity: &builder.validity };
    let mut out = Vec::new();
    if null_count == rows {
        shape.write(Encoding::AllNull, &mut out, |_| {});
        let stats = ColumnStats::new(ValueRef::Null, ValueRef::Null, rows as u64, rows as u64);
        let hashes = (wanted != HashesWanted::None).then(Vec::new);
        return EncodedBlock::whole(out, Encoding::AllNull, stats, hashes);
    }
    let (encoding, min_max, hashes) = match &builder.data {
        Data::Bool(values) => encode_bools(shape, values, wanted, &mut out),
        Data::Word16(values) => encode_words(shape, values, wanted, &mut out),
        Data::Word32(values) => encode_words(shape, values, wanted, &mut out),
        Data::Word64(values) => encode_words(shape, values, wanted, &mut out),
        Data::Word128(values) if kind == Kind::Interval => encode_intervals(shape, values, wanted, &mut out),
        Data::Word128(values) => encode_decimals(shape, values, wanted, &mut out),
        Data::Text { ends, bytes } => {
            return encode_texts(shape, builder, (ends, bytes), trainer, options);
        }
    };
    let stats = ColumnStats::new(min_max.0, min_max.1, null_count as u64, rows as u64);
    EncodedBlock::whole(out, encoding, stats, hashes)
}

type Encoded<'a> = (Encoding, (ValueRef<'a>, ValueRef<'a>), Option<Vec<u64>>);

fn encode_bools(shape: Shape<'_>, values: &[bool], wanted: HashesWanted, out: &mut Vec<u8>) -> Encoded<'static> {
    let any = values.contains(&true);
    let all = !values.contains(&false);
    let min_max = (ValueRef::Bool(all), ValueRef::Bool(any));
    let hashes = [!all, any].into_iter().enumerate().filter(|(_, occurs)| *occurs);
    let hashes = (wanted != HashesWanted::None).then(|| hashes.map(|(value, _)| hash_word(value as u64)).collect());
    if any == all {
        shape.write(Encoding::Constant, out, |out| out.extend_from_slice(&u128::from(any).to_le_bytes()));
        return (Encoding::Constant, min_max, hashes);
    }
    shape.write(Encoding::Plain, out, |out| {
        for chunk in values.chunks(8) {
            out.push(chunk.iter().enumerate().fold(0, |byte, (bit, &value)| byte | u8::from(value) << bit));
        }
    });
    (Encoding::Plain, min_max, hashes)
}

/// What the values of a block cost in an encoding, and what writing it needs.
enum Plan<T> {
    Plain,
    Frame(Vec<(T, usize)>),
    RunLength(Vec<u16>, Vec<T>),
    Dictionary(Vec<u16>, Vec<T>),
}

fn encode_words<T: Lane>(shape: Shape<'_>, values: &[T], wanted: HashesWanted, out: &mut Vec<u8>) -> Encoded<'static> {
    let min_max = bounds(shape.kind, values);
    let runs = 1 + values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if runs == 1 {
        shape.write(Encoding::Constant, out, |out| out.extend_from_slice(&values[0].to_bits().to_le_bytes()));
        return (Encoding::Constant, min_max, hashes_of(shape.kind, values, Some(&values[..1]), wanted));
    }
    let (mut plan, mut cost) = simple_plan(shape.kind, values);
    if runs * 3 + 64 < cost {
        let (ends, firsts) = runs_of(values);
        let run_cost = 2 * ALIGN_BYTES + runs * 2 + simple_plan(shape.kind, &firsts).1;
        if run_cost < cost {
            (plan, cost) = (Plan::RunLength(ends, firsts), run_cost);
        }
    }
    if let Some((codes, entries)) = dictionary_of(values, cost) {
        plan = Plan::Dictionary(codes, entries);
    }
    let (encoding, distinct) = match &plan {
        Plan::Plain => (Encoding::Plain, None),
        Plan::Frame(_) => (Encoding::Frame, None),
        Plan::RunLength(_, firsts) => (Encoding::RunLength, Some(&firsts[..])),
        Plan::Dictionary(_, entries) => (Encoding::Dictionary, Some(&entries[..])),
    };
    shape.write(encoding, out, |out| match &plan {
        Plan::Plain => T::write_all(values, out),
        Plan::Frame(frames) => write_frames(values, frames, out),
        Plan::RunLength(ends, firsts) => {
            write_run_ends(ends, out);
            write_nested(shape.kind, firsts, out);
        }
        Plan::Dictionary(codes, entries) => {
            write_codes(codes, entries.len(), out);
            write_nested(shape.kind, entries, out);
        }
    });
    (encoding, min_max, hashes_of(shape.kind, values, distinct, wanted))
}

/// The cheaper of plain and frame of reference, and its bytes.
fn simple_plan<T: Lane>(kind: Kind, values: &[T]) -> (Plan<T>, usize) {
    let plain = size_of_val(values);
    if kind.is_int() {
        let frames = frames(values);
        let bytes = frames_bytes(&frames);
        if bytes < plain {
            return (Plan::Frame(frames), bytes);
        }
    }
    (Plan::Plain, plain)
}

/// Appends a block without NULLs in the cheaper of the simple encodings.
fn write_nested<T: Lane>(kind: Kind, values: &[T], out: &mut Vec<u8>) {
    let shape = Shape::nested(kind, values.len());
    match simple_plan(kind, values).0 {
        Plan::Frame(frames) => shape.write(Encoding::Frame, out, |out| write_frames(values, &frames, out)),
        _ => shape.write(Encoding::Plain, out, |out| T::write_all(values, out)),
    }
}

/// Ends of the runs and each run's value.
fn runs_of<T: Copy + Eq>(values: &[T]) -> (Vec<u16>, Vec<T>) {
    let (mut ends, mut firsts) = (Vec::new(), Vec::new());
    for run in values.chunk_by(|a, b| a == b) {
        ends.push(ends.last().copied().unwrap_or(0) + run.len() as u16);
        firsts.push(run[0]);
    }
    (ends, firsts)
}

/// Intervals are stored as they are: their order is not that of their bits.
fn encode_intervals(shape: Shape<'_>, values: &[u128], wanted: HashesWanted, out: &mut Vec<u8>) -> Encoded<'static> {
    let all = || values.iter().map(|&bits| Interval::from_bits(bits));
    let first = Interval::from_bits(values[0]);
    let (min, max) = all().fold((first, first), |(min, max), value| {
        (if value.span() < min.span() { value } else { min }, if value.span() > max.span() { value } else { max })
    });
    let min_max = (ValueRef::Interval(min), ValueRef::Interval(max));
    let hashes = match wanted {
        HashesWanted::None => None,
        HashesWanted::Few(count) if values.len() > count => None,
        _ => Some(all().map(|value| hash_value(ValueRef::Interval(value))).collect()),
    };
    if values.iter().all(|&value| value == values[0]) {
        shape.write(Encoding::Constant, out, |out| out.extend_from_slice(&values[0].to_le_bytes()));
        return (Encoding::Constant, min_max, hashes);
    }
    shape.write(Encoding::Plain, out, |out| u128::write_all(values, out));
    (Encoding::Plain, min_max, hashes)
}

/// Decimals and uuids.
fn encode_decimals(shape: Shape<'_>, values: &[u128], wanted: HashesWanted, out: &mut Vec<u8>) -> Encoded<'static> {
    let value_ref = |value: i128| match shape.kind {
        Kind::Uuid => ValueRef::Uuid(value as u128 ^ UUID_FLIP),
        _ => ValueRef::Decimal(value),
    };
    let signed = || values.iter().map(|&value| value as i128);
    let (min, max) = signed().fold((i128::MAX, i128::MIN), |(min, max), value| (min.min(value), max.max(value)));
    let min_max = (value_ref(min), value_ref(max));
    let hashes = match wanted {
        HashesWanted::None => None,
        HashesWanted::Few(_) if min == max => Some(vec![hash_value(min_max.0)]),
        HashesWanted::Few(count) if values.len() > count => None,
        _ => Some(signed().map(|value| hash_value(value_ref(value))).collect()),
    };
    if min == max {
        shape.write(Encoding::Constant, out, |out| out.extend_from_slice(&min.to_le_bytes()));
        return (Encoding::Constant, min_max, hashes);
    }
    if shape.kind == Kind::Decimal && i64::try_from(min).is_ok() && i64::try_from(max).is_ok() {
        let words: Vec<u64> = values.iter().map(|&value| value as u64).collect();
        let frames = frames(&words);
        if frames_bytes(&frames) < size_of_val(values) {
            shape.write(Encoding::Frame, out, |out| write_frames(&words, &frames, out));
            return (Encoding::Frame, min_max, hashes);
        }
    }
    shape.write(Encoding::Plain, out, |out| u128::write_all(values, out));
    (Encoding::Plain, min_max, hashes)
}

/// Smallest and greatest value in [`ValueRef::compare`]'s order.
fn bounds<T: Lane>(kind: Kind, values: &[T]) -> (ValueRef<'static>, ValueRef<'static>) {
    if kind.is_int() {
        let flip = T::from_bits(1 << (T::T - 1));
        let (mut min, mut max) = (values[0] ^ flip, values[0] ^ flip);
        for &value in values {
            let value = value ^ flip;
            min = if value < min { value } else { min };
            max = if value > max { value } else { max };
        }
        return (ValueRef::Int((min ^ flip).signed() as i64), ValueRef::Int((max ^ flip).signed() as i64));
    }
    let (mut min, mut max) = (float(values[0]), float(values[0]));
    for &value in values {
        let value = float(value);
        if compare_floats(value, min).is_lt() {
            min = value;
        }
        if compare_floats(value, max).is_gt() {
            max = value;
        }
    }
    (ValueRef::Float(min), ValueRef::Float(max))
}

fn float<T: Lane>(word: T) -> f64 {
    if T::T == 32 { f32::from_bits(word.to_bits() as u32).into() } else { f64::from_bits(word.to_bits() as u64) }
}

/// Hashes of the values; `distinct` holds each of them at least once when the encoding found them.
fn hashes_of<T: Lane>(kind: Kind, values: &[T], distinct: Option<&[T]>, wanted: HashesWanted) -> Option<Vec<u64>> {
    let hash = |&word: &T| hash_value(kind.value(word.to_bits()).as_ref());
    match (wanted, distinct) {
        (HashesWanted::None, _) => None,
        (HashesWanted::Few(count), Some(distinct)) => {
            (distinct.len() <= count).then(|| distinct.iter().map(hash).collect())
        }
        (HashesWanted::All, Some(distinct)) => Some(distinct.iter().map(hash).collect()),
        (HashesWanted::Few(count), None) if values.len() > count => few_in_span(kind, values, count),
        (_, None) => Some(values.iter().map(hash).collect()),
    }
}

/// Hashes of integers that lie close together, found with a bitmap over their span.
fn few_in_span<T: Lane>(kind: Kind, values: &[T], count_max: usize) -> Option<Vec<u64>> {
    let (ValueRef::Int(min), ValueRef::Int(max)) = bounds(kind, values) else { return None };
    let span = max.wrapping_sub(min) as u64;
    if span >= SPAN_MAX {
        return None;
    }
    let mut seen = vec![false; span as usize + 1];
    values.iter().for_each(|value| seen[(value.signed() - i128::from(min)) as usize] = true);
    let hashes: Vec<u64> =
        (min..=max).zip(&seen).filter(|(_, seen)| **seen).map(|(value, _)| hash_value(ValueRef::Int(value))).collect();
    (hashes.len() <= count_max).then_some(hashes)
}
