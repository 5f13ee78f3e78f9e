//! Values on the wire, as text and as bytes.
//!
//! ```text
//!   42::integer    text "42"         binary 00 00 00 2a
//!   12.50          text "12.50"      binary ndigits 2, weight 0, sign 0, dscale 2, digits 12 5000
//!   2013-01-01     text "2013-01-01" binary 00 00 12 8c    days since 2000-01-01
//! ```
//!
//! Source: PostgreSQL's manual, section 55.7, and the `send` and `recv` functions of its types.

mod numeric;
mod read;
mod write;

pub(crate) use read::read_parameter;
pub(crate) use write::{Format, write_value};

/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL's binary dates begin.
const EPOCH_DAYS: i64 = 10_957;
/// Microseconds between the same two.
const EPOCH_MICROS: i64 = EPOCH_DAYS * 86_400_000_000;
