//! Intervals, as PostgreSQL reads and writes them in all its styles.
//!
//! ```text
//!   '1 year 2 mons 3 days 04:05:06.5'  '1-2'  'P1Y2M3DT4H5M6.5S'  '@ 3 weeks ago'  '1.5 hours'  '90'
//!   written: postgres                  1 year 2 mons 3 days 04:05:06.5
//!   postgres_verbose                   @ 1 year 2 mons 3 days 4 hours 5 mins 6.5 secs
//!   sql_standard                       +1-2 +3 +4:05:06.5
//!   iso_8601                           P1Y2M3DT4H5M6.5S
//! ```
//!
//! A fraction of a unit goes to the next smaller ones: half a month is 15 days, half a day 12 hours.

use std::fmt::Write as _;

use weft_format::interval::{DAY_MICROS, MONTH_DAYS};
use weft_format::{Code, DataType, Error, Interval, Result};

use super::messages::{shorten, type_name};
use crate::style::{IntervalStyle, Style};

const SECOND_MICROS: i64 = 1_000_000;

/// Reads an interval. In the standard's style a sign before all fields is the sign of all.
pub fn parse_interval(text: &str, style: &Style) -> Result<Interval> {
    let trimmed = text.trim();
    let mut sum = Sum { text, ..Sum::default() };
    let is_iso = trimmed.strip_prefix('-').unwrap_or(trimmed).starts_with(['P', 'p']);
    if is_iso {
        sum.iso(trimmed)?
    } else {
        sum.words(trimmed)?
    }
    let is_signed = |word: &&str| word.starts_with(['-', '+']);
    if style.intervals == IntervalStyle::SqlStandard
        && !is_iso
        && trimmed.starts_with('-')
        && !split(trimmed)[1..].iter().any(is_signed)
    {
        (sum.months, sum.days, sum.micros) = (-sum.months.abs(), -sum.days.abs(), -sum.micros.abs());
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
    /// The fields that were written, a bit for each.
    seen: u16,
}

/// The fields of seconds and parts of them.
const SECONDS: u16 = 0b111;
/// The fields of a time of day.
const TIME: u16 = 0b1_1111;

/// A unit and how many of the field below it make one.
#[derive(Clone, Copy)]
enum Unit {
    Months(i64),
    Days(i64),
    Micros(i64),
}

impl Unit {
    /// The bit of its field.
    fn field(self) -> u16 {
        match self {
            Unit::Micros(1) => 1,
            Unit::Micros(1000) => 1 << 1,
            Unit::Micros(SECOND_MICROS) => 1 << 2,
            Unit::Micros(micros) if micros == 60 * SECOND_MICROS => 1 << 3,
            Unit::Micros(_) => 1 << 4,
            Unit::Days(1) => 1 << 5,
            Unit::Days(_) => 1 << 6,
            Unit::Months(1) => 1 << 7,
            Unit::Months(12) => 1 << 8,
            Unit::Months(120) => 1 << 9,
            Unit::Months(1200) => 1 << 10,
            Unit::Months(_) => 1 << 11,
        }
    }
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

    /// An error if some of these fields were there before.
    fn once(&mut self, fields: u16) -> Result<()> {
        if self.seen & fields != 0 {
            return Err(self.invalid());
        }
        self.seen |= fields;
        Ok(())
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
                self.once(TIME)?;
                self.time(word)?;
            } else if let Some((years, months)) = year_month(word) {
                self.once(Unit::Months(1).field())?;
                let (negative, years) = sign(years);
                let signed = |digits: &str| if negative { format!("-{digits}") } else { digits.to_owned() };
                self.add(&signed(years), Unit::Months(12))?;
                self.add(&signed(months), Unit::Months(1))?;
            } else if let Some(unit) = next.and_then(unit) {
                let is_fraction = matches!(unit, Unit::Micros(SECOND_MICROS)) && word.contains('.');
                self.once(if is_fraction { SECONDS } else { unit.field() })?;
                self.add(word, unit)?;
                at += 1;
            } else {
                // A number without a unit: days before a time, else seconds, and the last.
                let is_day = next.is_some_and(|next| next.contains(':'));
                if !is_day && next.is_some() {
                    return Err(self.invalid());
                }
                let unit = if is_day { Unit::Days(1) } else { Unit::Micros(SECOND_MICROS) };
                self.once(unit.field())?;
                self.add(word, unit)?;
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

/// Appends the text of an interval.
pub fn write_interval(out: &mut String, interval: Interval, style: IntervalStyle) {
    match style {
        IntervalStyle::Postgres => write_postgres(out, interval),
        IntervalStyle::PostgresVerbose => write_verbose(out, Fields::of(interval)),
        IntervalStyle::SqlStandard => write_standard(out, Fields::of(interval)),
        IntervalStyle::Iso8601 => write_iso(out, Fields::of(interval)),
    }
}

fn push(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("writing to a String cannot fail");
}

fn write_postgres(out: &mut String, interval: Interval) {
    let start = out.len();
    let mut is_before = false;
    for (count, unit) in [(interval.months / 12, "year"), (interval.months % 12, "mon"), (interval.days, "day")] {
        if count != 0 {
            let space = if out.len() == start { "" } else { " " };
            let sign = if is_before && count > 0 { "+" } else { "" };
            let plural = if count == 1 { "" } else { "s" };
            push(out, format_args!("{space}{sign}{count} {unit}{plural}"));
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
    let fields = Fields::of(interval);
    push(out, format_args!("{space}{sign}{:02}:{:02}:", fields.hours.abs(), fields.minutes.abs()));
    write_seconds(out, fields.seconds, true);
}

/// Years, months, days, hours and minutes, and seconds in microseconds, each with its sign.
#[derive(Clone, Copy)]
struct Fields {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    seconds: i64,
}

impl Fields {
    fn of(interval: Interval) -> Fields {
        let minutes = interval.micros / (60 * SECOND_MICROS);
        Fields {
            years: (interval.months / 12).into(),
            months: (interval.months % 12).into(),
            days: interval.days.into(),
            hours: minutes / 60,
            minutes: minutes % 60,
            seconds: interval.micros % (60 * SECOND_MICROS),
        }
    }

    fn all(&self) -> [i64; 6] {
        [self.years, self.months, self.days, self.hours, self.minutes, self.seconds]
    }

    fn negated(self) -> Fields {
        let [years, months, days, hours, minutes, seconds] = self.all().map(|field| -field);
        Fields { years, months, days, hours, minutes, seconds }
    }
}

/// Seconds, given in microseconds, without their sign; two digits at least when `padded`.
fn write_seconds(out: &mut String, micros: i64, padded: bool) {
    let (seconds, fraction) = (micros.unsigned_abs() / 1_000_000, micros.unsigned_abs() % 1_000_000);
    let width = if padded { 2 } else { 1 };
    push(out, format_args!("{seconds:0width$}"));
    if fraction > 0 {
        let digits = format!("{fraction:06}");
        push(out, format_args!(".{}", digits.trim_end_matches('0')));
    }
}

/// `@ 1 year 2 mons ago`: the first field's sign is that of all but those that have another.
fn write_verbose(out: &mut String, fields: Fields) {
    out.push('@');
    let units = ["year", "mon", "day", "hour", "min"];
    let mut is_before = None;
    for (count, unit) in fields.all().into_iter().zip(units).filter(|(count, _)| *count != 0) {
        let turned = *is_before.get_or_insert(count < 0);
        let count = if turned { -count } else { count };
        push(out, format_args!(" {count} {unit}{}", if count == 1 { "" } else { "s" }));
    }
    if fields.seconds != 0 {
        let turned = *is_before.get_or_insert(fields.seconds < 0);
        out.push(' ');
        if (fields.seconds < 0) != turned {
            out.push('-');
        }
        write_seconds(out, fields.seconds, false);
        out.push_str(if fields.seconds.abs() == SECOND_MICROS { " sec" } else { " secs" });
    }
    match is_before {
        None => out.push_str(" 0"),
        Some(true) => out.push_str(" ago"),
        Some(false) => {}
    }
}

/// The standard's literals: year-month, or day-time, with one sign; else all fields, each with one.
fn write_standard(out: &mut String, fields: Fields) {
    let has_negative = fields.all().iter().any(|field| *field < 0);
    let has_positive = fields.all().iter().any(|field| *field > 0);
    let has_months = fields.years != 0 || fields.months != 0;
    let has_time = fields.hours != 0 || fields.minutes != 0 || fields.seconds != 0;
    if !has_negative && !has_positive {
        return out.push('0');
    }
    if (has_negative && has_positive) || (has_months && (has_time || fields.days != 0)) {
        let sign = |is_negative: bool| if is_negative { '-' } else { '+' };
        let months_sign = sign(fields.years < 0 || fields.months < 0);
        let time_sign = sign(fields.hours < 0 || fields.minutes < 0 || fields.seconds < 0);
        let shown = [fields.years, fields.months, fields.days, fields.hours, fields.minutes].map(i64::abs);
        let [years, months, days, hours, minutes] = shown;
        push(out, format_args!("{months_sign}{years}-{months} {}{days} ", sign(fields.days < 0)));
        push(out, format_args!("{time_sign}{hours}:{minutes:02}:"));
        return write_seconds(out, fields.seconds, true);
    }
    let fields = if has_negative { fields.negated() } else { fields };
    if has_negative {
        out.push('-');
    }
    if has_months {
        return push(out, format_args!("{}-{}", fields.years, fields.months));
    }
    if fields.days != 0 {
        push(out, format_args!("{} ", fields.days));
    }
    push(out, format_args!("{}:{:02}:", fields.hours, fields.minutes));
    write_seconds(out, fields.seconds, true);
}

fn write_iso(out: &mut String, fields: Fields) {
    if fields.all().iter().all(|field| *field == 0) {
        return out.push_str("PT0S");
    }
    out.push('P');
    for (count, unit) in [(fields.years, 'Y'), (fields.months, 'M'), (fields.days, 'D')] {
        if count != 0 {
            push(out, format_args!("{count}{unit}"));
        }
    }
    if fields.hours == 0 && fields.minutes == 0 && fields.seconds == 0 {
        return;
    }
    out.push('T');
    for (count, unit) in [(fields.hours, 'H'), (fields.minutes, 'M')] {
        if count != 0 {
            push(out, format_args!("{count}{unit}"));
        }
    }
    if fields.seconds != 0 {
        out.push_str(if fields.seconds < 0 { "-" } else { "" });
        write_seconds(out, fields.seconds, false);
        out.push('S');
    }
}
