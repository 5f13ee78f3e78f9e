//! Functions of numeric: exact, in one scale that the types of the arguments decide.
//!
//! ```text
//!   ceil(-42.8)                     -42                    numeric(4,0)
//!   round(42.4382, 2)               42.4400                of the scale of its argument
//!   div(9.5, 2)                     4
//!   sqrt(2::numeric(1,0))           1.4142135623730950     16 digits, as far as there is room
//!   trim_scale(8.4100)              8.41                   as numeric without a precision
//! ```

use weft_format::{Code, DataType, Error, Result, Value};

use super::super::builtin::Call;
use super::wide::Wide;
use crate::arithmetic::{ArithmeticOp, arithmetic_types, compute, division_by_zero};
use crate::text::{NUMERIC_DEFAULT, decimal_overflow, pow10, rescale};
use crate::types::as_numeric;

/// Most digits of a numeric.
const DIGITS_MAX: u8 = 38;
/// Digits after the point of a root.
const ROOT_SCALE: u8 = 16;

/// Digits and scale of an argument's type.
fn digits(data_type: DataType) -> (u8, u8) {
    as_numeric(data_type).expect("the argument was cast to numeric")
}

fn numeric(precision: u8, scale: u8) -> DataType {
    DataType::Numeric { precision: precision.clamp(1, DIGITS_MAX), scale }
}

/// The digits, if the result's type has room for them.
fn fit(value: Option<i128>, result: DataType) -> Result<Value> {
    let (precision, scale) = digits(result);
    let value = value.filter(|value| value.unsigned_abs() < pow10(precision).unsigned_abs());
    value.map(Value::Decimal).ok_or_else(|| decimal_overflow(precision, scale))
}

/// The type of the argument.
pub(super) fn same(types: &[DataType]) -> DataType {
    types[0]
}

/// A whole number, which may have one more digit than the argument's.
pub(super) fn whole(types: &[DataType]) -> DataType {
    let (precision, scale) = digits(types[0]);
    numeric(precision - scale + 1, 0)
}

/// The scale of the argument, with one more digit before the point.
pub(super) fn rounded(types: &[DataType]) -> DataType {
    let (precision, scale) = digits(types[0]);
    if types[0] == NUMERIC_DEFAULT { NUMERIC_DEFAULT } else { numeric(precision + 1, scale) }
}

pub(super) fn one_digit(_: &[DataType]) -> DataType {
    numeric(1, 0)
}

pub(super) fn abs(call: &Call<'_>) -> Result<Value> {
    fit(Some(call.decimal(0).0.abs()), call.result)
}

pub(super) fn sign(call: &Call<'_>) -> Result<Value> {
    fit(Some(call.decimal(0).0.signum()), call.result)
}

pub(super) fn ceil(call: &Call<'_>) -> Result<Value> {
    let (value, scale) = call.decimal(0);
    let unit = pow10(scale);
    fit(Some(value.div_euclid(unit) + i128::from(value.rem_euclid(unit) > 0)), call.result)
}

pub(super) fn floor(call: &Call<'_>) -> Result<Value> {
    let (value, scale) = call.decimal(0);
    fit(Some(value.div_euclid(pow10(scale))), call.result)
}

pub(super) fn round(call: &Call<'_>) -> Result<Value> {
    let (value, scale) = call.decimal(0);
    fit(rescale(value, scale, 0), call.result)
}

pub(super) fn trunc(call: &Call<'_>) -> Result<Value> {
    let (value, scale) = call.decimal(0);
    fit(Some(value / pow10(scale)), call.result)
}

/// How many of the lowest digits fall away where so many are to be left after the point.
fn dropped(call: &Call<'_>) -> u8 {
    let (_, scale) = call.decimal(0);
    (i64::from(scale) - call.int(1)).clamp(0, i64::from(DIGITS_MAX) + 1) as u8
}

pub(super) fn round_to(call: &Call<'_>) -> Result<Value> {
    let (value, _) = call.decimal(0);
    match dropped(call) {
        drop if drop > DIGITS_MAX => fit(Some(0), call.result),
        drop => fit(rescale(value, drop, 0).and_then(|kept| kept.checked_mul(pow10(drop))), call.result),
    }
}

pub(super) fn trunc_to(call: &Call<'_>) -> Result<Value> {
    let (value, _) = call.decimal(0);
    match dropped(call) {
        drop if drop > DIGITS_MAX => fit(Some(0), call.result),
        drop => fit(Some(value - value % pow10(drop)), call.result),
    }
}

/// Digits after the point up to the last that is not 0.
fn scale_needed(mut value: i128, mut scale: u8) -> u8 {
    while scale > 0 && value % 10 == 0 {
        value /= 10;
        scale -= 1;
    }
    scale
}

pub(super) fn min_scale(call: &Call<'_>) -> Result<Value> {
    let (value, scale) = call.decimal(0);
    Ok(Value::Int(scale_needed(value, scale).into()))
}

/// As many digits as are shown: a numeric without a precision shows those that it needs.
pub(super) fn scale(call: &Call<'_>) -> Result<Value> {
    let (value, scale) = call.decimal(0);
    let shown = if call.types[0] == NUMERIC_DEFAULT { scale_needed(value, scale) } else { scale };
    Ok(Value::Int(shown.into()))
}

/// Numeric without a precision, which is written without zeros at its end, if that has room for the argument's.
pub(super) fn trimmed(types: &[DataType]) -> DataType {
    let ((precision, scale), (open, places)) = (digits(types[0]), digits(NUMERIC_DEFAULT));
    if scale <= places && precision - scale <= open - places { NUMERIC_DEFAULT } else { types[0] }
}

pub(super) fn trim_scale(call: &Call<'_>) -> Result<Value> {
    let (value, scale) = call.decimal(0);
    fit(rescale(value, scale, digits(call.result).1), call.result)
}

pub(super) fn remainder(types: &[DataType]) -> DataType {
    arithmetic_types(ArithmeticOp::Modulo, types[0], types[1]).map_or(types[0], |(_, _, result)| result)
}

pub(super) fn modulo(call: &Call<'_>) -> Result<Value> {
    let arg = |at: usize| (&call.args[at], call.types[at]);
    compute(ArithmeticOp::Modulo, arg(0), arg(1), call.result)
}

/// The whole digits of the dividend, and as many as the divisor may be below 1.
pub(super) fn quotient(types: &[DataType]) -> DataType {
    let ((precision, scale), (_, places)) = (digits(types[0]), digits(types[1]));
    numeric((precision - scale).saturating_add(places), 0)
}

/// The quotient's whole digits.
pub(super) fn div(call: &Call<'_>) -> Result<Value> {
    let ((a, s1), (b, s2)) = (call.decimal(0), call.decimal(1));
    if b == 0 {
        return Err(division_by_zero());
    }
    let (dividend, divisor) = (a.unsigned_abs(), b.unsigned_abs());
    let whole = if s2 >= s1 {
        Wide::product(dividend, pow10(s2 - s1).unsigned_abs()).divided(divisor)
    } else {
        // A divisor that does not fit is above every dividend.
        let divisor = Wide::product(divisor, pow10(s1 - s2).unsigned_abs()).narrow();
        Some(divisor.map_or(0, |divisor| dividend / divisor))
    };
    let whole = whole.and_then(|whole| i128::try_from(whole).ok());
    fit(whole.map(|whole| if (a < 0) == (b < 0) { whole } else { -whole }), call.result)
}

/// The larger scale, and all digits that there are.
pub(super) fn divisor(types: &[DataType]) -> DataType {
    let ((p1, s1), (p2, s2)) = (digits(types[0]), digits(types[1]));
    let scale = s1.max(s2);
    numeric((p1 - s1).max(p2 - s2).saturating_add(scale), scale)
}

pub(super) fn multiple(types: &[DataType]) -> DataType {
    let ((p1, s1), (p2, s2)) = (digits(types[0]), digits(types[1]));
    let scale = s1.max(s2);
    if types[..2].contains(&NUMERIC_DEFAULT) && scale == digits(NUMERIC_DEFAULT).1 {
        return NUMERIC_DEFAULT;
    }
    numeric(((p1 - s1).saturating_add(p2 - s2)).saturating_add(2 * scale).min(DIGITS_MAX), scale)
}

/// Both arguments without signs, in the larger scale.
fn aligned(call: &Call<'_>) -> Result<(u128, u128)> {
    let ((a, s1), (b, s2)) = (call.decimal(0), call.decimal(1));
    let scale = s1.max(s2);
    let align = |value: i128, from: u8| value.unsigned_abs().checked_mul(pow10(scale - from).unsigned_abs());
    let (precision, scale) = digits(call.result);
    align(a, s1).zip(align(b, s2)).ok_or_else(|| decimal_overflow(precision, scale))
}

pub(super) fn greatest_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

pub(super) fn gcd(call: &Call<'_>) -> Result<Value> {
    let (a, b) = aligned(call)?;
    fit(i128::try_from(greatest_divisor(a, b)).ok(), call.result)
}

pub(super) fn lcm(call: &Call<'_>) -> Result<Value> {
    let (a, b) = aligned(call)?;
    if a == 0 || b == 0 {
        return fit(Some(0), call.result);
    }
    let multiple = (a / greatest_divisor(a, b)).checked_mul(b);
    fit(multiple.and_then(|multiple| i128::try_from(multiple).ok()), call.result)
}

/// The type of a root: half the whole digits and one more, and 16 digits after the point or as many as the argument
/// has, as far as there is room.
pub(super) fn root(types: &[DataType]) -> DataType {
    let (precision, scale) = digits(types[0]);
    let whole = (precision - scale) / 2 + 1;
    let scale = scale.max(ROOT_SCALE).min(DIGITS_MAX - whole);
    numeric(whole + scale, scale)
}

/// Rounded half up.
pub(super) fn sqrt(call: &Call<'_>) -> Result<Value> {
    let (value, scale) = call.decimal(0);
    if value < 0 {
        return Err(Error::new(Code::PowerArgument, "cannot take square root of a negative number"));
    }
    let (_, out) = digits(call.result);
    // sqrt(value / 10^scale) = sqrt(value * 10^(2 out - scale)) / 10^out
    let shift = 2 * out - scale;
    let (first, second) = (shift.min(DIGITS_MAX), shift.saturating_sub(DIGITS_MAX));
    let radicand = match value.unsigned_abs().checked_mul(pow10(second).unsigned_abs()) {
        Some(value) => Wide::product(value, pow10(first).unsigned_abs()),
        None => return fit(None, call.result),
    };
    fit(i128::try_from(radicand.root()).ok(), call.result)
}

/// Up to 33: 34! has more than 38 digits.
pub(super) fn factorial(call: &Call<'_>) -> Result<Value> {
    let number = call.int(0);
    if number < 0 {
        return Err(Error::new(Code::NumericOutOfRange, "factorial of a negative number is undefined"));
    }
    if number > 32_177 {
        return Err(Error::new(Code::NumericOutOfRange, "value overflows numeric format"));
    }
    let product = (1..=i128::from(number)).try_fold(1_i128, i128::checked_mul);
    fit(product, call.result)
}
