//! The keys of rows that came in with some tails, and their row ids.
//!
//! Concurrency: a lock for a share of the keys, held for one look or one insertion; a key has one writer at a time.

use std::collections::HashMap;

use weft_env::sync::Mutex;
use weft_format::bloom::hash_bytes;

/// Shares; as many threads seldom meet.
const SHARES: usize = 64;
/// Memory of an entry beside the key's bytes, about.
const ENTRY_BYTES: u64 = 48;

/// See the module.
pub(super) struct Keys {
    shares: Vec<Mutex<HashMap<Box<[u8]>, u64>>>,
}

impl Default for Keys {
    fn default() -> Keys {
        Keys { shares: (0..SHARES).map(|_| Mutex::new(HashMap::new())).collect() }
    }
}

impl Keys {
    fn share(&self, key: &[u8]) -> &Mutex<HashMap<Box<[u8]>, u64>> {
        &self.shares[hash_bytes(key) as usize % SHARES]
    }

    /// The row id of a key.
    pub(super) fn get(&self, key: &[u8]) -> Option<u64> {
        self.share(key).lock().get(key).copied()
    }

    /// Adds a key; returns the memory that it takes.
    pub(super) fn insert(&self, key: &[u8], row_id: u64) -> u64 {
        match self.share(key).lock().insert(key.into(), row_id) {
            None => key.len() as u64 + ENTRY_BYTES,
            Some(before) => {
                assert!(before == row_id, "a key has one row id at a time (lineage 1)");
                0
            }
        }
    }

    /// All of them, by key.
    pub(super) fn sorted(&self) -> Vec<(Box<[u8]>, u64)> {
        let mut all = Vec::new();
        for share in &self.shares {
            all.extend(share.lock().iter().map(|(key, row_id)| (key.clone(), *row_id)));
        }
        all.sort_unstable();
        all
    }

    /// The greatest.
    pub(super) fn greatest(&self) -> Option<Vec<u8>> {
        self.shares.iter().filter_map(|share| share.lock().keys().max().map(|key| key.to_vec())).max()
    }
}
