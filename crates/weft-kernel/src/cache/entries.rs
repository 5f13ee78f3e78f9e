//! What one partition keeps, and which block goes when there is no room.
//!
//! ```text
//!   insert d             small [d c b] main [a]
//!   b is read twice      small [d c b″] main [a]
//!   insert e, no room    b has proven itself: small [d c] main [b a]; c was not read: out, its hash is remembered
//!   insert c again       the hash is known: small [e d] main [c b a]
//!   file of d and a goes small [e] main [c b], whatever else is kept: their file's chain leads to them
//! ```
//!
//! 1. The bytes kept are at most the share, always.
//! 2. Every full slot is in the index, in one of the queues and in the chain of its file, once in each.
//! 3. There is a chain for a file as long as one of its blocks is kept.
//! 4. To let go of a file looks at its own blocks and at no other entry. Only the hashes remembered of its evicted
//!    blocks stay: nobody asks for them again, since numbers of files are not used twice, and they go as the others
//!    do; there are never more of them than slots.
//!
//! Blocks of a file that is gone could also just age out, which costs nothing when the file goes. They would have to
//! pass through a queue first, those of the main queue up to four times: after a merge a large part of a full cache
//! would be dead, and blocks that queries use would go in their place. A chain costs eight bytes per block and a look
//! into a second table when one comes or goes, beside a read of its file.
//!
//! Source: S3-FIFO (Yang et al., SOSP 2023), algorithm 1; queues are bounded in bytes, not in blocks.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::Ordering;

use weft_format::FileId;

use super::blocks::{Cached, Evicted};
use super::place::{BuildHashed, OfFile, Place};
use super::slots::{Chain, Kind, Slot, Slots};

/// The small queue gives blocks up while it holds more than this part of the share.
const SMALL_PART: usize = 10;
/// So many reads move a block from the small queue to the main one.
const READS_PROVEN: u8 = 2;
/// Reads are counted up to here: so often an unread block of the main queue goes around.
const READS_MAX: u8 = 3;

/// The blocks of one partition.
pub(super) struct Entries {
    index: HashMap<Place, u32, BuildHashed>,
    slots: Slots,
    /// New blocks, oldest first.
    small: Chain,
    /// Blocks that have proven themselves, next to be looked at first.
    main: Chain,
    /// The blocks of each file that has some here.
    files: HashMap<OfFile, Chain, BuildHashed>,
    remembered: Remembered,
    small_bytes: usize,
    bytes: usize,
    bytes_max: usize,
    evictions: u64,
    /// Entries looked at to find those of a file.
    #[cfg(test)]
    looked_at: u64,
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
        Entries {
            index: HashMap::default(),
            slots: Slots::default(),
            small: Chain::new(Kind::Queue),
            main: Chain::new(Kind::Queue),
            files: HashMap::default(),
            remembered: Remembered::default(),
            small_bytes: 0,
            bytes: 0,
            bytes_max,
            evictions: 0,
            #[cfg(test)]
            looked_at: 0,
        }
    }

    /// The block of a key.
    #[inline]
    pub(super) fn find(&self, place: Place) -> Option<Cached> {
        let at = *self.index.get(&place)?;
        let slot = self.slots.at(at);
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
            self.put(Slot::new(place, block, bytes, in_main));
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

    /// Takes out the blocks of the places that are wanted, in their order: looks at every entry.
    pub(super) fn take_where(&mut self, wanted: impl Fn(&Place) -> bool) -> Vec<Moving> {
        let mut all = self.small.all(&self.slots);
        all.extend(self.main.all(&self.slots));
        all.retain(|&at| wanted(&self.slots.at(at).place));
        all.into_iter().map(|at| Moving(self.take(at))).collect()
    }

    /// Whether blocks of a file are here.
    pub(super) fn has_file(&self, file: FileId) -> bool {
        self.files.contains_key(&OfFile(file))
    }

    /// Lets go of the blocks of a file (entries 4).
    pub(super) fn forget(&mut self, file: FileId, evicted: &mut Vec<Evicted>) {
        let Some(chain) = self.files.get(&OfFile(file)) else { return };
        for at in chain.all(&self.slots) {
            #[cfg(test)]
            {
                self.looked_at += 1;
            }
            let slot = self.take(at);
            evicted.push(Evicted { block: slot.block, bytes: slot.bytes });
        }
        assert!(!self.has_file(file), "a file's chain goes with its last block (entries 3)");
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
        let at = self.slots.fill(slot);
        assert!(self.index.insert(place, at).is_none(), "a block is in the index once (entries 2)");
        let of_file = self.files.entry(OfFile(place.key.file)).or_insert(Chain::new(Kind::File));
        of_file.push(&mut self.slots, at);
        if in_main {
            self.main.push(&mut self.slots, at);
        } else {
            self.small.push(&mut self.slots, at);
            self.small_bytes += bytes;
        }
        self.bytes += bytes;
        assert!(self.bytes <= self.bytes_max, "a partition keeps to its share (entries 1)");
        assert!(self.small_bytes <= self.bytes, "the small queue has a part of what is kept (entries 2)");
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
                let slot = self.take(at);
                self.evictions += 1;
                evicted.push(Evicted { block: slot.block, bytes: slot.bytes });
            }
        }
    }

    /// The oldest block of the small queue: to go, or on to the main queue.
    fn look_at_small(&mut self) -> Option<u32> {
        let at = self.small.first().expect("bytes are of blocks in queues (entries 2)");
        let slot = self.slots.at_mut(at);
        if *slot.reads.get_mut() < READS_PROVEN {
            self.remembered.add(slot.place.hash, self.slots.len());
            return Some(at);
        }
        *slot.reads.get_mut() = 0;
        slot.in_main = true;
        self.small_bytes -= slot.bytes;
        self.small.remove(&mut self.slots, at);
        self.main.push(&mut self.slots, at);
        None
    }

    /// The next block of the main queue: to go, or to its end.
    fn look_at_main(&mut self) -> Option<u32> {
        let at = self.main.first().expect("the caller saw a block");
        let reads = self.slots.at_mut(at).reads.get_mut();
        if *reads == 0 {
            return Some(at);
        }
        *reads -= 1;
        self.main.remove(&mut self.slots, at);
        self.main.push(&mut self.slots, at);
        None
    }

    /// Takes a block out of the index and its chains.
    fn take(&mut self, at: u32) -> Slot {
        let Slot { place, bytes, in_main, .. } = *self.slots.at(at);
        let of_file = OfFile(place.key.file);
        let chain = self.files.get_mut(&of_file).expect("a kept block's file has a chain (entries 3)");
        chain.remove(&mut self.slots, at);
        if chain.is_empty() {
            self.files.remove(&of_file);
        }
        if in_main {
            self.main.remove(&mut self.slots, at);
        } else {
            self.small.remove(&mut self.slots, at);
            self.small_bytes -= bytes;
        }
        assert!(self.index.remove(&place) == Some(at), "the index leads to each kept block (entries 2)");
        self.bytes -= bytes;
        self.slots.empty(at)
    }
}

#[cfg(test)]
impl Entries {
    /// Entries looked at so far to find those of a file.
    pub(super) fn looked_at(&self) -> u64 {
        self.looked_at
    }

    /// Tests what holds (entries 1 to 3, slots 1 and 2), and that nothing is left when nothing is kept.
    pub(super) fn check(&self) {
        let queued = [self.small.all(&self.slots), self.main.all(&self.slots)].concat();
        let mut of_files: Vec<u32> = self.files.values().flat_map(|chain| chain.all(&self.slots)).collect();
        let mut indexed: Vec<u32> = self.index.values().copied().collect();
        let bytes_of = |slots: &[u32]| slots.iter().map(|&at| self.slots.at(at).bytes).sum::<usize>();
        assert_eq!(bytes_of(&queued), self.bytes);
        assert_eq!(bytes_of(&self.small.all(&self.slots)), self.small_bytes);
        let mut queued = queued;
        [&mut queued, &mut of_files, &mut indexed].into_iter().for_each(|slots| slots.sort_unstable());
        assert_eq!(queued, indexed);
        assert_eq!(of_files, indexed);
        assert!(self.files.iter().all(|(file, chain)| {
            let blocks = chain.all(&self.slots);
            !blocks.is_empty() && blocks.iter().all(|&at| self.slots.at(at).place.key.file == file.0)
        }));
        assert!(self.remembered.hashes.len() <= self.remembered.order.len());
        assert!(self.remembered.order.len() <= self.slots.len(), "what is remembered is bounded (entries 4)");
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
        assert!(self.order.len() <= count_max, "fewer hashes are remembered than there are slots (entries 4)");
        assert!(self.hashes.len() <= self.order.len(), "each remembered hash has a turn to be forgotten (entries 4)");
    }

    /// Whether it is remembered; it is not from now on.
    fn take(&mut self, hash: u64) -> bool {
        self.hashes.remove(&hash)
    }
}
