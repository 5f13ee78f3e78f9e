//! Tables of whose columns somebody wanted to know more than is known.
//!
//! ```text
//!   a query is planned ── table 12: looked at long ago ──▶ {12}     by what is known; it waits for nothing
//!   a worker without a job takes 12, and looks                      a node, which has no jobs, has a thread
//! ```
//!
//! 1. A table is wanted once, however many ask. Who takes it looks, or leaves it: whoever asks next wants it again.

use std::collections::BTreeSet;

use weft_env::sync::Mutex;
use weft_format::TableId;

/// The tables that are wanted.
#[derive(Debug, Default)]
pub(crate) struct Wanted(Mutex<BTreeSet<TableId>>);

impl Wanted {
    /// Wants a table; false: it was.
    pub(crate) fn want(&self, table: TableId) -> bool {
        self.0.lock().insert(table)
    }

    /// One that is wanted, for who looks at it.
    pub(crate) fn take(&self) -> Option<TableId> {
        self.0.lock().pop_first()
    }
}
