//! Reads JSON text: tests it, and finds where its parts are.

use weft_format::{Code, Error, Result};

use crate::text::shorten;

/// The most arrays and objects within each other.
pub const JSON_DEPTH_MAX: usize = 512;

/// Tests that a text is one JSON value.
pub fn validate(text: &str) -> Result<()> {
    let mut scanner = Scanner::new(text);
    scanner.value(JSON_DEPTH_MAX)?;
    scanner.end()
}

/// The members of an object: decoded keys and the text of the values, in the order written; none when it is no object.
pub fn members(text: &str) -> Result<Option<Vec<(String, &str)>>> {
    let mut scanner = Scanner::new(text);
    scanner.blanks();
    if !scanner.take(b'{') {
        return Ok(None);
    }
    let mut members = Vec::new();
    scanner.list(b'}', &mut |scanner| {
        let key = scanner.string()?;
        scanner.colon()?;
        let value = scanner.skip()?;
        members.push((unquoted(key)?, value));
        Ok(())
    })?;
    Ok(Some(members))
}

/// The text of the member of an object with a key, the last one if there are several; none when it is no object.
pub(super) fn member<'a>(text: &'a str, key: &str) -> Result<Option<&'a str>> {
    let mut scanner = Scanner::new(text);
    scanner.blanks();
    if !scanner.take(b'{') {
        return Ok(None);
    }
    let mut found = None;
    scanner.list(b'}', &mut |scanner| {
        let known = scanner.string()?;
        scanner.colon()?;
        let value = scanner.skip()?;
        let plain = &known[1..known.len() - 1];
        let is_it = if plain.contains('\\') { unquoted(known)? == key } else { plain == key };
        if is_it {
            found = Some(value);
        }
        Ok(())
    })?;
    Ok(found)
}

/// The text of the elements of an array; none when it is no array.
pub fn items(text: &str) -> Result<Option<Vec<&str>>> {
    let mut scanner = Scanner::new(text);
    scanner.blanks();
    if !scanner.take(b'[') {
        return Ok(None);
    }
    let mut items = Vec::new();
    scanner.list(b']', &mut |scanner| {
        items.push(scanner.skip()?);
        Ok(())
    })?;
    Ok(Some(items))
}

/// What a JSON string (with its quotes) says.
pub fn unquoted(string: &str) -> Result<String> {
    let inside = string.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let inside = inside.ok_or_else(|| invalid(string))?;
    if !inside.contains('\\') {
        return Ok(inside.to_owned());
    }
    let mut out = String::with_capacity(inside.len());
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => {
                let mut unit = || -> Option<u32> {
                    let digits: String = chars.by_ref().take(4).collect();
                    u32::from_str_radix(&digits, 16).ok()
                };
                let first = unit().ok_or_else(|| invalid(string))?;
                let code = if (0xd800..0xdc00).contains(&first) {
                    let is_pair = chars.next() == Some('\\') && chars.next() == Some('u');
                    let mut unit = || -> Option<u32> {
                        let digits: String = chars.by_ref().take(4).collect();
                        u32::from_str_radix(&digits, 16).ok()
                    };
                    match unit() {
                        Some(second) if is_pair && (0xdc00..0xe000).contains(&second) => {
                            0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                        }
                        _ => return Err(invalid(string)),
                    }
                } else {
                    first
                };
                if code == 0 {
                    return Err(Error::new(Code::UntranslatableCharacter, "unsupported Unicode escape sequence")
                        .hint("\\u0000 cannot be converted to text"));
                }
                out.push(char::from_u32(code).ok_or_else(|| invalid(string))?);
            }
            Some(other) => out.push(other),
            None => return Err(invalid(string)),
        }
    }
    Ok(out)
}

fn invalid(text: &str) -> Error {
    Error::new(Code::InvalidText, format!("invalid input syntax for type json: \"{}\"", shorten(text)))
        .hint("write it as RFC 8259 has it: keys and texts in double quotes, no comma behind the last element")
}

fn too_deep() -> Error {
    let message = format!("a json value is nested more than {JSON_DEPTH_MAX} deep");
    Error::new(Code::StatementTooComplex, message).hint("keep its parts in rows of their own")
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Scanner<'a> {
        Scanner { text, at: 0 }
    }

    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.next() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn blanks(&mut self) {
        while matches!(self.next(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn invalid(&self) -> Error {
        invalid(self.text)
    }

    fn end(&mut self) -> Result<()> {
        self.blanks();
        if self.at == self.text.len() { Ok(()) } else { Err(self.invalid()) }
    }

    fn colon(&mut self) -> Result<()> {
        self.blanks();
        if self.take(b':') { Ok(()) } else { Err(self.invalid()) }
    }

    /// What stands between commas up to the closing bracket.
    fn list(&mut self, close: u8, item: &mut dyn FnMut(&mut Scanner<'a>) -> Result<()>) -> Result<()> {
        self.blanks();
        if self.take(close) {
            return Ok(());
        }
        loop {
            self.blanks();
            item(self)?;
            self.blanks();
            if self.take(close) {
                return Ok(());
            }
            if !self.take(b',') {
                return Err(self.invalid());
            }
        }
    }

    /// The text of the next value, with at most so many arrays and objects within each other. Deep ones take no
    /// more stack.
    fn value(&mut self, depth: usize) -> Result<&'a str> {
        self.blanks();
        let start = self.at;
        // The brackets that will close what is open.
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.blanks();
            let close = match self.next() {
                Some(b'{') => Some(b'}'),
                Some(b'[') => Some(b']'),
                _ => None,
            };
            match close {
                None => self.scalar()?,
                Some(_) if open.len() == depth => return Err(too_deep()),
                Some(close) => {
                    self.at += 1;
                    self.blanks();
                    if !self.take(close) {
                        self.key(close)?;
                        open.push(close);
                        continue;
                    }
                }
            }
            // A value has ended, and perhaps what it is the last one of.
            loop {
                let Some(&close) = open.last() else { return Ok(&self.text[start..self.at]) };
                self.blanks();
                if self.take(close) {
                    open.pop();
                    continue;
                }
                if !self.take(b',') {
                    return Err(self.invalid());
                }
                self.blanks();
                self.key(close)?;
                break;
            }
        }
    }

    /// In an object, what stands before a value.
    fn key(&mut self, close: u8) -> Result<()> {
        if close == b']' {
            return Ok(());
        }
        self.string()?;
        self.colon()
    }

    fn scalar(&mut self) -> Result<()> {
        match self.next() {
            Some(b'"') => self.string().map(|_| ()),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                let word = ["true", "false", "null"].into_iter().find(|word| self.text[self.at..].starts_with(word));
                self.at += word.ok_or_else(|| self.invalid())?.len();
                let goes_on = self.next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                if goes_on { Err(self.invalid()) } else { Ok(()) }
            }
        }
    }

    /// The text of the next value, which is known to be one: of arrays and objects only the brackets are looked at.
    fn skip(&mut self) -> Result<&'a str> {
        self.blanks();
        if !matches!(self.next(), Some(b'{' | b'[')) {
            return self.value(JSON_DEPTH_MAX);
        }
        let (start, mut open) = (self.at, 0_usize);
        loop {
            match self.next() {
                Some(b'{' | b'[') => open += 1,
                Some(b'}' | b']') if open == 1 => break,
                Some(b'}' | b']') => open -= 1,
                Some(b'"') => self.skip_string(),
                Some(_) => {}
                None => return Err(self.invalid()),
            }
            self.at += 1;
        }
        self.at += 1;
        Ok(&self.text[start..self.at])
    }

    /// Goes to the closing quote of a string.
    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.next().filter(|byte| *byte != b'"') {
            self.at += if byte == b'\\' { 2 } else { 1 };
        }
    }

    /// A string with its quotes.
    fn string(&mut self) -> Result<&'a str> {
        let start = self.at;
        if !self.take(b'"') {
            return Err(self.invalid());
        }
        loop {
            match self.next() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    match self.next() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                        Some(b'u') => {
                            let digits = self.text.as_bytes().get(self.at + 1..self.at + 5);
                            if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                                return Err(self.invalid());
                            }
                            self.at += 5;
                        }
                        _ => return Err(self.invalid()),
                    }
                }
                Some(byte) if byte >= 0x20 => self.at += 1,
                _ => return Err(self.invalid()),
            }
        }
        self.at += 1;
        Ok(&self.text[start..self.at])
    }

    fn digits(&mut self) -> Result<()> {
        let start = self.at;
        while self.next().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(self.invalid()) }
    }

    fn number(&mut self) -> Result<()> {
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        if self.next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_') {
            return Err(self.invalid());
        }
        Ok(())
    }
}
