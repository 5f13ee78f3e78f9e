//! Texts over a small alphabet: every byte as its index in the alphabet, bit-packed.
//!
//! ```text
//!   alphabet "abcdefgh" (3 bits a letter): "bad" ─▶ 001 000 011, from the low bits up
//! ```
//!
//! Random identifiers, digits and hexadecimal numbers have no repeated substrings that symbols could stand for, but few
//! letters. Eight letters fill a whole number of bytes, which makes both directions fast.

use std::ops::Range;

use crate::error::{Error, Result};

/// Most letters of an alphabet.
pub(crate) const LETTERS_MAX: usize = 64;
/// Zero bytes after the packed letters, so that whole words can be loaded.
pub(crate) const LETTERS_SLACK: usize = 8;

/// Letters that are packed at a time.
const EIGHT: usize = 8;
/// Letters below which fours repeat even in random texts, so that a sample says nothing.
const SAMPLED_LETTERS_MIN: usize = 16;
/// A sample has so many pieces of so many bytes.
const SAMPLE_PIECES: usize = 16;
const PIECE_BYTES: usize = 1 << 10;
/// Bits of the filter that counts distinct fours.
const FOURS_SLOTS: usize = 1 << 16;
/// Texts with so many of the distinct fours of random ones count as random.
const RANDOM_SHARE: f64 = 0.9;
/// Most symbols of a table.
const SYMBOLS_MAX: usize = 255;

/// The letters in byte order, and the bits of an index.
#[derive(Clone, Debug)]
pub(crate) struct Alphabet {
    letters: [u8; LETTERS_MAX],
    count: usize,
    width: usize,
}

impl Alphabet {
    /// The alphabet of some bytes, unless it is too large.
    pub(crate) fn of(bytes: &[u8]) -> Option<Alphabet> {
        let mut used = [false; 256];
        bytes.iter().for_each(|&byte| used[usize::from(byte)] = true);
        let letters: Vec<u8> = (0..=255).filter(|&byte| used[usize::from(byte)]).collect();
        Alphabet::new(&letters)
    }

    fn new(letters: &[u8]) -> Option<Alphabet> {
        if letters.is_empty() || letters.len() > LETTERS_MAX {
            return None;
        }
        let mut alphabet = Alphabet { letters: [letters[0]; LETTERS_MAX], count: letters.len(), width: 1 };
        alphabet.letters[..letters.len()].copy_from_slice(letters);
        alphabet.width = (usize::BITS - (letters.len() - 1).leading_zeros()).max(1) as usize;
        Some(alphabet)
    }

    /// Bytes of this many packed letters, slack included.
    pub(crate) fn packed_bytes(&self, letters: usize) -> usize {
        (letters * self.width).div_ceil(8) + LETTERS_SLACK
    }

    /// Bytes of the alphabet as stored.
    pub(crate) fn stored_bytes(&self) -> usize {
        (1 + self.count).next_multiple_of(16)
    }

    /// Appends count u8 and letters, filled up to 16.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.stored_bytes();
        out.push(self.count as u8);
        out.extend_from_slice(&self.letters[..self.count]);
        out.resize(end, 0);
    }

    /// Reads what [`Alphabet::write`] wrote at `offset`.
    pub(crate) fn parse(block: &[u8], offset: usize) -> Result<Alphabet> {
        let count = usize::from(*block.get(offset).unwrap_or(&0));
        let letters = block.get(offset + 1..offset + 1 + count);
        letters.and_then(Alphabet::new).ok_or_else(|| Error::corrupt(format!("an alphabet of {count} letters")))
    }

    /// What symbols (FSST) need at least per byte of these letters, as far as a sample says; 0 when nothing is known.
    /// Training a table to find out takes a hundred times as long.
    pub(crate) fn symbols_ratio_min(&self, bytes: &[u8]) -> f64 {
        if self.count < SAMPLED_LETTERS_MIN || bytes.len() < SAMPLE_PIECES * PIECE_BYTES {
            return 0.0;
        }
        let indexes = self.indexes();
        let mut pairs = vec![0u32; LETTERS_MAX * LETTERS_MAX];
        let mut fours = vec![0u64; FOURS_SLOTS / 64];
        let mut sampled = 0.0;
        for piece in bytes.chunks_exact(bytes.len() / SAMPLE_PIECES).map(|piece| &piece[..PIECE_BYTES]) {
            let mut four = 0u32;
            for (at, &byte) in piece.iter().enumerate() {
                four = (four << 6 | indexes[usize::from(byte)] as u32) & 0xFF_FFFF;
                if at >= 3 {
                    pairs[four as usize % (LETTERS_MAX * LETTERS_MAX)] += 1;
                    let slot = (four.wrapping_mul(0x9E37_79B1) >> 16) as usize % FOURS_SLOTS;
                    fours[slot / 64] |= 1 << (slot % 64);
                    sampled += 1.0;
                }
            }
        }
        // Fours that come again make symbols of four letters and more, which may save anything.
        let seen: u32 = fours.iter().map(|word| word.count_ones()).sum();
        let all_distinct = |draws: f64, kinds: f64| kinds * (1.0 - (-draws / kinds).exp());
        let at_random = all_distinct(all_distinct(sampled, (self.count as f64).powi(4)), FOURS_SLOTS as f64);
        if f64::from(seen) < at_random * RANDOM_SHARE {
            return 0.0;
        }
        // Without them a code stands for a letter, or for one of the commonest pairs: as many as codes are left.
        pairs.sort_unstable_by(|a, b| b.cmp(a));
        let covered: u32 = pairs[..SYMBOLS_MAX - self.count].iter().sum();
        1.0 / (1.0 + f64::from(covered) / sampled)
    }

    fn indexes(&self) -> [u64; 256] {
        let mut indexes = [0; 256];
        for (index, &letter) in self.letters[..self.count].iter().enumerate() {
            indexes[usize::from(letter)] = index as u64;
        }
        indexes
    }

    /// Appends packed letters and the slack.
    pub(crate) fn pack(&self, bytes: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.packed_bytes(bytes.len()), 0);
        let (indexes, packed) = (self.indexes(), &mut out[start..]);
        match self.width {
            1 => pack::<1>(&indexes, bytes, packed),
            2 => pack::<2>(&indexes, bytes, packed),
            3 => pack::<3>(&indexes, bytes, packed),
            4 => pack::<4>(&indexes, bytes, packed),
            5 => pack::<5>(&indexes, bytes, packed),
            _ => pack::<6>(&indexes, bytes, packed),
        }
    }

    /// Appends letters `start..end` of `packed`.
    pub(crate) fn unpack(&self, packed: &[u8], start: usize, end: usize, out: &mut Vec<u8>) {
        match self.width {
            1 => unpack::<1>(&self.letters, packed, start..end, out),
            2 => unpack::<2>(&self.letters, packed, start..end, out),
            3 => unpack::<3>(&self.letters, packed, start..end, out),
            4 => unpack::<4>(&self.letters, packed, start..end, out),
            5 => unpack::<5>(&self.letters, packed, start..end, out),
            _ => unpack::<6>(&self.letters, packed, start..end, out),
        }
    }
}

/// Eight letters at a time, each time a whole word: the zeros after the last ones fall into the slack.
fn pack<const WIDTH: usize>(indexes: &[u64; 256], bytes: &[u8], packed: &mut [u8]) {
    let word_of = |letters: &[u8]| {
        let places = letters.iter().enumerate();
        places.fold(0, |word, (place, &byte)| word | indexes[usize::from(byte)] << (place * WIDTH))
    };
    let (eights, rest) = bytes.as_chunks::<EIGHT>();
    let mut at = 0;
    for letters in eights {
        packed[at..at + EIGHT].copy_from_slice(&word_of(letters).to_le_bytes());
        at += WIDTH;
    }
    packed[at..at + EIGHT].copy_from_slice(&word_of(rest).to_le_bytes());
}

/// Appends the letters of a range.
fn unpack<const WIDTH: usize>(letters: &[u8; LETTERS_MAX], packed: &[u8], range: Range<usize>, out: &mut Vec<u8>) {
    let eight_of = |word: u64| -> [u8; EIGHT] {
        // The mask keeps an index below 2^WIDTH, at most the length of the table.
        std::array::from_fn(|place| letters[(word >> (place * WIDTH)) as usize & ((1 << WIDTH) - 1)])
    };
    let word_at = |at: usize| u64::from_le_bytes(crate::bytes::array(&packed[at / EIGHT * WIDTH..]));
    // Eight letters start at a whole byte.
    let (first, last) = (range.start.next_multiple_of(EIGHT).min(range.end), range.end / EIGHT * EIGHT);
    if range.start < first {
        let skipped = range.start % EIGHT;
        out.extend_from_slice(&eight_of(word_at(range.start))[skipped..skipped + first - range.start]);
    }
    let mut at = first;
    if at < last {
        let start = out.len();
        out.resize(start + last - at, 0);
        // Up to the end of the last word: what is cut off panics, it does not read as zeros.
        let words = packed[at / EIGHT * WIDTH..(last / EIGHT - 1) * WIDTH + EIGHT].windows(EIGHT).step_by(WIDTH);
        for (eight, word) in out[start..].as_chunks_mut::<EIGHT>().0.iter_mut().zip(words) {
            *eight = eight_of(u64::from_le_bytes(crate::bytes::array(word)));
        }
        at = last;
    }
    if at < range.end {
        out.extend_from_slice(&eight_of(word_at(at))[..range.end - at]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_round_trip_at_every_width() {
        for count in 1..=LETTERS_MAX {
            let bytes: Vec<u8> = (0..300).map(|i| (i * i % count) as u8 + 32).collect();
            let alphabet = Alphabet::of(&bytes).unwrap();
            let mut stored = Vec::new();
            alphabet.write(&mut stored);
            assert_eq!(stored.len(), alphabet.stored_bytes());
            let alphabet = Alphabet::parse(&stored, 0).unwrap();
            let mut packed = Vec::new();
            alphabet.pack(&bytes, &mut packed);
            assert_eq!(packed.len(), alphabet.packed_bytes(bytes.len()));
            for (start, end) in [(0, 300), (3, 3), (5, 6), (7, 250), (0, 8), (8, 296), (299, 300)] {
                let mut text = Vec::new();
                alphabet.unpack(&packed, start, end, &mut text);
                assert_eq!(text, bytes[start..end]);
            }
        }
        assert!(Alphabet::of(&(0..65).collect::<Vec<u8>>()).is_none());
        assert!(Alphabet::parse(&[0; 16], 0).is_err() && Alphabet::parse(&[60; 16], 0).is_err());
    }

    /// Symbols never need less than the sample says, and of random letters it says something.
    #[test]
    fn a_sample_says_what_symbols_need_at_least() {
        let letters = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
        let mut state = 7u64;
        let mut random = move |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut text_of = |kind: usize, len: usize| -> Vec<u8> {
            let mut text = Vec::new();
            while text.len() < len {
                match kind {
                    0..64 => text.push(letters[random(kind + 1)]),
                    // Skewed letters; words; numbers behind a prefix; what has few different letters at even places.
                    64 => text.push(letters[random(8) * random(8)]),
                    65 => {
                        let word = random(600);
                        text.extend((0..2 + word % 7).map(|at| letters[(word * (at + 3) * 31 + at * word / 7) % 26]));
                        text.push(b' ');
                    }
                    66 => text.extend(format!("customer#{:09}|", random(1 << 30)).bytes()),
                    _ => text.extend([letters[random(4)], letters[random(60)]]),
                }
            }
            text
        };
        for kind in 0..68 {
            let texts: Vec<Vec<u8>> = (0..150).map(|_| text_of(kind, 250)).collect();
            let ends: Vec<u32> = texts
                .iter()
                .scan(0, |end, text| {
                    *end += text.len() as u32;
                    Some(*end)
                })
                .collect();
            let bytes = texts.concat();
            let alphabet = Alphabet::of(&bytes).unwrap();
            let least = alphabet.symbols_ratio_min(&bytes);
            let mut trainer = crate::encoding::symbols::SymbolTrainer::default();
            trainer.train(&ends, &bytes);
            let needed = trainer.compress(&ends, &bytes).unwrap().1.len() as f64 / bytes.len() as f64;
            assert!(least <= needed, "texts of kind {kind}: {least} at least, {needed} needed");
            let says_something = least > 0.0;
            assert!(says_something || !(SAMPLED_LETTERS_MIN - 1..64).contains(&kind), "texts of kind {kind}");
            assert!(alphabet.symbols_ratio_min(&bytes[..5000]) == 0.0, "too few for a sample");
        }
    }
}
