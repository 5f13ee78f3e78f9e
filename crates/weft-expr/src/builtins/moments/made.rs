//! Intervals and times of their fields, and what is made of the present.

use weft_format::interval::DAY_MICROS;
use weft_format::{Code, DataType, Error, Interval, Result, Value};

use super::super::builtin::Call;
use crate::routines::{Routine, Signature, call as call_routine};

const MINUTE_MICROS: i64 = 60_000_000;

pub(super) fn interval_range() -> Error {
    Error::new(Code::DatetimeOverflow, "interval out of range")
}

/// `make_interval(years, months, weeks, days, hours, mins, secs)`: what is left out is zero.
pub(super) fn make_interval(call: &Call<'_>) -> Result<Value> {
    let field = |at: usize| if at < call.count() { call.int(at) } else { 0 };
    let seconds = if call.count() > 6 { call.float(6) } else { 0.0 };
    let micros = (seconds * 1e6).round_ties_even();
    if micros.is_nan() || micros.abs() >= i64::MAX as f64 {
        return Err(interval_range());
    }
    let minutes = field(4) * 60 + field(5);
    let micros = i128::from(minutes) * i128::from(MINUTE_MICROS) + micros as i128;
    let months = i32::try_from(field(0) * 12 + field(1)).map_err(|_| interval_range())?;
    let days = i32::try_from(field(2) * 7 + field(3)).map_err(|_| interval_range())?;
    let micros = i64::try_from(micros).map_err(|_| interval_range())?;
    Ok(Value::Interval(Interval { months, days, micros }))
}

/// `make_time(hour, min, sec)`
pub(super) fn make_time(call: &Call<'_>) -> Result<Value> {
    let (hour, minute, seconds) = (call.int(0), call.int(1), call.float(2));
    let micros = (seconds * 1e6).round_ties_even();
    if (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60e6).contains(&micros) {
        let time = (hour * 60 + minute) * MINUTE_MICROS + micros as i64;
        if time <= DAY_MICROS {
            return Ok(Value::Int(time));
        }
    }
    let message = format!("time field value out of range: {hour}:{minute:02}:{:0>2}", six_digits(seconds));
    Err(Error::new(Code::DatetimeOverflow, message))
}

/// A number with at most six digits that count, as C's `%g` writes it.
fn six_digits(number: f64) -> String {
    if !number.is_finite() {
        let name = if number.is_nan() { "NaN" } else { "Infinity" };
        return if number < 0.0 { format!("-{name}") } else { name.to_owned() };
    }
    let short = |digits: &str| match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits.to_owned(),
    };
    let written = format!("{number:.5e}");
    let (digits, exponent) = written.split_once('e').expect("a number written with an exponent has one");
    let exponent: i32 = exponent.parse().expect("an exponent is an integer");
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", short(digits), exponent.abs());
    }
    short(&format!("{number:.*}", usize::try_from(5 - exponent).unwrap_or(0)))
}

/// `isfinite(value)`: no value of ours is infinite.
pub(super) fn is_finite(_: &Call<'_>) -> Result<Value> {
    Ok(Value::Bool(true))
}

/// `transaction_timestamp()`, and `statement_timestamp()`, which is the same: a session knows one present.
pub(super) fn transaction_time(call: &Call<'_>) -> Result<Value> {
    Ok(Value::Int(call.local.now_micros))
}

/// `clock_timestamp()`: the time of each call.
pub(super) fn clock_time(call: &Call<'_>) -> Result<Value> {
    Ok(Value::Int(call.local.clock_micros()))
}

/// `age(value)`: how long the last midnight is after it.
pub(super) fn age_today(call: &Call<'_>) -> Result<Value> {
    let zone = &call.local.style.zone;
    let wall = zone.wall_of(call.local.now_micros);
    let midnight = wall - wall.rem_euclid(DAY_MICROS);
    let of = match call.types[0] {
        DataType::TimestampTz => zone.wall_of(call.int(0)),
        _ => call.int(0),
    };
    let signature = Signature::new(Routine::Age, [DataType::Timestamp, DataType::Timestamp], DataType::Interval);
    call_routine(&signature, &[Value::Int(midnight), Value::Int(of)], call.local, call.random)
}
