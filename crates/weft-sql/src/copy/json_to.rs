//! Rows of COPY TO as JSON.
//!
//! ```text
//!   FORMAT json              {"id":1,"doc":{"a": 1}}⏎       as row_to_json has them
//!   ... FORCE_ARRAY          [⏎ {"id":1}⏎,{"id":2}⏎]⏎       as PostgreSQL 19 has them
//!   FORMAT json_document     {"a": 1}⏎                      NULL is null
//! ```
//!
//! 1. A row is a line: of a json that was written on several lines the breaks are blanks. Strings have none.

use weft_expr::{Style, json};
use weft_format::{DataType, Result, ValueRef};

use super::options::{CopyOptions, Form};
use crate::outcome::OutputColumn;

/// Writes rows, one after the other.
pub(super) struct JsonWriter<'a> {
    /// What stands before each value; nothing before documents.
    heads: Vec<String>,
    is_document: bool,
    is_array: bool,
    /// Rows so far.
    count: u64,
    style: &'a Style,
}

impl<'a> JsonWriter<'a> {
    pub(super) fn new(columns: &[OutputColumn], options: &CopyOptions, style: &'a Style) -> JsonWriter<'a> {
        let is_document = options.form == Form::JsonDocument;
        let head = |(index, column): (usize, &OutputColumn)| {
            let mut head = if index == 0 { "{" } else { "," }.to_owned();
            json::quote(&column.name, &mut head);
            head.push(':');
            head
        };
        let heads = if is_document { Vec::new() } else { columns.iter().enumerate().map(head).collect() };
        JsonWriter { heads, is_document, is_array: options.force_array, count: 0, style }
    }

    /// What stands before the rows, if they are an array.
    pub(super) fn head(&self, out: &mut Vec<u8>) {
        if self.is_array {
            out.extend_from_slice(b"[\n");
        }
    }

    /// What stands behind them.
    pub(super) fn foot(&self, out: &mut Vec<u8>) {
        if self.is_array {
            out.extend_from_slice(b"]\n");
        }
    }

    pub(super) fn begin_row(&mut self, out: &mut Vec<u8>) {
        if self.is_array {
            out.push(if self.count == 0 { b' ' } else { b',' });
        }
        self.count += 1;
    }

    /// Appends a value of the row at hand.
    pub(super) fn value(
        &self,
        out: &mut Vec<u8>,
        value: ValueRef<'_>,
        data_type: DataType,
        index: usize,
    ) -> Result<()> {
        if let Some(head) = self.heads.get(index) {
            out.extend_from_slice(head.as_bytes());
        }
        let start = out.len();
        out.extend_from_slice(json::json_text(&value.to_value(), data_type, self.style)?.as_bytes());
        let is_break = |byte: &&mut u8| matches!(**byte, b'\n' | b'\r');
        out[start..].iter_mut().filter(is_break).for_each(|byte| *byte = b' ');
        Ok(())
    }

    pub(super) fn end_row(&self, out: &mut Vec<u8>) {
        let end: &[u8] = match (self.is_document, self.heads.is_empty()) {
            (true, _) => b"\n",
            (false, true) => b"{}\n",
            (false, false) => b"}\n",
        };
        out.extend_from_slice(end);
    }
}
