//! A node of the tree in memory: cells in key order, behind a directory of slots.
//!
//! ```text
//!   node 3, level 0, keys from "acme/00" to "acme/20"      prefix "acme/", which no cell has
//!   slots   head "07\0\0" · at 0, since 44      head "11\0\0" · at 9, since 12, dead      in key order
//!   heap    07 | row of acme/07 | 11                                                       as they came
//! ```
//!
//! 1. Cells are in ascending order of their keys, and all keys are from `low` on and below `high`; so each begins with
//!    what both have in common, the prefix, which is not kept in the cells.
//! 2. A leaf (level 0) has rows; one that is dead ended at its timestamp. A node above has children: each the number
//!    of the node for the keys from its cell on. The first cell of such a node has the key `low`.
//! 3. A node in memory may be longer than a page; `body_bytes` says how long it is when it is written.
//!
//! Concurrency: none of its own; the latch of its frame is around it.
//!
//! Source: prefix truncation and heads as in Graefe, "Modern B-Tree Techniques", 2011, sections 3.3 and 3.5.

use weft_format::Timestamp;

/// The number of the root, which never moves.
pub(super) const ROOT: u64 = 0;
/// A heap with more bytes than this part of it unused is packed.
const UNUSED_PART: usize = 2;
/// A heap below this is not worth packing.
const PACKED_BYTES_MIN: usize = 1024;

/// What a slot says of its cell.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The first bytes of the key behind the prefix, in an integer that compares as they do.
    head: u64,
    at: u32,
    key_bytes: u32,
    value_bytes: u32,
    is_dead: bool,
    since: Timestamp,
}

/// A cell, borrowed from its node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell<'a> {
    /// The key without the node's prefix.
    pub(super) suffix: &'a [u8],
    /// The commit that it is of.
    pub(super) since: Timestamp,
    /// There is no row since then.
    pub(super) is_dead: bool,
    /// The row, or the number of a child.
    pub(super) value: &'a [u8],
}

impl Cell<'_> {
    /// The child that a cell of a node above the leaves names.
    pub(super) fn child(&self) -> u64 {
        u64::from_le_bytes(self.value.try_into().expect("a child's number has eight bytes (node 2)"))
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) number: u64,
    /// 0: a leaf.
    pub(super) level: u8,
    pub(super) low: Vec<u8>,
    /// None: no key is too high.
    pub(super) high: Option<Vec<u8>>,
    prefix_bytes: usize,
    slots: Vec<Slot>,
    heap: Vec<u8>,
    /// Bytes of the heap that no slot names.
    unused_bytes: usize,
    cell_bytes: usize,
}

/// The first bytes of a key as an integer in their order.
fn head(suffix: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let count = suffix.len().min(8);
    bytes[..count].copy_from_slice(&suffix[..count]);
    u64::from_be_bytes(bytes)
}

/// How many bytes two strings have in common at their beginning.
pub(super) fn common_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn varint_bytes(number: usize) -> usize {
    (usize::BITS - (number | 1).leading_zeros()).div_ceil(7) as usize
}

/// How long a byte string is with its length before it.
fn string_bytes(count: usize) -> usize {
    varint_bytes(count) + count
}

impl Node {
    /// A node without cells.
    pub(super) fn new(number: u64, level: u8, low: Vec<u8>, high: Option<Vec<u8>>) -> Node {
        let prefix_bytes = high.as_deref().map_or(0, |high| common_bytes(&low, high));
        Node {
            number,
            level,
            low,
            high,
            prefix_bytes,
            slots: Vec::new(),
            heap: Vec::new(),
            unused_bytes: 0,
            cell_bytes: 0,
        }
    }

    /// Whether it has rows.
    pub(super) fn is_leaf(&self) -> bool {
        self.level == 0
    }

    /// What all of its keys begin with.
    pub(super) fn prefix(&self) -> &[u8] {
        &self.low[..self.prefix_bytes]
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether keys may be in it.
    pub(super) fn has(&self, key: &[u8]) -> bool {
        *key >= *self.low && self.high.as_deref().is_none_or(|high| key < high)
    }

    pub(super) fn cell(&self, at: usize) -> Cell<'_> {
        let slot = &self.slots[at];
        let (key, value) = (slot.at as usize, slot.at as usize + slot.key_bytes as usize);
        Cell {
            suffix: &self.heap[key..value],
            since: slot.since,
            is_dead: slot.is_dead,
            value: &self.heap[value..value + slot.value_bytes as usize],
        }
    }

    pub(super) fn cells(&self) -> impl DoubleEndedIterator<Item = Cell<'_>> + ExactSizeIterator {
        (0..self.len()).map(|at| self.cell(at))
    }

    pub(super) fn key(&self, at: usize) -> Vec<u8> {
        [self.prefix(), self.cell(at).suffix].concat()
    }

    /// Where the cell of a key is, or would be.
    pub(super) fn find(&self, key: &[u8]) -> Result<usize, usize> {
        debug_assert!(self.has(key), "a key is looked for where it may be (node 1)");
        let suffix = &key[self.prefix_bytes..];
        let wanted = head(suffix);
        self.slots.binary_search_by(|slot| {
            slot.head.cmp(&wanted).then_with(|| match slot.key_bytes as usize {
                // Both are in their heads; where one has more bytes, these are zeros.
                length if length.max(suffix.len()) <= size_of_val(&wanted) => length.cmp(&suffix.len()),
                _ => self.suffix(slot).cmp(suffix),
            })
        })
    }

    /// Where keys from this one on begin.
    pub(super) fn first_from(&self, key: &[u8]) -> usize {
        match &self.high {
            _ if *key <= *self.low => 0,
            Some(high) if *key >= **high => self.len(),
            _ => self.find(key).unwrap_or_else(|at| at),
        }
    }

    /// Which of the children has a key.
    pub(super) fn child_at(&self, key: &[u8]) -> usize {
        debug_assert!(!self.is_leaf(), "leaves have no children");
        match self.find(key) {
            Ok(at) => at,
            Err(at) => at.checked_sub(1).expect("the first child begins with the node (node 2)"),
        }
    }

    fn written_bytes(&self, key_bytes: usize, value_bytes: usize, is_dead: bool) -> usize {
        match self.level {
            0 if is_dead => 9 + string_bytes(key_bytes),
            0 => 9 + string_bytes(key_bytes) + string_bytes(value_bytes),
            _ => string_bytes(key_bytes) + 8,
        }
    }

    fn slot_bytes(&self, slot: &Slot) -> usize {
        self.written_bytes(slot.key_bytes as usize, slot.value_bytes as usize, slot.is_dead)
    }

    /// How long it is when it is written.
    pub(super) fn body_bytes(&self) -> usize {
        let high = self.high.as_deref().unwrap_or_default();
        let head = 8 + 1 + string_bytes(self.low.len()) + 1 + string_bytes(high.len());
        head + varint_bytes(self.len()) + self.cell_bytes
    }

    /// Bytes of its cells when they are written.
    pub(super) fn cell_bytes(&self) -> usize {
        self.cell_bytes
    }

    /// Adds a cell; its key stands at this place.
    pub(super) fn insert(&mut self, at: usize, key: &[u8], (since, is_dead): (Timestamp, bool), value: &[u8]) {
        assert!(self.has(key), "a key is put where it belongs (node 1)");
        let suffix = &key[self.prefix_bytes..];
        let slot = Slot {
            head: head(suffix),
            at: self.heap.len() as u32,
            key_bytes: suffix.len() as u32,
            value_bytes: value.len() as u32,
            is_dead,
            since,
        };
        self.heap.extend_from_slice(suffix);
        self.heap.extend_from_slice(value);
        self.cell_bytes += self.slot_bytes(&slot);
        self.slots.insert(at, slot);
    }

    /// Adds a cell behind all others.
    pub(super) fn push(&mut self, key: &[u8], state: (Timestamp, bool), value: &[u8]) {
        self.insert(self.len(), key, state, value);
    }

    /// Makes room for so many cells, which have so many bytes.
    pub(super) fn reserve(&mut self, cells: usize, bytes: usize) {
        self.slots.reserve_exact(cells);
        self.heap.reserve_exact(bytes);
    }

    /// Adds a cell behind all others, by what its key has behind the prefix, unless it belongs before the last one or
    /// before the node: then it is false. Who reads a node asks for the other bound in the end.
    pub(super) fn take_cell(&mut self, suffix: &[u8], (since, is_dead): (Timestamp, bool), value: &[u8]) -> bool {
        let head = head(suffix);
        let is_behind = match self.slots.last() {
            Some(last) => last.head < head || last.head == head && self.suffix(last) < suffix,
            None => suffix >= &self.low[self.prefix_bytes..],
        };
        if !is_behind {
            return false;
        }
        let (at, key_bytes, value_bytes) = (self.heap.len() as u32, suffix.len() as u32, value.len() as u32);
        let slot = Slot { head, at, key_bytes, value_bytes, is_dead, since };
        self.heap.extend_from_slice(suffix);
        self.heap.extend_from_slice(value);
        self.cell_bytes += self.slot_bytes(&slot);
        self.slots.push(slot);
        true
    }

    /// Whether its last cell, and so each, is below the upper bound.
    pub(super) fn ends_in_bounds(&self) -> bool {
        let high = self.high.as_deref().map(|high| &high[self.prefix_bytes..]);
        self.slots.last().is_none_or(|last| high.is_none_or(|high| self.suffix(last) < high))
    }

    /// Lets go of what it has from a key on; false: there is nothing below the key, or the node ends there already.
    pub(super) fn cut(&mut self, key: &[u8]) -> bool {
        let may = *key > *self.low && self.has(key);
        if may {
            *self = self.lower(self.number, key);
        }
        may
    }

    /// Whether a child may begin at a key.
    pub(super) fn may_link(&self, key: &[u8]) -> bool {
        !self.is_leaf() && self.has(key) && self.find(key).is_err()
    }

    /// Adds a child for the keys from this one on.
    pub(super) fn link(&mut self, key: &[u8], child: u64) {
        let at = self.find(key).expect_err("a child begins where none has begun");
        self.insert(at, key, (Timestamp(0), false), &child.to_le_bytes());
    }

    /// Takes out the child that begins at a key; whether there was one.
    pub(super) fn unlink(&mut self, key: &[u8]) -> bool {
        let found = if self.is_leaf() || !self.has(key) { None } else { self.find(key).ok() };
        found.iter().for_each(|&at| self.remove(at));
        found.is_some()
    }

    /// Gives the cell at a place another state.
    pub(super) fn set(&mut self, at: usize, (since, is_dead): (Timestamp, bool), value: &[u8]) {
        let slot = self.slots[at];
        assert!(slot.since <= since, "the versions of a key come in the order of time");
        self.cell_bytes -= self.slot_bytes(&slot);
        let place = slot.at as usize + slot.key_bytes as usize;
        if value.len() <= slot.value_bytes as usize {
            self.heap[place..place + value.len()].copy_from_slice(value);
            self.unused_bytes += slot.value_bytes as usize - value.len();
        } else {
            let key = slot.at as usize..place;
            self.slots[at].at = self.heap.len() as u32;
            self.heap.extend_from_within(key);
            self.heap.extend_from_slice(value);
            self.unused_bytes += slot.key_bytes as usize + slot.value_bytes as usize;
        }
        let slot = &mut self.slots[at];
        (slot.since, slot.is_dead, slot.value_bytes) = (since, is_dead, value.len() as u32);
        self.cell_bytes += self.slot_bytes(&self.slots[at]);
        self.pack();
    }

    /// Says since when the row at a place is there.
    pub(super) fn settle(&mut self, at: usize, since: Timestamp) {
        self.slots[at].since = since;
    }

    /// Says that there is no row at a place, since this timestamp or before it.
    pub(super) fn bury(&mut self, at: usize, since: Timestamp) {
        self.slots[at].since = Timestamp(0);
        self.set(at, (since, true), &[]);
    }

    /// Takes out the cell at a place.
    pub(super) fn remove(&mut self, at: usize) {
        let slot = self.slots.remove(at);
        self.cell_bytes -= self.slot_bytes(&slot);
        self.unused_bytes += (slot.key_bytes + slot.value_bytes) as usize;
        self.pack();
    }

    /// Takes out what has been dead since this timestamp or longer; whether there was any.
    pub(super) fn purge(&mut self, limit: Timestamp) -> bool {
        let mut gone_bytes = (0, 0);
        let mut slots = std::mem::take(&mut self.slots);
        let before = slots.len();
        slots.retain(|slot| {
            let stays = !slot.is_dead || slot.since > limit;
            if !stays {
                gone_bytes.0 += self.slot_bytes(slot);
                gone_bytes.1 += (slot.key_bytes + slot.value_bytes) as usize;
            }
            stays
        });
        self.slots = slots;
        self.cell_bytes -= gone_bytes.0;
        self.unused_bytes += gone_bytes.1;
        self.pack();
        self.len() < before
    }

    /// Whether a cell is dead.
    pub(super) fn has_dead(&self) -> bool {
        self.slots.iter().any(|slot| slot.is_dead)
    }

    fn pack(&mut self) {
        if self.heap.len() > PACKED_BYTES_MIN && self.unused_bytes > self.heap.len() / UNUSED_PART {
            *self = self.between(0..self.len(), self.number, self.low.clone(), self.high.clone());
        }
    }

    /// Some of its cells as a node with other bounds.
    fn between(&self, cells: std::ops::Range<usize>, number: u64, low: Vec<u8>, high: Option<Vec<u8>>) -> Node {
        let mut node = Node::new(number, self.level, low, high);
        for at in cells {
            let cell = self.cell(at);
            node.push(&self.key(at), (cell.since, cell.is_dead), cell.value);
        }
        node
    }

    /// What it has from a key on, as a node of its own.
    pub(super) fn upper(&self, number: u64, low: &[u8]) -> Node {
        self.between(self.first_from(low)..self.len(), number, low.to_vec(), self.high.clone())
    }

    /// What it has below a key, under another number.
    pub(super) fn lower(&self, number: u64, high: &[u8]) -> Node {
        self.between(0..self.first_from(high), number, self.low.clone(), Some(high.to_vec()))
    }

    /// Its cells and those of the node behind it, under its number.
    pub(super) fn joined(&self, next: &Node) -> Node {
        assert!(self.high.as_ref() == Some(&next.low) && self.level == next.level, "neighbours are joined");
        let mut node = self.between(0..self.len(), self.number, self.low.clone(), next.high.clone());
        for at in 0..next.len() {
            let cell = next.cell(at);
            node.push(&next.key(at), (cell.since, cell.is_dead), cell.value);
        }
        node
    }

    /// The same under another number.
    pub(super) fn renumbered(mut self, number: u64) -> Node {
        self.number = number;
        self
    }

    /// Whether it has to be split: it is longer than this, and has enough cells.
    pub(super) fn is_too_long(&self, bytes_max: usize) -> bool {
        self.body_bytes() > bytes_max && self.len() >= if self.is_leaf() { 2 } else { 4 }
    }

    /// Where to split it: near the middle of its bytes, or before its last cell when rows come at its end.
    pub(super) fn split_key(&self, comes_at_end: bool) -> Vec<u8> {
        let least = if self.is_leaf() { 1 } else { 2 };
        let most = self.len() - least;
        let mut at = most;
        if !comes_at_end || self.high.is_some() {
            let mut before = 0;
            let half = self.slots.iter().position(|slot| {
                before += self.slot_bytes(slot);
                before * 2 > self.cell_bytes
            });
            at = half.unwrap_or(most).clamp(least, most);
        }
        let key = self.key(at);
        if !self.is_leaf() {
            return key;
        }
        // The shortest key that tells the two cells apart.
        let shared = common_bytes(&self.key(at - 1), &key);
        key[..shared + 1].to_vec()
    }

    /// Bytes of memory, about.
    pub(super) fn memory_bytes(&self) -> usize {
        let bounds = self.low.capacity() + self.high.as_ref().map_or(0, Vec::capacity);
        self.heap.capacity() + self.slots.capacity() * size_of::<Slot>() + bounds + size_of::<Node>()
    }

    /// What is wrong with it, one line each.
    pub(super) fn check(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let number = self.number;
        if !self.slots.is_sorted_by(|a, b| (a.head, self.suffix(a)) < (b.head, self.suffix(b))) {
            wrong.push(format!("keys of page {number} are out of order"));
        }
        if (0..self.len()).any(|at| !self.has(&self.key(at))) {
            wrong.push(format!("page {number} has keys of others"));
        }
        let bytes: usize = self.slots.iter().map(|slot| self.slot_bytes(slot)).sum();
        if bytes != self.cell_bytes {
            wrong.push(format!("page {number} says {} bytes of cells and has {bytes}", self.cell_bytes));
        }
        if !self.is_leaf() && (self.len() == 0 || self.key(0) != self.low) {
            wrong.push(format!("the first child of page {number} does not begin with it"));
        }
        wrong
    }

    fn suffix(&self, slot: &Slot) -> &[u8] {
        &self.heap[slot.at as usize..][..slot.key_bytes as usize]
    }
}

#[cfg(test)]
mod tests;
