//! Sizes in bytes as people write them.
//!
//! ```text
//!   10239 → 10239 bytes     10240 → 10 kB     20479 kB → 20 MB: a unit is left at twice the size at which it is taken
//!   '1.5 GB' → 1610612736   ' -1e2kb ' → -102400
//! ```
//!
//! 1. Sizes are rounded half away from zero: there is one more binary digit than the unit has.

use weft_format::{Code, DataType, Error, Result, Value};

use crate::arithmetic::out_of_range;
use crate::builtins::builtin::Call;
use crate::json;
use crate::text::{pow10, print, shorten};

/// Units, each 1024 of the one before it.
const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];

/// Sizes below this have the unit of bytes, and sizes below the other one, in halves, any other unit.
const BYTES_MAX: u128 = 10 * 1024;
const HALVES_MAX: u128 = 20 * 1024 - 1;

/// The size in a unit of a whole number of bytes that are too many to be written as such.
fn in_units(bytes: i128) -> String {
    let sign = if bytes < 0 { "-" } else { "" };
    // Half kilobytes, then half megabytes, and so on.
    let mut halves = bytes.unsigned_abs() >> 9;
    let mut unit = 1;
    while halves >= HALVES_MAX && unit + 1 < UNITS.len() {
        halves >>= 10;
        unit += 1;
    }
    format!("{sign}{} {}", halves.div_ceil(2), UNITS[unit])
}

pub(super) fn pretty(call: &Call<'_>) -> Result<Value> {
    let bytes = call.int(0);
    let is_small = u128::from(bytes.unsigned_abs()) < BYTES_MAX;
    let written = if is_small { format!("{bytes} bytes") } else { in_units(bytes.into()) };
    Ok(Value::Text(written.into()))
}

/// Of a numeric, whose fraction counts for bytes only.
pub(super) fn pretty_numeric(call: &Call<'_>) -> Result<Value> {
    let (value, scale) = call.decimal(0);
    let whole = value / pow10(scale);
    let is_small = whole.unsigned_abs() < BYTES_MAX;
    let shown = || format!("{} bytes", print(call.args[0].as_ref(), call.types[0]));
    Ok(Value::Text((if is_small { shown() } else { in_units(whole) }).into()))
}

/// `pg_size_bytes`
pub(super) fn bytes(call: &Call<'_>) -> Result<Value> {
    let text = call.text(0);
    let invalid = || Error::new(Code::InvalidParameterValue, format!("invalid size: \"{}\"", shorten(text)));
    let blank = |c: char| matches!(c, ' ' | '\t'..='\r');
    let trimmed = text.trim_matches(blank);
    let number = number_of(trimmed);
    let unit = trimmed[number.len()..].trim_start_matches(blank);
    let digits = number.trim_start_matches(['+', '-']);
    if !digits.starts_with(|c: char| c.is_ascii_digit())
        && !digits.strip_prefix('.').is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))
    {
        return Err(invalid());
    }
    let power = if unit.is_empty() { Some(0) } else { UNITS.iter().position(|known| known.eq_ignore_ascii_case(unit)) };
    let power = power.ok_or_else(|| {
        let hint = "Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".";
        invalid().detail(format!("Invalid size unit: \"{}\".", shorten(unit))).hint(hint)
    })?;
    multiplied(number, power as u32).map(Value::Int)
}

/// The number at the start of a text: a sign, digits, a point and an exponent.
fn number_of(text: &str) -> &str {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = usize::from(text.starts_with(['+', '-']));
    end += digits(end);
    if text[end..].starts_with('.') {
        end += 1 + digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let signed = end + 1 + usize::from(text[end + 1..].starts_with(['+', '-']));
        if digits(signed) > 0 {
            end = signed + digits(signed);
        }
    }
    &text[..end]
}

/// A number times a power of 1024, rounded half away from zero.
fn multiplied(number: &str, power: u32) -> Result<i64> {
    let (sign, unsigned) = match number.strip_prefix('-') {
        Some(unsigned) => (-1, unsigned),
        None => (1, number.trim_start_matches('+')),
    };
    let (mantissa, exponent) = unsigned.split_at(unsigned.find(['e', 'E']).unwrap_or(unsigned.len()));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = if whole.trim_start_matches('0').is_empty() { "0" } else { whole.trim_start_matches('0') };
    let point = if fraction.is_empty() { "" } else { "." };
    let canonical = json::canonical(&format!("{whole}{point}{fraction}{exponent}"))?;
    let (whole, fraction) = canonical.split_once('.').unwrap_or((&canonical, ""));
    let too_large = || out_of_range(DataType::BigInt);
    let unit = 1_i128 << (10 * power);
    let whole = whole.parse::<i64>().map_err(|_| too_large())?;
    // Eighteen digits say all of a part of a number below 1024^5 that rounding asks for, but for what lies at a half.
    let kept = &fraction[..fraction.len().min(18)];
    let scale = pow10(kept.len() as u8);
    let part = kept.parse::<i128>().unwrap_or(0) * unit;
    let bytes = i128::from(whole) * unit + (2 * part + scale) / (2 * scale);
    i64::try_from(sign * bytes).map_err(|_| too_large())
}
