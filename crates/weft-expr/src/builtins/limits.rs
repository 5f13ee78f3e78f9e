//! How long a text, a bytea or an array may become that a function makes.

use weft_format::{Code, Error, Result};

/// The most bytes that one call makes, as in the query engine.
const BYTES_MAX: u64 = 256 << 20;

/// An error when a result would have more bytes than that; it is asked before anything is allocated.
pub(in crate::builtins) fn check_bytes(bytes: u64) -> Result<()> {
    if bytes <= BYTES_MAX {
        return Ok(());
    }
    Err(Error::new(Code::ProgramLimit, "requested length too large")
        .hint(format!("a text that a function makes has at most {BYTES_MAX} bytes")))
}

/// An error when an array would have more elements than a statement's memory is for.
pub(in crate::builtins) fn check_elements(count: usize) -> Result<()> {
    const ELEMENTS_MAX: usize = 8 << 20;
    if count <= ELEMENTS_MAX {
        return Ok(());
    }
    let message = format!("an array that a function makes has at most {ELEMENTS_MAX} elements");
    Err(Error::new(Code::ProgramLimit, message))
}

/// The same of many pieces.
pub(in crate::builtins) fn check_pieces(pieces: impl IntoIterator<Item = usize>) -> Result<()> {
    check_bytes(pieces.into_iter().fold(0, |sum: u64, bytes| sum.saturating_add(bytes as u64)))
}
