//! The fields of a message, a value or a row of bytes, read with their bounds tested.

use weft_format::{Code, Error, Result};

/// What is left of a body.
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// All of a body.
    pub fn new(body: &'a [u8]) -> Fields<'a> {
        Fields { rest: body }
    }

    /// How many bytes are left.
    pub fn len(&self) -> usize {
        self.rest.len()
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.rest.len() {
            return Err(too_short());
        }
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or_else(too_short)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// An unsigned byte.
    pub fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// 16 bits, most significant byte first, as all numbers are.
    pub fn i16(&mut self) -> Result<i16> {
        self.array().map(i16::from_be_bytes)
    }

    /// An unsigned number of 16 bits.
    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// 32 bits.
    pub fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    /// An unsigned number of 32 bits.
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// 64 bits.
    pub fn i64(&mut self) -> Result<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// Bytes up to a zero byte, which is passed over; they must be UTF-8.
    pub fn text(&mut self) -> Result<&'a str> {
        let end = self.rest.iter().position(|&byte| byte == 0);
        let end = end.ok_or_else(|| violation("a text in the message does not end"))?;
        let text = std::str::from_utf8(&self.rest[..end]).map_err(|_| {
            Error::new(Code::CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\"")
                .hint("the client's encoding must be UTF8")
        })?;
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }

    /// A count (16 bits) and as many elements; each takes at least one byte of what is left.
    pub fn counted<T>(&mut self, mut element: impl FnMut(&mut Fields<'a>) -> Result<T>) -> Result<Vec<T>> {
        let count = usize::from(self.u16()?);
        if count > self.rest.len() {
            return Err(too_short());
        }
        let mut elements = Vec::with_capacity(count);
        for _ in 0..count {
            elements.push(element(self)?);
        }
        Ok(elements)
    }

    /// An error when something is left (protocol 2).
    pub fn end(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(violation("the message is longer than what it says")) }
    }
}

fn too_short() -> Error {
    violation("the message is shorter than what it says")
}

/// The error of messages that contradict the protocol.
pub fn violation(message: impl Into<String>) -> Error {
    Error::new(Code::ProtocolViolation, message)
}
