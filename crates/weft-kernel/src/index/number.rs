//! Numbers in index files: varints, and fixed ones read back from bytes that may be cut off.
//!
//! ```text
//!   300  →  ac 02         seven bits per byte, low bits first, high bit set when more follow
//! ```

use weft_format::{Error, Result};

/// Appends a varint.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a length and the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).expect("entries and lists of an index stay below 4 GiB");
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Small numbers for small distances of either sign.
pub(crate) fn zigzag(distance: i64) -> u64 {
    (distance << 1 ^ distance >> 63) as u64
}

/// Takes back [`zigzag`].
pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Bytes not read yet; `what` names them in errors.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) bytes: &'a [u8],
    what: &'static str,
}

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Input<'a> {
        Input { bytes, what }
    }

    #[cold]
    fn cut_off(&self) -> Error {
        Error::corrupt(format!("{} ends too early", self.what))
    }

    #[inline]
    pub(crate) fn slice(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(len).ok_or_else(|| self.cut_off())?;
        self.bytes = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or_else(|| self.cut_off())?;
        self.bytes = rest;
        Ok(*taken)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length and that many bytes.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.u32()? as usize;
        self.slice(len)
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64> {
        if let [byte @ 0..=0x7f, rest @ ..] = self.bytes {
            self.bytes = rest;
            return Ok(u64::from(*byte));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64> {
        let mut number = 0u128;
        for shift in (0..70).step_by(7) {
            let [byte] = self.array()?;
            number |= u128::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u64::try_from(number).map_err(|_| self.cut_off());
            }
        }
        Err(Error::corrupt(format!("a number of {} does not end", self.what)))
    }

    /// A count of things that take at least `least_bytes` bytes each: more than fit are an error before any memory is
    /// taken for them.
    pub(crate) fn count(&mut self, least_bytes: usize) -> Result<usize> {
        let count = self.u32()? as usize;
        if count.saturating_mul(least_bytes) > self.bytes.len() { Err(self.cut_off()) } else { Ok(count) }
    }

    /// Nothing may be left.
    pub(crate) fn end(self) -> Result<()> {
        if self.bytes.is_empty() { Ok(()) } else { Err(Error::corrupt(format!("{} has bytes left over", self.what))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        let mut out = Vec::new();
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        numbers.iter().for_each(|&number| put_varint(&mut out, number));
        let mut input = Input::new(&out, "a test");
        numbers.iter().for_each(|&number| assert_eq!(input.varint().unwrap(), number));
        assert!(input.varint().is_err());
        assert!(Input::new(&[0xff; 12], "a test").varint().is_err());
        for distance in [0, 1, -1, 77, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(distance)), distance);
        }
    }
}
