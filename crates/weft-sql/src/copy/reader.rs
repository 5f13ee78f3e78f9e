//! Records of a CSV file, read in large steps.
//!
//! ```text
//!   1,"a ""b""",,""⏎    fields [1] [a "b"] [] []    quoted [no, yes, no, yes]
//! ```
//!
//! Quotes may start inside a field, as in PostgreSQL. A line ends with LF, CRLF or CR outside quotes; lines are counted
//! as they lie in the file, so a record with line breaks in quotes is at its first line.

use std::sync::Arc;

use weft_env::File;
use weft_format::{Code, Error, Result};

use super::options::CsvOptions;

const STEP_BYTES: usize = 1 << 20;
const RECORD_BYTES_MAX: usize = 1 << 30;

/// The fields of one record.
#[derive(Default)]
pub(super) struct Record {
    bytes: Vec<u8>,
    fields: Vec<Field>,
    /// The line of the file on which the record starts, from 1.
    pub(super) line: u64,
}

#[derive(Clone, Copy)]
struct Field {
    start: usize,
    end: usize,
    quoted: bool,
}

impl Record {
    /// How many fields there are.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// A field and whether any of it was quoted.
    pub(super) fn field(&self, index: usize) -> Result<(&str, bool), std::str::Utf8Error> {
        let field = self.fields[index];
        Ok((std::str::from_utf8(&self.bytes[field.start..field.end])?, field.quoted))
    }

    /// Whether the line was empty.
    pub(super) fn is_blank(&self) -> bool {
        matches!(&self.fields[..], [field] if field.start == field.end && !field.quoted)
    }

    fn clear(&mut self, line: u64) {
        self.bytes.clear();
        self.fields.clear();
        self.line = line;
    }

    fn end_field(&mut self, start: &mut usize, quoted: &mut bool) {
        self.fields.push(Field { start: *start, end: self.bytes.len(), quoted: *quoted });
        *start = self.bytes.len();
        *quoted = false;
    }
}

/// Reads records one after the other.
pub(super) struct Reader {
    file: Arc<dyn File>,
    name: String,
    options: CsvOptions,
    buffer: Vec<u8>,
    at: usize,
    offset: u64,
    ended: bool,
    line: u64,
}

impl Reader {
    /// A reader at the start of a file; a byte order mark is passed over.
    pub(super) fn new(file: Arc<dyn File>, name: &str, options: &CsvOptions) -> Result<Reader> {
        let mut reader = Reader {
            file,
            name: name.into(),
            options: options.clone(),
            buffer: Vec::new(),
            at: 0,
            offset: 0,
            ended: false,
            line: 1,
        };
        reader.fill()?;
        if reader.buffer.starts_with(&[0xef, 0xbb, 0xbf]) {
            reader.at = 3;
        }
        Ok(reader)
    }

    /// Reads on; false at the end of the file.
    fn fill(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        self.buffer.resize(STEP_BYTES, 0);
        let read = self.file.read_at(&mut self.buffer, self.offset);
        let n = read.map_err(|error| Error::io(format!("reading {:?}", self.name), &error))?;
        self.buffer.truncate(n);
        self.offset += n as u64;
        self.at = 0;
        self.ended = n == 0;
        Ok(n > 0)
    }

    fn peek(&mut self) -> Result<Option<u8>> {
        if self.at == self.buffer.len() && !self.fill()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.at]))
    }

    /// Reads the next record; false at the end of the file.
    pub(super) fn next(&mut self, record: &mut Record) -> Result<bool> {
        record.clear(self.line);
        if self.peek()?.is_none() {
            return Ok(false);
        }
        let (mut start, mut quoted) = (0, false);
        loop {
            self.take_plain(record)?;
            let Some(byte) = self.peek()? else {
                record.end_field(&mut start, &mut quoted);
                return Ok(true);
            };
            self.at += 1;
            if byte == self.options.quote {
                quoted = true;
                self.take_quoted(record)?;
            } else if byte == self.options.delimiter {
                record.end_field(&mut start, &mut quoted);
            } else {
                if byte == b'\r' && self.peek()? == Some(b'\n') {
                    self.at += 1;
                }
                self.line += 1;
                record.end_field(&mut start, &mut quoted);
                return Ok(true);
            }
        }
    }

    /// Takes bytes up to a delimiter, quote, line end, or the end of the file.
    fn take_plain(&mut self, record: &mut Record) -> Result<()> {
        loop {
            let rest = &self.buffer[self.at..];
            let special = |&byte: &u8| {
                byte == self.options.delimiter || byte == self.options.quote || byte == b'\n' || byte == b'\r'
            };
            let plain = rest.iter().position(special);
            record.bytes.extend_from_slice(&rest[..plain.unwrap_or(rest.len())]);
            self.limit(record)?;
            match plain {
                Some(n) => {
                    self.at += n;
                    return Ok(());
                }
                None => {
                    self.at = self.buffer.len();
                    if !self.fill()? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Takes bytes up to the closing quote.
    fn take_quoted(&mut self, record: &mut Record) -> Result<()> {
        let CsvOptions { quote, escape, .. } = self.options;
        loop {
            let Some(byte) = self.peek()? else {
                let message = format!("unterminated CSV quoted field in {:?}, line {}", self.name, record.line);
                return Err(Error::new(Code::BadCopyFormat, message).hint("close the quote, or double a quote in text"));
            };
            self.at += 1;
            if byte == escape {
                let next = self.peek()?;
                if let Some(next) = next.filter(|&next| next == quote || next == escape) {
                    self.at += 1;
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
        let message = format!("the record at line {} of {:?} is larger than 1 GiB", record.line, self.name);
        Err(Error::new(Code::ProgramLimit, message))
    }
}
