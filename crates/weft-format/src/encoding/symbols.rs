//! FSST: texts as codes of one byte, each a symbol of up to 8 bytes; one symbol table per column of a column table.
//!
//! ```text
//!   symbols 0 = "http://", 1 = "www.", 2 = "tum"     "http://www.tum!"  ─▶  00 01 02 FF 21
//!                                                     FF escapes the byte after it
//! ```
//!
//! 1. Every text is compressed by itself, so one can be read alone.
//! 2. A table has at most 255 symbols of 1 to 8 bytes.
//!
//! Training follows Boncz, Neumann, Leis, "FSST: Fast Random Access String Compression" (VLDB 2020), through `fsst-rs`;
//! reading is our own, so that damaged bytes cannot reach unchecked code.

use std::fmt;

use fsst::Compressor;

use crate::error::{Error, Result};

/// The byte that says the next one stands for itself.
pub(crate) const ESCAPE: u8 = 255;
/// Bytes of text below which a block is not worth a symbol table.
const TRAINING_BYTES_MIN: usize = 2_048;
/// Bytes of text given to training.
const SAMPLE_BYTES: usize = 4 << 10;

/// What turns codes into text.
pub struct SymbolTable {
    symbols: [u64; 256],
    lengths: [u8; 256],
    count: usize,
}

impl fmt::Debug for SymbolTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SymbolTable({} symbols)", self.count)
    }
}

impl SymbolTable {
    /// Reads: count u8, lengths u8 each, then the symbols' bytes.
    pub fn parse(bytes: &[u8]) -> Result<SymbolTable> {
        let cut = || Error::corrupt("a symbol table is cut off");
        let count = usize::from(*bytes.first().ok_or_else(cut)?);
        let lengths_bytes = bytes.get(1..1 + count).ok_or_else(cut)?;
        let (mut symbols, mut lengths) = ([0; 256], [0; 256]);
        let mut at = 1 + count;
        for (code, &length) in lengths_bytes.iter().enumerate() {
            if !(1..=8).contains(&length) || code == usize::from(ESCAPE) {
                return Err(Error::corrupt(format!("symbol {code} has {length} bytes, not 1 to 8")));
            }
            let symbol = bytes.get(at..at + usize::from(length)).ok_or_else(cut)?;
            let mut word = [0; 8];
            word[..symbol.len()].copy_from_slice(symbol);
            symbols[code] = u64::from_le_bytes(word);
            lengths[code] = length;
            at += symbol.len();
        }
        if at != bytes.len() {
            return Err(Error::corrupt("a symbol table has bytes left over"));
        }
        Ok(SymbolTable { symbols, lengths, count })
    }

    /// Appends the text of some codes. An escape at the end and unknown codes, which no writer makes, add nothing.
    #[inline]
    pub(crate) fn decompress(&self, codes: &[u8], out: &mut Vec<u8>) {
        out.reserve(codes.len() * 8 + 8);
        let mut len = out.len();
        let mut at = 0;
        while at < codes.len() {
            let code = codes[at];
            at += 1;
            if code == ESCAPE {
                if let Some(&byte) = codes.get(at) {
                    // SAFETY: 8 bytes were reserved per code; `len` grew by at most 8 for each code before this one.
                    unsafe { out.as_mut_ptr().add(len).write(byte) };
                    len += 1;
                }
                at += 1;
            } else {
                let symbol = self.symbols[usize::from(code)];
                // SAFETY: as above; the write of 8 bytes stays within the reserve, which has 8 bytes to spare.
                unsafe { out.as_mut_ptr().add(len).cast::<[u8; 8]>().write_unaligned(symbol.to_le_bytes()) };
                len += usize::from(self.lengths[usize::from(code)]);
            }
        }
        // SAFETY: every byte up to `len` was written above, within the capacity.
        unsafe { out.set_len(len) };
    }
}

/// Trains one symbol table per column, at the first block that is worth it, and compresses with it.
#[derive(Default)]
pub(crate) struct SymbolTrainer {
    compressor: Option<Compressor>,
    used: bool,
    ratio: f64,
}

impl SymbolTrainer {
    /// Whether it was not trained yet, or for nothing.
    pub(crate) fn is_new(&self) -> bool {
        self.compressor.is_none() || !self.used
    }

    /// Compressed bytes per byte of text, as last seen; a guess before.
    pub(crate) fn ratio(&self) -> f64 {
        if self.compressor.is_some() { self.ratio } else { 0.7 }
    }

    /// Trains a table, unless there is one or the texts are too short to be worth it.
    pub(crate) fn train(&mut self, ends: &[u32], bytes: &[u8]) {
        if self.compressor.is_some() || bytes.len() < TRAINING_BYTES_MIN {
            return;
        }
        let step = (bytes.len() / SAMPLE_BYTES).max(1);
        let sample: Vec<&[u8]> = texts(ends, bytes).into_iter().filter(|text| !text.is_empty()).step_by(step).collect();
        let compressor = Compressor::train(&sample);
        let (mut codes, mut code_ends) = (Vec::new(), Vec::new());
        compressor.compress_bulk_into::<{ Compressor::DEFAULT_BULK_LANES }>(&sample, &mut codes, &mut code_ends);
        let sampled: usize = sample.iter().map(|text| text.len()).sum();
        self.ratio = codes.len() as f64 / sampled.max(1) as f64;
        self.compressor = Some(compressor);
    }

    /// Compresses texts one by one; answers ends and bytes, or nothing without a table.
    pub(crate) fn compress(&mut self, ends: &[u32], bytes: &[u8]) -> Option<(Vec<u32>, Vec<u8>)> {
        let compressor = self.compressor.as_ref()?;
        let (mut codes, mut code_ends) = (Vec::new(), Vec::with_capacity(ends.len()));
        let texts = texts(ends, bytes);
        compressor.compress_bulk_into::<{ Compressor::DEFAULT_BULK_LANES }>(&texts, &mut codes, &mut code_ends);
        self.ratio = codes.len() as f64 / bytes.len().max(1) as f64;
        Some((code_ends.into_iter().map(|end| end as u32).collect(), codes))
    }

    /// Notes that a block was stored in this table's codes.
    pub(crate) fn mark_used(&mut self) {
        self.used = true;
    }

    /// The table in the form of [`SymbolTable::parse`]; empty when no block needs it.
    pub(crate) fn table(&self) -> Vec<u8> {
        let Some(compressor) = self.compressor.as_ref().filter(|_| self.used) else { return Vec::new() };
        let lengths = compressor.symbol_lengths();
        let mut out = vec![lengths.len() as u8];
        out.extend_from_slice(lengths);
        for (symbol, &length) in compressor.symbol_table().iter().zip(lengths) {
            out.extend_from_slice(&symbol.to_u64().to_le_bytes()[..usize::from(length)]);
        }
        out
    }
}

/// The texts that end at `ends`.
fn texts<'a>(ends: &[u32], bytes: &'a [u8]) -> Vec<&'a [u8]> {
    let mut start = 0;
    let text = |&end: &u32| &bytes[std::mem::replace(&mut start, end) as usize..end as usize];
    ends.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_tables_are_refused() {
        assert!(SymbolTable::parse(&[]).is_err());
        assert!(SymbolTable::parse(&[2, 1]).is_err());
        assert!(SymbolTable::parse(&[1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_err());
        assert!(SymbolTable::parse(&[1, 2, b'a', b'b', b'c']).is_err());
        let table = SymbolTable::parse(&[1, 2, b'a', b'b']).unwrap();
        let mut text = Vec::new();
        table.decompress(&[0, ESCAPE, b'!', 7, ESCAPE], &mut text);
        assert_eq!(text, b"ab!");
    }
}
