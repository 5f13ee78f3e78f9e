//! The keys of a row table's skip list: key bytes, then the insert timestamp inverted, so newer versions come first.
//!
//! ```text
//!   key 00 07, versions 5 and 9:   00 07 ff..f6 (9)   <   00 07 ff..fa (5)
//! ```
//!
//! 1. No key is a prefix of another (weft_format::key), so all versions of a key are neighbours.

use std::borrow::Borrow;
use std::cmp::Ordering;

use weft_format::Timestamp;

const INLINE_BYTES: usize = 30;

/// Bytes that compare with memcmp; short ones lie in place, so a comparison touches no other memory.
#[derive(Clone)]
pub(crate) enum VersionKey {
    Inline(u8, [u8; INLINE_BYTES]),
    Boxed(Box<[u8]>),
}

impl VersionKey {
    /// The place of a version of `key`.
    pub(crate) fn new(key: &[u8], insert_ts: Timestamp) -> VersionKey {
        let suffix = (!insert_ts.0).to_be_bytes();
        let len = key.len() + suffix.len();
        if len <= INLINE_BYTES {
            let mut bytes = [0; INLINE_BYTES];
            bytes[..key.len()].copy_from_slice(key);
            bytes[key.len()..len].copy_from_slice(&suffix);
            VersionKey::Inline(len as u8, bytes)
        } else {
            let mut bytes = Vec::with_capacity(len);
            bytes.extend_from_slice(key);
            bytes.extend_from_slice(&suffix);
            VersionKey::Boxed(bytes.into())
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            VersionKey::Inline(len, bytes) => &bytes[..usize::from(*len)],
            VersionKey::Boxed(bytes) => bytes,
        }
    }

    /// The timestamp.
    pub(crate) fn insert_ts(&self) -> Timestamp {
        let suffix = self.bytes().last_chunk().expect("a version key ends with its timestamp");
        Timestamp(!u64::from_be_bytes(*suffix))
    }

    /// The key without the timestamp.
    pub(crate) fn key(&self) -> &[u8] {
        let bytes = self.bytes();
        &bytes[..bytes.len() - 8]
    }
}

impl Borrow<[u8]> for VersionKey {
    fn borrow(&self) -> &[u8] {
        self.bytes()
    }
}

impl PartialEq for VersionKey {
    fn eq(&self, other: &VersionKey) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for VersionKey {}

impl PartialOrd for VersionKey {
    fn partial_cmp(&self, other: &VersionKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for VersionKey {
    #[inline]
    fn cmp(&self, other: &VersionKey) -> Ordering {
        // What is in place has 8 bytes at least, those of the timestamp: of two that differ in these they decide.
        if let (VersionKey::Inline(_, a), VersionKey::Inline(_, b)) = (self, other) {
            let head = |bytes: &[u8; INLINE_BYTES]| u64::from_be_bytes(*bytes.first_chunk().expect("30 bytes have 8"));
            let (a, b) = (head(a), head(b));
            if a != b {
                return a.cmp(&b);
            }
        }
        self.bytes().cmp(other.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_versions_come_first_and_keys_stay_together() {
        for key in [&[0u8, 7][..], &[9; 40]] {
            let (old, new) = (VersionKey::new(key, Timestamp(5)), VersionKey::new(key, Timestamp(9)));
            assert!(new < old && VersionKey::new(key, Timestamp::MAX) < new);
            assert_eq!((old.key(), old.insert_ts(), new.insert_ts()), (key, Timestamp(5), Timestamp(9)));
        }
        assert!(VersionKey::new(&[0, 7], Timestamp(0)) < VersionKey::new(&[0, 8], Timestamp(9)));
    }
}
