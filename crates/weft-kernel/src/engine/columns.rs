//! Who looks at the columns of tables: workers that have no job, or the thread of an engine that follows.
//!
//! ```text
//!   planner ── wanted: table 12 ──▶ [ worker: nothing to do ] ──▶ files that are not told of, 16 each time
//!                                                                  some rows of the table, 64 stretches
//! ```
//!
//! 1. It ends soon after the engine is told to stop.
//! 2. After a panic nobody looks at that table again, but ANALYZE: it would panic each time that a query is planned.
//! 3. Who runs all jobs learns of the tables that were wanted when he began, and of no others: where queries are
//!    planned all the time some table is always wanted.
//! 4. The thread of an engine that follows ends with the engine, not with what follows: as long as queries run in it
//!    they are planned by what it sees. It holds the engine's parts and not the engine, so nobody waits for himself.
//! 5. It knows less afterwards, or more, and never fails: what it says is an estimate (known 3).

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use weft_env::catch_panic;
use weft_format::{Code, Error, Result, TableId};

use crate::txn::Core;

impl Core {
    /// Looks at one table that somebody wanted to know more of, for a bounded time; false: nobody did.
    pub(super) fn look_at_columns(&self) -> bool {
        let Some(id) = self.services.wanted.take() else { return false };
        if self.learn_of(id) {
            self.services.want_columns(id);
        }
        true
    }

    /// The same of tables that were wanted; false: there is none left.
    pub(super) fn look_at_these(&self, tables: &mut VecDeque<TableId>) -> bool {
        let Some(id) = tables.pop_front() else { return false };
        if self.learn_of(id) {
            tables.push_back(id);
        }
        true
    }

    /// Whether there is more to learn.
    fn learn_of(&self, id: TableId) -> bool {
        let Some(table) = self.catalog.table_by_id(id) else { return false };
        let mut goes_on = || -> Result<()> {
            let is_over = self.stop.load(Ordering::Acquire) || self.poison.cause().is_some();
            if is_over { Err(Error::new(Code::ShuttingDown, "the engine ends")) } else { Ok(()) }
        };
        let has_more = catch_panic(|| table.learn(&mut goes_on));
        if has_more.is_err() {
            table.learn_no_more();
        }
        matches!(has_more, Ok(Ok(true)))
    }
}
