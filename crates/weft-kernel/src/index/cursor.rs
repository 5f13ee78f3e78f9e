//! A scan of an index: memories and runs merged, range by range.
//!
//! ```text
//!   scan 'c' ..= 'p'     range ["", "k"): memories 5 4, runs 7 12       then range ["k", ..): memories 5 4, runs 12 13
//!   lookup 'c'           the same, but a run is opened only when its filter says maybe
//! ```
//!
//! 1. The layout is pinned when the cursor is made: what was added before is found, whatever jobs do meanwhile.
//! 2. Entries may be outdated: the reader looks at the row (DESIGN, section 5: indexes).

use std::sync::Arc;

use weft_contract::Direction;
use weft_format::Result;

use super::entry::{Entry, EntryBuffer, Span};
use super::filter::value_hash;
use super::layout::Layout;
use super::memory::{Memory, MemoryScan};
use super::merged::{Merged, Source};
use super::run_scan::RunScan;

/// Yields entries in order.
pub struct Cursor {
    layout: Arc<Layout>,
    span: Span,
    direction: Direction,
    /// The value that is looked up, and its hash.
    lookup: Option<(Vec<u8>, u64)>,
    /// The next range to go to; none when there is none.
    range: Option<usize>,
    merged: Merged,
    entry: EntryBuffer,
    cached: bool,
}

impl Cursor {
    pub(crate) fn new(layout: Arc<Layout>, span: Span, direction: Direction) -> Cursor {
        let range = match (direction, &span.high) {
            _ if span.is_empty() => None,
            (Direction::Forward, _) => Some(layout.range_of(&span.low)),
            (Direction::Backward, Some(high)) => Some(layout.range_of(high)),
            (Direction::Backward, None) => Some(layout.ranges.len() - 1),
        };
        let merged = Merged::new(direction);
        Cursor { layout, span, direction, lookup: None, range, merged, entry: EntryBuffer::default(), cached: true }
    }

    /// A cursor over the entries of one value, which must be whole.
    pub(crate) fn lookup(layout: Arc<Layout>, span: Span, value: &[u8]) -> Cursor {
        let mut cursor = Cursor::new(layout, span, Direction::Forward);
        cursor.lookup = Some((value.to_vec(), value_hash(value)));
        cursor
    }

    /// Reads blocks past the cache, which a scan of everything would only stir.
    #[must_use]
    pub fn uncached(mut self) -> Cursor {
        self.cached = false;
        self
    }

    /// The next entry, or the end.
    #[allow(clippy::should_implement_trait, reason = "entries are lent, and reading can fail")]
    pub fn next(&mut self) -> Result<Option<Entry<'_>>> {
        while self.merged.is_empty() {
            let Some(range) = self.range else { return Ok(None) };
            self.open_range(range)?;
        }
        self.merged.next(&mut self.entry)?;
        Ok(Some(self.entry.entry()))
    }

    fn open_range(&mut self, range: usize) -> Result<()> {
        let layout = self.layout.clone();
        let (low, high) = (&layout.ranges[range].low, layout.range_end(range));
        self.range = match self.direction {
            Direction::Forward => high.filter(|high| self.span.is_before_end(high)).map(|_| range + 1),
            Direction::Backward => range.checked_sub(1).filter(|_| **low > self.span.low[..]),
        };
        let span = Arc::new(self.span.intersect(low, high));
        if span.is_empty() {
            return Ok(());
        }
        let hash = self.lookup.as_ref().map(|(_, hash)| *hash);
        let may_contain = |memory: &&Arc<Memory>| hash.is_none_or(|hash| memory.may_contain(hash));
        for memory in layout.memories().filter(|memory| memory.entry_count() > 0).filter(may_contain) {
            let scan = MemoryScan::new(memory.clone(), span.clone(), self.direction);
            self.merged.add(Source::Memory(Box::new(scan)))?;
        }
        for run in &layout.ranges[range].runs {
            if let Some((value, hash)) = &self.lookup
                && !run.may_contain(value, *hash)?
            {
                continue;
            }
            let scan = RunScan::new(run.clone(), span.clone(), self.direction, self.cached);
            let some = self.merged.add(Source::Run(Box::new(scan)))?;
            // A border may cut a value's entries in two: only its first range tells whether the filter was right.
            if !some && self.lookup.is_some() && *span.low == self.span.low[..] {
                run.note_false_positive();
            }
        }
        Ok(())
    }
}
