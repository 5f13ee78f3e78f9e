//! uuid: 32 hexadecimal digits.
//!
//! ```text
//!   A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11   {a0eebc999c0b4ef8bb6d6bb9bd380a11}
//! ```

use weft_format::{DataType, Result};

use super::messages::invalid_text;

/// Reads a uuid: digits of any case, a hyphen after any group of four, braces around all of it.
pub fn parse_uuid(text: &str) -> Result<u128> {
    let invalid = || invalid_text(text, DataType::Uuid);
    let bare = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}').ok_or_else(invalid)?,
        None => text,
    };
    let (mut value, mut digits) = (0u128, 0);
    let mut bytes = bare.bytes().peekable();
    while let Some(byte) = bytes.next() {
        let digit = char::from(byte).to_digit(16).ok_or_else(invalid)?;
        if digits == 32 {
            return Err(invalid());
        }
        value = value << 4 | u128::from(digit);
        digits += 1;
        if digits % 4 == 0 && digits < 32 && bytes.peek() == Some(&b'-') {
            bytes.next();
        }
    }
    if digits == 32 { Ok(value) } else { Err(invalid()) }
}

/// The canonical text.
pub fn uuid_text(value: u128) -> String {
    let hex = format!("{value:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// A random uuid (version 4) from random bits.
pub fn random_uuid(high: u64, low: u64) -> u128 {
    let bits = u128::from(high) << 64 | u128::from(low);
    bits & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62
}
