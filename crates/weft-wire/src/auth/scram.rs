//! The server's side of a SCRAM-SHA-256 exchange.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use weft_format::{Code, Error, Result};

use weft_sql::rights::{Verifier, sha256, sign};

use crate::protocol::violation;

/// An exchange after the client's first message.
pub struct Exchange {
    verifier: Verifier,
    /// `n,,` or `y,,`: what the client's last message must repeat.
    header: String,
    client_first_bare: String,
    server_first: String,
    nonce: String,
}

impl Exchange {
    /// Reads the client's first message; `nonce` is the server's part, printable characters without a comma.
    pub fn begin(verifier: Verifier, client_first: &[u8], nonce: &str) -> Result<Exchange> {
        let text = std::str::from_utf8(client_first).map_err(|_| malformed())?;
        let (flag, rest) = text.split_once(',').ok_or_else(malformed)?;
        let (identity, bare) = rest.split_once(',').ok_or_else(malformed)?;
        match flag {
            "n" | "y" => {}
            _ if flag.starts_with("p=") => return Err(violation("channel binding was not offered")),
            _ => return Err(malformed()),
        }
        if !identity.is_empty() {
            return Err(Error::new(Code::FeatureNotSupported, "a SASL authorization identity is not supported"));
        }
        // The user's name is that of the startup packet; what stands here counts for nothing.
        let client_nonce = bare.split(',').nth(1).and_then(|part| part.strip_prefix("r=")).ok_or_else(malformed)?;
        if client_nonce.is_empty() || !client_nonce.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(malformed());
        }
        let nonce = format!("{client_nonce}{nonce}");
        let server_first = format!("r={nonce},s={},i={}", BASE64.encode(&verifier.salt), verifier.iterations);
        let header = format!("{flag},,");
        Ok(Exchange { verifier, header, client_first_bare: bare.into(), server_first, nonce })
    }

    /// The server's first message.
    pub fn server_first(&self) -> &str {
        &self.server_first
    }

    /// Tests the client's last message; gives the server's.
    pub fn finish(&self, client_final: &[u8]) -> Result<String> {
        let text = std::str::from_utf8(client_final).map_err(|_| malformed())?;
        let (without_proof, proof) = text.rsplit_once(",p=").ok_or_else(malformed)?;
        let mut parts = without_proof.split(',');
        let binding = parts.next().and_then(|part| part.strip_prefix("c=")).ok_or_else(malformed)?;
        let nonce = parts.next().and_then(|part| part.strip_prefix("r=")).ok_or_else(malformed)?;
        if binding != BASE64.encode(&self.header) || nonce != self.nonce {
            return Err(malformed());
        }
        let proof = BASE64.decode(proof).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let proof = proof.ok_or_else(malformed)?;
        let message = format!("{},{},{without_proof}", self.client_first_bare, self.server_first);
        let signature = sign(&self.verifier.stored_key, message.as_bytes());
        let mut client_key = [0; 32];
        for (byte, (a, b)) in client_key.iter_mut().zip(proof.iter().zip(signature)) {
            *byte = a ^ b;
        }
        if !equal(&sha256(&client_key), &self.verifier.stored_key) {
            return Err(Error::new(Code::InvalidPassword, "password authentication failed"));
        }
        Ok(format!("v={}", BASE64.encode(sign(&self.verifier.server_key, message.as_bytes()))))
    }
}

/// Compares in a time that does not depend on where two keys differ.
fn equal(a: &[u8; 32], b: &[u8; 32]) -> bool {
    a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

fn malformed() -> Error {
    violation("malformed SCRAM message")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7677, section 3: the example with the password "pencil".
    #[test]
    fn the_example_of_the_standard() {
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let verifier = Verifier::of_password("pencil", salt.try_into().unwrap());
        assert_eq!(Verifier::read(&verifier.text()), Some(verifier.clone()));
        let first = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
        let exchange = Exchange::begin(verifier.clone(), first, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0").unwrap();
        let server_first = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        assert_eq!(exchange.server_first(), server_first);
        let last = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        assert_eq!(exchange.finish(last.as_bytes()).unwrap(), "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        let wrong = last.replace("p=dHz", "p=dHx");
        assert_eq!(exchange.finish(wrong.as_bytes()).unwrap_err().code(), Code::InvalidPassword);
        let nobody = Exchange::begin(Verifier::of_nobody("x", &[7; 32]), first, "abc").unwrap();
        assert!(nobody.finish(last.as_bytes()).is_err());
    }

    #[test]
    fn what_is_malformed_is_refused() {
        let verifier = Verifier::of_password("x", [1; 16]);
        for first in ["", "n", "n,", "n,,n=u", "n,,n=u,r=", "p=tls-unique,,n=u,r=abc", "n,a=b,n=u,r=abc", "x,,n=u,r=a"]
        {
            assert!(Exchange::begin(verifier.clone(), first.as_bytes(), "n").is_err(), "{first}");
        }
        let exchange = Exchange::begin(verifier, b"n,,n=,r=abc", "def").unwrap();
        for last in ["", "c=biws", "c=biws,r=abcdef", "c=biws,r=abcdef,p=AA==", "c=eSws,r=abcdef,p=", "c=biws,r=abc,p="]
        {
            assert_eq!(exchange.finish(last.as_bytes()).unwrap_err().code(), Code::ProtocolViolation, "{last}");
        }
    }
}
