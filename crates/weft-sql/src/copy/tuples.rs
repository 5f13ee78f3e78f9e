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
}

impl<'a> BinaryReader<'a> {
    /// A reader behind the header.
    pub(super) fn new(source: Source<'a>) -> Result<BinaryReader<'a>> {
        let mut reader = BinaryReader { source, buffer: Vec::new(), at: 0, ended: false };
        if reader.take(SIGNATURE.len())? != SIGNATURE {
            return Err(bad("COPY file signature not recognized"));
        }
        let flags = reader.number()?;
        if flags & !0xffff != 0 {
            return Err(bad("unrecognized critical flags in COPY file header"));
        }
        let more = usize::try_from(reader.number()?).map_err(|_| bad("invalid COPY file header"))?;
        reader.take(more)?;
        Ok(reader)
    }

    /// The number of fields of the next row; none at the end.
    pub(super) fn begin_row(&mut self) -> Result<Option<usize>> {
        if self.ended {
            return Ok(None);
        }
        let count = i16::from_be_bytes(self.take(2)?.try_into().expect("two bytes were taken"));
        if count == -1 {
            if self.at < self.buffer.len() || self.source.read(&mut self.buffer)? {
                return Err(bad("received copy data after EOF marker"));
            }
            self.ended = true;
            return Ok(None);
        }
        usize::try_from(count).map(Some).map_err(|_| bad("a row has a negative number of fields"))
    }

    /// The bytes of the next field; none is NULL.
    pub(super) fn field(&mut self) -> Result<Option<&[u8]>> {
        match self.number()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).ok().filter(|&length| length <= FIELD_BYTES_MAX);
                self.take(length.ok_or_else(|| bad("invalid field size"))?).map(Some)
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
                return Err(bad("unexpected EOF in COPY data"));
            }
        }
        let taken = &self.buffer[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }
}

fn bad(message: &str) -> Error {
    Error::new(Code::BadCopyFormat, message)
}
