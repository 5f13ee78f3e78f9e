//! Blind writes that nobody has looked behind yet.

use std::sync::atomic::{AtomicUsize, Ordering};

use weft_env::sync::Mutex;

use super::version_key::VersionKey;

/// Blind writes of which column tables may have what they replace, unmarked.
#[derive(Default)]
pub(crate) struct Unseen {
    keys: Mutex<Vec<VersionKey>>,
    count: AtomicUsize,
    /// Held by who reconciles: one at a time.
    pub(super) reconciling: Mutex<()>,
}

impl Unseen {
    /// Adds a write.
    pub(super) fn add(&self, key: VersionKey) {
        self.keys.lock().push(key);
        self.count.fetch_add(1, Ordering::Release);
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// What is there now, by key, older writes of a key first.
    pub(super) fn sorted(&self) -> Vec<VersionKey> {
        let mut keys = self.keys.lock().clone();
        keys.sort_unstable_by(|a, b| a.key().cmp(b.key()).then(a.insert_ts().cmp(&b.insert_ts())));
        keys
    }

    /// Forgets the first ones that came.
    pub(super) fn forget(&self, count: usize) {
        self.keys.lock().drain(..count);
        self.count.fetch_sub(count, Ordering::Release);
    }
}
