//! The router: one address in front of a writer and its read nodes.
//!
//! ```text
//!   client ─▶ router ─┬─ INSERT ... ─────────────────────▶ writer     commit 1042
//!                     └─ SET freshness_token = '1042';
//!                        SELECT ... ─────────────────────▶ node a     waits for 1042, answers
//!
//!   listen      sockets, who is there, cancel requests        startup    TLS, password, the connection to the writer
//!   health      are the servers there, how old are they       servers    who writes, and which has the fewest sessions
//!   session     one client: what it sent, where it goes, what came back
//! ```
//!
//! 1. One client is one thread, one connection to the writer and at most one to a node. The router reads from one of
//!    them at a time and knows from the protocol from which: no connection is shared between clients.
//! 2. What is surely a read goes to a node; all else goes to the writer ([`weft_sql::route`]).
//! 3. A read on a node sees everything that its session has seen or written before, unless `freshness` is `none`.
//! 4. What a node cannot do runs on the writer, silently, if nothing of its answer was sent. What was sent is never
//!    followed by another server's answer.
//! 5. The router keeps nothing that a new one would need.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "sockets and their threads are outside of what a simulation decides"
)]

mod counters;
pub mod faults;
mod health;
mod listen;
mod metrics;
mod options;
mod servers;
mod session;
mod shared;
mod startup;

pub use listen::Router;
pub use options::{Door, Options, Place, WhenLate};
