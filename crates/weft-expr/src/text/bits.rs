//! Strings of bits as PostgreSQL reads them.
//!
//! ```text
//!   101    b101    B101     three bits
//!   x1f    X1F              eight bits: 00011111
//! ```

use weft_format::{Code, Error, Result};

/// Reads bits: a digit for each, or behind an `x` a hexadecimal digit for each four.
pub fn parse_bits(text: &str) -> Result<String> {
    if let Some(digits) = text.strip_prefix(['x', 'X']) {
        let mut bits = String::with_capacity(4 * digits.len());
        for digit in digits.chars() {
            let value = digit.to_digit(16).ok_or_else(|| wrong(digit, "hexadecimal"))?;
            bits.push_str(&format!("{value:04b}"));
        }
        return Ok(bits);
    }
    let digits = text.strip_prefix(['b', 'B']).unwrap_or(text);
    match digits.chars().find(|digit| !matches!(digit, '0' | '1')) {
        Some(digit) => Err(wrong(digit, "binary")),
        None => Ok(digits.to_owned()),
    }
}

fn wrong(digit: char, kind: &str) -> Error {
    Error::new(Code::InvalidText, format!("\"{digit}\" is not a valid {kind} digit"))
}
