//! How long a table keeps its past: the option `history`, which every method takes.
//!
//! ```text
//!   WITH (history = 'all')          everything, from when it is said
//!   WITH (history = '30 days')      what snapshots of the last 30 days see
//!   WITH (history = 'none')         as far as no job has had reason to drop
//! ```
//!
//! Without the option a method does as it likes.

use weft_contract::TableDef;
use weft_expr::Style;
use weft_expr::text::parse_interval;
use weft_format::{Code, Error, Result};

const DAY_MICROS: i64 = 86_400_000_000;
const MONTH_DAYS: i64 = 30;

/// See above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// Everything.
    All,
    /// Nothing is promised.
    None,
    /// What snapshots of so many microseconds see.
    Micros(i64),
}

impl History {
    /// The name of the option.
    pub const OPTION: &str = "history";

    /// What the option says; a month has 30 days.
    pub fn parse(text: &str) -> Result<History> {
        let wrong = || {
            let message = format!("option {} cannot be \"{text}\"", History::OPTION);
            let hint = "history is 'all', 'none' or an interval, such as '30 days'";
            Error::new(Code::InvalidParameterValue, message).hint(hint)
        };
        match text.trim().to_lowercase().as_str() {
            "all" => return Ok(History::All),
            "none" => return Ok(History::None),
            _ => {}
        }
        let interval = parse_interval(text, &Style::default()).map_err(|_| wrong())?;
        let days = i64::from(interval.months) * MONTH_DAYS + i64::from(interval.days);
        let micros = days.checked_mul(DAY_MICROS).and_then(|days| days.checked_add(interval.micros));
        micros.filter(|micros| *micros > 0).map(History::Micros).ok_or_else(wrong)
    }

    /// What a table says; none when it says nothing.
    pub fn of(def: &TableDef) -> Option<History> {
        def.options.get(History::OPTION).and_then(|text| History::parse(text).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_how_long() {
        assert_eq!(History::parse("ALL").unwrap(), History::All);
        assert_eq!(History::parse(" none ").unwrap(), History::None);
        assert_eq!(History::parse("30 days").unwrap(), History::Micros(30 * DAY_MICROS));
        assert_eq!(History::parse("1 month 2 hours").unwrap(), History::Micros(30 * DAY_MICROS + 7_200_000_000));
        for wrong in ["", "some", "-1 day", "0 s"] {
            let error = History::parse(wrong).unwrap_err();
            assert_eq!((error.code(), error.hint_text().is_some()), (Code::InvalidParameterValue, true), "{wrong}");
        }
    }
}
