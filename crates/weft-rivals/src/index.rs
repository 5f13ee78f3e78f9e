//! The one index of a table: keys to row numbers.
//!
//! Concurrency: a lock for a share of the keys, held for one look or one insertion.

use std::collections::HashMap;

use weft_env::sync::RwLock;
use weft_format::bloom::hash_bytes;

/// Shares; as many threads seldom meet.
const SHARES: usize = 64;

/// See the module.
pub(crate) struct KeyIndex {
    shares: Vec<RwLock<HashMap<Box<[u8]>, u64>>>,
}

impl Default for KeyIndex {
    fn default() -> KeyIndex {
        KeyIndex { shares: (0..SHARES).map(|_| RwLock::default()).collect() }
    }
}

impl KeyIndex {
    fn share(&self, key: &[u8]) -> &RwLock<HashMap<Box<[u8]>, u64>> {
        &self.shares[hash_bytes(key) as usize % SHARES]
    }

    /// The number of the row of a key, alive or not.
    pub(crate) fn get(&self, key: &[u8]) -> Option<u64> {
        self.share(key).read().get(key).copied()
    }

    /// Adds a key that has no row yet.
    pub(crate) fn insert(&self, key: &[u8], row: u64) {
        let before = self.share(key).write().insert(key.into(), row);
        assert!(before.is_none(), "a key has one row number for good (rivals 2)");
    }

    /// The greatest key.
    pub(crate) fn greatest(&self) -> Option<Vec<u8>> {
        self.shares.iter().filter_map(|share| share.read().keys().max().map(|key| key.to_vec())).max()
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> u64 {
        self.shares.iter().map(|share| share.read().len() as u64).sum()
    }
}
