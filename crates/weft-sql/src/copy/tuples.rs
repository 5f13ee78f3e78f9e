//! Rows of COPY's binary form.
//!
//! ```text
//!   PGCOPY\n ff \r\n 00   flags   length of more header   { fields, { length, bytes } ... } ...   ff ff
//! ```
//!
//! Source: PostgreSQL's manual, COPY, "Binary Format".

use weft_format::{Code, Error, Result};

use super::source::Source;

/// How every input begins.
pub(super) const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// The longest field, bytes.
const FIELD_BYTES_MAX: usize = 1 << 30;

/// Reads rows one after the other.
pub(super) struct BinaryReader<'a> {
    source: Source<'a>,
    buffer: Vec<u8>,
    at: usize,
    ended: bool,
    /// The number of the row that is read, from 1.
    row: u64,
}

impl<'a> BinaryReader<'a> {
    /// A reader behind the header.
    pub(super) fn new(source: Source<'a>) -> Result<BinaryReader<'a>> {
        let mut reader = BinaryReader { source, buffer: Vec::new(), at: 0, ended: false, row: 0 };
        if reader.take(SIGNATURE.len())? != SIGNATURE {
            return Err(reader.bad("COPY file signature not recognized"));
        }
        let flags = reader.number()?;
        if flags & !0xffff != 0 {
            return Err(reader.bad("unrecognized critical flags in COPY file header"));
        }
        let more = usize::try_from(reader.number()?).map_err(|_| reader.bad("invalid COPY file header"))?;
        reader.take(more)?;
        Ok(reader)
    }

    /// The number of fields of the next row; none at the end.
    pub(super) fn begin_row(&mut self) -> Result<Option<usize>> {
        self.row += 1;
        if self.ended {
            return Ok(None);
        }
        let count = i16::from_be_bytes(self.take(2)?.try_into().expect("two bytes were taken"));
        if count == -1 {
            if self.at < self.buffer.len() || self.source.read(&mut self.buffer)? {
                return Err(self.bad("received copy data after EOF marker"));
            }
            self.ended = true;
            return Ok(None);
        }
        usize::try_from(count).map(Some).map_err(|_| self.bad("a row has a negative number of fields"))
    }

    /// The bytes of the next field; none is NULL.
    pub(super) fn field(&mut self) -> Result<Option<&[u8]>> {
        match self.number()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).ok().filter(|&length| length <= FIELD_BYTES_MAX);
                let length = length.ok_or_else(|| self.bad("invalid field size"))?;
                self.take(length).map(Some)
            }
        }
    }

    fn number(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.take(4)?.try_into().expect("four bytes were taken")))
    }

    fn take(&mut self, count: usize) -> Result<&[u8]> {
        while self.buffer.len() - self.at < count {
            self.buffer.drain(..self.at);
            self.at = 0;
            if !self.source.read(&mut self.buffer)? {
                return Err(self.bad("unexpected EOF in COPY data"));
            }
        }
        let taken = &self.buffer[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    fn bad(&self, message: &str) -> Error {
        let place = format!("({}, row {})", self.source.name(), self.row);
        Error::new(Code::BadCopyFormat, format!("{message} {place}")).hint("the input is not what COPY ... TO writes")
    }
}
