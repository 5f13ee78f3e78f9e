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
mod kind;

pub(crate) use error::{error_text, report_text};
pub(crate) use kind::Kind;

use std::io::{self, Write};

use weft::{Outcome, OutputColumn, Style};
use weft_bench::subcommand::{Align, Grid};

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

/// Prints one result in a session's style. Without columns the table format prints the tag, the others nothing.
pub(crate) fn print_outcome(out: &mut dyn Write, outcome: &Outcome, format: Format, style: &Style) -> io::Result<()> {
    if outcome.columns.is_empty() && !matches!(outcome.tag, weft::Tag::Select(_)) {
        return print_tag(out, &outcome.tag.to_string(), format);
    }
    let columns = outcome.columns.iter().map(|column| (column.name.clone(), Kind::of(column.data_type)));
    let mut printer = Printer::new(format, columns.collect());
    for row in outcome.rows.iter() {
        let texts = row.iter().zip(outcome.columns.iter());
        let text = |(value, column): (_, &OutputColumn)| weft::value_text_in(value, column.data_type, style);
        printer.row(out, texts.map(text).collect())?;
    }
    printer.end(out)
}

/// Prints the tag of a statement without columns.
pub(crate) fn print_tag(out: &mut dyn Write, tag: &str, format: Format) -> io::Result<()> {
    if format == Format::Table { writeln!(out, "{tag}") } else { Ok(()) }
}

/// Prints a result row by row; the table format waits for the last, because of the widths.
pub(crate) struct Printer {
    format: Format,
    columns: Vec<(String, Kind)>,
    grid: Grid,
    rows: u64,
}

impl Printer {
    /// For a result with these columns.
    pub(crate) fn new(format: Format, columns: Vec<(String, Kind)>) -> Printer {
        let align = |kind: Kind| if kind == Kind::Number { Align::Right } else { Align::Left };
        let grid = Grid::new(columns.iter().map(|(name, kind)| (name.as_str(), align(*kind))));
        Printer { format, columns, grid, rows: 0 }
    }

    /// The next row; none is NULL.
    pub(crate) fn row(&mut self, out: &mut dyn Write, row: Vec<Option<String>>) -> io::Result<()> {
        if self.rows == 0 {
            self.begin(out)?;
        }
        self.rows += 1;
        match self.format {
            Format::Table => self.grid.row(row.into_iter().map(Option::unwrap_or_default).collect()),
            Format::Csv => {
                let fields: Vec<String> =
                    row.iter().map(|text| text.as_deref().map_or(String::new(), csv_field)).collect();
                writeln!(out, "{}", fields.join(","))?;
            }
            Format::Json => json::print_row(out, &self.columns, &row, self.rows == 1)?,
        }
        Ok(())
    }

    /// The end of the result.
    pub(crate) fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.rows == 0 {
            self.begin(out)?;
        }
        match self.format {
            Format::Table => {
                self.grid.print(out)?;
                writeln!(out, "({} row{})\n", self.rows, if self.rows == 1 { "" } else { "s" })
            }
            Format::Csv => Ok(()),
            Format::Json => writeln!(out, "]"),
        }
    }

    fn begin(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            Format::Table => Ok(()),
            Format::Csv => {
                let header: Vec<String> = self.columns.iter().map(|(name, _)| csv_field(name)).collect();
                writeln!(out, "{}", header.join(","))
            }
            Format::Json => write!(out, "["),
        }
    }
}

/// Quotes a field when it must be, or when it could be taken for NULL.
fn csv_field(text: &str) -> String {
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests;
