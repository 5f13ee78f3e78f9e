//! Texts as SQL writes them, and back: names, constants, escapes.
//!
//! ```text
//!   quote_ident('Foo bar')                 "Foo bar"
//!   quote_literal('a\b''c')                E'a\\b''c'
//!   parse_ident('"SomeSchema".someTable')  {SomeSchema,sometable}
//!   unistr('d\0061t\+000061')              data
//! ```

use weft_format::{ArrayValue, Code, DataType, Error, Result, Value, ValueRef};

use super::super::builtin::Call;
use super::letters::text;
use crate::builtins::limits::check_bytes;
use crate::cast::cast;
use crate::text::shorten;
use crate::words::quoted;

pub(super) fn quote_ident(call: &Call<'_>) -> Result<Value> {
    check_bytes(call.text(0).len() as u64 * 2)?;
    text(quoted(call.text(0)))
}

/// A constant in quotes; with a backslash in it it is one with escapes.
pub(super) fn quoted_literal(of: &str) -> String {
    let mut out = String::with_capacity(of.len() + 3);
    if of.contains('\\') {
        out.push('E');
    }
    out.push('\'');
    for c in of.chars() {
        if matches!(c, '\'' | '\\') {
            out.push(c);
        }
        out.push(c);
    }
    out.push('\'');
    out
}

/// Of the value as a cast to text writes it, which is `true` for a boolean.
pub(super) fn quote_literal(call: &Call<'_>) -> Result<Value> {
    let Value::Text(shown) = cast(call.args[0].clone(), call.types[0], DataType::Text, call.local)? else {
        return Ok(Value::Null);
    };
    check_bytes(shown.len() as u64 * 2)?;
    text(quoted_literal(&shown))
}

pub(super) fn quote_nullable(call: &Call<'_>) -> Result<Value> {
    if call.is_null(0) { text("NULL") } else { quote_literal(call) }
}

fn bad_escape() -> Error {
    Error::new(Code::SyntaxError, "invalid Unicode escape")
        .hint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")
}

/// The number of an escape behind its backslash, and what is left then.
fn escape(rest: &str) -> Result<(u32, &str)> {
    let (skip, digits) = match rest.as_bytes().first() {
        Some(b'+') => (1, 6),
        Some(b'u') => (1, 4),
        Some(b'U') => (1, 8),
        _ => (0, 4),
    };
    let number = rest.get(skip..skip + digits).filter(|word| word.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let number = number.ok_or_else(bad_escape)?;
    Ok((u32::from_str_radix(number, 16).map_err(|_| bad_escape())?, &rest[skip + digits..]))
}

pub(super) fn unistr(call: &Call<'_>) -> Result<Value> {
    let bad_pair = || Error::new(Code::SyntaxError, "invalid Unicode surrogate pair");
    let (mut rest, mut out, mut first) = (call.text(0), String::new(), None);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c != '\\' || rest.starts_with('\\') {
            if first.is_some() {
                return Err(bad_pair());
            }
            out.push(c);
            rest = if c == '\\' { &rest[1..] } else { rest };
            continue;
        }
        let number;
        (number, rest) = escape(rest)?;
        match (first.take(), number) {
            (None, 0xD800..=0xDBFF) => first = Some(number),
            (Some(high), 0xDC00..=0xDFFF) => {
                let number = 0x10000 + ((high & 0x3FF) << 10) + (number & 0x3FF);
                out.push(char::from_u32(number).ok_or_else(bad_pair)?);
            }
            (Some(_), _) | (None, 0xDC00..=0xDFFF) => return Err(bad_pair()),
            (None, number) => {
                let found = char::from_u32(number).filter(|found| *found != '\0');
                let message = || format!("invalid Unicode code point: {number:04X}");
                out.push(found.ok_or_else(|| Error::new(Code::InvalidParameterValue, message()))?);
            }
        }
    }
    if first.is_some() { Err(bad_pair()) } else { text(out) }
}

/// `parse_ident(text [, strict])`: the parts of a qualified name.
pub(super) fn parse_ident(call: &Call<'_>) -> Result<Value> {
    let is_strict = call.count() < 2 || call.bool(1);
    let parts = parts(call.text(0), is_strict)?;
    let values = parts.iter().map(|part| ValueRef::Text(part));
    Ok(Value::Array(ArrayValue::new(DataType::Text, values)))
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

fn parts(of: &str, is_strict: bool) -> Result<Vec<String>> {
    let bad = || {
        let message = format!("string is not a valid identifier: \"{}\"", shorten(of));
        Error::new(Code::InvalidParameterValue, message)
    };
    let (mut rest, mut found, mut behind_dot) = (of.trim_start_matches(is_blank), Vec::new(), false);
    loop {
        if let Some(inside) = rest.strip_prefix('"') {
            let (name, left) = quoted_part(inside).ok_or_else(|| bad().detail("String has unclosed double quotes."))?;
            if name.is_empty() {
                return Err(bad().detail("Quoted identifier must not be empty."));
            }
            found.push(name);
            rest = left;
        } else {
            let is_first = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
            let end = rest.find(|c: char| !is_first(c) && !c.is_ascii_digit() && c != '$').unwrap_or(rest.len());
            if !rest.starts_with(is_first) {
                return Err(match rest.chars().next() {
                    Some('.') => bad().detail("No valid identifier before \".\"."),
                    _ if behind_dot => bad().detail("No valid identifier after \".\"."),
                    _ => bad(),
                });
            }
            found.push(rest[..end].to_ascii_lowercase());
            rest = &rest[end..];
        }
        rest = rest.trim_start_matches(is_blank);
        match rest.strip_prefix('.') {
            Some(left) => (rest, behind_dot) = (left.trim_start_matches(is_blank), true),
            None if rest.is_empty() || !is_strict => return Ok(found),
            None => return Err(bad()),
        }
    }
}

/// A name up to its closing quote, and what is behind that.
fn quoted_part(inside: &str) -> Option<(String, &str)> {
    let (mut name, mut rest) = (String::new(), inside);
    loop {
        let (piece, left) = rest.split_once('"')?;
        name.push_str(piece);
        match left.strip_prefix('"') {
            Some(left) => {
                name.push('"');
                rest = left;
            }
            None => return Some((name, left)),
        }
    }
}
