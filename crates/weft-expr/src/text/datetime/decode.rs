//! Dates and times of every form that PostgreSQL reads: its `DecodeDateTime`, field by field.
//!
//! ```text
//!   Sat Mar 09 14:30:00.5 2024 EST        9.3.2024 2:30 PM Europe/Berlin        20240309T143000-05
//!   J2451187   2024.069   '99-Jan-08   y2024m03d09   now   tomorrow   epoch   March 9, 44 BC (years 0001 to 9999 only)
//! ```
//!
//! 1. Each part of a date is said once; what is said twice is no date.
//! 2. A time of day says its time; a date before it is in one field, and its numbers are no dates.

use weft_format::interval::DAY_MICROS;
use weft_format::{Code, DataType, Error, Result};

use super::tokens::{Field, Shape, fields};
use super::words::{Label, Word, word};
use crate::days::{DAY_SECONDS, date_parts, days_in_month, days_of};
use crate::style::{DateOrder, Local};
use crate::text::messages::{date_out_of_range, shorten, type_name};
use crate::zone::{Abbreviation, Meaning, Zone};

/// Parts of a date, as bits of a mask.
const YEAR: u16 = 1;
const MONTH: u16 = 2;
const DAY: u16 = 4;
const DATE: u16 = YEAR | MONTH | DAY;
const HOUR: u16 = 8;
const MINUTE: u16 = 16;
const SECOND: u16 = 32;
const TIME: u16 = HOUR | MINUTE | SECOND;
const ZONE: u16 = 64;
const DAYLIGHT: u16 = 128;
const DAY_OF_YEAR: u16 = 256;
const HALF: u16 = 512;
const ERA: u16 = 1024;
const WEEKDAY: u16 = 2048;

/// The day of 1970-01-01 in Julian days.
const JULIAN_EPOCH: i64 = 2_440_588;
/// The largest offset from UTC, hours.
const ZONE_HOURS_MAX: i64 = 15;

/// What a text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    /// None: a time without a date.
    pub(super) days: Option<i64>,
    /// Since midnight; up to 24 hours.
    pub(super) micros: i64,
    /// Seconds east of UTC: those said, or the session's at that time.
    pub(super) east_seconds: i64,
}

/// Why a text is no date.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wrong {
    Form,
    Field,
    /// A month or day that another order of the fields would make good.
    MonthOrDay,
    Offset,
    UnknownZone(String),
    Infinite,
}

type Read<T> = std::result::Result<T, Wrong>;

/// Reads a text in full.
pub(super) fn decode(text: &str, data_type: DataType, local: &Local) -> Result<Decoded> {
    let found = fields(text, |found| word(found).is_some()).ok_or(Wrong::Form).and_then(|fields| {
        let mut decoder = Decoder::new(local);
        decoder.is_time = data_type == DataType::Time;
        decoder.decode(&fields)
    });
    found.map_err(|wrong| error(&wrong, text, data_type))
}

fn error(wrong: &Wrong, text: &str, data_type: DataType) -> Error {
    let (name, shown) = (type_name(data_type), shorten(text));
    match wrong {
        Wrong::Form => Error::new(Code::InvalidDatetime, format!("invalid input syntax for type {name}: \"{shown}\""))
            .hint("write YYYY-MM-DD, or YYYY-MM-DD HH:MM:SS with an offset like +01:00"),
        Wrong::Field => date_out_of_range(text),
        Wrong::MonthOrDay => {
            Error::new(Code::DatetimeOverflow, format!("date/time field value out of range: \"{shown}\""))
                .hint("Perhaps you need a different \"datestyle\" setting.")
        }
        Wrong::Offset => {
            Error::new(Code::InvalidZoneOffset, format!("time zone displacement out of range: \"{shown}\""))
        }
        Wrong::UnknownZone(zone) => {
            Error::new(Code::InvalidParameterValue, format!("time zone \"{}\" not recognized", shorten(zone)))
        }
        Wrong::Infinite => Error::new(Code::FeatureNotSupported, format!("type {name} does not take \"{shown}\""))
            .hint("dates lie in the years 0001 to 9999; use NULL or a far date for what has no end"),
    }
}

/// What a zone was named by.
enum Named {
    Zone(Zone),
    Abbreviated(String, Zone),
}

struct Decoder<'a> {
    local: &'a Local,
    /// Whether a time of day is wanted.
    is_time: bool,
    said: u16,
    year: i64,
    month: i64,
    day: i64,
    day_of_year: i64,
    hour: i64,
    minute: i64,
    second: i64,
    fraction: i64,
    east_seconds: i64,
    named: Option<Named>,
    is_bc: bool,
    is_pm: Option<bool>,
    has_month_name: bool,
    has_short_year: bool,
    is_julian: bool,
    label: Option<Label>,
}

impl<'a> Decoder<'a> {
    fn new(local: &'a Local) -> Decoder<'a> {
        Decoder {
            local,
            is_time: false,
            said: 0,
            year: 0,
            month: 0,
            day: 0,
            day_of_year: 0,
            hour: 0,
            minute: 0,
            second: 0,
            fraction: 0,
            east_seconds: 0,
            named: None,
            is_bc: false,
            is_pm: None,
            has_month_name: false,
            has_short_year: false,
            is_julian: false,
            label: None,
        }
    }

    fn decode(&mut self, fields: &[Field]) -> Read<Decoded> {
        for (at, field) in fields.iter().enumerate() {
            let says = match field.shape {
                Shape::Date => {
                    let is_before = at == 0 && fields.len() > 1;
                    let ends = || fields[fields.len() - 1].shape == Shape::Date || fields[1].shape == Shape::Time;
                    self.date_field(&field.text, !self.is_time || is_before && ends())?
                }
                Shape::Time => {
                    if self.label.take().is_some_and(|label| label != Label::Time) {
                        return Err(Wrong::Form);
                    }
                    self.clock(&field.text)?
                }
                Shape::Zone => {
                    self.east_seconds = offset(&field.text)?;
                    ZONE
                }
                Shape::Number => match self.label.take() {
                    Some(label) => self.labelled(label, &field.text)?,
                    None => self.number_field(&field.text)?,
                },
                Shape::Word => {
                    let next = fields.get(at + 1).map(|field| field.shape);
                    match self.word_field(&field.text, next)? {
                        Some(Said::Part(says)) => says,
                        Some(Said::Epoch) => {
                            return Ok(Decoded { days: Some(0), micros: 0, east_seconds: 0 });
                        }
                        None => continue,
                    }
                }
            };
            if says & self.said != 0 {
                return Err(Wrong::Form);
            }
            self.said |= says;
        }
        self.finish()
    }

    fn date_field(&mut self, text: &str, may_be_date: bool) -> Read<u16> {
        if self.label == Some(Label::Julian) {
            // A Julian day with a zone behind it.
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            self.label = None;
            self.set_julian(whole(&text[..end])?);
            self.east_seconds = offset(&text[end..])?;
            return Ok(DATE | TIME | ZONE);
        }
        if may_be_date && self.label.is_none() && self.said & (MONTH | DAY) != MONTH | DAY {
            return self.date(text);
        }
        if !text.starts_with(|c: char| c.is_ascii_digit()) && self.label.is_none() {
            let zone = Zone::find(text).ok_or_else(|| Wrong::UnknownZone(text.to_owned()))?;
            self.named = Some(Named::Zone(zone));
            return Ok(ZONE);
        }
        // Digits of a time with an offset: 143000-05.
        if self.label.take().is_some_and(|label| label != Label::Time) || self.said & TIME == TIME {
            return Err(Wrong::Form);
        }
        let at = text.find('-').ok_or(Wrong::Form)?;
        self.east_seconds = offset(&text[at..])?;
        let said = if self.is_time { self.said | DATE } else { self.said };
        Ok(self.run_together(&text[..at], said)? | ZONE)
    }

    /// `[H]H:MM[:SS[.f]]`; `MM:SS.f`.
    fn clock(&mut self, text: &str) -> Read<u16> {
        let mut parts = text.split(':');
        let hour = whole(parts.next().unwrap_or_default())?;
        let minute = parts.next().ok_or(Wrong::Form)?;
        let second = parts.next();
        if parts.next().is_some() {
            return Err(Wrong::Form);
        }
        (self.hour, self.minute, self.second, self.fraction) = match (minute.split_once('.'), second) {
            (Some((second, digits)), None) => (0, hour, whole(second)?, fraction(digits)?),
            (Some(_), Some(_)) => return Err(Wrong::Form),
            (None, None) => (hour, whole(minute)?, 0, 0),
            (None, Some(second)) => match second.split_once('.') {
                Some((second, digits)) => (hour, whole(minute)?, whole(second)?, fraction(digits)?),
                None => (hour, whole(minute)?, whole(second)?, 0),
            },
        };
        if self.minute > 59 || self.second > 60 || self.micros() > DAY_MICROS {
            return Err(Wrong::Field);
        }
        Ok(TIME)
    }

    fn micros(&self) -> i64 {
        let seconds = self.hour.saturating_mul(3600).saturating_add(self.minute * 60 + self.second);
        seconds.saturating_mul(1_000_000).saturating_add(self.fraction)
    }

    fn labelled(&mut self, label: Label, text: &str) -> Read<u16> {
        let (digits, behind) = text.split_once('.').map_or((text, None), |(digits, behind)| (digits, Some(behind)));
        if behind.is_some() && !matches!(label, Label::Julian | Label::Time | Label::Second) {
            return Err(Wrong::Form);
        }
        let value = if label == Label::Time { 0 } else { whole(digits)? };
        let (field, says) = match label {
            Label::Year => (&mut self.year, YEAR),
            // Behind an hour it is the minute.
            Label::Month if self.said & (MONTH | HOUR) == MONTH | HOUR => (&mut self.minute, MINUTE),
            Label::Month => (&mut self.month, MONTH),
            Label::Day => (&mut self.day, DAY),
            Label::Hour => (&mut self.hour, HOUR),
            Label::Minute => (&mut self.minute, MINUTE),
            Label::Second => {
                self.fraction = behind.map_or(Ok(0), fraction)?;
                (&mut self.second, SECOND)
            }
            Label::Julian => {
                self.set_julian(value);
                let Some(behind) = behind else { return Ok(DATE) };
                let part: f64 = format!("0.{behind}").parse().map_err(|_| Wrong::Form)?;
                self.fraction = (part * DAY_MICROS as f64) as i64;
                return Ok(DATE | TIME);
            }
            Label::Time => {
                let says = self.run_together(text, self.said | DATE)?;
                return if says == TIME { Ok(says) } else { Err(Wrong::Form) };
            }
        };
        *field = value;
        Ok(says)
    }

    fn set_julian(&mut self, day: i64) {
        let (year, month, day) = date_parts(day.min(1 << 40) - JULIAN_EPOCH);
        (self.year, self.month, self.day) = (year, month.into(), day.into());
        self.is_julian = true;
    }

    fn number_field(&mut self, text: &str) -> Read<u16> {
        if self.is_time {
            return self.number(text, self.said | DATE);
        }
        let point = text.find('.');
        if point.is_some() && self.said & DATE == 0 {
            return self.date(text);
        }
        let is_run = match point {
            Some(point) => point > 2,
            None => text.len() >= 6 && (self.said & DATE == 0 || self.said & TIME == 0),
        };
        if is_run { self.run_together(text, self.said) } else { self.number(text, self.said) }
    }

    /// Digits without separators: YYYYMMDD, HHMMSS, HHMM.
    fn run_together(&mut self, text: &str, said: u16) -> Read<u16> {
        let (digits, behind) = text.split_once('.').map_or((text, None), |(digits, behind)| (digits, Some(behind)));
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Wrong::Form);
        }
        if let Some(behind) = behind {
            self.fraction = fraction(behind)?;
        } else if said & DATE != DATE && digits.len() >= 6 {
            let (year, rest) = digits.split_at(digits.len() - 4);
            (self.year, self.month, self.day) = (whole(year)?, whole(&rest[..2])?, whole(&rest[2..])?);
            self.has_short_year = year.len() == 2;
            return Ok(DATE);
        }
        if said & TIME != TIME && matches!(digits.len(), 4 | 6) {
            (self.hour, self.minute) = (whole(&digits[..2])?, whole(&digits[2..4])?);
            self.second = if digits.len() == 6 { whole(&digits[4..])? } else { 0 };
            return Ok(TIME);
        }
        Err(Wrong::Form)
    }

    /// A number of a date, whose place says what it is.
    fn number(&mut self, text: &str, said: u16) -> Read<u16> {
        let (digits, behind) = text.split_once('.').map_or((text, None), |(digits, behind)| (digits, Some(behind)));
        if behind.is_some() && digits.len() > 2 {
            return self.run_together(text, said | DATE);
        }
        let value = whole(digits)?;
        if let Some(behind) = behind {
            self.fraction = fraction(behind)?;
        }
        let length = text.len();
        if length == 3 && said & DATE == YEAR && (1..=366).contains(&value) {
            self.day_of_year = value;
            return Ok(DAY_OF_YEAR | MONTH | DAY);
        }
        let order = self.local.style.order;
        let is_year = length >= 3 || order == DateOrder::Ymd;
        let says = match said & DATE {
            0 if is_year => YEAR,
            0 if order == DateOrder::Dmy => DAY,
            0 | YEAR | DAY => MONTH,
            MONTH if self.has_month_name && is_year => YEAR,
            MONTH => DAY,
            part if part == YEAR | MONTH => {
                if self.has_month_name && length >= 3 && self.has_short_year {
                    // What was taken for a year is the day: 08 Jan 1999 where years come first.
                    (self.day, self.year, self.has_short_year) = (self.year, value, false);
                    return Ok(DAY);
                }
                DAY
            }
            part if part == MONTH | DAY => YEAR,
            DATE => return self.run_together(text, said),
            _ => return Err(Wrong::Form),
        };
        match says {
            YEAR => {
                self.year = value;
                self.has_short_year = length <= 2;
            }
            MONTH => self.month = value,
            _ => self.day = value,
        }
        Ok(says)
    }

    /// A date in one field: a month by name first, then numbers by their places.
    fn date(&mut self, text: &str) -> Read<u16> {
        let mut said = 0;
        let mut numbers = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
            let Some(first) = rest.chars().next() else { return Err(Wrong::Form) };
            let is_number = first.is_ascii_digit();
            let ends = |c: char| if is_number { !c.is_ascii_digit() } else { !c.is_ascii_alphabetic() };
            let end = rest.find(ends).unwrap_or(rest.len());
            let part = &rest[..end];
            // The character behind a part is dropped, whatever it is.
            rest = rest[end..].get(1..).unwrap_or_default();
            if is_number {
                numbers.push(part);
                continue;
            }
            match word(part) {
                Some(Word::Filler) => {}
                Some(Word::Month(month)) if said == 0 => {
                    (self.month, self.has_month_name, said) = (month, true, MONTH);
                }
                _ => return Err(Wrong::Form),
            }
        }
        for number in numbers {
            let says = self.number(number, self.said | said)?;
            if says & said != 0 {
                return Err(Wrong::Form);
            }
            said |= says;
        }
        if (self.said | said) & !(DAY_OF_YEAR | ZONE) & DATE == DATE { Ok(said) } else { Err(Wrong::Form) }
    }

    fn word_field(&mut self, text: &str, next: Option<Shape>) -> Read<Option<Said>> {
        if let Some(known) = Abbreviation::find(text) {
            let (east_seconds, says) = match known.meaning {
                Meaning::Standard(east) | Meaning::Daylight(east) => (i64::from(east), ZONE),
                Meaning::In(zone) => {
                    let zone = Zone::find(zone).ok_or_else(|| Wrong::UnknownZone(zone.to_owned()))?;
                    self.named = Some(Named::Abbreviated(text.to_owned(), zone));
                    (0, ZONE)
                }
            };
            self.east_seconds += east_seconds;
            return Ok(Some(Said::Part(says)));
        }
        let Some(found) = word(text) else {
            let zone = Zone::find(text).ok_or(Wrong::Form)?;
            self.named = Some(Named::Zone(zone));
            return Ok(Some(Said::Part(ZONE)));
        };
        let says = match found {
            Word::Month(_) | Word::Weekday | Word::Yesterday | Word::Today | Word::Tomorrow if self.is_time => {
                return Err(Wrong::Form);
            }
            Word::Epoch | Word::Infinity if self.is_time => return Err(Wrong::Form),
            Word::Filler => return Ok(None),
            Word::Month(month) => {
                let mut says = MONTH;
                if self.said & (MONTH | DAY) == MONTH && !self.has_month_name && (1..=31).contains(&self.month) {
                    // What was taken for a month is the day.
                    (self.day, says) = (self.month, DAY);
                }
                (self.month, self.has_month_name) = (month, true);
                says
            }
            Word::Weekday => WEEKDAY,
            Word::Half(is_pm) => {
                self.is_pm = Some(is_pm);
                HALF
            }
            Word::Era { is_bc } => {
                self.is_bc = is_bc;
                ERA
            }
            Word::Now => {
                let wall = self.local.style.zone.wall_of(self.local.now_micros);
                self.east_seconds = (wall - self.local.now_micros) / 1_000_000;
                self.set_days(wall.div_euclid(DAY_MICROS));
                self.fraction = wall.rem_euclid(DAY_MICROS);
                DATE | TIME | ZONE
            }
            Word::Yesterday | Word::Today | Word::Tomorrow => self.day_beside_today(found),
            Word::Zulu => TIME | ZONE,
            Word::Epoch => return Ok(Some(Said::Epoch)),
            Word::Infinity => return Err(Wrong::Infinite),
            Word::Daylight => {
                self.east_seconds += 3600;
                DAYLIGHT
            }
            Word::Label(label) => {
                let follows = matches!(next, Some(Shape::Number | Shape::Time | Shape::Date));
                if label == Label::Time && (self.said & DATE != DATE || !follows) {
                    return Err(Wrong::Form);
                }
                self.label = Some(label);
                return Ok(None);
            }
        };
        Ok(Some(Said::Part(says)))
    }

    fn day_beside_today(&mut self, said: Word) -> u16 {
        let today = self.local.style.zone.wall_of(self.local.now_micros).div_euclid(DAY_MICROS);
        self.set_days(today + i64::from(said == Word::Tomorrow) - i64::from(said == Word::Yesterday));
        DATE
    }

    fn set_days(&mut self, days: i64) {
        let (year, month, day) = date_parts(days);
        (self.year, self.month, self.day) = (year, month.into(), day.into());
    }

    fn finish(&mut self) -> Read<Decoded> {
        if self.is_time && self.said & TIME != TIME {
            return Err(Wrong::Form);
        }
        self.check_date()?;
        if let Some(is_pm) = self.is_pm {
            if self.hour > 12 {
                return Err(Wrong::Field);
            }
            self.hour = self.hour % 12 + if is_pm { 12 } else { 0 };
        }
        let micros = self.micros();
        if self.is_time && (self.minute > 59 || self.second > 60 || micros > DAY_MICROS) {
            return Err(Wrong::Field);
        }
        if self.said & DATE != DATE {
            if self.said & TIME != TIME {
                return Err(Wrong::Form);
            }
            return Ok(Decoded { days: None, micros, east_seconds: self.east_seconds });
        }
        let days = days_of(self.year, self.month as u32, self.day as u32);
        let wall_seconds = days * DAY_SECONDS + micros.div_euclid(1_000_000);
        if self.named.is_some() && self.said & DAYLIGHT != 0 {
            return Err(Wrong::Form);
        }
        let east = |zone: &Zone| i64::from(zone.at_wall(wall_seconds).east_seconds);
        let east_seconds = match &self.named {
            Some(Named::Zone(zone)) => east(zone),
            Some(Named::Abbreviated(name, zone)) => {
                let about = wall_seconds - east(zone);
                zone.abbreviated(name, about).map_or(east(zone), |offset| offset.east_seconds.into())
            }
            None if self.said & ZONE == 0 => {
                if self.said & DAYLIGHT != 0 {
                    return Err(Wrong::Form);
                }
                east(&self.local.style.zone)
            }
            None => self.east_seconds,
        };
        Ok(Decoded { days: Some(days), micros, east_seconds })
    }

    /// Years of two digits, days of a year, and whether there is such a day.
    fn check_date(&mut self) -> Read<()> {
        if self.said & YEAR != 0 && !self.is_julian {
            if self.is_bc {
                if self.year <= 0 {
                    return Err(Wrong::Field);
                }
                self.year = 1 - self.year;
            } else if self.has_short_year {
                self.year += if self.year < 70 { 2000 } else { 1900 };
            } else if self.year <= 0 {
                return Err(Wrong::Field);
            }
        }
        if self.said & YEAR != 0 && !(1..=9999).contains(&self.year) {
            return Err(Wrong::Field);
        }
        if self.said & DAY_OF_YEAR != 0 {
            self.set_days(days_of(self.year, 1, 1) + self.day_of_year - 1);
        }
        if self.said & MONTH != 0 && !(1..=12).contains(&self.month) {
            return Err(Wrong::MonthOrDay);
        }
        if self.said & DAY != 0 && !(1..=31).contains(&self.day) {
            return Err(Wrong::MonthOrDay);
        }
        if self.said & DATE == DATE && self.day > days_in_month(self.year, self.month) {
            return Err(Wrong::Field);
        }
        Ok(())
    }
}

/// What a word says.
enum Said {
    Part(u16),
    Epoch,
}

/// Digits.
fn whole(text: &str) -> Read<i64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Wrong::Form);
    }
    text.parse::<i32>().map(i64::from).map_err(|_| Wrong::Field)
}

/// Digits behind a point, in microseconds, rounded.
fn fraction(digits: &str) -> Read<i64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Wrong::Form);
    }
    let part: f64 = format!("0.{digits}").parse().map_err(|_| Wrong::Form)?;
    Ok((part * 1e6).round_ties_even() as i64)
}

/// Seconds east of UTC that an offset says: `+03`, `-0530`, `+05:30:15`.
pub(crate) fn offset_seconds(text: &str) -> Option<i64> {
    offset(text).ok()
}

/// `+HH[:MM[:SS]]`, `+HHMM`: seconds east of UTC.
fn offset(text: &str) -> Read<i64> {
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'+') => (1, &text[1..]),
        Some(b'-') => (-1, &text[1..]),
        _ => return Err(Wrong::Form),
    };
    let mut parts = digits.split(':');
    let first = parts.next().unwrap_or_default();
    let number = |part: &str| whole(part).map_err(|wrong| if wrong == Wrong::Field { Wrong::Offset } else { wrong });
    let hours = number(first)?;
    let (hours, minutes, seconds) = match (parts.next(), parts.next(), parts.next()) {
        (None, ..) if digits.len() > 2 => (hours / 100, hours % 100, 0),
        (None, ..) => (hours, 0, 0),
        (Some(minutes), None, _) => (hours, number(minutes)?, 0),
        (Some(minutes), Some(seconds), None) => (hours, number(minutes)?, number(seconds)?),
        _ => return Err(Wrong::Form),
    };
    if hours > ZONE_HOURS_MAX || minutes > 59 || seconds > 59 {
        return Err(Wrong::Offset);
    }
    Ok(sign * (hours * 3600 + minutes * 60 + seconds))
}
