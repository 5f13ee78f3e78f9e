//! A split-block Bloom filter and the stable hash under it. Both are part of the file format.
//!
//! ```text
//!   hash 64 bits:  high 32 ─▶ which 256-bit block        low 32 × 8 odd salts ─▶ one bit in each of its 8 words
//!   block  ┌──word 0──┬──word 1──┬── ... ──┬──word 7──┐
//!          │ 1 of 32  │ 1 of 32  │         │ 1 of 32  │
//! ```
//!
//! 1. No false negatives: a hash that was inserted is always found.
//! 2. About 10 bits per key give about 1 % false positives; a lookup touches one cache line.
//! 3. Values that [`ValueRef::compare`] calls equal hash equally (-0.0 and 0.0; all NaNs).
//!
//! Source: Putze, Sanders, Singler, "Cache-, hash- and space-efficient Bloom filters" (2007), in the form that
//! the Parquet specification gives it (salts included). The hash folds 64x64-bit products, as wyhash does.

use crate::error::{Error, Result};
use crate::value::ValueRef;

/// Bits that a filter spends per key.
pub const BLOOM_BITS_PER_KEY: usize = 10;
/// Bytes of one block of a filter.
pub const BLOOM_BLOCK_BYTES: usize = 32;

pub(crate) const SALTS: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];
pub(crate) const HASH_KEYS: [u64; 3] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db, 0x8ebc_6af0_9c88_c6e3];

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// A stable 64-bit hash of bytes: the same in every release and on every machine. Not for hostile input.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut state = HASH_KEYS[0] ^ (bytes.len() as u64).wrapping_mul(HASH_KEYS[2]);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        state = fold(state ^ u64::from_le_bytes(crate::bytes::array(chunk)), HASH_KEYS[1]);
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        state = fold(state ^ last_word(bytes, rest), HASH_KEYS[1]);
    }
    fold(state ^ HASH_KEYS[2], HASH_KEYS[0])
}

/// Up to seven bytes at the end of others as a number, the first the lowest: by whole words, which may overlap, for a
/// copy of unknown length is a call.
#[inline]
fn last_word(bytes: &[u8], rest: &[u8]) -> u64 {
    let len = rest.len();
    if let Some(word) = bytes.last_chunk::<8>() {
        return u64::from_le_bytes(*word) >> (64 - 8 * len);
    }
    match (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (8 * (len - 4))
        }
        _ => [0, len / 2, len - 1].iter().fold(0, |word, &at| word | u64::from(rest[at]) << (8 * at)),
    }
}

/// A stable 64-bit hash of one number; not the hash of its bytes.
#[inline]
pub fn hash_word(word: u64) -> u64 {
    fold(fold(word ^ HASH_KEYS[0], HASH_KEYS[1]) ^ HASH_KEYS[2], HASH_KEYS[0])
}

/// A stable hash of a value; equal values (by [`ValueRef::compare`]) hash equally.
pub fn hash_value(value: ValueRef<'_>) -> u64 {
    match value {
        ValueRef::Null => 0,
        ValueRef::Bool(v) => hash_word(v.into()),
        ValueRef::Int(v) => hash_word(v as u64),
        ValueRef::Float(v) => hash_word(if v.is_nan() { f64::NAN.to_bits() } else { (v + 0.0).to_bits() }),
        ValueRef::Decimal(v) => hash_bytes(&v.to_le_bytes()),
        ValueRef::Text(v) => hash_bytes(v.as_bytes()),
        ValueRef::Bytes(v) | ValueRef::Array(v) => hash_bytes(v),
        ValueRef::Uuid(v) => hash_bytes(&v.to_be_bytes()),
        ValueRef::Interval(v) => hash_bytes(&v.span().to_le_bytes()),
    }
}

/// A set of hashes that may claim too much and never too little.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BloomFilter {
    blocks: Vec<[u32; 8]>,
}

impl BloomFilter {
    /// An empty filter sized for this many distinct keys.
    pub fn with_capacity(key_count: usize) -> BloomFilter {
        BloomFilter { blocks: vec![[0; 8]; BloomFilter::bytes_for(key_count) / BLOOM_BLOCK_BYTES] }
    }

    /// A filter that denies nothing: for files that nobody looks a key up in.
    pub fn of_everything() -> BloomFilter {
        BloomFilter { blocks: vec![[u32::MAX; 8]] }
    }

    /// Bytes of a filter for this many distinct keys.
    pub fn bytes_for(key_count: usize) -> usize {
        (key_count * BLOOM_BITS_PER_KEY).div_ceil(BLOOM_BLOCK_BYTES * 8).max(1) * BLOOM_BLOCK_BYTES
    }

    fn block_of(&self, hash: u64) -> usize {
        (((hash >> 32) * self.blocks.len() as u64) >> 32) as usize
    }

    /// Adds a hash.
    pub fn insert(&mut self, hash: u64) {
        let block = self.block_of(hash);
        for (word, salt) in self.blocks[block].iter_mut().zip(SALTS) {
            *word |= 1 << ((hash as u32).wrapping_mul(salt) >> 27);
        }
    }

    /// Whether the hash may have been added; false is certain.
    #[inline]
    pub fn may_contain(&self, hash: u64) -> bool {
        let block = &self.blocks[self.block_of(hash)];
        let mut hit = true;
        for (word, salt) in block.iter().zip(SALTS) {
            hit &= word >> ((hash as u32).wrapping_mul(salt) >> 27) & 1 == 1;
        }
        hit
    }

    /// Size on disk and, nearly, in memory.
    pub fn bytes(&self) -> usize {
        self.blocks.len() * BLOOM_BLOCK_BYTES
    }

    /// Appends the filter's words, little-endian.
    pub fn write(&self, out: &mut Vec<u8>) {
        for word in self.blocks.iter().flatten() {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Reads what [`BloomFilter::write`] wrote.
    pub fn read(bytes: &[u8]) -> Result<BloomFilter> {
        if bytes.is_empty() || !bytes.len().is_multiple_of(BLOOM_BLOCK_BYTES) {
            return Err(Error::corrupt(format!("a Bloom filter of {} bytes is not a number of blocks", bytes.len())));
        }
        let word = |chunk: &[u8], index: usize| u32::from_le_bytes(crate::bytes::array(&chunk[index * 4..]));
        let blocks = bytes.chunks_exact(BLOOM_BLOCK_BYTES).map(|chunk| std::array::from_fn(|index| word(chunk, index)));
        Ok(BloomFilter { blocks: blocks.collect() })
    }
}

/// Whether the hash may have been added to the filter that [`BloomFilter::write`] made these bytes of; false is
/// certain. The bytes are whole, as a checksum told.
#[inline]
pub fn may_contain_in(bytes: &[u8], hash: u64) -> bool {
    let (blocks, _) = bytes.as_chunks::<BLOOM_BLOCK_BYTES>();
    let block = &blocks[(((hash >> 32) * blocks.len() as u64) >> 32) as usize];
    let (words, _) = block.as_chunks::<4>();
    let mut hit = true;
    for (word, salt) in words.iter().zip(SALTS) {
        hit &= u32::from_le_bytes(*word) >> ((hash as u32).wrapping_mul(salt) >> 27) & 1 == 1;
    }
    hit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_never_changes() {
        assert_eq!(hash_bytes(b""), 0x9960_507c_d3fa_4327);
        assert_eq!(hash_bytes(b"weft"), 0xf8ad_a333_4b29_af73);
        assert_eq!(hash_bytes(b"warp and weft"), 0xe869_8a29_63b8_3730);
        assert_eq!(hash_word(42), 0x8927_0533_3e22_7219);
    }

    #[test]
    fn the_last_word_has_the_bytes_that_are_left() {
        let bytes: Vec<u8> = (1..=24).map(|byte| byte * 10).collect();
        for len in 1..=bytes.len() {
            let rest = bytes[..len].chunks_exact(8).remainder();
            if !rest.is_empty() {
                let mut plain = [0; 8];
                plain[..rest.len()].copy_from_slice(rest);
                assert_eq!(last_word(&bytes[..len], rest), u64::from_le_bytes(plain), "{len} bytes");
            }
        }
    }

    #[test]
    fn finds_all_it_holds_and_few_others() {
        let keys: Vec<[u8; 8]> = (0..20_000u64).map(|key| (key + (1 << 63)).to_be_bytes()).collect();
        let mut filter = BloomFilter::with_capacity(10_000);
        keys[..10_000].iter().for_each(|key| filter.insert(hash_bytes(key)));
        assert!(keys[..10_000].iter().all(|key| filter.may_contain(hash_bytes(key))));
        let wrong = keys[10_000..].iter().filter(|key| filter.may_contain(hash_bytes(*key))).count();
        assert!(wrong < 250, "{wrong} of 10,000 absent keys claimed present");
        let mut bytes = Vec::new();
        filter.write(&mut bytes);
        assert_eq!(bytes.len(), BloomFilter::bytes_for(10_000));
        assert_eq!(BloomFilter::read(&bytes).unwrap(), filter);
        let same = |key: &[u8; 8]| may_contain_in(&bytes, hash_bytes(key)) == filter.may_contain(hash_bytes(key));
        assert!(keys.iter().all(same));
        assert!(BloomFilter::read(&bytes[1..]).is_err() && BloomFilter::read(&[]).is_err());
    }

    #[test]
    fn equal_values_hash_equally() {
        assert_eq!(hash_value(ValueRef::Float(-0.0)), hash_value(ValueRef::Float(0.0)));
        let other_nan = f64::from_bits(0xfff8_0000_0000_0123);
        assert_eq!(hash_value(ValueRef::Float(f64::NAN)), hash_value(ValueRef::Float(other_nan)));
        assert_ne!(hash_bytes(b"a"), hash_bytes(b"a\0"));
    }
}
