//! The Bloom filter of a run, in segments: one per 16 blocks, so that a lookup reads only the segment of the blocks
//! where its value would lie.
//!
//! ```text
//!   blocks 0..16   values 1 .. 4711       segment 0     lookup 17:    block 0  → segment 0 says no: no block is read
//!   blocks 16..32  values 4711 .. 9000    segment 1     lookup 5000:  block 18 → segment 1 says maybe → block 18
//! ```
//!
//! 1. A segment holds every value of its blocks' entries: it never denies one that is there.
//! 2. The first entry of a value lies in the last block whose separator is at or below the value, if anywhere
//!    ([`super::footer`]), so one segment answers for the whole run.
//! 3. A rebuilt run takes more bits per value and another seed: values that collided before do so no more.
//!
//! Source: SG-ColBase, section 3 (segmented Bloom filter, rebuilt when false positives rise). There segments are parts
//! of the hash's range; here they follow the order of the values, so that neighbours share a cached segment and a
//! segment is written as soon as its blocks are.

use weft_format::bloom::{BLOOM_BITS_PER_KEY, BloomFilter, hash_bytes, hash_word};

/// Blocks that share a segment.
pub(crate) const SEGMENT_BLOCKS: usize = 16;
/// Bits per value of a new filter.
pub(crate) const FILTER_BITS: u32 = BLOOM_BITS_PER_KEY as u32;
/// Bits that a rebuilt filter takes more.
pub(crate) const FILTER_BITS_STEP: u32 = 5;
/// Bits per value from which on rebuilding brings nothing.
pub(crate) const FILTER_BITS_MAX: u32 = 20;

/// How a run's filter is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilterShape {
    /// Bits per distinct value of a segment.
    pub(crate) bits: u32,
    /// Mixed into the hashes.
    pub(crate) seed: u64,
}

impl Default for FilterShape {
    fn default() -> FilterShape {
        FilterShape { bits: FILTER_BITS, seed: 0 }
    }
}

impl FilterShape {
    /// The hash of a value, given its [`value_hash`].
    pub(crate) fn hash(self, value_hash: u64) -> u64 {
        hash_word(value_hash ^ self.seed)
    }

    /// What a filter that claims too much is rebuilt as.
    pub(crate) fn rebuilt(self) -> FilterShape {
        FilterShape { bits: (self.bits + FILTER_BITS_STEP).min(FILTER_BITS_MAX), seed: self.seed.wrapping_add(1) }
    }

    /// Appends the bytes of a segment of these hashes.
    pub(crate) fn write_segment(self, hashes: &[u64], out: &mut Vec<u8>) {
        assert!((1..=FILTER_BITS_MAX).contains(&self.bits), "a filter takes 1 to 20 bits per value");
        let capacity = (hashes.len() as u64 * u64::from(self.bits)).div_ceil(BLOOM_BITS_PER_KEY as u64);
        let mut filter = BloomFilter::with_capacity(capacity as usize);
        hashes.iter().for_each(|&hash| filter.insert(hash));
        filter.write(out);
    }
}

/// The hash of a value that all runs' filters start from.
pub(crate) fn value_hash(value: &[u8]) -> u64 {
    hash_bytes(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_format::bloom::may_contain_in;

    #[test]
    fn segments_hold_their_values_and_a_rebuilt_one_claims_less() {
        let value = |n: u64| value_hash(&n.to_be_bytes());
        let claimed = |shape: FilterShape| {
            let hashes: Vec<u64> = (0..5000).map(|n| shape.hash(value(n))).collect();
            let mut segment = Vec::new();
            shape.write_segment(&hashes, &mut segment);
            assert!(hashes.iter().all(|&hash| may_contain_in(&segment, hash)), "a value that is there is denied");
            (5000..105_000).filter(|&n| may_contain_in(&segment, shape.hash(value(n)))).count()
        };
        let first = claimed(FilterShape::default());
        let second = claimed(FilterShape::default().rebuilt());
        assert!(first < 2000 && second * 4 < first, "{first} and {second} of 100,000 absent values");
    }
}
