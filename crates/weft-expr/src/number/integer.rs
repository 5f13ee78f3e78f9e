//! Integers of any size: an i128 while that is enough, which nearly all numbers are, and a big integer beyond it.
//!
//! ```text
//!   Small(150)                         1.50 is 150 * 10 ^ -2
//!   Big(2 ^ 126 and more)
//! ```
//!
//! An integer whose magnitude is below 2 ^ 126 is small, so equal integers are spelled alike.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};

use crate::text::pow10;

/// Bits of the largest small integer.
const SMALL_BITS: u64 = 126;
/// The largest power of ten that is small.
const POWER_MAX: u32 = 37;

/// An integer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Integer {
    /// Below 2 ^ 126 in magnitude.
    Small(i128),
    /// All others.
    Big(BigInt),
}

use Integer::{Big, Small};

impl From<i128> for Integer {
    fn from(value: i128) -> Integer {
        if value.unsigned_abs() >> SMALL_BITS == 0 { Small(value) } else { Big(value.into()) }
    }
}

impl From<BigInt> for Integer {
    fn from(value: BigInt) -> Integer {
        if value.bits() > SMALL_BITS {
            return Big(value);
        }
        Small(i128::try_from(value).expect("126 bits fit"))
    }
}

impl From<BigUint> for Integer {
    fn from(value: BigUint) -> Integer {
        BigInt::from_biguint(Sign::Plus, value).into()
    }
}

/// 10 ^ power.
pub(super) fn power_of_ten(power: u32) -> Integer {
    match u8::try_from(power) {
        Ok(small) if power <= POWER_MAX => Small(pow10(small)),
        _ => Big(BigInt::from(10).pow(power)),
    }
}

impl Integer {
    pub(super) const ZERO: Integer = Small(0);
    pub(super) const ONE: Integer = Small(1);

    pub(super) fn is_zero(&self) -> bool {
        matches!(self, Small(0))
    }

    pub(super) fn is_negative(&self) -> bool {
        match self {
            Small(value) => *value < 0,
            Big(value) => value.sign() == Sign::Minus,
        }
    }

    pub(super) fn is_odd(&self) -> bool {
        match self {
            Small(value) => value & 1 == 1,
            Big(value) => value.bit(0),
        }
    }

    pub(super) fn big(&self) -> BigInt {
        match self {
            Small(value) => (*value).into(),
            Big(value) => value.clone(),
        }
    }

    /// The magnitude.
    pub(super) fn magnitude(&self) -> BigUint {
        match self {
            Small(value) => value.unsigned_abs().into(),
            Big(value) => value.magnitude().clone(),
        }
    }

    pub(super) fn negated(self) -> Integer {
        match self {
            Small(value) => Small(-value),
            Big(value) => Big(-value),
        }
    }

    pub(super) fn absolute(self) -> Integer {
        if self.is_negative() { self.negated() } else { self }
    }

    pub(super) fn plus(&self, other: &Integer) -> Integer {
        match (self, other) {
            (Small(a), Small(b)) => (a + b).into(),
            (Big(a), Big(b)) => (a + b).into(),
            (Big(big), Small(small)) | (Small(small), Big(big)) => (big + small).into(),
        }
    }

    pub(super) fn minus(&self, other: &Integer) -> Integer {
        match (self, other) {
            (Small(a), Small(b)) => (a - b).into(),
            (Big(a), Big(b)) => (a - b).into(),
            (Big(a), Small(b)) => (a - b).into(),
            (Small(a), Big(b)) => (a - b).into(),
        }
    }

    pub(super) fn times(&self, other: &Integer) -> Integer {
        match (self, other) {
            (Small(a), Small(b)) => match a.checked_mul(*b) {
                Some(product) => product.into(),
                None => (BigInt::from(*a) * b).into(),
            },
            (Big(a), Big(b)) => (a * b).into(),
            (Big(big), Small(small)) | (Small(small), Big(big)) => (big * small).into(),
        }
    }

    /// Times 10 ^ power.
    pub(super) fn shifted(&self, power: u32) -> Integer {
        if power == 0 || self.is_zero() { self.clone() } else { self.times(&power_of_ten(power)) }
    }

    /// The quotient cut off towards 0, and the rest, which has the dividend's sign.
    ///
    /// # Panics
    ///
    /// When the divisor is 0.
    pub(super) fn divided(&self, divisor: &Integer) -> (Integer, Integer) {
        match (self, divisor) {
            (Small(a), Small(b)) => {
                if let (Ok(a), Ok(b)) = (i64::try_from(*a), i64::try_from(*b)) {
                    // Of 64 bits, many times faster.
                    return (Small((a / b).into()), Small((a % b).into()));
                }
                (Small(a / b), Small(a % b))
            }
            (Small(a), Big(_)) => (Small(0), Small(*a)),
            (a, b) => {
                let (a, b) = (a.big(), b.big());
                let quotient = &a / &b;
                let rest = a - &quotient * b;
                (quotient.into(), rest.into())
            }
        }
    }

    /// The quotient, rounded half away from zero.
    pub(super) fn divided_rounded(&self, divisor: &Integer) -> Integer {
        let (quotient, rest) = self.divided(divisor);
        let twice = rest.plus(&rest).absolute();
        if twice.compare(&divisor.clone().absolute()).is_lt() {
            return quotient;
        }
        let negative = self.is_negative() != divisor.is_negative();
        quotient.plus(&Small(if negative { -1 } else { 1 }))
    }

    pub(super) fn compare(&self, other: &Integer) -> Ordering {
        match (self, other) {
            (Small(a), Small(b)) => a.cmp(b),
            (Big(a), Big(b)) => a.cmp(b),
            (Big(_), Small(_)) => {
                if self.is_negative() {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (Small(_), Big(_)) => {
                if other.is_negative() {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
        }
    }

    /// How many decimal digits there are; 0 of 0.
    pub(super) fn digit_count(&self) -> u32 {
        match self {
            Small(value) => value.unsigned_abs().checked_ilog10().map_or(0, |log| log + 1),
            Big(value) => {
                // One too low at most: 2 ^ (bits - 1) <= value < 2 ^ bits.
                let low = ((value.bits() - 1) as f64 * std::f64::consts::LOG10_2) as u32;
                let is_more = value.magnitude() >= power_of_ten(low + 1).big().magnitude();
                low + 1 + u32::from(is_more)
            }
        }
    }

    /// How many of the decimal digits at the end are 0, at most so many.
    pub(super) fn trailing_zeros(&self, most: u32) -> u32 {
        match self {
            Small(value) => {
                let (mut rest, mut count) = (*value, 0);
                while count < most && rest != 0 && rest % 10 == 0 {
                    (rest, count) = (rest / 10, count + 1);
                }
                if rest == 0 { most } else { count }
            }
            Big(value) => {
                let digits = value.magnitude().to_radix_le(100);
                let zeros = digits.iter().take_while(|pair| **pair == 0).count();
                let one_more = digits.get(zeros).is_some_and(|pair| pair % 10 == 0);
                (2 * zeros as u32 + u32::from(one_more)).min(most)
            }
        }
    }
}
