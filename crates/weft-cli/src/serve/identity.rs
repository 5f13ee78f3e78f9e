//! The certificate of the server: given, or made and kept in the directory of the database.

use std::path::Path;

use weft_server::TlsIdentity;

use crate::failure::Failure;

/// The certificate in two PEM files.
pub(crate) fn given_identity(certificate: &str, key: &str) -> Result<TlsIdentity, Failure> {
    Ok(TlsIdentity { certificate: read(certificate)?, key: read(key)? })
}

fn read(file: &str) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| Failure::Other(format!("{file}: {error}")))
}

/// The certificate in the directory; one is made when there is none, and kept there where that `is_ours`.
pub(super) fn own_identity(dir: &Path, is_ours: bool) -> Result<TlsIdentity, Failure> {
    let (certificate, key) = (dir.join("server.crt"), dir.join("server.key"));
    if certificate.exists() && key.exists() {
        return Ok(TlsIdentity {
            certificate: read(&certificate.to_string_lossy())?,
            key: read(&key.to_string_lossy())?,
        });
    }
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    names.extend(std::fs::read_to_string("/etc/hostname").ok().map(|name| name.trim().to_owned()));
    names.retain(|name| !name.is_empty());
    let made = TlsIdentity::make(names)?;
    if !is_ours {
        return Ok(made);
    }
    let wrong = |error: std::io::Error| Failure::Other(format!("{}: {error}", key.display()));
    write_secret(&key, &made.key).map_err(wrong)?;
    std::fs::write(&certificate, &made.certificate).map_err(wrong)?;
    Ok(made)
}

/// Writes a file that only its owner may read.
fn write_secret(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
