//! Texts over a small alphabet: every byte as its index in the alphabet, bit-packed.
//!
//! ```text
//!   alphabet "abcdefgh" (3 bits a letter): "bad" ─▶ 001 000 011, from the low bits up
//! ```
//!
//! Random identifiers, digits and hexadecimal numbers have no repeated substrings that symbols could stand for, but few
//! letters. Eight letters fill a whole number of bytes, which makes both directions fast.

use crate::error::{Error, Result};

/// Most letters of an alphabet.
pub(crate) const LETTERS_MAX: usize = 64;
/// Zero bytes after the packed letters, so that whole words can be loaded.
pub(crate) const LETTERS_SLACK: usize = 8;

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

    /// Appends packed letters and the slack.
    pub(crate) fn pack(&self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut indexes = [0u64; 256];
        for (index, &letter) in self.letters[..self.count].iter().enumerate() {
            indexes[usize::from(letter)] = index as u64;
        }
        let end = out.len() + self.packed_bytes(bytes.len());
        for chunk in bytes.chunks(8) {
            let mut word = 0;
            for (place, &byte) in chunk.iter().enumerate() {
                word |= indexes[usize::from(byte)] << (place * self.width);
            }
            out.extend_from_slice(&word.to_le_bytes()[..(chunk.len() * self.width).div_ceil(8)]);
        }
        out.resize(end, 0);
    }

    /// Appends letters `start..end` of `packed`.
    pub(crate) fn unpack(&self, packed: &[u8], start: usize, end: usize, out: &mut Vec<u8>) {
        let mask = (1u64 << self.width) - 1;
        let mut at = start;
        while at < end {
            // Eight letters start at a whole byte.
            let word = u64::from_le_bytes(crate::row::array(&packed[at / 8 * self.width..])) >> (at % 8 * self.width);
            let count = (8 - at % 8).min(end - at);
            let letters: [u8; 8] =
                std::array::from_fn(|place| self.letters[(word >> (place * self.width) & mask) as usize]);
            out.extend_from_slice(&letters[..count]);
            at += count;
        }
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
            for (start, end) in [(0, 300), (3, 3), (5, 6), (7, 250), (299, 300)] {
                let mut text = Vec::new();
                alphabet.unpack(&packed, start, end, &mut text);
                assert_eq!(text, bytes[start..end]);
            }
        }
        assert!(Alphabet::of(&(0..65).collect::<Vec<u8>>()).is_none());
        assert!(Alphabet::parse(&[0; 16], 0).is_err() && Alphabet::parse(&[60; 16], 0).is_err());
    }
}
