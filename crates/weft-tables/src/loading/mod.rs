//! Bulk loads, whatever the method: rows that arrive as Arrow batches, in key order, into files by several threads.
//!
//! | module | what |
//! |---|---|
//! | `rows` | the rows, put in order, and their keys |
//! | `parallel` | files that are written side by side |
//! | `duplicate` | the error of a key that is there already |

mod duplicate;
mod parallel;
mod rows;

pub(crate) use duplicate::{ALREADY, TWICE, duplicate_key};
pub(crate) use parallel::in_parallel;
pub(crate) use rows::Rows;
