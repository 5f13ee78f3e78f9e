//! Stopping what a connection runs, from another thread.

use super::connect::Client;
use super::dial::{Encryption, dial, encrypt};
use super::report::Result;
use super::target::Target;
use crate::protocol::CANCEL;

/// Knows the number and the secret of a connection. Clones stop the same one.
#[derive(Clone)]
pub struct Canceller {
    target: Target,
    /// Whether the connection is encrypted, so that the secret is not sent in the clear.
    encrypted: bool,
    /// Number and secret, as they came.
    key: Vec<u8>,
}

impl Client {
    /// What stops this connection's statements from another thread.
    pub fn canceller(&self) -> Canceller {
        let encrypted = self.channel.is_encrypted();
        Canceller { target: self.target.clone(), encrypted, key: self.key.clone() }
    }
}

impl Canceller {
    /// Asks the server to stop what runs; whether it did is seen by the statement's answer, 57014. An error: the server
    /// cannot be reached, or has not dealt with it within the time for connecting.
    pub fn cancel(&self) -> Result<()> {
        let channel = dial(&self.target)?;
        let wanted = if self.encrypted { Encryption::Demanded } else { Encryption::None };
        let mut channel = encrypt(&self.target, channel, wanted)?;
        channel.out.packet(|body| {
            body.extend_from_slice(&CANCEL.to_be_bytes());
            body.extend_from_slice(&self.key);
        });
        channel.flush()?;
        // The server closes when it has dealt with the request.
        channel.read_byte()?;
        Ok(())
    }
}
