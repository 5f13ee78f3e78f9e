//! The gate of transactions: shared by those that are active, alone for a merge that begins or ends.
//!
//! ```text
//!   transaction  enter ─────── reads, writes, commit ─────── leave
//!   merge                drain: waits for those inside ──────┤ alone ├── others wait meanwhile
//! ```
//!
//! The contract of tables knows no beginnings and ends of transactions, so who runs them (a benchmark) enters the gate
//! for each. Without that a merge is as right (its own locks keep what it switches), but drains nobody.
//!
//! 1. Who has entered does not enter again before it has left: a merge may wait for it meanwhile.

use weft_env::Clock;
use weft_env::sync::RwLock;
use weft_tables::waits::{self, Waited, Waits};

/// See the module.
#[derive(Default)]
pub struct Gate {
    lock: RwLock<()>,
    entries: Waits,
    drains: Waits,
}

impl Gate {
    /// Enters, until what is returned is dropped (gate 1).
    pub fn enter(&self, clock: &dyn Clock) -> impl Drop + '_ {
        waits::read(&self.lock, &self.entries, clock)
    }

    /// Waits until all have left, and keeps others out until what is returned is dropped.
    pub(super) fn drain(&self, clock: &dyn Clock) -> impl Drop + '_ {
        waits::write(&self.lock, &self.drains, clock)
    }

    /// Waits of transactions for merges.
    pub fn entries(&self) -> Waited {
        self.entries.so_far()
    }

    /// Waits of merges for transactions.
    pub fn drains(&self) -> Waited {
        self.drains.so_far()
    }
}
