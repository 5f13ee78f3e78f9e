//! Strings of bits: how many there are, and eight in a byte from the high bit on.

use weft_format::{Code, Error, Result};

use super::fields::Fields;

/// Reads the digits of all fields that are left.
pub(super) fn read(fields: &mut Fields<'_>) -> Result<String> {
    let count = fields.i32()?;
    let wrong = || Error::new(Code::InvalidBinary, "invalid length in external bit string");
    let count = usize::try_from(count).map_err(|_| wrong())?;
    if count.div_ceil(8) > fields.len() {
        return Err(super::violation("bits are missing"));
    }
    let bytes = fields.bytes(count.div_ceil(8))?;
    let bit = |at: usize| bytes[at / 8] >> (7 - at % 8) & 1 != 0;
    Ok((0..count).map(|at| if bit(at) { '1' } else { '0' }).collect())
}

/// Appends the bits of digits.
pub(super) fn write(out: &mut Vec<u8>, digits: &str) {
    let count = i32::try_from(digits.len()).expect("a value is shorter than 2 GiB");
    out.extend_from_slice(&count.to_be_bytes());
    out.extend(digits.as_bytes().chunks(8).map(|digits| {
        let bits = |byte: u8, (at, digit): (usize, &u8)| byte | u8::from(*digit == b'1') << (7 - at);
        digits.iter().enumerate().fold(0, bits)
    }));
}
