//! The canonical text of jsonb: written in one go over a text that was tested, front to back.
//!
//! ```text
//!   {"bb":1,"a":[1e1,"x"]}     members as they come  "bb": 1, "a": [10, "x"]     then by key, where they are not
//! ```

use std::borrow::Cow;
use std::ops::Range;

use weft_format::{Code, Error, Result};

use super::build::quote;
use super::scan::{unquoted, validate};

/// Digits that a number may have on either side of its point, as PostgreSQL's numeric.
const WHOLE_DIGITS_MAX: i64 = 131_072;
const FRACTION_DIGITS_MAX: i64 = 16_383;

/// Bytes of all numbers of a document: with exponents they are written in a few.
const NUMBER_BYTES_MAX: usize = 64 << 20;

/// The canonical text of a JSON text.
pub fn canonical(text: &str) -> Result<String> {
    validate(text)?;
    let out = String::with_capacity(text.len() + text.len() / 8);
    let mut writer = Writer { text, at: 0, out, left: NUMBER_BYTES_MAX };
    writer.value()?;
    Ok(writer.out)
}

/// Writes a text that is one JSON value.
struct Writer<'a> {
    text: &'a str,
    at: usize,
    out: String,
    /// So many bytes numbers may still have.
    left: usize,
}

/// A member of an object, written.
struct Member<'a> {
    key: Cow<'a, str>,
    place: Range<usize>,
}

impl<'a> Writer<'a> {
    /// The next byte that is no blank.
    fn next(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        bytes.get(self.at).copied().expect("a text that was tested is whole")
    }

    fn value(&mut self) -> Result<()> {
        match self.next() {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => self.string().map(|_| ()),
            b'-' | b'0'..=b'9' => self.number(),
            _ => {
                let word = self.plain();
                self.out.push_str(word);
                Ok(())
            }
        }
    }

    fn array(&mut self) -> Result<()> {
        self.at += 1;
        self.out.push('[');
        let mut is_first = true;
        loop {
            match self.next() {
                b']' => break,
                b',' => self.at += 1,
                _ => {
                    if !std::mem::take(&mut is_first) {
                        self.out.push_str(", ");
                    }
                    self.value()?;
                }
            }
        }
        self.at += 1;
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self) -> Result<()> {
        self.at += 1;
        self.out.push('{');
        let start = self.out.len();
        let mut members: Vec<Member<'a>> = Vec::new();
        loop {
            match self.next() {
                b'}' => break,
                b',' => self.at += 1,
                _ => {
                    if !members.is_empty() {
                        self.out.push_str(", ");
                    }
                    let begin = self.out.len();
                    let key = self.string()?;
                    self.next();
                    // The colon.
                    self.at += 1;
                    self.out.push_str(": ");
                    self.value()?;
                    members.push(Member { key, place: begin..self.out.len() });
                }
            }
        }
        self.at += 1;
        if !members.is_sorted_by(|a, b| order(&a.key) < order(&b.key)) {
            self.sort(start, members);
        }
        self.out.push('}');
        Ok(())
    }

    /// Sorts the members that were written from a place on: shorter keys first; of equal ones the last counts.
    fn sort(&mut self, start: usize, mut members: Vec<Member<'a>>) {
        let written = self.out.split_off(start);
        // Stable, and turned around first: the last of equal keys comes first.
        members.reverse();
        members.sort_by(|a, b| order(&a.key).cmp(&order(&b.key)));
        members.dedup_by(|later, first| later.key == first.key);
        for (at, member) in members.iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.out.push_str(&written[member.place.start - start..member.place.end - start]);
        }
    }

    /// Writes a string; what it says.
    fn string(&mut self) -> Result<Cow<'a, str>> {
        let (bytes, start) = (self.text.as_bytes(), self.at);
        let mut has_escapes = false;
        self.at += 1;
        while let Some(&byte) = bytes.get(self.at).filter(|&&byte| byte != b'"') {
            has_escapes |= byte == b'\\';
            self.at += if byte == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        let written = &self.text[start..self.at];
        if has_escapes {
            let says = unquoted(written)?;
            quote(&says, &mut self.out);
            return Ok(Cow::Owned(says));
        }
        self.out.push_str(written);
        Ok(Cow::Borrowed(&written[1..written.len() - 1]))
    }

    /// The text up to where a number or a word ends.
    fn plain(&mut self) -> &'a str {
        let (bytes, start) = (self.text.as_bytes(), self.at);
        let goes_on = |byte: &u8| !matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
        while bytes.get(self.at).is_some_and(goes_on) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn number(&mut self) -> Result<()> {
        let text = self.plain();
        let begin = self.out.len();
        // Nearly all numbers are written as they are to be.
        let is_short = text.len() <= FRACTION_DIGITS_MAX as usize;
        if is_short && !text.bytes().any(|byte| matches!(byte, b'e' | b'E')) {
            let is_zero = || text.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'));
            self.out.push_str(if text.starts_with('-') && is_zero() { &text[1..] } else { text });
        } else {
            self.out.push_str(&number(text)?);
        }
        self.left = self.left.checked_sub(self.out.len() - begin).ok_or_else(|| {
            let message = format!("the numbers of a document have more than {} MiB", NUMBER_BYTES_MAX >> 20);
            Error::new(Code::ProgramLimit, message).hint("keep numbers with large exponents as texts")
        })?;
        Ok(())
    }
}

/// What keys are sorted by.
fn order(key: &str) -> (usize, &str) {
    (key.len(), key)
}

/// A number without an exponent, with the digits that it has.
pub(super) fn number(text: &str) -> Result<String> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i64>().map_err(|_| too_large())?),
        None => (text, 0),
    };
    let (negative, unsigned) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = format!("{whole}{fraction}");
    let point = exponent.saturating_add(whole.len() as i64);
    let scale = (digits.len() as i64).saturating_sub(point).max(0);
    if point > WHOLE_DIGITS_MAX || scale > FRACTION_DIGITS_MAX {
        return Err(too_large());
    }
    let shifted = if point <= 0 {
        format!("0.{}{digits}", "0".repeat(point.unsigned_abs() as usize))
    } else if point as usize >= digits.len() {
        format!("{digits}{}", "0".repeat(point as usize - digits.len()))
    } else {
        format!("{}.{}", &digits[..point as usize], &digits[point as usize..])
    };
    let kept = shifted.trim_start_matches('0');
    let kept = if kept.is_empty() || kept.starts_with('.') { format!("0{kept}") } else { kept.to_owned() };
    let is_zero = kept.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    Ok(if negative && !is_zero { format!("-{kept}") } else { kept })
}

fn too_large() -> Error {
    Error::new(Code::NumericOutOfRange, "value overflows numeric format").hint("keep such a number as a text")
}
