//! Dates and timestamps: the proleptic Gregorian calendar, and their texts.
//!
//! ```text
//!   '2024-03-09 14:30:00+01'      ISO 8601, what programs write: read here, in one pass
//!   'Sat Mar 9 14:30 2024 CET'    every other form of PostgreSQL's: tokens, words, decode
//! ```
//!
//! The arithmetic is in [`days`](crate::days).

mod decode;
mod print;
mod tokens;
mod words;

pub(crate) use decode::offset_seconds;
pub(crate) use print::{
    write_date, write_time, write_timestamp, write_timestamptz, write_xsd, write_xsd_at, write_xsd_time,
};

use weft_format::interval::DAY_MICROS;
use weft_format::{Code, DataType, Error, Result};

use super::messages::{date_out_of_range, shorten, type_name};
use crate::days::{days_in_month, days_of};
use crate::style::Local;
use decode::decode;

/// Reads a date; a time behind it is read and dropped, as PostgreSQL does.
pub fn parse_date(text: &str, local: &Local) -> Result<i64> {
    match Reader::new(text, DataType::Date).iso() {
        Some((days, ..)) => Ok(days),
        None => {
            let decoded = decode(text, DataType::Date, local)?;
            decoded.days.ok_or_else(|| Reader::new(text, DataType::Date).invalid())
        }
    }
}

/// Reads a timestamp without time zone; an offset is read and ignored, as PostgreSQL does.
pub fn parse_timestamp(text: &str, local: &Local) -> Result<i64> {
    match Reader::new(text, DataType::Timestamp).iso() {
        Some((days, micros, _)) => Ok(days * DAY_MICROS + micros),
        None => {
            let decoded = decode(text, DataType::Timestamp, local)?;
            let days = decoded.days.ok_or_else(|| Reader::new(text, DataType::Timestamp).invalid())?;
            Ok(days * DAY_MICROS + decoded.micros)
        }
    }
}

/// Reads a timestamp with time zone; without one it is the session's.
pub fn parse_timestamptz(text: &str, local: &Local) -> Result<i64> {
    let (wall_micros, east_seconds) = match Reader::new(text, DataType::TimestampTz).iso() {
        Some((days, micros, Some(east_seconds))) => (days * DAY_MICROS + micros, east_seconds),
        Some((days, micros, None)) => {
            let wall_micros = days * DAY_MICROS + micros;
            (wall_micros, local.style.zone.at_wall(wall_micros.div_euclid(1_000_000)).east_seconds.into())
        }
        None => {
            let decoded = decode(text, DataType::TimestampTz, local)?;
            let days = decoded.days.ok_or_else(|| Reader::new(text, DataType::TimestampTz).invalid())?;
            (days * DAY_MICROS + decoded.micros, decoded.east_seconds)
        }
    };
    Ok(wall_micros - east_seconds * 1_000_000)
}

/// Whether a text means the same in every session: ISO 8601, with an offset where that counts.
pub(super) fn is_absolute(text: &str, data_type: DataType) -> bool {
    if data_type == DataType::Time {
        return parse_clock(text).is_ok();
    }
    match Reader::new(text, data_type).iso() {
        Some((.., east_seconds)) => data_type != DataType::TimestampTz || east_seconds.is_some(),
        None => false,
    }
}

/// Whether a text of a date or timestamp means the present day or moment: `now`, `today`, ...
pub fn reads_present(text: &str) -> bool {
    let is_present =
        |word: &str| ["now", "today", "tomorrow", "yesterday"].iter().any(|present| word.eq_ignore_ascii_case(present));
    text.split(|c: char| !c.is_ascii_alphabetic()).any(is_present)
}

/// Reads a time of day: microseconds. A date before it and a zone behind it are read and dropped, as in PostgreSQL.
pub fn parse_time(text: &str, local: &Local) -> Result<i64> {
    parse_clock(text).or_else(|wrong| {
        let decoded = decode(text, DataType::Time, local);
        decoded
            .map(|decoded| decoded.micros)
            .map_err(|other| if other.code() == Code::InvalidDatetime { wrong } else { other })
    })
}

fn parse_clock(text: &str) -> Result<i64> {
    let mut reader = Reader::new(text, DataType::Time);
    if text.trim().eq_ignore_ascii_case("allballs") {
        return Ok(0);
    }
    let leading = reader.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if leading >= 4 && reader.rest.get(leading) == Some(&b'-') {
        reader.date()?;
        let separated = reader.take(b'T') || reader.take(b't') || reader.take(b' ');
        if !separated {
            return Err(reader.invalid());
        }
    } else if leading == 4 || leading == 6 {
        let packed = reader.number(leading, leading)?;
        let (hour, minute, second) = if leading == 4 {
            (packed / 100, packed % 100, 0)
        } else {
            (packed / 10_000, packed / 100 % 100, packed % 100)
        };
        let fraction = if reader.take(b'.') { reader.fraction()? } else { 0 };
        let micros = ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction;
        if minute > 59 || second > 60 || micros > DAY_MICROS {
            return Err(reader.out_of_range());
        }
        while reader.take(b' ') {}
        reader.zone()?;
        return if reader.rest.is_empty() { Ok(micros) } else { Err(reader.invalid()) };
    }
    let mut micros = reader.time()?;
    while reader.take(b' ') {}
    micros = reader.half_of_day(micros)?;
    while reader.take(b' ') {}
    reader.zone()?;
    if reader.rest.is_empty() { Ok(micros) } else { Err(reader.invalid()) }
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a [u8],
    data_type: DataType,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, data_type: DataType) -> Reader<'a> {
        Reader { text, rest: text.trim().as_bytes(), data_type }
    }

    fn invalid(&self) -> Error {
        let (name, text) = (type_name(self.data_type), shorten(self.text));
        Error::new(Code::InvalidDatetime, format!("invalid input syntax for type {name}: \"{text}\""))
            .hint("write YYYY-MM-DD, or YYYY-MM-DD HH:MM:SS with an offset like +01:00")
    }

    fn out_of_range(&self) -> Error {
        date_out_of_range(self.text)
    }

    /// The whole text as ISO 8601: days, microseconds of the day, seconds east of UTC if it says so. None: another
    /// form, or a wrong one.
    fn iso(&mut self) -> Option<(i64, i64, Option<i64>)> {
        let days = self.date().ok()?;
        if self.rest.is_empty() {
            return Some((days, 0, None));
        }
        if !self.take(b' ') && !self.take(b'T') {
            return None;
        }
        let micros = self.time().ok()?;
        while self.take(b' ') {}
        if self.rest.is_empty() {
            return Some((days, micros, None));
        }
        let east_seconds = self.zone().ok()?;
        self.rest.is_empty().then_some((days, micros, Some(east_seconds)))
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    /// A number of `least` to `most` digits.
    fn number(&mut self, least: usize, most: usize) -> Result<i64> {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count < least || count > most {
            return Err(self.invalid());
        }
        let value = self.rest[..count].iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
        self.rest = &self.rest[count..];
        Ok(value)
    }

    fn date(&mut self) -> Result<i64> {
        let leading = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (year, month, day) = if leading == 8 {
            let packed = self.number(8, 8)?;
            (packed / 10_000, packed / 100 % 100, packed % 100)
        } else {
            let year = self.number(4, 6)?;
            if !self.take(b'-') {
                return Err(self.invalid());
            }
            let month = self.number(1, 2)?;
            if !self.take(b'-') {
                return Err(self.invalid());
            }
            (year, month, self.number(1, 2)?)
        };
        if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
            return Err(self.out_of_range());
        }
        Ok(days_of(year, month as u32, day as u32))
    }

    fn time(&mut self) -> Result<i64> {
        let hour = self.number(1, 2)?;
        if !self.take(b':') {
            return Err(self.invalid());
        }
        let minute = self.number(2, 2)?;
        let mut second = 0;
        let mut fraction = 0;
        if self.take(b':') {
            second = self.number(2, 2)?;
            if self.take(b'.') {
                fraction = self.fraction()?;
            }
        }
        let micros = ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction;
        // As PostgreSQL: 24:00:00 is the next midnight, and second 60 is the next minute.
        if hour > 24 || minute > 59 || second > 60 || micros > DAY_MICROS {
            return Err(self.out_of_range());
        }
        Ok(micros)
    }

    /// AM or PM behind a time of the twelve hour clock.
    fn half_of_day(&mut self, micros: i64) -> Result<i64> {
        let Some(half) = self.rest.get(..2).map(<[u8]>::to_ascii_lowercase) else { return Ok(micros) };
        let noon = DAY_MICROS / 2;
        let hour = micros / (DAY_MICROS / 24);
        let shifted = match half.as_slice() {
            b"am" if hour == 12 => micros - noon,
            b"pm" if hour < 12 => micros + noon,
            b"am" | b"pm" => micros,
            _ => return Ok(micros),
        };
        if hour > 12 {
            return Err(self.out_of_range());
        }
        self.rest = &self.rest[2..];
        Ok(shifted)
    }

    /// Digits of a second, rounded to microseconds.
    fn fraction(&mut self) -> Result<i64> {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let digit = |index: usize| self.rest[..count].get(index).map_or(0, |digit| i64::from(digit - b'0'));
        let micros = (0..6).fold(0, |value, index| value * 10 + digit(index)) + i64::from(digit(6) >= 5);
        if count == 0 {
            return Err(self.invalid());
        }
        self.rest = &self.rest[count..];
        Ok(micros)
    }

    fn zone(&mut self) -> Result<i64> {
        for name in ["utc", "gmt", "z"] {
            if self.rest.eq_ignore_ascii_case(name.as_bytes()) {
                self.rest = &[];
                return Ok(0);
            }
        }
        let sign = match (self.take(b'+'), self.rest.first()) {
            (true, _) => 1,
            (false, Some(b'-')) => {
                self.rest = &self.rest[1..];
                -1
            }
            (false, None) => return Ok(0),
            (false, Some(_)) => return Err(self.invalid()),
        };
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (hours, minutes) = if count == 4 {
            let packed = self.number(4, 4)?;
            (packed / 100, packed % 100)
        } else {
            let hours = self.number(1, 2)?;
            (hours, if self.take(b':') { self.number(2, 2)? } else { 0 })
        };
        let seconds = if self.take(b':') { self.number(2, 2)? } else { 0 };
        if hours > 15 || minutes > 59 || seconds > 59 {
            return Err(self.out_of_range());
        }
        Ok(sign * (hours * 3600 + minutes * 60 + seconds))
    }
}
