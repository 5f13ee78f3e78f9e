//! What texts of dates, times and intervals mean to a session: its time zone, its styles, and the present.
//!
//! ```text
//!   DateStyle      'ISO, MDY'            'SQL, DMY'             'Postgres, MDY'             'German, DMY'
//!   written        2024-03-10 14:00+01   10/03/2024 14:00 CET   Sun Mar 10 14:00 2024 CET   10.03.2024 14:00 CET
//!   '01/02/2024'   2 January             1 February             2 January                   1 February
//!
//!   IntervalStyle   postgres               postgres_verbose                    sql_standard     iso_8601
//!   written         1 year 2 days 03:00    @ 1 year 2 days 3 hours             +1-0 +2 +3:00    P1Y2DT3H
//! ```
//!
//! What an engine reads and writes for itself (the catalog, messages, dumps) has [`Local::fixed`]: ISO, UTC.

use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use weft_env::Clock;
use weft_format::Result;

use crate::advisory::AdvisoryLocks;
use crate::numbers::Numbers;
use crate::zone::Zone;

/// How dates and timestamps are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs)]
pub enum DateStyle {
    #[default]
    Iso,
    Sql,
    Postgres,
    German,
}

/// What comes first in `01/02/2003`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs)]
pub enum DateOrder {
    #[default]
    Mdy,
    Dmy,
    Ymd,
}

/// How intervals are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs)]
pub enum IntervalStyle {
    #[default]
    Postgres,
    PostgresVerbose,
    SqlStandard,
    Iso8601,
}

/// A session's zone and styles.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Style {
    /// `TimeZone`
    pub zone: Zone,
    /// The first word of `DateStyle`.
    pub dates: DateStyle,
    /// The second one.
    pub order: DateOrder,
    /// `IntervalStyle`
    pub intervals: IntervalStyle,
}

/// A session's zone and styles, and its present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Zone and styles.
    pub style: Style,
    /// The transaction's time: microseconds since 1970 UTC.
    pub now_micros: i64,
    /// The sequences of the statement.
    pub numbers: Numbers,
    /// What tells the time while a statement runs.
    pub clock: Ticking,
}

/// A clock, who says whether the statement is to stop, and who locks for it, if there are such; all are alike.
#[derive(Clone, Default)]
pub struct Ticking {
    clock: Option<Arc<dyn Clock>>,
    check: Option<Arc<dyn Fn() -> Result<()> + Send + Sync>>,
    locks: Option<Arc<dyn AdvisoryLocks>>,
}

impl Ticking {
    /// The advisory locks of the session.
    pub(crate) fn advisory(&self) -> Option<&dyn AdvisoryLocks> {
        self.locks.as_deref()
    }
}

impl PartialEq for Ticking {
    fn eq(&self, _: &Ticking) -> bool {
        true
    }
}

impl Eq for Ticking {}

impl fmt::Debug for Ticking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticking")
    }
}

static FIXED: LazyLock<Local> = LazyLock::new(|| Local::new(Style::default(), 0));

impl Default for Style {
    fn default() -> Style {
        Style {
            zone: Zone::utc(),
            dates: DateStyle::default(),
            order: DateOrder::default(),
            intervals: IntervalStyle::default(),
        }
    }
}

impl Local {
    /// A session's, at a time.
    pub fn new(style: Style, now_micros: i64) -> Local {
        Local { style, now_micros, numbers: Numbers::default(), clock: Ticking::default() }
    }

    /// The same with a clock; `check` fails when the statement is to stop.
    pub fn ticking(self, clock: &Arc<dyn Clock>, check: impl Fn() -> Result<()> + Send + Sync + 'static) -> Local {
        let clock = Ticking { clock: Some(Arc::clone(clock)), check: Some(Arc::new(check)), locks: None };
        Local { clock, ..self }
    }

    /// The same with the advisory locks of a session.
    pub fn locking(mut self, locks: Arc<dyn AdvisoryLocks>) -> Local {
        self.clock.locks = Some(locks);
        self
    }

    /// What the clock says now: microseconds since 1970 UTC. Without a clock, the transaction's time.
    pub fn clock_micros(&self) -> i64 {
        self.clock.clock.as_ref().map_or(self.now_micros, |clock| clock.wall_micros())
    }

    /// Waits, in short steps between which the statement may be stopped. Without a clock nothing is waited for.
    pub fn sleep(&self, micros: u64) -> Result<()> {
        const STEP: Duration = Duration::from_millis(10);
        let Some(clock) = &self.clock.clock else { return Ok(()) };
        let end = clock.monotonic_nanos().saturating_add(micros.saturating_mul(1000));
        loop {
            self.clock.check.as_ref().map_or(Ok(()), |check| check())?;
            let left = Duration::from_nanos(end.saturating_sub(clock.monotonic_nanos()));
            if left.is_zero() {
                return Ok(());
            }
            clock.sleep(left.min(STEP));
        }
    }

    /// ISO, UTC, and no present: what does not depend on a session.
    pub fn fixed() -> &'static Local {
        &FIXED
    }
}

impl fmt::Display for DateStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DateStyle::Iso => "ISO",
            DateStyle::Sql => "SQL",
            DateStyle::Postgres => "Postgres",
            DateStyle::German => "German",
        })
    }
}

impl fmt::Display for DateOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DateOrder::Mdy => "MDY",
            DateOrder::Dmy => "DMY",
            DateOrder::Ymd => "YMD",
        })
    }
}

impl fmt::Display for IntervalStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IntervalStyle::Postgres => "postgres",
            IntervalStyle::PostgresVerbose => "postgres_verbose",
            IntervalStyle::SqlStandard => "sql_standard",
            IntervalStyle::Iso8601 => "iso_8601",
        })
    }
}

impl Style {
    /// The value of `DateStyle`.
    pub fn date_style(&self) -> String {
        format!("{}, {}", self.dates, self.order)
    }

    /// Takes the words of a `DateStyle`; what they do not say stays. The error says what is wrong.
    pub fn set_date_style(&mut self, text: &str) -> Result<(), String> {
        let (mut dates, mut order) = (None, None);
        let mut german = false;
        let mut conflict = false;
        for word in text.split(',').map(|word| word.trim().trim_matches('"').to_ascii_lowercase()) {
            let mut style = |found| conflict |= dates.replace(found).is_some_and(|known| known != found);
            match word.as_str() {
                "iso" => style(DateStyle::Iso),
                "sql" => style(DateStyle::Sql),
                "german" => {
                    style(DateStyle::German);
                    german = true;
                }
                word if word.starts_with("postgres") => style(DateStyle::Postgres),
                "default" => {
                    let default = Style::default();
                    dates = dates.or(Some(default.dates));
                    order = order.or(Some(default.order));
                }
                word => {
                    let found = match word {
                        "ymd" => DateOrder::Ymd,
                        "dmy" => DateOrder::Dmy,
                        "mdy" | "us" => DateOrder::Mdy,
                        word if word.starts_with("euro") => DateOrder::Dmy,
                        word if word.starts_with("noneuro") => DateOrder::Mdy,
                        word => return Err(format!("Unrecognized key word: \"{word}\".")),
                    };
                    conflict |= order.replace(found).is_some_and(|known| known != found);
                }
            }
        }
        if conflict {
            return Err("Conflicting \"datestyle\" specifications.".to_owned());
        }
        if german {
            order = order.or(Some(DateOrder::Dmy));
        }
        self.dates = dates.unwrap_or(self.dates);
        self.order = order.unwrap_or(self.order);
        Ok(())
    }

    /// Takes an `IntervalStyle`; none when there is none of this name.
    pub fn set_interval_style(&mut self, text: &str) -> Option<()> {
        self.intervals = match text.to_ascii_lowercase().as_str() {
            "postgres" => IntervalStyle::Postgres,
            "postgres_verbose" => IntervalStyle::PostgresVerbose,
            "sql_standard" => IntervalStyle::SqlStandard,
            "iso_8601" => IntervalStyle::Iso8601,
            _ => return None,
        };
        Some(())
    }
}

/// The zone so far east of UTC; none when the interval has months or days.
pub fn zone_of_interval(interval: weft_format::Interval) -> Option<Zone> {
    let seconds = interval.micros / 1_000_000;
    (interval.months == 0 && interval.days == 0 && seconds.abs() <= 168 * 3600)
        .then(|| Zone::fixed(i32::try_from(seconds).unwrap_or(0)))
}
