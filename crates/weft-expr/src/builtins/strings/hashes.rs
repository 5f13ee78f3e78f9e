//! Digests of bytes.
//!
//! ```text
//!   md5('abc')      900150983cd24fb0d6963f7d28e17f72
//!   sha224('abc')   \x23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7
//! ```

use sha2::digest::Digest;
use weft_format::{Result, Value};

use super::super::builtin::Call;
use super::letters::text;
use crate::text::write_hex;

/// Of a text or of bytes, in hexadecimal digits.
pub(super) fn md5(call: &Call<'_>) -> Result<Value> {
    let digest = match &call.args[0] {
        Value::Bytes(bytes) => md5::Md5::digest(bytes),
        _ => md5::Md5::digest(call.text(0)),
    };
    let mut out = String::new();
    write_hex(&mut out, &digest);
    text(out)
}

fn sha<D: Digest>(call: &Call<'_>) -> Result<Value> {
    let digest = D::digest(call.bytes(0));
    let bytes: &[u8] = &digest;
    Ok(Value::Bytes(bytes.into()))
}

pub(super) fn sha224(call: &Call<'_>) -> Result<Value> {
    sha::<sha2::Sha224>(call)
}

pub(super) fn sha256(call: &Call<'_>) -> Result<Value> {
    sha::<sha2::Sha256>(call)
}

pub(super) fn sha384(call: &Call<'_>) -> Result<Value> {
    sha::<sha2::Sha384>(call)
}

pub(super) fn sha512(call: &Call<'_>) -> Result<Value> {
    sha::<sha2::Sha512>(call)
}
