//! What one partition keeps, and which block goes when there is no room.
//!
//! ```text
//!   insert d             small [d c b] main [a]
//!   b is read twice      small [d c b″] main [a]
//!   insert e, no room    b has proven itself: small [d c] main [b a]; c was not read: out, its hash is remembered
//!   insert c again       the hash is known: small [e d] main [c b a]
//! ```
//!
//! 1. The bytes kept are at most the share, always.
//! 2. Every full slot is in the index and in one of the queues, once.
//!
//! Source: S3-FIFO (Yang et al., SOSP 2023), algorithm 1; queues are bounded in bytes, not in blocks.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU8, Ordering};

use super::blocks::{Cached, Evicted};
use super::place::{BuildHashed, Place};

/// The small queue gives blocks up while it holds more than this part of the share.
const SMALL_PART: usize = 10;
/// So many reads move a block from the small queue to the main one.
const READS_PROVEN: u8 = 2;
/// Reads are counted up to here: so often an unread block of the main queue goes around.
const READS_MAX: u8 = 3;

/// The blocks of one partition.
#[derive(Default)]
pub(super) struct Entries {
    index: HashMap<Place, u32, BuildHashed>,
    slots: Vec<Option<Slot>>,
    unused: Vec<u32>,
    /// New blocks, oldest first.
    small: VecDeque<u32>,
    /// Blocks that have proven themselves, next to be looked at first.
    main: VecDeque<u32>,
    remembered: Remembered,
    small_bytes: usize,
    bytes: usize,
    bytes_max: usize,
    evictions: u64,
}

struct Slot {
    place: Place,
    block: Cached,
    bytes: usize,
    /// Reads since it came or since it was last looked at, at most [`READS_MAX`].
    reads: AtomicU8,
    in_main: bool,
}

/// A block that goes from one partition to another.
pub(super) struct Moving(Slot);

/// Hashes of blocks that left the small queue not long ago.
#[derive(Default)]
struct Remembered {
    order: VecDeque<u64>,
    hashes: HashSet<u64, BuildHashed>,
}

impl Entries {
    /// Nothing, with a share.
    pub(super) fn new(bytes_max: usize) -> Entries {
        Entries { bytes_max, ..Entries::default() }
    }

    /// The block of a key.
    #[inline]
    pub(super) fn find(&self, place: Place) -> Option<Cached> {
        let at = *self.index.get(&place)?;
        let slot = self.slots[at as usize].as_ref().expect("the index names full slots (entries 2)");
        let reads = slot.reads.load(Ordering::Relaxed);
        if reads < READS_MAX {
            // Two readers may count as one: it is a hint.
            slot.reads.store(reads + 1, Ordering::Relaxed);
        }
        Some(slot.block.clone())
    }

    /// Keeps a block that is not here, if the share is large enough for it; what has to go is added to `evicted`.
    pub(super) fn insert(&mut self, place: Place, block: Cached, bytes: usize, evicted: &mut Vec<Evicted>) {
        if bytes <= self.bytes_max {
            self.make_room(self.bytes_max - bytes, evicted);
            let in_main = self.remembered.take(place.hash);
            self.put(Slot { place, block, bytes, reads: AtomicU8::new(0), in_main });
        }
    }

    /// Keeps a block that comes from another partition, or gives it up when it is here already or too big.
    pub(super) fn receive(&mut self, Moving(slot): Moving, evicted: &mut Vec<Evicted>) {
        if slot.bytes > self.bytes_max || self.index.contains_key(&slot.place) {
            self.evictions += 1;
            evicted.push(Evicted { block: slot.block, bytes: slot.bytes });
        } else {
            self.make_room(self.bytes_max - slot.bytes, evicted);
            self.put(slot);
        }
    }

    /// Takes out the blocks of the places that are wanted, in their order.
    pub(super) fn take_where(&mut self, wanted: impl Fn(&Place) -> bool) -> Vec<Moving> {
        let mut taken = Vec::new();
        for queue in [&mut self.small, &mut self.main] {
            queue.retain(|&at| {
                let slot = self.slots[at as usize].as_ref().expect("queues name full slots (entries 2)");
                let takes = wanted(&slot.place);
                if takes {
                    taken.push(at);
                }
                !takes
            });
        }
        taken.into_iter().map(|at| Moving(self.clear(at))).collect()
    }

    /// Changes the share; blocks that have no room any more go.
    pub(super) fn set_bytes_max(&mut self, bytes_max: usize, evicted: &mut Vec<Evicted>) {
        self.make_room(bytes_max, evicted);
        self.bytes_max = bytes_max;
    }

    /// The share.
    pub(super) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Bytes kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Blocks kept.
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    /// Blocks that had to go so far.
    pub(super) fn evictions(&self) -> u64 {
        self.evictions
    }

    fn put(&mut self, slot: Slot) {
        let (place, bytes, in_main) = (slot.place, slot.bytes, slot.in_main);
        let at = match self.unused.pop() {
            Some(at) => {
                self.slots[at as usize] = Some(slot);
                at
            }
            None => {
                self.slots.push(Some(slot));
                u32::try_from(self.slots.len() - 1).expect("a partition keeps fewer than 2^32 blocks")
            }
        };
        self.index.insert(place, at);
        if in_main {
            self.main.push_back(at);
        } else {
            self.small.push_back(at);
            self.small_bytes += bytes;
        }
        self.bytes += bytes;
        assert!(self.bytes <= self.bytes_max, "a partition keeps to its share (entries 1)");
    }

    /// Gives up blocks until at most so many bytes are kept.
    fn make_room(&mut self, bytes_left: usize, evicted: &mut Vec<Evicted>) {
        while self.bytes > bytes_left {
            let at = if self.small_bytes > self.bytes_max / SMALL_PART || self.main.is_empty() {
                self.look_at_small()
            } else {
                self.look_at_main()
            };
            if let Some(at) = at {
                let slot = self.clear(at);
                self.evictions += 1;
                evicted.push(Evicted { block: slot.block, bytes: slot.bytes });
            }
        }
    }

    /// The oldest block of the small queue: to go, or on to the main queue.
    fn look_at_small(&mut self) -> Option<u32> {
        let at = self.small.pop_front().expect("bytes are of blocks in queues (entries 2)");
        let slot = self.slots[at as usize].as_mut().expect("queues name full slots (entries 2)");
        if *slot.reads.get_mut() < READS_PROVEN {
            self.remembered.add(slot.place.hash, self.slots.len());
            return Some(at);
        }
        *slot.reads.get_mut() = 0;
        slot.in_main = true;
        self.small_bytes -= slot.bytes;
        self.main.push_back(at);
        None
    }

    /// The next block of the main queue: to go, or to its end.
    fn look_at_main(&mut self) -> Option<u32> {
        let at = self.main.pop_front().expect("the caller saw a block");
        let slot = self.slots[at as usize].as_mut().expect("queues name full slots (entries 2)");
        let reads = slot.reads.get_mut();
        if *reads == 0 {
            return Some(at);
        }
        *reads -= 1;
        self.main.push_back(at);
        None
    }

    /// Empties a slot that is in no queue any more.
    fn clear(&mut self, at: u32) -> Slot {
        let slot = self.slots[at as usize].take().expect("full slots are cleared (entries 2)");
        self.index.remove(&slot.place);
        self.bytes -= slot.bytes;
        if !slot.in_main {
            self.small_bytes -= slot.bytes;
        }
        self.unused.push(at);
        slot
    }
}

impl Moving {
    /// Gives it up instead.
    pub(super) fn into_evicted(self) -> Evicted {
        Evicted { block: self.0.block, bytes: self.0.bytes }
    }
}

impl Remembered {
    /// Remembers one more, of at most so many.
    fn add(&mut self, hash: u64, count_max: usize) {
        while self.order.len() >= count_max {
            let oldest = self.order.pop_front().expect("it is longer than nothing");
            self.hashes.remove(&oldest);
        }
        if self.hashes.insert(hash) {
            self.order.push_back(hash);
        }
    }

    /// Whether it is remembered; it is not from now on.
    fn take(&mut self, hash: u64) -> bool {
        self.hashes.remove(&hash)
    }
}
