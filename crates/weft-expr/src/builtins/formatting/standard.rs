//! Dates and times by a template of the SQL standard, as jsonpath's `.datetime()` reads them.
//!
//! ```text
//!   '12:34:56+3' by 'HH24:MI:SSTZH'       a time with its offset: the template has no date
//!   '2017-03-10 12' by 'yyyy-mm-dd'       an error: characters remain
//!   '2017-03-10' by 'yyyy/mm/dd'          an error: a separator is itself, not any other
//! ```
//!
//! 1. The whole text is read, by the whole template.
//! 2. The template says what is made of it: with fields of a date a date, with fields of a time a time, with both a
//!    timestamp, and of the latter two with a time zone those with one.

use weft_format::interval::DAY_MICROS;
use weft_format::{Code, Error, Result};

use super::pattern::{Field, Node, standard_nodes};
use super::read::read_standard;
use super::settle::{Moment, rounded};
use crate::days::days_of;
use crate::text::shorten;

/// PostgreSQL's first day, 24 November 4714 BC, and the last years of dates and of timestamps.
const DAY_MIN: i64 = -2_440_588;
const DATE_YEAR_MAX: i64 = 5_874_897;
const TIMESTAMP_YEAR_MAX: i64 = 294_276;

/// A template.
pub(in crate::builtins) struct Template {
    nodes: Vec<Node>,
    has_date: bool,
    has_time: bool,
    has_zone: bool,
}

/// A date, a time or both, on the clocks of the place that the offset is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::builtins) struct Said {
    /// Days since 1970.
    pub(in crate::builtins) days: Option<i64>,
    /// Microseconds since midnight.
    pub(in crate::builtins) micros: Option<i64>,
    /// Seconds east of UTC.
    pub(in crate::builtins) east_seconds: Option<i64>,
}

impl Template {
    /// A template; an error where it has other separators than the standard.
    pub(in crate::builtins) fn new(pattern: &str) -> Result<Template> {
        let nodes = standard_nodes(pattern)?;
        let has =
            |is: fn(Field) -> bool| nodes.iter().any(|node| matches!(node, Node::Field(item) if is(item.field())));
        let (has_zone, has_time) = (has(is_zone), has(is_time));
        let has_date = has(is_date);
        Ok(Template { has_date, has_time, has_zone, nodes })
    }

    /// What a text says.
    pub(in crate::builtins) fn read(&self, text: &str) -> Result<Said> {
        let moment = read_standard(text, &self.nodes)?.settle(text)?;
        let wrong = |message: &str| Error::new(Code::InvalidDatetime, message);
        match (self.has_date, self.has_time) {
            (false, false) => Err(wrong("datetime format is not dated and not timed")),
            (true, false) if self.has_zone => Err(wrong("datetime format is zoned but not timed")),
            (true, false) => {
                let out_of_range =
                    || Error::new(Code::DatetimeOverflow, format!("date out of range: \"{}\"", shorten(text)));
                let days = days(&moment, DATE_YEAR_MAX).ok_or_else(out_of_range)?;
                Ok(Said { days: Some(days), micros: None, east_seconds: None })
            }
            (false, true) => {
                let micros = rounded(moment.micros, moment.fraction_digits);
                Ok(Said { days: None, micros: Some(micros), east_seconds: self.east_seconds(&moment) })
            }
            (true, true) => {
                let name = if self.has_zone { "timestamptz" } else { "timestamp" };
                let out_of_range = || Error::new(Code::DatetimeOverflow, format!("{name} out of range"));
                let days = days(&moment, TIMESTAMP_YEAR_MAX).ok_or_else(out_of_range)?;
                let wall = rounded(days * DAY_MICROS + moment.micros, moment.fraction_digits);
                let (days, micros) = (wall.div_euclid(DAY_MICROS), wall.rem_euclid(DAY_MICROS));
                Ok(Said { days: Some(days), micros: Some(micros), east_seconds: self.east_seconds(&moment) })
            }
        }
    }

    fn east_seconds(&self, moment: &Moment) -> Option<i64> {
        self.has_zone.then_some(moment.east_seconds.unwrap_or(0))
    }
}

fn days(moment: &Moment, year_max: i64) -> Option<i64> {
    if moment.year > year_max {
        return None;
    }
    let days = days_of(moment.year, u32::try_from(moment.month).ok()?, u32::try_from(moment.day).ok()?);
    (days >= DAY_MIN).then_some(days)
}

/// Fields of a date; PostgreSQL does not count the ISO week as one.
fn is_date(field: Field) -> bool {
    !is_time(field) && !is_zone(field) && !matches!(field, Field::Exact | Field::IsoWeek)
}

fn is_zone(field: Field) -> bool {
    matches!(field, Field::ZoneHours | Field::ZoneMinutes | Field::Zone(_) | Field::Offset)
}

fn is_time(field: Field) -> bool {
    matches!(
        field,
        Field::Half(..)
            | Field::Hour12
            | Field::Hour24
            | Field::Minute
            | Field::Second
            | Field::DaySeconds
            | Field::Millis
            | Field::Micros
            | Field::Fraction(_)
    )
}
