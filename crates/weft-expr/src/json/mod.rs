//! JSON: validating, the canonical form that jsonb has, and what the operators of both types do.
//!
//! ```text
//!   text written        {"b": 1.50, "a":[1,  true], "b": 2e1}
//!   json keeps it; jsonb {"a": [1, true], "b": 20}       keys by length, then bytes, the last of equal ones
//!
//!   scan ── canonical ── query · change · build · pretty
//! ```
//!
//! Values are slices of text: a part of a canonical text is itself canonical, so reading a member copies its bytes and
//! parses nothing else.
//!
//! 1. Every text that gets here from a jsonb value is canonical; two are the same value when their bytes are equal, but
//!    for zeros behind the point of a number ([`is_equal`] looks through these).
//! 2. No function recurses deeper than [`JSON_DEPTH_MAX`]: deeper texts are refused when they are read.

mod assigned;
mod build;
mod canonical;
mod change;
mod pretty;
mod query;
mod scan;
mod values;

pub use assigned::assigned;
pub use build::{array_text, object_text, quote};
pub use canonical::canonical;
pub use change::{concat, delete_index, delete_key, delete_path, set_path, strip_nulls};
pub use pretty::pretty;
pub use query::{array_length, contains, get_index, get_key, get_path, has_key, is_equal, keys, kind, plain_text};
pub use scan::{JSON_DEPTH_MAX, items, members, unquoted, validate};
pub use values::{json_text, value_text};

#[cfg(test)]
mod tests;
