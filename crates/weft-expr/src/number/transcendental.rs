//! Square roots, exponentials and logarithms, with PostgreSQL's scales.

use std::f64::consts::{LN_10, LOG10_E};

use weft_format::{Code, Error, Result};

use super::arithmetic::{SIGNIFICANT, display_scale};
use super::decimal::{BASE_DIGITS, Decimal};
use super::fixed;
use super::integer::Integer;
use super::value::{Kind, Number, division_by_zero, overflow};

/// Digits behind the point of what is computed on the way, at most.
pub(super) const RESULT_SCALE_MAX: i32 = 2_000;
/// An exponential of more is more than there may be.
const EXPONENT_MAX: f64 = 3.0 * RESULT_SCALE_MAX as f64;
/// Digits beyond those of the result.
pub(super) const EXTRA: i32 = 8;

fn negative_root() -> Error {
    Error::new(Code::PowerArgument, "cannot take square root of a negative number")
}

fn wrong_logarithm(sign: i32) -> Error {
    let of = if sign < 0 { "a negative number" } else { "zero" };
    Error::new(Code::LogarithmArgument, format!("cannot take logarithm of {of}"))
}

impl Number {
    /// The square root.
    pub fn root(&self) -> Result<Number> {
        match &self.0 {
            Kind::Infinite { negative: true } => Err(negative_root()),
            Kind::Finite(decimal) if decimal.is_negative() => Err(negative_root()),
            Kind::Finite(decimal) => {
                let places = SIGNIFICANT - (decimal.weight() * BASE_DIGITS / 2 + 1);
                Number::checked(root(decimal, display_scale(places, &[decimal])))
            }
            _ => Ok(self.clone()),
        }
    }

    /// e to the power of it.
    pub fn exp(&self) -> Result<Number> {
        match &self.0 {
            Kind::Infinite { negative: true } => Ok(Number::new(0, 0)),
            Kind::Finite(decimal) => {
                let bound = f64::from(RESULT_SCALE_MAX);
                let weight = (decimal.to_f64() * LOG10_E).clamp(-bound, bound) as i32;
                Number::checked(exp(decimal, display_scale(SIGNIFICANT - weight, &[decimal]))?)
            }
            _ => Ok(self.clone()),
        }
    }

    /// The natural logarithm.
    pub fn ln(&self) -> Result<Number> {
        match &self.0 {
            Kind::Infinite { negative: true } => Err(wrong_logarithm(-1)),
            Kind::Finite(decimal) => {
                let places = display_scale(SIGNIFICANT - ln_weight(decimal), &[decimal]);
                Number::checked(ln(decimal, places as i32)?)
            }
            _ => Ok(self.clone()),
        }
    }

    /// The logarithm to a base.
    pub fn log(base: &Number, number: &Number) -> Result<Number> {
        let (Kind::Finite(a), Kind::Finite(b)) = (&base.0, &number.0) else {
            if base.is_nan() || number.is_nan() {
                return Ok(Number::nan());
            }
            let least = base.sign_of().min(number.sign_of());
            return match (least, &base.0, &number.0) {
                (..1, ..) => Err(wrong_logarithm(least)),
                (_, Kind::Finite(_), _) => Ok(Number::infinity(false)),
                (_, _, Kind::Finite(_)) => Ok(Number::new(0, 0)),
                _ => Ok(Number::nan()),
            };
        };
        let (base_weight, number_weight) = (ln_weight(a), ln_weight(b));
        let weight = number_weight - base_weight;
        let places = display_scale(SIGNIFICANT - weight, &[a, b]);
        // Each with more digits that count than the result.
        let digits = places as i32 + weight + EXTRA;
        let (divisor, dividend) = (ln(a, digits - base_weight)?, ln(b, digits - number_weight)?);
        if divisor.is_zero() {
            return Err(division_by_zero());
        }
        Number::checked(dividend.quotient(&divisor, places))
    }
}

/// Rounded half away from zero to so many digits behind the point.
pub(super) fn root(number: &Decimal, places: u32) -> Decimal {
    // sqrt(digits * 10 ^ -scale) * 10 ^ (places + 1) = sqrt(digits * 10 ^ (2 places + 2 - scale))
    let radicand = number.truncated(2 * places as i32 + 2);
    let digits = radicand.digits_at(2 * places + 2);
    let with_one_more = match digits {
        Integer::Small(value) => Integer::from(value.isqrt()),
        Integer::Big(value) => value.sqrt().into(),
    };
    Decimal { digits: with_one_more.divided_rounded(&Integer::Small(10)), scale: places }
}

pub(super) fn exp(number: &Decimal, places: u32) -> Result<Decimal> {
    let value = number.to_f64();
    if value >= EXPONENT_MAX {
        return Err(overflow());
    }
    if value <= -EXPONENT_MAX {
        return Ok(Decimal::zero(places));
    }
    Ok(fixed::exp(number, places))
}

/// The natural logarithm with so many digits behind the point, none if that is negative.
pub(super) fn ln(number: &Decimal, places: i32) -> Result<Decimal> {
    match number.sign() {
        1 => Ok(fixed::ln(number, places.max(0) as u32)),
        sign => Err(wrong_logarithm(sign)),
    }
}

/// About the power of ten of the first digit of a natural logarithm; 0 where there is none.
pub(super) fn ln_weight(number: &Decimal) -> i32 {
    if number.sign() <= 0 {
        return 0;
    }
    let is_near_one = number.compare(&Decimal::new(9, 1)).is_ge() && number.compare(&Decimal::new(11, 1)).is_le();
    if is_near_one {
        // ln(1 + x) is about x.
        return number.minus(&Decimal::new(1, 0)).magnitude();
    }
    let leading = number.leading(2);
    let digits = f64::from(leading[0] * 10_000 + leading[1]);
    let power = (number.weight() - 1) * BASE_DIGITS;
    (digits.ln() + f64::from(power) * LN_10).abs().log10() as i32
}
