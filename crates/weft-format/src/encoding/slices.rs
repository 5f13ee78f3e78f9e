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

use crate::encoding::layout::{BLOCK_ROWS, SLICE_BYTES, SLICE_ROWS_MIN, SLICED_BYTES_MIN};

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
