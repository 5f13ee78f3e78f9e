//! What rows were: the versions that newer ones have replaced, for snapshots from before that.
//!
//! ```text
//!   page    k1: c since 47          k2: dead since 50
//!   undo    k1: a [12, 44) b [44, 47)      k2: x [9, 50)
//!   as of 45: k1 is b, k2 is x      horizon 47: a and b go
//! ```
//!
//! 1. The versions of a key come in the order of time, and each ended when the next one, or the page's, began, or
//!    before it.
//! 2. A version stays until the table's horizon has reached its end. In memory alone: no snapshot outlives the process.
//!
//! Memory: charged to the budget of rows; writers wait, and are refused in the end, when open snapshots keep too much.
//!
//! Concurrency: a lock per shard, innermost; the latch of the key's leaf is held where versions are added and looked
//! for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::sync::Mutex;
use weft_format::Timestamp;
use weft_format::bloom::hash_bytes;
use weft_kernel::budget::RowBudget;

const SHARDS: usize = 16;
/// What a version costs beside its bytes, about.
const VERSION_BYTES: usize = 96;

/// A version that has ended.
struct Old {
    since: Timestamp,
    ended: Timestamp,
    row: Arc<[u8]>,
}

type Shard = BTreeMap<Arc<[u8]>, Vec<Old>>;

/// See the module.
pub(super) struct Undo {
    shards: Vec<Mutex<Shard>>,
    bytes: AtomicU64,
    budget: Arc<RowBudget>,
}

fn bytes_of(key: &[u8], old: &Old) -> u64 {
    (key.len() + old.row.len() + VERSION_BYTES) as u64
}

impl Undo {
    pub(super) fn new(budget: &Arc<RowBudget>) -> Undo {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Undo { shards, bytes: AtomicU64::new(0), budget: budget.clone() }
    }

    fn shard(&self, key: &[u8]) -> &Mutex<Shard> {
        &self.shards[hash_bytes(key) as usize % SHARDS]
    }

    /// Keeps what a key was from one commit to another.
    pub(super) fn keep(&self, key: &Arc<[u8]>, (since, ended): (Timestamp, Timestamp), row: &[u8]) {
        let old = Old { since, ended, row: row.into() };
        let bytes = bytes_of(key, &old);
        let mut shard = self.shard(key).lock();
        let versions = shard.entry(Arc::clone(key)).or_default();
        assert!(since < ended, "a version has a duration");
        assert!(versions.last().is_none_or(|last| last.ended <= since), "versions come in order (undo 1)");
        versions.push(old);
        drop(shard);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.budget.charge(bytes);
    }

    /// What a snapshot sees of a key whose page has a later state.
    pub(super) fn seen(&self, key: &[u8], ts: Timestamp) -> Option<Arc<[u8]>> {
        let shard = self.shard(key).lock();
        let version = shard.get(key)?.iter().rev().find(|version| version.since <= ts)?;
        (ts < version.ended).then(|| Arc::clone(&version.row))
    }

    /// When the last version of a key ended; 0: no snapshot sees one.
    pub(super) fn ended(&self, key: &[u8]) -> Timestamp {
        let shard = self.shard(key).lock();
        shard.get(key).and_then(|versions| versions.last()).map_or(Timestamp(0), |last| last.ended)
    }

    /// Forgets what ended at or before the horizon.
    pub(super) fn purge(&self, limit: Timestamp) {
        for shard in &self.shards {
            let mut gone = 0;
            shard.lock().retain(|key, versions| {
                versions.retain(|version| {
                    let stays = version.ended > limit;
                    gone += if stays { 0 } else { bytes_of(key, version) };
                    stays
                });
                !versions.is_empty()
            });
            self.bytes.fetch_sub(gone, Ordering::Relaxed);
            self.budget.release(gone);
        }
    }

    /// Bytes of memory, about.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Versions that are kept.
    pub(super) fn version_count(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().values().map(|versions| versions.len() as u64).sum::<u64>()).sum()
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        self.budget.release(self.bytes.load(Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_sees_its_version_until_the_horizon_has_passed_it() {
        let budget = Arc::new(RowBudget::new(1 << 20));
        let undo = Undo::new(&budget);
        let key: Arc<[u8]> = b"k1".as_slice().into();
        let ts = Timestamp;
        undo.keep(&key, (ts(12), ts(44)), b"a");
        undo.keep(&key, (ts(50), ts(60)), b"b");
        let seen = |at| undo.seen(b"k1", ts(at)).map(|row| row[0]);
        assert_eq!([11, 12, 43, 44, 49, 50, 59, 60].map(seen), {
            let (a, b) = (Some(b'a'), Some(b'b'));
            [None, a, a, None, None, b, b, None]
        });
        assert!(budget.used_bytes() > 0);
        assert_eq!((undo.ended(b"k1"), undo.ended(b"k2")), (ts(60), ts(0)));
        undo.purge(ts(44));
        assert_eq!(([12, 43, 50].map(seen), undo.version_count()), ([None, None, Some(b'b')], 1));
        undo.purge(ts(60));
        assert_eq!((budget.used_bytes(), undo.bytes()), (0, 0));
    }
}
