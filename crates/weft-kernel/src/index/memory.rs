//! The part of an index in memory: a skip list per value range, as the ranges were when it was begun.
//!
//! ```text
//!   memory 4   from 40                                  everything up to 40 is in older memories or in files
//!     ["", "m")   a1@41 c7@44 d2@41
//!     ["m", ..)   n3@43
//! ```
//!
//! 1. Entries with timestamps from `from` on come here, and repeated ones of any timestamp; the greatest is kept.
//! 2. A frozen memory takes no more: whoever adds holds the layout's lock for reading, whoever freezes for writing.
//! 3. What it charged to the row budget it gives back with its last reference.
//! 4. A small Bloom filter knows the values: it never denies one that was added. So a lookup walks into few of the
//!    memories that wait to be written.
//!
//! Source: SG-ColBase, section 5 (partitions by value, skip lists).

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_skiplist::SkipMap;
use weft_format::Timestamp;

use super::batch::Batch;
use super::entry::{EntryBuffer, EntryKey, Span};
use super::filter::value_hash;
use super::run_scan::Direction;
use crate::budget::RowBudget;

/// What an entry costs besides its bytes: skip list node, allocation headers.
const ENTRY_OVERHEAD_BYTES: u64 = 96;
/// Entries that a scan copies at first and at most at once.
const BATCH_MIN: usize = 4;
const BATCH_MAX: usize = 256;

/// Entries in memory.
pub(crate) struct Memory {
    /// Counts the index's memories.
    pub(crate) number: u64,
    from: AtomicU64,
    /// Where lists begin; the first begins at "".
    borders: Vec<Arc<[u8]>>,
    lists: Vec<SkipMap<EntryKey, AtomicU64>>,
    filter: Box<[AtomicU64]>,
    entries: AtomicU64,
    bytes: AtomicU64,
    budget: Arc<RowBudget>,
}

impl Memory {
    /// An empty memory with a list from each border on, expected to reach about `bytes_max`.
    pub(crate) fn new(
        number: u64,
        from: Timestamp,
        borders: Vec<Arc<[u8]>>,
        bytes_max: u64,
        budget: Arc<RowBudget>,
    ) -> Memory {
        assert!(borders.first().is_some_and(|first| first.is_empty()), "the first range begins at the empty string");
        let filter_words = (bytes_max / 512).clamp(16, 1 << 16).next_power_of_two();
        Memory {
            number,
            from: AtomicU64::new(from.0),
            lists: borders.iter().map(|_| SkipMap::new()).collect(),
            borders,
            filter: (0..filter_words).map(|_| AtomicU64::new(0)).collect(),
            entries: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            budget,
        }
    }

    /// Everything up to here was added before this memory began.
    pub(crate) fn from(&self) -> Timestamp {
        Timestamp(self.from.load(Ordering::Acquire))
    }

    /// Moves `from`, of a memory that is empty; the caller keeps others from adding.
    pub(crate) fn begin_at(&self, from: Timestamp) {
        assert_eq!(self.entry_count(), 0, "only an empty memory begins later (index memory 1)");
        self.from.fetch_max(from.0, Ordering::AcqRel);
    }

    pub(crate) fn entry_count(&self) -> u64 {
        self.entries.load(Ordering::Acquire)
    }

    /// Bytes charged to the row budget.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn list_of(&self, bytes: &[u8]) -> usize {
        self.borders.partition_point(|border| **border <= *bytes) - 1
    }

    fn filter_bits(&self, hash: u64) -> [(usize, u64); 3] {
        let mask = self.filter.len() as u64 - 1;
        let word = |shift: u32| ((hash >> shift & mask) as usize, 1u64 << (hash.rotate_left(shift + 7) & 63));
        [word(0), word(17), word(34)]
    }

    /// Whether entries of the value with this hash ([`value_hash`]) may be here; false is certain.
    pub(crate) fn may_contain(&self, hash: u64) -> bool {
        self.filter_bits(hash).iter().all(|&(word, bit)| self.filter[word].load(Ordering::Acquire) & bit != 0)
    }

    /// Adds an entry; returns the bytes in use afterwards.
    pub(crate) fn add(&self, value: &[u8], key: &[u8], ts: Timestamp) -> u64 {
        let entry = EntryKey::new(value, key);
        let len = entry.bytes().len() as u64;
        let list = &self.lists[self.list_of(entry.bytes())];
        for (word, bit) in self.filter_bits(value_hash(value)) {
            // Most bits of a value that comes often are set: a load spares the cache line the write.
            if self.filter[word].load(Ordering::Relaxed) & bit == 0 {
                self.filter[word].fetch_or(bit, Ordering::Release);
            }
        }
        let mut added = false;
        let place = list.get_or_insert_with(entry, || {
            added = true;
            AtomicU64::new(ts.0)
        });
        place.value().fetch_max(ts.0, Ordering::AcqRel);
        if !added {
            return self.bytes();
        }
        let cost = len + ENTRY_OVERHEAD_BYTES;
        self.entries.fetch_add(1, Ordering::Release);
        self.budget.charge(cost);
        self.bytes.fetch_add(cost, Ordering::Relaxed) + cost
    }

    /// Copies up to `count` entries of a list between two bounds, from the end that the direction begins at.
    fn copy(&self, list: usize, bounds: (Bound<&[u8]>, Bound<&[u8]>), walk: Direction, count: usize, to: &mut Batch) {
        to.clear();
        let range = self.lists[list].range::<[u8], _>(bounds);
        let mut push = |key: &EntryKey, ts: &AtomicU64| {
            to.push(key.bytes(), key.value_len(), Timestamp(ts.load(Ordering::Acquire)));
        };
        match walk {
            Direction::Forward => range.take(count).for_each(|entry| push(entry.key(), entry.value())),
            Direction::Backward => range.rev().take(count).for_each(|entry| push(entry.key(), entry.value())),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.budget.release(self.bytes());
    }
}

/// A walk over a memory within a stretch. Entries that are added meanwhile may come or not.
pub(crate) struct MemoryScan {
    memory: Arc<Memory>,
    span: Arc<Span>,
    direction: Direction,
    /// The list that is being read.
    list: usize,
    /// Entries copied from it, in the order of the walk, and the next of them.
    batch: Batch,
    next: usize,
    count: usize,
    /// Whether `current` is an entry of this list, behind which to go on.
    inside: bool,
    current: EntryBuffer,
}

impl MemoryScan {
    pub(crate) fn new(memory: Arc<Memory>, span: Arc<Span>, direction: Direction) -> MemoryScan {
        let list = match (direction, &span.high) {
            (Direction::Forward, _) => memory.list_of(&span.low),
            (Direction::Backward, Some(high)) => memory.list_of(high),
            (Direction::Backward, None) => memory.lists.len() - 1,
        };
        MemoryScan {
            memory,
            span,
            direction,
            list,
            batch: Batch::default(),
            next: 0,
            count: BATCH_MIN,
            inside: false,
            current: EntryBuffer::default(),
        }
    }

    pub(crate) fn current(&self) -> &EntryBuffer {
        &self.current
    }

    /// Goes to the next entry; false at the end.
    pub(crate) fn advance(&mut self) -> bool {
        while self.next == self.batch.len() {
            let whole = self.batch.len() == self.count || !self.inside;
            self.count = if self.inside { (self.count * 4).min(BATCH_MAX) } else { self.count };
            if whole {
                self.fill();
            }
            if (!whole || self.batch.len() == 0) && !self.next_list() {
                return false;
            }
        }
        self.batch.read(self.next, &mut self.current);
        self.next += 1;
        self.inside = true;
        true
    }

    fn fill(&mut self) {
        let last = Bound::Excluded(&self.current.bytes[..]);
        let low = Bound::Included(&self.span.low[..]);
        let high = self.span.high.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let bounds = match (self.inside, self.direction) {
            (false, _) => (low, high),
            (true, Direction::Forward) => (last, high),
            (true, Direction::Backward) => (low, last),
        };
        self.memory.copy(self.list, bounds, self.direction, self.count, &mut self.batch);
        self.next = 0;
    }

    /// Goes to the next list that the stretch touches; false when there is none.
    fn next_list(&mut self) -> bool {
        let next = match self.direction {
            Direction::Forward => Some(self.list + 1)
                .filter(|&next| self.memory.borders.get(next).is_some_and(|border| self.span.is_before_end(border))),
            Direction::Backward => {
                self.list.checked_sub(1).filter(|_| self.memory.borders[self.list][..] > self.span.low[..])
            }
        };
        let Some(next) = next else { return false };
        self.list = next;
        self.inside = false;
        self.batch.clear();
        self.next = 0;
        true
    }
}
