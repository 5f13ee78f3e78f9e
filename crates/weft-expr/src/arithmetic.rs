//! Arithmetic in the types of SQL: checked integers, floats, decimals.

use weft_format::{Code, DataType, Error, Result, Value};

use crate::text::{pow10, type_name};
use crate::types::{as_numeric, common_type, is_integer, is_number};

/// `+ - * / %`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
}

/// The types the operands are cast to, and the type of the result; none when there is no such operator.
pub fn arithmetic_types(op: ArithmeticOp, left: DataType, right: DataType) -> Option<(DataType, DataType, DataType)> {
    match (op, left, right) {
        (ArithmeticOp::Subtract, DataType::Date, DataType::Date) => {
            return Some((DataType::Date, DataType::Date, DataType::Integer));
        }
        (ArithmeticOp::Add | ArithmeticOp::Subtract, DataType::Date, DataType::SmallInt | DataType::Integer) => {
            return Some((DataType::Date, right, DataType::Date));
        }
        (ArithmeticOp::Add, DataType::SmallInt | DataType::Integer, DataType::Date) => {
            return Some((left, DataType::Date, DataType::Date));
        }
        _ => {}
    }
    if !is_number(left) || !is_number(right) {
        return None;
    }
    let common = common_type(left, right)?;
    let DataType::Numeric { .. } = common else {
        if op == ArithmeticOp::Modulo && !is_integer(common) {
            return None;
        }
        return Some((common, common, common));
    };
    let ((p1, s1), (p2, s2)) = (as_numeric(left)?, as_numeric(right)?);
    let (precision, scale) = decimal_result(op, (p1, s1), (p2, s2))?;
    let typed = |precision, scale| DataType::Numeric { precision, scale };
    Some((typed(p1, s1), typed(p2, s2), typed(precision, scale)))
}

/// Digits after the point of a quotient, and of an average, that the types do not ask more of.
pub const QUOTIENT_SCALE: u8 = 16;

/// Arrow's rules, but for quotients; none where Arrow refuses the types.
fn decimal_result(op: ArithmeticOp, (p1, s1): (u8, u8), (p2, s2): (u8, u8)) -> Option<(u8, u8)> {
    let whole = (p1 - s1).max(p2 - s2);
    Some(match op {
        ArithmeticOp::Add | ArithmeticOp::Subtract => {
            let scale = s1.max(s2);
            ((whole + scale + 1).min(38), scale)
        }
        ArithmeticOp::Multiply if s1 + s2 > 38 => return None,
        ArithmeticOp::Multiply => ((p1 + p2 + 1).min(38), s1 + s2),
        ArithmeticOp::Divide => {
            let whole = p1 - s1 + s2;
            let scale = s1.max(s2).min(38_u8.saturating_sub(whole)).max(QUOTIENT_SCALE);
            ((whole + scale).min(38), scale)
        }
        ArithmeticOp::Modulo => {
            let scale = s1.max(s2);
            (((p1 - s1).min(p2 - s2) + scale).max(1), scale)
        }
    })
}

/// Computes; both values have the types that [`arithmetic_types`] gave, and neither is NULL.
pub(crate) fn compute(
    op: ArithmeticOp,
    (left, left_type): (&Value, DataType),
    (right, right_type): (&Value, DataType),
    result: DataType,
) -> Result<Value> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => integers(op, *a, *b, result).map(Value::Int),
        (Value::Float(a), Value::Float(b)) => floats(op, *a, *b, result).map(Value::Float),
        (Value::Decimal(a), Value::Decimal(b)) => {
            let scale = |data_type| as_numeric(data_type).map_or(0, |(_, scale)| scale);
            decimals(op, (*a, scale(left_type)), (*b, scale(right_type)), result).map(Value::Decimal)
        }
        (a, b) => unreachable!("operands were cast to one kind: {a:?}, {b:?}"),
    }
}

fn integers(op: ArithmeticOp, a: i64, b: i64, result: DataType) -> Result<i64> {
    let value = match op {
        ArithmeticOp::Add => a.checked_add(b),
        ArithmeticOp::Subtract => a.checked_sub(b),
        ArithmeticOp::Multiply => a.checked_mul(b),
        ArithmeticOp::Divide | ArithmeticOp::Modulo if b == 0 => return Err(division_by_zero()),
        ArithmeticOp::Divide => a.checked_div(b),
        ArithmeticOp::Modulo => Some(a.wrapping_rem(b)),
    };
    match (value, result) {
        (Some(v), DataType::SmallInt) if i16::try_from(v).is_ok() => Ok(v),
        (Some(v), DataType::Integer) if i32::try_from(v).is_ok() => Ok(v),
        (Some(v), DataType::BigInt) => Ok(v),
        (Some(v), DataType::Date) => date_in_range(v),
        (None, DataType::Date) => Err(date_range()),
        _ => Err(out_of_range(result)),
    }
}

/// 0001-01-01 and 9999-12-31.
const FIRST_DAY: i64 = -719_162;
const LAST_DAY: i64 = 2_932_896;

/// The day, or an error when no date is so many days from 1970-01-01.
pub(crate) fn date_in_range(days: i64) -> Result<i64> {
    if (FIRST_DAY..=LAST_DAY).contains(&days) { Ok(days) } else { Err(date_range()) }
}

fn date_range() -> Error {
    Error::new(Code::DatetimeOverflow, "date out of range").hint("dates lie in the years 0001 to 9999")
}

fn floats(op: ArithmeticOp, a: f64, b: f64, result: DataType) -> Result<f64> {
    let exact = match op {
        ArithmeticOp::Add => a + b,
        ArithmeticOp::Subtract => a - b,
        ArithmeticOp::Multiply => a * b,
        ArithmeticOp::Divide | ArithmeticOp::Modulo if b == 0.0 && !a.is_nan() => return Err(division_by_zero()),
        ArithmeticOp::Divide => a / b,
        ArithmeticOp::Modulo => a % b,
    };
    let value = if result == DataType::Real { f64::from(exact as f32) } else { exact };
    if value.is_infinite() && a.is_finite() && b.is_finite() {
        return Err(Error::new(Code::NumericOutOfRange, "value out of range: overflow"));
    }
    let may_underflow = matches!(op, ArithmeticOp::Multiply | ArithmeticOp::Divide);
    if value == 0.0 && may_underflow && a != 0.0 && b != 0.0 && !b.is_infinite() {
        return Err(Error::new(Code::NumericOutOfRange, "value out of range: underflow"));
    }
    // The processor's own NaN has a sign, which would sort below all numbers.
    Ok(if value.is_nan() { f64::NAN } else { value })
}

fn decimals(op: ArithmeticOp, (a, s1): (i128, u8), (b, s2): (i128, u8), result: DataType) -> Result<i128> {
    let (precision, scale) = as_numeric(result).expect("decimals give a numeric");
    let overflow = || crate::text::decimal_overflow(precision, scale);
    let align = |value: i128, from: u8| value.checked_mul(pow10(scale - from));
    let value = match op {
        ArithmeticOp::Add => align(a, s1).zip(align(b, s2)).and_then(|(a, b)| a.checked_add(b)),
        ArithmeticOp::Subtract => align(a, s1).zip(align(b, s2)).and_then(|(a, b)| a.checked_sub(b)),
        ArithmeticOp::Multiply => a.checked_mul(b),
        ArithmeticOp::Divide | ArithmeticOp::Modulo if b == 0 => return Err(division_by_zero()),
        ArithmeticOp::Divide => quotient(a, b, scale + s2 - s1),
        ArithmeticOp::Modulo => align(a, s1).zip(align(b, s2)).and_then(|(a, b)| a.checked_rem(b)),
    };
    value.filter(|v| v.unsigned_abs() < pow10(precision).unsigned_abs()).ok_or_else(overflow)
}

/// `a * 10^shift / b` rounded half away from zero, for a `b` that is not 0; none when it does not fit 128 bits.
pub fn quotient(a: i128, b: i128, shift: u8) -> Option<i128> {
    let (numerator, divisor) = (a.unsigned_abs(), b.unsigned_abs());
    let unit = 10_u128.checked_pow(shift.into());
    let (mut whole, rest) = match unit.and_then(|unit| numerator.checked_mul(unit)) {
        Some(numerator) => (numerator / divisor, numerator % divisor),
        None => by_digits(numerator, divisor, shift)?,
    };
    if rest >= divisor - rest {
        whole = whole.checked_add(1)?;
    }
    let whole = i128::try_from(whole).ok()?;
    Some(if (a < 0) == (b < 0) { whole } else { -whole })
}

/// The quotient and the rest of what has more than 128 bits, one decimal digit after the other.
fn by_digits(numerator: u128, divisor: u128, shift: u8) -> Option<(u128, u128)> {
    let (mut whole, mut rest) = (numerator / divisor, numerator % divisor);
    for _ in 0..shift {
        // Ten times the rest, which need not fit.
        let (mut digit, mut ten) = (0, 0);
        for _ in 0..10 {
            if ten >= divisor - rest {
                ten -= divisor - rest;
                digit += 1;
            } else {
                ten += rest;
            }
        }
        whole = whole.checked_mul(10)?.checked_add(digit)?;
        rest = ten;
    }
    Some((whole, rest))
}

/// Changes the sign.
pub fn negate(value: Value, data_type: DataType) -> Result<Value> {
    match value {
        Value::Int(v) => integers(ArithmeticOp::Subtract, 0, v, data_type).map(Value::Int),
        Value::Float(v) => Ok(Value::Float(-v)),
        Value::Decimal(v) => Ok(Value::Decimal(-v)),
        other => Ok(other),
    }
}

pub(crate) fn division_by_zero() -> Error {
    Error::new(Code::DivisionByZero, "division by zero")
}

/// `integer out of range`
pub(crate) fn out_of_range(data_type: DataType) -> Error {
    Error::new(Code::NumericOutOfRange, format!("{} out of range", type_name(data_type)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_rounded_half_away_from_zero() {
        assert_eq!([(5, 3), (-5, 3), (5, -3), (-5, -3)].map(|(a, b)| quotient(a, b, 0)), [2, -2, -2, 2].map(Some));
        assert_eq!([(1, 2), (-1, 2), (1, 3), (2, 3)].map(|(a, b)| quotient(a, b, 2)), [50, -50, 33, 67].map(Some));
        assert_eq!((quotient(1, 2, 0), quotient(-1, 2, 0), quotient(49, 100, 0)), (Some(1), Some(-1), Some(0)));
    }

    #[test]
    fn digit_by_digit_gives_the_same() {
        let values = [0, 1, 2, 3, 7, 10, 99, 12_345, 10_u128.pow(19), 10_u128.pow(20) + 7];
        for (numerator, divisor, shift) in values.into_iter().flat_map(|a| values.into_iter().map(move |b| (a, b, 17)))
        {
            if divisor != 0 {
                let unit = 10_u128.pow(u32::from(shift));
                let expected = (numerator * unit / divisor, numerator * unit % divisor);
                assert_eq!(by_digits(numerator, divisor, shift), Some(expected));
            }
        }
        // The divisor and ten times the rest do not fit 127 and 128 bits.
        let (most, third) = (i128::MAX, i128::MAX / 3);
        assert_eq!(quotient(most, most, 37), Some(10_i128.pow(37)));
        assert_eq!(quotient(third, most, 37), Some(3_333_333_333_333_333_333_333_333_333_333_333_333));
        assert_eq!(quotient(i128::MIN, -1, 0), None);
        assert_eq!((quotient(most, 1, 1), quotient(most, 2, 1)), (None, None));
        assert_eq!(quotient(0, most, 76), Some(0));
    }

    #[test]
    fn quotients_have_sixteen_digits_or_those_of_the_operands() {
        let result = |a, b| decimal_result(ArithmeticOp::Divide, a, b).unwrap();
        assert_eq!(result((10, 0), (2, 1)), (27, 16));
        assert_eq!(result((38, 10), (38, 10)), (38, 16));
        assert_eq!(result((30, 20), (5, 0)), (30, 20));
        assert_eq!(result((20, 0), (38, 30)), (38, 16));
        // No digit is lost that the shift could not give.
        for (p1, s1) in (0..=38).flat_map(|s1| (s1.max(1)..=38).map(move |p1| (p1, s1))) {
            for (p2, s2) in [(38, 38), (38, 0), (10, 5), (1, 0)] {
                let (precision, scale) = result((p1, s1), (p2, s2));
                assert!(scale + s2 >= s1 && scale <= precision && precision <= 38, "({p1},{s1}) / ({p2},{s2})");
            }
        }
    }
}
