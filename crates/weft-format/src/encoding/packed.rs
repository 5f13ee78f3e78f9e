//! Frame of reference with bit-packing: units of 1024 values, each with its own reference and width.
//!
//! ```text
//!   values 1000..=2023 of a bigint key: reference 1000, width 10 bits, 1280 bytes
//!   ┌───────────────┬──────────────┬────────────────────────────────────┐
//!   │ references u64│ widths u8    │ unit 0: 128 × width bytes, unit 1… │
//!   │ one per unit  │ one per unit │ FastLanes order                    │
//!   └───────────────┴──────────────┴────────────────────────────────────┘
//! ```
//!
//! 1. A unit holds value - reference (wrapping, in the lane's width), so any 64-bit range works.
//! 2. The last unit is filled up with its reference.
//! 3. One value is read with one or two word loads, without unpacking its unit.
//!
//! Source: Afroozeh, Boncz, "The FastLanes Compression Layout" (VLDB 2023), through the crate `fastlanes`.

use crate::encoding::kind::Lane;
use crate::error::{Error, Result};
use crate::mask::{Mask, PIECE_ROWS};

/// Values in one bit-packed unit.
pub const UNIT_ROWS: usize = PIECE_ROWS;

/// One unit as parsed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    /// Added to every packed value.
    pub(crate) reference: u64,
    /// Bits per value.
    pub(crate) width: u8,
    /// Where the packed bytes start, within the block.
    pub(crate) offset: u32,
}

/// The units of one block.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    pub(crate) units: Vec<Unit>,
}

/// Bytes of a packed unit.
pub(crate) fn unit_bytes(width: usize) -> usize {
    UNIT_ROWS / 8 * width
}

fn bits_of(range: u64) -> usize {
    64 - range.leading_zeros() as usize
}

/// Smallest value and width of every unit, in the signed order of the words.
pub(crate) fn frames<T: Lane>(values: &[T]) -> Vec<(T, usize)> {
    let frame = |unit: &[T]| {
        // Flipping the sign bit turns signed order into unsigned order, which the compiler vectorises.
        let flip = T::from_bits(1 << (T::T - 1));
        let (mut min, mut max) = (unit[0] ^ flip, unit[0] ^ flip);
        for &value in unit {
            let value = value ^ flip;
            min = if value < min { value } else { min };
            max = if value > max { value } else { max };
        }
        (min ^ flip, bits_of((max - min).to_bits() as u64))
    };
    values.chunks(UNIT_ROWS).map(frame).collect()
}

/// Bytes that [`write_frames`] will append, without padding.
pub(crate) fn frames_bytes<T: Lane>(frames: &[(T, usize)]) -> usize {
    (frames.len() * 9).next_multiple_of(16) + frames.iter().map(|(_, width)| unit_bytes(*width)).sum::<usize>()
}

/// Appends references, widths and units.
pub(crate) fn write_frames<T: Lane>(values: &[T], frames: &[(T, usize)], out: &mut Vec<u8>) {
    let start = out.len();
    for (reference, _) in frames {
        out.extend_from_slice(&(reference.to_bits() as u64).to_le_bytes());
    }
    out.extend(frames.iter().map(|(_, width)| *width as u8));
    out.resize(start + (frames.len() * 9).next_multiple_of(16), 0);
    for (unit, &(reference, width)) in values.chunks(UNIT_ROWS).zip(frames) {
        pack_unit(unit, reference, width, out);
    }
}

/// Appends one unit of at most 1024 values.
pub(crate) fn pack_unit<T: Lane>(unit: &[T], reference: T, width: usize, out: &mut Vec<u8>) {
    let mut input = [T::default(); UNIT_ROWS];
    for (slot, &value) in input.iter_mut().zip(unit) {
        *slot = T::from_bits(value.to_bits().wrapping_sub(reference.to_bits()));
    }
    let mut packed = [T::default(); UNIT_ROWS];
    let words = UNIT_ROWS * width / T::T;
    assert!(width <= T::T, "a packed width is at most the word's");
    // SAFETY: the input has 1024 values and the output 1024 * width / T words, as `unchecked_pack` asks.
    unsafe { T::unchecked_pack(width, &input, &mut packed[..words]) };
    T::write_all(&packed[..words], out);
}

impl Packed {
    /// Parses what [`write_frames`] wrote at `offset` of a block; answers the end offset too.
    pub(crate) fn parse<T: Lane>(block: &[u8], offset: usize, rows: usize) -> Result<(Packed, usize)> {
        let count = rows.div_ceil(UNIT_ROWS);
        let header = (count * 9).next_multiple_of(16);
        let bytes = block.get(offset..offset + header).ok_or_else(|| Error::corrupt("unit references are cut off"))?;
        let mut at = offset + header;
        let mut units = Vec::with_capacity(count);
        for index in 0..count {
            let width = bytes[count * 8 + index];
            if usize::from(width) > T::T {
                return Err(Error::corrupt(format!("unit {index} claims {width} bits per value")));
            }
            let reference = u64::from_le_bytes(crate::bytes::array(&bytes[index * 8..]));
            units.push(Unit { reference, width, offset: at as u32 });
            at += unit_bytes(width.into());
        }
        if at > block.len() {
            return Err(Error::corrupt("bit-packed units are cut off"));
        }
        Ok((Packed { units }, at))
    }

    /// Parses units of one width and reference 0 (dictionary codes).
    pub(crate) fn parse_even<T: Lane>(block: &[u8], offset: usize, rows: usize, width: u8) -> Result<(Packed, usize)> {
        let step = unit_bytes(width.into());
        let count = rows.div_ceil(UNIT_ROWS);
        if usize::from(width) > T::T || offset + step * count > block.len() {
            return Err(Error::corrupt(format!("codes of {width} bits do not fit their block")));
        }
        let unit = |index| Unit { reference: 0, width, offset: (offset + step * index) as u32 };
        Ok((Packed { units: (0..count).map(unit).collect() }, offset + step * count))
    }

    /// One value, without unpacking its unit.
    #[inline]
    pub(crate) fn get<T: Lane>(&self, block: &[u8], position: usize) -> T {
        let unit = self.units[position / UNIT_ROWS];
        let words = lanes::<T>(block, unit);
        // SAFETY: `lanes` answers exactly 1024 * width / T words, and the width was checked when parsed.
        let value = unsafe { T::unchecked_unpack_single(unit.width.into(), words, position % UNIT_ROWS) };
        T::from_bits(value.to_bits().wrapping_add(unit.reference.into()))
    }

    /// Unpacks one unit into 1024 slots.
    #[inline]
    pub(crate) fn unpack<T: Lane>(&self, block: &[u8], index: usize, out: &mut [T]) {
        assert_eq!(out.len(), UNIT_ROWS, "a unit unpacks to 1024 values");
        let unit = self.units[index];
        let words = lanes::<T>(block, unit);
        // SAFETY: `lanes` answers exactly 1024 * width / T words, the width was checked, the output has 1024 slots.
        unsafe { T::unchecked_unfor_pack(unit.width.into(), words, T::from_bits(unit.reference.into()), out) };
    }

    /// Unpacks everything.
    pub(crate) fn unpack_all<T: Lane>(&self, block: &[u8], rows: usize) -> Vec<T> {
        let mut out = vec![T::default(); self.units.len() * UNIT_ROWS];
        for (index, slots) in out.chunks_exact_mut(UNIT_ROWS).enumerate() {
            self.unpack(block, index, slots);
        }
        out.truncate(rows);
        out
    }

    /// Unpacks the rows that a mask selects, in order.
    pub(crate) fn unpack_kept<T: Lane>(&self, block: &[u8], mask: &Mask) -> Vec<T> {
        mask.keep_pieces(|unit, slots: &mut [T; UNIT_ROWS]| self.unpack(block, unit, slots))
    }
}

/// The packed words of a unit.
#[inline]
fn lanes<T: Lane>(block: &[u8], unit: Unit) -> &[T] {
    let start = unit.offset as usize;
    let bytes = &block[start..start + unit_bytes(unit.width.into())];
    // SAFETY: any bits are a valid word.
    let (before, words, after) = unsafe { bytes.align_to::<T>() };
    assert!(before.is_empty() && after.is_empty(), "blocks lie in aligned memory and units at multiples of 16");
    words
}
