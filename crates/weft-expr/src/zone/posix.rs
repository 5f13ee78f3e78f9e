//! Zones as POSIX writes them: a name, how far west, and perhaps the name and the rules of daylight saving time.
//!
//! ```text
//!   EST5EDT,M3.2.0,M11.1.0     five hours west; from the second Sunday of March to the first of November four
//!   UTC+3                      three hours WEST of UTC: the sign is POSIX's, as PostgreSQL has it
//!   <+0330>-3:30               a name with digits stands in angle brackets
//! ```
//!
//! Without rules those of the United States since 2007 are taken.

use super::kind::Kind;
use crate::days::{DAY_SECONDS, date_parts, days_of};

/// The rules of a zone that says none.
const DEFAULT_RULES: &str = "M3.2.0,M11.1.0";
/// The largest offset: an hour less than a week.
const HOURS_MAX: i64 = 167;

/// What holds for ever: two kinds that take turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    standard: Kind,
    daylight: Kind,
    /// When daylight saving time begins, in standard time; and ends, in its own.
    begins: Rule,
    ends: Rule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    day: Day,
    /// Seconds behind the day's midnight; negative ones are the day before.
    seconds: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Day {
    /// From 1 to 365, 29 February never counts.
    CommonYear(i64),
    /// From 0 to 365.
    OfYear(i64),
    /// Month, week from 1 to 5 (the last), day of the week from Sunday = 0.
    OfWeek(u32, i64, i64),
}

impl Rule {
    /// Seconds since 1970 at which a wall clock shows the moment.
    fn wall_seconds(&self, year: i64) -> i64 {
        let january = days_of(year, 1, 1);
        let day = match self.day {
            Day::CommonYear(day) => {
                let is_leap = days_of(year, 3, 1) - days_of(year, 2, 28) == 2;
                january + day - 1 + i64::from(is_leap && day >= 60)
            }
            Day::OfYear(day) => january + day,
            Day::OfWeek(month, week, weekday) => {
                let first = days_of(year, month, 1);
                let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
                let end = days_of(next_year, next, 1);
                // 1970-01-01 was a Thursday.
                let mut day = first + (weekday - (first + 4)).rem_euclid(7) + (week - 1) * 7;
                while day >= end {
                    day -= 7;
                }
                day
            }
        };
        day * DAY_SECONDS + self.seconds
    }
}

impl Tail {
    pub(super) fn kinds(&self) -> [&Kind; 2] {
        [&self.standard, &self.daylight]
    }

    fn transitions(&self, year: i64) -> [(i64, &Kind); 2] {
        let begins = self.begins.wall_seconds(year) - i64::from(self.standard.east_seconds);
        let ends = self.ends.wall_seconds(year) - i64::from(self.daylight.east_seconds);
        let both = [(begins, &self.daylight), (ends, &self.standard)];
        if begins <= ends { both } else { [both[1], both[0]] }
    }

    fn around(&self, seconds: i64) -> impl Iterator<Item = (i64, &Kind)> {
        let year = date_parts(seconds.div_euclid(DAY_SECONDS)).0;
        (year - 1..=year + 2).flat_map(|year| self.transitions(year))
    }

    pub(super) fn kind_at(&self, seconds: i64) -> &Kind {
        let last = self.around(seconds).take_while(|(at, _)| *at <= seconds).last();
        last.map_or(&self.standard, |(_, kind)| kind)
    }

    pub(super) fn next_transition(&self, seconds: i64) -> Option<(i64, &Kind)> {
        self.around(seconds).find(|(at, _)| *at > seconds)
    }
}

/// Reads a POSIX string: its text, the kind that holds without daylight saving time, and the rules if there are some.
pub(super) fn parse(text: &str) -> Option<(Box<str>, Vec<Kind>, Option<Tail>)> {
    let mut reader = Reader { rest: text };
    let name = reader.name()?;
    let west = reader.offset()?;
    let standard = Kind { east_seconds: i32::try_from(-west).ok()?, is_dst: false, abbreviation: name.into() };
    if reader.rest.is_empty() {
        return Some((text.into(), vec![standard], None));
    }
    let name = reader.name().filter(|name| !name.is_empty())?;
    let daylight_west =
        if reader.rest.is_empty() || reader.rest.starts_with([',', ';']) { west - 3600 } else { reader.offset()? };
    let daylight = Kind { east_seconds: i32::try_from(-daylight_west).ok()?, is_dst: true, abbreviation: name.into() };
    match reader.rest.strip_prefix([',', ';']) {
        Some(rest) => reader.rest = rest,
        None if reader.rest.is_empty() => reader.rest = DEFAULT_RULES,
        None => return None,
    }
    let begins = reader.rule()?;
    reader.rest = reader.rest.strip_prefix(',')?;
    let ends = reader.rule()?;
    if !reader.rest.is_empty() {
        return None;
    }
    let tail = Tail { standard: standard.clone(), daylight, begins, ends };
    Some((text.into(), vec![standard], Some(tail)))
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// A name; it may be empty.
    fn name(&mut self) -> Option<&'a str> {
        let (name, rest) = match self.rest.strip_prefix('<') {
            Some(inside) => inside.split_once('>')?,
            None => {
                let stops = |c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | '+');
                self.rest.split_at(self.rest.find(stops).unwrap_or(self.rest.len()))
            }
        };
        self.rest = rest;
        Some(name)
    }

    fn number(&mut self, least: i64, most: i64) -> Option<i64> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let number = self.rest[..end].parse().ok().filter(|number| (least..=most).contains(number))?;
        self.rest = &self.rest[end..];
        Some(number)
    }

    fn take(&mut self, c: char) -> bool {
        let behind = self.rest.strip_prefix(c);
        self.rest = behind.unwrap_or(self.rest);
        behind.is_some()
    }

    /// `[+-]hh[:mm[:ss]]`, seconds.
    fn offset(&mut self) -> Option<i64> {
        let sign = if self.take('-') { -1 } else { 1 };
        if sign == 1 {
            self.take('+');
        }
        let mut seconds = self.number(0, HOURS_MAX)? * 3600;
        if self.take(':') {
            seconds += self.number(0, 59)? * 60;
            if self.take(':') {
                seconds += self.number(0, 60)?;
            }
        }
        Some(sign * seconds)
    }

    fn rule(&mut self) -> Option<Rule> {
        let day = if self.take('J') {
            Day::CommonYear(self.number(1, 365)?)
        } else if self.take('M') {
            let month = self.number(1, 12)?;
            let week = self.take('.').then(|| self.number(1, 5))??;
            let weekday = self.take('.').then(|| self.number(0, 6))??;
            Day::OfWeek(month as u32, week, weekday)
        } else {
            Day::OfYear(self.number(0, 365)?)
        };
        let seconds = if self.take('/') { self.offset()? } else { 2 * 3600 };
        Some(Rule { day, seconds })
    }
}
