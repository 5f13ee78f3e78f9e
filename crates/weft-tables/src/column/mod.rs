//! Method `column`: rows that become columns.
//!
//! ```text
//!   writes → active row table → frozen row tables → column tables
//!            (skip list)        (await conversion)  (immutable files, marks beside them)
//!
//!   store      layout, locks, switch, freeze             the invariants' home
//!    ├─ layout     one immutable list of parts           ├─ row_table · chunk · version_key    memory
//!    │                                                   └─ part · marks                       files
//!    ├─ write      point reads, install                  ├─ bulk       files from Arrow batches
//!    ├─ replay     redo                                  └─ scan/      partitions of Arrow batches
//!    └─ maintain   jobs: convert · compact (pick) ─▶ publish (payload: what the manifest keeps) · check (alive)
//! ```
//!
//! A scan is a concatenation of parts, each read through its marks as of the snapshot; it never merges.
//!
//! Source: DESIGN section 5, whose invariants 1 to 9 `store.rs` places; SynchroStore (papers/000) sections 3.1 and 3.2.

mod alive;
mod bulk;
mod check;
mod chunk;
mod compact;
mod convert;
mod job_steps;
mod key_probe;
mod key_rows;
mod layout;
mod maintain;
mod marks;
mod method;
mod options;
mod output;
mod part;
pub mod payload;
mod pick;
mod publish;
mod replay;
mod row_table;
mod scan;
mod store;
#[cfg(test)]
mod tests;
mod version_key;
mod write;

pub use method::{ColumnMethod, column_method};
pub use options::Options;
pub use weft_format::row_arrays::rows_to_batch;
