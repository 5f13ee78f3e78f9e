//! A selection of the rows of one block or part: one bit per row, bit 0 of word 0 first.
//!
//! ```text
//!   rows 0..5, rows 1 and 4 selected:  words = [0b10010], len = 5
//! ```
//!
//! 1. Bits at and beyond `len` are 0.

/// A set of row positions below a fixed length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    words: Vec<u64>,
    len: usize,
}

impl Mask {
    /// Every row selected.
    pub fn all(len: usize) -> Mask {
        let mut mask = Mask { words: vec![u64::MAX; len.div_ceil(64)], len };
        mask.trim();
        mask
    }

    /// No row selected.
    pub fn none(len: usize) -> Mask {
        Mask { words: vec![0; len.div_ceil(64)], len }
    }

    /// A mask from words of 64 rows; bits beyond `len` are ignored.
    pub fn from_words(words: Vec<u64>, len: usize) -> Mask {
        assert_eq!(words.len(), len.div_ceil(64), "a mask has one word per 64 rows");
        let mut mask = Mask { words, len };
        mask.trim();
        mask
    }

    fn trim(&mut self) {
        if !self.len.is_multiple_of(64)
            && let Some(last) = self.words.last_mut()
        {
            *last &= (1 << (self.len % 64)) - 1;
        }
    }

    /// How many rows there are, selected or not.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows at all (see [`Mask::any`] for no selected rows).
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether a row is selected.
    pub fn get(&self, row: usize) -> bool {
        assert!(row < self.len, "row {row} of a mask of {}", self.len);
        self.words[row / 64] >> (row % 64) & 1 == 1
    }

    /// Selects a row.
    pub fn set(&mut self, row: usize) {
        assert!(row < self.len, "row {row} of a mask of {}", self.len);
        self.words[row / 64] |= 1 << (row % 64);
    }

    /// Deselects a row.
    pub fn clear(&mut self, row: usize) {
        assert!(row < self.len, "row {row} of a mask of {}", self.len);
        self.words[row / 64] &= !(1 << (row % 64));
    }

    /// Deselects every row.
    pub fn clear_all(&mut self) {
        self.words.fill(0);
    }

    /// Selects rows `start..end`.
    pub fn set_range(&mut self, start: usize, end: usize) {
        assert!(start <= end && end <= self.len, "rows {start}..{end} of a mask of {}", self.len);
        let mut at = start;
        while at < end {
            let bits = (64 - at % 64).min(end - at);
            let ones = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
            self.words[at / 64] |= ones << (at % 64);
            at += bits;
        }
    }

    /// How many rows are selected.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether any row is selected.
    pub fn any(&self) -> bool {
        self.words.iter().any(|&word| word != 0)
    }

    /// Keeps the rows that `other` selects too.
    pub fn and(&mut self, other: &Mask) {
        assert_eq!(self.len, other.len, "masks of the same rows");
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Drops the rows that `other` selects.
    pub fn and_not(&mut self, other: &Mask) {
        assert_eq!(self.len, other.len, "masks of the same rows");
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// The words, 64 rows each; bits beyond the length are 0.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Changes the words; bits beyond the length must stay 0.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// The selected rows, in order.
    pub fn iter_ones(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    index * 64 + bit
                })
            })
        })
    }

    /// The selected rows as positions, for [`crate::Block::decode_selected`].
    pub fn positions(&self) -> Vec<u32> {
        let mut positions = Vec::with_capacity(self.count());
        positions.extend(self.iter_ones().map(|row| row as u32));
        positions
    }

    /// The values of the selected rows, in order; one value per row comes in.
    pub fn keep<T: Copy + Default>(&self, values: &[T]) -> Vec<T> {
        assert_eq!(self.len, values.len(), "a value for each row of the mask");
        self.keep_pieces(|piece, room| {
            let values = &values[piece * PIECE_ROWS..];
            let count = values.len().min(PIECE_ROWS);
            room[..count].copy_from_slice(&values[..count]);
        })
    }

    /// The same of values that are made piece by piece: `fill` writes those of the n-th [`PIECE_ROWS`] rows; behind the
    /// last row it may write anything.
    pub(crate) fn keep_pieces<T: Copy + Default>(&self, mut fill: impl FnMut(usize, &mut [T; PIECE_ROWS])) -> Vec<T> {
        let mut kept = Vec::with_capacity(self.count());
        let mut room = [T::default(); PIECE_ROWS];
        for (piece, words) in self.words.chunks(PIECE_ROWS / 64).enumerate() {
            fill(piece, &mut room);
            let count = compact(words, &mut room);
            kept.extend_from_slice(&room[..count]);
        }
        kept
    }
}

/// Rows whose values [`Mask::keep_pieces`] asks for at once.
pub(crate) const PIECE_ROWS: usize = 1024;

/// Moves the values whose bits are set to the front, in order, and answers how many these are.
///
/// Words whose rows are all selected are moved as they are; of the others every value is written and those that are not
/// selected are written over, without a branch: rows that died lie scattered.
fn compact<T: Copy>(words: &[u64], values: &mut [T; PIECE_ROWS]) -> usize {
    let mut next = 0;
    for (at, &word) in words.iter().enumerate() {
        let start = at * 64;
        if word == u64::MAX {
            values.copy_within(start..start + 64, next);
            next += 64;
            continue;
        }
        for bit in 0..64 {
            values[next % PIECE_ROWS] = values[(start + bit) % PIECE_ROWS];
            next += (word >> bit & 1) as usize;
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_values_are_those_of_the_selected_rows() {
        let mut seed = 7u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 32 ^ seed << 32
        };
        for len in [0usize, 1, 5, 63, 64, 65, 128, 200, 8192] {
            let values: Vec<u64> = (0..len as u64).map(|row| row * 3 + 1).collect();
            for words in [
                vec![u64::MAX; len.div_ceil(64)],
                vec![0; len.div_ceil(64)],
                (0..len.div_ceil(64)).map(|_| random()).collect(),
                (0..len.div_ceil(64)).map(|_| random() | random() | random() | random()).collect(),
                (0..len.div_ceil(64)).map(|at| if at % 2 == 0 { u64::MAX } else { random() & random() }).collect(),
            ] {
                let mask = Mask::from_words(words, len);
                let expected: Vec<u64> = mask.iter_ones().map(|row| values[row]).collect();
                assert_eq!(mask.keep(&values), expected);
            }
        }
    }

    #[test]
    fn ranges_and_bits_agree_with_a_bool_vector() {
        for len in [0, 1, 63, 64, 65, 200] {
            assert_eq!(Mask::all(len).count(), len);
            for (start, end) in [(0, len), (len / 3, len / 2), (len / 2, len)] {
                let mut mask = Mask::none(len);
                mask.set_range(start, end);
                let expected: Vec<usize> = (start..end).collect();
                assert_eq!(mask.iter_ones().collect::<Vec<_>>(), expected);
                let mut rest = Mask::all(len);
                rest.and_not(&mask);
                assert_eq!(rest.count(), len - (end - start));
                mask.and(&rest);
                assert!(!mask.any());
            }
        }
    }
}
