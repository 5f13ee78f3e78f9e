//! Row versions in arrival order, in columns of slots: what a scan of a row table walks.
//!
//! ```text
//!   slot        0        1        2        3 ..          len = 3, capacity 64
//!   insert_ts   11       11       12
//!   delete_ts   MAX      12       MAX
//!   row         ▪ Arc    ▪ Arc    ▪ Arc
//!   columns[1]  [ 7, 7, 8 ]          Arrow array of column 1, built by the first scan once no slot can be added
//! ```
//!
//! Visibility is tested on two dense arrays; only the first scan of a column touches the rows behind the pointers.
//!
//! 1. Slots below `len` never change but for `delete_ts`, which goes from MAX to a timestamp once.
//! 2. A cached column covers exactly the slots of a complete chunk.
//!
//! Concurrency: one writer (it holds the table's mark lock); `len` is stored last and loaded first.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_array::ArrayRef;
use weft_format::Timestamp;

use super::runs::Runs;

/// Slots of the smallest chunk; each next chunk of a row table has twice as many.
pub(crate) const CHUNK_ROWS_MIN: usize = 64;
/// Slots of the largest chunk.
pub(crate) const CHUNK_ROWS_MAX: usize = 2048;

/// Some slots of a row table.
pub(crate) struct Chunk {
    /// The ordinal of the first slot in the row table.
    pub(crate) first: u32,
    len: AtomicU32,
    dead: AtomicU32,
    insert_ts_max: AtomicU64,
    insert_ts: Box<[AtomicU64]>,
    delete_ts: Box<[AtomicU64]>,
    rows: Box<[OnceLock<Arc<[u8]>>]>,
    columns: Box<[OnceLock<ArrayRef>]>,
    /// The same rows, encoded, in tables whose increments are columns.
    pub(crate) runs: Runs,
}

impl Chunk {
    /// An empty chunk.
    pub(crate) fn new(first: u32, capacity: usize, column_count: usize) -> Chunk {
        Chunk {
            first,
            len: AtomicU32::new(0),
            dead: AtomicU32::new(0),
            insert_ts_max: AtomicU64::new(0),
            insert_ts: (0..capacity).map(|_| AtomicU64::new(0)).collect(),
            delete_ts: (0..capacity).map(|_| AtomicU64::new(Timestamp::MAX.0)).collect(),
            rows: (0..capacity).map(|_| OnceLock::new()).collect(),
            columns: (0..column_count).map(|_| OnceLock::new()).collect(),
            runs: Runs::default(),
        }
    }

    /// Slots in use.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire) as usize
    }

    /// The most slots.
    pub(crate) fn capacity(&self) -> usize {
        self.rows.len()
    }

    /// Whether no slot can be added.
    pub(crate) fn is_full(&self) -> bool {
        self.len() == self.rows.len()
    }

    /// Adds a row; the only writer holds the mark lock. Returns its slot.
    pub(crate) fn push(&self, ts: Timestamp, row: Arc<[u8]>) -> u32 {
        let slot = self.len.load(Ordering::Relaxed);
        let index = slot as usize;
        assert!(self.rows[index].set(row).is_ok(), "slot {slot} is written once (chunk 1)");
        self.insert_ts[index].store(ts.0, Ordering::Relaxed);
        if self.insert_ts_max.load(Ordering::Relaxed) < ts.0 {
            self.insert_ts_max.store(ts.0, Ordering::Relaxed);
        }
        self.len.store(slot + 1, Ordering::Release);
        slot
    }

    /// The row's bytes.
    pub(crate) fn row(&self, slot: u32) -> &Arc<[u8]> {
        self.rows[slot as usize].get().expect("slots below len hold a row (chunk 1)")
    }

    /// When the row was inserted.
    pub(crate) fn insert_ts(&self, slot: u32) -> Timestamp {
        Timestamp(self.insert_ts[slot as usize].load(Ordering::Relaxed))
    }

    /// From when on the row is dead.
    pub(crate) fn delete_ts(&self, slot: u32) -> Timestamp {
        Timestamp(self.delete_ts[slot as usize].load(Ordering::Acquire))
    }

    /// Ends a version; false when it had ended already, at the same timestamp.
    pub(crate) fn end(&self, slot: u32, ts: Timestamp) -> bool {
        assert!((slot as usize) < self.len(), "a version is there before it ends (chunk 1)");
        assert!(ts != Timestamp::MAX, "a version that is alive has not ended at a timestamp");
        let cell = &self.delete_ts[slot as usize];
        let known = cell.load(Ordering::Relaxed);
        if known != Timestamp::MAX.0 {
            assert!(known == ts.0, "slot {slot} died at {known} and again at {ts} (chunk 1)");
            return false;
        }
        cell.store(ts.0, Ordering::Release);
        self.dead.fetch_add(1, Ordering::Release);
        true
    }

    /// The slots below `len` visible at `read_ts`, 64 per word; none when all are.
    pub(crate) fn visible_at(&self, read_ts: Timestamp, len: usize) -> Option<Vec<u64>> {
        if self.dead.load(Ordering::Acquire) == 0 && self.insert_ts_max.load(Ordering::Relaxed) <= read_ts.0 {
            return None;
        }
        debug_assert!(len <= self.len(), "a reader looks at slots below the length alone (chunk 1)");
        let mut words = vec![0u64; len.div_ceil(64)];
        for (index, (inserted, deleted)) in self.insert_ts[..len].iter().zip(&self.delete_ts[..len]).enumerate() {
            let visible = inserted.load(Ordering::Relaxed) <= read_ts.0 && deleted.load(Ordering::Acquire) > read_ts.0;
            words[index / 64] |= u64::from(visible) << (index % 64);
        }
        Some(words)
    }

    /// The cached array of a column, if some scan built it; columns that are younger than the chunk are not kept.
    pub(crate) fn column(&self, ordinal: usize) -> Option<&ArrayRef> {
        self.columns.get(ordinal)?.get()
    }

    /// Keeps the array of a column of a complete chunk; false when another scan was faster.
    pub(crate) fn keep_column(&self, ordinal: usize, array: ArrayRef) -> bool {
        assert_eq!(array.len(), self.len(), "a cached column covers the complete chunk (chunk 2)");
        self.columns.get(ordinal).is_some_and(|column| column.set(array).is_ok())
    }
}
