//! Encoded runs of a chunk of a row table: with `incremental = 'columns'`, new rows become columns in the statement
//! that commits them.
//!
//! ```text
//!   slots      0 ......... 3   4 .. 5   6         runs of 4, 2 and 1 rows, each column one encoded block
//!   + 1 row    0 ............................ 7   runs at the end that are not longer than what comes behind them are
//!                                                 decoded and encoded again with it: 1, then 2, then 4
//! ```
//!
//! A row is encoded again once per doubling of its run: eleven times until its chunk is full. Scans read the blocks as
//! those of column tables; when rows came in and died is asked of the chunk, whose rows serve point reads, conversion
//! and redo.
//!
//! 1. Runs cover the first slots of their chunk, without a gap; slots behind them are read as rows.
//! 2. A run is immutable; the list is replaced as a whole.
//! 3. A run has all columns that its rows have.
//!
//! Concurrency: one writer (it holds the table's mark lock). Crash: nothing here survives; rows that redo brings back
//! are encoded with the next commit.
//!
//! Source: SynchroStore (papers/000) section 1.2, "incremental columnar": each insertion decompresses, changes and
//! compresses the newest structure. Its cost per row would grow with that structure; here it is bounded by merging runs
//! of equal size, so that the comparison is of formats (docs/decisions/2026-11-22-incremental-columns.md).

use std::sync::Arc;

use weft_env::sync::RwLock;
use weft_format::Block;

/// Some slots of a chunk as columns.
pub(crate) struct Run {
    /// The first slot.
    pub(crate) start: usize,
    /// How many.
    pub(crate) len: usize,
    /// By ordinal; columns that are younger than the run are missing.
    pub(crate) columns: Vec<Block>,
}

/// The runs of a chunk.
#[derive(Default)]
pub(crate) struct Runs(RwLock<Arc<[Arc<Run>]>>);

impl Run {
    /// The slot behind it.
    pub(super) fn end(&self) -> usize {
        self.start + self.len
    }

    /// What its blocks take.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.columns.iter().map(|block| block.memory_bytes() as u64).sum()
    }
}

impl Runs {
    /// The runs now, by slot.
    pub(crate) fn get(&self) -> Arc<[Arc<Run>]> {
        self.0.read().clone()
    }

    /// Other runs from now on (runs 2).
    pub(super) fn replace(&self, runs: Vec<Arc<Run>>) {
        debug_assert!(runs.first().is_none_or(|run| run.start == 0), "runs begin with the first slot (runs 1)");
        debug_assert!(runs.is_sorted_by(|a, b| a.end() == b.start), "there is no gap between runs (runs 1)");
        *self.0.write() = runs.into();
    }
}
