//! The memory of all queries: fair shares for what spills, without those that would wait for each other.
//!
//! ```text
//!   ExternalSorter[0], FinalHashAggregateStream[1], HashJoinInput, ...   → FairSpillPool: a share, or 53200
//!   ExternalSorterMerge[0], SortPreservingMergeExec[0]                   → the same, but an eighth of it in any case
//!   RepartitionExec[0], RepartitionExec[1]                               → counted, never refused
//! ```
//!
//! An exchange holds batches until its slowest reader takes them. Refused, it would write them to files, and with two
//! files open its reader may wait for ever for a writer that waits for it (apache/datafusion#24883, mended after 55.2).
//! As spilling operators of the pool exchanges would also halve the shares of those that need memory.
//!
//! A merge frees what was sorted; where sorters have taken all memory, or another partition's merge has, it would find
//! none, so it gets its part even then. The pool is passed by an eighth for each merge at most.
//!
//! Concurrency: an atomic counter beside the fair pool.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::Result;
use datafusion::execution::memory_pool::{FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};

/// A pool of memory for the operators of queries.
#[derive(Debug)]
pub(super) struct QueryPool {
    fair: FairSpillPool,
    /// What a merge gets in any case.
    merge_bytes_min: usize,
    exchange_bytes: AtomicUsize,
}

impl QueryPool {
    pub(super) fn new(limit_bytes: usize) -> QueryPool {
        QueryPool {
            fair: FairSpillPool::new(limit_bytes),
            merge_bytes_min: limit_bytes / 8,
            exchange_bytes: AtomicUsize::new(0),
        }
    }
}

fn is_merge(consumer: &MemoryConsumer) -> bool {
    consumer.name().starts_with("ExternalSorterMerge") || consumer.name().starts_with("SortPreservingMergeExec")
}

fn is_exchange(consumer: &MemoryConsumer) -> bool {
    consumer.name().starts_with("RepartitionExec")
}

impl fmt::Display for QueryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fair.fmt(f)
    }
}

impl MemoryPool for QueryPool {
    fn name(&self) -> &str {
        "weft"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        if !is_exchange(consumer) {
            self.fair.register(consumer);
        }
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        if !is_exchange(consumer) {
            self.fair.unregister(consumer);
        }
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        if is_exchange(reservation.consumer()) {
            self.exchange_bytes.fetch_add(additional, Ordering::Relaxed);
        } else {
            self.fair.grow(reservation, additional);
        }
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        if is_exchange(reservation.consumer()) {
            self.exchange_bytes.fetch_sub(shrink, Ordering::Relaxed);
        } else {
            self.fair.shrink(reservation, shrink);
        }
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        if is_exchange(reservation.consumer()) {
            self.exchange_bytes.fetch_add(additional, Ordering::Relaxed);
            return Ok(());
        }
        let granted = self.fair.try_grow(reservation, additional);
        if granted.is_err()
            && is_merge(reservation.consumer())
            && reservation.size() + additional <= self.merge_bytes_min
        {
            self.fair.grow(reservation, additional);
            return Ok(());
        }
        granted
    }

    fn reserved(&self) -> usize {
        self.fair.reserved() + self.exchange_bytes.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.fair.memory_limit()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_merge_has_its_part_when_sorters_have_all() {
        let pool: Arc<dyn MemoryPool> = Arc::new(QueryPool::new(8 << 20));
        let sorter = MemoryConsumer::new("ExternalSorter[0]").with_can_spill(true).register(&pool);
        sorter.try_grow(8 << 20).unwrap();
        let merge = MemoryConsumer::new("ExternalSorterMerge[0]").register(&pool);
        merge.try_grow(1 << 20).unwrap();
        assert!(merge.try_grow(1).is_err());
        let other = MemoryConsumer::new("HashJoinInput").register(&pool);
        assert!(other.try_grow(1).is_err());
        drop(sorter);
        merge.try_grow(1 << 20).unwrap();
        assert_eq!(pool.reserved(), 2 << 20);
    }

    #[test]
    fn exchanges_are_counted_and_never_refused() {
        let pool: Arc<dyn MemoryPool> = Arc::new(QueryPool::new(1 << 20));
        let exchange = MemoryConsumer::new("RepartitionExec[0]").with_can_spill(true).register(&pool);
        exchange.try_grow(3 << 20).unwrap();
        let sorter = MemoryConsumer::new("ExternalSorter[0]").with_can_spill(true).register(&pool);
        sorter.try_grow(1 << 20).unwrap();
        assert!(sorter.try_grow(1).is_err(), "all of the pool is its share, and no more");
        assert_eq!(pool.reserved(), 4 << 20);
        drop((exchange, sorter));
        assert_eq!(pool.reserved(), 0);
    }
}
