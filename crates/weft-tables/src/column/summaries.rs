//! What a table tells of the values in its files, and when it takes files in.
//!
//! ```text
//!   a query is planned      what is known already; no file is read
//!   a job ends              when queries are planned with the table: some of the files that wait; for the others
//!                           somebody comes by
//!   somebody comes by       some files each time, until none waits: who has planned a query has sent for him
//!   ANALYZE                 all files, anew
//! ```

use std::sync::Arc;

use weft_contract::Summaries;
use weft_format::{ColumnSummary, Result};

use super::columns::Columns;
use super::store::Store;

impl Store {
    /// What a job does at its end: a bounded part, for somebody may wait for the next job. Nothing of a table that
    /// nobody plans with.
    pub(crate) fn renew_summaries(&self) {
        if !self.together.is_asked_for() {
            return;
        }
        self.catch_up();
        if self.is_behind() && !self.is_derived {
            self.context.services.want_columns(self.context.def.id);
        }
    }

    fn columns_now(&self) -> Arc<Columns> {
        self.layout().columns.clone()
    }
}

impl Summaries for Store {
    fn summaries(&self) -> Arc<Vec<ColumnSummary>> {
        let shape = self.shape();
        self.together.columns(&shape.schema, &shape.codec)
    }

    fn alive_rows(&self) -> u64 {
        self.layout().alive_in_files()
    }

    fn is_behind(&self) -> bool {
        self.together.is_behind()
    }

    fn catch_up(&self) {
        self.together.catch_up(&|| self.columns_now());
    }

    fn renew(&self, goes_on: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.together.renew(&|| self.columns_now(), goes_on)
    }
}
