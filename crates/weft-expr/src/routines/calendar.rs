//! Routines of calendars and clocks: AT TIME ZONE, date_trunc, extract, and timestamps made of their parts.
//!
//! ```text
//!   timestamp '2024-07-01 12:00' AT TIME ZONE 'America/New_York'       MomentIn   2024-07-01 16:00 UTC
//!   timestamptz '2024-07-01 16:00Z' AT TIME ZONE 'America/New_York'    WallIn     2024-07-01 12:00
//!   date_trunc('day', timestamptz '2024-07-01 03:00Z')  in New York    Trunc      2024-06-30 00:00 there
//!   extract(timezone_hour FROM timestamptz ...)         in New York    Part       -4
//!   extract(epoch FROM interval '1 year')                              Part       31557600: 365.25 days
//!   make_timestamptz(2024, 1, 1, 0, 0, 0, '+03')                       MakeTimestamp   2023-12-31 21:00 UTC
//! ```
//!
//! Fields, units and errors are PostgreSQL's (`timestamp.c`).

use weft_format::interval::DAY_MICROS;
use weft_format::{Code, DataType, Error, Interval, Result, Value};

use super::routine::{Routine, Signature};
use super::times::timestamp_range;
use crate::days::days_in_month;
use crate::style::{Local, zone_of_interval};
use crate::text::{date_parts, days_of, offset_seconds, print, shorten, type_name};
use crate::types::as_numeric;
use crate::zone::{Abbreviation, Meaning, Zone};

/// The day of 1970-01-01 in Julian days.
const JULIAN_EPOCH: i64 = 2_440_588;
const HOUR_MICROS: i64 = 3_600_000_000;

pub(super) fn call(signature: &Signature, args: &[Value], local: &Local) -> Result<Value> {
    use Routine as R;
    let first = signature.args.get(1).copied().unwrap_or(DataType::Timestamp);
    Ok(match (signature.routine, args) {
        (R::MomentIn, [place, Value::Int(wall)]) => Value::Int(moment_in(&Place::of(place)?, *wall)?),
        (R::WallIn, [place, Value::Int(moment)]) => Value::Int(Place::of(place)?.wall_of(*moment)),
        (R::Trunc, [Value::Text(unit), Value::Int(micros), rest @ ..]) => {
            let unit = Unit::find(unit).filter(|unit| unit.is_length()).ok_or_else(|| unknown(unit, first))?;
            Value::Int(match (first, rest) {
                (DataType::TimestampTz, [place]) => match Place::of(place)? {
                    Place::Zone(zone) => trunc_moment(unit, *micros, &zone)?,
                    Place::East(east) => trunc_moment(unit, *micros, &Zone::fixed(east as i32))?,
                    Place::Abbreviated(_, zone) => trunc_moment(unit, *micros, &zone)?,
                },
                (DataType::TimestampTz, _) => trunc_moment(unit, *micros, &local.style.zone)?,
                _ => trunc(unit, *micros)?,
            })
        }
        (R::Part, [Value::Text(unit), Value::Int(micros)]) => {
            let (wall, east) = match first {
                DataType::TimestampTz => {
                    let east = local.style.zone.at(micros.div_euclid(1_000_000)).east_seconds;
                    (micros + i64::from(east) * 1_000_000, Some(i64::from(east)))
                }
                _ => (*micros, None),
            };
            let found = Unit::find(unit).ok_or_else(|| unknown(unit, first))?;
            part(found, wall, east).ok_or_else(|| unsupported(unit, first))?.value(signature.result)
        }
        (R::Part, [Value::Text(unit), Value::Interval(interval)]) => {
            let found = Unit::find(unit).ok_or_else(|| unknown(unit, first))?;
            if found == Unit::Epoch && signature.result == DataType::DoublePrecision {
                return Ok(Value::Float(interval_seconds(*interval)));
            }
            interval_part(found, *interval).ok_or_else(|| unsupported(unit, first))?.value(signature.result)
        }
        (R::ToTimestamp, [Value::Float(seconds)]) => {
            let micros = (seconds * 1e6).round_ties_even();
            let micros = if micros.abs() < 9.2e18 { micros as i64 } else { i64::MAX };
            if seconds.is_nan() || !(1..=9999).contains(&date_parts(micros.div_euclid(DAY_MICROS)).0) {
                let message =
                    format!("timestamp out of range: \"{}\"", print(args[0].as_ref(), DataType::DoublePrecision));
                return Err(
                    Error::new(Code::DatetimeOverflow, message).hint("timestamps lie in the years 0001 to 9999")
                );
            }
            Value::Int(micros)
        }
        (R::MakeTimestamp, args) => Value::Int(make(args, signature.result, local)?),
        (R::MakeDate, [Value::Int(year), Value::Int(month), Value::Int(day)]) => {
            Value::Int(date_of(*year, *month, *day)?)
        }
        (routine, args) => unreachable!("{routine:?} was found for its types, not {args:?}"),
    })
}

/// What AT TIME ZONE names.
enum Place {
    Zone(Zone),
    /// Seconds east of UTC.
    East(i64),
    /// An abbreviation whose offset depends on the time.
    Abbreviated(String, Zone),
}

impl Place {
    fn of(value: &Value) -> Result<Place> {
        match value {
            Value::Text(name) => {
                let found = match Abbreviation::find(name).map(|known| known.meaning) {
                    Some(Meaning::Standard(east) | Meaning::Daylight(east)) => Some(Place::East(east.into())),
                    Some(Meaning::In(zone)) => Zone::find(zone).map(|zone| Place::Abbreviated(name.to_string(), zone)),
                    None => Zone::find(name).map(Place::Zone),
                };
                found.ok_or_else(|| {
                    let message = format!("time zone \"{}\" not recognized", shorten(name));
                    Error::new(Code::InvalidParameterValue, message)
                })
            }
            Value::Interval(interval) => {
                zone_of_interval(*interval).map(|_| Place::East(interval.micros / 1_000_000)).ok_or_else(|| {
                    let shown = print(value.as_ref(), DataType::Interval);
                    let message = format!("interval time zone \"{shown}\" must not include months or days");
                    Error::new(Code::InvalidParameterValue, message)
                })
            }
            other => unreachable!("a zone is a text or an interval, not {other:?}"),
        }
    }

    fn wall_of(&self, moment: i64) -> i64 {
        match self {
            Place::Zone(zone) => zone.wall_of(moment),
            Place::East(east) => moment.saturating_add(east * 1_000_000),
            Place::Abbreviated(name, zone) => {
                let at = moment.div_euclid(1_000_000);
                let east = zone.abbreviated(name, at).unwrap_or_else(|| zone.at(at)).east_seconds;
                moment.saturating_add(i64::from(east) * 1_000_000)
            }
        }
    }
}

fn moment_in(place: &Place, wall: i64) -> Result<i64> {
    let moment = match place {
        Place::Zone(zone) => zone.moment_of(wall),
        Place::East(east) => wall.checked_sub(east * 1_000_000),
        Place::Abbreviated(name, zone) => {
            let about = zone.moment_of(wall).ok_or_else(timestamp_range)?.div_euclid(1_000_000);
            let east = zone.abbreviated(name, about).unwrap_or_else(|| zone.at(about)).east_seconds;
            wall.checked_sub(i64::from(east) * 1_000_000)
        }
    };
    moment.ok_or_else(timestamp_range)
}

/// A field of a date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    IsoYear,
    Dow,
    IsoDow,
    Doy,
    Epoch,
    Julian,
    Timezone,
    TimezoneHour,
    TimezoneMinute,
}

impl Unit {
    fn find(name: &str) -> Option<Unit> {
        use Unit as U;
        Some(match name.to_ascii_lowercase().as_str() {
            "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecond" | "microseconds" => U::Microseconds,
            "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecond" | "milliseconds" => U::Milliseconds,
            "s" | "sec" | "secs" | "second" | "seconds" => U::Second,
            "m" | "min" | "mins" | "minute" | "minutes" => U::Minute,
            "h" | "hr" | "hrs" | "hour" | "hours" => U::Hour,
            "d" | "day" | "days" => U::Day,
            "w" | "week" | "weeks" => U::Week,
            "mon" | "mons" | "month" | "months" => U::Month,
            "qtr" | "quarter" => U::Quarter,
            "y" | "yr" | "yrs" | "year" | "years" => U::Year,
            "dec" | "decs" | "decade" | "decades" => U::Decade,
            "c" | "cent" | "century" | "centuries" => U::Century,
            "mil" | "mils" | "millennium" | "millennia" => U::Millennium,
            "isoyear" => U::IsoYear,
            "dow" => U::Dow,
            "isodow" => U::IsoDow,
            "doy" => U::Doy,
            "epoch" => U::Epoch,
            "j" | "jd" | "julian" => U::Julian,
            "timezone" => U::Timezone,
            "timezone_h" | "timezone_hour" => U::TimezoneHour,
            "timezone_m" | "timezone_minute" => U::TimezoneMinute,
            _ => return None,
        })
    }

    /// Whether timestamps are cut to it.
    fn is_length(self) -> bool {
        use Unit as U;
        !matches!(
            self,
            U::IsoYear
                | U::Dow
                | U::IsoDow
                | U::Doy
                | U::Epoch
                | U::Julian
                | U::Timezone
                | U::TimezoneHour
                | U::TimezoneMinute
        )
    }
}

/// Whether there is a field of this name.
pub fn is_field(name: &str) -> bool {
    Unit::find(name).is_some()
}

/// The type of `extract(field FROM ...)`; none for a field that there is not.
pub fn part_type(field: &str) -> Option<DataType> {
    let scale = match Unit::find(field)? {
        Unit::Second | Unit::Epoch => 6,
        Unit::Milliseconds => 3,
        Unit::Julian => 20,
        _ => 0,
    };
    Some(DataType::Numeric { precision: 18 + scale.min(12), scale })
}

fn unknown(unit: &str, data_type: DataType) -> Error {
    let message = format!("unit \"{}\" not recognized for type {}", shorten(unit), type_name(data_type));
    Error::new(Code::InvalidParameterValue, message)
}

fn unsupported(unit: &str, data_type: DataType) -> Error {
    let message = format!("unit \"{}\" not supported for type {}", shorten(unit), type_name(data_type));
    Error::new(Code::FeatureNotSupported, message)
}

/// Cut to a unit, by the clock that shows it.
fn trunc(unit: Unit, wall: i64) -> Result<i64> {
    use Unit as U;
    let (days, in_day) = (wall.div_euclid(DAY_MICROS), wall.rem_euclid(DAY_MICROS));
    let (year, month, _) = date_parts(days);
    let within = |micros: i64| days * DAY_MICROS + in_day - in_day % micros;
    // Centuries begin with the year 1, decades with 0.
    let since = |years: i64, first: i64| (year - first).div_euclid(years) * years + first;
    let days = match unit {
        U::Microseconds => return Ok(wall),
        U::Milliseconds => return Ok(within(1000)),
        U::Second => return Ok(within(1_000_000)),
        U::Minute => return Ok(within(60_000_000)),
        U::Hour => return Ok(within(HOUR_MICROS)),
        U::Day => days,
        // 1970-01-01 was a Thursday; weeks begin on Mondays.
        U::Week => days - (days + 3).rem_euclid(7),
        U::Month => days_of(year, month, 1),
        U::Quarter => days_of(year, (month - 1) / 3 * 3 + 1, 1),
        U::Year => days_of(year, 1, 1),
        U::Decade => days_of(since(10, 0), 1, 1),
        U::Century => days_of(since(100, 1), 1, 1),
        _ => days_of(since(1000, 1), 1, 1),
    };
    days.checked_mul(DAY_MICROS).ok_or_else(timestamp_range)
}

/// Cut by the clocks of a zone: days and longer begin where its midnight is, shorter units keep the offset.
fn trunc_moment(unit: Unit, moment: i64, zone: &Zone) -> Result<i64> {
    use Unit as U;
    let wall = zone.wall_of(moment);
    let cut = trunc(unit, wall)?;
    if matches!(unit, U::Microseconds | U::Milliseconds | U::Second | U::Minute | U::Hour) {
        return Ok(cut - (wall - moment));
    }
    zone.moment_of(cut).ok_or_else(timestamp_range)
}

/// A part: a number of `unit`ths.
struct Part {
    number: i128,
    scale: u8,
}

impl Part {
    fn value(&self, data_type: DataType) -> Value {
        match as_numeric(data_type) {
            Some((_, scale)) if matches!(data_type, DataType::Numeric { .. }) => {
                Value::Decimal(crate::text::rescale(self.number, self.scale, scale).unwrap_or(0))
            }
            _ => Value::Float(self.number as f64 / 10f64.powi(self.scale.into())),
        }
    }
}

/// The field of a wall clock, so far east of UTC if that is known; none: it has no such field.
fn part(unit: Unit, wall: i64, east: Option<i64>) -> Option<Part> {
    use Unit as U;
    let (days, in_day) = (wall.div_euclid(DAY_MICROS), wall.rem_euclid(DAY_MICROS));
    let (year, month, day) = date_parts(days);
    let in_minute = in_day % 60_000_000;
    let day_of_year = days - days_of(year, 1, 1) + 1;
    let weekday = (days + 3).rem_euclid(7);
    // The ISO year is that of the week's Thursday.
    let thursday = days - weekday + 3;
    let iso_year = date_parts(thursday).0;
    // Years before Christ count down from -1.
    let era_year = if year > 0 { year } else { year - 1 };
    let whole = |number: i64| Part { number: number.into(), scale: 0 };
    Some(match unit {
        U::Microseconds => whole(in_minute),
        U::Milliseconds => Part { number: in_minute.into(), scale: 3 },
        U::Second => Part { number: in_minute.into(), scale: 6 },
        U::Minute => whole(in_day / 60_000_000 % 60),
        U::Hour => whole(in_day / HOUR_MICROS),
        U::Day => whole(day.into()),
        U::Week => whole((thursday - days_of(iso_year, 1, 1)) / 7 + 1),
        U::Month => whole(month.into()),
        U::Quarter => whole((i64::from(month) - 1) / 3 + 1),
        U::Year => whole(era_year),
        U::Decade => whole(year.div_euclid(10)),
        U::Century => whole(if year > 0 { (year + 99) / 100 } else { -((99 - (year - 1)) / 100) }),
        U::Millennium => whole(if year > 0 { (year + 999) / 1000 } else { -((999 - (year - 1)) / 1000) }),
        U::IsoYear => whole(if iso_year > 0 { iso_year } else { iso_year - 1 }),
        U::Dow => whole((weekday + 1) % 7),
        U::IsoDow => whole(weekday + 1),
        U::Doy => whole(day_of_year),
        U::Epoch => Part { number: i128::from(wall) - i128::from(east.unwrap_or(0)) * 1_000_000, scale: 6 },
        U::Julian => {
            let fraction = i128::from(in_day) * 10i128.pow(20) / i128::from(DAY_MICROS);
            Part { number: i128::from(days + JULIAN_EPOCH) * 10i128.pow(20) + fraction, scale: 20 }
        }
        U::Timezone => whole(east?),
        U::TimezoneHour => whole(east? / 3600),
        U::TimezoneMinute => whole(east? / 60 % 60),
    })
}

/// The field of an interval; none: it has no such field. Months make years of twelve, and of 365.25 days; hours make no
/// days.
fn interval_part(unit: Unit, interval: Interval) -> Option<Part> {
    use Unit as U;
    let Interval { months, days, micros } = interval;
    let (years, month) = (i64::from(months / 12), i64::from(months % 12));
    let in_minute = micros % 60_000_000;
    let whole = |number: i64| Part { number: number.into(), scale: 0 };
    Some(match unit {
        U::Microseconds => whole(in_minute),
        U::Milliseconds => Part { number: in_minute.into(), scale: 3 },
        U::Second => Part { number: in_minute.into(), scale: 6 },
        U::Minute => whole(micros / 60_000_000 % 60),
        U::Hour => whole(micros / HOUR_MICROS),
        U::Day => whole(days.into()),
        U::Month => whole(month),
        U::Quarter => whole(month / 3 + 1),
        U::Year => whole(years),
        U::Decade => whole(years / 10),
        U::Century => whole(years / 100),
        U::Millennium => whole(years / 1000),
        U::Epoch => {
            let quarter_days = i128::from(years) * 1461 + i128::from(month * 30 + i64::from(days)) * 4;
            Part { number: quarter_days * i128::from(DAY_MICROS / 4) + i128::from(micros), scale: 6 }
        }
        _ => return None,
    })
}

/// The seconds of an interval, added up as PostgreSQL does where it has no numeric.
fn interval_seconds(interval: Interval) -> f64 {
    let (years, months) = (interval.months / 12, interval.months % 12);
    let of_years = interval.micros as f64 / 1e6 + 365.25 * 86_400.0 * f64::from(years);
    of_years + 30.0 * 86_400.0 * f64::from(months) + 86_400.0 * f64::from(interval.days)
}

/// The place of `make_timestamptz`: a number is as in texts of timestamps, east of UTC, and has a sign.
fn place_of_text(place: &Value) -> Result<Place> {
    let Value::Text(text) = place else { return Place::of(place) };
    let wrong = |message: String| Err(Error::new(Code::InvalidParameterValue, message));
    match text.as_bytes().first() {
        Some(b'0'..=b'9') => {
            let message = format!("invalid input syntax for type numeric time zone: \"{}\"", shorten(text));
            wrong(message).map_err(|error| error.hint("write + or - before it"))
        }
        Some(b'+' | b'-') => match offset_seconds(text) {
            Some(east) => Ok(Place::East(east)),
            None => wrong(format!("numeric time zone \"{}\" out of range", shorten(text))),
        },
        _ => Place::of(place),
    }
}

/// The day of a year, month and day.
fn date_of(year: i64, month: i64, day: i64) -> Result<i64> {
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=days_in_month(year, month)).contains(&day) {
        let message = format!("date field value out of range: {year}-{month:02}-{day:02}");
        return Err(Error::new(Code::DatetimeOverflow, message).hint("dates lie in the years 0001 to 9999"));
    }
    Ok(days_of(year, month as u32, day as u32))
}

/// A timestamp of its parts: year, month, day, hour, minute, seconds and perhaps a zone.
fn make(args: &[Value], result: DataType, local: &Local) -> Result<i64> {
    let int = |at: usize| match args.get(at) {
        Some(Value::Int(number)) => *number,
        other => unreachable!("the part is an integer, not {other:?}"),
    };
    let Some(Value::Float(seconds)) = args.get(5) else { unreachable!("seconds are a float, not {:?}", args.get(5)) };
    let (days, hour, minute) = (date_of(int(0), int(1), int(2))?, int(3), int(4));
    let micros = (seconds * 1e6).round_ties_even();
    let in_day = (hour * 60 + minute) * 60_000_000 + micros as i64;
    let is_clock = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60e6).contains(&micros);
    if !is_clock || in_day > DAY_MICROS {
        let message = format!("time field value out of range: {hour}:{minute:02}:{seconds:02}");
        return Err(Error::new(Code::DatetimeOverflow, message));
    }
    let wall = days * DAY_MICROS + in_day;
    match (result, args.get(6)) {
        (DataType::Timestamp, _) => Ok(wall),
        (_, Some(place)) => moment_in(&place_of_text(place)?, wall),
        (_, None) => local.style.zone.moment_of(wall).ok_or_else(timestamp_range),
    }
}
