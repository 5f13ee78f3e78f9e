//! Functions of double precision.
//!
//! ```text
//!   sqrt(2)            1.4142135623730951
//!   power(0, -1)       zero raised to a negative power is undefined (2201F)
//!   exp(1000)          value out of range: overflow (22003)
//!   ln('Infinity')     Infinity: what is infinite before may be so behind
//! ```

use weft_format::{Code, Error, Result, Value};

use super::super::builtin::Call;
use super::buckets::{bucket, count as bucket_count, wrong};

/// The processor's own NaN has a sign, which would sort below all numbers.
pub(super) fn float(value: f64) -> Result<Value> {
    Ok(Value::Float(if value.is_nan() { f64::NAN } else { value }))
}

fn overflow() -> Error {
    Error::new(Code::NumericOutOfRange, "value out of range: overflow")
}

fn underflow() -> Error {
    Error::new(Code::NumericOutOfRange, "value out of range: underflow")
}

/// A result that is infinite of finite arguments, or 0 where it cannot be, is an error.
fn checked(value: f64, may_be_infinite: bool, may_be_zero: bool) -> Result<Value> {
    if value.is_infinite() && !may_be_infinite {
        return Err(overflow());
    }
    if value == 0.0 && !may_be_zero {
        return Err(underflow());
    }
    float(value)
}

pub(super) fn outside() -> Error {
    Error::new(Code::NumericOutOfRange, "input is out of range")
}

pub(super) fn pi(_: &Call<'_>) -> Result<Value> {
    float(std::f64::consts::PI)
}

pub(super) fn ceil(call: &Call<'_>) -> Result<Value> {
    float(call.float(0).ceil())
}

pub(super) fn floor(call: &Call<'_>) -> Result<Value> {
    float(call.float(0).floor())
}

/// A half goes to the even neighbour.
pub(super) fn round(call: &Call<'_>) -> Result<Value> {
    float(call.float(0).round_ties_even())
}

pub(super) fn trunc(call: &Call<'_>) -> Result<Value> {
    float(call.float(0).trunc())
}

pub(super) fn sign(call: &Call<'_>) -> Result<Value> {
    let value = call.float(0);
    float(if value > 0.0 {
        1.0
    } else if value < 0.0 {
        -1.0
    } else {
        0.0
    })
}

pub(super) fn abs(call: &Call<'_>) -> Result<Value> {
    float(call.float(0).abs())
}

pub(super) fn sqrt(call: &Call<'_>) -> Result<Value> {
    let value = call.float(0);
    if value < 0.0 {
        return Err(Error::new(Code::PowerArgument, "cannot take square root of a negative number"));
    }
    float(value.sqrt())
}

pub(super) fn cbrt(call: &Call<'_>) -> Result<Value> {
    float(call.float(0).cbrt())
}

pub(super) fn exp(call: &Call<'_>) -> Result<Value> {
    let value = call.float(0);
    checked(value.exp(), value.is_infinite(), value.is_infinite())
}

/// A logarithm, whose argument is above zero.
fn logarithm(value: f64, of: fn(f64) -> f64) -> Result<Value> {
    if value == 0.0 {
        return Err(Error::new(Code::LogarithmArgument, "cannot take logarithm of zero"));
    }
    if value < 0.0 {
        return Err(Error::new(Code::LogarithmArgument, "cannot take logarithm of a negative number"));
    }
    checked(of(value), value.is_infinite(), value == 1.0)
}

pub(super) fn ln(call: &Call<'_>) -> Result<Value> {
    logarithm(call.float(0), f64::ln)
}

pub(super) fn log10(call: &Call<'_>) -> Result<Value> {
    logarithm(call.float(0), f64::log10)
}

pub(super) fn power(call: &Call<'_>) -> Result<Value> {
    let (base, exponent) = (call.float(0), call.float(1));
    if base.is_nan() || exponent.is_nan() {
        return float(if exponent == 0.0 || base == 1.0 { 1.0 } else { f64::NAN });
    }
    if base == 0.0 && exponent < 0.0 {
        return Err(Error::new(Code::PowerArgument, "zero raised to a negative power is undefined"));
    }
    if base < 0.0 && exponent.floor() != exponent {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return Err(Error::new(Code::PowerArgument, message));
    }
    let is_infinite = base.is_infinite() || exponent.is_infinite();
    checked(base.powf(exponent), is_infinite, is_infinite || base == 0.0)
}

/// A degree in radians.
pub(super) const DEGREE: f64 = 0.017_453_292_519_943_295;

pub(super) fn degrees(call: &Call<'_>) -> Result<Value> {
    let value = call.float(0);
    checked(value / DEGREE, value.is_infinite(), value == 0.0)
}

pub(super) fn radians(call: &Call<'_>) -> Result<Value> {
    let value = call.float(0);
    checked(value * DEGREE, value.is_infinite(), value == 0.0)
}

/// `width_bucket(operand, low, high, count)`: in which of equally wide buckets; 0 and count + 1 are outside.
pub(super) fn width_bucket(call: &Call<'_>) -> Result<Value> {
    let (operand, low, high) = (call.float(0), call.float(1), call.float(2));
    let count = bucket_count(call)?;
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return Err(wrong("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(wrong("lower and upper bounds must be finite"));
    }
    if low == high {
        return Err(wrong("lower bound cannot equal upper bound"));
    }
    let is_below = if low < high { operand < low } else { operand > low };
    let is_above = if low < high { operand >= high } else { operand <= high };
    if is_below {
        return Ok(Value::Int(0));
    }
    if is_above {
        return bucket(count + 1);
    }
    let span = high - low;
    let part =
        if span.is_finite() { (operand - low) / span } else { (operand / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0) };
    // The quotient may be rounded to 1.
    bucket(((count as f64 * part) as i64).min(count - 1) + 1)
}
