//! A client of the protocol: the shell on `postgres://...`, and whatever copies from a server.
//!
//! ```text
//!   Target::parse("postgres://ann:secret@db.example:5432/shop?sslmode=verify-full&sslrootcert=ca.pem")
//!   Client::connect(&target)   socket ── (TLS) ── SCRAM-SHA-256 ── settings ── ready
//!     .simple("SELECT 1; COPY t TO STDOUT")   Columns Row Complete  CopyOut CopyData CopyData CopyDone Complete
//!     .canceller()                            stops what runs, from another thread
//! ```
//!
//! 1. A password is sent in the clear only over TLS or a unix socket, and only to a server that asks for it so; SCRAM
//!    ends with a proof that the server knows the password's verifier.
//! 2. After an error of a statement, or answers that nobody read to their end, the connection is ready for the next
//!    statement: what is left is read and passed over.
//! 3. A connection whose protocol broke is not used again.
//!
//! Blocking, one statement at a time, one thread at a time.

mod answers;
mod cancel;
mod connect;
mod dial;
mod report;
mod target;
mod verify;

pub use answers::{Answer, Answers, Column, CopyIn, ResultSet};
pub use cancel::Canceller;
pub use connect::Client;
pub use dial::answers;
pub use report::{ClientError, Report, Result};
pub use target::{Host, SslMode, Target};

#[cfg(test)]
mod tests;
