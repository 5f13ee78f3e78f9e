//! Floats to text: the shortest digits that read back as the value, of these the nearest to it, as PostgreSQL has them.
//!
//! ```text
//!   1e15::float8 + 2.25     1.0000000000000022e+15     two are equally near: the even one
//!   1e23::float8            9.999999999999999e+22      1e23 lies in the middle between two floats, so it is neither
//! ```

use std::fmt::Write as _;

/// Appends a double precision value.
pub(super) fn write_double(out: &mut String, value: f64) {
    match words(value) {
        Some(words) => out.push_str(words),
        None => write_digits(out, value < 0.0, &double_digits(value.abs()), 15),
    }
}

/// Appends a real value.
pub(super) fn write_real(out: &mut String, value: f32) {
    match words(f64::from(value)) {
        Some(words) => out.push_str(words),
        None => write_digits(out, value < 0.0, &real_digits(value.abs()), 6),
    }
}

fn words(value: f64) -> Option<&'static str> {
    Some(match value {
        value if value.is_nan() => "NaN",
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        0.0 => {
            if value.is_sign_negative() {
                "-0"
            } else {
                "0"
            }
        }
        _ => return None,
    })
}

/// A positive number as `0.DIGITS * 10^point`, without zeros at either end.
#[derive(Debug, PartialEq, Eq)]
struct Digits {
    digits: String,
    point: i32,
}

impl Digits {
    /// Of a number like `12.5`, `0.001` or `1.25e-7`.
    fn read(text: &str) -> Digits {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent: i32 = exponent.parse().expect("an exponent has digits");
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0');
        let point = whole.len() as i32 + exponent - (all.len() - digits.len()) as i32;
        let digits = digits.trim_end_matches('0').to_owned();
        debug_assert!(!digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()), "{text}");
        Digits { digits, point }
    }
}

/// Whether these digits are those of a middle between the float `mantissa * 2^exponent` and one beside it. Where its
/// last bit is worth one or less, a middle has more digits than a float needs.
fn is_middle(digits: &Digits, mantissa: u64, exponent: i32) -> bool {
    let tens = digits.point - digits.digits.len() as i32;
    if exponent < 1 || !(0..=24).contains(&tens) || digits.digits.len() > 18 {
        return false;
    }
    let number: u128 = digits.digits.parse().expect("18 digits fit");
    // (2 m ± 1) * 2^(exponent - 1) = number * 10^tens, both divided by 2^tens.
    let number = number * 5_u128.pow(tens as u32);
    [2 * u128::from(mantissa) - 1, 2 * u128::from(mantissa) + 1].into_iter().any(|middle| match exponent - 1 - tens {
        shift @ 0..=60 => middle << shift == number,
        shift @ -60..0 => middle == number << -shift,
        _ => false,
    })
}

fn double_digits(value: f64) -> Digits {
    let exponent = (value.to_bits() >> 52) as i32 - 1075;
    let mantissa = value.to_bits() & ((1 << 52) - 1) | 1 << 52;
    let shortest = Digits::read(ryu::Buffer::new().format_finite(value));
    beside_middle(shortest, mantissa, exponent, |places| {
        let text = format!("{value:.places$e}");
        (text.parse() == Ok(value)).then_some(text)
    })
}

fn real_digits(value: f32) -> Digits {
    let exponent = (value.to_bits() >> 23) as i32 - 150;
    let mantissa = u64::from(value.to_bits() & ((1 << 23) - 1) | 1 << 23);
    let shortest = Digits::read(ryu::Buffer::new().format_finite(value));
    beside_middle(shortest, mantissa, exponent, |places| {
        let text = format!("{value:.places$e}");
        (text.parse() == Ok(value)).then_some(text)
    })
}

/// The shortest digits that are nearer to the float than to any other. `rounded` writes it with so many places, if that
/// reads back.
fn beside_middle(shortest: Digits, mantissa: u64, exponent: i32, rounded: impl Fn(usize) -> Option<String>) -> Digits {
    if !is_middle(&shortest, mantissa, exponent) {
        return shortest;
    }
    let mut longer = (shortest.digits.len()..17).filter_map(rounded).map(|text| Digits::read(&text));
    longer.find(|longer| *longer != shortest).expect("17 digits are no middle")
}

/// PostgreSQL writes exponents from -4 up to (not including) `fixed_below` without an exponent.
fn write_digits(out: &mut String, negative: bool, digits: &Digits, fixed_below: i32) {
    let Digits { digits, point } = digits;
    if negative {
        out.push('-');
    }
    let exponent = point - 1;
    if !(-4..fixed_below).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{first}{dot}{rest}e{sign}{:02}", exponent.abs()).expect("writing to a String cannot fail");
    } else if *point <= 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', point.unsigned_abs() as usize));
        out.push_str(digits);
    } else if digits.len() <= *point as usize {
        out.push_str(digits);
        out.extend(std::iter::repeat_n('0', *point as usize - digits.len()));
    } else {
        let (whole, fraction) = digits.split_at(*point as usize);
        out.push_str(whole);
        out.push('.');
        out.push_str(fraction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As PostgreSQL 15 writes them.
    #[test]
    fn doubles_have_postgresqls_digits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
            (1.0, "1"),
            (-12.5, "-12.5"),
            (100.0, "100"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (999_999_999_999_999.0, "999999999999999"),
            (1e15, "1e+15"),
            (1e15 + 2.25, "1.0000000000000022e+15"),
            (2_f64.powi(-25), "2.9802322387695312e-08"),
            (1e22, "1e+22"),
            (1e23, "9.999999999999999e+22"),
            (8.41e21, "8.409999999999999e+21"),
            (-2.003485544858745e16, "-2.0034855448587448e+16"),
            (-4.575667461512672e18, "-4.5756674615126723e+18"),
            (-5.87563471363608e17, "-5.875634713636081e+17"),
            (2.620136414624388e17, "2.6201364146243878e+17"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
        ] {
            let mut out = String::new();
            write_double(&mut out, value);
            assert_eq!(out, text);
        }
    }
}
