//! Walks the canonical text of jsonb: one pass, nothing is copied, and whatever is not canonical is noticed.
//!
//! ```text
//!   {"a": [1, true], "b": "x\n"}     Object · key a · Array · Number 1 · Bool · end · key b · String x\n · end
//! ```
//!
//! 1. A text that was walked to its end is byte for byte what [`quote`] and the separators `", "` and `": "` make of
//!    its parts: keys rise by length, then bytes; texts have only the escapes that they need.
//! 2. Numbers are not tested here; [`super::decimal`] does.
//!
//! The rows of jsonb need no other form in memory: columns are made in one pass from front to back, and a path is found
//! by looking at brackets and quotes alone.

use std::borrow::Cow;
use std::cmp::Ordering;

/// A value, or the beginning of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Null,
    Bool(bool),
    /// As it is written.
    Number(&'a str),
    /// Between its quotes.
    String(&'a str),
    /// Its members follow.
    Object,
    /// Its elements follow.
    Array,
}

/// A place in a text. Every step answers None where the text is not canonical.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walker<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Walker<'a> {
    pub(crate) fn new(text: &'a str) -> Walker<'a> {
        Walker { text, at: 0 }
    }

    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn take(&mut self, token: &str) -> Option<()> {
        let found = self.text.as_bytes()[self.at..].starts_with(token.as_bytes());
        self.at += if found { token.len() } else { 0 };
        found.then_some(())
    }

    /// Whether the text ends here.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// The next value; of an object or an array its opening bracket.
    #[inline]
    pub(crate) fn part(&mut self) -> Option<Part<'a>> {
        match self.next()? {
            b'{' => {
                self.at += 1;
                Some(Part::Object)
            }
            b'[' => {
                self.at += 1;
                Some(Part::Array)
            }
            b'"' => self.string().map(Part::String),
            b't' => self.take("true").map(|()| Part::Bool(true)),
            b'f' => self.take("false").map(|()| Part::Bool(false)),
            b'n' => self.take("null").map(|()| Part::Null),
            b'-' | b'0'..=b'9' => {
                let start = self.at;
                let is_part = |byte: u8| matches!(byte, b'-' | b'.' | b'0'..=b'9');
                while self.next().is_some_and(is_part) {
                    self.at += 1;
                }
                Some(Part::Number(&self.text[start..self.at]))
            }
            _ => None,
        }
    }

    /// Goes on within an object: its next key, between its quotes, or None at its end.
    #[inline]
    pub(crate) fn key(&mut self, is_first: bool) -> Option<Option<&'a str>> {
        if self.take("}").is_some() {
            return Some(None);
        }
        if !is_first {
            self.take(", ")?;
        }
        let key = self.string()?;
        self.take(": ")?;
        Some(Some(key))
    }

    /// Goes on within an array: whether there is another element.
    #[inline]
    pub(crate) fn element(&mut self, is_first: bool) -> Option<bool> {
        if self.take("]").is_some() {
            return Some(false);
        }
        if !is_first {
            self.take(", ")?;
        }
        Some(true)
    }

    /// The text of the next value, whatever it is: of arrays and objects only brackets and quotes are looked at.
    pub(crate) fn skip(&mut self) -> Option<&'a str> {
        let (start, bytes) = (self.at, self.text.as_bytes());
        if !matches!(self.next()?, b'{' | b'[') {
            self.part()?;
            return Some(&self.text[start..self.at]);
        }
        let mut open = 0_usize;
        loop {
            match bytes.get(self.at)? {
                b'{' | b'[' => open += 1,
                b'}' | b']' => open -= 1,
                b'"' => {
                    self.at += 1;
                    while *bytes.get(self.at)? != b'"' {
                        self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
                    }
                }
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return self.text.get(start..self.at);
            }
        }
    }

    /// What stands between the quotes of the next string.
    #[inline]
    fn string(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        if self.next()? != b'"' {
            return None;
        }
        let start = self.at + 1;
        let mut at = start;
        let mut is_plain = true;
        loop {
            match *bytes.get(at)? {
                b'"' => break,
                b'\\' => {
                    is_plain = false;
                    at += 2;
                }
                byte if byte < 0x20 => return None,
                _ => at += 1,
            }
        }
        self.at = at + 1;
        let inside = &self.text[start..at];
        (is_plain || is_quoted_as_needed(inside)).then_some(inside)
    }
}

/// Whether a string with escapes is what [`quote`] makes of its characters.
fn is_quoted_as_needed(inside: &str) -> bool {
    let Some(plain) = unescaped(inside) else { return false };
    let mut again = Vec::with_capacity(inside.len() + 2);
    quote(&plain, &mut again);
    &again[1..again.len() - 1] == inside.as_bytes()
}

/// The characters of a string, given between its quotes. A text that is damaged has none.
pub(crate) fn unescaped(inside: &str) -> Option<Cow<'_, str>> {
    let Some(first) = inside.find('\\') else { return Some(Cow::Borrowed(inside)) };
    let mut out = String::with_capacity(inside.len());
    out.push_str(&inside[..first]);
    let mut chars = inside[first..].chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let digits = chars.as_str().get(..4)?;
                chars = chars.as_str()[4..].chars();
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
            }
            other => other,
        });
    }
    Some(Cow::Owned(out))
}

/// Appends a string with its quotes, as jsonb writes it.
pub(crate) fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        let short = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            8 => b'b',
            12 => b'f',
            byte if byte < 0x20 => b'u',
            _ => continue,
        };
        out.extend_from_slice(&text.as_bytes()[start..at]);
        out.extend_from_slice(&[b'\\', short]);
        if short == b'u' {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            out.extend_from_slice(&[b'0', b'0', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
        start = at + 1;
    }
    out.extend_from_slice(&text.as_bytes()[start..]);
    out.push(b'"');
}

/// The order of an object's keys: by length in bytes, then by bytes.
#[inline]
pub(crate) fn compare_keys(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(walker: &mut Walker<'_>) -> Option<()> {
        match walker.part()? {
            Part::Object => {
                let mut first = true;
                while walker.key(std::mem::take(&mut first))?.is_some() {
                    walk(walker)?;
                }
            }
            Part::Array => {
                let mut first = true;
                while walker.element(std::mem::take(&mut first))? {
                    walk(walker)?;
                }
            }
            _ => {}
        }
        Some(())
    }

    #[test]
    fn only_canonical_texts_are_walked_to_their_end() {
        let is_walked = |text: &str| {
            let mut walker = Walker::new(text);
            walk(&mut walker).is_some() && walker.is_at_end()
        };
        for text in ["{}", "[]", "[1, [], {}]", r#"{"a": [1, true], "b": "x\n\u0001é\""}"#, "null", "-1.50", r#""\\""#]
        {
            assert!(is_walked(text), "{text}");
            assert_eq!(Walker::new(text).skip(), Some(text));
        }
        for text in ["", "{", "[1,2]", r#"{"a":1}"#, "[1, ]", "tru", r#""\u00e9""#, r#""\/""#, "\"\t\"", "\"a", "[1] "]
        {
            assert!(!is_walked(text), "{text}");
        }
    }

    #[test]
    fn quoting_and_unescaping_are_inverse() {
        let all: String = (1..0x300).filter_map(char::from_u32).chain("😀\u{10ffff}".chars()).collect();
        let mut quoted = Vec::new();
        quote(&all, &mut quoted);
        let quoted = String::from_utf8(quoted).unwrap();
        assert_eq!(Walker::new(&quoted).part(), Some(Part::String(&quoted[1..quoted.len() - 1])));
        assert_eq!(unescaped(&quoted[1..quoted.len() - 1]).unwrap(), all);
        assert_eq!(unescaped(r"a\u12"), None);
        assert_eq!(unescaped(r"a\"), None);
    }
}
