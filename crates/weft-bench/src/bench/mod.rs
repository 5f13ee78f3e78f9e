//! `weft bench`: the workloads of docs/benchmarks, one JSON line per result.
//!
//! ```text
//!   weft bench --rows 1000000 --only load,sum     command ──▶ compare        beside DuckDB and SQLite
//!   weft bench transactions --seconds 1                   ──▶ transactions   beside PostgreSQL and SQLite
//!   weft bench xbench --only fig6                         ──▶ xbench         SynchroStore's experiments, beside DuckDB
//!   weft bench lineage --only fig7                        ──▶ lineage        L-Store's experiments, and its rivals
//!   weft bench documents --shapes sensors                 ──▶ documents      AMAX's experiments, beside DuckDB
//!                                                               │
//!                  data (rows by formula) · numbers (randomness) · median · line (what is printed)
//! ```
//!
//! Each suite but the last has a script of its name in `bench/` that runs the same on the other systems. Everything is
//! durable unless a switch says otherwise; `lineage` does not wait for the disk unless one does.

mod command;
mod compare;
mod data;
mod documents;
mod line;
mod lineage;
mod median;
mod numbers;
mod transactions;
mod xbench;

pub use command::run;
