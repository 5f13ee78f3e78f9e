//! The two rivals of L-Store's experiments, as table methods of the same contract: for benchmarks, in no database.
//!
//! ```text
//!   iuh    pages changed in place under latches              old values ─▶ one table of history ◀─ snapshots
//!   dbm    a main store that is only read, a delta per range  delta full ─▶ drain · consolidate · drain ─▶ main store
//!
//!   TableContext ─▶ Rival (method) ─▶ RivalTable (the contract, once) ─▶ Rows: iuh or dbm (where versions are)
//! ```
//!
//! | module | what |
//! |---|---|
//! | `method` | what an engine is opened with, and the waits that it counts |
//! | `table` | the duties of a table, the same for both; `rows` is what differs |
//! | `index`, `values` | keys to row numbers; columns of values |
//! | `saved` | what a checkpoint has of a table |
//! | `scan` | partitions of Arrow batches |
//! | `iuh/` | In-place Update + History |
//! | `dbm/` | Delta + Blocking Merge |
//!
//! 1. Rows are read in memory alone. Only a checkpoint writes them to a file, for the next opening.
//! 2. A row has a number for good; its key has that number, alive or not.
//! 3. The kernel installs what is committed and durable, one commit of a key at a time: nothing is ever undone here.
//! 4. No version goes that a registered snapshot sees.
//!
//! What the paper grants them they have: columns, one index of keys for point lookups, the way from a row to its older
//! or newer versions in the row itself, history and deltas of the updated columns alone, a delta per range of rows.
//!
//! Source: L-Store (papers/002), section 6.1.

mod dbm;
mod index;
mod iuh;
mod method;
mod rows;
mod saved;
mod scan;
mod table;
#[cfg(test)]
mod tests;
mod values;

pub use dbm::{DbmOptions, Gate};
pub use iuh::IuhOptions;
pub use method::{Rival, dbm, iuh};
