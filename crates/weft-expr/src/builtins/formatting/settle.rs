//! What a text said becomes a date and a time.
//!
//! ```text
//!   year 2024, day of the year 69                    2024-03-09
//!   year 24, century 21                              2024
//!   ISO year 2024, week 10, no day                   2024-03-04, the Monday
//!   hour 2, PM, no date                              0001-01-01 BC 14:00, which is out of range
//! ```

use weft_format::interval::DAY_MICROS;
use weft_format::{Code, Error, Result, Value};

use super::pattern::with_nodes;
use super::read::{Calendar, Said, read};
use crate::builtins::builtin::Call;
use crate::days::{date_parts, days_in_month, days_of};
use crate::text::shorten;

/// The day of 1970-01-01 in Julian days.
const JULIAN_EPOCH: i64 = 2_440_588;
/// 2000-01-01 in microseconds since 1970: PostgreSQL rounds timestamps away from it.
const ROUNDING_EPOCH: i64 = 946_684_800_000_000;
const ZONE_HOURS_MAX: i32 = 15;

/// A date and a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    /// Since midnight.
    pub(super) micros: i64,
    /// Seconds east of UTC, if an offset was said.
    pub(super) east_seconds: Option<i64>,
    pub(super) fraction_digits: u8,
}

pub(super) fn to_date(call: &Call<'_>) -> Result<Value> {
    let text = call.text(0);
    let moment = moment_of(text, call.text(1))?;
    moment.days().map(Value::Int).ok_or_else(|| {
        Error::new(Code::DatetimeOverflow, format!("date out of range: \"{}\"", shorten(text)))
            .hint("dates lie in the years 0001 to 9999")
    })
}

pub(super) fn to_timestamp(call: &Call<'_>) -> Result<Value> {
    let moment = moment_of(call.text(0), call.text(1))?;
    let out_of_range = || {
        Error::new(Code::DatetimeOverflow, "timestamp out of range").hint("timestamps lie in the years 0001 to 9999")
    };
    let wall = moment.days().ok_or_else(out_of_range)? * DAY_MICROS + moment.micros;
    let micros = match moment.east_seconds {
        Some(east_seconds) => wall - east_seconds * 1_000_000,
        None => call.local.style.zone.moment_of(wall).ok_or_else(out_of_range)?,
    };
    let rounded = rounded(micros, moment.fraction_digits);
    let year = date_parts((wall + rounded - micros).div_euclid(DAY_MICROS)).0;
    if (1..=9999).contains(&year) { Ok(Value::Int(rounded)) } else { Err(out_of_range()) }
}

fn moment_of(text: &str, pattern: &str) -> Result<Moment> {
    let said = with_nodes(pattern, |nodes| read(text, nodes))?;
    said.settle(text)
}

/// Rounds to so many digits of a second; 0 are all.
pub(super) fn rounded(micros: i64, digits: u8) -> i64 {
    if digits == 0 || digits >= 6 {
        return micros;
    }
    let scale = 10_i64.pow(6 - u32::from(digits));
    let since = micros - ROUNDING_EPOCH;
    let steps = (since.abs() + scale / 2) / scale;
    ROUNDING_EPOCH + since.signum() * steps * scale
}

impl Moment {
    /// The day since 1970, of the years that there are.
    fn days(&self) -> Option<i64> {
        if !(1..=9999).contains(&self.year) {
            return None;
        }
        let month = u32::try_from(self.month).ok()?;
        Some(days_of(self.year, month, u32::try_from(self.day).ok()?))
    }

    fn set_days(&mut self, days: i64) {
        let (year, month, day) = date_parts(days);
        (self.year, self.month, self.day) = (year, month.into(), day.into());
    }
}

/// The Monday on which an ISO week begins.
fn iso_week_start(year: i64, week: i64) -> i64 {
    let fourth = days_of(year, 1, 4);
    // 1970-01-01 was a Thursday.
    fourth - (fourth + 3).rem_euclid(7) + (week - 1) * 7
}

fn overflow(text: &str) -> Error {
    Error::new(Code::DatetimeOverflow, format!("date/time field value out of range: \"{}\"", shorten(text)))
}

/// Which parts of a date were said, and so are tested.
#[derive(Clone, Copy, Default)]
struct Tested {
    year: bool,
    month: bool,
    day: bool,
}

const WHOLE_DATE: Tested = Tested { year: true, month: true, day: true };

impl Said {
    /// The date and time that it says; the text is for errors.
    pub(super) fn settle(&self, text: &str) -> Result<Moment> {
        let mut moment =
            Moment { year: 0, month: 1, day: 1, micros: 0, east_seconds: None, fraction_digits: self.fraction_digits };
        let (hour, minute, second) = self.clock()?;
        let tested = self.set_date(&mut moment)?;
        let is_month = |month: i64| (1..=12).contains(&month);
        let is_good = (!tested.month || is_month(moment.month))
            && (!tested.day || (1..=31).contains(&moment.day))
            && (!(tested.year && tested.month && tested.day) || moment.day <= days_in_month(moment.year, moment.month));
        let fraction = i64::from(self.millis) * 1000 + i64::from(self.micros);
        let is_time = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..1_000_000).contains(&fraction);
        if !is_good || !is_time {
            return Err(overflow(text));
        }
        moment.micros = ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction;
        if self.zone_sign != 0 {
            if !(0..=ZONE_HOURS_MAX).contains(&self.zone_hours) || !(0..60).contains(&self.zone_minutes) {
                let message = format!("time zone displacement out of range: \"{}\"", shorten(text));
                return Err(Error::new(Code::InvalidZoneOffset, message));
            }
            let minutes = i64::from(self.zone_hours) * 60 + i64::from(self.zone_minutes);
            moment.east_seconds = Some(i64::from(self.zone_sign) * minutes * 60);
        }
        Ok(moment)
    }

    /// Hour, minute, second; a field of zero leaves what the seconds of the day say.
    fn clock(&self) -> Result<(i64, i64, i64)> {
        let of_day = i64::from(self.day_seconds);
        let or = |part: i32, other: i64| if part == 0 { other } else { part.into() };
        let mut hour = or(self.hour, of_day / 3600);
        let (minute, second) = (or(self.minute, of_day / 60 % 60), or(self.second, of_day % 60));
        if self.has_half {
            if !(1..=12).contains(&hour) {
                let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
                return Err(Error::new(Code::InvalidDatetime, message)
                    .hint("Use the 24-hour clock, or give an hour between 1 and 12."));
            }
            hour = hour % 12 + if self.is_pm != 0 { 12 } else { 0 };
        }
        Ok((hour, minute, second))
    }

    /// The year, if one was said.
    fn settle_year(&self) -> Option<i64> {
        let year = i64::from(self.year);
        let century = i64::from(self.century) * if self.is_bc != 0 { -1 } else { 1 };
        if self.year == 0 {
            return match century {
                0 => None,
                1.. => Some((century - 1) * 100 + 1),
                _ => Some(century * 100 + 1),
            };
        }
        if century == 0 || !self.is_year_short {
            let year = if self.is_bc != 0 { -year } else { year };
            return Some(if year < 0 { year + 1 } else { year });
        }
        Some(match (year % 100, century) {
            (0, 0..) => century * 100,
            (0, _) => century * 100 + 1,
            (short, 0..) => (century - 1) * 100 + short,
            (short, _) => (century + 1) * 100 - short + 1,
        })
    }

    /// Sets the date by the fields that say the most, and says which parts of it are to be tested.
    fn set_date(&self, moment: &mut Moment) -> Result<Tested> {
        let mut tested = Tested::default();
        let is_iso = self.calendar == Some(Calendar::IsoWeeks);
        if let Some(year) = self.settle_year() {
            (moment.year, tested.year) = (year, true);
        }
        if self.julian != 0 {
            moment.set_days(i64::from(self.julian) - JULIAN_EPOCH);
            tested = WHOLE_DATE;
        }
        let mut day_of_year = i64::from(self.day_of_year);
        if self.week != 0 && is_iso {
            // Days count from Sunday = 1, weeks from Monday; without a day it is the Monday.
            let behind = match self.weekday {
                0 => 0,
                2.. => i64::from(self.weekday) - 2,
                _ => 6,
            };
            moment.set_days(iso_week_start(moment.year, self.week.into()) + behind);
            tested = WHOLE_DATE;
        } else if self.week != 0 {
            day_of_year = (i64::from(self.week) - 1) * 7 + 1;
        }
        let day = if self.week_of_month == 0 { self.day.into() } else { (i64::from(self.week_of_month) - 1) * 7 + 1 };
        if day != 0 {
            (moment.day, tested.day) = (day, true);
        }
        if self.month != 0 {
            (moment.month, tested.month) = (self.month.into(), true);
        }
        if day_of_year == 0 || (moment.month > 1 && moment.day > 1) {
            return Ok(tested);
        }
        if moment.year == 0 && self.is_bc == 0 {
            let message = "cannot calculate day of year without year information";
            return Err(Error::new(Code::InvalidDatetime, message));
        }
        if is_iso {
            moment.set_days(iso_week_start(moment.year, 1) - 1 + day_of_year);
            return Ok(WHOLE_DATE);
        }
        let (month, day) = month_and_day(moment.year, day_of_year);
        if moment.month <= 1 {
            moment.month = month;
        }
        if moment.day <= 1 {
            moment.day = day;
        }
        Ok(Tested { month: true, day: true, ..tested })
    }
}

/// Month and day of a day of a year; beyond its last one the month is 13.
fn month_and_day(year: i64, day_of_year: i64) -> (i64, i64) {
    let mut day = day_of_year;
    for month in 1..=12 {
        let length = days_in_month(year, month);
        if day <= length {
            return (month, day);
        }
        day -= length;
    }
    (13, day)
}
