//! A length of time in months, days and microseconds, as PostgreSQL keeps it.
//!
//! ```text
//!   '1 year 2 mons 3 days 04:00:00'    months 14, days 3, micros 14,400,000,000
//!   span                               (14 * 30 + 3) days + 4 hours, in microseconds
//! ```
//!
//! 1. Intervals compare by their span, so `1 mon` equals `30 days`; the fields are kept as they were given.
//! 2. [`Interval::to_bits`] and back is the identity.

use arrow_array::types::{IntervalMonthDayNano, IntervalMonthDayNanoType};

/// Microseconds of a day.
pub const DAY_MICROS: i64 = 86_400_000_000;
/// Days of a month, where one is needed without a date.
pub const MONTH_DAYS: i64 = 30;

/// Months, days and microseconds, each with a sign of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Interval {
    /// Months.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

impl Interval {
    /// An interval.
    pub fn new(months: i32, days: i32, micros: i64) -> Interval {
        Interval { months, days, micros }
    }

    /// Microseconds in all, months having 30 days.
    pub fn span(self) -> i128 {
        let days = i128::from(self.months) * i128::from(MONTH_DAYS) + i128::from(self.days);
        days * i128::from(DAY_MICROS) + i128::from(self.micros)
    }

    /// An interval of this span in days and microseconds, and in months what days do not hold.
    pub fn of_span(span: i128) -> Interval {
        let (day, month) = (i128::from(DAY_MICROS), i128::from(MONTH_DAYS));
        let clamped = |count: i128| count.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        let (days, micros) = (span / day, span % day);
        let months = if i32::try_from(days).is_ok() { 0 } else { clamped(days / month) };
        let rest = days - i128::from(months) * month;
        let days = clamped(rest);
        Interval { months, days, micros: ((rest - i128::from(days)) * day + micros) as i64 }
    }

    /// The fields side by side, months lowest.
    pub fn to_bits(self) -> u128 {
        u128::from(self.months as u32) | u128::from(self.days as u32) << 32 | u128::from(self.micros as u64) << 64
    }

    /// What [`Interval::to_bits`] made.
    pub fn from_bits(bits: u128) -> Interval {
        Interval { months: bits as u32 as i32, days: (bits >> 32) as u32 as i32, micros: (bits >> 64) as u64 as i64 }
    }

    /// Arrow's form, which has nanoseconds; what does not fit them (292 years) goes to the days.
    pub fn to_arrow(self) -> IntervalMonthDayNano {
        match self.micros.checked_mul(1000) {
            Some(nanoseconds) => IntervalMonthDayNanoType::make_value(self.months, self.days, nanoseconds),
            None => {
                let days = i64::from(self.days) + self.micros / DAY_MICROS;
                let days = days.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
                IntervalMonthDayNanoType::make_value(self.months, days, self.micros % DAY_MICROS * 1000)
            }
        }
    }

    /// From Arrow's form; nanoseconds are cut.
    pub fn from_arrow(value: IntervalMonthDayNano) -> Interval {
        Interval { months: value.months, days: value.days, micros: value.nanoseconds / 1000 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_round_trip() {
        let numbers = [0, 1, -1, 13, i32::MAX, i32::MIN];
        for months in numbers {
            for days in numbers {
                for micros in [0, 1, -1, DAY_MICROS, i64::MAX, i64::MIN] {
                    let interval = Interval { months, days, micros };
                    assert_eq!(Interval::from_bits(interval.to_bits()), interval);
                    assert_eq!(Interval::of_span(interval.span()).span(), interval.span(), "{interval:?}");
                    if micros.abs_diff(0) <= DAY_MICROS as u64 {
                        assert_eq!(Interval::from_arrow(interval.to_arrow()), interval);
                    }
                }
            }
        }
        assert_eq!(Interval::new(1, 0, 0).span(), Interval::new(0, 30, 0).span());
    }
}
