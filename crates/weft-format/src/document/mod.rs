//! Documents (jsonb) as columns, without a declared schema.
//!
//! ```text
//!   texts ──▶ infer ──▶ plan ──▶ shred ──▶ encode ──▶ pieces: front · levels · values
//!    text       schema   levels    decimal             front
//!                                                        │
//!             assemble: the same texts  ◀──  cursor  ◀───┘──▶  field, lists, elements: the values of one path
//!                                                        └──▶  prune: whether any document may satisfy a condition
//! ```
//!
//! A stretch of at most 8192 documents becomes one stream of levels for each path that they have, and a column of
//! values for each kind of value at the path: numbers as integers with a scale, strings, and texts for what is not
//! taken apart. Reading gives every document back byte for byte, or the values of one path from its own streams alone.
//!
//! 1. What is read is what was written, for any text: those that are not canonical jsonb are kept as they are.
//! 2. Missing, null, `{}` and `[]` are told apart; so are `1.5` and `1.50`.
//! 3. Damaged pieces give an error, or other values, within the memory of the real ones. Checksums find them before.
//!
//! Source: Alkowaileet and Carey, "Columnar Formats for Schemaless LSM-based Document Stores" (VLDB 2022), sections 2
//! to 4; [`schema`], `levels` and `front` say what was changed and why.

mod arrays;
mod assemble;
mod bulk;
mod check;
mod cursor;
mod decimal;
mod encode;
mod faults;
mod field;
mod follow;
mod front;
mod infer;
mod levels;
mod limit;
mod lists;
mod path;
mod paths;
mod plan;
mod prune;
mod read;
pub mod schema;
pub mod shapes;
mod shred;
mod sources;
#[cfg(test)]
mod tests;
mod text;
mod values;

pub(crate) use check::check;
pub(crate) use cursor::Documents;
pub(crate) use encode::encode_documents;
pub use front::Bounds;
#[cfg(test)]
pub(crate) use front::ON_DISK;
pub(crate) use front::attach_front;
pub use levels::Tag;
pub(crate) use limit::COLUMNS_MAX;
pub use path::{FieldPath, FieldStep};
pub use paths::{PathKind, PathRow, PathSummary};
pub(crate) use prune::{casts_all, may_match};
pub use read::PathStatistics;
pub(crate) use read::{assemble, assemble_row, statistics};
pub use schema::DocumentSchema;
pub use values::FieldValues;
