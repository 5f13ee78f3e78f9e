//! Functions that PostgreSQL defines otherwise than the query engine, or that the engine lacks.
//!
//! ```text
//!   round(2.5) = 3        round(2.5::double precision) = 2 (half to even)    trunc(2.9) = 2, not 2.0
//!   round(2.567, 2) = 2.57                                                    sign(-3.0) = -1
//! ```
//!
//! Integers become double precision, as in PostgreSQL; with a number of digits they become numeric.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType as ArrowType, Decimal128Type, Field, FieldRef, Float64Type, Int64Type};
use arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use weft_format::{Code, Error};

use super::error::wrap;

const DIGITS_MAX: u8 = 38;

/// The functions.
pub(super) fn functions() -> Vec<Arc<ScalarUDF>> {
    let all = [Rounding::Round, Rounding::Trunc, Rounding::Ceil, Rounding::Floor, Rounding::Sign];
    let make = |rounding| Round { rounding, signature: Signature::user_defined(Volatility::Immutable) };
    all.into_iter().map(|rounding| Arc::new(ScalarUDF::new_from_impl(make(rounding)))).collect()
}

/// `round`
pub(super) fn round() -> Arc<ScalarUDF> {
    use std::sync::LazyLock;
    static ROUND: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| functions().swap_remove(0));
    Arc::clone(&ROUND)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rounding {
    Round,
    Trunc,
    Ceil,
    Floor,
    Sign,
}

impl Rounding {
    fn float(self, value: f64) -> f64 {
        match self {
            Rounding::Round => value.round_ties_even(),
            Rounding::Trunc => value.trunc(),
            Rounding::Ceil => value.ceil(),
            Rounding::Floor => value.floor(),
            Rounding::Sign if value == 0.0 || value.is_nan() => 0.0,
            Rounding::Sign => value.signum(),
        }
    }

    /// `value` of scale `scale`, with `digits` digits after the point, in scale `out`.
    fn decimal(self, value: i128, scale: i64, digits: i64, out: i64) -> Result<i128, ArrowError> {
        if self == Rounding::Sign {
            return Ok(value.signum());
        }
        let (value, scale) = if digits >= scale {
            (value, scale)
        } else {
            let Some(unit) = power(scale - digits) else { return Ok(0) };
            let (whole, rest) = (value / unit, value % unit);
            let carry = match self {
                Rounding::Round if rest.unsigned_abs() >= unit.unsigned_abs().div_ceil(2) => value.signum(),
                Rounding::Ceil if rest > 0 => 1,
                Rounding::Floor if rest < 0 => -1,
                _ => 0,
            };
            (whole + carry, digits)
        };
        let wide = power(out - scale).and_then(|factor| value.checked_mul(factor));
        wide.filter(|wide| wide.unsigned_abs() < 10_u128.pow(DIGITS_MAX.into()))
            .ok_or_else(|| ArrowError::ArithmeticOverflow("a numeric has more than 38 digits".into()))
    }
}

fn power(exponent: i64) -> Option<i128> {
    u32::try_from(exponent).ok().and_then(|exponent| 10_i128.checked_pow(exponent))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Round {
    rounding: Rounding,
    signature: Signature,
}

impl Round {
    fn takes_digits(&self) -> bool {
        matches!(self.rounding, Rounding::Round | Rounding::Trunc)
    }

    /// The type of a result, given how many digits after the point are asked for, if that is a constant.
    fn result(&self, from: &ArrowType, digits: Option<i64>) -> ArrowType {
        let ArrowType::Decimal128(precision, scale) = from else { return ArrowType::Float64 };
        if self.rounding == Rounding::Sign {
            return ArrowType::Decimal128(1, 0);
        }
        let scale = u8::try_from(*scale).unwrap_or(0);
        let whole = precision.saturating_sub(scale);
        let out = match digits {
            Some(digits) if digits >= i64::from(scale) => digits.min((DIGITS_MAX - whole).into()) as u8,
            Some(digits) => digits.max(0) as u8,
            None => scale,
        };
        ArrowType::Decimal128((whole + 1 + out).min(DIGITS_MAX), out as i8)
    }
}

impl ScalarUDFImpl for Round {
    fn name(&self) -> &str {
        match self.rounding {
            Rounding::Round => "round",
            Rounding::Trunc => "trunc",
            Rounding::Ceil => "ceil",
            Rounding::Floor => "floor",
            Rounding::Sign => "sign",
        }
    }

    fn aliases(&self) -> &[String] {
        use std::sync::LazyLock;
        static CEILING: LazyLock<Vec<String>> = LazyLock::new(|| vec!["ceiling".into()]);
        if self.rounding == Rounding::Ceil { &CEILING } else { &[] }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        let first = |with_digits: bool| {
            Ok(match &types[0] {
                ArrowType::Decimal128(precision, scale) => ArrowType::Decimal128(*precision, *scale),
                ArrowType::Decimal256(_, scale) => ArrowType::Decimal128(DIGITS_MAX, *scale),
                integer if integer.is_integer() && with_digits => ArrowType::Decimal128(20, 0),
                number if number.is_numeric() || number.is_null() => ArrowType::Float64,
                ArrowType::Utf8 | ArrowType::Utf8View => ArrowType::Float64,
                other => return plan_err!("No function matches {}({other})", self.name()),
            })
        };
        match types {
            [_] => Ok(vec![first(false)?]),
            [_, digits] if self.takes_digits() && digits.is_integer() => Ok(vec![first(true)?, digits.clone()]),
            [_, digits] if self.takes_digits() && digits.is_null() => Ok(vec![first(true)?, ArrowType::Int32]),
            _ => plan_err!("No function matches {} with these arguments", self.name()),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        Ok(self.result(&types[0], if types.len() == 1 { Some(0) } else { None }))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let digits = match args.scalar_arguments.get(1) {
            None => Some(0),
            Some(Some(scalar)) => match scalar.cast_to(&ArrowType::Int64)? {
                ScalarValue::Int64(digits) => digits,
                _ => None,
            },
            Some(None) => None,
        };
        let data_type = self.result(args.arg_fields[0].data_type(), digits);
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), data_type, nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let values = args.args[0].to_array(rows)?;
        let digits = match args.args.get(1) {
            Some(digits) => Some(cast(&digits.to_array(rows)?, &ArrowType::Int64)?),
            None => None,
        };
        let digits_at = |row: usize| match &digits {
            Some(array) if array.is_null(row) => None,
            Some(array) => Some(array.as_primitive::<Int64Type>().value(row)),
            None => Some(0),
        };
        let rounded: ArrayRef = match (values.data_type(), args.return_field.data_type()) {
            (ArrowType::Decimal128(_, scale), ArrowType::Decimal128(precision, out)) => {
                let from = values.as_primitive::<Decimal128Type>();
                let one = |(row, value): (usize, Option<i128>)| match (value, digits_at(row)) {
                    (Some(value), Some(digits)) => {
                        self.rounding.decimal(value, (*scale).into(), digits, (*out).into()).map(Some)
                    }
                    _ => Ok(None),
                };
                let array = from.iter().enumerate().map(one).collect::<Result<Decimal128Array, ArrowError>>()?;
                Arc::new(array.with_precision_and_scale(*precision, *out)?)
            }
            _ => {
                let from = values.as_primitive::<Float64Type>();
                let one = |(row, value): (usize, Option<f64>)| match digits_at(row)? {
                    0 => value.map(|value| self.rounding.float(value)),
                    digits => {
                        let factor = 10_f64.powi(digits.clamp(-400, 400) as i32);
                        value.map(|value| self.rounding.float(value * factor) / factor)
                    }
                };
                Arc::new(from.iter().enumerate().map(one).collect::<Float64Array>())
            }
        };
        Ok(ColumnarValue::Array(rounded))
    }
}

/// `one_row(value, count)`: the value of a subquery, an error where the subquery has more than one row.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct OneRow {
    signature: Signature,
}

impl OneRow {
    /// The function.
    pub(super) fn function() -> Arc<ScalarUDF> {
        use std::sync::LazyLock;
        static ONE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
            Arc::new(ScalarUDF::new_from_impl(OneRow { signature: Signature::any(2, Volatility::Immutable) }))
        });
        Arc::clone(&ONE)
    }
}

impl ScalarUDFImpl for OneRow {
    fn name(&self) -> &str {
        "one_row"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        Ok(types[0].clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name(), args.arg_fields[0].data_type().clone(), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let counts = cast(&args.args[1].to_array(args.number_rows)?, &ArrowType::Int64)?;
        if counts.as_primitive::<Int64Type>().iter().flatten().any(|count| count > 1) {
            let message = "more than one row returned by a subquery used as an expression";
            return Err(wrap(Error::new(Code::CardinalityViolation, message)));
        }
        Ok(args.args[0].clone())
    }
}

/// `maybe(value)`: the value, which may be NULL: that of a subquery that may have no rows, though its column is never
/// NULL. The engine takes what it reads for what it gives.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Maybe {
    signature: Signature,
}

impl Maybe {
    /// The function.
    pub(super) fn function() -> Arc<ScalarUDF> {
        use std::sync::LazyLock;
        static MAYBE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
            Arc::new(ScalarUDF::new_from_impl(Maybe { signature: Signature::any(1, Volatility::Immutable) }))
        });
        Arc::clone(&MAYBE)
    }
}

impl ScalarUDFImpl for Maybe {
    fn name(&self) -> &str {
        "maybe"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        Ok(types[0].clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(args.arg_fields[0].as_ref().clone().with_nullable(true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(args.args[0].clone())
    }
}

/// `kept(condition, column)`: the condition, which is evaluated where the column is there.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Kept {
    signature: Signature,
}

impl Kept {
    /// The function.
    pub(super) fn function() -> Arc<ScalarUDF> {
        use std::sync::LazyLock;
        static KEPT: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
            Arc::new(ScalarUDF::new_from_impl(Kept { signature: Signature::any(2, Volatility::Immutable) }))
        });
        Arc::clone(&KEPT)
    }
}

impl ScalarUDFImpl for Kept {
    fn name(&self) -> &str {
        "kept"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(args.args[0].clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numerics_round_half_away_from_zero() {
        let cases = [
            (Rounding::Round, 25, 1, 0, 0, 3),
            (Rounding::Round, -25, 1, 0, 0, -3),
            (Rounding::Round, 24, 1, 0, 0, 2),
            (Rounding::Round, 12_345_678, 4, -2, 0, 1200),
            (Rounding::Round, 25, 1, 3, 3, 2500),
            (Rounding::Round, 5, 0, -1, 0, 10),
            (Rounding::Round, 99, 0, -40, 0, 0),
            (Rounding::Trunc, -29, 1, 0, 0, -2),
            (Rounding::Ceil, 21, 1, 0, 0, 3),
            (Rounding::Ceil, -29, 1, 0, 0, -2),
            (Rounding::Floor, -21, 1, 0, 0, -3),
            (Rounding::Sign, -30, 1, 0, 0, -1),
        ];
        for (rounding, value, scale, digits, out, wanted) in cases {
            let got = rounding.decimal(value, scale, digits, out).unwrap();
            assert_eq!(got, wanted, "{rounding:?}({value}e-{scale}, {digits})");
        }
        assert!(Rounding::Round.decimal(10_i128.pow(37), 0, 5, 5).is_err());
        assert_eq!((Rounding::Round.float(2.5), Rounding::Round.float(-3.5)), (2.0, -4.0));
    }
}
