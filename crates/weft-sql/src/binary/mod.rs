//! Values as the bytes of PostgreSQL's binary formats: on the wire, and in COPY ... (FORMAT binary).
//!
//! ```text
//!   42::integer    00 00 00 2a
//!   12.50          ndigits 2, weight 0, sign 0, dscale 2, digits 12 5000
//!   2013-01-01     00 00 12 8d          days since 2000-01-01
//! ```
//!
//! 1. Whatever the bytes, reading gives a value or an error; nothing is read beyond them.
//!
//! Source: PostgreSQL's manual, section 55.7, and the `send` and `recv` functions of its types.

mod bits;
mod fields;
mod numeric;
mod read;
mod write;

pub use fields::{Fields, violation};
pub use numeric::read as read_numeric;
pub use read::read;
pub use write::write;

/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL's binary dates begin.
const EPOCH_DAYS: i64 = 10_957;
/// Microseconds between the same two.
const EPOCH_MICROS: i64 = EPOCH_DAYS * 86_400_000_000;
/// The byte before the text of a jsonb.
const JSONB_VERSION: u8 = 1;
