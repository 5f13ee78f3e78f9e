//! TLS as a client: which certificates are good.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};
use weft_format::{Code, Error, Result};

use super::target::{Host, SslMode, Target};
use crate::net::{Socket, Transport};

/// Where systems keep the certificates that they trust.
const SYSTEM_ROOTS: &[&str] =
    &["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// Begins TLS on a socket whose server agreed to it.
pub(super) fn begin(target: &Target, socket: Socket) -> Result<Transport> {
    let name = match &target.host {
        Host::Tcp(host) => host.clone(),
        Host::SocketDir(_) | Host::Socket(_) => "localhost".to_owned(),
    };
    let name = ServerName::try_from(name).map_err(|error| failed(&error))?;
    let connection = ClientConnection::new(config(target)?, name).map_err(|error| failed(&error))?;
    let mut stream = rustls::StreamOwned::new(connection, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).map_err(|error| failed(&error))?;
    }
    Ok(Transport::TlsClient(Box::new(stream)))
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::new(Code::InvalidAuthorization, format!("TLS with the server failed: {error}")).hint(
        "sslrootcert names the PEM file of the certificate that vouches for the server; sslmode says how much is \
               tested",
    )
}

fn config(target: &Target) -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    // As libpq: with a given authority, `require` tests as `verify-ca` does.
    let tested = match (target.ssl_mode, &target.ssl_root) {
        (SslMode::VerifyFull | SslMode::VerifyCa, root) => Some(roots(root.as_deref())?),
        (SslMode::Require, Some(root)) => Some(roots(Some(root))?),
        _ => None,
    };
    let inner = match &tested {
        None => None,
        Some(certificates) => {
            let mut store = RootCertStore::empty();
            store.add_parsable_certificates(certificates.iter().cloned());
            let built = WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(&provider)).build();
            Some(built.map_err(|error| failed(&error))?)
        }
    };
    let names = target.ssl_mode == SslMode::VerifyFull;
    let trusted = tested.unwrap_or_default();
    let verifier = Tested { provider: Arc::clone(&provider), inner, trusted, names };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn roots(file: Option<&Path>) -> Result<Vec<CertificateDer<'static>>> {
    let file = match file.filter(|file| *file != Path::new("system")) {
        Some(file) => file,
        None => SYSTEM_ROOTS.iter().map(Path::new).find(|path| path.exists()).ok_or_else(|| {
            let message = "there are no certificates of the system to test the server's with";
            Error::new(Code::UndefinedFile, message).hint("give sslrootcert=FILE")
        })?,
    };
    let text = std::fs::read(file).map_err(|error| Error::io(format!("reading sslrootcert {file:?}"), &error))?;
    let read = CertificateDer::pem_slice_iter(&text).collect::<std::result::Result<Vec<_>, _>>();
    match read {
        Ok(read) if !read.is_empty() => Ok(read),
        _ => Err(Error::new(Code::InvalidParameterValue, format!("sslrootcert {file:?} has no certificate"))
            .hint("it is a PEM file, with -----BEGIN CERTIFICATE-----")),
    }
}

/// What `sslmode` asks for.
#[derive(Debug)]
struct Tested {
    provider: Arc<CryptoProvider>,
    /// None: any certificate will do.
    inner: Option<Arc<WebPkiServerVerifier>>,
    trusted: Vec<CertificateDer<'static>>,
    /// The certificate must be for the host that was named.
    names: bool,
}

impl ServerCertVerifier for Tested {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        match inner.verify_server_cert(certificate, others, name, ocsp, now) {
            // The chain is tested before the name.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.names => Ok(ServerCertVerified::assertion()),
            // A certificate that vouches for itself and is marked as an authority's, as `openssl req -x509` makes it:
            // good when it is the trusted one itself. Its dates were tested before.
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(other)))
                if format!("{other:?}").contains("CaUsedAsEndEntity") && self.trusted.contains(certificate) =>
            {
                if self.names {
                    rustls::client::verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                }
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
