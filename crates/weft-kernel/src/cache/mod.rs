//! The cache pool: parsed blocks of column tables and pages of indexes, bounded in bytes, in partitions that can be
//! added while it is used.
//!
//! ```text
//!   get(file 12, block 7) ─ hash ─ ring slot 5211 ─ partition 3 ─ hit: read lock, count the read, clone the Arc
//!                                                               └ miss: load (no lock held) ─ write lock ─ insert
//!
//!   ring         …0 0 3 3 3 3 1 1 7 7 7 2…    8192 slots; each belongs to the next of the partitions' 64 points
//!   partition    small ▶ [f][e][d]    read twice or more ─▶ main ▶ [a][c][b] ─▶ unread: out; read: once more around
//!                                     else ─▶ out, remembered by its hash: comes back into main
//!   evicted      ─▶ waits to be freed ─▶ the job frees what no reader holds
//! ```
//!
//! 1. The bytes kept in partitions and waiting to be freed are at most the budget and what is [lent](Lending) to it. A
//!    sixteenth of the budget is for what waits; the partitions' shares add up to the rest at all times, each in
//!    proportion to its slots of the ring. While what is lent changes they add up to something between.
//! 2. A partition keeps at most its share; a block bigger than that is not kept.
//! 3. A block lies in no partition but the one that owns its slot; a partition that is added takes slots, the blocks in
//!    them move to it, and nothing else moves. While they move a lookup may miss, which is never wrong: a key names the
//!    same bytes for ever.
//! 4. A block that a reader holds is not freed. While it waits it is counted; when more waits than the sixteenth, the
//!    evicting thread gives up its own part: what no reader holds is freed at once, the rest with its last reader, and
//!    is the reader's memory until then.
//! 5. What is read once (a scan) leaves through the small queue, a tenth of a partition, and evicts nothing from main.
//! 6. To forget a file costs a look at each partition and what the file's own blocks cost, however much is kept.
//!    Partitions that have none of it are not locked against readers. A block that was being loaded meanwhile is not
//!    kept (`forgotten`).
//!
//! Concurrency: one lock per partition, never held while loading or freeing; two threads that miss the same block both
//! load it and the first to insert wins. Only who adds a partition holds two of them, that of the lower number first.
//! The number of partitions is locked before a partition, what was forgotten last after it.
//! Crash: nothing to find.
//!
//! Source: SG-ColBase section 6 (partitions by consistent hashing, asynchronous release). In place of its LRU: S3-FIFO
//! (Yang et al., SOSP 2023), where a hit changes no order and so takes only a read lock.

mod blocks;
mod entries;
mod forgotten;
mod freeing;
mod lending;
mod place;
mod pool;
mod ring;
mod slots;

pub use lending::Lending;
pub use pool::{CacheCounters, CachePool, PartitionCounters};

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests run on real threads")]
mod tests;
