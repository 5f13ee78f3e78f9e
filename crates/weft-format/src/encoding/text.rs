//! Where each text of a block lies: bit-packed lengths, and a start for every 32 texts.
//!
//! ```text
//!   texts of 5, 7, 5, 12, ... bytes: length_min 5, lengths 0 2 0 7 in 3 bits each, starts of texts 0, 32, 64, ...
//!   text 35 starts at starts[1] + 5 + length 32 + 5 + length 33 + 5 + length 34
//! ```
//!
//! Plain offsets would cost about 14 bits a text, this costs 3 to 5, and reading one adds at most 31 lengths.

use crate::bytes::array;
use crate::error::{Error, Result};

/// Texts that share one stored start.
pub const TEXT_GROUP_ROWS: usize = 32;

/// Bits of a word that are there wherever in its first byte a number begins.
const WORD_BITS: u32 = 57;

/// The parsed index; all offsets are within the block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextIndex {
    length_min: u32,
    length_width: u8,
    start_width: u8,
    /// Where the packed lengths start.
    lengths: u32,
    /// Where the packed starts of the groups start.
    starts: u32,
    /// Where the bytes of the texts start.
    bytes: u32,
    /// How many bytes the texts have.
    bytes_len: u32,
}

fn width_of(max: u32) -> usize {
    32 - max.leading_zeros() as usize
}

/// Appends `values` in `width` bits each.
fn write_bits(values: impl Iterator<Item = u32>, width: usize, out: &mut Vec<u8>) {
    let (mut pending, mut bits) = (0u64, 0);
    for value in values {
        pending |= u64::from(value) << bits;
        bits += width;
        while bits >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(pending as u8);
    }
}

#[inline]
fn read_bits(bytes: &[u8], index: usize, width: usize) -> u32 {
    let bit = index * width;
    let word = u64::from_le_bytes(array(&bytes[bit / 8..]));
    (word >> (bit % 8) & ((1 << width) - 1)) as u32
}

/// The sum of the numbers `from..to`, as many of them from one word as it has whole.
#[inline]
fn sum_bits(bytes: &[u8], from: usize, to: usize, width: usize) -> usize {
    let (mask, in_word) = ((1u64 << width) - 1, WORD_BITS / width as u32);
    let (mut at, mut sum) = (from, 0);
    while at < to {
        let bit = at * width;
        let mut word = u64::from_le_bytes(array(&bytes[bit / 8..])) >> (bit % 8);
        let end = to.min(at + in_word as usize);
        for _ in at..end {
            sum += word & mask;
            word >>= width;
        }
        at = end;
    }
    sum as usize
}

/// Bytes of the index of texts with these lengths, padding included.
pub(crate) fn index_bytes(count: usize, length_min: usize, length_max: usize, total: usize) -> usize {
    let length_width = width_of((length_max - length_min) as u32);
    let start_width = if length_width == 0 { 0 } else { width_of(total as u32) };
    let groups = count.div_ceil(TEXT_GROUP_ROWS);
    16 + ((count * length_width).div_ceil(8) + (groups * start_width).div_ceil(8) + 8).next_multiple_of(16)
}

/// Appends an index. `ends[i]` is where text `i` ends, in bytes or letters; text 0 starts at 0. The caller appends the
/// `bytes_len` bytes of the texts.
pub(crate) fn write_index(ends: &[u32], bytes_len: usize, out: &mut Vec<u8>) {
    let lengths = || ends.iter().scan(0, |start, &end| Some(end - std::mem::replace(start, end)));
    let length_min = lengths().min().unwrap_or(0);
    let length_width = width_of(lengths().max().unwrap_or(0) - length_min);
    let total = ends.last().copied().unwrap_or(0);
    let start_width = if length_width == 0 { 0 } else { width_of(total) };
    out.extend_from_slice(&length_min.to_le_bytes());
    out.extend_from_slice(&[length_width as u8, start_width as u8, 0, 0]);
    out.extend_from_slice(&(bytes_len as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    let start = out.len();
    write_bits(lengths().map(|length| length - length_min), length_width, out);
    let groups = ends.len().div_ceil(TEXT_GROUP_ROWS);
    let starts = (0..groups).map(|group| if group == 0 { 0 } else { ends[group * TEXT_GROUP_ROWS - 1] });
    write_bits(starts, start_width, out);
    // Eight bytes of slack: the reader loads whole words.
    let padded = start + (out.len() - start + 8).next_multiple_of(16);
    out.resize(padded, 0);
}

impl TextIndex {
    /// Parses what [`write_index`] wrote at `offset`; the bytes must lie within the block.
    pub(crate) fn parse(block: &[u8], offset: usize, rows: usize) -> Result<TextIndex> {
        let header = block.get(offset..offset + 16).ok_or_else(|| Error::corrupt("a text index is cut off"))?;
        let (length_width, start_width) = (header[4], header[5]);
        if length_width > 32 || start_width > 32 {
            return Err(Error::corrupt("a text index claims more than 32 bits per length"));
        }
        let lengths = offset + 16;
        let starts = lengths + (rows * usize::from(length_width)).div_ceil(8);
        let groups = rows.div_ceil(TEXT_GROUP_ROWS);
        let end = starts + (groups * usize::from(start_width)).div_ceil(8);
        let bytes = lengths + (end - lengths + 8).next_multiple_of(16);
        let bytes_len = u32::from_le_bytes(array(&header[8..]));
        if bytes + bytes_len as usize > block.len() {
            return Err(Error::corrupt("the bytes of texts are cut off"));
        }
        Ok(TextIndex {
            length_min: u32::from_le_bytes(array(header)),
            length_width,
            start_width,
            lengths: lengths as u32,
            starts: starts as u32,
            bytes: bytes as u32,
            bytes_len,
        })
    }

    /// The bytes of all texts.
    pub(crate) fn all<'a>(&self, block: &'a [u8]) -> &'a [u8] {
        &block[self.bytes as usize..(self.bytes + self.bytes_len) as usize]
    }

    /// Where the bytes of all texts start and how many there are.
    pub(crate) fn extent(&self) -> (usize, usize) {
        (self.bytes as usize, self.bytes_len as usize)
    }

    /// Start and end of one text, within [`TextIndex::all`].
    #[inline]
    pub(crate) fn range(&self, block: &[u8], position: usize) -> (usize, usize) {
        let width = usize::from(self.length_width);
        let length_min = self.length_min as usize;
        if width == 0 {
            return (position * length_min, (position + 1) * length_min);
        }
        let group = position / TEXT_GROUP_ROWS;
        let mut start = read_bits(&block[self.starts as usize..], group, self.start_width.into()) as usize;
        let lengths = &block[self.lengths as usize..];
        let first = group * TEXT_GROUP_ROWS;
        start += (position - first) * length_min + sum_bits(lengths, first, position, width);
        (start, start + length_min + read_bits(lengths, position, width) as usize)
    }

    /// Calls `each(start, end)` for every text in order; the ranges lie within [`TextIndex::all`] or this panics.
    #[inline]
    pub(crate) fn for_each(&self, block: &[u8], rows: usize, mut each: impl FnMut(usize, usize)) {
        let width = usize::from(self.length_width);
        let lengths = &block[self.lengths as usize..];
        let mut start = 0;
        for index in 0..rows {
            let end = start + self.length_min as usize + read_bits(lengths, index, width) as usize;
            each(start, end);
            start = end;
        }
    }

    /// Tests that lengths and starts agree; answers where the last text ends.
    pub(crate) fn check(&self, block: &[u8], rows: usize) -> Result<usize> {
        let mut at = 0;
        for position in 0..rows {
            let (start, end) = self.range(block, position);
            if start != at {
                return Err(Error::corrupt(format!("text {position} lies at {start}..{end}, expected {at}")));
            }
            at = end;
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_summed_as_they_are_read() {
        let bytes: Vec<u8> = (0..300u32).map(|at| (at * 167 % 251) as u8).collect();
        for width in 1..=32 {
            for (from, to) in [(0, 0), (0, 1), (0, 31), (32, 63), (33, 60), (5, 5)] {
                let read: usize = (from..to).map(|index| read_bits(&bytes, index, width) as usize).sum();
                assert_eq!(sum_bits(&bytes, from, to, width), read, "{from}..{to} of {width} bits");
            }
        }
    }
}
