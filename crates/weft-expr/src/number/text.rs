//! Numbers as text, from and to their bytes.

use weft_format::number::{Parts, SCALE_MAX, WHOLE_MAX};
use weft_format::{Code, Error, NumberRef, NumberValue, Result};

use super::value::overflow;
use crate::text::shorten;

/// Exponents beyond it are errors, whatever they are of.
const EXPONENT_MAX: i64 = i32::MAX as i64 / 2;

/// Blanks as C's `isspace` knows them.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r')
}

/// Reads a number: `1.50`, `-1e10`, `NaN`, `Infinity`; its scale is as many digits as stand behind the point.
pub fn parse_number(text: &str) -> Result<NumberValue> {
    let wrong = || {
        let message = format!("invalid input syntax for type numeric: \"{}\"", shorten(text));
        Error::new(Code::InvalidText, message)
    };
    let word = text.trim_matches(is_blank);
    let (negative, unsigned) = match word.as_bytes().first() {
        Some(b'-') => (true, &word[1..]),
        Some(b'+') => (false, &word[1..]),
        _ => (false, word),
    };
    if word.eq_ignore_ascii_case("nan") {
        return Ok(NumberValue::nan());
    }
    if ["infinity", "inf"].iter().any(|name| unsigned.eq_ignore_ascii_case(name)) {
        return Ok(NumberValue::infinity(negative));
    }
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], read_exponent(&unsigned[at + 1..]).ok_or_else(wrong)?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
        return Err(wrong());
    }
    if exponent.abs() >= EXPONENT_MAX {
        return Err(overflow());
    }
    of_digits(negative, whole, fraction, exponent)
}

/// A sign and digits; blanks may stand before them, as `strtol` reads.
fn read_exponent(text: &str) -> Option<i64> {
    let word = text.trim_start_matches(is_blank);
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse().unwrap_or(EXPONENT_MAX).min(EXPONENT_MAX);
    Some(if word.starts_with('-') { -size } else { size })
}

fn of_digits(negative: bool, whole: &str, fraction: &str, exponent: i64) -> Result<NumberValue> {
    let scale = (fraction.len() as i64 - exponent).max(0);
    let scale = u16::try_from(scale).ok().filter(|scale| *scale <= SCALE_MAX).ok_or_else(overflow)?;
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0').collect();
    // Digits before the point, leading zeros among them.
    let before = whole.len() as i64 + exponent;
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    if before - zeros as i64 > WHOLE_MAX as i64 && zeros < digits.len() {
        return Err(overflow());
    }
    // The point lies between two pairs.
    let pad = before.rem_euclid(2);
    let mut pairs = Vec::with_capacity(digits.len() / 2 + 2);
    let mut rest = digits.as_slice();
    if pad == 1 && !rest.is_empty() {
        pairs.push(rest[0]);
        rest = &rest[1..];
    }
    pairs.extend(rest.chunks(2).map(|pair| pair[0] * 10 + pair.get(1).copied().unwrap_or(0)));
    if zeros == digits.len() {
        return Ok(NumberValue::from_pairs(false, &[], 0, scale));
    }
    Ok(NumberValue::from_pairs(negative, &pairs, ((before + pad) / 2) as i32, scale))
}

/// Appends a number as PostgreSQL writes it, with all digits that its scale says.
pub fn write_number(out: &mut String, number: NumberRef<'_>) {
    let (negative, pairs, exponent, scale) = match number.read() {
        Parts::NaN => return out.push_str("NaN"),
        Parts::Infinite { negative } => return out.push_str(if negative { "-Infinity" } else { "Infinity" }),
        Parts::Finite { negative, pairs, exponent, scale } => (negative, pairs, exponent, usize::from(scale)),
    };
    if negative {
        out.push('-');
    }
    let digit = |value: u8| char::from(b'0' + value);
    let push = |out: &mut String, at: i32| {
        let pair = usize::try_from(at).ok().and_then(|at| pairs.get(at)).copied().unwrap_or(0);
        out.extend([digit(pair / 10), digit(pair % 10)]);
    };
    let start = out.len();
    (0..exponent).for_each(|at| push(out, at));
    if out[start..].starts_with('0') {
        // The first pair has one digit.
        out.remove(start);
    }
    if out.len() == start {
        out.push('0');
    }
    if scale > 0 {
        out.push('.');
        let behind = out.len();
        (exponent..exponent + scale.div_ceil(2) as i32).for_each(|at| push(out, at));
        out.truncate(behind + scale);
    }
}
