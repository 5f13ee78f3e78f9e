//! bytea: hexadecimal, escapes, base64.
//!
//! ```text
//!   \xDEADBEEF      a\\b\001      read; written as \xdeadbeef
//! ```

use weft_format::{Code, DataType, Error, Result};

use super::messages::{invalid_text, shorten};

/// Reads a bytea in hexadecimal (`\x...`) or with escapes (`\\`, `\ooo`).
pub fn parse_bytes(text: &str) -> Result<Vec<u8>> {
    if let Some(digits) = text.strip_prefix("\\x") {
        return parse_hex(digits);
    }
    let invalid = || invalid_text(text, DataType::Bytea);
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::with_capacity(text.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        if byte != b'\\' {
            out.push(byte);
            at += 1;
        } else if bytes.get(at + 1) == Some(&b'\\') {
            out.push(b'\\');
            at += 2;
        } else {
            let digits = bytes.get(at + 1..at + 4).ok_or_else(invalid)?;
            if !(b'0'..=b'3').contains(&digits[0]) || digits.iter().any(|digit| !(b'0'..=b'7').contains(digit)) {
                return Err(invalid());
            }
            out.push((digits[0] - b'0') << 6 | (digits[1] - b'0') << 3 | (digits[2] - b'0'));
            at += 4;
        }
    }
    Ok(out)
}

/// Reads hexadecimal digits; blanks between pairs are passed over.
fn parse_hex(text: &str) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 2);
    let mut digits = text.chars().peekable();
    while let Some(high) = digits.next() {
        if high.is_ascii_whitespace() {
            continue;
        }
        let low = digits
            .next()
            .ok_or_else(|| Error::new(Code::InvalidParameterValue, "invalid hexadecimal data: odd number of digits"))?;
        let digit = |c: char| {
            c.to_digit(16)
                .ok_or_else(|| Error::new(Code::InvalidParameterValue, format!("invalid hexadecimal digit: \"{c}\"")))
        };
        out.push((digit(high)? << 4 | digit(low)?) as u8);
    }
    Ok(out)
}

/// Appends the hexadecimal digits.
pub fn write_hex(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Characters of a line of base64.
const LINE: usize = 76;

/// `encode(bytes, format)`.
pub fn encode(bytes: &[u8], format: &str) -> Result<String> {
    let mut out = String::new();
    match format.to_ascii_lowercase().as_str() {
        "hex" => write_hex(&mut out, bytes),
        "base64" => {
            for (at, chunk) in bytes.chunks(3).enumerate() {
                if at > 0 && at % (LINE / 4) == 0 {
                    out.push('\n');
                }
                let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
                let word = byte(0) << 16 | byte(1) << 8 | byte(2);
                for place in 0..4 {
                    let sextet = BASE64[(word >> (18 - 6 * place) & 63) as usize];
                    out.push(if place <= chunk.len() { char::from(sextet) } else { '=' });
                }
            }
        }
        "escape" => {
            for &byte in bytes {
                match byte {
                    b'\\' => out.push_str("\\\\"),
                    0 | 128.. => out.push_str(&format!("\\{byte:03o}")),
                    other => out.push(char::from(other)),
                }
            }
        }
        _ => return Err(unknown_format(format)),
    }
    Ok(out)
}

/// `decode(text, format)`.
pub fn decode(text: &str, format: &str) -> Result<Vec<u8>> {
    match format.to_ascii_lowercase().as_str() {
        "hex" => parse_hex(text),
        "base64" => decode_base64(text),
        "escape" => parse_bytes(text),
        _ => Err(unknown_format(format)),
    }
}

fn unknown_format(format: &str) -> Error {
    let message = format!("unrecognized encoding: \"{}\"", shorten(format));
    Error::new(Code::InvalidParameterValue, message).hint("hex, base64 or escape")
}

fn decode_base64(text: &str) -> Result<Vec<u8>> {
    let invalid = |what: &str| Error::new(Code::InvalidParameterValue, format!("invalid base64 {what}"));
    let (mut out, mut word, mut count, mut padding) = (Vec::new(), 0u32, 0, 0);
    for byte in text.bytes() {
        if byte.is_ascii_whitespace() {
            continue;
        }
        if byte == b'=' && count >= 2 {
            padding += 1;
            word <<= 6;
        } else {
            let sextet = BASE64.iter().position(|&known| known == byte).filter(|_| padding == 0);
            word = word << 6 | sextet.ok_or_else(|| invalid(&format!("symbol \"{}\"", char::from(byte))))? as u32;
        }
        count += 1;
        if count == 4 {
            out.extend(&word.to_be_bytes()[1..4 - padding]);
            (word, count) = (0, 0);
        }
    }
    if count == 0 && padding <= 2 { Ok(out) } else { Err(invalid("end sequence")) }
}
