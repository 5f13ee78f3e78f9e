//! Finite numbers: an integer of any size and how many of its digits are behind the point.
//!
//! ```text
//!   1.50 + 2.125      150, 2 and 2125, 3      3625, 3      3.625
//!   1.50 * 2.125                              318750, 5    3.18750
//!   weight(12345.6)   1: the point stands behind 10,000 ^ 1; the first digit to that base is 1
//! ```
//!
//! PostgreSQL counts in digits to the base of 10,000, and chooses the scale of quotients, roots and powers by the place
//! of the first of them (`weight`), so that place is computed here, too.

use std::cmp::Ordering;

use super::integer::{Integer, power_of_ten};

/// Decimal digits of a digit to the base of 10,000.
pub(super) const BASE_DIGITS: i32 = 4;

/// `digits * 10 ^ -scale`.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    pub(super) digits: Integer,
    pub(super) scale: u32,
}

impl Decimal {
    pub(super) fn new(digits: impl Into<Integer>, scale: u32) -> Decimal {
        Decimal { digits: digits.into(), scale }
    }

    /// 0 with a scale.
    pub(super) fn zero(scale: u32) -> Decimal {
        Decimal { digits: Integer::ZERO, scale }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_zero()
    }

    pub(super) fn is_negative(&self) -> bool {
        self.digits.is_negative()
    }

    /// -1, 0 or 1.
    pub(super) fn sign(&self) -> i32 {
        if self.is_zero() { 0 } else { 1 - 2 * i32::from(self.is_negative()) }
    }

    /// Whether all digits behind the point are 0.
    pub(super) fn is_whole(&self) -> bool {
        self.scale_needed() == 0
    }

    /// Digits behind the point up to the last that is not 0.
    pub(super) fn scale_needed(&self) -> u32 {
        if self.is_zero() { 0 } else { self.scale - self.digits.trailing_zeros(self.scale) }
    }

    /// The power of ten of the first digit; 0 of 0.
    pub(super) fn magnitude(&self) -> i32 {
        if self.is_zero() { 0 } else { self.digits.digit_count() as i32 - 1 - self.scale as i32 }
    }

    /// The power of 10,000 of the first digit to that base; 0 of 0.
    pub(super) fn weight(&self) -> i32 {
        self.magnitude().div_euclid(BASE_DIGITS)
    }

    /// The first digits to the base of 10,000, so many of them: at most 4.
    pub(super) fn leading(&self, count: u32) -> Vec<u32> {
        assert!(count <= 4, "16 decimal digits and fewer are asked for");
        if self.is_zero() {
            return vec![0; count as usize];
        }
        let (all, scale) = (self.digits.digit_count(), self.magnitude());
        let wanted = scale.rem_euclid(BASE_DIGITS) as u32 + 1 + BASE_DIGITS as u32 * (count - 1);
        let digits = self.digits.clone().absolute();
        let digits =
            if wanted >= all { digits.shifted(wanted - all) } else { digits.divided(&power_of_ten(all - wanted)).0 };
        let Integer::Small(mut rest) = digits else { unreachable!("16 digits are small") };
        let mut leading = vec![0; count as usize];
        for digit in leading.iter_mut().rev() {
            *digit = (rest % 10_000) as u32;
            rest /= 10_000;
        }
        leading
    }

    /// As an f64, infinite if it is too large.
    pub(super) fn to_f64(&self) -> f64 {
        let (magnitude, count) = (self.magnitude(), self.digits.digit_count());
        if magnitude > 400 || (magnitude < -400 && !self.is_zero()) {
            let size = if magnitude > 0 { f64::INFINITY } else { 0.0 };
            return if self.is_negative() { -size } else { size };
        }
        // 800 digits decide how it is rounded; of what is cut off counts only whether there is something.
        let cut = count.saturating_sub(800);
        let (kept, rest) = self.digits.divided(&power_of_ten(cut));
        let more = if rest.is_zero() { "" } else { "1" };
        let exponent = i64::from(cut) - i64::from(self.scale) - more.len() as i64;
        format!("{}{more}e{exponent}", kept.big()).parse().expect("digits with an exponent are a float's text")
    }

    pub(super) fn negated(self) -> Decimal {
        Decimal { digits: self.digits.negated(), scale: self.scale }
    }

    pub(super) fn absolute(self) -> Decimal {
        Decimal { digits: self.digits.absolute(), scale: self.scale }
    }

    /// The digits in a scale that is not below its own.
    pub(super) fn digits_at(&self, scale: u32) -> Integer {
        self.digits.shifted(scale - self.scale)
    }

    pub(super) fn plus(&self, other: &Decimal) -> Decimal {
        let scale = self.scale.max(other.scale);
        Decimal { digits: self.digits_at(scale).plus(&other.digits_at(scale)), scale }
    }

    pub(super) fn minus(&self, other: &Decimal) -> Decimal {
        let scale = self.scale.max(other.scale);
        Decimal { digits: self.digits_at(scale).minus(&other.digits_at(scale)), scale }
    }

    /// With all digits.
    pub(super) fn times(&self, other: &Decimal) -> Decimal {
        Decimal { digits: self.digits.times(&other.digits), scale: self.scale + other.scale }
    }

    /// Rounded half away from zero to so many digits behind the point; if that is negative, to powers of ten.
    pub(super) fn rounded(&self, places: i32) -> Decimal {
        self.cut(places, Integer::divided_rounded)
    }

    /// Cut off towards zero behind so many digits behind the point; if that is negative, at powers of ten.
    pub(super) fn truncated(&self, places: i32) -> Decimal {
        self.cut(places, |digits, unit| digits.divided(unit).0)
    }

    fn cut(&self, places: i32, divide: impl Fn(&Integer, &Integer) -> Integer) -> Decimal {
        let scale = places.max(0) as u32;
        let dropped = self.scale as i32 - places;
        if dropped <= 0 {
            return Decimal { digits: self.digits_at(scale), scale };
        }
        if self.magnitude() + 1 < -places {
            return Decimal::zero(scale);
        }
        let kept = divide(&self.digits, &power_of_ten(dropped as u32));
        Decimal { digits: kept.shifted(places.min(0).unsigned_abs()), scale }
    }

    /// The largest whole number that is not above it.
    pub(super) fn floor(&self) -> Decimal {
        let whole = self.truncated(0);
        if self.is_negative() && self.compare(&whole).is_lt() { whole.minus(&Decimal::new(1, 0)) } else { whole }
    }

    /// The smallest whole number that is not below it.
    pub(super) fn ceil(&self) -> Decimal {
        self.clone().negated().floor().negated()
    }

    /// `self / divisor`, rounded half away from zero to so many digits behind the point.
    ///
    /// # Panics
    ///
    /// When the divisor is 0.
    pub(super) fn quotient(&self, divisor: &Decimal, scale: u32) -> Decimal {
        let (dividend, divisor) = self.aligned_quotient(divisor, scale);
        Decimal { digits: dividend.divided_rounded(&divisor), scale }
    }

    /// The quotient's whole digits.
    pub(super) fn whole_quotient(&self, divisor: &Decimal) -> Decimal {
        let (dividend, divisor) = self.aligned_quotient(divisor, 0);
        Decimal { digits: dividend.divided(&divisor).0, scale: 0 }
    }

    /// Two integers whose quotient is that of the numbers times 10 ^ scale.
    fn aligned_quotient(&self, divisor: &Decimal, scale: u32) -> (Integer, Integer) {
        let (above, below) = (scale + divisor.scale, self.scale);
        let common = above.min(below);
        (self.digits.shifted(above - common), divisor.digits.shifted(below - common))
    }

    /// What is left of a division with a whole quotient; it has the dividend's sign.
    pub(super) fn remainder(&self, divisor: &Decimal) -> Decimal {
        let scale = self.scale.max(divisor.scale);
        let (_, rest) = self.digits_at(scale).divided(&divisor.digits_at(scale));
        Decimal { digits: rest, scale }
    }

    pub(super) fn compare(&self, other: &Decimal) -> Ordering {
        let (sign, other_sign) = (self.sign(), other.sign());
        if sign != other_sign {
            return sign.cmp(&other_sign);
        }
        if self.scale == other.scale {
            return self.digits.compare(&other.digits);
        }
        let size = self.magnitude().cmp(&other.magnitude());
        if size.is_ne() {
            return if sign < 0 { size.reverse() } else { size };
        }
        let scale = self.scale.max(other.scale);
        self.digits_at(scale).compare(&other.digits_at(scale))
    }
}
