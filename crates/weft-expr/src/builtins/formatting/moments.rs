//! Timestamps and intervals by a template: each field of it is written from the parts of the time.
//!
//! ```text
//!   2024-03-09 14:30:05.25   'FMDDth HH:MI AM, "week" IW'    9th 02:30 PM, week 10
//!   -1 day -02:03:04         'DD HH24:MI:SS'                 -1 -02:-03:-04
//! ```

use std::fmt::Write as _;

use weft_format::interval::DAY_MICROS;
use weft_format::{Code, DataType, Error, Interval, Result, Value};

use super::pattern::{Case, Dots, Field, Item, Node, with_nodes};
use super::roman;
use super::weeks::{iso_day, iso_week, iso_year, julian_of};
use crate::builtins::builtin::Call;
use crate::days::{date_parts, days_of};

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
/// So wide are months and days when they are filled up.
const NAME_CHARS: usize = 9;

/// The parts of a timestamp or an interval; those of an interval may all be below zero.
#[derive(Default)]
struct Parts<'a> {
    is_interval: bool,
    year: i32,
    month: i32,
    day: i32,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    /// From Sunday = 0.
    weekday: usize,
    day_of_year: i32,
    east_seconds: i32,
    abbreviation: &'a str,
}

pub(super) fn timestamp(call: &Call<'_>) -> Result<Value> {
    to_char(&Parts::of_wall(call.int(0), 0, ""), call.text(1))
}

pub(super) fn timestamptz(call: &Call<'_>) -> Result<Value> {
    let micros = call.int(0);
    let offset = call.local.style.zone.at(micros.div_euclid(1_000_000));
    let wall = micros.saturating_add(i64::from(offset.east_seconds) * 1_000_000);
    to_char(&Parts::of_wall(wall, offset.east_seconds, offset.abbreviation), call.text(1))
}

/// `timeofday()`: the time of the call, as a text.
pub(super) fn time_of_day(call: &Call<'_>) -> Result<Value> {
    let args = [Value::Int(call.local.clock_micros()), Value::Text("Dy Mon DD HH24:MI:SS.US YYYY TZ".into())];
    timestamptz(&Call { args: &args, types: &[DataType::TimestampTz, DataType::Text], ..*call })
}

pub(super) fn interval(call: &Call<'_>) -> Result<Value> {
    to_char(&Parts::of_interval(call.interval(0)), call.text(1))
}

fn to_char(parts: &Parts<'_>, pattern: &str) -> Result<Value> {
    if pattern.is_empty() {
        return Ok(Value::Null);
    }
    with_nodes(pattern, |nodes| {
        let mut out = String::with_capacity(2 * nodes.len());
        for node in nodes {
            match node {
                Node::Field(item) => parts.write(&mut out, *item)?,
                Node::Separator(letter) | Node::Space(letter) | Node::Text(letter) => out.push(*letter),
            }
        }
        Ok(Value::Text(out.into()))
    })
}

fn not_for_intervals() -> Error {
    Error::new(Code::InvalidDatetime, "invalid format specification for an interval value")
        .hint("Intervals are not tied to specific calendar dates.")
}

/// What follows an ordinal number that ends in these digits.
pub(super) fn ordinal(digits: &[u8], case: Case) -> &'static str {
    let (upper, lower) = match digits {
        [.., b'1', _] => ("TH", "th"),
        [.., b'1'] => ("ST", "st"),
        [.., b'2'] => ("ND", "nd"),
        [.., b'3'] => ("RD", "rd"),
        _ => ("TH", "th"),
    };
    if case == Case::Upper { upper } else { lower }
}

fn push_case(out: &mut String, text: &str, case: Case) {
    match case {
        Case::Title => out.push_str(text),
        Case::Upper => out.extend(text.chars().map(|letter| letter.to_ascii_uppercase())),
        Case::Lower => out.extend(text.chars().map(|letter| letter.to_ascii_lowercase())),
    }
}

impl<'a> Parts<'a> {
    fn of_wall(wall: i64, east_seconds: i32, abbreviation: &'a str) -> Parts<'a> {
        let (days, in_day) = (wall.div_euclid(DAY_MICROS), wall.rem_euclid(DAY_MICROS));
        let (year, month, day) = date_parts(days);
        let seconds = in_day / 1_000_000;
        Parts {
            is_interval: false,
            year: year as i32,
            month: month as i32,
            day: day as i32,
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            micros: in_day % 1_000_000,
            // 1970-01-01 was a Thursday.
            weekday: (days + 4).rem_euclid(7) as usize,
            day_of_year: (days - days_of(year, 1, 1) + 1) as i32,
            east_seconds,
            abbreviation,
        }
    }

    fn of_interval(interval: Interval) -> Parts<'a> {
        let (year, month) = (interval.months / 12, interval.months % 12);
        let seconds = interval.micros / 1_000_000;
        Parts {
            is_interval: true,
            year,
            month,
            day: interval.days,
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            micros: interval.micros % 1_000_000,
            day_of_year: interval.months.wrapping_mul(30).wrapping_add(interval.days),
            ..Parts::default()
        }
    }

    fn write(&self, out: &mut String, item: Item) -> Result<()> {
        let field = item.field();
        if self.is_interval && is_of_calendar(field) {
            return Err(not_for_intervals());
        }
        let start = out.len();
        match field {
            Field::Exact => return Ok(()),
            Field::Half(case, dots) => {
                let is_pm = self.hour % 24 >= 12;
                write_half(out, if is_pm { ["P.M.", "PM"] } else { ["A.M.", "AM"] }, case, dots);
                return Ok(());
            }
            Field::Era(case, dots) => {
                write_half(out, if self.year <= 0 { ["B.C.", "BC"] } else { ["A.D.", "AD"] }, case, dots);
                return Ok(());
            }
            Field::DayName(case) => {
                write_name(out, DAYS[self.weekday], case, is_filled(item));
                return Ok(());
            }
            Field::DayShort(case) => {
                push_case(out, &DAYS[self.weekday][..3], case);
                return Ok(());
            }
            Field::MonthName(case) => {
                write_name(out, self.month_name(), case, is_filled(item));
                return Ok(());
            }
            Field::MonthShort(case) => {
                push_case(out, &self.month_name()[..3], case);
                return Ok(());
            }
            Field::MonthRoman(case) => {
                self.write_roman(out, case, item.is_bare);
                return Ok(());
            }
            Field::Zone(_) | Field::ZoneHours | Field::ZoneMinutes | Field::Offset => {
                self.write_zone(out, field, item.is_bare);
                return Ok(());
            }
            Field::Quarter if self.month == 0 => return Ok(()),
            Field::YearComma => {
                let year = self.shown_year();
                let thousands = year / 1000;
                push(out, format_args!("{thousands},{:03}", year - thousands * 1000));
            }
            field => {
                let (value, width) = self.number(field);
                let width = if item.is_bare && !is_always_filled(field) { 0 } else { width };
                push(out, format_args!("{value:0width$}"));
            }
        }
        if let Some(case) = item.ordinal {
            let ending = ordinal(&out.as_bytes()[start..], case);
            out.push_str(ending);
        }
        Ok(())
    }

    fn month_name(&self) -> &'static str {
        usize::try_from(self.month - 1).ok().and_then(|at| MONTHS.get(at)).unwrap_or(&MONTHS[0])
    }

    /// Months of intervals count from the end below zero, and those of whole years are the last.
    fn write_roman(&self, out: &mut String, case: Case, is_bare: bool) {
        let month = match (self.month, self.year) {
            (0, 0) => return,
            (0, year) => {
                if year >= 0 {
                    12
                } else {
                    1
                }
            }
            (month, _) if month < 0 => 13 + month,
            (month, _) => month,
        };
        let numeral = roman::MONTHS[usize::try_from(month - 1).unwrap_or(0).min(11)];
        let start = out.len();
        push_case(out, numeral, case);
        let width = if is_bare { 0 } else { 4 };
        out.extend(std::iter::repeat_n(' ', (start + width).saturating_sub(out.len())));
    }

    fn write_zone(&self, out: &mut String, field: Field, is_bare: bool) {
        let seconds = self.east_seconds.unsigned_abs();
        let sign = if self.east_seconds < 0 { '-' } else { '+' };
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        match field {
            Field::Zone(Case::Lower) => push_case(out, self.abbreviation, Case::Lower),
            Field::Zone(_) => out.push_str(self.abbreviation),
            Field::ZoneMinutes => push(out, format_args!("{minutes:02}")),
            Field::ZoneHours => push(out, format_args!("{sign}{hours:02}")),
            _ => {
                let width = if is_bare { 0 } else { 2 };
                push(out, format_args!("{sign}{hours:0width$}"));
                if !seconds.is_multiple_of(3600) {
                    push(out, format_args!(":{minutes:02}"));
                }
            }
        }
    }

    /// The year as people count it: there is none before 1 but those before Christ.
    fn shown_year(&self) -> i64 {
        self.counted(self.year)
    }

    fn counted(&self, year: i32) -> i64 {
        let year = i64::from(year);
        if self.is_interval || year > 0 { year } else { 1 - year }
    }

    /// The number of a field, and how wide it is with zeros before it.
    fn number(&self, field: Field) -> (i64, usize) {
        let signed = |value: i64, width: usize| (value, width + usize::from(value < 0));
        let (year, month, day) = (self.year, self.month, self.day);
        match field {
            Field::Hour12 => {
                let hour = self.hour % 12;
                (if hour == 0 { 12 } else { hour }, 2 + usize::from(self.hour < 0))
            }
            Field::Hour24 => signed(self.hour, 2),
            Field::Minute => signed(self.minute, 2),
            Field::Second => signed(self.second, 2),
            Field::DaySeconds => (self.hour * 3600 + self.minute * 60 + self.second, 0),
            Field::Fraction(digits) => (self.micros / 10_i64.pow(6 - u32::from(digits)), digits.into()),
            Field::Millis => (self.micros / 1000, 3),
            Field::Micros => (self.micros, 6),
            Field::Month => signed(month.into(), 2),
            Field::Quarter => (i64::from((month - 1) / 3 + 1), 0),
            Field::Day => (day.into(), 2),
            Field::DayOfYear => (self.day_of_year.into(), 3),
            Field::IsoDayOfYear => (iso_day(year, month, day).into(), 3),
            Field::Weekday => (self.weekday as i64 + 1, 0),
            Field::IsoWeekday => ((self.weekday as i64 + 6) % 7 + 1, 0),
            Field::Week => (i64::from(self.day_of_year.wrapping_sub(1) / 7 + 1), 2),
            Field::IsoWeek => (iso_week(year, month, day).into(), 2),
            Field::WeekOfMonth => (i64::from(day.wrapping_sub(1) / 7 + 1), 0),
            Field::Julian => (julian_of(year, month, day).into(), 0),
            Field::Century => self.century(),
            Field::Year(digits) | Field::IsoYear(digits) => {
                let is_iso = matches!(field, Field::IsoYear(_));
                let shown = if is_iso { self.counted(iso_year(year, month, day)) } else { self.shown_year() };
                let width = if digits == 1 { 0 } else { usize::from(digits) + usize::from(self.shown_year() < 0) };
                (if digits == 4 { shown } else { shown % 10_i64.pow(digits.into()) }, width)
            }
            other => unreachable!("{other:?} is no number"),
        }
    }

    fn century(&self) -> (i64, usize) {
        let year = i64::from(self.year);
        let century = if self.is_interval {
            year / 100
        } else if year > 0 {
            (year - 1) / 100 + 1
        } else {
            year / 100 - 1
        };
        (century, 2 + usize::from(century < 0))
    }
}

fn write_half(out: &mut String, [with, without]: [&str; 2], case: Case, dots: Dots) {
    push_case(out, if dots == Dots::With { with } else { without }, case);
}

fn write_name(out: &mut String, name: &str, case: Case, is_filled: bool) {
    push_case(out, name, case);
    if is_filled {
        out.extend(std::iter::repeat_n(' ', NAME_CHARS - name.len()));
    }
}

fn push(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("writing to a String cannot fail");
}

fn is_filled(item: Item) -> bool {
    !item.is_bare && !item.is_local
}

/// Parts of seconds keep their zeros.
fn is_always_filled(field: Field) -> bool {
    matches!(field, Field::Fraction(_) | Field::Millis | Field::Micros)
}

/// What no interval has.
fn is_of_calendar(field: Field) -> bool {
    matches!(
        field,
        Field::Era(..)
            | Field::DayName(_)
            | Field::DayShort(_)
            | Field::Weekday
            | Field::IsoWeekday
            | Field::MonthName(_)
            | Field::MonthShort(_)
            | Field::Zone(_)
            | Field::ZoneHours
            | Field::ZoneMinutes
            | Field::Offset
    )
}
