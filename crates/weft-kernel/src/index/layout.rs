//! What an index consists of at a moment: memories, and value ranges with their runs.
//!
//! ```text
//!   layout   active memory 5, frozen memories 3 and 4 (oldest first)
//!            range ["", "k")    runs 7 9 12         run 12 holds entries from "c" to "x": both ranges read it,
//!            range ["k", ..)    runs 12 13          each its own stretch of it
//! ```
//!
//! 1. The first range begins at "", each ends where the next begins; borders ascend and never go.
//! 2. An entry that was added is in a memory, or in a run of the range it falls into.
//! 3. A run's file goes when no range of the newest layout reads it and the last reader of an older one is done.
//!
//! So a range splits without moving any data: two ranges read the same runs, and the next merge of each leaves its half
//! behind. Memories know nothing of ranges.
//!
//! Concurrency: immutable; the store swaps one pointer, readers keep what they pinned.
//!
//! Source: SG-ColBase, sections 3 and 5.1 (partitions found by binary search).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_format::{FileId, Timestamp};

use super::entry::Span;
use super::memory::Memory;
use super::run::Run;

/// A range of values with its runs.
#[derive(Clone)]
pub(crate) struct Range {
    /// Where it begins.
    pub(crate) low: Arc<[u8]>,
    /// The runs it reads, in no order.
    pub(crate) runs: Vec<Arc<Run>>,
    /// Entries that were noted as outdated since a merge last looked at the whole range.
    pub(crate) stale: Arc<Stale>,
}

/// Entries of a range that were noted as outdated, and when a merge that looked for them was begun.
#[derive(Default)]
pub(crate) struct Stale {
    noted: AtomicU64,
    looked_at: AtomicU64,
}

impl Stale {
    pub(crate) fn note(&self) {
        self.noted.fetch_add(1, Ordering::Relaxed);
    }

    /// How many were noted that a merge has not looked for, or that were too young for it.
    pub(crate) fn noted(&self) -> u64 {
        self.noted.load(Ordering::Relaxed)
    }

    /// How many are worth a look now: none while those that were too young for the last one still are.
    pub(crate) fn due(&self, horizon: Timestamp) -> u64 {
        if horizon.0 >= self.looked_at.load(Ordering::Relaxed) { self.noted() } else { 0 }
    }

    /// A merge of the whole range, begun when `published` was, looked for `noted` and found `young` entries above the
    /// horizon.
    pub(crate) fn looked(&self, noted: u64, young: u64, published: Timestamp) {
        let gone = noted.saturating_sub(young);
        let before = self.noted.fetch_sub(gone, Ordering::Relaxed);
        assert!(before >= gone, "one merge of a range at a time looks for what was noted");
        self.looked_at.store(published.0, Ordering::Relaxed);
    }
}

impl Range {
    pub(crate) fn new(low: Arc<[u8]>, runs: Vec<Arc<Run>>) -> Range {
        Range { low, runs, stale: Arc::default() }
    }
}

/// One layout version.
pub(crate) struct Layout {
    pub(crate) active: Arc<Memory>,
    /// Oldest first.
    pub(crate) frozen: Vec<Arc<Memory>>,
    pub(crate) ranges: Vec<Range>,
}

impl Layout {
    pub(crate) fn new(active: Arc<Memory>, frozen: Vec<Arc<Memory>>, ranges: Vec<Range>) -> Layout {
        assert!(ranges.first().is_some_and(|first| first.low.is_empty()), "the first range begins at \"\" (layout 1)");
        assert!(ranges.is_sorted_by(|a, b| a.low < b.low), "borders ascend (index layout 1)");
        let memories = frozen.iter().chain([&active]);
        assert!(memories.is_sorted_by(|a, b| a.number < b.number), "memories are numbered as they begin");
        assert!(frozen.iter().all(|memory| memory.entry_count() > 0), "a memory is frozen that has entries");
        Layout { active, frozen, ranges }
    }

    /// Memories, newest first.
    pub(crate) fn memories(&self) -> impl Iterator<Item = &Arc<Memory>> {
        std::iter::once(&self.active).chain(self.frozen.iter().rev())
    }

    /// The range that an entry or border falls into.
    pub(crate) fn range_of(&self, bytes: &[u8]) -> usize {
        range_of(&self.ranges, bytes)
    }

    /// Where a range ends; none: it has no end.
    pub(crate) fn range_end(&self, range: usize) -> Option<&[u8]> {
        range_end(&self.ranges, range)
    }

    /// Every run once.
    pub(crate) fn runs(&self) -> BTreeMap<FileId, Arc<Run>> {
        runs_of(&self.ranges)
    }
}

/// Every run of some ranges once.
pub(crate) fn runs_of(ranges: &[Range]) -> BTreeMap<FileId, Arc<Run>> {
    ranges.iter().flat_map(|range| &range.runs).map(|run| (run.file, run.clone())).collect()
}

/// The range that an entry or border falls into.
pub(crate) fn range_of(ranges: &[Range], bytes: &[u8]) -> usize {
    debug_assert!(ranges.first().is_some_and(|first| first.low.is_empty()), "everything falls into a range (layout 1)");
    ranges.partition_point(|range| *range.low <= *bytes) - 1
}

/// Where a range ends; none: it has no end.
pub(crate) fn range_end(ranges: &[Range], range: usize) -> Option<&[u8]> {
    ranges.get(range + 1).map(|next| &*next.low)
}

/// A range's stretch.
pub(crate) fn range_span(ranges: &[Range], range: usize) -> Span {
    Span { low: ranges[range].low.to_vec(), high: range_end(ranges, range).map(<[u8]>::to_vec) }
}

/// Lets every range that a run has entries in read it.
pub(crate) fn add_run(ranges: &mut [Range], run: &Arc<Run>) {
    let first = range_of(ranges, &run.footer.first.bytes);
    let last = range_of(ranges, &run.footer.last.bytes);
    for range in &mut ranges[first..=last] {
        range.runs.push(run.clone());
    }
}

/// Splits ranges at borders: both halves read the same runs, each those that reach into it.
pub(crate) fn split(ranges: &mut Vec<Range>, borders: &[Arc<[u8]>]) {
    debug_assert!(borders.is_sorted_by(|a, b| a < b), "borders ascend (index layout 1)");
    for border in borders {
        let at = range_of(ranges, border);
        if *ranges[at].low == **border {
            continue;
        }
        let (mut left, mut right, before) = (Vec::new(), Vec::new(), ranges[at].runs.len());
        for run in ranges[at].runs.drain(..) {
            if run.footer.last.bytes[..] >= **border {
                right.push(run.clone());
            }
            if run.footer.first.bytes[..] < **border {
                left.push(run);
            }
        }
        assert!(left.len() + right.len() >= before, "a half reads each run that was read before (index layout 2)");
        ranges[at].runs = left;
        ranges.insert(at + 1, Range::new(border.clone(), right));
    }
}
