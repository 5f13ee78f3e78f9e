//! What clients send first: packets without a tag.

use weft_format::Result;

use super::{Fields, violation};

/// The codes that stand where a version would.
pub const CANCEL: u32 = 1234 << 16 | 5678;
/// That TLS is wanted.
pub const SSL: u32 = 1234 << 16 | 5679;
const GSS: u32 = 1234 << 16 | 5680;

/// The first packet of a connection.
#[derive(Debug, PartialEq)]
pub enum Startup<'a> {
    /// Asks for TLS.
    Ssl,
    /// Asks for encryption by GSSAPI.
    Gss,
    /// Asks to stop what another connection runs.
    Cancel {
        /// That connection's number.
        id: u32,
        /// Its secret.
        secret: &'a [u8],
    },
    /// Begins a session.
    Session {
        /// The protocol's minor version; the major one is 3.
        minor: u16,
        /// `user`, `database`, settings, in the client's order.
        parameters: Vec<(&'a str, &'a str)>,
    },
}

/// Reads a first packet from its body.
pub fn decode_startup(body: &[u8]) -> Result<Startup<'_>> {
    let mut fields = Fields::new(body);
    let code = fields.u32()?;
    match code {
        SSL => fields.end().map(|()| Startup::Ssl),
        GSS => fields.end().map(|()| Startup::Gss),
        CANCEL => {
            let id = fields.u32()?;
            let secret = fields.bytes(fields.len())?;
            Ok(Startup::Cancel { id, secret })
        }
        _ if code >> 16 == 3 => {
            let mut parameters = Vec::new();
            loop {
                match fields.text()? {
                    "" => break,
                    name => parameters.push((name, fields.text()?)),
                }
            }
            fields.end()?;
            Ok(Startup::Session { minor: code as u16, parameters })
        }
        _ => {
            let message = format!("unsupported frontend protocol {}.{}", code >> 16, code & 0xffff);
            Err(violation(message).hint("Weft speaks version 3 of PostgreSQL's protocol"))
        }
    }
}
