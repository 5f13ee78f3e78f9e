//! `weft bench`: what one client does on one table, measured workload by workload.
//!
//! ```text
//!   $ weft bench --rows 1000000 --only load,sum
//!   {"name": "load", "value": 2.113, "unit": "s"}
//!   {"name": "sum", "value": 0.871, "unit": "ms"}
//!
//!   command ── load ─ sum ─ point ─ insert ─ ... ──▶ work, each on what the earlier ones left in the table
//!                                                     └─ table: the database, its rows, keys that no row has
//! ```
//!
//! The table: 1 M rows of 31 columns (bigint key, 15 integers, 15 short strings), computed by formula so that other
//! systems get the same. Everything is durable. `bench/compare.py` runs this beside DuckDB and SQLite.

mod command;
mod table;
mod work;

pub(super) use command::run;
