//! Where a key belongs: its hash, computed once, says the slot of the ring and the bucket in the partition.
//!
//! ```text
//!   hash of (file 12, block 7)   7 bits: tag in the bucket │ … │ 13 bits: slot of the ring │ 32 bits: bucket
//! ```

use std::hash::{BuildHasherDefault, Hash, Hasher};

use weft_format::FileId;
use weft_format::table::BlockKey;

/// Positions on the ring of partitions.
pub(super) const SLOT_COUNT: usize = 8192;

/// A key and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) hash: u64,
    pub(super) key: BlockKey,
}

impl Place {
    #[inline]
    pub(super) fn of(key: BlockKey) -> Place {
        Place { hash: mix(mix(0, key.file.0), u64::from(key.block)), key }
    }

    /// Its slot of the ring.
    #[inline]
    pub(super) fn slot(&self) -> usize {
        (self.hash >> 32) as usize % SLOT_COUNT
    }
}

/// Two numbers, multiplied and folded.
#[inline]
pub(super) fn mix(seed: u64, word: u64) -> u64 {
    let product = u128::from(seed ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd1b5_4a32_d192_ed03_u128;
    (product as u64) ^ ((product >> 64) as u64)
}

impl Hash for Place {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// A file, hashed as a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OfFile(pub(super) FileId);

impl Hash for OfFile {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(mix(0, self.0.0));
    }
}

/// Hands on what is a hash already.
#[derive(Default)]
pub(super) struct Hashed(u64);

pub(super) type BuildHashed = BuildHasherDefault<Hashed>;

impl Hasher for Hashed {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("only hashes are hashed");
    }

    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
