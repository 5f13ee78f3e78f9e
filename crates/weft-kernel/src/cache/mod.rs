//! The block cache: parsed blocks of column tables and blocks of indexes in one pool, bounded in bytes.
//!
//! ```text
//!   get(file 12, block 7) ─ hit: read lock, mark as visited, clone the Arc
//!                         └ miss: load (no lock held) ─ write lock ─ insert ─ the clock hand evicts what is over
//!
//!   slots  [a visited] [b] [c visited]      hand at a: a loses its mark, b goes
//! ```
//!
//! 1. The bytes kept are at most the limit, each shard its share; a block bigger than a share is not kept.
//! 2. A new block starts unvisited: a scan that reads everything once evicts itself before what is used again.
//!
//! Concurrency: one lock per shard, never held while loading; two threads that miss the same block both load it and the
//! first to insert wins. Crash: nothing to find.
//!
//! Source: CLOCK with lazy promotion, as SIEVE (Zhang et al., NSDI 2024) does it.

mod blocks;

pub use blocks::{CacheCounters, ShardedCache};
