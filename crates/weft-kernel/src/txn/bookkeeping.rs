//! A bounded part of row memory for what serializable transactions remember.
//!
//! Of `serializable_memory_bytes`, and at most an eighth of row memory, one half is for what open transactions have
//! read, the other for what was committed beside them. Who finds its half full remembers less exactly: whole tables
//! instead of rows. That is never a wrong answer; it is a conflict where there need be none.
//!
//! Concurrency: an atomic sum.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::budget::RowBudget;

/// Bytes in use, charged to the row budget, and how many they should be at most.
pub(crate) struct Bookkeeping {
    limit_bytes: u64,
    used_bytes: AtomicU64,
    budget: Arc<RowBudget>,
}

impl Bookkeeping {
    /// One of the two halves.
    pub(crate) fn half(serializable_memory_bytes: u64, budget: &Arc<RowBudget>) -> Arc<Bookkeeping> {
        let limit_bytes = serializable_memory_bytes.min(budget.limit_bytes() / 8) / 2;
        Arc::new(Bookkeeping { limit_bytes, used_bytes: AtomicU64::new(0), budget: Arc::clone(budget) })
    }

    pub(crate) fn charge(&self, bytes: u64) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.budget.charge(bytes);
    }

    pub(crate) fn release(&self, bytes: u64) {
        if bytes > 0 {
            let before = self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
            assert!(before >= bytes, "memory of serializable transactions is given back once");
            self.budget.release(bytes);
        }
    }

    /// Whether so many bytes more are too many.
    pub(crate) fn is_full(&self, more_bytes: u64) -> bool {
        self.used_bytes() + more_bytes > self.limit_bytes
    }

    /// How many bytes too many there are.
    pub(crate) fn excess_bytes(&self) -> u64 {
        self.used_bytes().saturating_sub(self.limit_bytes)
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }
}
