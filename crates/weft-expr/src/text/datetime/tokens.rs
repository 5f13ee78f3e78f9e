//! A text of a date or time cut into fields, as PostgreSQL's `ParseDateTime` cuts it.
//!
//! ```text
//!   Sat Mar 9 14:30 2024 Europe/Berlin   Word sat, Word mar, Number 9, Time 14:30, Number 2024, Date europe/berlin
//!   2024-03-09T14:30:00-05                  Date 2024-03-09t14... no: Date 2024-03-09, Word t, Time 14:30:00, Zone -05
//! ```

/// What a field looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Number,
    Date,
    Time,
    Word,
    /// A sign and digits.
    Zone,
}

/// A field, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) shape: Shape,
    pub(super) text: String,
}

/// A text has at most so many fields, and bytes in them.
const FIELDS_MAX: usize = 25;
const BYTES_MAX: usize = 154;

/// Cuts a text; none when it is no date. `is_keyword` tells words that a digit behind them does not make a name.
pub(super) fn fields(text: &str, is_keyword: impl Fn(&str) -> bool) -> Option<Vec<Field>> {
    let mut cutter = Cutter { rest: text.as_bytes() };
    let mut fields = Vec::new();
    let mut bytes = 0;
    while let Some(&first) = cutter.rest.first() {
        let field = match first {
            b if b.is_ascii_whitespace() => {
                cutter.rest = &cutter.rest[1..];
                continue;
            }
            b'0'..=b'9' => cutter.number(),
            b'.' => {
                let mut text = String::from(".");
                cutter.rest = &cutter.rest[1..];
                cutter.take(&mut text, |b| b.is_ascii_digit());
                Field { shape: Shape::Number, text }
            }
            b if b.is_ascii_alphabetic() => cutter.word(&is_keyword),
            b'+' | b'-' => cutter.signed()?,
            b if b.is_ascii_punctuation() => {
                cutter.rest = &cutter.rest[1..];
                continue;
            }
            _ => return None,
        };
        bytes += field.text.len() + 1;
        fields.push(field);
        if fields.len() > FIELDS_MAX || bytes > BYTES_MAX {
            return None;
        }
    }
    Some(fields)
}

struct Cutter<'a> {
    rest: &'a [u8],
}

impl Cutter<'_> {
    fn take(&mut self, text: &mut String, belongs: impl Fn(u8) -> bool) {
        while let Some(&byte) = self.rest.first().filter(|byte| belongs(**byte)) {
            text.push(byte.to_ascii_lowercase().into());
            self.rest = &self.rest[1..];
        }
    }

    fn number(&mut self) -> Field {
        let mut text = String::new();
        self.take(&mut text, |b| b.is_ascii_digit());
        let shape = match self.rest.first().copied() {
            Some(b':') => {
                self.take(&mut text, |b| b.is_ascii_digit() || b == b':' || b == b'.');
                Shape::Time
            }
            Some(delimiter @ (b'-' | b'/' | b'.')) => {
                text.push(delimiter.into());
                self.rest = &self.rest[1..];
                if self.rest.first().is_some_and(u8::is_ascii_digit) {
                    self.take(&mut text, |b| b.is_ascii_digit());
                    if self.rest.first() == Some(&delimiter) {
                        self.take(&mut text, |b| b.is_ascii_digit() || b == delimiter);
                        Shape::Date
                    } else if delimiter == b'.' {
                        Shape::Number
                    } else {
                        Shape::Date
                    }
                } else {
                    self.take(&mut text, |b| b.is_ascii_alphanumeric() || b == delimiter);
                    Shape::Date
                }
            }
            _ => Shape::Number,
        };
        Field { shape, text }
    }

    /// A month, a keyword, or the name of a zone, which has digits and punctuation in it.
    fn word(&mut self, is_keyword: impl Fn(&str) -> bool) -> Field {
        let mut text = String::new();
        self.take(&mut text, |b| b.is_ascii_alphabetic());
        let goes_on = match self.rest.first().copied() {
            Some(b'-' | b'/' | b'.') => true,
            Some(b) if b == b'+' || b.is_ascii_digit() => !is_keyword(&text),
            _ => false,
        };
        if goes_on {
            self.take(&mut text, |b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'/' | b'_' | b'.' | b':'));
        }
        Field { shape: if goes_on { Shape::Date } else { Shape::Word }, text }
    }

    fn signed(&mut self) -> Option<Field> {
        let mut text = String::from(char::from(self.rest[0]));
        self.rest = self.rest[1..].trim_ascii_start();
        match self.rest.first() {
            Some(b) if b.is_ascii_digit() => {
                self.take(&mut text, |b| b.is_ascii_digit() || matches!(b, b':' | b'.' | b'-'));
                Some(Field { shape: Shape::Zone, text })
            }
            Some(b) if b.is_ascii_alphabetic() => {
                self.take(&mut text, |b| b.is_ascii_alphabetic());
                Some(Field { shape: Shape::Word, text })
            }
            _ => None,
        }
    }
}
