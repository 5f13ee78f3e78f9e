//! Rows as text, CSV or the binary form.

use weft_expr::Style;
use weft_format::{DataType, ValueRef};

use super::options::{CopyOptions, Form};
use super::tuples::SIGNATURE;
use crate::outcome::OutputColumn;
use crate::text;

/// Writes the values of rows, one after the other.
pub(super) struct Writer<'a> {
    pub(super) options: &'a CopyOptions,
    /// Columns whose values are always quoted.
    pub(super) forced: &'a [bool],
    /// There is one column only: a line that is `\\.` would end the input.
    pub(super) alone: bool,
    pub(super) printed: String,
    /// The session's.
    pub(super) style: &'a Style,
}

impl Writer<'_> {
    /// What stands before the rows.
    pub(super) fn head(&mut self, out: &mut Vec<u8>, columns: &[OutputColumn]) {
        match self.options.form {
            Form::Binary => {
                out.extend_from_slice(SIGNATURE);
                out.extend_from_slice(&[0; 8]);
            }
            Form::Text | Form::Csv if self.options.header => {
                for (index, column) in columns.iter().enumerate() {
                    self.field(out, &column.name, index, false);
                }
                out.push(b'\n');
            }
            Form::Text | Form::Csv | Form::Json | Form::JsonDocument => {}
        }
    }

    /// What stands behind them.
    pub(super) fn foot(&self, out: &mut Vec<u8>) {
        if self.options.form == Form::Binary {
            out.extend_from_slice(&(-1i16).to_be_bytes());
        }
    }

    pub(super) fn begin_row(&self, out: &mut Vec<u8>, columns: usize) {
        if self.options.form == Form::Binary {
            out.extend_from_slice(&(columns as i16).to_be_bytes());
        }
    }

    pub(super) fn end_row(&self, out: &mut Vec<u8>) {
        if self.options.form != Form::Binary {
            out.push(b'\n');
        }
    }

    /// Writes a value and what parts it from the one before.
    pub(super) fn value(&mut self, out: &mut Vec<u8>, value: ValueRef<'_>, data_type: DataType, index: usize) {
        if self.options.form == Form::Binary {
            return binary(out, value, data_type);
        }
        match value {
            ValueRef::Null => {
                self.delimit(out, index);
                out.extend_from_slice(self.options.null.as_bytes());
            }
            ValueRef::Text(value) if !matches!(data_type, DataType::Char(_)) => {
                self.field(out, value, index, self.forced[index])
            }
            value => {
                let mut printed = std::mem::take(&mut self.printed);
                printed.clear();
                text::write_as(&mut printed, value, data_type, self.style);
                self.field(out, &printed, index, self.forced[index]);
                self.printed = printed;
            }
        }
    }

    fn delimit(&self, out: &mut Vec<u8>, index: usize) {
        if index > 0 {
            out.push(self.options.delimiter);
        }
    }

    fn field(&self, out: &mut Vec<u8>, value: &str, index: usize, forced: bool) {
        self.delimit(out, index);
        match self.options.form {
            Form::Csv => self.csv(out, value, forced),
            _ => self.escaped(out, value),
        }
    }

    /// A field of CSV, quoted where it would not read back as it is.
    fn csv(&self, out: &mut Vec<u8>, value: &str, forced: bool) {
        let CopyOptions { delimiter, quote, escape, .. } = *self.options;
        let special = |byte: u8| [delimiter, quote, escape, b'\n', b'\r'].contains(&byte);
        let is_safe = value != self.options.null && !(self.alone && value == "\\.") && !value.bytes().any(special);
        if is_safe && !forced {
            out.extend_from_slice(value.as_bytes());
            return;
        }
        out.push(quote);
        for byte in value.bytes() {
            if byte == quote || byte == escape {
                out.push(escape);
            }
            out.push(byte);
        }
        out.push(quote);
    }

    /// A field of the text form.
    fn escaped(&self, out: &mut Vec<u8>, value: &str) {
        for byte in value.bytes() {
            let escaped = match byte {
                8 => b'b',
                b'\t' => b't',
                b'\n' => b'n',
                11 => b'v',
                12 => b'f',
                b'\r' => b'r',
                b'\\' => b'\\',
                byte if byte == self.options.delimiter => byte,
                byte => {
                    out.push(byte);
                    continue;
                }
            };
            out.extend_from_slice(&[b'\\', escaped]);
        }
    }
}

/// A field of the binary form: its length, and its bytes.
fn binary(out: &mut Vec<u8>, value: ValueRef<'_>, data_type: DataType) {
    if value.is_null() {
        out.extend_from_slice(&(-1i32).to_be_bytes());
        return;
    }
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    crate::binary::write(out, value, data_type);
    let length = i32::try_from(out.len() - start - 4).expect("a value is shorter than 2 GiB");
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}
