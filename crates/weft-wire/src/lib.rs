//! PostgreSQL's protocol, version 3, for both of its sides: what the server, the client and the router share.
//!
//! ```text
//!   net       sockets, TLS, frames        bytes ─▶ 'Q' 13 "SELECT 1"
//!   protocol  messages                    'Q' 13 "SELECT 1" ─▶ Query("SELECT 1")
//!   auth      SCRAM-SHA-256, both sides
//!   log       the lines that a server writes about itself
//!   client    a connection to a server: the shell on a server, backups, the router's way to its servers
//! ```
//!
//! No database is below it: who speaks the protocol without having one (the router) links none.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "sockets and their threads are outside of what a simulation decides"
)]

pub mod auth;
pub mod client;
mod log;
pub mod monitor;
pub mod net;
pub mod protocol;

pub use auth::Verifier;
pub use log::{Fields, Level, Log, bounded};
pub use net::TlsIdentity;
