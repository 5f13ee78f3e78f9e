//! Stopping what a connection runs, from another thread.

use std::time::{Duration, Instant};

use weft_format::Error;

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

/// How often who waits looks whether it is to give up.
const LOOK: Duration = Duration::from_millis(100);

impl Canceller {
    /// Asks the server to stop what runs; whether it did is seen by the statement's answer, 57014. An error: the server
    /// cannot be reached, or has not dealt with it within the time for connecting.
    pub fn cancel(&self) -> Result<()> {
        let last = Instant::now() + self.target.connect_timeout;
        self.cancel_unless(&|| Instant::now() >= last)
    }

    /// The same, which waits until the server has dealt with it, or `gives_up` says so: before that the request may
    /// stop what the connection runs next.
    pub fn cancel_unless(&self, gives_up: &dyn Fn() -> bool) -> Result<()> {
        let channel = dial(&self.target)?;
        let wanted = if self.encrypted { Encryption::Demanded } else { Encryption::None };
        let mut channel = encrypt(&self.target, channel, wanted)?;
        channel.out.packet(|body| {
            body.extend_from_slice(&CANCEL.to_be_bytes());
            body.extend_from_slice(&self.key);
        });
        channel.flush()?;
        // The server closes when it has dealt with the request.
        let limited = channel.socket().set_read_timeout(Some(LOOK));
        limited.map_err(|error| Error::io("setting a time limit for reads", &error))?;
        loop {
            match channel.read_byte() {
                Ok(_) => return Ok(()),
                // However it closed.
                Err(_) if channel.socket().has_ended_silently() => return Ok(()),
                Err(error) if gives_up() => return Err(error.into()),
                Err(_) => {}
            }
        }
    }
}
