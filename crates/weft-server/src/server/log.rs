//! What the server writes about itself: lines of `key=value` on standard error.
//!
//! ```text
//!   time=2026-11-21T21:05:00Z level=warn event=refused client=10.0.0.7:51123 code=28P01 message="password ..."
//! ```
//!
//! 1. A message of the protocol is never written out, so no password is.

use std::sync::Arc;

use weft_env::Clock;
use weft_format::Error;

/// Writes lines.
pub(crate) struct Log {
    clock: Arc<dyn Clock>,
}

impl Log {
    /// A log that tells the time by this clock.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Log {
        Log { clock }
    }

    /// Something that goes as it should.
    pub(crate) fn info(&self, event: &str, fields: &str) {
        self.line("info", event, fields);
    }

    /// A client that was not let in.
    pub(crate) fn refused(&self, client: &str, error: &Error) {
        let fields = format!("client={client} code={} message={:?}", error.sqlstate(), error.message());
        self.line("warn", "refused", &fields);
    }

    /// Something that went wrong.
    pub(crate) fn error(&self, event: &str, fields: &str) {
        self.line("error", event, fields);
    }

    fn line(&self, level: &str, event: &str, fields: &str) {
        let micros = self.clock.wall_micros();
        let time = weft::value_text(&weft::Value::Int(micros), weft::DataType::Timestamp).unwrap_or_default();
        let space = if fields.is_empty() { "" } else { " " };
        eprintln!("time={}Z level={level} event={event}{space}{fields}", time.replace(' ', "T"));
    }
}
