//! Errors as psql prints them, with the SQLSTATE.
//!
//! ```text
//!   ERROR:  42703: column "nam" does not exist
//!   LINE 2:   nam FROM t
//!             ^
//!   HINT:  the table has the columns id, name
//! ```

use weft::Error;
use weft_server::client::Report;

/// The most characters of a line that are shown.
const SHOWN_CHARS: usize = 72;

/// The lines of an error; with the statement's text its position is pointed at.
pub(crate) fn error_text(error: &Error, statement: Option<&str>) -> String {
    let mut text = format!("ERROR:  {}: {}\n", error.sqlstate(), error.message());
    if let (Some(statement), Some(position)) = (statement, error.position()) {
        text.push_str(&pointer(statement, position));
    }
    for (name, value) in [("DETAIL", error.detail_text()), ("HINT", error.hint_text())] {
        if let Some(value) = value {
            text.push_str(&format!("{name}:  {value}\n"));
        }
    }
    text
}

/// The lines of an error or a notice of a server.
pub(crate) fn report_text(report: &Report, statement: Option<&str>) -> String {
    let mut text = format!("{}:  {}: {}\n", report.severity(), report.sqlstate(), report.message());
    if let (Some(statement), Some(position)) = (statement, report.position()) {
        text.push_str(&pointer(statement, position));
    }
    for (name, value) in [("DETAIL", report.detail()), ("HINT", report.hint())] {
        if let Some(value) = value {
            text.push_str(&format!("{name}:  {value}\n"));
        }
    }
    text
}

/// The line of the statement with a caret under the character at `position`, which counts from 1.
fn pointer(statement: &str, position: usize) -> String {
    let before: Vec<char> = statement.chars().take(position.saturating_sub(1)).collect();
    let number = before.iter().filter(|&&c| c == '\n').count();
    let column = before.iter().rev().take_while(|&&c| c != '\n').count();
    let Some(line) = statement.split('\n').nth(number) else { return String::new() };
    let line: Vec<char> = line.trim_end_matches('\r').chars().map(|c| if c == '\t' { ' ' } else { c }).collect();
    let from = column.saturating_sub(SHOWN_CHARS / 2).min(line.len().saturating_sub(SHOWN_CHARS));
    let to = line.len().min(from + SHOWN_CHARS);
    let head = format!("LINE {}: {}", number + 1, if from > 0 { "..." } else { "" });
    let tail = if to < line.len() { "..." } else { "" };
    let shown: String = line[from..to].iter().collect();
    format!("{head}{shown}{tail}\n{}^\n", " ".repeat(head.chars().count() + column - from))
}
