//! What was seen of a table by who looked at some of its rows, and since when that is out of date.
//!
//! ```text
//!   looked at after 12,000 rows were written, of 10,000     written now: 14,001, a fifth more: look again
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::sync::Mutex;
use weft_format::ColumnSummary;

use crate::account::{Account, Charge, Kept};

/// Summaries by ordinal.
pub(super) type Columns = Arc<Vec<Option<ColumnSummary>>>;

/// What was seen of a table by who looked at its rows.
pub(super) struct Looked {
    pub(super) seen: Mutex<Option<Seen>>,
    pub(super) looking: Mutex<()>,
    /// Rows that commits have written since the table was opened.
    pub(super) written: AtomicU64,
    /// Set under `seen`.
    charge: Charge,
}

/// What one look has seen.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) columns: Columns,
    /// How many rows there were.
    pub(super) rows: u64,
    /// How many had been written.
    pub(super) written: u64,
}

impl Looked {
    pub(super) fn new(account: &Arc<Account>) -> Looked {
        let (seen, looking, written) = Default::default();
        Looked { seen, looking, written, charge: account.charge(Kept::Files, 0) }
    }

    pub(super) fn keep(&self, seen: Seen) {
        let bytes = |column: &ColumnSummary| size_of::<ColumnSummary>() + column.memory_bytes();
        assert!(seen.written <= self.written.load(Ordering::Relaxed), "what was written before a look stays written");
        let mut kept = self.seen.lock();
        self.charge.set(seen.columns.iter().flatten().map(bytes).sum::<usize>() as u64);
        *kept = Some(seen);
    }
}
