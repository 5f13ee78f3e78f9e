//! The rows of several column tables in one order: by key, versions of a key oldest first.
//!
//! ```text
//!   t5  a c │ d m      heads a b         ▶ a t5, b t7, c t5
//!   t7  b m                  d m            t5 is at its second block: the keys of the first are gone
//! ```
//!
//! 1. Rows that are dead at the limit are left out.
//! 2. Versions of a key with one insert timestamp are those of a transaction that replaced the row in bulk and changed
//!    it again: the last is the one that lives longest, which is found first.
//! 3. Rows leave an input in the order of its positions; of each input the keys of one block are in memory.

use std::sync::Arc;

use weft_format::{BLOCK_ROWS, KeyRows, Result, Timestamp};

use super::part::Part;

/// A row of the inputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) input: u32,
    pub(super) position: u32,
    /// 0: so old that no reader need be told.
    pub(super) insert_ts: u64,
}

/// Reads the keys of a block of an input.
pub(super) type ReadKeys<'a> = dyn FnMut(&Part, usize) -> Result<KeyRows> + 'a;

/// The next rows of all inputs.
pub(super) struct MergeOrder<'a> {
    read_keys: &'a mut ReadKeys<'a>,
    limit: Timestamp,
    inputs: Vec<Input>,
    /// Inputs that have rows left, a heap: none comes before the one at half its place.
    heap: Vec<u32>,
}

struct Input {
    part: Arc<Part>,
    /// Positions of dead rows, the next one last.
    dead: Vec<u32>,
    /// The next row.
    position: u32,
    insert_ts: u64,
    /// When it died, as far as was known when the job began.
    death: Timestamp,
    /// Marks behind the limit, the next one last.
    deaths: Vec<(u32, Timestamp)>,
    /// The block whose keys are in memory.
    block: usize,
    keys: KeyRows,
}

impl Input {
    fn key(&self) -> &[u8] {
        self.keys.get(self.position as usize % BLOCK_ROWS)
    }

    fn is_before(&self, other: &Input) -> bool {
        (self.key(), self.insert_ts, self.death) < (other.key(), other.insert_ts, other.death)
    }

    /// Goes to the first living row from `position` on; false when there is none.
    fn seek(&mut self, mut position: u32, limit: Timestamp, read_keys: &mut ReadKeys<'_>) -> Result<bool> {
        while self.dead.pop_if(|dead| *dead == position).is_some() {
            position += 1;
        }
        assert!(self.dead.last().is_none_or(|dead| *dead > position), "dead rows are passed in their order (order 1)");
        if position >= self.part.row_count() {
            return Ok(false);
        }
        let block = position as usize / BLOCK_ROWS;
        if block != self.block {
            self.keys = read_keys(&self.part, block)?;
            self.block = block;
        }
        self.position = position;
        // Every reader is behind the limit: it need not be told when the row came in.
        let is_old = self.part.insert_ts_max() <= limit;
        let inserted = if is_old { Timestamp(0) } else { self.part.insert_ts(position)? };
        self.insert_ts = if inserted <= limit { 0 } else { inserted.0 };
        while self.deaths.pop_if(|death| death.0 < position).is_some() {}
        self.death = self.deaths.last().filter(|death| death.0 == position).map_or(Timestamp::MAX, |death| death.1);
        Ok(true)
    }
}

impl<'a> MergeOrder<'a> {
    /// The rows of parts without those whose mark is at or below `limit`. Marks are by position, ascending.
    pub(super) fn new(
        parts: &[Arc<Part>],
        marks: &[Vec<(u32, Timestamp)>],
        limit: Timestamp,
        read_keys: &'a mut ReadKeys<'a>,
    ) -> Result<MergeOrder<'a>> {
        assert!(parts.len() == marks.len(), "each input has its marks as of the begin of the job");
        let mut inputs = Vec::with_capacity(parts.len());
        let mut heap = Vec::with_capacity(parts.len());
        for (number, (part, marks)) in parts.iter().zip(marks).enumerate() {
            debug_assert!(marks.is_sorted_by(|a, b| a.0 < b.0), "the marks of an input ascend by position");
            let dead = marks.iter().rev().filter(|&&(_, ts)| ts <= limit).map(|&(position, _)| position).collect();
            let (block, keys) = (usize::MAX, KeyRows::default());
            let deaths = marks.iter().rev().filter(|&&(_, ts)| ts > limit).copied().collect();
            let death = Timestamp::MAX;
            let mut input = Input { part: part.clone(), dead, position: 0, insert_ts: 0, death, deaths, block, keys };
            if input.seek(0, limit, read_keys)? {
                heap.push(number as u32);
            }
            inputs.push(input);
        }
        let mut order = MergeOrder { read_keys, limit, inputs, heap };
        (0..order.heap.len() / 2).rev().for_each(|at| order.sift_down(at));
        Ok(order)
    }

    /// The key of the next row.
    pub(super) fn key(&self) -> Option<&[u8]> {
        self.heap.first().map(|&first| self.inputs[first as usize].key())
    }

    /// Takes the next row.
    pub(super) fn take(&mut self) -> Result<Option<Source>> {
        let Some(&first) = self.heap.first() else { return Ok(None) };
        let input = &mut self.inputs[first as usize];
        let source = Source { input: first, position: input.position, insert_ts: input.insert_ts };
        if !input.seek(source.position + 1, self.limit, self.read_keys)? {
            input.keys = KeyRows::default();
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(Some(source))
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        self.inputs[self.heap[a] as usize].is_before(&self.inputs[self.heap[b] as usize])
    }

    /// Lets the input at a place of the heap sink to where it belongs.
    fn sift_down(&mut self, mut at: usize) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            if left >= self.heap.len() {
                return;
            }
            let child = if right < self.heap.len() && self.is_before(right, left) { right } else { left };
            if !self.is_before(child, at) {
                return;
            }
            self.heap.swap(at, child);
            at = child;
        }
    }
}
