//! What is stored instead of a password.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::{digest, hmac, pbkdf2};

/// How often a password is hashed; PostgreSQL's number.
const ITERATIONS: u32 = 4096;
const PREFIX: &str = "SCRAM-SHA-256$";

/// Salt, iterations and the two keys of a SCRAM-SHA-256 password.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    /// How often the password is hashed.
    pub iterations: u32,
    /// What is hashed with it.
    pub salt: Vec<u8>,
    /// What a proof is tested with.
    pub stored_key: [u8; 32],
    /// What the server proves itself with.
    pub server_key: [u8; 32],
}

impl Verifier {
    /// The verifier of a password.
    pub fn of_password(password: &str, salt: [u8; 16]) -> Verifier {
        let salted = salted_password(password, &salt, ITERATIONS);
        let client_key = sign(&salted, b"Client Key");
        Verifier {
            iterations: ITERATIONS,
            salt: salt.to_vec(),
            stored_key: sha256(&client_key),
            server_key: sign(&salted, b"Server Key"),
        }
    }

    /// Reads PostgreSQL's text form.
    pub fn read(text: &str) -> Option<Verifier> {
        let (head, keys) = text.strip_prefix(PREFIX)?.split_once('$')?;
        let (iterations, salt) = head.split_once(':')?;
        let (stored, server) = keys.split_once(':')?;
        let key = |text: &str| <[u8; 32]>::try_from(BASE64.decode(text).ok()?).ok();
        let iterations = iterations.parse().ok().filter(|&count| count > 0)?;
        Some(Verifier {
            iterations,
            salt: BASE64.decode(salt).ok()?,
            stored_key: key(stored)?,
            server_key: key(server)?,
        })
    }

    /// PostgreSQL's text form.
    pub fn text(&self) -> String {
        let [salt, stored, server] = [&self.salt[..], &self.stored_key, &self.server_key].map(|b| BASE64.encode(b));
        format!("{PREFIX}{}:{salt}${stored}:{server}", self.iterations)
    }

    /// A verifier that no password fits, the same for a name each time (auth 1).
    pub fn of_nobody(name: &str, secret: &[u8; 32]) -> Verifier {
        let salt = sign(secret, name.as_bytes());
        Verifier {
            iterations: ITERATIONS,
            salt: salt[..16].to_vec(),
            stored_key: [0; 32],
            server_key: sign(secret, &salt),
        }
    }
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Verifier(..)")
    }
}

/// `Hi(Normalize(password), salt, iterations)` of RFC 5802.
pub fn salted_password(password: &str, salt: &[u8], iterations: u32) -> [u8; 32] {
    // As PostgreSQL does: a password that cannot be prepared is taken as it is.
    let prepared = stringprep::saslprep(password).unwrap_or(password.into());
    let iterations = NonZeroU32::new(iterations).unwrap_or(NonZeroU32::MIN);
    let mut salted = [0; 32];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations, salt, prepared.as_bytes(), &mut salted);
    salted
}

/// HMAC-SHA-256.
pub fn sign(key: &[u8], message: &[u8]) -> [u8; 32] {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message);
    tag.as_ref().try_into().expect("HMAC-SHA-256 has 32 bytes")
}

/// SHA-256.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    digest::digest(&digest::SHA256, bytes).as_ref().try_into().expect("SHA-256 has 32 bytes")
}
