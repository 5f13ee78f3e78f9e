//! Who may come in: SCRAM-SHA-256 with verifiers, so that no password is stored.
//!
//! ```text
//!   verifier    SCRAM-SHA-256$4096:salt$StoredKey:ServerKey      (PostgreSQL's form, base64)
//!   client-first-message  n,,n=,r=CNONCE
//!   server-first-message  r=CNONCE+SNONCE,s=salt,i=4096
//!   client-final-message  c=biws,r=CNONCE+SNONCE,p=proof
//!   server-final-message  v=signature
//! ```
//!
//! 1. An unknown role goes through the same messages as a known one, with a salt made from its name, and fails at the
//!    end with the same error: nobody learns from the answers which roles there are.
//!
//! Source: RFC 5802, RFC 7677.

mod attempts;
mod prover;
mod scram;

pub use attempts::Attempts;
pub use prover::Prover;
pub use scram::Exchange;
pub use weft_sql::rights::Verifier;
