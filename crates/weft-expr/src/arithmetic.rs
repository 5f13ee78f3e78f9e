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
    let (precision, scale) = decimal_result(op, (p1, s1), (p2, s2));
    let typed = |precision, scale| DataType::Numeric { precision, scale };
    Some((typed(p1, s1), typed(p2, s2), typed(precision, scale)))
}

/// Digits after the point of a quotient, and of an average, that the types do not ask more of.
pub const QUOTIENT_SCALE: u8 = 16;

/// Digits after the point of a product that may have more digits than a numeric.
const PRODUCT_SCALE: u8 = 20;
/// Numerics whose precision says nothing of how large they are: those without a precision, and sums of bigints.
const OPEN: [(u8, u8); 2] = [(38, 10), (30, 0)];

/// The digits after the point of a quotient: 16, or as many as the operands have, as far as the digits before the point
/// leave room for them; in any case 4 more than the dividend has, up to 16.
pub fn quotient_scale(dividend: (u8, u8), divisor_scale: u8) -> u8 {
    let (p1, s1) = dividend;
    let wanted = s1.max(divisor_scale).max(QUOTIENT_SCALE);
    if OPEN.contains(&dividend) {
        return QUOTIENT_SCALE.max(s1);
    }
    let room = 38_u8.saturating_sub(p1 - s1 + divisor_scale);
    wanted.min(room).max((s1 + 4).min(QUOTIENT_SCALE))
}

/// Arrow's rules, but for quotients and long products.
fn decimal_result(op: ArithmeticOp, (p1, s1): (u8, u8), (p2, s2): (u8, u8)) -> (u8, u8) {
    let whole = (p1 - s1).max(p2 - s2);
    match op {
        ArithmeticOp::Add | ArithmeticOp::Subtract => {
            let scale = s1.max(s2);
            ((whole + scale + 1).min(38), scale)
        }
        ArithmeticOp::Multiply => {
            let (whole, all) = (p1 - s1 + p2 - s2, s1 + s2);
            let scale =
                if all <= PRODUCT_SCALE { all } else { all.min(38_u8.saturating_sub(whole).max(PRODUCT_SCALE)) };
            ((p1 + p2 + 1).min(38), scale)
        }
        ArithmeticOp::Divide => {
            let scale = quotient_scale((p1, s1), s2);
            ((p1 - s1 + s2 + scale).min(38), scale)
        }
        ArithmeticOp::Modulo => {
            let scale = s1.max(s2);
            (((p1 - s1).min(p2 - s2) + scale).max(1), scale)
        }
    }
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
        ArithmeticOp::Multiply => product(a, b, s1 + s2 - scale),
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

/// `a * b / 10^drop` rounded half away from zero; none when it does not fit 128 bits.
pub fn product(a: i128, b: i128, drop: u8) -> Option<i128> {
    if drop == 0 {
        return a.checked_mul(b);
    }
    let mut limbs = wide_product(a.unsigned_abs(), b.unsigned_abs());
    let mut left = drop - 1;
    while left > 0 {
        let step = left.min(19);
        divide(&mut limbs, 10_u64.pow(step.into()));
        left -= step;
    }
    let last = divide(&mut limbs, 10);
    let [low, high, 0, 0] = limbs else { return None };
    let whole = (u128::from(high) << 64 | u128::from(low)).checked_add(u128::from(last >= 5))?;
    let whole = i128::try_from(whole).ok()?;
    Some(if (a < 0) == (b < 0) { whole } else { -whole })
}

/// The product of two numbers of 128 bits, the lowest 64 bits first.
fn wide_product(a: u128, b: u128) -> [u64; 4] {
    let halves = |number: u128| [number as u64, (number >> 64) as u64];
    let mut limbs = [0_u64; 4];
    for (i, x) in halves(a).into_iter().enumerate() {
        let mut carry = 0_u64;
        for (j, y) in halves(b).into_iter().enumerate() {
            let sum = u128::from(x) * u128::from(y) + u128::from(limbs[i + j]) + u128::from(carry);
            (limbs[i + j], carry) = (sum as u64, (sum >> 64) as u64);
        }
        limbs[i + 2] = carry;
    }
    limbs
}

/// Divides, and gives the rest.
fn divide(limbs: &mut [u64; 4], by: u64) -> u64 {
    let mut rest = 0_u64;
    for limb in limbs.iter_mut().rev() {
        let number = u128::from(rest) << 64 | u128::from(*limb);
        (*limb, rest) = ((number / u128::from(by)) as u64, (number % u128::from(by)) as u64);
    }
    rest
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
            let shifted = numerator * 10_u128.pow(u32::from(shift));
            if let (Some(whole), Some(rest)) = (shifted.checked_div(divisor), shifted.checked_rem(divisor)) {
                assert_eq!(by_digits(numerator, divisor, shift), Some((whole, rest)));
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
    fn products_are_rounded_where_digits_are_dropped() {
        assert_eq!((product(15, 3, 1), product(-15, 3, 1), product(14, 1, 1)), (Some(5), Some(-5), Some(1)));
        assert_eq!((product(1, 1, 3), product(7, 7, 0), product(0, -5, 2)), (Some(0), Some(49), Some(0)));
        let third = 3_333_333_333_333_333_333_333_333_333_333_333_333;
        assert_eq!(product(third, third, 37), Some(1_111_111_111_111_111_111_111_111_111_111_111_111));
        assert_eq!(product(i128::MAX, i128::MAX, 38), None);
        assert_eq!(product(10_i128.pow(38), 10_i128.pow(37), 38), Some(10_i128.pow(37)));
        assert_eq!(product(10_i128.pow(38), 10_i128.pow(30), 36), Some(10_i128.pow(32)));
    }

    #[test]
    fn quotients_have_sixteen_digits_or_those_of_the_operands() {
        let result = |a, b| decimal_result(ArithmeticOp::Divide, a, b);
        assert_eq!(result((10, 0), (2, 1)), (27, 16));
        assert_eq!(result((38, 10), (38, 10)), (38, 16));
        assert_eq!(result((30, 0), (20, 0)), (38, 16));
        assert_eq!(result((30, 20), (5, 0)), (30, 20));
        assert_eq!(result((26, 0), (10, 0)), (38, 12));
        assert_eq!(result((38, 0), (10, 0)), (38, 4));
        // Every digit that is asked for can be given, and no scale is above the precision.
        for (p1, s1) in (0..=38).flat_map(|s1| (s1.max(1)..=38).map(move |p1| (p1, s1))) {
            for (p2, s2) in [(38, 38), (38, 0), (38, 10), (30, 0), (10, 5), (1, 0)] {
                let (precision, scale) = result((p1, s1), (p2, s2));
                assert!(scale + s2 >= s1 && scale <= precision && precision <= 38, "({p1},{s1}) / ({p2},{s2})");
                let (precision, scale) = decimal_result(ArithmeticOp::Multiply, (p1, s1), (p2, s2));
                assert!(scale <= s1 + s2 && scale <= precision && precision <= 38, "({p1},{s1}) * ({p2},{s2})");
            }
        }
    }
}
