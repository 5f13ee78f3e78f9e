//! Numerics as the nearest float: the engine's own cast divides rounded numbers. Doubles as reals: what is beyond all
//! reals, or nearer to zero than any, is an error.
//!
//! ```text
//!   11.6666666666666667::double precision    11.666666666666666; by 116666666666666667 / 10^16 it is ...668
//! ```
//!
//! Few digits are divided: both numbers are floats exactly, so the quotient is rounded once. Others are read as text.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, AsArray, Float32Array, Float64Array};
use arrow::datatypes::{DataType as ArrowType, Decimal128Type, Field, FieldRef, Float64Type};
use arrow::error::ArrowError;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Integers up to it are doubles.
const DOUBLE_MAX: u128 = 1 << 53;
/// Powers of ten up to it are doubles.
const DOUBLE_SCALE_MAX: u8 = 22;
/// Integers up to it are reals.
const REAL_MAX: u128 = 1 << 24;
/// Powers of ten up to it are reals.
const REAL_SCALE_MAX: u8 = 10;

/// A cast of numeric to double precision, or of numeric or double precision to real.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Nearest {
    to: ArrowType,
    signature: Signature,
}

impl Nearest {
    /// The function; `to` is a float.
    pub(super) fn function(to: &ArrowType) -> Arc<ScalarUDF> {
        static BOTH: LazyLock<[Arc<ScalarUDF>; 2]> = LazyLock::new(|| {
            [ArrowType::Float64, ArrowType::Float32].map(|to| {
                let signature = Signature::any(1, Volatility::Immutable);
                Arc::new(ScalarUDF::new_from_impl(Nearest { to, signature }))
            })
        });
        Arc::clone(&BOTH[usize::from(*to == ArrowType::Float32)])
    }
}

impl ScalarUDFImpl for Nearest {
    fn name(&self) -> &str {
        if self.to == ArrowType::Float64 { "nearest_double" } else { "nearest_real" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        Ok(self.to.clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name(), self.to.clone(), args.arg_fields[0].is_nullable())))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let array = args.args[0].to_array(args.number_rows)?;
        if let Some(doubles) = array.as_primitive_opt::<Float64Type>() {
            let reals =
                doubles.iter().map(|double| double.map(|v| settled(v as f32, v == 0.0, v.is_infinite())).transpose());
            return Ok(ColumnarValue::Array(Arc::new(reals.collect::<Result<Float32Array, ArrowError>>()?)));
        }
        let ArrowType::Decimal128(_, scale) = array.data_type() else {
            return internal_err!("{} is given {}", self.name(), array.data_type());
        };
        let (numbers, scale) = (array.as_primitive::<Decimal128Type>(), u8::try_from(*scale).unwrap_or(0));
        let floats: ArrayRef = if self.to == ArrowType::Float64 {
            Arc::new(numbers.iter().map(|number| number.map(|n| double(n, scale))).collect::<Float64Array>())
        } else {
            let reals = numbers.iter().map(|number| number.map(|n| settled(real(n, scale), n == 0, false)).transpose());
            Arc::new(reals.collect::<Result<Float32Array, ArrowError>>()?)
        };
        Ok(ColumnarValue::Array(floats))
    }
}

/// An error where a real is zero or infinite and what it was made of is not.
fn settled(real: f32, is_zero: bool, is_infinite: bool) -> Result<f32, ArrowError> {
    if real == 0.0 && !is_zero {
        return Err(ArrowError::ArithmeticOverflow("underflow".into()));
    }
    if real.is_infinite() && !is_infinite {
        return Err(ArrowError::ArithmeticOverflow("overflow".into()));
    }
    Ok(real)
}

fn double(number: i128, scale: u8) -> f64 {
    if number.unsigned_abs() <= DOUBLE_MAX && scale <= DOUBLE_SCALE_MAX {
        number as f64 / 10_f64.powi(scale.into())
    } else {
        format!("{number}e-{scale}").parse().unwrap_or(f64::NAN)
    }
}

fn real(number: i128, scale: u8) -> f32 {
    if number.unsigned_abs() <= REAL_MAX && scale <= REAL_SCALE_MAX {
        number as f32 / 10_f32.powi(scale.into())
    } else {
        format!("{number}e-{scale}").parse().unwrap_or(f32::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_float_is_that_of_the_text() {
        assert_eq!(double(116_666_666_666_666_667, 16), "11.6666666666666667".parse::<f64>().unwrap());
        let mut number: i128 = 1;
        for step in 0..4000_u32 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i128::from(step)) % 10_i128.pow(38);
            for cut in [0, 20, 45, 75, 100, 120] {
                let (number, scale) = (number >> cut, (step % 39) as u8);
                let text = format!("{number}e-{scale}");
                assert_eq!(double(number, scale), text.parse::<f64>().unwrap(), "{text}");
                assert_eq!(real(number, scale), text.parse::<f32>().unwrap(), "{text}");
            }
        }
    }
}
