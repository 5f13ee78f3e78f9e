//! Intervals, as PostgreSQL reads them in all its styles and writes them in its own.
//!
//! ```text
//!   '1 year 2 mons 3 days 04:05:06.5'  '1-2'  'P1Y2M3DT4H5M6.5S'  '@ 3 weeks ago'  '1.5 hours'  '90'
//!   written                            1 year 2 mons 3 days 04:05:06.5
//! ```
//!
//! A fraction of a unit goes to the next smaller ones: half a month is 15 days, half a day 12 hours.

use std::fmt::Write as _;

use weft_format::interval::{DAY_MICROS, MONTH_DAYS};
use weft_format::{Code, DataType, Error, Interval, Result};

use super::{shorten, type_name};

const SECOND_MICROS: i64 = 1_000_000;

/// Reads an interval.
pub fn parse_interval(text: &str) -> Result<Interval> {
    let trimmed = text.trim();
    let mut sum = Sum { text, ..Sum::default() };
    let is_iso = trimmed.strip_prefix('-').unwrap_or(trimmed).starts_with(['P', 'p']);
    if is_iso {
        sum.iso(trimmed)?
    } else {
        sum.words(trimmed)?
    }
    sum.finish()
}

/// The fields as they add up.
#[derive(Default)]
struct Sum<'a> {
    text: &'a str,
    months: i64,
    days: i64,
    micros: i128,
}

/// A unit and how many of the field below it make one.
#[derive(Clone, Copy)]
enum Unit {
    Months(i64),
    Days(i64),
    Micros(i64),
}

impl Sum<'_> {
    fn invalid(&self) -> Error {
        let (name, text) = (type_name(DataType::Interval), shorten(self.text));
        Error::new(Code::InvalidDatetime, format!("invalid input syntax for type {name}: \"{text}\""))
            .hint("write '1 day 02:03:04', or 'P1DT2H3M4S'")
    }

    fn out_of_range(&self) -> Error {
        Error::new(
            Code::IntervalFieldOverflow,
            format!("interval field value out of range: \"{}\"", shorten(self.text)),
        )
    }

    fn finish(self) -> Result<Interval> {
        let months = i32::try_from(self.months).map_err(|_| self.out_of_range())?;
        let days = i32::try_from(self.days).map_err(|_| self.out_of_range())?;
        let micros = i64::try_from(self.micros).map_err(|_| self.out_of_range())?;
        Ok(Interval { months, days, micros })
    }

    /// Adds a number of units: its whole part to the unit's field, the fraction to the fields below.
    fn add(&mut self, number: &str, unit: Unit) -> Result<()> {
        let (negative, digits) = sign(number);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !is_digits(whole) || !is_digits(fraction) {
            return Err(self.invalid());
        }
        let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| self.out_of_range())? };
        let fraction: f64 = format!("0.{fraction}0").parse().expect("digits behind a point are a number");
        let (whole, fraction) = if negative { (-whole, -fraction) } else { (whole, fraction) };
        let overflow = |value: Option<i64>, sum: &Self| value.ok_or_else(|| sum.out_of_range());
        match unit {
            Unit::Months(count) => {
                let months = overflow(whole.checked_mul(count), self)?;
                self.months = overflow(self.months.checked_add(months), self)?;
                // Parts of years become months, rounded; parts of months days.
                if count > 1 {
                    self.months += (fraction * count as f64).round_ties_even() as i64;
                } else {
                    self.add_days(fraction * MONTH_DAYS as f64);
                }
            }
            Unit::Days(count) => {
                let days = overflow(whole.checked_mul(count), self)?;
                self.days = overflow(self.days.checked_add(days), self)?;
                self.add_days(fraction * count as f64);
            }
            Unit::Micros(count) => {
                self.micros += i128::from(whole) * i128::from(count);
                self.micros += (fraction * count as f64).round_ties_even() as i128;
            }
        }
        Ok(())
    }

    fn add_days(&mut self, days: f64) {
        self.days += days.trunc() as i64;
        self.micros += ((days - days.trunc()) * DAY_MICROS as f64).round_ties_even() as i128;
    }

    fn words(&mut self, text: &str) -> Result<()> {
        let words = split(text);
        let mut at = 0;
        let mut found = false;
        while at < words.len() {
            let word = words[at];
            let next = words.get(at + 1).copied();
            at += 1;
            if word == "@" {
                continue;
            }
            if word.eq_ignore_ascii_case("ago") && at == words.len() && found {
                (self.months, self.days, self.micros) = (-self.months, -self.days, -self.micros);
                continue;
            }
            found = true;
            if word.contains(':') {
                self.time(word)?;
            } else if let Some((years, months)) = year_month(word) {
                let (negative, years) = sign(years);
                let signed = |digits: &str| if negative { format!("-{digits}") } else { digits.to_owned() };
                self.add(&signed(years), Unit::Months(12))?;
                self.add(&signed(months), Unit::Months(1))?;
            } else if let Some(unit) = next.and_then(unit) {
                self.add(word, unit)?;
                at += 1;
            } else {
                // A number without a unit: days before a time, else seconds.
                let is_day = next.is_some_and(|next| next.contains(':'));
                self.add(word, if is_day { Unit::Days(1) } else { Unit::Micros(SECOND_MICROS) })?;
            }
        }
        if found { Ok(()) } else { Err(self.invalid()) }
    }

    /// `[-]HH:MM[:SS[.f]]`; with a fraction two parts are minutes and seconds.
    fn time(&mut self, word: &str) -> Result<()> {
        let (negative, digits) = sign(word);
        let parts: Vec<&str> = digits.split(':').collect();
        let units: &[i64] = match parts.as_slice() {
            [_, second] if second.contains('.') => &[60, 1],
            [_, _] => &[3600, 60],
            [_, _, _] => &[3600, 60, 1],
            _ => return Err(self.invalid()),
        };
        for (at, (part, &seconds)) in parts.iter().zip(units).enumerate() {
            let is_last = at + 1 == parts.len();
            if part.is_empty() || (part.contains('.') && !(is_last && seconds == 1)) || part.contains(['-', '+']) {
                return Err(self.invalid());
            }
            if at > 0 && part.parse::<f64>().is_ok_and(|value| value >= if seconds == 1 { 61.0 } else { 60.0 }) {
                return Err(self.out_of_range());
            }
            let signed = if negative { format!("-{part}") } else { (*part).to_owned() };
            self.add(&signed, Unit::Micros(seconds * SECOND_MICROS))?;
        }
        Ok(())
    }

    /// ISO 8601: `P1Y2M3W4DT5H6M7S`, and `P0001-02-03T04:05:06`.
    fn iso(&mut self, text: &str) -> Result<()> {
        let (is_negative, text) = sign(text);
        let mut rest = &text[1..];
        let mut in_time = false;
        let mut found = false;
        while !rest.is_empty() {
            if let Some(time) = rest.strip_prefix(['T', 't']) {
                if in_time || time.is_empty() {
                    return Err(self.invalid());
                }
                (in_time, rest) = (true, time);
                continue;
            }
            let end = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let (number, behind) = rest.split_at(end);
            found = true;
            if number.contains(':') && in_time && behind.is_empty() {
                self.time(number)?;
                break;
            }
            if !in_time && (behind.is_empty() || behind.starts_with(['T', 't'])) {
                let parts: Vec<&str> = number.split('-').collect();
                let units = [Unit::Months(12), Unit::Months(1), Unit::Days(1)];
                if parts.len() > units.len() || parts.len() < 2 {
                    return Err(self.invalid());
                }
                for (part, unit) in parts.iter().zip(units) {
                    self.add(part, unit)?;
                }
                rest = behind;
                continue;
            }
            let unit = match (behind.bytes().next().map(|byte| byte.to_ascii_uppercase()), in_time) {
                (Some(b'Y'), false) => Unit::Months(12),
                (Some(b'M'), false) => Unit::Months(1),
                (Some(b'W'), false) => Unit::Days(7),
                (Some(b'D'), false) => Unit::Days(1),
                (Some(b'H'), true) => Unit::Micros(3600 * SECOND_MICROS),
                (Some(b'M'), true) => Unit::Micros(60 * SECOND_MICROS),
                (Some(b'S'), true) => Unit::Micros(SECOND_MICROS),
                _ => return Err(self.invalid()),
            };
            self.add(number, unit)?;
            rest = &behind[1..];
        }
        if is_negative {
            (self.months, self.days, self.micros) = (-self.months, -self.days, -self.micros);
        }
        if found { Ok(()) } else { Err(self.invalid()) }
    }
}

fn sign(number: &str) -> (bool, &str) {
    match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    }
}

/// Words, where numbers end at letters: `1day` is two.
fn split(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || c == ',') {
        match word.find(|c: char| c.is_ascii_alphabetic()) {
            Some(at) if at > 0 => words.extend([&word[..at], &word[at..]]),
            _ if word.is_empty() => {}
            _ => words.push(word),
        }
    }
    // "- 1 day": the sign belongs to the number behind it, which is taken as an error by whoever reads it alone.
    words
}

/// `1-2`: years and months, the sign with the years.
fn year_month(word: &str) -> Option<(&str, &str)> {
    let at = word.get(1..)?.find('-')? + 1;
    let (years, months) = (&word[..at], &word[at + 1..]);
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_digits(sign(years).1) && is_digits(months)).then_some((years, months))
}

fn unit(word: &str) -> Option<Unit> {
    Some(match word.to_ascii_lowercase().as_str() {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecond" | "microseconds" | "microsecon" => {
            Unit::Micros(1)
        }
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecond" | "milliseconds" => Unit::Micros(1000),
        "s" | "sec" | "secs" | "second" | "seconds" => Unit::Micros(SECOND_MICROS),
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Micros(60 * SECOND_MICROS),
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Micros(3600 * SECOND_MICROS),
        "d" | "day" | "days" => Unit::Days(1),
        "w" | "week" | "weeks" => Unit::Days(7),
        "mon" | "mons" | "month" | "months" => Unit::Months(1),
        "y" | "yr" | "yrs" | "year" | "years" => Unit::Months(12),
        "dec" | "decs" | "decade" | "decades" => Unit::Months(120),
        "c" | "cent" | "century" | "centuries" => Unit::Months(1200),
        "mil" | "mils" | "millennium" | "millennia" => Unit::Months(12_000),
        _ => return None,
    })
}

/// Appends PostgreSQL's text of an interval.
pub fn write_interval(out: &mut String, interval: Interval) {
    let start = out.len();
    let mut is_before = false;
    for (count, unit) in [(interval.months / 12, "year"), (interval.months % 12, "mon"), (interval.days, "day")] {
        if count != 0 {
            let space = if out.len() == start { "" } else { " " };
            let sign = if is_before && count > 0 { "+" } else { "" };
            let plural = if count == 1 { "" } else { "s" };
            write!(out, "{space}{sign}{count} {unit}{plural}").expect("writing to a String cannot fail");
            is_before = count < 0;
        }
    }
    if interval.micros == 0 && out.len() > start {
        return;
    }
    let space = if out.len() == start { "" } else { " " };
    let sign = match (interval.micros < 0, is_before) {
        (true, _) => "-",
        (false, true) => "+",
        (false, false) => "",
    };
    let micros = interval.micros.unsigned_abs();
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write!(out, "{space}{sign}{h:02}:{m:02}:{s:02}").expect("writing to a String cannot fail");
    if fraction > 0 {
        let digits = format!("{fraction:06}");
        out.push('.');
        out.push_str(digits.trim_end_matches('0'));
    }
}
