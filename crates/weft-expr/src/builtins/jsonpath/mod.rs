//! jsonpath: what is found in a jsonb by a path, and whether a condition on it holds (PostgreSQL 9.16.2).
//!
//! ```text
//!   '$.track[*] ? (@.hr > 130).time'     a path, as its canonical text
//!
//!   tokens ── parse ──▶ path     [Root, Key track, AnyArray, Filter(@.hr > 130), Key time], kept by kept
//!   walk ── predicates, sums, methods      each step is given an item and hands what it finds to the next step
//!   print    the canonical text of a path
//!   item     an item: a part of the document (a slice of its text), or what a step made
//!   numbers, moments    arithmetic of any number of digits; dates and times
//!   sql      JSON_VALUE, JSON_TABLE and their kin
//!   layout   where PostgreSQL's bytes of a jsonb have an object: the id that keyvalue() gives
//! ```
//!
//! 1. In lax mode arrays are unwrapped where a step needs its elements, and what is not there is no error.
//! 2. Conditions are true, false or unknown; an error within one makes it unknown.
//! 3. A walk looks at so many bytes and goes so deep (`WORK_MAX` and `DEPTH_MAX` of walk), whatever the path.
//!
//! Source: SQL:2016, part 2, section 9.39; what that leaves open is as PostgreSQL 15 answers.

mod calls;
mod errors;
mod item;
mod kept;
mod layout;
mod methods;
mod moments;
mod numbers;
mod parse;
mod path;
mod predicates;
mod print;
mod sql;
mod sums;
mod tokens;
mod walk;

pub(super) use calls::ROWS;
pub(crate) use print::canonical;
pub(super) use sql::ROWS as SQL_ROWS;
pub use sql::{JSON_EXISTS, JSON_QUERY, JSON_TABLE, JSON_VALUE};

#[cfg(test)]
mod tests;
