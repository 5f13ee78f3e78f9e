//! Memory that lasts as long as what it describes: it is no row, for whose end writers could wait, and no cached block,
//! which goes when there is no room.
//!
//! ```text
//!   t12-345.data, 131,072 rows    files       170 KB   first keys, statistics of blocks, the filter of its keys
//!                                marks        17 KB   a bitmap, and 24 young marks with their timestamps
//!   MANIFEST-3                   manifest      4 KB   payloads since it was last rewritten
//!   of a cache of 32 MB and an account of 2 MB          the cache keeps 30 MB
//! ```
//!
//! 1. What is charged is given back with its charge, and only then.
//! 2. The cache keeps less by as much as the account has (`cache/lending.rs`), so both together stay within the cache's
//!    budget, for as long as the account has less than most of it.
//!
//! Concurrency: atomic sums. Crash: nothing to find.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fault::{Fault, active};

/// What the memory is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// What is known of the data files: footers, filters of keys, statistics, first keys.
    Files,
    /// Delete marks.
    Marks,
    /// Payloads of the manifest's edits.
    Manifest,
    /// Pages of tables that are changed where they lie.
    Pages,
}

impl Kept {
    /// Each of them.
    pub const ALL: [Kept; 4] = [Kept::Files, Kept::Marks, Kept::Manifest, Kept::Pages];
}

/// How much of each there is.
#[derive(Default)]
pub struct Account {
    bytes: [AtomicU64; Kept::ALL.len()],
}

impl Account {
    /// Bytes of one kind.
    pub fn bytes(&self, kept: Kept) -> u64 {
        self.bytes[kept as usize].load(Ordering::Relaxed)
    }

    /// Bytes of all kinds.
    pub fn total_bytes(&self) -> u64 {
        Kept::ALL.iter().map(|&kept| self.bytes(kept)).sum()
    }

    /// Charges bytes for as long as the charge lives.
    pub fn charge(self: &Arc<Account>, kept: Kept, bytes: u64) -> Charge {
        let charge = Charge { account: Arc::clone(self), kept, bytes: AtomicU64::new(0) };
        if !(kept == Kept::Files && active(Fault::FORGET_FOOTER_CHARGE)) {
            charge.set(bytes);
        }
        charge
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("total_bytes", &self.total_bytes()).finish_non_exhaustive()
    }
}

/// Bytes of an account, given back when it is dropped (account 1).
#[derive(Debug)]
pub struct Charge {
    account: Arc<Account>,
    kept: Kept,
    bytes: AtomicU64,
}

impl Charge {
    /// So many bytes from now on. Callers keep each other from doing it at once.
    pub fn set(&self, bytes: u64) {
        let before = self.bytes.swap(bytes, Ordering::Relaxed);
        let sum = &self.account.bytes[self.kept as usize];
        if bytes >= before {
            sum.fetch_add(bytes - before, Ordering::Relaxed);
        } else {
            let charged = sum.fetch_sub(before - bytes, Ordering::Relaxed);
            assert!(charged >= before - bytes, "what is given back was charged (account 1)");
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_come_and_go() {
        let account = Arc::new(Account::default());
        let (files, marks) = (account.charge(Kept::Files, 100), account.charge(Kept::Marks, 7));
        assert_eq!((account.bytes(Kept::Files), account.total_bytes()), (100, 107));
        files.set(40);
        drop(marks);
        assert_eq!((account.bytes(Kept::Marks), account.total_bytes()), (0, 40));
    }
}
