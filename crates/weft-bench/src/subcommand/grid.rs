//! Aligned columns.
//!
//! ```text
//!    id | name        the header centred, numbers to the right, no blanks at the end of a line of values
//!   ----+------
//!     1 | one
//! ```

use std::io::{self, Write};

use super::failure::Failure;

/// Where a column's values stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Rows of texts under a header.
pub struct Grid {
    names: Vec<String>,
    aligns: Vec<Align>,
    widths: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// A grid without rows.
    pub fn new<'a>(columns: impl Iterator<Item = (&'a str, Align)>) -> Grid {
        let (names, aligns): (Vec<String>, Vec<Align>) = columns.map(|(name, align)| (name.to_owned(), align)).unzip();
        let widths = names.iter().map(|name| width(name)).collect();
        Grid { names, aligns, widths, rows: Vec::new() }
    }

    /// Adds a row; one text per column.
    pub fn row(&mut self, texts: Vec<String>) {
        assert_eq!(texts.len(), self.names.len(), "a row has one text per column");
        for (width, text) in self.widths.iter_mut().zip(&texts) {
            *width = text.split('\n').map(self::width).fold(*width, usize::max);
        }
        self.rows.push(texts);
    }

    /// Prints header, rule, rows and an empty line to standard output.
    pub fn show(&self) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        self.print(&mut out).and_then(|()| writeln!(out)).map_err(|error| Failure::io("cannot print", &error))
    }

    /// Prints header, rule and rows.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let header: Vec<String> = self.names.iter().zip(&self.widths).map(|(name, &w)| centre(name, w)).collect();
        writeln!(out, " {} ", header.join(" | "))?;
        let rule: Vec<String> = self.widths.iter().map(|&w| "-".repeat(w + 2)).collect();
        writeln!(out, "{}", rule.join("+"))?;
        for row in &self.rows {
            self.print_row(out, row)?;
        }
        Ok(())
    }

    /// A value with line breaks takes several lines, marked with `+` as psql does.
    fn print_row(&self, out: &mut dyn Write, row: &[String]) -> io::Result<()> {
        let cells: Vec<Vec<&str>> = row.iter().map(|text| text.split('\n').collect()).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        for line in 0..height {
            let mut text = String::new();
            for (column, cell) in cells.iter().enumerate() {
                let piece = cell.get(line).copied().unwrap_or("");
                let blanks = " ".repeat(self.widths[column] - width(piece));
                let more = if line + 1 < cell.len() { '+' } else { ' ' };
                text.push_str(if column == 0 { " " } else { "| " });
                match self.aligns[column] {
                    Align::Left => text.extend([piece, &blanks]),
                    Align::Right => text.extend([&*blanks, piece]),
                }
                text.push(more);
            }
            writeln!(out, "{}", text.trim_end_matches(' '))?;
        }
        Ok(())
    }
}

/// Columns of a terminal: one per character, two for East Asian wide ones, none for combining marks.
fn width(text: &str) -> usize {
    text.chars()
        .map(|c| match c as u32 {
            0x300..=0x36F | 0x200B..=0x200D | 0xFE00..=0xFE0F => 0,
            0x1100..=0x115F | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF => 2,
            0xFE30..=0xFE6F | 0xFF00..=0xFF60 | 0xFFE0..=0xFFE6 | 0x1F300..=0x1FAFF => 2,
            _ => 1,
        })
        .sum()
}

fn centre(text: &str, w: usize) -> String {
    let blanks = w - width(text);
    format!("{}{}{}", " ".repeat(blanks / 2), text, " ".repeat(blanks - blanks / 2))
}
