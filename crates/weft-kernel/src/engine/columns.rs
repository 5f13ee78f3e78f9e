//! Who looks at the columns of tables: workers that have no job, or the thread of an engine that follows.
//!
//! ```text
//!   planner ── wanted: table 12 ──▶ [ worker: nothing to do ] ──▶ files that are not told of, 16 each time
//!                                                                  some rows of the table, 64 stretches
//! ```
//!
//! 1. It ends soon after the engine is told to stop.
//! 2. It knows less afterwards, or more, and never fails: what it says is an estimate (known 3).

use std::sync::atomic::Ordering;

use weft_env::catch_panic;
use weft_format::{Code, Error, Result};

use crate::txn::Core;

impl Core {
    /// Looks at one table that somebody wanted to know more of, for a bounded time; false: nobody did.
    pub(super) fn look_at_columns(&self) -> bool {
        let Some(id) = self.services.wanted.take() else { return false };
        let Some(table) = self.catalog.table_by_id(id) else { return true };
        let mut goes_on = || -> Result<()> {
            let is_over = self.stop.load(Ordering::Acquire) || self.poison.cause().is_some();
            if is_over { Err(Error::new(Code::ShuttingDown, "the engine ends")) } else { Ok(()) }
        };
        let has_more = catch_panic(|| table.learn(&mut goes_on));
        if let Ok(Ok(true)) = has_more {
            self.services.want_columns(id);
        }
        true
    }
}
