//! The part of an index in memory: sorted pieces that double as they grow old, and a few entries in no order.
//!
//! ```text
//!   memory 4   from 40                             everything up to 40 is in older memories or in files
//!     pieces   25,600 entries · 6,400 · 6,400 · 400 · 100 · 100          oldest first, each sorted
//!     tail     n3@44 a1@45                                               at most 63 entries of small commits
//!
//!   a commit of 100 rows:   its entries, sorted, become a piece                  one allocation, no search
//!   a commit of one row:    its entry joins the tail; the 64th makes it a piece
//!   400 · 100 · 100 · 100 · 100:   from the fourth that is no larger than those behind it together: merge to 800
//! ```
//!
//! 1. Entries with timestamps from `from` on come here, and repeated ones of any timestamp; the greatest is kept: by
//!    who merges pieces, and by who reads an entry that several have.
//! 2. A frozen memory takes no more: whoever adds holds the layout's lock for reading, whoever freezes for writing.
//!    Pieces may still be merged then; that changes what lies where, not what is there.
//! 3. What it charged to the row budget it gives back with its last reference.
//! 4. A small Bloom filter knows the values: it never denies one that was added. So a lookup searches few of the
//!    memories that wait to be written. A memory of few entries has none. It is made, of all that is there, under the
//!    lock under which entries come; who found none before looks again there.
//! 5. One thread at a time merges, a stretch of neighbours into one; others only put pieces behind it.
//!
//! Concurrency: entries and pieces are put in, found and exchanged under one lock, for a short time; merges run outside
//! of it, on pieces that nobody changes. The number of pieces is about thrice the logarithm of the size.
//!
//! Source: SG-ColBase, section 5, has a skip list per partition in this place; its nodes lie far from each other, so a
//! search waits for memory at every step. Pieces are a log-structured merge tree's levels (O'Neil et al., 1996).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use weft_contract::Direction;
use weft_env::sync::RwLock;
use weft_format::Timestamp;

use super::batch::Batch;
use super::entry::{EntryBuffer, Span};
use super::filter::value_hash;

use super::walk::{Walk, merge};
use crate::budget::RowBudget;

/// So many entries of small commits become a piece.
const TAIL_ENTRIES: usize = 64;
/// A commit of so many entries is a piece at once.
const PIECE_ENTRIES_MIN: usize = 32;
/// So many pieces, of which none is larger than those behind it together, are merged.
const MERGED_MIN: usize = 4;
/// Pieces are not merged into one larger than this: a committer does it.
const PIECE_BYTES_MAX: usize = 2 << 20;
/// Entries that a scan copies at first and at most at once.
const BATCH_MIN: usize = 4;
const BATCH_MAX: usize = 256;
/// A memory of so many entries has a filter; smaller ones earlier.
const FILTER_ENTRIES_MIN: u64 = 256;
/// Words of the filter that lie side by side, in which all bits of a value are.
const LINE_WORDS: u64 = 8;

/// Entries in memory.
pub(crate) struct Memory {
    /// Counts the index's memories.
    pub(crate) number: u64,
    from: AtomicU64,
    held: RwLock<Held>,
    filter: OnceLock<Box<[AtomicU64]>>,
    filter_words: u64,
    entries: AtomicU64,
    bytes: AtomicU64,
    budget: Arc<RowBudget>,
}

#[derive(Default)]
struct Held {
    /// Sorted, oldest first.
    pieces: Vec<Arc<Batch>>,
    /// In the order in which they came.
    tail: Batch,
    /// Whether somebody merges pieces.
    merging: bool,
}

/// What follows from adding entries.
#[derive(Clone, Copy)]
pub(crate) struct Added {
    /// Bytes in use afterwards.
    pub(crate) bytes: u64,
    /// Whether the caller should merge pieces ([`Memory::merge_pieces`]), without locks.
    pub(crate) can_merge: bool,
}

impl Memory {
    /// An empty memory, expected to reach about `bytes_max`.
    pub(crate) fn new(number: u64, from: Timestamp, bytes_max: u64, budget: Arc<RowBudget>) -> Memory {
        let filter_words = (bytes_max / 256).clamp(16, 1 << 17).next_power_of_two();
        Memory {
            number,
            from: AtomicU64::new(from.0),
            held: RwLock::default(),
            filter: OnceLock::new(),
            filter_words,
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

    /// Entries; one that was added several times may count several times.
    pub(crate) fn entry_count(&self) -> u64 {
        self.entries.load(Ordering::Acquire)
    }

    /// Bytes charged to the row budget.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn filter_bits(&self, hash: u64) -> [(usize, u64); 3] {
        let lines = self.filter_words / LINE_WORDS;
        let line = (hash & (lines - 1)) * LINE_WORDS;
        let bit = |shift: u32| ((line + (hash >> shift) % LINE_WORDS) as usize, 1u64 << (hash >> (shift + 3) & 63));
        [bit(37), bit(46), bit(55)]
    }

    /// Whether entries of the value with this hash ([`value_hash`]) may be here; false is certain.
    pub(crate) fn may_contain(&self, hash: u64) -> bool {
        let Some(filter) = self.filter.get() else { return true };
        self.filter_bits(hash).iter().all(|&(word, bit)| filter[word].load(Ordering::Acquire) & bit != 0)
    }

    fn note_value(&self, filter: &[AtomicU64], value: &[u8]) {
        for (word, bit) in self.filter_bits(value_hash(value)) {
            // Most bits of a value that comes often are set: a load spares the cache line the write.
            if filter[word].load(Ordering::Relaxed) & bit == 0 {
                filter[word].fetch_or(bit, Ordering::Release);
            }
        }
    }

    /// Bytes of the filter, charged besides.
    pub(super) fn filter_bytes(&self) -> u64 {
        self.filter.get().map_or(0, |filter| filter.len() as u64 * 8)
    }

    /// Puts values into the filter; false when there is none yet.
    fn note_values<'a>(&self, values: impl Iterator<Item = &'a [u8]>) -> bool {
        let Some(filter) = self.filter.get() else { return false };
        values.for_each(|value| self.note_value(filter, value));
        true
    }

    /// Makes the filter once there are entries enough for it (memory 4).
    fn make_filter(&self, held: &Held) {
        let batches = || held.pieces.iter().map(|piece| &**piece).chain([&held.tail]);
        let count: usize = batches().map(Batch::len).sum();
        if self.filter.get().is_some() || (count as u64) < (self.filter_words / 16).clamp(8, FILTER_ENTRIES_MIN) {
            return;
        }
        let filter: Box<[AtomicU64]> = (0..self.filter_words).map(|_| AtomicU64::new(0)).collect();
        for batch in batches() {
            (0..batch.len()).for_each(|index| self.note_value(&filter, batch.value(index)));
        }
        self.budget.charge(self.filter_words * 8);
        self.filter.set(filter).expect("it is made under the lock");
    }

    /// Adds an entry.
    pub(crate) fn add(&self, value: &[u8], key: &[u8], ts: Timestamp) -> Added {
        let noted = self.note_values([value].into_iter());
        let mut held = self.held.write();
        if !noted && !self.note_values([value].into_iter()) {
            self.make_filter(&held);
            self.note_values([value].into_iter());
        }
        held.tail.push(value, key, ts);
        let grows = held.end_tail();
        held.check();
        self.charge(1, value.len() + key.len() + Batch::PLACE_BYTES, grows && held.mergeable().is_some())
    }

    /// Adds sorted entries.
    pub(crate) fn add_sorted(&self, entries: Batch) -> Added {
        debug_assert!(entries.is_sorted(), "the entries of a commit come sorted, as a piece has them");
        let (count, size) = (entries.len(), entries.size());
        let values = || (0..count).map(|index| entries.value(index));
        let noted = self.note_values(values());
        let mut held = self.held.write();
        if !noted && !self.note_values(values()) {
            self.make_filter(&held);
            self.note_values(values());
        }
        let grows = if count >= PIECE_ENTRIES_MIN {
            held.pieces.push(Arc::new(entries));
            true
        } else {
            (0..count).for_each(|index| held.tail.push_from(&entries, index, entries.ts(index)));
            held.end_tail()
        };
        held.check();
        self.charge(count, size, grows && held.mergeable().is_some())
    }

    /// Counts entries. The caller holds the lock still: who merges them away must not count them off before.
    fn charge(&self, count: usize, size: usize, can_merge: bool) -> Added {
        self.entries.fetch_add(count as u64, Ordering::Release);
        self.budget.charge(size as u64);
        Added { bytes: self.bytes.fetch_add(size as u64, Ordering::Relaxed) + size as u64, can_merge }
    }

    /// Merges pieces as long as there are some to merge and nobody else does. The caller holds no lock.
    pub(crate) fn merge_pieces(&self) {
        loop {
            let (first, inputs) = {
                let mut held = self.held.write();
                let Some(first) = held.mergeable() else { return };
                held.merging = true;
                (first, held.pieces[first..].to_vec())
            };
            let batches: Vec<&Batch> = inputs.iter().map(|piece| &**piece).collect();
            let merged = Arc::new(merge(&batches));
            let before = inputs.iter().fold((0, 0), |sum, piece| (sum.0 + piece.len(), sum.1 + piece.size()));
            assert!(merged.len() > 0 && merged.len() <= before.0, "a merge keeps each entry, and makes none");
            assert!(merged.size() <= before.1, "a merge gives bytes back to the budget, it takes none (memory 3)");
            let (count, size) = (before.0 - merged.len(), before.1 - merged.size());
            // Pieces are freed outside of the lock.
            let _merged_ones: Vec<Arc<Batch>> = {
                let mut held = self.held.write();
                assert!(held.merging, "nobody else merges while one does (index memory 5)");
                held.merging = false;
                let places = first..first + inputs.len();
                assert!(
                    held.pieces[places.clone()].iter().zip(&inputs).all(|(a, b)| Arc::ptr_eq(a, b)),
                    "one thread at a time merges (index memory 5)"
                );
                let merged_ones = held.pieces.splice(places, [merged]).collect();
                held.check();
                merged_ones
            };
            self.entries.fetch_sub(count as u64, Ordering::Release);
            self.bytes.fetch_sub(size as u64, Ordering::Relaxed);
            self.budget.release(size as u64);
        }
    }

    #[cfg(test)]
    pub(super) fn piece_count(&self) -> usize {
        self.held.read().pieces.len()
    }

    /// Copies up to `count` entries from `low` on and below `high`, from the end that the direction begins at.
    fn copy(&self, low: &[u8], high: Option<&[u8]>, direction: Direction, count: usize, to: &mut Batch) {
        to.clear();
        let held = self.held.read();
        let tail = held.tail.selected(low, high);
        let mut walk = Walk::new(direction);
        for piece in held.pieces.iter().map(|piece| &**piece).chain([&tail]) {
            let end = high.map_or(piece.len(), |high| piece.count_below(high));
            walk.add(piece, piece.count_below(low), end);
        }
        while to.len() < count
            && let Some((batch, index, ts)) = walk.next()
        {
            to.push_from(batch, index, ts);
        }
    }
}

impl Held {
    fn check(&self) {
        debug_assert!(self.pieces.iter().all(|piece| piece.len() > 0), "a piece has entries");
        debug_assert!(self.tail.len() < TAIL_ENTRIES, "the 64th entry makes the tail a piece");
    }

    /// Makes the tail a piece, if it is large enough.
    fn end_tail(&mut self) -> bool {
        if self.tail.len() < TAIL_ENTRIES {
            return false;
        }
        let room = Batch::with_capacity(TAIL_ENTRIES, self.tail.byte_count());
        let mut piece = std::mem::replace(&mut self.tail, room);
        piece.sort();
        self.pieces.push(Arc::new(piece));
        true
    }

    /// The first of the pieces, up to the last, that should be one; none while somebody merges.
    fn mergeable(&self) -> Option<usize> {
        if self.merging {
            return None;
        }
        let (mut first, mut size) = (self.pieces.len(), 0);
        while let Some(piece) = first.checked_sub(1).map(|before| &self.pieces[before])
            && (size == 0 || piece.size() <= size)
            && size + piece.size() <= PIECE_BYTES_MAX
        {
            size += piece.size();
            first -= 1;
        }
        (self.pieces.len() - first >= MERGED_MIN).then_some(first)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.budget.release(self.bytes() + self.filter_bytes());
    }
}

/// A walk over a memory within a stretch. Entries that are added meanwhile may come or not.
pub(crate) struct MemoryScan {
    memory: Arc<Memory>,
    span: Arc<Span>,
    direction: Direction,
    /// Entries copied out, in the order of the walk, and the next of them.
    batch: Batch,
    next: usize,
    /// How many were asked for; 0 at first.
    count: usize,
    current: EntryBuffer,
}

impl MemoryScan {
    pub(crate) fn new(memory: Arc<Memory>, span: Arc<Span>, direction: Direction) -> MemoryScan {
        let (batch, current) = Default::default();
        MemoryScan { memory, span, direction, batch, next: 0, count: 0, current }
    }

    pub(crate) fn current(&self) -> &EntryBuffer {
        &self.current
    }

    /// Goes to the next entry; false at the end.
    pub(crate) fn advance(&mut self) -> bool {
        debug_assert!(self.batch.len() <= self.count, "no more is copied than was asked for");
        if self.next == self.batch.len() {
            if self.batch.len() < self.count {
                return false;
            }
            self.fill();
            if self.batch.len() == 0 {
                return false;
            }
        }
        self.batch.read(self.next, &mut self.current);
        self.next += 1;
        true
    }

    fn fill(&mut self) {
        let Span { low, high } = &*self.span;
        let (is_first, last) = (self.count == 0, &mut self.current.bytes);
        self.count = if is_first { BATCH_MIN } else { (self.count * 4).min(BATCH_MAX) };
        let (low, high) = match self.direction {
            _ if is_first => (&low[..], high.as_deref()),
            Direction::Forward => {
                // The least string above the last entry.
                last.push(0);
                (&last[..], high.as_deref())
            }
            Direction::Backward => (&low[..], Some(&last[..])),
        };
        debug_assert!(is_first || high.is_none_or(|high| low <= high), "a walk goes on within its stretch");
        self.memory.copy(low, high, self.direction, self.count, &mut self.batch);
        self.next = 0;
    }
}
