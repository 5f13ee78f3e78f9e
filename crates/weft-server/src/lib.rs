//! The server: PostgreSQL's protocol, version 3, over the library.
//!
//! ```text
//!   psql, drivers ─▶ net (sockets, TLS, frames) ─▶ protocol (messages) ─▶ connection (one thread, one session)
//!                                                        auth (SCRAM)            types (values as text and bytes)
//!   server: listeners, limits, cancelling, the log, the end
//!   monitor: /metrics and /health
//!   client: the other side of the same protocol, for the shell and for copying from one server to another
//! ```
//!
//! Each connection is a thread with blocking sockets: a statement runs where its message was read, so that a point
//! query costs no change of threads, and a statement of the query engine hands its work to that engine's threads.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "sockets and their threads are outside of what a simulation decides"
)]

mod auth;
pub mod client;
mod connection;
mod monitor;
mod net;
pub mod protocol;
mod server;
mod types;

pub use auth::Verifier;
pub use monitor::Monitor;
pub use net::TlsIdentity;
pub use server::{Auth, Level, Log, Server, ServerConfig, connect_as_owner};
