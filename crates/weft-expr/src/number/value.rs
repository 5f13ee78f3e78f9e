//! A number to compute with, its bytes, and its order.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};
use weft_format::number::{Parts, SCALE_MAX, WHOLE_MAX};
use weft_format::{Code, Error, NumberRef, NumberValue, Result};

use super::decimal::Decimal;
use super::integer::Integer;

/// A number with a display scale, or none at all, or an infinite one.
#[derive(Clone, Debug)]
pub struct Number(pub(super) Kind);

#[derive(Clone, Debug)]
pub(super) enum Kind {
    NaN,
    Infinite { negative: bool },
    Finite(Decimal),
}

/// A number has more digits than there may be.
pub(super) fn overflow() -> Error {
    Error::new(Code::NumericOutOfRange, "value overflows numeric format")
}

pub(super) fn division_by_zero() -> Error {
    Error::new(Code::DivisionByZero, "division by zero")
}

impl Number {
    /// Not a number.
    pub fn nan() -> Number {
        Number(Kind::NaN)
    }

    /// Infinity or -Infinity.
    pub fn infinity(negative: bool) -> Number {
        Number(Kind::Infinite { negative })
    }

    /// `digits * 10 ^ -scale`, of at most [`SCALE_MAX`] digits behind the point.
    pub fn new(digits: i128, scale: u16) -> Number {
        Number(Kind::Finite(Decimal::new(digits, scale.into())))
    }

    /// A number that may have too many digits.
    pub(super) fn checked(decimal: Decimal) -> Result<Number> {
        let is_good = decimal.scale <= u32::from(SCALE_MAX)
            && decimal.digits.digit_count() as usize <= WHOLE_MAX + decimal.scale as usize;
        if is_good { Ok(Number(Kind::Finite(decimal))) } else { Err(overflow()) }
    }

    pub(super) fn finite(&self) -> Option<&Decimal> {
        match &self.0 {
            Kind::Finite(decimal) => Some(decimal),
            _ => None,
        }
    }

    /// Whether it is not a number.
    pub fn is_nan(&self) -> bool {
        matches!(self.0, Kind::NaN)
    }

    /// -1, 0 or 1; of NaN 1, for it is above all numbers.
    pub(super) fn sign_of(&self) -> i32 {
        match &self.0 {
            Kind::NaN => 1,
            Kind::Infinite { negative } => 1 - 2 * i32::from(*negative),
            Kind::Finite(decimal) => decimal.sign(),
        }
    }

    /// Takes a number from its bytes.
    pub fn from_bytes(bytes: NumberRef<'_>) -> Number {
        if let Some((digits, scale)) = bytes.small() {
            return Number::new(digits, scale);
        }
        match bytes.read() {
            Parts::NaN => Number::nan(),
            Parts::Infinite { negative } => Number::infinity(negative),
            Parts::Finite { negative, pairs, exponent, scale } => {
                let sign = if negative { Sign::Minus } else { Sign::Plus };
                let read = BigUint::from_radix_be(&pairs, 100).expect("pairs are below 100");
                let digits = Integer::from(BigInt::from_biguint(sign, read));
                // The pairs' last digit is one of so many behind the point; of an odd count the pairs have one more, 0.
                let behind = 2 * (pairs.len() as i64 - i64::from(exponent));
                let missing = i64::from(scale) - behind;
                let digits = match u32::try_from(missing) {
                    Ok(missing) => digits.shifted(missing),
                    Err(_) => digits.divided(&Integer::Small(10)).0,
                };
                Number(Kind::Finite(Decimal { digits, scale: scale.into() }))
            }
        }
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> NumberValue {
        let decimal = match &self.0 {
            Kind::NaN => return NumberValue::nan(),
            Kind::Infinite { negative } => return NumberValue::infinity(*negative),
            Kind::Finite(decimal) => decimal,
        };
        let scale = u16::try_from(decimal.scale).expect("numbers have at most 16,383 digits behind the point");
        if let Integer::Small(digits) = decimal.digits {
            return NumberValue::from_digits(digits, scale);
        }
        let pairs = decimal.digits_at(decimal.scale.next_multiple_of(2)).magnitude().to_radix_be(100);
        let exponent = pairs.len() as i32 - i32::from(scale.div_ceil(2));
        NumberValue::from_pairs(decimal.is_negative(), &pairs, exponent, scale)
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// NaN is equal to itself and above all others; scales do not count.
impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        let rank = |number: &Number| match number.0 {
            Kind::Infinite { negative: true } => 0,
            Kind::Finite(_) => 1,
            Kind::Infinite { negative: false } => 2,
            Kind::NaN => 3,
        };
        match (&self.0, &other.0) {
            (Kind::Finite(a), Kind::Finite(b)) => a.compare(b),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}
