//! Sums, differences, products, quotients and remainders, with PostgreSQL's scales.

use weft_format::Result;
use weft_format::number::SCALE_MAX;

use super::decimal::{BASE_DIGITS, Decimal};
use super::value::{Kind, Number, division_by_zero};

/// Digits that count, of a quotient, a root or a power, at least.
pub(super) const SIGNIFICANT: i32 = 16;
/// Digits behind the point that such a result has at most.
pub(super) const DISPLAY_SCALE_MAX: i32 = 1_000;

/// A scale within its bounds that is not below those of the operands.
pub(super) fn display_scale(wanted: i32, operands: &[&Decimal]) -> u32 {
    let least = operands.iter().map(|operand| operand.scale as i32).max().unwrap_or(0);
    wanted.max(least).clamp(0, DISPLAY_SCALE_MAX) as u32
}

/// PostgreSQL's `select_div_scale`: as many digits behind the point as give 16 that count, by the first digits to the
/// base of 10,000.
pub(super) fn quotient_scale(dividend: &Decimal, divisor: &Decimal) -> u32 {
    let (first, second) = (dividend.leading(1)[0], divisor.leading(1)[0]);
    // Where the first digits are equal the dividend is taken for the smaller one.
    let weight = dividend.weight() - divisor.weight() - i32::from(first <= second);
    display_scale(SIGNIFICANT - weight * BASE_DIGITS, &[dividend, divisor])
}

impl Number {
    /// The sum, in the larger scale.
    pub fn plus(&self, other: &Number) -> Result<Number> {
        match (&self.0, &other.0) {
            (Kind::Finite(a), Kind::Finite(b)) => Number::checked(a.plus(b)),
            (Kind::NaN, _) | (_, Kind::NaN) => Ok(Number::nan()),
            (Kind::Infinite { negative: a }, Kind::Infinite { negative: b }) if a != b => Ok(Number::nan()),
            (Kind::Infinite { negative }, _) | (_, Kind::Infinite { negative }) => Ok(Number::infinity(*negative)),
        }
    }

    /// The difference, in the larger scale.
    pub fn minus(&self, other: &Number) -> Result<Number> {
        match (&self.0, &other.0) {
            (Kind::Finite(a), Kind::Finite(b)) => Number::checked(a.minus(b)),
            _ => self.plus(&other.clone().negated()),
        }
    }

    /// The product, in the sum of the scales; if that is more than there may be, rounded.
    pub fn times(&self, other: &Number) -> Result<Number> {
        let (Kind::Finite(a), Kind::Finite(b)) = (&self.0, &other.0) else {
            let sign = self.sign_of() * other.sign_of();
            let is_none = self.is_nan() || other.is_nan() || sign == 0;
            return Ok(if is_none { Number::nan() } else { Number::infinity(sign < 0) });
        };
        let product = a.times(b);
        let is_long = product.scale > u32::from(SCALE_MAX);
        Number::checked(if is_long { product.rounded(SCALE_MAX.into()) } else { product })
    }

    /// The quotient, with 16 digits that count or more.
    pub fn divided_by(&self, divisor: &Number) -> Result<Number> {
        self.divide(divisor, Number::infinity, |a, b| a.quotient(b, quotient_scale(a, b)))
    }

    /// The whole digits of the quotient: `div`.
    pub fn whole_quotient(&self, divisor: &Number) -> Result<Number> {
        self.divide(divisor, Number::infinity, Decimal::whole_quotient)
    }

    /// What is left of a division with a whole quotient; it has the dividend's sign.
    pub fn remainder(&self, divisor: &Number) -> Result<Number> {
        match (&self.0, &divisor.0) {
            (Kind::Finite(a), Kind::Infinite { .. }) => Ok(Number(Kind::Finite(a.clone()))),
            _ => self.divide(divisor, |_| Number::nan(), Decimal::remainder),
        }
    }

    fn divide(
        &self,
        divisor: &Number,
        of_infinite: impl Fn(bool) -> Number,
        of_finite: impl Fn(&Decimal, &Decimal) -> Decimal,
    ) -> Result<Number> {
        match (&self.0, &divisor.0) {
            (Kind::NaN, _) | (_, Kind::NaN) | (Kind::Infinite { .. }, Kind::Infinite { .. }) => Ok(Number::nan()),
            (_, Kind::Finite(b)) if b.is_zero() => Err(division_by_zero()),
            (Kind::Finite(a), Kind::Finite(b)) => Number::checked(of_finite(a, b)),
            (Kind::Infinite { negative }, Kind::Finite(b)) => Ok(of_infinite(*negative != b.is_negative())),
            (Kind::Finite(_), Kind::Infinite { .. }) => Ok(Number::new(0, 0)),
        }
    }

    /// With the other sign.
    #[must_use]
    pub fn negated(self) -> Number {
        match self.0 {
            Kind::NaN => Number::nan(),
            Kind::Infinite { negative } => Number::infinity(!negative),
            Kind::Finite(decimal) => Number(Kind::Finite(decimal.negated())),
        }
    }

    /// Without its sign.
    #[must_use]
    pub fn absolute(self) -> Number {
        if self.sign_of() < 0 { self.negated() } else { self }
    }

    /// -1, 0 or 1; of NaN NaN.
    pub fn sign(&self) -> Number {
        if self.is_nan() { Number::nan() } else { Number::new(self.sign_of().into(), 0) }
    }
}
