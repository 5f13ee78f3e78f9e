//! Numbers from and to integers, floats and decimals of a declared precision.

use weft_format::{Code, DataType, Error, Result};

use super::text::{parse_number, write_number};
use super::value::{Kind, Number};
use crate::arithmetic::out_of_range;
use crate::text::{decimal_overflow, fits_integer, parse_float, type_name};

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number::new(value.into(), 0)
    }
}

impl Number {
    /// A float with the digits that PostgreSQL takes from it: 15 that count, 6 of a real, without zeros at the end.
    pub fn from_float(value: f64, is_real: bool) -> Result<Number> {
        if value.is_nan() {
            return Ok(Number::nan());
        }
        if value.is_infinite() {
            return Ok(Number::infinity(value < 0.0));
        }
        let digits = if is_real { 5 } else { 14 };
        let text = format!("{value:.digits$e}");
        let number = parse_number(&text).expect("a finite float's text is a number");
        Ok(Number::from_bytes(number.as_ref()).trimmed())
    }

    /// The integer of a type that it rounds to.
    pub fn to_integer(&self, to: DataType) -> Result<i64> {
        let name = type_name(to);
        let special = match &self.0 {
            Kind::NaN => "NaN",
            Kind::Infinite { .. } => "infinity",
            Kind::Finite(decimal) => {
                let whole = i128::try_from(decimal.rounded(0).digits.big()).ok();
                let whole = whole.and_then(|whole| i64::try_from(whole).ok());
                return whole.filter(|whole| fits_integer(*whole, to)).ok_or_else(|| out_of_range(to));
            }
        };
        Err(Error::new(Code::FeatureNotSupported, format!("cannot convert {special} to {name}")))
    }

    /// The float of a type that is nearest to it.
    pub fn to_float(&self, to: DataType) -> Result<f64> {
        let mut text = String::new();
        write_number(&mut text, self.to_bytes().as_ref());
        parse_float(&text, to)
    }

    /// The digits of `numeric(precision, scale)` that it rounds to, as an integer.
    pub fn to_decimal(&self, precision: u8, scale: u8) -> Result<i128> {
        let fitted = self.fitted(precision.into(), scale.into())?;
        match &fitted.0 {
            Kind::Finite(decimal) => {
                i128::try_from(decimal.digits.big()).map_err(|_| decimal_overflow(precision, scale))
            }
            _ => Err(Error::new(Code::FeatureNotSupported, "numeric with a precision cannot hold NaN")
                .hint("use numeric without a precision, or double precision")),
        }
    }
}
