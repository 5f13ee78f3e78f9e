//! Background jobs as they run: who asks the tables for offers and the [scheduler](crate::sched) for a choice, and the
//! look ten times a second.
//!
//! ```text
//!   catalog ─ tables, indexes ── offers ─▶ runner ── decide, pick ─▶ Table::run      in the caller's thread
//!   monitor ── debts, what really runs ──────┘
//! ```
//!
//! What holds stands with the scheduler, whose rules these two follow (sched 1 to 4).

mod monitor;
mod runner;

pub(crate) use monitor::{LOOK, look};
pub(crate) use runner::{Failed, Ran, Runner};
