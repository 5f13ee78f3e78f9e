//! Row memory that nobody uses, lent to cached blocks.
//!
//! ```text
//!   of 256 MiB        row tables use   queries have   the cache may keep
//!   row memory 64     6 MiB            0              32 + 48 MiB      64 − 6, less an eighth of 64, in 16ths
//!   cache 32          40 MiB           0              32 + 16 MiB
//!   queries 48        6 MiB            9 MiB          32 MiB           an eighth of row memory, and nothing is lent
//! ```
//!
//! 1. What row tables and the cache keep together is at most both budgets, but for what came since the last look: row
//!    tables grow, and a tenth of a second later cached blocks go.
//! 2. Queries need more than they account for, so nothing is lent while they have much. It is called back when that
//!    begins, not at the next look.
//!
//! 3. The cache keeps less by what is known of files, in 64ths of its budget, and an eighth of that in any case.
//!
//! Concurrency: a mutex, held while shares change; who counts queries' bytes takes it only at that moment.
//! Crash: nothing to find.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::sync::Mutex;

use super::pool::CachePool;
use crate::account::Account;
use crate::budget::RowBudget;

/// This part of row memory is never lent.
const KEPT_PART: u64 = 8;
/// Queries that have so much, as a part of row memory, end the lending.
const QUERIES_PART: u64 = 8;
/// What is lent changes in steps of this part of row memory.
const STEP_PART: u64 = 16;

/// What the account takes of the cache changes in steps of this part of it.
const ACCOUNT_STEP_PART: u64 = 64;

/// Who lends.
pub struct Lending {
    cache: Arc<CachePool>,
    row_budget: Arc<RowBudget>,
    account: Arc<Account>,
    is_on: bool,
    /// What the operators of queries account for.
    query_bytes: AtomicU64,
    /// What is lent, and what the account takes.
    shares: Mutex<(u64, u64)>,
}

impl Lending {
    /// Lends nothing yet, and never when it is off.
    pub(crate) fn new(
        cache: Arc<CachePool>,
        row_budget: &Arc<RowBudget>,
        account: &Arc<Account>,
        is_on: bool,
    ) -> Lending {
        let (row_budget, account) = (Arc::clone(row_budget), Arc::clone(account));
        Lending { cache, row_budget, account, is_on, query_bytes: AtomicU64::new(0), shares: Mutex::default() }
    }

    /// Lends what is free now, and takes back what is not.
    pub(crate) fn look(&self) {
        let limit_bytes = self.row_budget.limit_bytes();
        let mut shares = self.shares.lock();
        let wanted_bytes = if !self.is_on || self.query_bytes.load(Ordering::Acquire) > self.query_bytes_max() {
            0
        } else {
            let step_bytes = (limit_bytes / STEP_PART).max(1);
            let taken_bytes = self.row_budget.used_bytes() + limit_bytes / KEPT_PART;
            limit_bytes.saturating_sub(taken_bytes) / step_bytes * step_bytes
        };
        let step_bytes = (self.cache.budget_bytes() / ACCOUNT_STEP_PART).max(1);
        let taken_bytes = self.account.total_bytes() / step_bytes * step_bytes;
        if *shares != (wanted_bytes, taken_bytes) {
            self.cache.resize(wanted_bytes, taken_bytes);
            *shares = (wanted_bytes, taken_bytes);
        }
    }

    /// The operators of queries account for so many bytes more.
    pub fn queries_grew(&self, bytes: u64) {
        let before = self.query_bytes.fetch_add(bytes, Ordering::AcqRel);
        let bytes_max = self.query_bytes_max();
        if before <= bytes_max && before + bytes > bytes_max {
            self.look();
        }
    }

    /// They account for so many bytes less; what is free is lent at the next look.
    pub fn queries_shrank(&self, bytes: u64) {
        let before = self.query_bytes.fetch_sub(bytes, Ordering::AcqRel);
        assert!(before >= bytes, "queries give back {bytes} bytes and had {before}");
    }

    /// Nothing is lent while queries have more.
    fn query_bytes_max(&self) -> u64 {
        self.row_budget.limit_bytes() / QUERIES_PART
    }
}

impl fmt::Debug for Lending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lending").field("is_on", &self.is_on).finish_non_exhaustive()
    }
}
