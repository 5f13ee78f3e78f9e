//! Tables of whose columns somebody wanted to know more than is known.
//!
//! ```text
//!   a query is planned ── table 12: looked at long ago ──▶ [40, 7, 12]     by what is known; it waits for nothing
//!   a worker without a job takes 40, and looks                            a node, which has no jobs, has a thread
//!   there is more to learn of 40                         ──▶ [7, 12, 40]   the others first
//! ```
//!
//! 1. A table is wanted once, however many ask. Who takes it looks, or leaves it: whoever asks next wants it again.
//! 2. Who was wanted first is taken first.

use std::collections::{BTreeSet, VecDeque};

use weft_env::sync::Mutex;
use weft_format::TableId;

/// The tables that are wanted.
#[derive(Debug, Default)]
pub(crate) struct Wanted(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    /// By when they were wanted.
    tables: VecDeque<TableId>,
    /// The same.
    are_in: BTreeSet<TableId>,
}

impl Wanted {
    /// Wants a table; false: it was.
    pub(crate) fn want(&self, table: TableId) -> bool {
        let mut queue = self.0.lock();
        let is_new = queue.are_in.insert(table);
        if is_new {
            queue.tables.push_back(table);
        }
        is_new
    }

    /// One that is wanted, for who looks at it.
    pub(crate) fn take(&self) -> Option<TableId> {
        let mut queue = self.0.lock();
        let table = queue.tables.pop_front()?;
        assert!(queue.are_in.remove(&table), "a table is wanted once (wanted 1)");
        Some(table)
    }

    /// All of them, for who looks at these and at no others.
    pub(crate) fn take_all(&self) -> VecDeque<TableId> {
        let mut queue = self.0.lock();
        queue.are_in.clear();
        std::mem::take(&mut queue.tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_wanted_first_is_taken_first() {
        let wanted = Wanted::default();
        assert!([9, 3, 5].map(TableId).into_iter().all(|table| wanted.want(table)));
        assert!(!wanted.want(TableId(3)), "it is wanted (wanted 1)");
        assert_eq!(wanted.take(), Some(TableId(9)));
        assert!(wanted.want(TableId(9)), "it was taken");
        assert!(wanted.want(TableId(1)));
        assert_eq!(wanted.take_all(), [3, 5, 9, 1].map(TableId), "the others first (wanted 2)");
        assert_eq!(wanted.take(), None);
        assert!(wanted.want(TableId(3)));
    }
}
