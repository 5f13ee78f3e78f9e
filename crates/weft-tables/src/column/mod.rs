//! Method `column`: rows that become columns.
//!
//! ```text
//!   writes → active row table → frozen row tables → incremental → transition (buckets) → baseline
//!            (skip list)        (await conversion)  column tables: immutable files, marks beside them
//!
//!   store      layout, locks, switch, freeze              the invariants' home
//!    ├─ layout     row tables, and columns (borders)      ├─ row_table · chunk · runs · version_key   memory
//!    │                                                    └─ part · marks                       files
//!    ├─ read · ordered   point reads, ranges of keys      ├─ bulk       files from Arrow batches
//!    ├─ write      what is committed comes in
//!    ├─ reconcile  what blind writes replace
//!    ├─ replace    versions ended in bulk                 └─ scan/      partitions of Arrow batches
//!    ├─ summaries · together   what the values of all files are like
//!    ├─ derived   rows of some columns of another table, fed by it: a column index
//!    └─ maintain   jobs: convert · pick/ ─▶ claim ─▶ merge ─▶ publish (payload: what the manifest keeps)
//!                  check (alive) · status
//! ```
//!
//! A scan is a concatenation of parts, each read through its marks as of the snapshot; it never merges.
//!
//! Source: DESIGN section 5, whose invariants 1 to 9 `store.rs` places; SynchroStore (papers/000) sections 3.1 and 3.2.

mod alive;
mod borders;
mod bulk;
mod check;
mod chunk;
mod claim;
mod columns;
mod convert;
mod derived;
mod encode_runs;
pub mod faults;
mod file_writer;
mod follow;
pub mod job_kinds;
mod key_probe;
mod layout;
mod maintain;
mod marks;
mod merge;
mod merge_order;
mod method;
mod options;
mod ordered;
mod output;
mod part;
mod paths;
pub mod payload;
mod pick;
mod publish;
mod read;
mod reconcile;
mod replace;
mod row_table;
mod runs;
mod scan;
mod seen;
mod status;
pub mod steps;
mod store;
mod summaries;
#[cfg(test)]
mod tests;
mod together;
mod unseen;
mod version_key;
mod write;

pub use method::{ColumnMethod, column_method};
pub use options::Options;
pub use weft_format::row_arrays::rows_to_batch;
