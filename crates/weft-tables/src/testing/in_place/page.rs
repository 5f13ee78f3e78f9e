//! A page: the rows of one stretch of keys, each with the versions that came before it.

use std::sync::Arc;

use weft_format::Timestamp;

/// A page of more slots is split.
const SLOTS_MAX: usize = 24;

/// A row as a file has it: its key, since when it is there, and its bytes.
pub(super) type Kept = (Arc<[u8]>, Timestamp, Arc<[u8]>);

/// A version of a row.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) row: Arc<[u8]>,
    pub(super) since: Timestamp,
    /// MAX while it is alive.
    pub(super) ended: Timestamp,
}

impl Version {
    fn is_seen(&self, ts: Timestamp) -> bool {
        self.since <= ts && (ts < self.ended || self.ended == Timestamp::MAX)
    }
}

/// A key, its newest version, and behind it the older ones, newest first.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) key: Arc<[u8]>,
    versions: Vec<Version>,
}

impl Slot {
    /// The version that a reader at `ts` sees ([`Timestamp::MAX`]: the one that is alive).
    pub(super) fn seen(&self, ts: Timestamp) -> Option<&Version> {
        self.versions.iter().find(|version| version.is_seen(ts))
    }
}

/// Rows in key order.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    pub(super) number: u64,
    slots: Vec<Slot>,
    /// It changed since it was written.
    pub(super) is_changed: bool,
}

impl Page {
    /// A page as a file has it.
    pub(super) fn of_rows(number: u64, rows: Vec<Kept>) -> Page {
        let slot = |(key, since, row)| Slot { key, versions: vec![Version { row, since, ended: Timestamp::MAX }] };
        Page { number, slots: rows.into_iter().map(slot).collect(), is_changed: false }
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    fn place(&self, key: &[u8]) -> std::result::Result<usize, usize> {
        self.slots.binary_search_by(|slot| (*slot.key).cmp(key))
    }

    pub(super) fn slot(&self, key: &[u8]) -> Option<&Slot> {
        self.place(key).ok().map(|at| &self.slots[at])
    }

    /// Ends the version of a key that is alive, if one is; whether one was.
    pub(super) fn end(&mut self, key: &[u8], ts: Timestamp) -> bool {
        let Ok(at) = self.place(key) else { return false };
        let newest = self.slots[at].versions.first_mut().filter(|version| version.ended == Timestamp::MAX);
        let Some(newest) = newest else { return false };
        assert!(newest.since < ts, "versions of a key come in the order of time (in place 1)");
        newest.ended = ts;
        self.is_changed = true;
        true
    }

    /// Gives a key a version; the one before has ended.
    pub(super) fn put(&mut self, key: &Arc<[u8]>, ts: Timestamp, row: Arc<[u8]>) {
        let version = Version { row, since: ts, ended: Timestamp::MAX };
        match self.place(key) {
            Ok(at) => {
                let versions = &mut self.slots[at].versions;
                let before = versions.first().expect("a slot has a version");
                assert!(before.ended <= ts, "a key has one version that is alive (in place 1)");
                versions.insert(0, version);
            }
            Err(at) => self.slots.insert(at, Slot { key: Arc::clone(key), versions: vec![version] }),
        }
        self.is_changed = true;
    }

    /// Takes out the upper half when there are too many slots.
    pub(super) fn split(&mut self, number: u64) -> Option<Page> {
        if self.slots.len() <= SLOTS_MAX {
            return None;
        }
        let slots = self.slots.split_off(SLOTS_MAX / 2);
        self.is_changed = true;
        Some(Page { number, slots, is_changed: true })
    }

    /// Forgets what died at or before `limit`.
    pub(super) fn purge(&mut self, limit: Timestamp) {
        for slot in &mut self.slots {
            slot.versions.retain(|version| version.ended > limit);
        }
        self.slots.retain(|slot| !slot.versions.is_empty());
    }
}
