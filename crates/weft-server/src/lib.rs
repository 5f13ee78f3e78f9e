//! The server: PostgreSQL's protocol, version 3, over the library.
//!
//! ```text
//!   psql, drivers ─▶ weft_wire (sockets, TLS, frames, messages, SCRAM) ─▶ connection (one thread, one session)
//!                                                                       types (values as text and bytes)
//!   server: listeners, limits, cancelling, the end
//!   monitor: /metrics and /health;   upstream: the server that feeds a node
//! ```
//!
//! Each connection is a thread with blocking sockets: a statement runs where its message was read, so that a point
//! query costs no change of threads, and a statement of the query engine hands its work to that engine's threads.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "sockets and their threads are outside of what a simulation decides"
)]

mod connection;
mod monitor;
mod server;
mod types;
mod upstream;

pub use monitor::Monitor;
pub use server::{Auth, Server, ServerConfig, connect_as_owner};
pub use upstream::Upstream;
pub use weft_wire::{Level, Log, TlsIdentity, Verifier, client, protocol};
