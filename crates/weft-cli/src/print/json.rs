//! Results as JSON: one array of objects.
//!
//! ```text
//!   [{"id": 1, "name": "a"},
//!    {"id": 2, "name": null}]
//! ```
//!
//! Numbers are JSON numbers with all their digits; NaN and infinities, dates and timestamps are strings.

use std::io::{self, Write};

use weft::{DataType, Outcome, Value};

/// Prints the rows of a result.
pub(super) fn print_json(out: &mut dyn Write, outcome: &Outcome) -> io::Result<()> {
    let names: Vec<String> = outcome.columns.iter().map(|column| quoted(&column.name)).collect();
    write!(out, "[")?;
    for (number, row) in outcome.rows.iter().enumerate() {
        let fields: Vec<String> = row
            .iter()
            .enumerate()
            .map(|(at, value)| format!("{}: {}", names[at], json_value(value, outcome.columns[at].data_type)))
            .collect();
        write!(out, "{}{{{}}}", if number == 0 { "" } else { ",\n " }, fields.join(", "))?;
    }
    writeln!(out, "]")
}

fn json_value(value: &Value, data_type: DataType) -> String {
    let Some(text) = weft::value_text(value, data_type) else { return "null".to_owned() };
    match value {
        Value::Bool(v) => v.to_string(),
        Value::Float(v) if !v.is_finite() => quoted(&text),
        Value::Float(_) | Value::Decimal(_) => text,
        Value::Int(_) if matches!(data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt) => text,
        _ => quoted(&text),
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
