//! What encoded blocks are put together from: header and bitmap, ends of runs, codes.

use std::ops::Range;

use crate::encoding::builder::HashesWanted;
use crate::encoding::kind::{Kind, Word};
use crate::encoding::layout::{ALIGN_BYTES, BLOCK_HEADER_BYTES, Encoding, FLAG_VALIDITY};
use crate::encoding::packed::{UNIT_ROWS, pack_unit, unit_bytes};

/// Rows, NULLs and bitmap of the block being written.
#[derive(Clone, Copy)]
pub(crate) struct Shape<'a> {
    pub(crate) kind: Kind,
    pub(crate) rows: usize,
    pub(crate) null_count: usize,
    pub(crate) validity: &'a [u64],
}

impl Shape<'_> {
    pub(crate) fn nested(kind: Kind, rows: usize) -> Shape<'static> {
        Shape { kind, rows, null_count: 0, validity: &[] }
    }

    /// Of some of the rows, which start at a multiple of 64.
    pub(crate) fn of_rows(&self, rows: Range<usize>) -> Shape<'_> {
        if self.null_count == 0 {
            return Shape { rows: rows.len(), ..*self };
        }
        let validity = &self.validity[rows.start / 64..rows.end.div_ceil(64)];
        let valid: usize = validity.iter().map(|word| word.count_ones() as usize).sum();
        Shape { kind: self.kind, rows: rows.len(), null_count: rows.len() - valid, validity }
    }

    /// Appends a block: header, bitmap, what `payload` writes, padding.
    pub(crate) fn write(&self, encoding: Encoding, out: &mut Vec<u8>, payload: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        let has_validity = self.null_count > 0 && self.null_count < self.rows;
        let flags = if has_validity { FLAG_VALIDITY } else { 0 };
        out.extend_from_slice(&[encoding as u8, self.kind as u8, flags, 0]);
        out.extend_from_slice(&(self.rows as u32).to_le_bytes());
        out.extend_from_slice(&(self.null_count as u32).to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        assert_eq!(out.len() - start, BLOCK_HEADER_BYTES);
        if has_validity {
            u64::write_all(self.validity, out);
            pad(out);
        }
        payload(out);
        pad(out);
        let bytes = u32::try_from(out.len() - start).expect("a block stays below 4 GiB");
        out[start + 12..start + 16].copy_from_slice(&bytes.to_le_bytes());
    }
}

/// Fills up to the next multiple of 16 bytes.
pub(crate) fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(ALIGN_BYTES), 0);
}

/// What is wanted of an encoded block.
pub(crate) struct Options<'a> {
    pub(crate) wanted: HashesWanted,
    /// Whether what becomes large is cut into slices.
    pub(crate) cut: bool,
    /// Called between two pieces of work on a wide block of texts.
    pub(crate) pause: &'a mut dyn FnMut(),
}

pub(crate) fn write_run_ends(ends: &[u16], out: &mut Vec<u8>) {
    out.extend_from_slice(&(ends.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; ALIGN_BYTES - 4]);
    u16::write_all(ends, out);
    pad(out);
}

/// Bits of a code of one of `entries` dictionary entries.
pub(crate) fn code_width(entries: usize) -> usize {
    (usize::BITS - (entries - 1).leading_zeros()) as usize
}

/// Bytes of the codes of a dictionary block.
pub(crate) fn codes_bytes(rows: usize, entries: usize) -> usize {
    ALIGN_BYTES + rows.div_ceil(UNIT_ROWS) * unit_bytes(code_width(entries))
}

pub(crate) fn write_codes(codes: &[u16], entries: usize, out: &mut Vec<u8>) {
    let width = code_width(entries);
    out.push(width as u8);
    out.extend_from_slice(&[0; ALIGN_BYTES - 1]);
    for unit in codes.chunks(UNIT_ROWS) {
        pack_unit(unit, 0, width, out);
    }
}
