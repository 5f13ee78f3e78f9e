//! A column table: one immutable file of rows ordered by (key bytes, insert timestamp), at most a few MB.
//!
//! ```text
//!   ┌────────┬──────────────────────┬──────────────────────┬───┬───────────────────┬────────┬─────────┐
//!   │ header │ column 0: block 0, 1 │ column 1: block 0, 1 │ … │ insert timestamps │ footer │ trailer │
//!   └────────┴──────────────────────┴──────────────────────┴───┴───────────────────┴────────┴─────────┘
//!    64 bytes  8192 rows per block                                                  keys, filters, statistics, places
//! ```
//!
//! [`ColumnTableBuilder`] makes the bytes, [`ColumnTable`] reads them. The specification, with its numbered invariants,
//! is `docs/format/column-table.md`; every constant is in [`layout`].

mod builder;
mod cache;
mod column_table;
#[cfg(test)]
mod document_tests;
mod documents;
mod find;
mod footer;
mod header;
pub mod layout;
#[cfg(test)]
mod tests;
mod verify;

pub use builder::{ColumnTableBuilder, ColumnTableImage, ColumnTableOptions, InsertTimestamps};
pub use cache::{BlockCache, BlockKey, NoCache};
pub use column_table::ColumnTable;
