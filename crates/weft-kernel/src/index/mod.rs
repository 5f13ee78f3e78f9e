//! Secondary indexes: entries (value, key) → timestamp in memory and in sorted runs on disk, by ranges of values.
//!
//! ```text
//!   add ──▶ active memory ──freeze──▶ frozen memories ──flush──▶ runs of the ranges ──merge──▶ fewer, larger
//!           sorted pieces, and a tail                           blocks, filter segments     without the outdated
//!
//!   scan, lookup:  cursor = memories + the range's runs, merged;   a lookup asks each run's filter first
//!   build:         sorted entries → durable files → attach at the commit that names them
//! ```
//!
//! | module | what |
//! |---|---|
//! | `entry`, `number`, `batch` | an entry's bytes and order; numbers in files; entries in one piece of memory |
//! | `block`, `filter`, `footer` | the pieces of a run file (docs/format/index-run.md) |
//! | `run`, `run_writer`, `run_scan` | an open run; writing one; walking one |
//! | `memory`, `walk` | sorted pieces in memory; several as one |
//! | `merged`, `cursor` | several sources as one; a scan of the index |
//! | `layout`, `payload` | which ranges read which runs; how the manifest says it |
//! | `pick` | which runs to merge, where to split: pure |
//! | `relation`, `scan_rows` | the index as the catalog and the transactions know it; its table's rows |
//! | `indexed` | the table as its indexes know it |
//! | `parts` | what an index orders rows by: columns and expressions |
//! | `store`, `check`, `check_rows` | the index: open, add, freeze, read; statistics and tests of everything |
//! | `columns`, `columns_scan`, `columns_check` | another kind: some columns of each row, scanned for the table |
//! | `jobs`, `job_steps`, `publish`, `build` | jobs and their last step, the switch; bulk builds |
//!
//! An entry says that some version of the row had, has or will have this value; whoever reads looks at the row. So an
//! index needs no versions: adding is idempotent, nothing is taken back, and what nobody needs goes when runs are
//! merged.
//!
//! Source: SG-ColBase (Zhou, Liu; 2022), sections 3 and 5. We flush all ranges of a memory into one run that
//! several ranges read, each its stretch, instead of one file per partition: one fsync, and a split moves no data.

mod batch;
mod block;
mod build;
mod check;
mod check_rows;
mod columns;
mod columns_check;
mod columns_scan;
mod cursor;
mod entry;
mod filter;
mod follow;
mod footer;
mod indexed;
mod job_steps;
mod jobs;
mod layout;
mod memory;
mod merged;
mod number;
mod options;
mod parts;
mod payload;
mod pick;
mod publish;
mod relation;
mod run;
mod run_scan;
mod run_writer;
mod scan_rows;
mod store;
mod walk;

pub use build::{BuiltFiles, IndexBuild};
pub use check::IndexStatistics;
pub use columns::{COLUMNS_METHOD, ColumnIndex, NewColumnIndex, STORED_BY};
pub use cursor::Cursor;
pub use entry::Entry;
pub use jobs::JOB_KINDS;
pub use options::{IndexContext, IndexOptions, Keep, KeepAll};
pub use parts::IndexPart;
pub use payload::fold_payloads;
pub use relation::{INDEX_METHOD, Index, NewIndex};
pub use store::IndexStore;
pub use weft_contract::Direction;

pub(crate) use columns::columns_table_of;
pub(crate) use indexed::{Feeder, Indexed};
pub(crate) use relation::{attachment, fold, table_of};
pub(crate) use run::verify_run;
pub(crate) use scan_rows::for_each_row;

#[cfg(test)]
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests run on real threads and real files")]
mod tests;
