//! Results as JSON: one array of objects.
//!
//! ```text
//!   [{"id": 1, "name": "a"},
//!    {"id": 2, "name": null}]
//! ```
//!
//! Numbers are JSON numbers with all their digits; NaN and infinities, dates and timestamps are strings.

use std::io::{self, Write};

use super::kind::Kind;

/// Prints one row.
pub(super) fn print_row(
    out: &mut dyn Write,
    columns: &[(String, Kind)],
    row: &[Option<String>],
    is_first: bool,
) -> io::Result<()> {
    let fields: Vec<String> = columns
        .iter()
        .zip(row)
        .map(|((name, kind), text)| format!("{}: {}", quoted(name), json_value(text.as_deref(), *kind)))
        .collect();
    write!(out, "{}{{{}}}", if is_first { "" } else { ",\n " }, fields.join(", "))
}

fn json_value(text: Option<&str>, kind: Kind) -> String {
    match (text, kind) {
        (None, _) => "null".to_owned(),
        (Some("t"), Kind::Boolean) => "true".to_owned(),
        (Some("f"), Kind::Boolean) => "false".to_owned(),
        // NaN and the infinities are no numbers of JSON.
        (Some(text), Kind::Number) if !text.trim_start_matches('-').starts_with(['N', 'I']) => text.to_owned(),
        (Some(text), _) => quoted(text),
    }
}

/// A JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
