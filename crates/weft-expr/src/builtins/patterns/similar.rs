//! SIMILAR TO's patterns as regular expressions, and LIKE's with another escape character.
//!
//! ```text
//!   'a%(b|c)_'               ^(?:a.*(?:b|c).)$
//!   'a#"b_#"c' escape '#'    ^(?:a){1,1}?(b.){1,1}(?:c)$     the group is what substring gives
//! ```

use weft_format::{Code, Error, Result, Value};

use crate::builtins::builtin::Call;

/// Its result is NULL only for a pattern that is.
pub(super) fn similar_escape(call: &Call<'_>) -> Result<Value> {
    if call.is_null(0) {
        return Ok(Value::Null);
    }
    let escape = if call.is_null(1) { None } else { Some(call.text(1)) };
    Ok(Value::Text(translated(call.text(0), escape)?.into()))
}

pub(super) fn similar_to_escape(call: &Call<'_>) -> Result<Value> {
    let escape = if call.count() > 1 { Some(call.text(1)) } else { None };
    Ok(Value::Text(translated(call.text(0), escape)?.into()))
}

/// The escape character of an argument; the empty text is none.
fn escape_char(escape: &str) -> Result<Option<char>> {
    let mut chars = escape.chars();
    let escape = chars.next();
    if chars.next().is_some() {
        let error = Error::new(Code::InvalidEscapeSequence, "invalid escape string");
        return Err(error.hint("Escape string must be empty or one character."));
    }
    Ok(escape)
}

/// The regular expression of a pattern; without an escape text the escape character is the backslash.
pub(super) fn translated(pattern: &str, escape: Option<&str>) -> Result<String> {
    let escape = escape.map_or(Ok(Some('\\')), escape_char)?;
    let mut out = String::with_capacity(pattern.len() + 16);
    out.push_str("^(?:");
    let mut brackets = Brackets { depth: 0, at: 0 };
    let mut separators = 0;
    let mut is_escaped = false;
    for c in pattern.chars() {
        if is_escaped {
            is_escaped = false;
            if c == '"' && brackets.depth == 0 {
                out.push_str(separator(separators)?);
                separators += 1;
            } else {
                out.push('\\');
                out.push(c);
                brackets.at = 3;
            }
        } else if escape == Some(c) {
            is_escaped = true;
        } else if brackets.depth > 0 {
            if c == '\\' {
                out.push('\\');
            }
            out.push(c);
            brackets.pass(c);
        } else {
            match c {
                '[' => {
                    brackets = Brackets { depth: 1, at: 1 };
                    out.push('[');
                }
                '%' => out.push_str(".*"),
                '_' => out.push('.'),
                '(' => out.push_str("(?:"),
                '\\' | '.' | '^' | '$' => {
                    out.push('\\');
                    out.push(c);
                }
                c => out.push(c),
            }
        }
    }
    out.push_str(")$");
    Ok(out)
}

/// Brackets within brackets, and how far behind the first: 1 is behind `[`, 2 behind `[^`, 3 and more further on.
struct Brackets {
    depth: u32,
    at: u32,
}

impl Brackets {
    fn pass(&mut self, c: char) {
        match c {
            ']' if self.at > 2 => self.depth -= 1,
            '[' => {
                self.depth += 1;
                self.at = 3;
            }
            '^' => self.at = self.at.saturating_add(1),
            _ => self.at = 3,
        }
    }
}

/// What the first and the second escaped `"` become: the parts before and behind them leave as much as they can to the
/// part between.
fn separator(number: u32) -> Result<&'static str> {
    match number {
        0 => Ok("){1,1}?("),
        1 => Ok("){1,1}(?:"),
        _ => Err(Error::new(
            Code::InvalidUseOfEscape,
            "SQL regular expression may not contain more than two escape-double-quote separators",
        )),
    }
}

/// A LIKE pattern whose escape character is the backslash.
pub(super) fn like_escape(call: &Call<'_>) -> Result<Value> {
    let (pattern, escape) = (call.text(0), escape_char(call.text(1))?);
    if escape == Some('\\') {
        return Ok(Value::Text(pattern.into()));
    }
    let mut out = String::with_capacity(pattern.len());
    let mut is_escaped = false;
    for c in pattern.chars() {
        if Some(c) == escape && !is_escaped {
            out.push('\\');
            is_escaped = true;
        } else {
            if c == '\\' && !is_escaped {
                out.push('\\');
            }
            out.push(c);
            is_escaped = false;
        }
    }
    Ok(Value::Text(out.into()))
}
