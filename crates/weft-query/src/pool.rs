//! The memory of all queries: fair shares for what spills, without those that would wait for each other.
//!
//! ```text
//!   FinalHashAggregateStream[1], TopK[0], Window[0], ...   FairSpillPool: a share, an eighth of the pool in any case
//!   ExternalSorterMerge[0]     a share, a 16th in any case (a quarter while there is slack), a half at most
//!   ExternalSorter[0]          a share, one batch in any case                    all else is refused: 53200
//!   RepartitionExec[0]         counted, never refused
//! ```
//!
//! An exchange holds batches until its slowest reader takes them. Refused, it would write them to files, and with two
//! files open its reader may wait for ever for a writer that waits for it (apache/datafusion#24883, mended after 55.2).
//! As spilling operators of the pool exchanges would also halve the shares of those that need memory.
//!
//! A sorter that has nothing has nothing to spill either: its first batch is granted even when its share is smaller
//! (it is there already, and texts that batches share are counted for each of them); one that has something writes it
//! to a file instead.
//!
//! Where sorters have taken all memory, a merge that would free what was sorted would find none, nor would the few rows
//! of a TopK, so the other operators get their part even then. The pool is passed by these parts at most, and
//! by a batch for each sorter.
//!
//! Concurrency: an atomic counter beside the fair pool.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::{Result, resources_datafusion_err};
use datafusion::execution::memory_pool::{FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use weft_kernel::cache::Lending;
use weft_sql::queries::Reservation;

use super::error::unwrap;

/// What the merge of one sort gets in any case is this part of the pool: there is one for each sort and partition.
pub(super) const MERGE_PART: usize = 16;
/// The same while the pool is passed by less than a quarter.
const MERGE_PART_WITH_SLACK: usize = 4;
/// What it gets at most: the last merge of a sort takes as many files at once as it has memory for.
const MERGE_PART_MAX: usize = 2;
/// What another operator gets in any case.
const OTHER_PART: usize = 8;

/// Memory of queries that a session holds for rows that it keeps.
#[derive(Debug)]
pub(super) struct Reserved(MemoryReservation);

impl Reserved {
    pub(super) fn nothing(pool: &Arc<dyn MemoryPool>) -> Reserved {
        Reserved(MemoryConsumer::new("Result").register(pool))
    }
}

impl Reservation for Reserved {
    fn bytes(&self) -> usize {
        self.0.size()
    }

    fn try_grow(&self, bytes: usize) -> weft_format::Result<()> {
        self.0.try_grow(bytes).map_err(|error| unwrap(error, ""))
    }
}

/// A pool of memory for the operators of queries.
#[derive(Debug)]
pub(super) struct QueryPool {
    fair: FairSpillPool,
    limit_bytes: usize,
    exchange_bytes: AtomicUsize,
    /// Who is told what queries have.
    lending: Option<Arc<Lending>>,
}

impl QueryPool {
    pub(super) fn new(limit_bytes: usize) -> QueryPool {
        let fair = FairSpillPool::new(limit_bytes);
        QueryPool { fair, limit_bytes, exchange_bytes: AtomicUsize::new(0), lending: None }
    }

    /// The same pool, which tells who lends memory what it has given.
    pub(super) fn telling(self, lending: Arc<Lending>) -> QueryPool {
        QueryPool { lending: Some(lending), ..self }
    }

    fn note_growth(&self, bytes: usize) {
        if let Some(lending) = &self.lending {
            lending.queries_grew(bytes as u64);
        }
    }

    fn grant(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        if is_exchange(reservation.consumer()) {
            self.exchange_bytes.fetch_add(additional, Ordering::Relaxed);
            return Ok(());
        }
        let consumer = reservation.consumer();
        let wanted = reservation.size() + additional;
        if is_merge(consumer) && wanted > self.limit_bytes / MERGE_PART_MAX {
            return Err(resources_datafusion_err!("a merge takes at most half of the memory of queries"));
        }
        let granted = self.fair.try_grow(reservation, additional);
        let is_due = if is_sorter(consumer) {
            reservation.size() == 0
        } else if is_merge(consumer) {
            let has_slack = self.fair.reserved() + additional <= self.limit_bytes + self.limit_bytes / 4;
            wanted <= self.limit_bytes / if has_slack { MERGE_PART_WITH_SLACK } else { MERGE_PART }
        } else {
            wanted <= self.limit_bytes / OTHER_PART
        };
        if granted.is_err() && is_due {
            self.fair.grow(reservation, additional);
            return Ok(());
        }
        granted
    }
}

fn is_merge(consumer: &MemoryConsumer) -> bool {
    consumer.name().starts_with("ExternalSorterMerge[")
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
        self.note_growth(additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        if is_exchange(reservation.consumer()) {
            self.exchange_bytes.fetch_sub(shrink, Ordering::Relaxed);
        } else {
            self.fair.shrink(reservation, shrink);
        }
        if let Some(lending) = &self.lending {
            lending.queries_shrank(shrink as u64);
        }
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        self.grant(reservation, additional)?;
        self.note_growth(additional);
        Ok(())
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
    use super::*;

    #[test]
    fn others_and_first_batches_have_their_part_when_sorters_have_all() {
        let pool: Arc<dyn MemoryPool> = Arc::new(QueryPool::new(16 << 20));
        let sorter = MemoryConsumer::new("ExternalSorter[0]").with_can_spill(true).register(&pool);
        sorter.try_grow(16 << 20).unwrap();
        let merge = MemoryConsumer::new("ExternalSorterMerge[0]").register(&pool);
        merge.try_grow(4 << 20).unwrap();
        assert!(merge.try_grow(1).is_err());
        let late = MemoryConsumer::new("ExternalSorterMerge[1]").register(&pool);
        late.try_grow(1 << 20).unwrap();
        assert!(late.try_grow(1).is_err(), "no slack is left");
        drop(late);
        let other = MemoryConsumer::new("HashJoinInput").register(&pool);
        other.try_grow(2 << 20).unwrap();
        assert!(other.try_grow(1).is_err());
        drop(other);
        let second = MemoryConsumer::new("ExternalSorter[1]").with_can_spill(true).register(&pool);
        second.try_grow(9 << 20).unwrap();
        assert!(second.try_grow(1).is_err(), "what it has it can spill");
        drop((sorter, second));
        merge.try_grow(4 << 20).unwrap();
        assert!(merge.try_grow(1).is_err(), "it leaves a half to others");
        assert_eq!(pool.reserved(), 8 << 20);
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
