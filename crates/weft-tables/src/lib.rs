//! How tables are kept: one module per method of `CREATE TABLE ... USING`, behind the kernel's [`Method`] contract.
//!
//! ```text
//!   column/       rows that become columns (the default)
//!   lineage/      rows with a lineage: base pages, tails of updates, history
//!   row/          rows on the pages of a B+tree, changed where they lie
//!   given_up      a table whose commits could not be installed, whatever its method
//!   loading/      rows of a bulk load on their way into files, whatever the method
//!   waits         waits for locks, counted
//!   testing/      a plain model to mirror methods against, and the suite every method passes
//! ```
//!
//! Siblings never import each other. DESIGN section 5.
//!
//! [`Method`]: weft_kernel::method::Method

pub mod column;
mod given_up;
pub mod lineage;
mod loading;
pub mod row;
mod taking;
pub mod testing;
pub mod waits;

pub use column::{ColumnMethod, column_method};
pub use lineage::{LineageMethod, lineage_method};
pub use row::{RowMethod, row_method};
