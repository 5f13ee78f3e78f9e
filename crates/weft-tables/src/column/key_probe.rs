//! A key that is looked for in part after part.

use weft_format::bloom::hash_bytes;

/// A key that is looked for, with its hash.
pub(crate) struct KeyProbe<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) hash: u64,
}

impl KeyProbe<'_> {
    pub(crate) fn new(key: &[u8]) -> KeyProbe<'_> {
        KeyProbe { key, hash: hash_bytes(key) }
    }
}
