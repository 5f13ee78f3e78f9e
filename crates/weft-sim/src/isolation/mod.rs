//! Clients at every isolation level, whose history the [checker](crate::checker) judges.
//!
//! ```text
//!   plan     seed 7, serializable, 4 clients, crashes ──▶ lives: open ─ clients ─ crash, or end ─┐
//!    ├─ client     generator ─ step ─ database ─ recorder            ▲                          │
//!    ├─ database   lists (k, elements) and registers (k, c0, c1, c2)  └───── the same disk ──────┘
//!    ├─ beside     tags, unique among registers; bulk statements
//!    └─ last life  one transaction reads everything ──▶ check(history): nothing that the level forbids
//! ```
//!
//! 1. A life that a crash ends leaves its open transactions with an unknown outcome; everything acknowledged must be
//!    seen later.
//! 2. The same plan in the simulation gives the same history.
//!
//! Source: Kingsbury and Alvaro, Elle (VLDB 2020), section 6, for the workload; [`checker`](crate::checker) for the
//! rest.

mod beside;
mod client;
mod database;
mod plan;

pub use plan::{Outcome, Plan};
