//! Several sorted batches as one: each entry once, with its greatest timestamp.
//!
//! ```text
//!   batch 1   a1@41  c7@44
//!   batch 2   a1@12         d2@30      →   a1@41  c7@44  d2@30        or from the other end
//! ```
//!
//! The heads of all stretches are compared with each other: there are rarely more than twenty, side by side.

use weft_contract::Direction;
use weft_format::Timestamp;

use super::batch::Batch;

/// A walk over a stretch of each of some batches.
pub(crate) struct Walk<'a> {
    direction: Direction,
    stretches: Vec<Stretch<'a>>,
}

/// The entries `from..to` of a batch, at least one.
struct Stretch<'a> {
    /// Of the entry that comes next.
    head: u64,
    from: usize,
    to: usize,
    batch: &'a Batch,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(direction: Direction) -> Walk<'a> {
        Walk { direction, stretches: Vec::new() }
    }

    /// Adds the entries `from..to` of a batch, which is sorted.
    pub(crate) fn add(&mut self, batch: &'a Batch, from: usize, to: usize) {
        debug_assert!(to <= batch.len(), "a stretch ends with its batch at the latest");
        if from < to {
            let mut stretch = Stretch { head: 0, from, to, batch };
            stretch.head = batch.head(stretch.next(self.direction));
            self.stretches.push(stretch);
        }
    }

    /// The next entry: its batch and place, and its timestamp.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(&'a Batch, usize, Timestamp)> {
        let mut best = 0;
        for at in 1..self.stretches.len() {
            if self.is_before(at, best) {
                best = at;
            }
        }
        let (direction, stretch) = (self.direction, self.stretches.get_mut(best)?);
        let (batch, index, head) = (stretch.batch, stretch.next(direction), stretch.head);
        let mut ts = batch.ts(index);
        if !stretch.pass(direction) {
            self.stretches.swap_remove(best);
        }
        let mut at = 0;
        while let Some(stretch) = self.stretches.get_mut(at) {
            let next = stretch.next(direction);
            if stretch.head != head || batch.bytes(index) != stretch.batch.bytes(next) {
                at += 1;
                continue;
            }
            ts = ts.max(stretch.batch.ts(next));
            if !stretch.pass(direction) {
                self.stretches.swap_remove(at);
            }
        }
        Some((batch, index, ts))
    }

    fn is_before(&self, at: usize, other: usize) -> bool {
        let (a, b) = (&self.stretches[at], &self.stretches[other]);
        let bytes = |stretch: &Stretch<'a>| stretch.batch.bytes(stretch.next(self.direction));
        match self.direction {
            Direction::Forward => a.head < b.head || (a.head == b.head && bytes(a) < bytes(b)),
            Direction::Backward => a.head > b.head || (a.head == b.head && bytes(a) > bytes(b)),
        }
    }
}

impl Stretch<'_> {
    fn next(&self, direction: Direction) -> usize {
        match direction {
            Direction::Forward => self.from,
            Direction::Backward => self.to - 1,
        }
    }

    /// Leaves the next entry behind; false when it was the last.
    fn pass(&mut self, direction: Direction) -> bool {
        debug_assert!(self.from < self.to, "a stretch goes when its last entry does");
        match direction {
            Direction::Forward => self.from += 1,
            Direction::Backward => self.to -= 1,
        }
        let some = self.from < self.to;
        if some {
            self.head = self.batch.head(self.next(direction));
        }
        some
    }
}

/// Merges sorted batches into one.
pub(crate) fn merge(inputs: &[&Batch]) -> Batch {
    let entries = inputs.iter().map(|input| input.len()).sum();
    let mut merged = Batch::with_capacity(entries, inputs.iter().map(|input| input.byte_count()).sum());
    let mut walk = Walk::new(Direction::Forward);
    inputs.iter().for_each(|input| walk.add(input, 0, input.len()));
    while let Some((batch, index, ts)) = walk.next() {
        let is_above = |last: usize| merged.bytes(last) < batch.bytes(index);
        debug_assert!(merged.len().checked_sub(1).is_none_or(is_above), "each entry comes once, in order");
        merged.push_from(batch, index, ts);
    }
    merged
}
