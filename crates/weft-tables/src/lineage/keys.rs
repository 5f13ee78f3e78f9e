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

/// A share.
#[derive(Default)]
struct Share {
    newest: HashMap<Box<[u8]>, u64>,
    /// Row ids that keys had before a bulk load gave them others, descending.
    older: HashMap<Box<[u8]>, Vec<u64>>,
}

/// See the module.
pub(super) struct Keys {
    shares: Vec<Mutex<Share>>,
}

impl Default for Keys {
    fn default() -> Keys {
        Keys { shares: (0..SHARES).map(|_| Mutex::default()).collect() }
    }
}

impl Keys {
    fn share(&self, key: &[u8]) -> &Mutex<Share> {
        &self.shares[hash_bytes(key) as usize % SHARES]
    }

    /// The row id of a key.
    pub(super) fn get(&self, key: &[u8]) -> Option<u64> {
        self.share(key).lock().newest.get(key).copied()
    }

    /// The row ids of a key, the greatest first.
    pub(super) fn all(&self, key: &[u8]) -> impl Iterator<Item = u64> + use<> {
        let share = self.share(key).lock();
        let newest = share.newest.get(key).copied();
        // Nearly always there are none.
        let older = if share.older.is_empty() { None } else { share.older.get(key).cloned() };
        newest.into_iter().chain(older.into_iter().flatten())
    }

    /// Adds a key; returns the memory that it takes.
    pub(super) fn insert(&self, key: &[u8], row_id: u64) -> u64 {
        let mut share = self.share(key).lock();
        match share.newest.insert(key.into(), row_id) {
            Some(before) if before == row_id => return 0,
            Some(before) => {
                assert!(before < row_id, "who comes back at another row id was given a greater one (lineage 1)");
                share.older.entry(key.into()).or_default().insert(0, before);
            }
            None => {}
        }
        key.len() as u64 + ENTRY_BYTES
    }

    /// All of them, by key, of one key the greatest row id first.
    pub(super) fn sorted(&self) -> Vec<(Box<[u8]>, u64)> {
        let mut all = Vec::new();
        for share in &self.shares {
            let share = share.lock();
            all.extend(share.newest.iter().map(|(key, row_id)| (key.clone(), *row_id)));
            all.extend(share.older.iter().flat_map(|(key, ids)| ids.iter().map(|row_id| (key.clone(), *row_id))));
        }
        all.sort_unstable_by(|(a, a_id), (b, b_id)| a.cmp(b).then(b_id.cmp(a_id)));
        all
    }

    /// The greatest.
    pub(super) fn greatest(&self) -> Option<Vec<u8>> {
        self.shares.iter().filter_map(|share| share.lock().newest.keys().max().map(|key| key.to_vec())).max()
    }
}
