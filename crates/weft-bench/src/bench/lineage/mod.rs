//! `weft bench lineage`: L-Store's experiments, on lineage tables and their rivals in turns in one run.
//!
//! ```text
//!   command ─▶ settings ─▶ arena: a table by each method, loaded ─▶ experiments (fig7, fig8, table7, fig9, fig10, ...)
//!                            contender: engine, table, waits         turn: threads for a while ─▶ Outcome
//!                            transaction, scan: what threads do      results ─▶ lines, tables, ratios to lineage
//! ```
//!
//! At the level of the kernel: transactions of an engine on tables by method, no SQL. The log is written by all alike;
//! `--durability` says whether commits wait for it. docs/benchmarks/lineage.md says what differs from the paper.
//!
//! Source: L-Store (papers/002), section 6.

mod arena;
mod command;
mod contender;
mod layouts;
mod mixed;
mod results;
mod scalability;
mod scan;
mod settings;
mod sweep;
mod transaction;
mod turn;

pub(super) use command::run;
