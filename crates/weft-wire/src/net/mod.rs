//! Sockets: what a connection reads from and writes to, and how messages are cut out of its bytes.
//!
//! ```text
//!   TCP or unix socket ── (TLS) ── Transport ── Channel: frames in, one buffer out, one write per answer
//! ```

mod channel;
mod tls;
mod transport;

pub use channel::{Channel, Frame};
pub use tls::TlsIdentity;
pub use tls::answer as answer_tls_request;
pub use transport::{Socket, Transport};
