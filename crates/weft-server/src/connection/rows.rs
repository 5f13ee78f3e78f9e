//! Rows of a result as DataRow messages.

use std::ops::Range;
use std::sync::Arc;

use weft::{OutputColumn, Rows, Style};
use weft_sql::oids;

use super::portal::format_at;
use crate::types::{Format, write_value};
use weft_wire::protocol::{Described, Out};

/// Writes RowDescription.
pub(super) fn describe(out: &mut Out, columns: &Arc<[OutputColumn]>, formats: &[Format]) {
    out.row_description(columns.iter().enumerate().map(|(index, column)| Described {
        name: &column.name,
        oid: oids::oid_of(column.data_type),
        length: oids::length_of(column.data_type),
        modifier: oids::modifier_of(column.data_type),
        format: format_at(formats, index).code(),
    }));
}

/// Writes one row, texts in a style; `text` is a buffer to print into.
pub(super) fn write_row(
    out: &mut Out,
    columns: &[OutputColumn],
    rows: &Rows,
    row: usize,
    (formats, style): (&[Format], &Style),
    text: &mut String,
) {
    out.message(b'D', |body| {
        body.extend_from_slice(&(columns.len() as u16).to_be_bytes());
        for (index, column) in columns.iter().enumerate() {
            let format = format_at(formats, index);
            // Arrays lie in batches in another form than they are written from.
            if column.data_type.element().is_some() {
                write_value(body, rows.value(row, index).as_ref(), column.data_type, (format, style), text);
                continue;
            }
            write_value(body, rows.value_ref(row, index), column.data_type, (format, style), text);
        }
    });
}

/// The rows from `start` on, at most `most` of them; 0 is all.
pub(super) fn part(start: usize, count: usize, most: u32) -> Range<usize> {
    let left = count - start;
    let taken = if most == 0 { left } else { left.min(most as usize) };
    start..start + taken
}
