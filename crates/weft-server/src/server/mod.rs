//! The server: listeners, the connections there are, and how it ends.
//!
//! ```text
//!   listener threads ── accept ──▶ a thread per connection ── Slot ──▶ Shared: who is there, what runs, who may cancel
//!   close()  no new connections; statements are cancelled, clients told 57P01; threads end; the database is closed
//! ```
//!
//! 1. A connection has a slot from before its password is asked for until its thread ends; there are at most
//!    `connections_max` slots, so that clients who never finish logging in count, too.

mod config;
mod listen;
mod owner;
mod shared;
mod slots;
mod watch;

pub use config::{Auth, ServerConfig};
pub use listen::Server;
pub use owner::connect_as_owner;
pub(crate) use shared::Shared;
pub(crate) use slots::Slot;
