//! Some entries in one piece of memory: sorted, searched, merged, walked in either direction.
//!
//! ```text
//!   places   head 80 00 00 2a 80 00 00 07 · ts 41 · 0..8      head 80 00 00 2b 80 00 00 03 · ts 44 · 8..16
//!   bytes    80 00 00 2a 80 00 00 07 80 00 00 2b 80 00 00 03
//! ```
//!
//! A head is an entry's first 8 bytes as a number: most comparisons end there and touch no bytes.

use std::cmp::Ordering;

use weft_format::Timestamp;
use weft_format::key::head;

use super::entry::EntryBuffer;

/// Guesses of a search before it halves: values that are spread evenly are found in two or three.
const GUESSES: usize = 4;
/// A stretch of places that is so short is halved without guesses.
const GUESSED_MIN: usize = 16;

/// Entries, in ascending order or (while they are collected) in any, in buffers that are used again.
#[derive(Clone, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    places: Vec<BatchPlace>,
}

#[derive(Clone, Copy)]
struct BatchPlace {
    head: u64,
    ts: Timestamp,
    start: u32,
    len: u32,
    value_len: u32,
}

impl Batch {
    /// What an entry takes besides its bytes.
    pub(crate) const PLACE_BYTES: usize = size_of::<BatchPlace>();

    /// With room for so many entries and their bytes.
    pub(crate) fn with_capacity(entries: usize, bytes: usize) -> Batch {
        Batch { bytes: Vec::with_capacity(bytes), places: Vec::with_capacity(entries) }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    pub(crate) fn push(&mut self, value: &[u8], key: &[u8], ts: Timestamp) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.bytes.extend_from_slice(key);
        let end = u32::try_from(self.bytes.len()).expect("a batch is smaller than 4 GiB");
        let head = head(&self.bytes[start..]);
        let (start, value_len) = (start as u32, value.len() as u32);
        self.places.push(BatchPlace { head, ts, start, len: end - start, value_len });
    }

    /// Adds an entry of another batch, with a timestamp of its own.
    #[inline]
    pub(crate) fn push_from(&mut self, other: &Batch, index: usize, ts: Timestamp) {
        let place = &other.places[index];
        debug_assert!(place.value_len <= place.len, "a value is the beginning of its entry");
        let start = self.bytes.len();
        self.bytes.extend_from_slice(other.bytes_of(place));
        assert!(self.bytes.len() <= u32::MAX as usize, "a batch is smaller than 4 GiB");
        self.places.push(BatchPlace { ts, start: start as u32, ..*place });
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of all entries.
    pub(crate) fn byte_count(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of all entries and their places.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + self.places.len() * Batch::PLACE_BYTES
    }

    fn bytes_of(&self, place: &BatchPlace) -> &[u8] {
        &self.bytes[place.start as usize..(place.start + place.len) as usize]
    }

    pub(crate) fn bytes(&self, index: usize) -> &[u8] {
        self.bytes_of(&self.places[index])
    }

    pub(crate) fn value(&self, index: usize) -> &[u8] {
        &self.bytes(index)[..self.places[index].value_len as usize]
    }

    pub(crate) fn ts(&self, index: usize) -> Timestamp {
        self.places[index].ts
    }

    pub(crate) fn head(&self, index: usize) -> u64 {
        self.places[index].head
    }

    /// Sorts entries that were pushed in any order.
    pub(crate) fn sort(&mut self) {
        let Batch { bytes, places } = self;
        let of = |place: &BatchPlace| &bytes[place.start as usize..(place.start + place.len) as usize];
        places.sort_unstable_by(|a, b| a.head.cmp(&b.head).then_with(|| of(a).cmp(of(b))));
        debug_assert!(self.is_sorted(), "heads are in the order of the entries that they are of");
    }

    /// Whether no entry is above the one behind it.
    pub(super) fn is_sorted(&self) -> bool {
        self.places.is_sorted_by(|a, b| self.bytes_of(a) <= self.bytes_of(b))
    }

    /// Copies an entry out.
    pub(crate) fn read(&self, index: usize, entry: &mut EntryBuffer) {
        let place = self.places[index];
        entry.set(self.bytes(index), place.value_len as usize, place.ts);
    }

    /// The entries from `low` on and below `high`, sorted; this batch may be in any order.
    pub(crate) fn selected(&self, low: &[u8], high: Option<&[u8]>) -> Batch {
        let (first, last) = (head(low), high.map_or(u64::MAX, head));
        let mut selected = Batch::default();
        for (index, place) in self.places.iter().enumerate().filter(|(_, place)| (first..=last).contains(&place.head)) {
            let bytes = self.bytes_of(place);
            if bytes >= low && high.is_none_or(|high| bytes < high) {
                selected.push_from(self, index, place.ts);
            }
        }
        selected.sort();
        selected
    }

    /// How many entries are below `target`. Begins where it would be if values were spread evenly.
    pub(crate) fn count_below(&self, target: &[u8]) -> usize {
        let wanted = head(target);
        let is_below = |place: &BatchPlace| match place.head.cmp(&wanted) {
            Ordering::Equal => self.bytes_of(place) < target,
            order => order.is_lt(),
        };
        let (mut low, mut high) = (0, self.places.len());
        for _ in 0..GUESSES {
            if high - low < GUESSED_MIN {
                break;
            }
            let (first, last) = (self.places[low].head, self.places[high - 1].head);
            if wanted <= first || wanted > last {
                // At one end, or at one of many that begin with the same 8 bytes.
                break;
            }
            let share = (wanted - first) as f64 / (last - first) as f64;
            let probe = low + ((share * (high - low) as f64) as usize).min(high - low - 1);
            // Entries on both sides of the guess, so that the next stretch is short when the guess is good.
            let margin = ((high - low) as u64).isqrt() as usize / 2;
            let (left, right) = (probe.saturating_sub(margin).max(low), (probe + margin).min(high - 1));
            if !is_below(&self.places[left]) {
                high = left;
            } else if is_below(&self.places[right]) {
                low = right + 1;
            } else {
                (low, high) = (left + 1, right);
            }
        }
        low + self.places[low..high].partition_point(is_below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Prng;

    #[test]
    fn searches_find_what_a_walk_finds() {
        for (seed, count, spread) in [(1, 1, 9), (2, 15, 1 << 20), (3, 400, 1 << 30), (4, 5000, 1 << 40), (5, 3000, 40)]
        {
            let mut rng = Prng(seed);
            let mut batch = Batch::default();
            for n in 0..count {
                // Some even, some bunched, some that share their first 8 bytes.
                let value = match rng.below(3) {
                    0 => rng.below(spread).to_be_bytes().to_vec(),
                    1 => (rng.below(spread) / 1000).to_be_bytes().to_vec(),
                    _ => [&7u64.to_be_bytes()[..], &[rng.below(250) as u8]].concat(),
                };
                batch.push(&value[rng.below(3) as usize..], &[n as u8], Timestamp(n));
            }
            batch.sort();
            assert!((1..batch.len()).all(|index| batch.bytes(index - 1) <= batch.bytes(index)));
            for n in 0..2000 {
                let mut target = batch.bytes(rng.below(count) as usize).to_vec();
                match n % 4 {
                    0 => target.push(0),
                    1 => target = rng.below(spread).to_be_bytes().to_vec(),
                    2 => target.truncate(rng.below(9) as usize),
                    _ => {}
                }
                let expected = (0..batch.len()).filter(|&index| *batch.bytes(index) < target[..]).count();
                assert_eq!(batch.count_below(&target), expected, "{target:?} of batch {seed}");
            }
        }
    }
}
