//! Routines of times, timestamps and intervals.
//!
//! ```text
//!   2024-01-31 10:00 + 1 mon 1 day     months first, cut to the month's last day, then days, then the rest:
//!                                      2024-02-29, 2024-03-01 10:00
//! ```

use weft_format::interval::{DAY_MICROS, MONTH_DAYS};
use weft_format::{Code, DataType, Error, Interval, Result, Value};

use super::routine::{Routine, Signature};
use crate::arithmetic::{date_in_range, division_by_zero};
use crate::style::Local;
use crate::text::{date_parts, days_of};
use crate::zone::Zone;

pub(super) fn call(signature: &Signature, args: &[Value], local: &Local) -> Result<Value> {
    use Routine as R;
    let routine = signature.routine;
    let zone = &local.style.zone;
    let is_moment = signature.args.first() == Some(&DataType::TimestampTz);
    let later = |timestamp, v| match is_moment {
        true => add_to_moment(timestamp, v, zone),
        false => add_to_timestamp(timestamp, v),
    };
    Ok(match (routine, args) {
        (R::TimePlusInterval, [Value::Int(time), Value::Interval(v)]) => Value::Int(in_day(*time, v.micros)),
        (R::TimeMinusInterval, [Value::Int(time), Value::Interval(v)]) => {
            Value::Int(in_day(*time, -(v.micros % DAY_MICROS)))
        }
        (R::TimeMinusTime, [Value::Int(a), Value::Int(b)]) => Value::Interval(Interval::new(0, 0, a - b)),
        (R::DatePlusTime, [Value::Int(date), Value::Int(time)]) => Value::Int(
            date.checked_mul(DAY_MICROS).and_then(|days| days.checked_add(*time)).ok_or_else(timestamp_range)?,
        ),
        (R::DatePlusDays, [Value::Int(date), Value::Int(days)]) => Value::Int(date_in_range(date + days)?),
        (R::DateMinusDays, [Value::Int(date), Value::Int(days)]) => Value::Int(date_in_range(date - days)?),
        (R::TimestampPlusInterval, [Value::Int(timestamp), Value::Interval(v)]) => Value::Int(later(*timestamp, *v)?),
        (R::TimestampMinusInterval, [Value::Int(timestamp), Value::Interval(v)]) => {
            Value::Int(later(*timestamp, negate(*v)?)?)
        }
        (R::TimestampMinusTimestamp, [Value::Int(a), Value::Int(b)]) => {
            let micros = a.checked_sub(*b).ok_or_else(interval_range)?;
            Value::Interval(Interval::new(0, (micros / DAY_MICROS) as i32, micros % DAY_MICROS))
        }
        (R::Age, [Value::Int(a), Value::Int(b)]) if is_moment => {
            Value::Interval(age(zone.wall_of(*a), zone.wall_of(*b)))
        }
        (R::Age, [Value::Int(a), Value::Int(b)]) => Value::Interval(age(*a, *b)),
        (R::IntervalPlus, [Value::Interval(a), Value::Interval(b)]) => Value::Interval(sum(*a, *b)?),
        (R::IntervalMinus, [Value::Interval(a), Value::Interval(b)]) => Value::Interval(sum(*a, negate(*b)?)?),
        (R::IntervalTimes, [Value::Interval(v), Value::Float(factor)]) => Value::Interval(times(*v, *factor)?),
        (R::IntervalDivide, [Value::Interval(_), Value::Float(divisor)]) if *divisor == 0.0 => {
            return Err(division_by_zero());
        }
        (R::IntervalDivide, [Value::Interval(v), Value::Float(divisor)]) => Value::Interval(times(*v, 1.0 / divisor)?),
        (R::IntervalNegate, [Value::Interval(v)]) => Value::Interval(negate(*v)?),
        (routine, args) => unreachable!("{routine:?} was found for its types, not {args:?}"),
    })
}

fn in_day(time: i64, micros: i64) -> i64 {
    (time + micros % DAY_MICROS).rem_euclid(DAY_MICROS)
}

pub(super) fn timestamp_range() -> Error {
    Error::new(Code::DatetimeOverflow, "timestamp out of range").hint("timestamps lie in the years 0001 to 9999")
}

fn interval_range() -> Error {
    Error::new(Code::DatetimeOverflow, "interval out of range")
}

fn negate(v: Interval) -> Result<Interval> {
    match (v.months.checked_neg(), v.days.checked_neg(), v.micros.checked_neg()) {
        (Some(months), Some(days), Some(micros)) => Ok(Interval { months, days, micros }),
        _ => Err(interval_range()),
    }
}

fn sum(a: Interval, b: Interval) -> Result<Interval> {
    match (a.months.checked_add(b.months), a.days.checked_add(b.days), a.micros.checked_add(b.micros)) {
        (Some(months), Some(days), Some(micros)) => Ok(Interval { months, days, micros }),
        _ => Err(interval_range()),
    }
}

/// Each field times a factor; fractions go to the fields below, as PostgreSQL's interval_mul has it.
fn times(v: Interval, factor: f64) -> Result<Interval> {
    let whole = |value: f64| -> Result<i32> {
        if value.is_nan() || value < f64::from(i32::MIN) || value > f64::from(i32::MAX) {
            return Err(interval_range());
        }
        Ok(value as i32)
    };
    let (months, days) = (f64::from(v.months) * factor, f64::from(v.days) * factor);
    let (whole_months, mut whole_days) = (whole(months)?, whole(days)?);
    let rounded = |value: f64| (value * 1e6).round_ties_even() / 1e6;
    let month_rest = rounded((months - f64::from(whole_months)) * MONTH_DAYS as f64);
    let mut seconds =
        rounded((days - f64::from(whole_days) + month_rest - month_rest.trunc()) * (DAY_MICROS as f64 / 1e6));
    if seconds.abs() >= DAY_MICROS as f64 / 1e6 {
        let day_seconds = DAY_MICROS as f64 / 1e6;
        whole_days += (seconds / day_seconds) as i32;
        seconds -= (seconds / day_seconds).trunc() * day_seconds;
    }
    whole_days = whole_days.checked_add(whole(month_rest)?).ok_or_else(interval_range)?;
    let micros = (v.micros as f64 * factor + seconds * 1e6).round_ties_even();
    if micros.is_nan() || micros.abs() >= 9.2e18 {
        return Err(interval_range());
    }
    Ok(Interval { months: whole_months, days: whole_days, micros: micros as i64 })
}

/// A timestamp (microseconds since 1970) and an interval later.
pub fn add_to_timestamp(timestamp: i64, v: Interval) -> Result<i64> {
    let (mut days, in_day) = (timestamp.div_euclid(DAY_MICROS), timestamp.rem_euclid(DAY_MICROS));
    if v.months != 0 {
        let (year, month, day) = date_parts(days);
        let months = year * 12 + i64::from(month) - 1 + i64::from(v.months);
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) as u32 + 1);
        days = days_of(year, month, day.min(month_days(year, month)));
    }
    let micros = (days + i64::from(v.days)).checked_mul(DAY_MICROS).and_then(|micros| micros.checked_add(in_day));
    let micros = micros.and_then(|micros| micros.checked_add(v.micros)).ok_or_else(timestamp_range)?;
    if (1..=9999).contains(&date_parts(micros.div_euclid(DAY_MICROS)).0) { Ok(micros) } else { Err(timestamp_range()) }
}

/// A moment and an interval later: months and days by the clocks of a zone, then the time that passes.
///
/// In New York one day after noon of 9 March 2024 is noon of the 10th, which is 23 hours later.
pub fn add_to_moment(moment: i64, v: Interval, zone: &Zone) -> Result<i64> {
    let mut at = moment;
    for calendar in [Interval::new(v.months, 0, 0), Interval::new(0, v.days, 0)] {
        if calendar != Interval::default() {
            let wall = add_to_timestamp(zone.wall_of(at), calendar)?;
            at = zone.moment_of(wall).ok_or_else(timestamp_range)?;
        }
    }
    add_to_timestamp(at, Interval::new(0, 0, v.micros))
}

fn month_days(year: i64, month: u32) -> u32 {
    let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    (days_of(next_year, next, 1) - days_of(year, month, 1)) as u32
}

/// `age(a, b)`: a - b in years, months, days and time.
fn age(a: i64, b: i64) -> Interval {
    if a < b {
        let v = age(b, a);
        return Interval { months: -v.months, days: -v.days, micros: -v.micros };
    }
    let parts = |micros: i64| (date_parts(micros.div_euclid(DAY_MICROS)), micros.rem_euclid(DAY_MICROS));
    let ((y1, m1, d1), t1) = parts(a);
    let ((y2, m2, d2), t2) = parts(b);
    let mut months = (y1 - y2) * 12 + i64::from(m1) - i64::from(m2);
    let (mut days, mut micros) = (i64::from(d1) - i64::from(d2), t1 - t2);
    if micros < 0 {
        micros += DAY_MICROS;
        days -= 1;
    }
    while days < 0 {
        // A month of the earlier date is borrowed.
        days += i64::from(month_days(y2, m2));
        months -= 1;
    }
    Interval::new(months as i32, days as i32, micros)
}
