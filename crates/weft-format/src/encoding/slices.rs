//! A wide block in slices: blocks of fewer rows, each with its own place and checksum in the file, so that one row
//! costs what its slice has, not what 8192 rows have.
//!
//! ```text
//!   8192 texts in 384 KiB:  rows 0..512 │ 512..1024 │ 1024..1536 │ ... │ 7680..8192     32 KiB at most on average
//!     one row       loads one slice
//!     some rows     load the slices that have one, and are read as a block whose other rows seem to be NULL
//! ```
//!
//! 1. All slices but the last have the same number of rows, a power of two from 64 up: each starts at a word of a mask.
//! 2. Only texts and bytes that are stored one by one are cut: what repeats is stored once per block.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer};

use crate::encoding::block::{Block, Body};
use crate::encoding::kind::Kind;
use crate::encoding::layout::{BLOCK_ROWS, SLICE_BYTES, SLICE_ROWS_MIN, SLICED_BYTES_MIN};
use crate::error::Result;
use crate::mask::Mask;
use crate::predicate::Predicate;

/// How many rows a slice has, of a block with this many rows in this many bytes.
pub(crate) fn slice_rows(rows: usize, bytes: usize) -> usize {
    if bytes < SLICED_BYTES_MIN {
        return BLOCK_ROWS;
    }
    let fitting = (rows * SLICE_BYTES / bytes).clamp(SLICE_ROWS_MIN, BLOCK_ROWS);
    // The greatest power of two that is not above it.
    1 << fitting.ilog2()
}

/// The rows of a slice of a block.
pub(crate) fn rows_of_slice(rows: usize, slice_rows: usize, slice: usize) -> Range<usize> {
    slice * slice_rows..rows.min((slice + 1) * slice_rows)
}

/// The slices of a block that were loaded; the rows of the others read as NULL.
#[derive(Debug)]
pub(crate) struct Slices {
    slice_rows: usize,
    all: Vec<Option<Arc<Block>>>,
}

impl Block {
    /// A block of slices of `slice_rows` rows, some of which may be missing.
    pub(crate) fn of_slices(kind: Kind, rows: usize, slice_rows: usize, all: Vec<Option<Arc<Block>>>) -> Block {
        let slices = Slices { slice_rows, all };
        let nulls_of =
            |(rows, slice): (Range<usize>, Option<&Block>)| slice.map_or(rows.len(), |slice| slice.null_count);
        let null_count = slices.with_rows(rows).map(nulls_of).sum();
        let body = Body::Slices(slices);
        Block { kind, rows, null_count, buffer: Buffer::from_vec(Vec::<u8>::new()), validity: None, body }
    }
}

impl Slices {
    /// The slice with a row, when it was loaded, and the row's number in it.
    pub(crate) fn at(&self, position: usize) -> Option<(&Block, usize)> {
        self.all[position / self.slice_rows].as_deref().map(|slice| (slice, position % self.slice_rows))
    }

    pub(crate) fn loaded(&self) -> impl Iterator<Item = &Block> {
        self.all.iter().flatten().map(|slice| &**slice)
    }

    /// Each slice with its rows.
    fn with_rows(&self, rows: usize) -> impl Iterator<Item = (Range<usize>, Option<&Block>)> {
        let place = move |(number, slice)| (rows_of_slice(rows, self.slice_rows, number), slice);
        self.all.iter().map(Option::as_deref).enumerate().map(place)
    }

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

    /// The validity of all rows of a block that has NULLs.
    pub(crate) fn nulls(&self, rows: usize) -> NullBuffer {
        let mut bits = BooleanBufferBuilder::new(rows);
        for (rows, slice) in self.with_rows(rows) {
            match slice.map(Block::nulls) {
                Some(Some(nulls)) => bits.append_buffer(nulls.inner()),
                found => bits.append_n(rows.len(), found.is_some()),
            }
        }
        NullBuffer::new(bits.finish())
    }

    /// Views of all texts, which point into a buffer per slice.
    pub(crate) fn views(&self, rows: usize) -> (Vec<u128>, Vec<Buffer>) {
        let (mut views, mut buffers) = (Vec::with_capacity(rows), Vec::new());
        for (rows, slice) in self.with_rows(rows) {
            let Some(slice) = slice else {
                views.resize(rows.end, 0);
                continue;
            };
            let (part, part_buffers) = slice.views();
            if part_buffers.is_empty() || buffers.is_empty() {
                views.extend_from_slice(&part);
            } else {
                // The number of the buffer lies behind length and prefix; texts within their view have none.
                let moved = (buffers.len() as u128) << 64;
                views.extend(part.iter().map(|&view| if is_inline(view) { view } else { view + moved }));
            }
            buffers.extend(part_buffers);
        }
        (views, buffers)
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.loaded().try_for_each(Block::check)
    }
}

/// Whether a text lies within its view.
fn is_inline(view: u128) -> bool {
    view as u32 as usize <= crate::encoding::decode::INLINE_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_powers_of_two_that_fit() {
        assert_eq!(slice_rows(8192, SLICED_BYTES_MIN - 1), BLOCK_ROWS);
        assert_eq!(slice_rows(8192, SLICED_BYTES_MIN), 2048);
        assert_eq!(slice_rows(8192, 384 << 10), 512);
        assert_eq!(slice_rows(8192, 512 << 10), 512);
        assert_eq!(slice_rows(1000, 64 << 20), SLICE_ROWS_MIN);
        assert_eq!(slice_rows(3, 64 << 20), SLICE_ROWS_MIN);
    }
}
