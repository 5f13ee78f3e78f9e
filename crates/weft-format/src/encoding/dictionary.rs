//! Finds the distinct values of a block, and gives up as soon as a dictionary cannot be the cheapest encoding.

use crate::bloom::{hash_bytes, hash_word};
use crate::encoding::kind::Lane;
use crate::encoding::pieces::codes_bytes;

/// Values looked at to decide whether a dictionary is worth trying.
const SAMPLE_ROWS: usize = 512;
/// No code in a slot of the hash table.
const EMPTY: u16 = u16::MAX;

/// An open-addressed table from hashes to codes.
struct Codes {
    slots: Vec<(u32, u16)>,
    count: usize,
}

impl Codes {
    fn new(entries_max: usize) -> Codes {
        Codes { slots: vec![(0, EMPTY); (entries_max * 2).next_power_of_two().max(16)], count: 0 }
    }

    /// The code of what has this hash and is `same` as the entry of that code; a new code when there is none.
    #[inline]
    fn code(&mut self, hash: u64, same: impl Fn(usize) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        let tag = (hash >> 32) as u32;
        loop {
            let (other, code) = self.slots[slot];
            if code == EMPTY {
                self.slots[slot] = (tag, self.count as u16);
                self.count += 1;
                return self.count - 1;
            }
            if other == tag && same(code.into()) {
                return code.into();
            }
            slot = (slot + 1) & mask;
        }
    }
}

/// Most distinct values in a sample of which a dictionary is tried: nine tenths.
fn is_worth_trying(distinct: usize, sampled: usize) -> bool {
    distinct * 10 <= sampled * 9
}

/// Codes and entries of fixed-width values, when that costs less than `cost` bytes.
pub(crate) fn dictionary_of<T: Lane>(values: &[T], cost: usize) -> Option<(Vec<u16>, Vec<T>)> {
    let step = values.len().div_ceil(SAMPLE_ROWS);
    let mut sampled = Codes::new(SAMPLE_ROWS);
    let mut entries: Vec<T> = Vec::new();
    let mut rows = 0;
    for &value in values.iter().step_by(step) {
        rows += 1;
        if sampled.code(hash_word(value.to_bits() as u64), |code| entries[code] == value) == entries.len() {
            entries.push(value);
        }
    }
    let bytes = |entries: usize| 2 * 16 + codes_bytes(values.len(), entries) + entries * size_of::<T>();
    if !is_worth_trying(entries.len(), rows) || bytes(entries.len()) >= cost {
        return None;
    }
    let entries_max = values.len() / 2;
    let mut table = Codes::new(entries_max + 1);
    let mut codes = Vec::with_capacity(values.len());
    entries.clear();
    for &value in values {
        let code = table.code(hash_word(value.to_bits() as u64), |code| entries[code] == value);
        if code == entries.len() {
            entries.push(value);
            if entries.len() > entries_max || bytes(entries.len()) >= cost {
                return None;
            }
        }
        codes.push(code as u16);
    }
    Some((codes, entries))
}

/// Codes and the rows of first occurrence of the distinct texts, when they are few enough; `text(row)` is a row's text,
/// nothing for NULL (which gets the code before it).
pub(crate) fn text_dictionary<'a>(
    rows: usize,
    text: impl Fn(usize) -> Option<&'a [u8]>,
    is_too_much: impl Fn(usize, usize) -> bool,
) -> Option<(Vec<u16>, Vec<&'a [u8]>)> {
    let step = rows.div_ceil(SAMPLE_ROWS);
    let mut sampled = Codes::new(SAMPLE_ROWS);
    let mut entries: Vec<&[u8]> = Vec::new();
    let mut seen = 0;
    for value in (0..rows).step_by(step).filter_map(&text) {
        seen += 1;
        if sampled.code(hash_bytes(value), |code| entries[code] == value) == entries.len() {
            entries.push(value);
        }
    }
    if !is_worth_trying(entries.len(), seen) {
        return None;
    }
    let entries_max = (rows / 2).max(1);
    let mut table = Codes::new(entries_max + 1);
    let mut codes = Vec::with_capacity(rows);
    entries.clear();
    let (mut entry_bytes, mut last) = (0, 0);
    for row in 0..rows {
        if let Some(value) = text(row) {
            last = table.code(hash_bytes(value), |code| entries[code] == value);
            if last == entries.len() {
                entries.push(value);
                entry_bytes += value.len();
                if entries.len() > entries_max || is_too_much(entries.len(), entry_bytes) {
                    return None;
                }
            }
        }
        codes.push(last as u16);
    }
    Some((codes, entries))
}
