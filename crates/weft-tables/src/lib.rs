//! How tables are kept: one module per method of `CREATE TABLE ... USING`, behind the kernel's [`Method`] contract.
//!
//! ```text
//!   column/       rows that become columns (the default)
//!   testing/      a plain model to mirror methods against, and the suite every method passes
//! ```
//!
//! Siblings never import each other. DESIGN section 5.
//!
//! [`Method`]: weft_kernel::method::Method

pub mod column;
pub mod testing;

pub use column::{ColumnMethod, column_method};
