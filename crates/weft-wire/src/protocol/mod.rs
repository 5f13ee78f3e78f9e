//! The messages of PostgreSQL's protocol, version 3: bytes in, values out, and back.
//!
//! ```text
//!   'Q' 00 00 00 0d "SELECT 1" 00      tag, length (itself included, the tag not), body
//!   decode(b'Q', body)                 Frontend::Query("SELECT 1")
//!   out.complete("SELECT 1")           'C' 00 00 00 0d "SELECT 1" 00
//! ```
//!
//! 1. Whatever the bytes, a decoder answers with a message or with 08P01 (22021 for text that is not UTF-8); it reads
//!    nothing beyond its body and allocates nothing that the body does not fill.
//! 2. A body is read to its end: bytes that are left over are an error.
//!
//! Why these are not a library's: docs/decisions. Source: PostgreSQL's manual, chapter 55.

mod backend;
mod frontend;
mod startup;

pub use backend::{Described, Out, TransactionStatus, is_fatal, text};
pub use frontend::is_known;
pub use frontend::{Frontend, Target, decode};
pub use startup::{CANCEL, SSL};
pub use startup::{Startup, decode_startup};
pub use weft_sql::binary::Fields;
pub use weft_sql::binary::violation;

#[cfg(test)]
mod tests;
