//! How results and errors look.
//!
//! ```text
//!   table            csv          json
//!    id | name       id,name      [{"id": 1, "name": "a"},
//!   ----+------      1,a           {"id": 2, "name": null}]
//!     1 | a          2,
//!     2 |
//!   (2 rows)
//! ```

mod error;
mod json;
mod table;

pub(crate) use error::error_text;
pub(crate) use table::{Align, Grid};

use std::io::{self, Write};

use weft::{DataType, Outcome};

use crate::failure::Failure;

/// What `--format` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Aligned columns, as psql prints them.
    Table,
    /// A header line and comma separated values; NULL is an empty field, the empty string is quoted.
    Csv,
    /// One array of objects per result.
    Json,
}

impl Format {
    /// Reads the word after `--format`.
    pub(crate) fn parse(word: &str) -> Result<Format, Failure> {
        match word {
            "table" => Ok(Format::Table),
            "csv" => Ok(Format::Csv),
            "json" => Ok(Format::Json),
            _ => Err(Failure::Usage(format!("--format is table, csv or json, not {word}"))),
        }
    }
}

/// Prints one result. Without columns the table format prints the tag, the others nothing.
pub(crate) fn print_outcome(out: &mut dyn Write, outcome: &Outcome, format: Format) -> io::Result<()> {
    if outcome.columns.is_empty() && !matches!(outcome.tag, weft::Tag::Select(_)) {
        return if format == Format::Table { writeln!(out, "{}", outcome.tag) } else { Ok(()) };
    }
    match format {
        Format::Table => print_table(out, outcome),
        Format::Csv => print_csv(out, outcome),
        Format::Json => json::print_json(out, outcome),
    }
}

fn print_table(out: &mut dyn Write, outcome: &Outcome) -> io::Result<()> {
    let mut grid = Grid::new(outcome.columns.iter().map(|c| (c.name.as_str(), align(c.data_type))));
    for row in outcome.rows.iter() {
        let texts = row.iter().zip(outcome.columns.iter());
        grid.row(texts.map(|(value, column)| weft::value_text(value, column.data_type).unwrap_or_default()).collect());
    }
    grid.print(out)?;
    let count = outcome.rows.len();
    writeln!(out, "({count} row{})\n", if count == 1 { "" } else { "s" })
}

fn print_csv(out: &mut dyn Write, outcome: &Outcome) -> io::Result<()> {
    let header: Vec<String> = outcome.columns.iter().map(|column| csv_field(&column.name)).collect();
    writeln!(out, "{}", header.join(","))?;
    for row in outcome.rows.iter() {
        let fields: Vec<String> = row
            .iter()
            .zip(outcome.columns.iter())
            .map(|(value, column)| match weft::value_text(value, column.data_type) {
                None => String::new(),
                Some(text) => csv_field(&text),
            })
            .collect();
        writeln!(out, "{}", fields.join(","))?;
    }
    Ok(())
}

/// Quotes a field when it must be, or when it could be taken for NULL.
fn csv_field(text: &str) -> String {
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Numbers to the right, the rest to the left.
fn align(data_type: DataType) -> Align {
    match data_type {
        DataType::SmallInt | DataType::Integer | DataType::BigInt => Align::Right,
        DataType::Real | DataType::DoublePrecision | DataType::Numeric { .. } => Align::Right,
        _ => Align::Left,
    }
}

#[cfg(test)]
mod tests;
