//! Records of text and CSV, read in large steps.
//!
//! ```text
//!   1,"a ""b""",,""⏎    fields [1] [a "b"] [] []     null [no, no, yes, no]      CSV
//!   1⇥a\tb⇥\N⏎          fields [1] [a⇥b] [\N]        null [no, no, yes]          text
//! ```
//!
//! Quotes may start inside a field, as in PostgreSQL. A line ends with LF, CRLF or CR outside quotes; lines are counted
//! as they lie in the file, so a record with line breaks in quotes is at its first line. A line that is `\.` ends the
//! input.

use std::sync::Arc;

use weft_format::{Code, Error, Result};

use super::options::{CopyOptions, Form};
use super::source::{Source, Steps};

const RECORD_BYTES_MAX: usize = 1 << 30;

/// The fields of one record.
#[derive(Default)]
pub(super) struct Record {
    bytes: Vec<u8>,
    fields: Vec<Field>,
    /// The line of the file on which the record starts, from 1.
    pub(super) line: u64,
    /// Text: it began with `\\.`, the mark of the end.
    marked: bool,
}

#[derive(Clone, Copy)]
struct Field {
    start: usize,
    end: usize,
    quoted: bool,
    /// It is the null string as it stands.
    null: bool,
}

/// How a field stood in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stood {
    /// Any of it was quoted.
    pub(super) quoted: bool,
    /// It is the null string.
    pub(super) null: bool,
}

impl Record {
    /// How many fields there are.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// A field and how it stood there.
    pub(super) fn field(&self, index: usize) -> Result<(&str, Stood), std::str::Utf8Error> {
        let Field { start, end, quoted, null } = self.fields[index];
        Ok((std::str::from_utf8(&self.bytes[start..end])?, Stood { quoted, null }))
    }

    /// Whether the line was `\.`, which ends the input.
    fn is_end(&self) -> bool {
        self.marked && self.fields.len() == 1 && self.bytes == b"\\."
    }

    /// How long its fields are together.
    pub(super) fn byte_count(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the line was empty.
    pub(super) fn is_blank(&self) -> bool {
        matches!(&self.fields[..], [field] if field.start == field.end && !field.quoted)
    }

    fn clear(&mut self, line: u64) {
        self.bytes.clear();
        self.fields.clear();
        self.line = line;
        self.marked = false;
    }

    fn end_field(&mut self, start: &mut usize, quoted: &mut bool, null: &str) {
        let is_null = self.bytes[*start..] == *null.as_bytes();
        self.fields.push(Field { start: *start, end: self.bytes.len(), quoted: *quoted, null: is_null });
        *start = self.bytes.len();
        *quoted = false;
    }
}

/// The bytes of a field as they stand in the input, as far as they can still be the null string.
#[derive(Default)]
struct Raw {
    bytes: Vec<u8>,
    is_longer: bool,
}

impl Raw {
    fn plain(&mut self, bytes: &[u8], null: &str) {
        self.is_longer |= self.bytes.len() + bytes.len() > null.len();
        if !self.is_longer {
            self.bytes.extend_from_slice(bytes);
        }
    }
}

impl Record {
    /// Ends a field of the text form.
    fn end_raw(&mut self, start: &mut usize, raw: &mut Raw, null: &str) {
        let is_null = !raw.is_longer && raw.bytes == null.as_bytes();
        self.fields.push(Field { start: *start, end: self.bytes.len(), quoted: false, null: is_null });
        *start = self.bytes.len();
        raw.bytes.clear();
        raw.is_longer = false;
    }
}

/// Reads records one after the other.
pub(super) struct Reader<'a> {
    steps: Steps<'a>,
    options: CopyOptions,
    null: Arc<str>,
    line: u64,
}

impl<'a> Reader<'a> {
    /// A reader at the start of its source; a byte order mark is passed over.
    pub(super) fn new(source: Source<'a>, options: &CopyOptions) -> Result<Reader<'a>> {
        let (options, null) = (options.clone(), options.null.as_str().into());
        Ok(Reader { steps: Steps::new(source)?, options, null, line: 1 })
    }

    /// Reads the next record; false at the end of the input.
    pub(super) fn next(&mut self, record: &mut Record) -> Result<bool> {
        record.clear(self.line);
        if self.steps.peek()?.is_none() {
            return Ok(false);
        }
        match self.options.form {
            Form::Csv => {
                self.next_csv(record)?;
                record.marked = !record.fields[0].quoted;
            }
            _ => self.next_text(record)?,
        }
        if record.is_end() {
            // What follows is not read as rows, but a client's messages are taken to their end.
            while self.steps.fill()? {}
            self.steps.at = self.steps.buffer.len();
            return Ok(false);
        }
        Ok(true)
    }

    fn next_csv(&mut self, record: &mut Record) -> Result<()> {
        let null = Arc::clone(&self.null);
        let (mut start, mut quoted) = (0, false);
        loop {
            self.take_plain(record)?;
            let Some(byte) = self.steps.peek()? else {
                record.end_field(&mut start, &mut quoted, &null);
                return Ok(());
            };
            self.steps.at += 1;
            if byte == self.options.quote {
                quoted = true;
                self.take_quoted(record)?;
            } else if byte == self.options.delimiter {
                record.end_field(&mut start, &mut quoted, &null);
            } else {
                if byte == b'\r' && self.steps.peek()? == Some(b'\n') {
                    self.steps.at += 1;
                }
                self.line += 1;
                record.end_field(&mut start, &mut quoted, &null);
                return Ok(());
            }
        }
    }

    /// A line of the text form: whether a field is NULL is seen before its backslashes are resolved.
    fn next_text(&mut self, record: &mut Record) -> Result<()> {
        let null = Arc::clone(&self.null);
        let (mut start, mut raw) = (0, Raw::default());
        loop {
            let rest = &self.steps.buffer[self.steps.at..];
            let delimiter = self.options.delimiter;
            let special = |&byte: &u8| byte == delimiter || matches!(byte, b'\\' | b'\n' | b'\r');
            let plain = rest.iter().position(special).unwrap_or(rest.len());
            record.bytes.extend_from_slice(&rest[..plain]);
            raw.plain(&rest[..plain], &null);
            self.steps.at += plain;
            self.limit(record)?;
            let Some(byte) = self.steps.peek()? else {
                record.end_raw(&mut start, &mut raw, &null);
                return Ok(());
            };
            if byte != delimiter && !matches!(byte, b'\\' | b'\n' | b'\r') {
                // The buffer was filled again in the middle of a field.
                continue;
            }
            self.steps.at += 1;
            match byte {
                b'\\' => self.escaped(record, &mut raw, &null)?,
                byte if byte == delimiter => record.end_raw(&mut start, &mut raw, &null),
                byte => {
                    if byte == b'\r' && self.steps.peek()? == Some(b'\n') {
                        self.steps.at += 1;
                    }
                    self.line += 1;
                    record.end_raw(&mut start, &mut raw, &null);
                    return Ok(());
                }
            }
        }
    }

    /// What stands behind a backslash: `\b \f \n \r \t \v`, up to three octal or two hexadecimal digits, any other as
    /// it is.
    fn escaped(&mut self, record: &mut Record, raw: &mut Raw, null: &str) -> Result<()> {
        let Some(byte) = self.steps.peek()? else {
            record.bytes.push(b'\\');
            raw.plain(b"\\", null);
            return Ok(());
        };
        self.steps.at += 1;
        raw.plain(&[b'\\', byte], null);
        let value = match byte {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'0'..=b'7' => return self.digits(record, u32::from(byte - b'0'), 8, 2),
            b'x' if self.steps.peek()?.is_some_and(|next| next.is_ascii_hexdigit()) => {
                return self.digits(record, 0, 16, 2);
            }
            // `\.` alone on its line is told by what the line is in the end.
            b'.' if record.bytes.is_empty() && record.fields.is_empty() => {
                record.marked = true;
                record.bytes.push(b'\\');
                byte
            }
            b'\n' => {
                self.line += 1;
                byte
            }
            other => other,
        };
        record.bytes.push(value);
        Ok(())
    }

    /// Up to `most` more digits of a byte.
    fn digits(&mut self, record: &mut Record, first: u32, base: u32, most: usize) -> Result<()> {
        let mut value = first;
        for _ in 0..most {
            let Some(digit) = self.steps.peek()?.and_then(|byte| char::from(byte).to_digit(base)) else { break };
            self.steps.at += 1;
            value = value * base + digit;
        }
        record.bytes.push(value as u8);
        Ok(())
    }

    /// Takes bytes up to a delimiter, quote, line end, or the end of the file.
    fn take_plain(&mut self, record: &mut Record) -> Result<()> {
        loop {
            let rest = &self.steps.buffer[self.steps.at..];
            let special = |&byte: &u8| {
                byte == self.options.delimiter || byte == self.options.quote || byte == b'\n' || byte == b'\r'
            };
            let plain = rest.iter().position(special);
            record.bytes.extend_from_slice(&rest[..plain.unwrap_or(rest.len())]);
            self.limit(record)?;
            match plain {
                Some(n) => {
                    self.steps.at += n;
                    return Ok(());
                }
                None => {
                    self.steps.at = self.steps.buffer.len();
                    if !self.steps.fill()? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Takes bytes up to the closing quote.
    fn take_quoted(&mut self, record: &mut Record) -> Result<()> {
        let (quote, escape) = (self.options.quote, self.options.escape);
        loop {
            let Some(byte) = self.steps.peek()? else {
                let message =
                    format!("unterminated CSV quoted field in {}, line {}", self.steps.source.name(), record.line);
                return Err(Error::new(Code::BadCopyFormat, message).hint("close the quote, or double a quote in text"));
            };
            self.steps.at += 1;
            if byte == escape {
                let next = self.steps.peek()?;
                if let Some(next) = next.filter(|&next| next == quote || next == escape) {
                    self.steps.at += 1;
                    record.bytes.push(next);
                    continue;
                }
                if escape == quote {
                    return Ok(());
                }
            } else if byte == quote {
                return Ok(());
            }
            if byte == b'\n' {
                self.line += 1;
            }
            record.bytes.push(byte);
            self.limit(record)?;
        }
    }

    fn limit(&self, record: &Record) -> Result<()> {
        if record.bytes.len() <= RECORD_BYTES_MAX {
            return Ok(());
        }
        let message =
            format!("the record at line {} of {} is larger than 1 GiB", record.line, self.steps.source.name());
        Err(Error::new(Code::ProgramLimit, message).hint("check that the input is what FORMAT says"))
    }
}
