//! The one table of history: what rows had before they were changed, of the columns that were changed.
//!
//! ```text
//!   record 3   since 44, alive, back 1, {column 1: 10}     until it was changed, the row was so from 44 on
//! ```
//!
//! Concurrency: appended to and read without a lock.

use std::sync::atomic::{AtomicU32, Ordering};

use weft_format::{Timestamp, Value};
use weft_tables::lineage::buckets::Buckets;

/// Where a record is; none: nothing was before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Back(u32);

impl Back {
    pub(super) const NOTHING: Back = Back(0);
}

/// A row before a change.
pub(super) struct Old {
    /// From when on it was so.
    pub(super) since: Timestamp,
    pub(super) is_alive: bool,
    pub(super) back: Back,
    /// Old values of the columns that the change set.
    pub(super) set: Box<[(u16, Value)]>,
}

/// See the module.
#[derive(Default)]
pub(super) struct History {
    records: Buckets<Old>,
    count: AtomicU32,
}

impl History {
    pub(super) fn push(&self, old: Old) -> Back {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        assert!(number < u32::MAX - 1, "history has fewer than 2^32 records: measure for a shorter time");
        self.records.fill(number, old);
        Back(number + 1)
    }

    pub(super) fn get(&self, back: Back) -> Option<&Old> {
        let number = back.0.checked_sub(1)?;
        Some(self.records.get(number).expect("a record is there before a row points to it (iuh 2)"))
    }

    pub(super) fn len(&self) -> u64 {
        u64::from(self.count.load(Ordering::Relaxed))
    }
}
