//! The table method `row`: a B+tree of pages that are changed where they lie.
//!
//! ```text
//!   root 0        "" ─▶ 1     "m" ─▶ 2               nodes, each on a page of the table's file
//!   leaf 1        anna @ 12 · berta @ 47 · carl @ 50, dead      the newest version of each row, in key order
//!   undo          berta: [30, 47) · carl: [8, 50)     what older snapshots see, in memory
//!   log           commit 47 · #812 split of 1 · commit 50 · #815 image of 1
//! ```
//!
//! | module | what |
//! |---|---|
//! | `node`, `bytes` | a node: cells in key order; on pages, and in the log |
//! | `pool` | nodes in memory, within the budget of the cache |
//! | `store`, `tree` | a table; from the root to a leaf |
//! | `reshape` | splits and merges, each one record |
//! | `write`, `undo`, `read`, `ordered`, `scan` | commits come in, what rows were, rows by key and by range |
//! | `bulk`, `loads`, `sweep` | rows that come before their commit is known, and those whose commit never came |
//! | `maintain`, `space` | changed pages are written, free ones used again |
//! | `redo`, `check` | what the log says of pages at an opening; tests |
//! | `method`, `options`, `job_kinds`, `steps`, `faults`, `status` | the door, and what is told of it |
//!
//! 1. A page has committed rows, with their timestamps, and rows of loads, which are there when a commit has attached
//!    theirs: there is nothing to undo after a crash.
//! 2. Pages, the changes of the tree and the images of pages that are being written make the tree; the commits beyond
//!    the cut make the rows. The first come before the second.
//!
//! Source: Graefe, "Modern B-Tree Techniques", 2011; docs/decisions/2026-11-28-row-tables.md.

mod bulk;
mod bytes;
mod check;
pub mod faults;
pub mod job_kinds;
mod loads;
mod maintain;
mod method;
mod node;
mod options;
mod ordered;
mod pool;
mod read;
mod redo;
mod reshape;
mod scan;
mod space;
mod status;
pub mod steps;
mod store;
mod sweep;
mod tree;
mod undo;
mod write;

pub use method::{RowMethod, row_method};

#[cfg(test)]
mod tests;
