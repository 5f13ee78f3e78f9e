//! The demo and the benchmarks: programs over the library that show and measure what it promises.
//!
//! ```text
//!   weft (the program) ──▶ demo    a year of flights: transactions and queries on the same tables, then a proof
//!                     └──▶ bench   compare · transactions · xbench · lineage
//!                              │
//!                 latency (histograms) · directory (made, measured, removed)
//!                              │
//!                          subcommand   the words that each is given, the failure that it may end with, a grid
//! ```
//!
//! Both use [`weft`] as any program does that embeds it, but for `bench lineage`, which measures table methods under
//! the kernel alone. What they have in common with the other subcommands of the
//! program stands in [`subcommand`]; the program uses that and the two `run`s, nothing else.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "measures real files, threads and time, not simulated ones"
)]

pub mod bench;
pub mod demo;
mod directory;
mod latency;
pub mod subcommand;
