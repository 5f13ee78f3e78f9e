//! The client's side of a SCRAM-SHA-256 exchange.
//!
//! 1. A server that does not know the password's verifier cannot give the last message's signature: a client that
//!    tests it knows that it speaks to the server it has a password for.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use weft_format::{Code, Error, Result};
use weft_sql::rights::{salted_password, sha256, sign};

use crate::protocol::violation;

/// The most iterations that a server may ask for: a client does not work for minutes because somebody says so.
const ITERATIONS_MAX: u32 = 10_000_000;

/// An exchange whose first message was made.
pub struct Prover {
    password: String,
    first_bare: String,
    nonce: String,
    /// What the server's signature must be, once the proof was given.
    wanted: Option<[u8; 32]>,
}

impl Prover {
    /// Begins; `nonce` is printable and without a comma.
    pub fn new(password: &str, nonce: &str) -> Prover {
        // The server takes the name of the startup packet.
        Prover { password: password.into(), first_bare: format!("n=,r={nonce}"), nonce: nonce.into(), wanted: None }
    }

    /// The client's first message: no channel binding.
    pub fn first(&self) -> String {
        format!("n,,{}", self.first_bare)
    }

    /// The client's last message, which answers the server's first.
    pub fn prove(&mut self, server_first: &[u8]) -> Result<String> {
        let text = std::str::from_utf8(server_first).map_err(|_| malformed())?;
        let mut parts = text.split(',');
        let mut part = |name: &str| parts.next().and_then(|part| part.strip_prefix(name)).ok_or_else(malformed);
        let (nonce, salt, iterations) = (part("r=")?, part("s=")?, part("i=")?);
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(violation("the server's SCRAM nonce does not go on from the client's"));
        }
        let salt = BASE64.decode(salt).map_err(|_| malformed())?;
        let iterations = iterations.parse().ok().filter(|&count| (1..=ITERATIONS_MAX).contains(&count));
        let salted = salted_password(&self.password, &salt, iterations.ok_or_else(malformed)?);
        let client_key = sign(&salted, b"Client Key");
        let without_proof = format!("c=biws,r={nonce}");
        let message = format!("{},{text},{without_proof}", self.first_bare);
        let signature = sign(&sha256(&client_key), message.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(signature).map(|(a, b)| a ^ b).collect();
        self.wanted = Some(sign(&sign(&salted, b"Server Key"), message.as_bytes()));
        Ok(format!("{without_proof},p={}", BASE64.encode(proof)))
    }

    /// Tests the server's last message (prover 1).
    pub fn verify(&mut self, server_final: &[u8]) -> Result<()> {
        let wanted = self.wanted.take().ok_or_else(malformed)?;
        let text = std::str::from_utf8(server_final).map_err(|_| malformed())?;
        let given = text.strip_prefix("v=").and_then(|text| BASE64.decode(text).ok());
        if given.as_deref() == Some(&wanted[..]) {
            return Ok(());
        }
        let message = "the server could not prove that it knows the password's verifier";
        Err(Error::new(Code::InvalidAuthorization, message).hint("this may not be the server you mean"))
    }
}

fn malformed() -> Error {
    violation("the server sent a malformed SCRAM message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{Exchange, Verifier};

    #[test]
    fn proves_to_the_server_side_and_tests_its_signature() {
        let verifier = Verifier::of_password("pencil", [3; 16]);
        let mut prover = Prover::new("pencil", "clientnonce");
        let exchange = Exchange::begin(verifier.clone(), prover.first().as_bytes(), "server").unwrap();
        let last = prover.prove(exchange.server_first().as_bytes()).unwrap();
        let signature = exchange.finish(last.as_bytes()).unwrap();
        prover.verify(signature.as_bytes()).unwrap();
        assert!(prover.verify(signature.as_bytes()).is_err(), "a signature is good once");

        let mut wrong = Prover::new("pen", "clientnonce");
        let last = wrong.prove(exchange.server_first().as_bytes()).unwrap();
        assert_eq!(exchange.finish(last.as_bytes()).unwrap_err().code(), Code::InvalidPassword);
        assert_eq!(wrong.verify(signature.as_bytes()).unwrap_err().code(), Code::InvalidAuthorization);
    }

    /// RFC 7677, section 3, seen from the client. Its first message names the user, which ours does not.
    #[test]
    fn the_example_of_the_standard() {
        let mut prover = Prover::new("pencil", "rOprNGfwEbeRWgbNEkqO");
        prover.first_bare = "n=user,r=rOprNGfwEbeRWgbNEkqO".into();
        let first = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        assert!(prover.prove(first).unwrap().ends_with("p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="));
        prover.verify(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").unwrap();
    }

    #[test]
    fn what_is_malformed_is_refused() {
        for first in ["", "r=abc", "r=abcX,s=,i=0", "r=abcX,s=!,i=1", "r=xyz,s=AA==,i=1", "r=abc,s=AA==,i=1"] {
            assert!(Prover::new("p", "abc").prove(first.as_bytes()).is_err(), "{first}");
        }
        assert!(Prover::new("p", "abc").prove(b"r=abcX,s=AA==,i=999999999").is_err());
        assert!(Prover::new("p", "abc").verify(b"v=AA==").is_err());
    }
}
