//! A page: the rows of one stretch of keys, each with the versions that came before it.

use std::sync::Arc;

use weft_format::{RecordNo, Timestamp};

/// A page of more slots is split.
const SLOTS_MAX: usize = 24;

/// A row as a page on disk has it: its key, since when it is there, and its bytes.
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
    /// Its keys are not below this, and below the next page's.
    pub(super) low: Vec<u8>,
    /// Where the next page begins; none: it is the last.
    pub(super) high: Option<Vec<u8>>,
    /// The record of the log that changed it last.
    pub(super) record: RecordNo,
    slots: Vec<Slot>,
    /// It changed since it was written.
    pub(super) is_changed: bool,
    /// The first record that the page on disk lacks.
    pub(super) needs: Option<RecordNo>,
}

impl Page {
    /// A page as the disk or a record of the log has it.
    pub(super) fn of_rows(number: u64, (low, high): (Vec<u8>, Option<Vec<u8>>), rows: Vec<Kept>) -> Page {
        let slot = |(key, since, row)| Slot { key, versions: vec![Version { row, since, ended: Timestamp::MAX }] };
        Page { number, low, high, slots: rows.into_iter().map(slot).collect(), ..Page::default() }
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

    /// Whether the page has what a commit does to a key already (in place 2).
    pub(super) fn is_ahead(&self, key: &[u8], ts: Timestamp) -> bool {
        let newest = self.slot(key).and_then(|slot| slot.versions.first());
        newest.is_some_and(|newest| newest.since >= ts || (newest.ended >= ts && newest.ended != Timestamp::MAX))
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

    /// Where to split it, when it has too many slots, or too many bytes.
    pub(super) fn split_key(&self, is_long: bool) -> Option<Vec<u8>> {
        let is_large = self.slots.len() > SLOTS_MAX || is_long && self.slots.len() > 1;
        is_large.then(|| self.slots[self.slots.len() / 2].key.to_vec())
    }

    /// The rows from a key on, which the page still has, as a page of its own.
    pub(super) fn upper(&self, number: u64, low: &[u8]) -> Page {
        let at = self.slots.partition_point(|slot| &*slot.key < low);
        let slots = self.slots[at..].to_vec();
        Page { number, low: low.to_vec(), high: self.high.clone(), slots, is_changed: true, ..Page::default() }
    }

    /// Leaves the rows below a key, as record `number` says.
    pub(super) fn cut_at(&mut self, high: &[u8], number: RecordNo) {
        let at = self.slots.partition_point(|slot| &*slot.key < high);
        self.slots.truncate(at);
        self.high = Some(high.to_vec());
        self.changed_by(number);
    }

    /// A record has changed it, and the page on disk does not know.
    pub(super) fn changed_by(&mut self, number: RecordNo) {
        assert!(number > self.record, "the records of a page come in their order");
        (self.record, self.is_changed) = (number, true);
        self.needs = self.needs.or(Some(number));
    }

    /// Forgets what died at or before `limit`.
    pub(super) fn purge(&mut self, limit: Timestamp) {
        for slot in &mut self.slots {
            slot.versions.retain(|version| version.ended > limit);
        }
        self.slots.retain(|slot| !slot.versions.is_empty());
    }
}
