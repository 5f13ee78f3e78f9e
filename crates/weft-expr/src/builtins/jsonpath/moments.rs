//! Dates and times that `.datetime()` makes, and their order.
//!
//! ```text
//!   '2017-03-10 12:34:56+3'    of the standard's forms the first that fits: timestamp with time zone
//!   date < timestamp           midnight counts
//!   date < timestamptz         depends on the session's time zone: only the functions `..._tz` compare them
//!   date < time                unknown
//! ```

use std::cmp::Ordering;
use std::sync::LazyLock;

use weft_format::interval::DAY_MICROS;
use weft_format::{Code, Error, Result};

use super::errors::Kind;
use crate::builtins::formatting::Template;
use crate::style::Local;
use crate::text::{write_date, write_xsd_at, write_xsd_time};

/// A date, a time, or both, on the clocks of the place that the offset is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Days since 1970.
    Date(i64),
    /// Microseconds since midnight, seconds east of UTC.
    Time(i64, Option<i32>),
    /// Microseconds since 1970, seconds east of UTC.
    Timestamp(i64, Option<i32>),
}

/// The forms of ISO 8601, in the order in which they are tried.
const FORMS: [&str; 19] = [
    "yyyy-mm-dd",
    "HH24:MI:SS.USTZH:TZM",
    "HH24:MI:SS.USTZH",
    "HH24:MI:SSTZH:TZM",
    "HH24:MI:SSTZH",
    "HH24:MI:SS.US",
    "HH24:MI:SS",
    "yyyy-mm-dd HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd HH24:MI:SS.USTZH",
    "yyyy-mm-dd HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd HH24:MI:SSTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH",
    "yyyy-mm-dd HH24:MI:SS.US",
    "yyyy-mm-dd HH24:MI:SS",
    "yyyy-mm-dd\"T\"HH24:MI:SS.US",
    "yyyy-mm-dd\"T\"HH24:MI:SS",
];

static TEMPLATES: LazyLock<Vec<Template>> = LazyLock::new(|| {
    FORMS.iter().map(|form| Template::new(form).expect("the forms have the standard's separators")).collect()
});

impl Moment {
    /// What a text says by a template, or by the first form that fits. The outer error is one that nothing suppresses.
    pub(super) fn read(text: &str, template: Option<&str>) -> Result<Result<Moment>> {
        if let Some(template) = template {
            let template = Template::new(template)?;
            return Ok(Moment::by(text, &template));
        }
        let has_t = text.contains('T');
        let fits = |form: &str| has_t || !form.contains('T') || !form.contains('"');
        let forms = FORMS.iter().zip(TEMPLATES.iter()).filter(|(form, _)| fits(form));
        let found = forms.map(|(_, template)| Moment::by(text, template)).find(Result::is_ok);
        Ok(found.unwrap_or_else(|| {
            Err(Kind::Datetime
                .error(format!("datetime format is not recognized: \"{text}\""))
                .hint("Use a datetime template argument to specify the input data format."))
        }))
    }

    fn by(text: &str, template: &Template) -> Result<Moment> {
        let said = template.read(text)?;
        let east = said.east_seconds.map(|seconds| i32::try_from(seconds).unwrap_or(0));
        Ok(match (said.days, said.micros) {
            (Some(days), Some(micros)) => Moment::Timestamp(days * DAY_MICROS + micros, east),
            (Some(days), None) => Moment::Date(days),
            (None, micros) => Moment::Time(micros.unwrap_or(0), east),
        })
    }

    /// Its type.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Moment::Date(_) => "date",
            Moment::Time(_, None) => "time without time zone",
            Moment::Time(_, Some(_)) => "time with time zone",
            Moment::Timestamp(_, None) => "timestamp without time zone",
            Moment::Timestamp(_, Some(_)) => "timestamp with time zone",
        }
    }

    /// As JSON has it.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        match self {
            Moment::Date(days) => write_date(&mut out, *days, &Local::fixed().style),
            Moment::Time(micros, east) => write_xsd_time(&mut out, *micros, *east),
            Moment::Timestamp(micros, east) => write_xsd_at(&mut out, *micros, *east),
        }
        out
    }

    /// The order of two; none when they cannot be compared, an error when that would need a time zone and the call is
    /// none of a session's.
    pub(super) fn compare(&self, other: &Moment, session: Option<&Local>) -> Result<Option<Ordering>> {
        use Moment::{Date, Time};
        Ok(match (self, other) {
            (Date(a), Date(b)) => Some(a.cmp(b)),
            (Time(a, None), Time(b, None)) => Some(a.cmp(b)),
            (Time(a, east_a), Time(b, east_b)) => {
                let east = |east: &Option<i32>| match east {
                    Some(east) => Ok(i64::from(*east)),
                    None => {
                        let local = session.ok_or_else(|| without_zone("time", "timetz"))?;
                        let now = local.now_micros.div_euclid(1_000_000);
                        Ok(i64::from(local.style.zone.at(now).east_seconds))
                    }
                };
                let (east_a, east_b) = (east(east_a)?, east(east_b)?);
                let moments = (a - east_a * 1_000_000).cmp(&(b - east_b * 1_000_000));
                // Of equal moments the one further to the east comes first.
                Some(moments.then(east_b.cmp(&east_a)))
            }
            (Time(..), _) | (_, Time(..)) => None,
            (a, b) if a.is_zoned() || b.is_zoned() => Some(a.moment(session)?.cmp(&b.moment(session)?)),
            (a, b) => Some(a.wall().cmp(&b.wall())),
        })
    }

    fn is_zoned(&self) -> bool {
        matches!(self, Moment::Timestamp(_, Some(_)))
    }

    /// Microseconds since 1970 on its clocks; of dates their midnights.
    fn wall(&self) -> i64 {
        match self {
            Moment::Date(days) => days.saturating_mul(DAY_MICROS),
            Moment::Time(micros, _) | Moment::Timestamp(micros, _) => *micros,
        }
    }

    /// Microseconds since 1970 UTC.
    fn moment(&self, session: Option<&Local>) -> Result<i64> {
        let name = match self {
            Moment::Timestamp(wall, Some(east)) => return Ok(wall - i64::from(*east) * 1_000_000),
            Moment::Date(_) => "date",
            _ => "timestamp",
        };
        let local = session.ok_or_else(|| without_zone(name, "timestamptz"))?;
        let wall = self.wall();
        Ok(local.style.zone.moment_of(wall).unwrap_or(wall))
    }
}

fn without_zone(from: &str, to: &str) -> Error {
    let message = format!("cannot convert value from {from} to {to} without time zone usage");
    Error::new(Code::FeatureNotSupported, message).hint("Use *_tz() function for time zone support.")
}
