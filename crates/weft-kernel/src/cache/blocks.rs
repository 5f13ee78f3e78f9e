//! The shards.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weft_env::sync::RwLock;
use weft_format::encoding::Block;
use weft_format::table::{BlockCache, BlockKey};
use weft_format::{FileId, Result};

const SHARD_COUNT: usize = 16;
/// What an entry costs beside its block, about.
const ENTRY_BYTES: usize = 96;

/// How the cache does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Blocks found.
    pub hits: u64,
    /// Blocks loaded.
    pub misses: u64,
    /// Bytes kept.
    pub bytes: u64,
    /// Blocks kept.
    pub blocks: u64,
}

/// The engine's block cache.
pub struct ShardedCache {
    shards: Box<[Shard]>,
    shard_bytes_max: usize,
}

#[derive(Default)]
#[repr(align(128))]
struct Shard {
    state: RwLock<State>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Default)]
struct State {
    index: HashMap<BlockKey, usize, BuildHasherDefault<KeyHasher>>,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    hand: usize,
    bytes: usize,
}

/// What is kept: files of tables and of indexes have numbers of their own, so a key is of one kind for ever.
#[derive(Clone)]
enum Cached {
    /// A parsed block of a column table.
    Columns(Arc<Block>),
    /// A block, or a segment of the filter, of an index's run.
    Bytes(Arc<[u8]>),
}

impl Cached {
    fn columns(self) -> Arc<Block> {
        match self {
            Cached::Columns(block) => block,
            Cached::Bytes(_) => unreachable!("a file of an index is read as a column table"),
        }
    }

    fn bytes(self) -> Arc<[u8]> {
        match self {
            Cached::Bytes(bytes) => bytes,
            Cached::Columns(_) => unreachable!("a column table is read as a file of an index"),
        }
    }
}

struct Slot {
    key: BlockKey,
    block: Cached,
    bytes: usize,
    visited: AtomicBool,
}

/// Two numbers, multiplied and folded.
#[derive(Default)]
struct KeyHasher(u64);

impl KeyHasher {
    fn add(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd1b5_4a32_d192_ed03_u128;
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.add(u64::from(byte)));
    }

    fn write_u32(&mut self, word: u32) {
        self.add(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }
}

impl ShardedCache {
    /// A cache of at most so many bytes.
    pub fn new(bytes_max: u64) -> ShardedCache {
        let shards = (0..SHARD_COUNT).map(|_| Shard::default()).collect();
        let shard_bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX) / SHARD_COUNT;
        ShardedCache { shards, shard_bytes_max }
    }

    /// Lets go of the blocks of a file that is gone.
    pub fn forget_file(&self, file: FileId) {
        for shard in &self.shards {
            let mut state = shard.state.write();
            let slots: Vec<usize> = state.index.iter().filter(|(key, _)| key.file == file).map(|(_, &at)| at).collect();
            slots.into_iter().for_each(|at| state.remove(at));
        }
    }

    /// Hits, misses and what is kept.
    pub fn counters(&self) -> CacheCounters {
        let mut counters = CacheCounters::default();
        for shard in &self.shards {
            counters.hits += shard.hits.load(Ordering::Relaxed);
            counters.misses += shard.misses.load(Ordering::Relaxed);
            let state = shard.state.read();
            counters.bytes += state.bytes as u64;
            counters.blocks += state.index.len() as u64;
        }
        counters
    }

    fn shard(&self, key: BlockKey) -> &Shard {
        let mut hasher = KeyHasher::default();
        hasher.add(key.file.0 ^ u64::from(key.block) << 40);
        &self.shards[(hasher.finish() >> 32) as usize % SHARD_COUNT]
    }
}

impl BlockCache for ShardedCache {
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

impl ShardedCache {
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

    #[inline]
    fn get_or_load(&self, key: BlockKey, load: impl FnOnce() -> Result<(Cached, usize)>) -> Result<Cached> {
        let shard = self.shard(key);
        if let Some(block) = shard.state.read().find(key) {
            shard.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(block);
        }
        shard.misses.fetch_add(1, Ordering::Relaxed);
        let (block, bytes) = load()?;
        let bytes = bytes + ENTRY_BYTES;
        if bytes > self.shard_bytes_max {
            return Ok(block);
        }
        let mut state = shard.state.write();
        if let Some(block) = state.find(key) {
            return Ok(block);
        }
        state.insert(key, block.clone(), bytes, self.shard_bytes_max);
        Ok(block)
    }
}

impl State {
    fn find(&self, key: BlockKey) -> Option<Cached> {
        let slot = self.slots[*self.index.get(&key)?].as_ref().expect("the index names full slots");
        if !slot.visited.load(Ordering::Relaxed) {
            slot.visited.store(true, Ordering::Relaxed);
        }
        Some(slot.block.clone())
    }

    fn insert(&mut self, key: BlockKey, block: Cached, bytes: usize, bytes_max: usize) {
        while self.bytes + bytes > bytes_max {
            self.evict();
        }
        let slot = Slot { key, block, bytes, visited: AtomicBool::new(false) };
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                self.slots.push(None);
                self.slots.len() - 1
            }
        };
        self.slots[at] = Some(slot);
        self.index.insert(key, at);
        self.bytes += bytes;
        assert!(self.bytes <= bytes_max, "the cache keeps to its limit (cache 1)");
    }

    /// Moves the hand to the next unvisited block and lets it go. There is a block: the bytes kept are not zero.
    fn evict(&mut self) {
        loop {
            let at = self.hand;
            self.hand = if at + 1 < self.slots.len() { at + 1 } else { 0 };
            if let Some(slot) = &mut self.slots[at]
                && !std::mem::take(slot.visited.get_mut())
            {
                return self.remove(at);
            }
        }
    }

    fn remove(&mut self, at: usize) {
        let slot = self.slots[at].take().expect("full slots are removed");
        self.index.remove(&slot.key);
        self.bytes -= slot.bytes;
        self.free.push(at);
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests run on real threads")]
mod tests;
