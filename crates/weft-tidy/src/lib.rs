//! The house rules that a test can check; nothing ships from here.
//!
//! ```text
//!   source    the files of the repository, and Rust text without comments, strings and test modules
//!   layers    crates and the kernel's modules use only what lies below them
//!   imports   which file uses what another one defines, re-exports followed
//!   circles   files that import each other
//!   assertions    how many the kernel and the methods have
//!   sizes     lines, functions, files: limits with a list of exceptions that may only shrink
//!   words     names, words and paths that do not belong here
//!   files     every .rs file is part of a crate and begins by saying what it is
//!   differences   the page of differences from PostgreSQL is what the tests of them say
//!   markdown  one title, links that lead somewhere
//! ```
//!
//! Each rule is a function from files to complaints, one line each: where, and what to do instead. Its unit tests show
//! it bad files; `tests/tidy.rs` shows it the repository.

pub mod assertions;
pub mod circles;
pub mod differences;
pub mod files;
pub mod imports;
pub mod layers;
pub mod markdown;
pub mod sizes;
pub mod source;
pub mod words;
