//! A block of entries: each keeps only what differs from the entry before it; every 16th is whole.
//!
//! ```text
//!   base u64 │ entries ...                                              │ whole entries' offsets u32 × n │ n u32
//!             shared 0, rest 8, value length 4, ts 0: 80 00 00 2a 80 00 00 07    (whole)
//!             shared 7, rest 1, value length 4, ts 2:                      09    (ts is base + unzigzag(2) = base + 1)
//! ```
//!
//! 1. Entries ascend strictly.
//! 2. The first entry is whole, and every [`WHOLE_EVERY`]th after it; a whole entry shares 0 bytes.
//! 3. The bytes were tested by checksum before they come here; what still does not fit is an error, never a panic.
//!
//! Source: prefix compression with restart points, as LevelDB's blocks have it. The bytes: docs/format/index-run.md.

use std::cmp::Ordering;

use weft_format::key::head;
use weft_format::wire::{ByteReader, put_varint};
use weft_format::{Error, Result, Timestamp};

use super::entry::{EntryBuffer, shared_len};
use super::number::{unzigzag, zigzag};

/// Entries from one whole entry to the next.
pub(crate) const WHOLE_EVERY: u32 = 16;
/// Bytes before the first entry.
pub(crate) const BASE_BYTES: usize = 8;

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("a block of an index run is damaged: {what}"))
}

/// Collects the entries of a block.
#[derive(Default)]
pub(crate) struct BlockBuilder {
    bytes: Vec<u8>,
    wholes: Vec<u32>,
    last: Vec<u8>,
    base: u64,
    pub(crate) count: u32,
}

impl BlockBuilder {
    /// Adds an entry above all others.
    pub(crate) fn push(&mut self, bytes: &[u8], value_len: usize, ts: Timestamp) {
        if self.count == 0 {
            self.base = ts.0;
            self.bytes.extend_from_slice(&ts.0.to_le_bytes());
        } else {
            assert!(bytes > &self.last[..], "entries ascend (index block 1)");
        }
        let mut shared = 0;
        if self.count.is_multiple_of(WHOLE_EVERY) {
            self.wholes.push(self.bytes.len() as u32);
        } else {
            shared = shared_len(&self.last, bytes);
        }
        put_varint(&mut self.bytes, shared as u64);
        put_varint(&mut self.bytes, (bytes.len() - shared) as u64);
        put_varint(&mut self.bytes, value_len as u64);
        put_varint(&mut self.bytes, zigzag(ts.0.wrapping_sub(self.base) as i64));
        self.bytes.extend_from_slice(&bytes[shared..]);
        self.last.clear();
        self.last.extend_from_slice(bytes);
        self.count += 1;
    }

    /// Bytes so far, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len() + self.wholes.len() * 4 + 4
    }

    /// The entry added last.
    pub(crate) fn last(&self) -> &[u8] {
        &self.last
    }

    /// Appends the block's bytes to `out` and empties the builder, which keeps [`BlockBuilder::last`].
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        assert!(self.count > 0, "a block has entries");
        assert!(self.bytes.len() <= u32::MAX as usize, "a whole entry's offset fits into four bytes");
        assert_eq!(self.wholes[0] as usize, BASE_BYTES, "the first entry is whole (index block 2)");
        let wholes = self.count.div_ceil(WHOLE_EVERY) as usize;
        assert_eq!(self.wholes.len(), wholes, "every 16th entry is whole (index block 2)");
        out.extend_from_slice(&self.bytes);
        self.wholes.iter().for_each(|whole| out.extend_from_slice(&whole.to_le_bytes()));
        out.extend_from_slice(&(self.wholes.len() as u32).to_le_bytes());
        self.bytes.clear();
        self.wholes.clear();
        self.count = 0;
    }
}

/// A place in a block: reads entry after entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockReader {
    /// Where the next entry begins.
    at: usize,
    /// Where the entries end.
    end: usize,
    wholes: usize,
    base: u64,
}

impl BlockReader {
    /// At the first entry of a block.
    pub(crate) fn new(block: &[u8]) -> Result<BlockReader> {
        let tail = block.len().checked_sub(4).ok_or_else(misshapen)?;
        let wholes = ByteReader::new(&block[tail..], damaged).u32()? as usize;
        let end = wholes.checked_mul(4).and_then(|bytes| tail.checked_sub(bytes)).ok_or_else(misshapen)?;
        if end <= BASE_BYTES || wholes == 0 {
            return Err(misshapen());
        }
        let base = ByteReader::new(block, damaged).u64()?;
        Ok(BlockReader { at: BASE_BYTES, end, wholes, base })
    }

    /// Reads the next entry over the one before it in `entry`; false at the end.
    #[inline]
    pub(crate) fn next(&mut self, block: &[u8], entry: &mut EntryBuffer) -> Result<bool> {
        if self.at >= self.end {
            return Ok(false);
        }
        let mut input = ByteReader::new(&block[self.at..self.end], damaged);
        let shared = input.varint()? as usize;
        let rest_len = input.varint()? as usize;
        let value_len = input.varint()? as usize;
        let ts = self.base.wrapping_add(unzigzag(input.varint()?) as u64);
        let rest = input.take(rest_len)?;
        if shared > entry.bytes.len() || value_len > shared + rest_len {
            return Err(misshapen());
        }
        entry.bytes.truncate(shared);
        entry.bytes.extend_from_slice(rest);
        entry.value_len = value_len;
        entry.ts = Timestamp(ts);
        self.at = self.end - input.bytes.len();
        Ok(true)
    }

    /// Goes to the first entry at or above `target` and reads it; false when there is none. No entry is below the first
    /// fence, and those behind the block are not below the second: they say where to look first.
    pub(crate) fn seek(
        &mut self,
        block: &[u8],
        target: &[u8],
        fences: (&[u8], Option<&[u8]>),
        entry: &mut EntryBuffer,
    ) -> Result<bool> {
        debug_assert!(self.wholes > 0, "a block that was opened has a whole entry");
        let (mut low, mut high) = (0, self.wholes);
        let mut probe = guess(target, fences, self.wholes);
        let mut step = 1;
        while low < high {
            let is_below = self.whole(block, probe)? < target;
            if is_below {
                low = probe + 1;
            } else {
                high = probe;
            }
            // Away from the guess in growing steps; halves once there is an entry on either side.
            probe = match is_below {
                _ if low > 0 && high < self.wholes => low.midpoint(high),
                true => (low + step).min(high.saturating_sub(1)),
                false => high.saturating_sub(step).max(low),
            };
            step *= 4;
        }
        self.at = self.whole_at(block, low.saturating_sub(1))?;
        entry.bytes.clear();
        // How many bytes the target shares with the entry, which is below it.
        let mut matched = 0;
        loop {
            let shared = self.next_shared(block)?;
            if !self.next(block, entry)? {
                return Ok(false);
            }
            // What an entry shares with the one before beyond `matched` leaves it below the target; what it does not
            // share within `matched` puts it above.
            match shared.cmp(&matched) {
                Ordering::Greater => {}
                Ordering::Less => return Ok(true),
                Ordering::Equal => {
                    if entry.bytes[shared..] >= target[shared..] {
                        return Ok(true);
                    }
                    matched = shared + shared_len(&entry.bytes[shared..], &target[shared..]);
                }
            }
        }
    }

    /// How many bytes the next entry shares with the one before it.
    fn next_shared(&self, block: &[u8]) -> Result<usize> {
        if self.at >= self.end {
            Ok(0)
        } else {
            Ok(ByteReader::new(&block[self.at..self.end], damaged).varint()? as usize)
        }
    }

    fn whole_at(&self, block: &[u8], index: usize) -> Result<usize> {
        let offset = ByteReader::new(&block[self.end + index * 4..], damaged).u32()? as usize;
        if offset < BASE_BYTES || offset >= self.end { Err(misshapen()) } else { Ok(offset) }
    }

    fn whole<'a>(&self, block: &'a [u8], index: usize) -> Result<&'a [u8]> {
        let mut input = ByteReader::new(&block[self.whole_at(block, index)?..self.end], damaged);
        let shared = input.varint()?;
        let len = input.varint()? as usize;
        input.varint()?;
        input.varint()?;
        if shared == 0 { input.take(len) } else { Err(misshapen()) }
    }
}

/// The place of a target among `count` whole entries that lie evenly between two fences.
fn guess(target: &[u8], fences: (&[u8], Option<&[u8]>), count: usize) -> usize {
    let (low, Some(high)) = fences else { return count / 2 };
    let shared = shared_len(low, high);
    let head = |bytes: &[u8]| head(bytes.get(shared..).unwrap_or_default());
    let (first, last) = (head(low), head(high));
    let from_first = head(target).saturating_sub(first);
    let share = u128::from(from_first) * count as u128 / u128::from(last.saturating_sub(first).max(1));
    (share as usize).min(count - 1)
}

#[cold]
fn misshapen() -> Error {
    Error::corrupt("a block of an index run contradicts itself")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Prng;

    fn entries(seed: u64, count: usize) -> Vec<(Vec<u8>, usize, Timestamp)> {
        let mut rng = Prng(seed);
        let mut all = std::collections::BTreeMap::new();
        while all.len() < count {
            let len = 1 + rng.below(20) as usize;
            let bytes: Vec<u8> = (0..len).map(|_| rng.below(4) as u8 * 85).collect();
            all.insert(bytes, (rng.below(len as u64 + 1) as usize, Timestamp(1000 + rng.below(50))));
        }
        all.into_iter().map(|(bytes, (value_len, ts))| (bytes, value_len, ts)).collect()
    }

    fn block(entries: &[(Vec<u8>, usize, Timestamp)]) -> Vec<u8> {
        let mut builder = BlockBuilder::default();
        entries.iter().for_each(|(bytes, value_len, ts)| builder.push(bytes, *value_len, *ts));
        let mut out = Vec::new();
        builder.finish(&mut out);
        out
    }

    #[test]
    fn entries_come_back_in_order_and_are_found() {
        for (seed, count) in [(1, 1), (2, 16), (3, 17), (4, 300)] {
            let entries = entries(seed, count);
            let block = block(&entries);
            let mut reader = BlockReader::new(&block).unwrap();
            let mut entry = EntryBuffer::default();
            for (bytes, value_len, ts) in &entries {
                assert!(reader.next(&block, &mut entry).unwrap());
                assert_eq!((&entry.bytes, &entry.value_len, &entry.ts), (bytes, value_len, ts));
            }
            assert!(!reader.next(&block, &mut entry).unwrap());
            let mut rng = Prng(seed);
            for _ in 0..500 {
                let target: Vec<u8> = (0..rng.below(6)).map(|_| rng.below(256) as u8).collect();
                let expected = entries.iter().find(|(bytes, ..)| *bytes >= target);
                let fences =
                    [(&entries[0].0[..], None), (&entries[0].0[..1], Some(&[255; 9][..])), (b"", Some(&target[..]))];
                for fences in fences {
                    let found = reader.seek(&block, &target, fences, &mut entry).unwrap();
                    assert_eq!(found.then_some(&entry.bytes), expected.map(|(bytes, ..)| bytes));
                }
            }
        }
    }

    #[test]
    fn damaged_blocks_never_panic() {
        let block = block(&entries(5, 60));
        let read = |bytes: &[u8]| -> Result<()> {
            let mut reader = BlockReader::new(bytes)?;
            let mut entry = EntryBuffer::default();
            reader.seek(bytes, &[85, 85], (b"", Some(&[170])), &mut entry)?;
            let mut reader = BlockReader::new(bytes)?;
            entry.bytes.clear();
            while reader.next(bytes, &mut entry)? {}
            Ok(())
        };
        for at in 0..block.len() {
            for bit in 0..8 {
                let mut flipped = block.clone();
                flipped[at] ^= 1 << bit;
                let _ = read(&flipped);
            }
            let _ = read(&block[..at]);
        }
    }
}
