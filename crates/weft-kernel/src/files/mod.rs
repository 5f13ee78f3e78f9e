//! The data files of a database's directory: how they are called, and which of them stay while somebody copies them.
//!
//! ```text
//!   t12-345.col     file 345 of table 12
//! ```

mod name;
mod pins;
mod removals;

pub use name::file_name;

pub(crate) use name::parse_file_name;
pub(crate) use pins::{FilePin, FilePins};
pub(crate) use removals::Removals;
