//! Trigonometry, in radians and in degrees, and hyperbolic functions, of double precision.
//!
//! ```text
//!   sin(pi() / 6)   0.49999999999999994
//!   sind(30)        0.5                    exact at multiples of 30, of 45 for tangents
//! ```
//!
//! An angle in degrees is brought to 0..90. There the sine up to 30 and the cosine up to 60 are divided by what the
//! library gives for 30 and 60, so that these come out exact, and the others follow from them.
//!
//! Source: PostgreSQL's answers. The inverse hyperbolic functions are the formulas of the C library (fdlibm), which
//! Rust's own are not.

use weft_format::{Result, Value};

use super::super::builtin::Call;
use super::floats::{DEGREE, float, outside};

fn finite(call: &Call<'_>, of: fn(f64) -> f64) -> Result<Value> {
    if call.float(0).is_infinite() { Err(outside()) } else { float(of(call.float(0))) }
}

/// A function of numbers from -1 to 1.
fn of_unit(call: &Call<'_>, of: fn(f64) -> f64) -> Result<Value> {
    if call.float(0).abs() > 1.0 { Err(outside()) } else { float(of(call.float(0))) }
}

pub(super) fn sin(call: &Call<'_>) -> Result<Value> {
    finite(call, f64::sin)
}

pub(super) fn cos(call: &Call<'_>) -> Result<Value> {
    finite(call, f64::cos)
}

pub(super) fn tan(call: &Call<'_>) -> Result<Value> {
    finite(call, f64::tan)
}

pub(super) fn cot(call: &Call<'_>) -> Result<Value> {
    finite(call, |angle| 1.0 / angle.tan())
}

pub(super) fn asin(call: &Call<'_>) -> Result<Value> {
    of_unit(call, f64::asin)
}

pub(super) fn acos(call: &Call<'_>) -> Result<Value> {
    of_unit(call, f64::acos)
}

pub(super) fn atan(call: &Call<'_>) -> Result<Value> {
    float(call.float(0).atan())
}

pub(super) fn atan2(call: &Call<'_>) -> Result<Value> {
    float(call.float(0).atan2(call.float(1)))
}

pub(super) fn sinh(call: &Call<'_>) -> Result<Value> {
    float(call.float(0).sinh())
}

pub(super) fn cosh(call: &Call<'_>) -> Result<Value> {
    float(call.float(0).cosh())
}

pub(super) fn tanh(call: &Call<'_>) -> Result<Value> {
    float(call.float(0).tanh())
}

/// 2^28: above it the square of a number swallows 1; below its inverse a number is its own result.
const LARGE: f64 = 268_435_456.0;

pub(super) fn asinh(call: &Call<'_>) -> Result<Value> {
    let value = call.float(0);
    let x = value.abs();
    let made = if x < 1.0 / LARGE || !x.is_finite() {
        x
    } else if x > LARGE {
        x.ln() + std::f64::consts::LN_2
    } else if x > 2.0 {
        (2.0 * x + 1.0 / ((x * x + 1.0).sqrt() + x)).ln()
    } else {
        let square = x * x;
        (x + square / (1.0 + (1.0 + square).sqrt())).ln_1p()
    };
    float(made.copysign(value))
}

pub(super) fn acosh(call: &Call<'_>) -> Result<Value> {
    let x = call.float(0);
    if x < 1.0 {
        return Err(outside());
    }
    float(if !x.is_finite() {
        x
    } else if x > LARGE {
        x.ln() + std::f64::consts::LN_2
    } else if x > 2.0 {
        (2.0 * x - 1.0 / (x + (x * x - 1.0).sqrt())).ln()
    } else {
        let above = x - 1.0;
        (above + (2.0 * above + above * above).sqrt()).ln_1p()
    })
}

pub(super) fn atanh(call: &Call<'_>) -> Result<Value> {
    of_unit(call, |value| {
        let x = value.abs();
        let made = if x < 1.0 / LARGE || x.is_nan() {
            x
        } else if x < 0.5 {
            let double = x + x;
            0.5 * (double + double * x / (1.0 - x)).ln_1p()
        } else if x < 1.0 {
            0.5 * ((x + x) / (1.0 - x)).ln_1p()
        } else {
            f64::INFINITY
        };
        made.copysign(value)
    })
}

/// Hides a constant from the compiler, so that the library computes its function, as it does for the others.
fn computed(value: f64) -> f64 {
    std::hint::black_box(value)
}

/// The sine of 0 to 30 degrees.
fn sine_to_30(angle: f64) -> f64 {
    (angle * DEGREE).sin() / (computed(30.0) * DEGREE).sin() / 2.0
}

/// The cosine of 0 to 60 degrees.
fn cosine_to_60(angle: f64) -> f64 {
    let below_one = 1.0 - (angle * DEGREE).cos();
    1.0 - below_one / (1.0 - (computed(60.0) * DEGREE).cos()) / 2.0
}

/// The sine of 0 to 90 degrees.
fn sine(angle: f64) -> f64 {
    if angle <= 30.0 { sine_to_30(angle) } else { cosine_to_60(90.0 - angle) }
}

/// The cosine of 0 to 90 degrees.
fn cosine(angle: f64) -> f64 {
    if angle <= 60.0 { cosine_to_60(angle) } else { sine_to_30(90.0 - angle) }
}

/// An angle within a circle: its mirror image from 0 to 90 degrees, whether it is negative, below the horizontal
/// (beyond 180), and in the left half.
struct Angle {
    acute: f64,
    is_negative: bool,
    is_below: bool,
    is_left: bool,
}

fn brought(angle: f64) -> Result<Angle> {
    if angle.is_infinite() {
        return Err(outside());
    }
    let angle = angle % 360.0;
    let is_negative = angle < 0.0;
    // A zero keeps its sign, as in PostgreSQL.
    let size = if is_negative { -angle } else { angle };
    let is_below = size > 180.0;
    let half = if is_below { 360.0 - size } else { size };
    let is_left = half > 90.0;
    Ok(Angle { acute: if is_left { 180.0 - half } else { half }, is_negative, is_below, is_left })
}

/// With the other sign if it is asked for.
fn signed(value: f64, is_negative: bool) -> f64 {
    if is_negative { -value } else { value }
}

pub(super) fn sind(call: &Call<'_>) -> Result<Value> {
    let angle = brought(call.float(0))?;
    float(signed(sine(angle.acute), angle.is_negative != angle.is_below))
}

pub(super) fn cosd(call: &Call<'_>) -> Result<Value> {
    let angle = brought(call.float(0))?;
    float(signed(cosine(angle.acute), angle.is_left))
}

/// No zero has a sign.
fn turned(value: f64, angle: &Angle) -> Result<Value> {
    let value = signed(value, angle.is_negative ^ angle.is_below ^ angle.is_left);
    float(if value == 0.0 { 0.0 } else { value })
}

pub(super) fn tand(call: &Call<'_>) -> Result<Value> {
    let angle = brought(call.float(0))?;
    let of = |angle: f64| sine(angle) / cosine(angle);
    turned(of(angle.acute) / of(computed(45.0)), &angle)
}

pub(super) fn cotd(call: &Call<'_>) -> Result<Value> {
    let angle = brought(call.float(0))?;
    let of = |angle: f64| cosine(angle) / sine(angle);
    turned(of(angle.acute) / of(computed(45.0)), &angle)
}

/// The angle of a sine from 0 to 1.
fn angle_of_sine(x: f64) -> f64 {
    if x <= 0.5 { x.asin() / computed(0.5).asin() * 30.0 } else { 90.0 - x.acos() / computed(0.5).acos() * 60.0 }
}

/// The angle of a cosine from 0 to 1.
fn angle_of_cosine(x: f64) -> f64 {
    if x <= 0.5 { 90.0 - x.asin() / computed(0.5).asin() * 30.0 } else { x.acos() / computed(0.5).acos() * 60.0 }
}

pub(super) fn asind(call: &Call<'_>) -> Result<Value> {
    of_unit(call, |x| if x >= 0.0 { angle_of_sine(x) } else { -angle_of_sine(-x) })
}

pub(super) fn acosd(call: &Call<'_>) -> Result<Value> {
    of_unit(call, |x| if x >= 0.0 { angle_of_cosine(x) } else { 90.0 + angle_of_sine(-x) })
}

pub(super) fn atand(call: &Call<'_>) -> Result<Value> {
    float(call.float(0).atan() / computed(1.0).atan() * 45.0)
}

pub(super) fn atan2d(call: &Call<'_>) -> Result<Value> {
    float(call.float(0).atan2(call.float(1)) / computed(1.0).atan() * 45.0)
}
