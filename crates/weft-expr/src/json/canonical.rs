//! The canonical text of jsonb.

use weft_format::{Code, Error, Result};

use super::build::{array_text, object_text, quote};
use super::scan::{items, members, unquoted, validate};

/// Digits that a number may have on either side of its point, as PostgreSQL's numeric.
const WHOLE_DIGITS_MAX: i64 = 131_072;
const FRACTION_DIGITS_MAX: i64 = 16_383;

/// Bytes of all numbers of a document: with exponents they are written in a few.
const NUMBER_BYTES_MAX: usize = 64 << 20;

/// The canonical text of a JSON text.
pub fn canonical(text: &str) -> Result<String> {
    validate(text)?;
    let mut left = NUMBER_BYTES_MAX;
    value(text.trim_matches([' ', '\t', '\n', '\r']), &mut left)
}

/// `left`: so many bytes numbers may still have.
fn value(text: &str, left: &mut usize) -> Result<String> {
    match text.as_bytes()[0] {
        b'{' => {
            let mut canonical = Vec::new();
            for (key, member) in members(text)?.unwrap_or_default() {
                canonical.push((key, value(member, left)?));
            }
            Ok(object_text(canonical))
        }
        b'[' => {
            let elements = items(text)?.unwrap_or_default();
            let elements = elements.into_iter().map(|element| value(element, left)).collect::<Result<Vec<_>>>()?;
            Ok(array_text(elements.iter().map(String::as_str)))
        }
        b'"' => {
            let mut out = String::with_capacity(text.len());
            quote(&unquoted(text)?, &mut out);
            Ok(out)
        }
        b'-' | b'0'..=b'9' => {
            let number = number(text)?;
            *left = left.checked_sub(number.len()).ok_or_else(|| {
                let message = format!("the numbers of a document have more than {} MiB", NUMBER_BYTES_MAX >> 20);
                Error::new(Code::ProgramLimit, message).hint("keep numbers with large exponents as texts")
            })?;
            Ok(number)
        }
        _ => Ok(text.to_owned()),
    }
}

/// A number without an exponent, with the digits that it has.
fn number(text: &str) -> Result<String> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i64>().map_err(|_| too_large())?),
        None => (text, 0),
    };
    let (negative, unsigned) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = format!("{whole}{fraction}");
    let point = exponent.saturating_add(whole.len() as i64);
    let scale = (digits.len() as i64).saturating_sub(point).max(0);
    if point > WHOLE_DIGITS_MAX || scale > FRACTION_DIGITS_MAX {
        return Err(too_large());
    }
    let shifted = if point <= 0 {
        format!("0.{}{digits}", "0".repeat(point.unsigned_abs() as usize))
    } else if point as usize >= digits.len() {
        format!("{digits}{}", "0".repeat(point as usize - digits.len()))
    } else {
        format!("{}.{}", &digits[..point as usize], &digits[point as usize..])
    };
    let kept = shifted.trim_start_matches('0');
    let kept = if kept.is_empty() || kept.starts_with('.') { format!("0{kept}") } else { kept.to_owned() };
    let is_zero = kept.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    Ok(if negative && !is_zero { format!("-{kept}") } else { kept })
}

fn too_large() -> Error {
    Error::new(Code::NumericOutOfRange, "value overflows numeric format").hint("keep such a number as a text")
}
