//! The table that all workloads share.
//!
//! ```text
//!   keys   0 .. rows          loaded, updated, upserted
//!          rows .. next_id    inserted by earlier workloads          next_id ..    fresh
//! ```

use std::path::PathBuf;

use weft::Database;

/// The table `t`, alone in its database.
pub(super) struct Table {
    pub(super) database: Database,
    pub(super) dir: PathBuf,
    /// Rows as loaded.
    pub(super) rows: u64,
    /// The lowest key that no workload has used.
    next_id: u64,
}

impl Table {
    /// The table of a database that has no rows yet.
    pub(super) fn new(database: Database, dir: PathBuf, rows: u64) -> Table {
        Table { database, dir, rows, next_id: rows }
    }

    /// Keys that no row has.
    pub(super) fn fresh_ids(&mut self, count: u64) -> std::ops::Range<u64> {
        let first = self.next_id;
        self.next_id += count;
        first..self.next_id
    }
}
