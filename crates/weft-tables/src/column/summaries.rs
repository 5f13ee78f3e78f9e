//! What a table tells of the values in its files, and when it takes files in.
//!
//! ```text
//!   a query is planned    up to 16 files that wait        a job ends    all that wait; all files, when a fifth is gone
//!   ANALYZE               all files
//! ```

use std::sync::Arc;

use weft_contract::Summaries;
use weft_format::ColumnSummary;

use super::columns::Columns;
use super::store::Store;
use super::together::ASKED_PARTS_MAX;

impl Store {
    /// What a job does at its end.
    pub(crate) fn renew_summaries(&self) {
        self.together.take_in(usize::MAX);
        self.together.take_all(&|| self.columns_now(), false);
    }

    fn columns_now(&self) -> Arc<Columns> {
        self.layout().columns.clone()
    }
}

impl Summaries for Store {
    fn summaries(&self) -> Arc<Vec<ColumnSummary>> {
        self.together.take_in(ASKED_PARTS_MAX);
        let (columns, is_stale) = self.together.columns();
        if !is_stale {
            return columns;
        }
        self.together.take_all(&|| self.columns_now(), false);
        self.together.columns().0
    }

    fn alive_rows(&self) -> u64 {
        self.layout().alive_in_files()
    }

    fn renew(&self) {
        self.together.take_all(&|| self.columns_now(), true);
    }
}
