//! `weft bench transactions`: what many clients write and look up at once, one JSON line per result.
//!
//! ```text
//!   $ weft bench transactions --seconds 1 --only commits
//!   {"name": "commits_1", "value": 6903.0, "unit": "tx/s"}
//!   {"name": "commits_16", "value": 31250.0, "unit": "tx/s"}
//!
//!   people     SG-ColBase's three: 100-row inserts, lookups by an indexed column, bulk rows into an indexed table
//!   micro      L-Store's: 8 reads and 2 writes per transaction, with and without a scan beside them
//!   commits    one row per commit: group commit, SERIALIZABLE, different columns of the same rows
//!   orders     TPC-C-like new-order and payment
//!   points     single rows by their key: found, ranges of 100, updated, inserted, deleted
//! ```
//!
//! Every workload ends with the sums and counts that its committed transactions leave; a wrong one is an error. Tables
//! and rows are those of `schema.sql`, from which `bench/transactions.py` makes the same in PostgreSQL and SQLite.
//!
//! Modules: [`command`] reads the command line, [`suite`] is what the workloads share, [`clients`] runs statements in
//! threads for a time; the others are the workloads.

mod clients;
mod command;
mod commits;
mod micro;
mod orders;
mod people;
mod points;
mod suite;

pub(super) use command::run;
