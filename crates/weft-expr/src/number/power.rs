//! Powers, with PostgreSQL's scales.

use std::f64::consts::LOG10_E;

use weft_format::number::WHOLE_MAX;
use weft_format::{Code, Error, Result};

use super::arithmetic::{DISPLAY_SCALE_MAX, SIGNIFICANT, display_scale};
use super::decimal::{BASE_DIGITS, Decimal};
use super::integer::Integer;
use super::transcendental::{EXTRA, RESULT_SCALE_MAX, exp, ln, ln_weight};
use super::value::{Kind, Number, overflow};

/// Digits to the base of 10,000 before the point, at most.
const WEIGHT_MAX: i32 = (WHOLE_MAX as i32) / BASE_DIGITS - 1;

fn wrong(what: &str) -> Error {
    Error::new(Code::PowerArgument, what)
}

fn complex() -> Error {
    wrong("a negative number raised to a non-integer power yields a complex result")
}

impl Number {
    /// It, raised to a power.
    pub fn power(&self, exponent: &Number) -> Result<Number> {
        if self.sign_of() == 0 && exponent.sign_of() < 0 && !self.is_nan() && !exponent.is_nan() {
            return Err(wrong("zero raised to a negative power is undefined"));
        }
        match (&self.0, &exponent.0) {
            (Kind::Finite(base), Kind::Finite(exponent)) => Number::checked(power(base, exponent)?),
            _ => self.special_power(exponent),
        }
    }

    /// POSIX's rules for what is infinite, or not a number.
    fn special_power(&self, exponent: &Number) -> Result<Number> {
        let (zero, one, infinity) = (Number::new(0, 0), Number::new(1, 0), Number::infinity(false));
        let is_one = *self == one || *exponent == zero;
        if self.is_nan() || exponent.is_nan() {
            return Ok(if is_one { one } else { Number::nan() });
        }
        if self.sign_of() < 0 && exponent.finite().is_some_and(|exponent| !exponent.is_whole()) {
            return Err(complex());
        }
        if is_one {
            return Ok(one);
        }
        if self.sign_of() == 0 {
            return Ok(zero);
        }
        let is_growing = exponent.sign_of() > 0;
        let Some(power) = exponent.finite() else {
            let size = self.clone().absolute();
            return Ok(match size.cmp(&one) {
                std::cmp::Ordering::Equal => one,
                order => {
                    if order.is_gt() == is_growing {
                        infinity
                    } else {
                        zero
                    }
                }
            });
        };
        if !is_growing {
            return Ok(zero);
        }
        Ok(Number::infinity(self.sign_of() < 0 && is_odd(power)))
    }
}

/// Whether a whole number is odd.
fn is_odd(number: &Decimal) -> bool {
    number.truncated(0).digits.is_odd()
}

fn power(base: &Decimal, exponent: &Decimal) -> Result<Decimal> {
    let is_whole = exponent.is_whole();
    if is_whole
        && let Integer::Small(whole) = exponent.truncated(0).digits
        && let Ok(whole) = i32::try_from(whole)
    {
        return whole_power(base, whole, display_scale(SIGNIFICANT, &[base]));
    }
    if base.is_zero() {
        return Ok(Decimal::zero(SIGNIFICANT as u32));
    }
    if base.is_negative() && !is_whole {
        return Err(complex());
    }
    let negative = base.is_negative() && is_odd(exponent);
    let base = base.clone().absolute();
    let weight = ln_weight(&base);
    // With 8 digits that count first, to find the size of the result.
    let places = (EXTRA - weight).max(0);
    let size = ln(&base, places)?.times(exponent).rounded(places).to_f64();
    if size.abs() > f64::from(RESULT_SCALE_MAX) * 3.01 {
        return if size > 0.0 { Err(overflow()) } else { Ok(Decimal::zero(DISPLAY_SCALE_MAX as u32)) };
    }
    let size = (size * LOG10_E) as i32;
    let scale = display_scale(SIGNIFICANT - size, &[&base, exponent]);
    let places = ((scale as i32 + size).max(0) - weight + EXTRA).max(0);
    let logarithm = ln(&base, places)?.times(exponent).rounded(places);
    let result = exp(&logarithm, scale)?;
    Ok(if negative { result.negated() } else { result })
}

/// By repeated multiplication.
fn whole_power(base: &Decimal, exponent: i32, scale: u32) -> Result<Decimal> {
    let places = scale as i32;
    match exponent {
        0 => return Ok(Decimal::new(1, 0).rounded(places)),
        1 => return Ok(base.rounded(places)),
        2 => return Ok(base.times(base).rounded(places)),
        // Whoever raises 0 to a power below 0 has been refused.
        -1 => return Ok(Decimal::new(1, 0).quotient(base, scale)),
        _ if base.is_zero() => return Ok(Decimal::zero(scale)),
        _ => {}
    }
    let size = f64::from(exponent) * size_of(base);
    if size > f64::from((WEIGHT_MAX + 1) * BASE_DIGITS) {
        return Err(overflow());
    }
    if size + 1.0 < f64::from(-places) || size + 1.0 < f64::from(-DISPLAY_SCALE_MAX) {
        return Ok(Decimal::zero(scale));
    }
    // Digits that count: of the result, for what is lost by rounding, and some more.
    let digits = 1 + places + size as i32 + f64::from(exponent).abs().ln() as i32 + EXTRA;
    let Some(product) = repeated(base, exponent.unsigned_abs(), digits) else {
        return if exponent > 0 { Err(overflow()) } else { Ok(Decimal::zero(scale)) };
    };
    Ok(if exponent < 0 { Decimal::new(1, 0).quotient(&product, scale) } else { product.rounded(places) })
}

/// About log10 of the magnitude.
fn size_of(base: &Decimal) -> f64 {
    let leading = base.leading(4).into_iter().fold(0.0, |all, digit| all * 10_000.0 + f64::from(digit));
    leading.log10() + f64::from((base.weight() - 3) * BASE_DIGITS)
}

/// The power with about so many digits that count; none if it has more before the point than there may be.
fn repeated(base: &Decimal, exponent: u32, digits: i32) -> Option<Decimal> {
    let product = |a: &Decimal, b: &Decimal| {
        let places = digits - (a.weight() + b.weight()) * BASE_DIGITS;
        let product = a.times(b);
        let places = places.min(product.scale as i32).max(0);
        product.rounded(places)
    };
    let (mut square, mut rest) = (base.clone(), exponent);
    let mut result = if rest & 1 == 1 { base.clone() } else { Decimal::new(1, 0) };
    loop {
        rest >>= 1;
        if rest == 0 {
            return Some(result);
        }
        square = product(&square, &square);
        if rest & 1 == 1 {
            result = product(&square, &result);
        }
        if square.weight() > WEIGHT_MAX || result.weight() > WEIGHT_MAX {
            return None;
        }
    }
}
