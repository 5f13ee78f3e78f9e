//! Notices: what a statement tells beside its answer.
//!
//! ```text
//!   DROP TABLE IF EXISTS t     NOTICE  00000  table "t" does not exist, skipping
//!   BEGIN inside BEGIN         WARNING 25001  there is already a transaction in progress
//! ```
//!
//! A session collects them until somebody takes them: [`Session::take_notices`](crate::Session::take_notices).

use std::fmt;

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something was done that the statement did not say, or not done that it did.
    Notice,
    /// The statement had no effect, or another than it may seem.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Notice => "NOTICE",
            Severity::Warning => "WARNING",
        })
    }
}

/// One notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How much it matters.
    pub severity: Severity,
    /// Five characters, PostgreSQL's.
    pub sqlstate: &'static str,
    /// What it says.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Notice {
    /// A notice without a code of its own.
    pub fn plain(message: impl Into<String>) -> Notice {
        Notice { severity: Severity::Notice, sqlstate: "00000", message: message.into(), detail: None, hint: None }
    }

    /// A warning with its SQLSTATE.
    pub fn warning(sqlstate: &'static str, message: impl Into<String>) -> Notice {
        Notice { severity: Severity::Warning, sqlstate, ..Notice::plain(message) }
    }

    /// The same with a detail.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Notice {
        self.detail = Some(detail.into());
        self
    }
}
