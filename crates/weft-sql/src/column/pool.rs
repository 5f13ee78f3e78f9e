//! The memory of all queries: fair shares for what spills, without those that would wait for each other.
//!
//! ```text
//!   ExternalSorterMerge[0], FinalHashAggregateStream[1], TopK[0], ...    → FairSpillPool: a share, a 16th of it in any
//!                                                                          case, or 53200
//!   ExternalSorter[0]                                                    → a share, one batch in any case, or 53200
//!   RepartitionExec[0], RepartitionExec[1]                               → counted, never refused
//! ```
//!
//! An exchange holds batches until its slowest reader takes them. Refused, it would write them to files, and with two
//! files open its reader may wait for ever for a writer that waits for it (apache/datafusion#24883, mended after 55.2).
//! As spilling operators of the pool exchanges would also halve the shares of those that need memory.
//!
//! A sorter that has nothing has nothing to spill either: its first batch is granted even when its share is smaller
//! (it is there already, and texts that batches share are counted for each of them); one that has something writes it to
//! a file instead.
//!
//! Where sorters have taken all memory, a merge that would free what was sorted would find none, nor would the few rows
//! of a TopK, so the other operators get their part even then. The pool is passed by a 16th for each of them at most,
//! and by a batch for each sorter.
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
    /// What an operator gets in any case.
    bytes_min: usize,
    exchange_bytes: AtomicUsize,
}

impl QueryPool {
    pub(super) fn new(limit_bytes: usize) -> QueryPool {
        QueryPool {
            fair: FairSpillPool::new(limit_bytes),
            bytes_min: limit_bytes / 16,
            exchange_bytes: AtomicUsize::new(0),
        }
    }
}

fn is_sorter(consumer: &MemoryConsumer) -> bool {
    consumer.name().starts_with("ExternalSorter[")
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
        let consumer = reservation.consumer();
        let is_due = if is_sorter(consumer) {
            reservation.size() == 0
        } else {
            reservation.size() + additional <= self.bytes_min
        };
        if granted.is_err() && is_due {
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
    fn others_and_first_batches_have_their_part_when_sorters_have_all() {
        let pool: Arc<dyn MemoryPool> = Arc::new(QueryPool::new(16 << 20));
        let sorter = MemoryConsumer::new("ExternalSorter[0]").with_can_spill(true).register(&pool);
        sorter.try_grow(16 << 20).unwrap();
        let merge = MemoryConsumer::new("ExternalSorterMerge[0]").register(&pool);
        merge.try_grow(1 << 20).unwrap();
        assert!(merge.try_grow(1).is_err());
        let other = MemoryConsumer::new("HashJoinInput").register(&pool);
        other.try_grow(1 << 20).unwrap();
        assert!(other.try_grow(1).is_err());
        drop(other);
        let second = MemoryConsumer::new("ExternalSorter[1]").with_can_spill(true).register(&pool);
        second.try_grow(9 << 20).unwrap();
        assert!(second.try_grow(1).is_err(), "what it has it can spill");
        drop((sorter, second));
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
