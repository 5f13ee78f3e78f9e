//! TLS: the certificate, given or made by the server itself.
//!
//! ```text
//!   given    server.crt, server.key (PEM)     sslmode=verify-full with the client's own authority
//!   made     the same two files in the directory of the database, for localhost and the machine's name
//!            sslmode=verify-full sslrootcert=DIR/server.crt
//! ```

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use weft_format::{Code, Error, Result};

use super::channel::Channel;
use super::transport::{Socket, Transport};

/// A certificate with its key, both in PEM.
#[derive(Clone)]
pub struct TlsIdentity {
    /// The certificate, and those that vouch for it.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl TlsIdentity {
    /// Makes a certificate that vouches for itself, for these names and addresses.
    pub fn make(names: Vec<String>) -> Result<TlsIdentity> {
        let wrong = |error: rcgen::Error| Error::internal(format!("making a certificate: {error}"));
        let made = rcgen::generate_simple_self_signed(names).map_err(wrong)?;
        Ok(TlsIdentity { certificate: made.cert.pem(), key: made.signing_key.serialize_pem() })
    }

    /// The configuration of TLS connections.
    pub fn config(&self) -> Result<Arc<rustls::ServerConfig>> {
        let wrong = |what: &str, error: &dyn std::fmt::Display| {
            Error::new(Code::InvalidParameterValue, format!("the {what} for TLS cannot be used: {error}"))
                .hint("give a certificate and its key as PEM files")
        };
        let chain = CertificateDer::pem_slice_iter(self.certificate.as_bytes()).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| wrong("certificate", &error))?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(|error| wrong("key", &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong("library", &error))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| wrong("certificate", &error))?;
        Ok(Arc::new(config))
    }
}

/// Begins TLS on a socket whose client asked for it.
fn accept(config: &Arc<rustls::ServerConfig>, socket: Socket) -> Result<Transport> {
    let session = rustls::ServerConnection::new(Arc::clone(config))
        .map_err(|error| Error::internal(format!("beginning TLS: {error}")))?;
    let mut stream = rustls::StreamOwned::new(session, socket);
    while stream.conn.is_handshaking() {
        let done = stream.conn.complete_io(&mut stream.sock);
        done.map_err(|error| crate::protocol::violation(format!("TLS could not be agreed upon: {error}")))?;
    }
    Ok(Transport::Tls(Box::new(stream)))
}

/// Answers a client that asks for TLS: begins it, or says that there is none.
pub fn answer(config: Option<&Arc<rustls::ServerConfig>>, channel: &mut Channel) -> Result<()> {
    let Some(config) = config.filter(|_| !channel.is_encrypted()) else {
        channel.out.plain_byte(b'N');
        return channel.flush();
    };
    channel.out.plain_byte(b'S');
    channel.flush()?;
    let socket = channel.socket().clone();
    let plain = std::mem::replace(channel, Channel::new(Transport::Plain(socket)));
    let Transport::Plain(socket) = plain.into_transport()? else {
        return Err(Error::internal("TLS was begun twice"));
    };
    *channel = Channel::new(accept(config, socket)?);
    Ok(())
}
