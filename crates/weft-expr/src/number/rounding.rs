//! Rounding, scales, and what a declared precision allows.

use weft_format::number::{SCALE_MAX, WHOLE_MAX};
use weft_format::{Code, Error, Result};

use super::decimal::Decimal;
use super::value::{Kind, Number};

impl Number {
    fn map(&self, change: impl Fn(&Decimal) -> Decimal) -> Result<Number> {
        match &self.0 {
            Kind::Finite(decimal) => Number::checked(change(decimal)),
            _ => Ok(self.clone()),
        }
    }

    /// Rounded half away from zero to so many digits behind the point, and with as many; if that is negative, to powers
    /// of ten.
    pub fn rounded(&self, places: i64) -> Result<Number> {
        self.map(|decimal| decimal.rounded(bounded(places)))
    }

    /// The same, cut off instead of rounded.
    pub fn truncated(&self, places: i64) -> Result<Number> {
        self.map(|decimal| decimal.truncated(bounded(places)))
    }

    /// The smallest whole number that is not below it.
    pub fn ceil(&self) -> Result<Number> {
        self.map(Decimal::ceil)
    }

    /// The largest whole number that is not above it.
    pub fn floor(&self) -> Result<Number> {
        self.map(Decimal::floor)
    }

    /// Digits that are shown behind the point; none of NaN and infinities.
    pub fn scale(&self) -> Option<u32> {
        self.finite().map(|decimal| decimal.scale)
    }

    /// Digits behind the point up to the last that is not 0; none of NaN and infinities.
    pub fn min_scale(&self) -> Option<u32> {
        self.finite().map(Decimal::scale_needed)
    }

    /// Without zeros at the end behind the point.
    #[must_use]
    pub fn trimmed(&self) -> Number {
        match &self.0 {
            Kind::Finite(decimal) => Number(Kind::Finite(decimal.truncated(decimal.scale_needed() as i32))),
            _ => self.clone(),
        }
    }

    /// As `numeric(precision, scale)` keeps it: rounded to the scale, which may be negative or above the precision.
    pub fn fitted(&self, precision: u16, scale: i16) -> Result<Number> {
        let overflow = |detail: String| {
            Error::new(Code::NumericOutOfRange, "numeric field overflow")
                .detail(format!("A field with precision {precision}, scale {scale} {detail}."))
        };
        match &self.0 {
            Kind::NaN => Ok(Number::nan()),
            Kind::Infinite { .. } => Err(overflow("cannot hold an infinite value".into())),
            Kind::Finite(decimal) => {
                let rounded = decimal.rounded(scale.into());
                let whole = i32::from(precision) - i32::from(scale);
                if !rounded.is_zero() && rounded.magnitude() >= whole {
                    let bound = if whole == 0 { "1".into() } else { format!("10^{whole}") };
                    return Err(overflow(format!("must round to an absolute value less than {bound}")));
                }
                Number::checked(rounded)
            }
        }
    }
}

/// Places between the digits that a number may have.
fn bounded(places: i64) -> i32 {
    places.clamp(-(WHOLE_MAX as i64) - 1, SCALE_MAX.into()) as i32
}
