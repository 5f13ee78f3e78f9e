//! The pool: finds the partition of a key, loads what is missing, adds partitions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weft_env::sync::{Mutex, RwLock};
use weft_format::encoding::Block;
use weft_format::table::{BlockCache, BlockKey};
use weft_format::{FileId, Result};

use super::blocks::Cached;
use super::entries::Entries;
use super::forgotten::{Began, Forgotten};
use super::freeing::Freeing;
use super::place::{Place, SLOT_COUNT};
use super::ring::{PARTITION_COUNT_MAX, Ring, Taken};

/// Partitions of a new pool.
const PARTITION_COUNT: usize = 16;
/// This part of the budget is for what waits to be freed.
const FREEING_PART: usize = 16;
/// What an entry costs beside its block, about: slot with its links, index, chain of its file, remembered hash.
pub(super) const ENTRY_BYTES: usize = 184;

/// How the pool does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Blocks found.
    pub hits: u64,
    /// Blocks loaded.
    pub misses: u64,
    /// Blocks that had to go.
    pub evictions: u64,
    /// Bytes kept.
    pub bytes: u64,
    /// Bytes of evicted blocks that wait to be freed.
    pub freeing_bytes: u64,
    /// Blocks kept.
    pub blocks: u64,
}

/// How one partition does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionCounters {
    /// Blocks found.
    pub hits: u64,
    /// Blocks loaded.
    pub misses: u64,
    /// Blocks that had to go.
    pub evictions: u64,
    /// Bytes kept.
    pub bytes: u64,
    /// Its share of the budget, bytes.
    pub bytes_max: u64,
    /// Blocks kept.
    pub blocks: u64,
}

/// The engine's cache pool.
pub struct CachePool {
    ring: Ring,
    /// All there can be: those behind `count` own no slot and have no share.
    partitions: Box<[Partition]>,
    /// How many partitions there are. Held while one is added, so that the shares seen under it add up.
    count: Mutex<usize>,
    /// The budget without what is for freeing.
    shared_bytes: usize,
    freeing: Freeing,
    forgotten: Forgotten,
}

#[repr(align(128))]
struct Partition {
    entries: RwLock<Entries>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl BlockCache for CachePool {
    #[inline]
    fn get(&self, key: BlockKey, load: &mut dyn FnMut() -> Result<Block>) -> Result<Arc<Block>> {
        let load = || {
            let block = load()?;
            let bytes = block.memory_bytes();
            Ok((Cached::Columns(Arc::new(block)), bytes))
        };
        self.get_or_load(key, load).map(Cached::columns)
    }
}

impl CachePool {
    /// A pool of at most so many bytes.
    pub fn new(bytes_max: u64) -> CachePool {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        let freeing_bytes_max = bytes_max / FREEING_PART;
        let shared_bytes = bytes_max - freeing_bytes_max;
        let ring = Ring::new(PARTITION_COUNT);
        let mut shares = shares_of(&ring, PARTITION_COUNT, shared_bytes);
        shares.resize(PARTITION_COUNT_MAX, 0);
        let partitions = shares.into_iter().map(Partition::new).collect();
        let freeing = Freeing::new(freeing_bytes_max);
        let (count, forgotten) = (Mutex::new(PARTITION_COUNT), Forgotten::default());
        CachePool { ring, partitions, count, shared_bytes, freeing, forgotten }
    }

    /// What it may keep by itself, bytes.
    pub(super) fn budget_bytes(&self) -> u64 {
        self.shared_bytes as u64
    }

    /// Makes the pool so many bytes larger than its budget, and so many smaller, instead of what was lent and taken
    /// before. An eighth of the budget stays in any case.
    pub(super) fn resize(&self, lent_bytes: u64, taken_bytes: u64) {
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let own_bytes = self.shared_bytes.saturating_sub(bytes(taken_bytes)).max(self.shared_bytes / 8);
        let count = self.count.lock();
        let shares = shares_of(&self.ring, *count, own_bytes.saturating_add(bytes(lent_bytes)));
        for (partition, share) in self.partitions.iter().zip(shares) {
            let mut evicted = Vec::new();
            partition.entries.write().set_bytes_max(share, &mut evicted);
            self.freeing.hand_over(evicted);
        }
    }

    /// As [`BlockCache::get`], for bytes that are kept as they are read: blocks of indexes.
    #[inline]
    pub fn get_bytes(&self, key: BlockKey, load: &mut dyn FnMut() -> Result<Arc<[u8]>>) -> Result<Arc<[u8]>> {
        let load = || {
            let bytes = load()?;
            let len = bytes.len();
            Ok((Cached::Bytes(bytes), len))
        };
        self.get_or_load(key, load).map(Cached::bytes)
    }

    /// Adds a partition while the pool is used: it takes its points' slots with their blocks and shares. Answers how
    /// many partitions there are now; none when there are as many as there can be.
    pub fn add_partition(&self) -> Option<usize> {
        let mut count = self.count.lock();
        let number = *count;
        if number == PARTITION_COUNT_MAX {
            return None;
        }
        for taken in self.ring.add(number) {
            self.move_slots(taken, number);
        }
        *count = number + 1;
        Some(number + 1)
    }

    /// Lets go of the blocks of a file that is gone: a look at each partition, and work for the file's own blocks
    /// (cache 6).
    pub fn forget_file(&self, file: FileId) {
        let count = self.count.lock();
        self.forgotten.add(file);
        for partition in &self.partitions[..*count] {
            if partition.entries.read().has_file(file) {
                let mut evicted = Vec::new();
                partition.entries.write().forget(file, &mut evicted);
                self.freeing.hand_over(evicted);
            }
        }
    }

    /// Frees evicted blocks until `stop`, looking around at least so often: a thread's body.
    pub(crate) fn free_evicted(&self, stop: impl Fn() -> bool, look_around: Duration) {
        self.freeing.serve(stop, look_around);
    }

    /// Makes who frees evicted blocks look up.
    pub(crate) fn wake(&self) {
        self.freeing.ring();
    }

    /// Hits, misses and what is kept.
    pub fn counters(&self) -> CacheCounters {
        let mut counters = CacheCounters { freeing_bytes: self.freeing.bytes() as u64, ..CacheCounters::default() };
        for partition in self.partitions() {
            counters.hits += partition.hits;
            counters.misses += partition.misses;
            counters.evictions += partition.evictions;
            counters.bytes += partition.bytes;
            counters.blocks += partition.blocks;
        }
        counters
    }

    /// The same for each partition.
    pub fn partitions(&self) -> Vec<PartitionCounters> {
        let count = self.count.lock();
        self.partitions[..*count].iter().map(Partition::counters).collect()
    }

    #[inline]
    fn get_or_load(&self, key: BlockKey, load: impl FnOnce() -> Result<(Cached, usize)>) -> Result<Cached> {
        let place = Place::of(key);
        let partition = &self.partitions[self.ring.owner(place.slot())];
        if let Some(block) = partition.entries.read().find(place) {
            partition.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(block);
        }
        partition.misses.fetch_add(1, Ordering::Relaxed);
        let began = self.forgotten.begin();
        let (block, bytes) = load()?;
        Ok(self.keep(place, block, bytes + ENTRY_BYTES, began))
    }

    /// Keeps a block that was loaded, or finds the one that another thread kept meanwhile.
    fn keep(&self, place: Place, block: Cached, bytes: usize, began: Began) -> Cached {
        let mut evicted = Vec::new();
        let block = loop {
            let number = self.ring.owner(place.slot());
            let mut entries = self.partitions[number].entries.write();
            if self.ring.owner(place.slot()) != number {
                // A partition was added, and took its blocks from here before this lock (cache 3).
                continue;
            }
            if let Some(block) = entries.find(place) {
                break block;
            }
            if !self.forgotten.since(began, place.key.file) {
                entries.insert(place, block.clone(), bytes, &mut evicted);
            }
            break block;
        };
        self.freeing.hand_over(evicted);
        block
    }

    /// Hands slots that changed their owner from the old partition to the new one: blocks and share.
    fn move_slots(&self, taken: Taken, number: usize) {
        assert!(taken.from < number, "of two partitions that of the lower number is locked first");
        let mut evicted = Vec::new();
        let mut old = self.partitions[taken.from].entries.write();
        let mut new = self.partitions[number].entries.write();
        let moving = old.take_where(|place| self.ring.owner(place.slot()) == number);
        let share = part(old.bytes_max(), taken.slots, taken.of_slots);
        let (old_bytes_max, new_bytes_max) = (old.bytes_max() - share, new.bytes_max() + share);
        old.set_bytes_max(old_bytes_max, &mut evicted);
        new.set_bytes_max(new_bytes_max, &mut evicted);
        moving.into_iter().for_each(|block| new.receive(block, &mut evicted));
        drop((old, new));
        self.freeing.hand_over(evicted);
    }
}

#[cfg(test)]
impl CachePool {
    /// Whether somebody frees evicted blocks.
    pub(super) fn is_served(&self) -> bool {
        self.freeing.is_served()
    }

    /// Blocks in partitions that do not own their slots.
    pub(super) fn misplaced(&self) -> usize {
        let partitions = self.partitions.iter().enumerate();
        let misplaced = |(number, partition): (usize, &Partition)| {
            partition.entries.write().take_where(|place| self.ring.owner(place.slot()) != number).len()
        };
        partitions.map(misplaced).sum()
    }

    /// Entries looked at so far to find those of files that were forgotten.
    pub(super) fn looked_at(&self) -> u64 {
        self.partitions.iter().map(|partition| partition.entries.read().looked_at()).sum()
    }

    /// Tests what holds in each partition.
    pub(super) fn check(&self) {
        self.partitions.iter().for_each(|partition| partition.entries.read().check());
    }
}

impl Partition {
    fn new(bytes_max: usize) -> Partition {
        let entries = RwLock::new(Entries::new(bytes_max));
        Partition { entries, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    fn counters(&self) -> PartitionCounters {
        let entries = self.entries.read();
        PartitionCounters {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            evictions: entries.evictions(),
            bytes: entries.bytes() as u64,
            bytes_max: entries.bytes_max() as u64,
            blocks: entries.len() as u64,
        }
    }
}

/// The shares of the first partitions.
fn shares_of(ring: &Ring, count: usize, shared_bytes: usize) -> Vec<usize> {
    let slots = ring.slot_counts(count);
    let mut shares: Vec<usize> = slots.into_iter().map(|slots| part(shared_bytes, slots, SLOT_COUNT)).collect();
    shares[0] += shared_bytes - shares.iter().sum::<usize>();
    shares
}

/// `slots` of `of_slots` parts of the bytes, rounded down.
fn part(bytes: usize, slots: usize, of_slots: usize) -> usize {
    assert!(slots <= of_slots, "a partition has no more than all slots, and gives up no more than it has");
    usize::try_from(bytes as u128 * slots as u128 / of_slots as u128).expect("a part is not more than the whole")
}
