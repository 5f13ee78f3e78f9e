//! The table of built-in functions: name, types, volatility, number and what computes them, in one place for both
//! engines, for indexes, defaults and checks, and for `pg_proc`.
//!
//! ```text
//!   oid 2049   to_char(timestamp, text) → text     stable, strict    formatting::moments
//!   oid 1770   to_char(timestamptz, text) → text   stable, strict    formatting::moments
//!   find("to_char", [date, untyped])               1770: of date → timestamp and date → timestamptz the latter is
//!                                                  the preferred type of its category (resolve 3)
//! ```
//!
//! 1. A function that is found has a type for every argument; who calls it casts them first ([`cast`](fn@crate::cast)).
//! 2. NULL arguments make the result of a strict function NULL, without a call.
//! 3. What stands here gives what PostgreSQL 15 gives; where it cannot, `docs/functions.md` says why.
//!
//! Source: PostgreSQL's documentation, chapters 9 and 10.3.

mod arrays;
mod bits;
mod builtin;
mod enums;
mod formatting;
mod internal;
pub(crate) mod jsonpath;
mod jsons;
mod limits;
mod math;
mod moments;
mod parts;
mod patterns;
mod resolve;
mod series;
mod strings;
mod system;
mod table;

pub use bits::FLIPPED;
pub(crate) use bits::{BITS_LENGTH, BITS_SUBSTRING};
pub use builtin::{Arg, Builtin, BuiltinRef, Call, Gives, Volatility};
pub use jsonpath::{JSON_EXISTS, JSON_QUERY, JSON_TABLE, JSON_VALUE};
pub use jsons::{
    JSON_FIELD, JSON_ITEM, JSON_LIST, JSON_OBJECT, JSON_PAIR, JSON_ROW, JSONB_OBJECT, JSONB_PAIR, ROW_TEXT,
};
pub use resolve::{category_of, find, is_implicit_cast, is_same};
pub use table::{all, by_oid, gives_rows, is_known, names, volatility};

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
