//! Numbers: integers with range errors, floats, decimals as scaled integers.

use weft_format::{Code, DataType, Error, Result};

use super::messages::{invalid_text, shorten, type_name};

/// Powers of ten that fit an i128: 10^0 to 10^38.
const POWERS: [i128; 39] = {
    let mut powers = [1i128; 39];
    let mut n = 1;
    while n < 39 {
        powers[n] = powers[n - 1] * 10;
        n += 1;
    }
    powers
};

/// `numeric` without a precision: 38 digits, of which 10 are after the point.
pub const NUMERIC_DEFAULT: DataType = DataType::Numeric { precision: 38, scale: 10 };

/// 10^n for n up to 38.
pub fn pow10(n: u8) -> i128 {
    POWERS[usize::from(n)]
}

/// Reads a smallint, integer or bigint; surrounding blanks are allowed.
pub fn parse_integer(text: &str, data_type: DataType) -> Result<i64> {
    let digits = text.trim();
    let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid_text(text, data_type));
    }
    let out_of_range = || {
        let name = type_name(data_type);
        Error::new(Code::NumericOutOfRange, format!("value \"{}\" is out of range for type {name}", shorten(text)))
    };
    let value: i64 = digits.parse().map_err(|_| out_of_range())?;
    if fits_integer(value, data_type) { Ok(value) } else { Err(out_of_range()) }
}

/// Whether a number fits smallint, integer or bigint.
pub fn fits_integer(value: i64, data_type: DataType) -> bool {
    match data_type {
        DataType::SmallInt => i16::try_from(value).is_ok(),
        DataType::Integer => i32::try_from(value).is_ok(),
        _ => true,
    }
}

/// Reads a real (rounded to 32 bits) or a double precision.
pub fn parse_float(text: &str, data_type: DataType) -> Result<f64> {
    let word = text.trim();
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let is_special = ["infinity", "inf", "nan"].iter().any(|name| unsigned.eq_ignore_ascii_case(name));
    if !is_special && !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Err(invalid_text(text, data_type));
    }
    if unsigned.starts_with("0x") || unsigned.starts_with("0X") {
        let value = hexadecimal(&unsigned[2..]).ok_or_else(|| invalid_text(text, data_type))?;
        let value = if data_type == DataType::Real { f64::from(value as f32) } else { value };
        return Ok(if word.starts_with('-') { -value } else { value });
    }
    let value: f64 = word.parse().map_err(|_| invalid_text(text, data_type))?;
    let rounded = if data_type == DataType::Real { f64::from(value as f32) } else { value };
    let has_digit =
        unsigned.bytes().take_while(|byte| !matches!(byte, b'e' | b'E')).any(|byte| matches!(byte, b'1'..=b'9'));
    if (rounded.is_infinite() && !is_special) || (rounded == 0.0 && has_digit) {
        let name = type_name(data_type);
        return Err(Error::new(
            Code::NumericOutOfRange,
            format!("\"{}\" is out of range for type {name}", shorten(text)),
        ));
    }
    Ok(rounded)
}

/// `10`, `1.8`, `1.8p3` behind 0x, as C reads floats; none of more than 53 bits, and of exponents beyond doubles.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, exponent) = match text.split_once(['p', 'P']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let is_short = (1..=14).contains(&all.len()) && exponent.abs() <= 900;
    if !is_short || !all.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mantissa = u64::from_str_radix(&all, 16).ok().filter(|mantissa| *mantissa <= 1 << 53)?;
    Some(mantissa as f64 * 2_f64.powi(exponent - 4 * fraction.len() as i32))
}

/// Reads a numeric(precision, scale): rounds half away from zero to the scale.
pub fn parse_decimal(text: &str, precision: u8, scale: u8) -> Result<i128> {
    let data_type = DataType::Numeric { precision, scale };
    let word = text.trim();
    if ["nan", "infinity", "inf"].iter().any(|name| word.trim_start_matches(['+', '-']).eq_ignore_ascii_case(name)) {
        return Err(Error::new(Code::FeatureNotSupported, format!("numeric cannot hold \"{}\"", shorten(text)))
            .hint("use double precision for NaN and Infinity"));
    }
    let (mantissa, exponent) = match word.find(['e', 'E']) {
        Some(at) => (&word[..at], word[at + 1..].parse::<i32>().map_err(|_| invalid_text(text, data_type))?),
        None => (word, 0),
    };
    let (negative, unsigned) = match mantissa.as_bytes().first() {
        Some(b'-') => (true, &mantissa[1..]),
        Some(b'+') => (false, &mantissa[1..]),
        _ => (false, mantissa),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
        return Err(invalid_text(text, data_type));
    }
    // The decimal point lies after `point` digits of `whole ++ fraction`; `keep` of them are kept, the next one rounds.
    let digits = || whole.bytes().chain(fraction.bytes());
    let keep = i64::from(exponent) + whole.len() as i64 + i64::from(scale);
    let mut value: i128 = 0;
    let mut overflow = false;
    for (index, digit) in digits().enumerate() {
        let index = index as i64;
        if index < keep {
            match value.checked_mul(10).and_then(|v| v.checked_add(i128::from(digit - b'0'))) {
                Some(next) => value = next,
                None => overflow = true,
            }
        } else {
            value += i128::from(index == keep && digit >= b'5');
            break;
        }
    }
    let missing = keep - (whole.len() + fraction.len()) as i64;
    if missing > 0 && value != 0 {
        match u8::try_from(missing).ok().filter(|n| *n <= 38).and_then(|n| value.checked_mul(pow10(n))) {
            Some(next) => value = next,
            None => overflow = true,
        }
    }
    if overflow || value >= pow10(precision) {
        return Err(decimal_overflow(precision, scale));
    }
    Ok(if negative { -value } else { value })
}

/// Changes the scale of a decimal, rounding half away from zero; none when it does not fit an i128.
pub fn rescale(value: i128, from: u8, to: u8) -> Option<i128> {
    if to >= from {
        return value.checked_mul(pow10(to - from));
    }
    let divisor = pow10(from - to);
    let (quotient, rest) = (value / divisor, value % divisor);
    let away = rest.unsigned_abs() >= divisor.unsigned_abs() - rest.unsigned_abs();
    Some(if away { quotient + value.signum() } else { quotient })
}

/// `numeric field overflow`, with what the type can hold.
pub fn decimal_overflow(precision: u8, scale: u8) -> Error {
    if NUMERIC_DEFAULT == (DataType::Numeric { precision, scale }) {
        // It is no type that somebody has chosen.
        let message = "numeric without a precision holds 28 digits before the point";
        return Error::new(Code::FeatureNotSupported, message).hint("cast to double precision");
    }
    Error::new(
        Code::NumericOutOfRange,
        format!("numeric field overflow: a value does not fit numeric({precision},{scale})"),
    )
    .hint(format!("the absolute value must be less than 10^{}", precision - scale.min(precision)))
}
