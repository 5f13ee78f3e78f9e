//! Values on the wire, as text and as bytes.
//!
//! ```text
//!   42::integer    text "42"      binary 00 00 00 2a
//! ```
//!
//! The bytes are those of [`weft_sql::binary`].

mod read;
mod write;

pub(crate) use read::read_parameter;
pub(crate) use write::{Format, write_value};
