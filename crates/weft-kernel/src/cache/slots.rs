//! The slots of a partition's blocks, and the chains through them: a block leaves any chain in constant time, wherever
//! in it it stands.
//!
//! ```text
//!   slots     0 [a]   1 [b]   2 [ ]   3 [c]   4 [d]        2 is unused
//!   queue     first 3 ─ 0 ─ 4 ─ 1 last                     each slot knows the one before and the one after it
//!   of file   first 0 ─ 4 last                             the blocks of file 7 that are here
//! ```
//!
//! 1. A full slot stands in one queue and in the chain of its file, once in each; an empty one in none.
//! 2. Neighbours name each other: the slot after the one before a slot is that slot.

use std::sync::atomic::AtomicU8;

use super::blocks::Cached;
use super::place::Place;

/// No slot: beyond the first or the last of a chain.
const NONE: u32 = u32::MAX;

/// A kept block.
pub(super) struct Slot {
    pub(super) place: Place,
    pub(super) block: Cached,
    pub(super) bytes: usize,
    /// Reads since it came or since it was last looked at.
    pub(super) reads: AtomicU8,
    pub(super) in_main: bool,
    in_queue: Links,
    of_file: Links,
}

/// A slot's neighbours in a chain.
#[derive(Clone, Copy)]
struct Links {
    before: u32,
    after: u32,
}

const UNLINKED: Links = Links { before: NONE, after: NONE };

/// Which of the two chains that a slot stands in.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// The queue by which it leaves.
    Queue,
    /// The blocks of its file.
    File,
}

/// The ends of a chain.
#[derive(Clone, Copy)]
pub(super) struct Chain {
    kind: Kind,
    first: u32,
    last: u32,
}

/// All slots, full and unused.
#[derive(Default)]
pub(super) struct Slots {
    slots: Vec<Option<Slot>>,
    unused: Vec<u32>,
}

impl Slot {
    /// A block that stands in no chain.
    pub(super) fn new(place: Place, block: Cached, bytes: usize, in_main: bool) -> Slot {
        Slot { place, block, bytes, reads: AtomicU8::new(0), in_main, in_queue: UNLINKED, of_file: UNLINKED }
    }

    fn is_unlinked(&self) -> bool {
        [self.in_queue, self.of_file].iter().all(|links| links.before == NONE && links.after == NONE)
    }

    fn neighbours(&self, kind: Kind) -> Links {
        match kind {
            Kind::Queue => self.in_queue,
            Kind::File => self.of_file,
        }
    }

    fn links(&mut self, kind: Kind) -> &mut Links {
        match kind {
            Kind::Queue => &mut self.in_queue,
            Kind::File => &mut self.of_file,
        }
    }
}

impl Slots {
    /// Slots there are, full or not.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// A full slot.
    #[inline]
    pub(super) fn at(&self, at: u32) -> &Slot {
        self.slots[at as usize].as_ref().expect("chains and the index name full slots (slots 1)")
    }

    /// The same, to change it.
    pub(super) fn at_mut(&mut self, at: u32) -> &mut Slot {
        self.slots[at as usize].as_mut().expect("chains and the index name full slots (slots 1)")
    }

    /// Fills a slot that stands in no chain yet.
    pub(super) fn fill(&mut self, slot: Slot) -> u32 {
        assert!(slot.is_unlinked(), "a block stands in no chain before its slot is filled (slots 1)");
        match self.unused.pop() {
            Some(at) => {
                assert!(self.slots[at as usize].is_none(), "an unused slot is empty (slots 1)");
                self.slots[at as usize] = Some(slot);
                at
            }
            None => {
                self.slots.push(Some(slot));
                let at = u32::try_from(self.slots.len() - 1).expect("a partition keeps fewer than 2^32 blocks");
                assert_ne!(at, NONE, "a partition keeps fewer than 2^32 - 1 blocks");
                at
            }
        }
    }

    /// Empties a slot that stands in no chain any more.
    pub(super) fn empty(&mut self, at: u32) -> Slot {
        self.unused.push(at);
        let slot = self.slots[at as usize].take().expect("full slots are emptied (slots 1)");
        assert!(slot.is_unlinked(), "an emptied slot stands in no chain any more (slots 1)");
        slot
    }
}

impl Chain {
    /// Nothing.
    pub(super) fn new(kind: Kind) -> Chain {
        Chain { kind, first: NONE, last: NONE }
    }

    /// Whether nothing is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// The first.
    pub(super) fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    /// All, from the first to the last.
    pub(super) fn all(&self, slots: &Slots) -> Vec<u32> {
        let mut all = Vec::new();
        let mut at = self.first;
        while at != NONE {
            all.push(at);
            at = slots.at(at).neighbours(self.kind).after;
        }
        all
    }

    /// Adds a slot that is in no chain of this kind at the end.
    pub(super) fn push(&mut self, slots: &mut Slots, at: u32) {
        *slots.at_mut(at).links(self.kind) = Links { before: self.last, after: NONE };
        match self.last {
            NONE => self.first = at,
            last => slots.at_mut(last).links(self.kind).after = at,
        }
        self.last = at;
    }

    /// Takes one of its slots out.
    pub(super) fn remove(&mut self, slots: &mut Slots, at: u32) {
        let Links { before, after } = std::mem::replace(slots.at_mut(at).links(self.kind), UNLINKED);
        let from_before = match before {
            NONE => &mut self.first,
            before => &mut slots.at_mut(before).links(self.kind).after,
        };
        assert_eq!(*from_before, at, "neighbours name each other (slots 2)");
        *from_before = after;
        let from_after = match after {
            NONE => &mut self.last,
            after => &mut slots.at_mut(after).links(self.kind).before,
        };
        assert_eq!(*from_after, at, "neighbours name each other (slots 2)");
        *from_after = before;
    }
}
