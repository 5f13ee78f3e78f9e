//! What the server writes about itself: one line for each event.
//!
//! ```text
//!   time=2026-11-21T21:05:00Z level=warn event=refused client=10.0.0.7:51123 code=28P01 message="password ..."
//!   {"time":"2026-11-21T21:05:00Z","level":"warn","event":"refused","client":"10.0.0.7:51123","code":"28P01", ...}
//! ```
//!
//! 1. A message of the protocol is never written out, so no password is; of a statement that may have one neither the
//!    text nor the error's message is (`weft_sql::activity::hides`).
//! 2. A log that cannot be written stops nothing.

use std::fmt::{Display, Write as _};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use weft_env::sync::Mutex;
use weft_env::{Clock, Env};
use weft_format::{DataType, Error, Result, ValueRef};

/// The most bytes of a statement's text in a line.
const TEXT_BYTES_MAX: usize = 1000;

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For those who look for a fault.
    Debug,
    /// Something that goes as it should.
    Info,
    /// Something that a client did wrong.
    Warn,
    /// Something that went wrong.
    Error,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }

    fn read(name: &str) -> Level {
        let all = [Level::Debug, Level::Info, Level::Warn, Level::Error];
        all.into_iter().find(|level| level.name() == name).unwrap_or(Level::Info)
    }
}

/// The fields of a line: names and values.
pub type Fields<'a> = &'a [(&'a str, &'a dyn Display)];

/// Writes lines, to standard error or to a file. Any thread may.
pub struct Log {
    clock: Arc<dyn Clock>,
    least: AtomicU8,
    json: AtomicBool,
    file: Option<(PathBuf, Mutex<File>)>,
}

impl Default for Log {
    fn default() -> Log {
        let (least, json) = (AtomicU8::new(Level::Info as u8), AtomicBool::new(false));
        Log { clock: Env::real().clock, least, json, file: None }
    }
}

impl Log {
    /// A log that is appended to a file.
    pub fn to_file(path: &Path) -> Result<Log> {
        let file = open(path)?;
        Ok(Log { file: Some((path.to_owned(), Mutex::new(file))), ..Log::default() })
    }

    /// The least level that is written, and whether lines are JSON.
    pub fn set(&self, level: &str, format: &str) {
        self.least.store(Level::read(level) as u8, Ordering::Relaxed);
        self.json.store(format == "json", Ordering::Relaxed);
    }

    /// Opens the file anew: somebody has renamed it.
    pub fn reopen(&self) -> Result<()> {
        if let Some((path, file)) = &self.file {
            *file.lock() = open(path)?;
        }
        Ok(())
    }

    /// Something that goes as it should.
    pub fn info(&self, event: &str, fields: &[(&str, &dyn Display)]) {
        self.line(Level::Info, event, fields);
    }

    /// Something that a client did wrong.
    pub fn warn(&self, event: &str, fields: &[(&str, &dyn Display)]) {
        self.line(Level::Warn, event, fields);
    }

    /// Something that went wrong.
    pub fn error(&self, event: &str, fields: &[(&str, &dyn Display)]) {
        self.line(Level::Error, event, fields);
    }

    /// A client that was not let in.
    pub fn refused(&self, client: &str, error: &Error) {
        self.warn("refused", &[("client", &client), ("code", &error.sqlstate()), ("message", &error.message())]);
    }

    /// Writes a line.
    pub fn line(&self, level: Level, event: &str, fields: &[(&str, &dyn Display)]) {
        if (level as u8) < self.least.load(Ordering::Relaxed) {
            return;
        }
        let micros = self.clock.wall_micros();
        let time = weft_sql::text::print(ValueRef::Int(micros), DataType::Timestamp);
        let time = format!("{}Z", time.replace(' ', "T"));
        let head: Fields<'_> = &[("time", &time), ("level", &level.name()), ("event", &event)];
        let mut line = String::with_capacity(160);
        let json = self.json.load(Ordering::Relaxed);
        for (number, (name, value)) in head.iter().chain(fields).enumerate() {
            let value = value.to_string();
            match json {
                true => {
                    line.push_str(if number == 0 { "{" } else { "," });
                    let _ = write!(line, "\"{name}\":{}", quoted(&value));
                }
                false => {
                    line.push_str(if number == 0 { "" } else { " " });
                    let plain =
                        !value.is_empty() && value.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'=');
                    let _ =
                        if plain { write!(line, "{name}={value}") } else { write!(line, "{name}={}", quoted(&value)) };
                }
            }
        }
        line.push_str(if json { "}\n" } else { "\n" });
        // Log 2; one write for a line, so that lines of threads do not mix.
        let _ = match &self.file {
            Some((_, file)) => file.lock().write_all(line.as_bytes()),
            None => std::io::stderr().lock().write_all(line.as_bytes()),
        };
    }
}

fn open(path: &Path) -> Result<File> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map_err(|error| Error::io(format!("opening the log {path:?}"), &error))
}

/// A text in quotes as JSON writes it.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 || c == '\u{7f}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A statement's text, not longer than a line should be.
pub fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_text_or_json_and_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = Log::to_file(&path).unwrap();
        log.info("x", &[("a", &1), ("b", &"two\nlines \"q\"")]);
        log.line(Level::Debug, "hidden", &[]);
        log.set("warn", "json");
        log.info("hidden", &[]);
        log.error("y", &[("c", &"\u{1}")]);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].ends_with("level=info event=x a=1 b=\"two\\nlines \\\"q\\\"\""), "{text}");
        assert!(lines[1].starts_with("{\"time\":\"2") && lines[1].ends_with("\"event\":\"y\",\"c\":\"\\u0001\"}"));
        std::fs::rename(&path, dir.path().join("old")).unwrap();
        log.reopen().unwrap();
        log.error("z", &[]);
        assert!(std::fs::read_to_string(&path).unwrap().contains("\"z\""));
    }
}
