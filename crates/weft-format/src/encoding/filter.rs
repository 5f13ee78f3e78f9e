//! A predicate evaluated on encoded rows, ANDed into a mask.
//!
//! ```text
//!   constant     once                         run length   once per run
//!   dictionary   once per entry, then codes   frame        a unit whose frame decides is not unpacked; others compare
//!   texts        one by one                                in 64-row words
//! ```

use crate::encoding::block::{Block, Body, Slices, unpacked};
use crate::encoding::int_test::{IntRange, IntTest};
use crate::encoding::kind::{Kind, Lane};
use crate::encoding::packed::UNIT_ROWS;
use crate::mask::Mask;
use crate::predicate::Predicate;
use crate::value::Value;

impl Block {
    /// Deselects the rows of `mask` that do not satisfy the predicate.
    pub fn filter(&self, predicate: &Predicate, mask: &mut Mask) {
        assert_eq!(mask.len(), self.rows, "a mask has one bit per row of the block");
        if let Body::Slices(slices) = &self.body {
            return slices.filter(predicate, mask);
        }
        match predicate {
            Predicate::IsNull { .. } => self.keep_valid(mask, false),
            Predicate::IsNotNull { .. } => self.keep_valid(mask, true),
            Predicate::Compare { value: Value::Null, .. } => mask.clear_all(),
            _ if self.null_count == self.rows => mask.clear_all(),
            _ => {
                self.filter_slots(predicate, mask);
                self.keep_valid(mask, true);
            }
        }
    }

    fn keep_valid(&self, mask: &mut Mask, valid: bool) {
        let Some(at) = self.validity else {
            if (self.null_count == 0) != valid {
                mask.clear_all();
            }
            return;
        };
        let (words, _) = self.buffer.as_slice()[at..].as_chunks::<8>();
        for (word, validity) in mask.words_mut().iter_mut().zip(words) {
            let validity = u64::from_le_bytes(*validity);
            *word &= if valid { validity } else { !validity };
        }
    }

    /// Evaluates the predicate on every slot, those of NULL rows included.
    fn filter_slots(&self, predicate: &Predicate, mask: &mut Mask) {
        match &self.body {
            Body::AllNull => mask.clear_all(),
            Body::Constant(_) => {
                let mut scratch = Vec::new();
                let keep = match self.kind {
                    kind if kind.is_variable() => predicate.matches(kind.variable(self.text_bytes_at(0, &mut scratch))),
                    kind => predicate.matches(kind.value(self.bits_at(0)).as_ref()),
                };
                if !keep {
                    mask.clear_all();
                }
            }
            Body::RunLength(ends, values) => {
                let mut runs = Mask::all(values.rows);
                values.filter_slots(predicate, &mut runs);
                let mut kept = Mask::none(self.rows);
                for run in runs.iter_ones() {
                    let start = if run == 0 { 0 } else { ends[run - 1] };
                    kept.set_range(start.into(), ends[run].into());
                }
                mask.and(&kept);
            }
            Body::Dictionary(codes, values) => {
                let mut entries = Mask::all(values.rows);
                values.filter_slots(predicate, &mut entries);
                if !entries.any() {
                    mask.clear_all();
                } else if entries.count() < values.rows {
                    let keep: Vec<bool> = (0..values.rows).map(|entry| entries.get(entry)).collect();
                    let codes = unpacked::<u16>(codes, self.buffer.as_slice(), self.rows);
                    and_where(mask, 0, &codes, |code| keep[usize::from(code)]);
                }
            }
            Body::Texts(_) | Body::Symbols(..) | Body::Letters(..) => self.filter_texts(predicate, mask),
            Body::Slices(_) => unreachable!("slices are filtered one by one, and are not nested"),
            Body::Plain(_) | Body::Frame(_) if self.kind.is_int() => match self.kind {
                Kind::Int16 => self.filter_ints::<u16>(predicate, mask),
                Kind::Int32 => self.filter_ints::<u32>(predicate, mask),
                _ => self.filter_ints::<u64>(predicate, mask),
            },
            Body::Plain(_) | Body::Frame(_) | Body::Bits(_) => {
                let mut kept = mask.clone();
                for row in mask.iter_ones() {
                    if !predicate.matches(self.kind.value(self.bits_at(row)).as_ref()) {
                        kept.clear(row);
                    }
                }
                *mask = kept;
            }
        }
    }

    fn filter_texts(&self, predicate: &Predicate, mask: &mut Mask) {
        let bytes = self.buffer.as_slice();
        let mut kept = mask.clone();
        let (mut row, mut scratch) = (0, Vec::new());
        let mut test = |text: &[u8]| {
            // NULL slots hold any text, which is tested in vain.
            if mask.get(row) && !predicate.matches(self.kind.variable(text)) {
                kept.clear(row);
            }
            row += 1;
        };
        match &self.body {
            Body::Texts(index) => {
                index.for_each(bytes, self.rows, |start, end| test(&index.all(bytes)[start..end]));
            }
            Body::Symbols(index, symbols) => index.for_each(bytes, self.rows, |start, end| {
                scratch.clear();
                symbols.decompress(&index.all(bytes)[start..end], &mut scratch);
                test(&scratch);
            }),
            Body::Letters(index, alphabet) => index.for_each(bytes, self.rows, |start, end| {
                scratch.clear();
                alphabet.unpack(index.all(bytes), start, end, &mut scratch);
                test(&scratch);
            }),
            _ => unreachable!("only bodies of texts"),
        }
        *mask = kept;
    }

    fn filter_ints<T: Lane>(&self, predicate: &Predicate, mask: &mut Mask) {
        match IntTest::of(predicate) {
            Some(IntTest::Range(range)) => self.filter_range::<T>(range, mask),
            Some(IntTest::List(list)) if list.is_empty() => mask.clear_all(),
            Some(IntTest::List(list)) => {
                and_where(mask, 0, &self.words::<T>(), |word| list.binary_search(&(word.signed() as i64)).is_ok());
            }
            None => panic!("a predicate compares integers by {predicate:?}"),
        }
    }

    fn filter_range<T: Lane>(&self, range: IntRange, mask: &mut Mask) {
        // Clamped to the lane's own range, the test is one subtraction and one unsigned comparison in that width.
        let bits = T::T as u32;
        let (min, max) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
        if range.low > range.high || range.low > max || range.high < min {
            if !range.inverted {
                mask.clear_all();
            }
            return;
        }
        let low = T::from_bits(range.low.max(min) as u64 as u128);
        let span = T::from_bits((range.high.min(max) as i128 - i128::from(range.low.max(min))) as u128);
        let test = |value: T| (T::from_bits(value.to_bits().wrapping_sub(low.to_bits())) <= span) != range.inverted;
        let bytes = self.buffer.as_slice();
        let Body::Frame(packed) = &self.body else {
            and_where(mask, 0, &self.words::<T>(), test);
            return;
        };
        let mut values = [T::default(); UNIT_ROWS];
        for (index, unit) in packed.units.iter().enumerate() {
            let start = index * UNIT_ROWS;
            let rows = UNIT_ROWS.min(self.rows - start);
            if unit.width == 0 {
                values.fill(T::from_bits(unit.reference.into()));
            } else if frame_is_outside::<T>(unit.reference, unit.width, range) {
                if !range.inverted {
                    mask.words_mut()[start / 64..(start + rows).div_ceil(64)].fill(0);
                }
                continue;
            } else {
                packed.unpack(bytes, index, &mut values);
            }
            and_where(mask, start, &values[..rows], test);
        }
    }
}

impl Slices {
    /// Deselects the rows of `mask` that do not satisfy the predicate; slices without a selected row are not looked at.
    pub(crate) fn filter(&self, predicate: &Predicate, mask: &mut Mask) {
        for (rows, slice) in self.with_rows(mask.len()) {
            let words = rows.start / 64..rows.end.div_ceil(64);
            if mask.words()[words.clone()].iter().all(|&word| word == 0) {
                continue;
            }
            let mut part = Mask::from_words(mask.words()[words.clone()].to_vec(), rows.len());
            slice.expect("slices with selected rows were loaded").filter(predicate, &mut part);
            mask.words_mut()[words].copy_from_slice(part.words());
        }
    }
}

/// Whether no value of a unit can lie within the range.
fn frame_is_outside<T: Lane>(reference: u64, width: u8, range: IntRange) -> bool {
    let first = T::from_bits(reference.into()).signed();
    let last = first + ((1i128 << width) - 1);
    last < range.low.into() || first > range.high.into()
}

/// Deselects the rows from `start` (a multiple of 64) whose value fails the test.
#[inline]
pub(crate) fn and_where<T: Copy>(mask: &mut Mask, start: usize, values: &[T], test: impl Fn(T) -> bool) {
    let words = &mut mask.words_mut()[start / 64..];
    for (word, chunk) in words.iter_mut().zip(values.chunks(64)) {
        let mut bits = 0;
        for (index, &value) in chunk.iter().enumerate() {
            bits |= u64::from(test(value)) << index;
        }
        *word &= bits;
    }
}
