//! `format(pattern, values...)`: values in the places of a pattern.
//!
//! ```text
//!   format('Hello %s, %1$s', 'World')                  Hello World, World
//!   format('INSERT INTO %I VALUES(%L)', 'Foo', 'b''c') INSERT INTO "Foo" VALUES('b''c')
//!   format('|%-10s|%*s|', 'foo', 5, 'bar')             |foo       |  bar|
//! ```
//!
//! A place is `%[n$][-][width | * | *n$](s | I | L)`; `%%` is a percent sign. A place without `n$` takes the value
//! behind the one that was taken last.

use weft_format::{Code, DataType, Error, Result, Value};

use super::super::builtin::Call;
use super::letters::text;
use super::quoting::quoted_literal;
use crate::builtins::limits::check_bytes;
use crate::text::parse_integer;
use crate::words::quoted;

/// How wide a place is.
#[derive(Clone, Copy)]
enum Width {
    Of(i64),
    /// What a value says; without a number the next one.
    Value(Option<usize>),
}

/// A place in the pattern.
struct Place {
    value: Option<usize>,
    is_left: bool,
    width: Width,
    kind: char,
}

pub(super) fn format(call: &Call<'_>) -> Result<Value> {
    if call.is_null(0) {
        return Ok(Value::Null);
    }
    let (mut rest, mut out, mut next) = (call.text(0), String::new(), 1);
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(left) = rest.strip_prefix('%') {
            out.push('%');
            rest = left;
            continue;
        }
        let place;
        (place, rest) = parse_place(rest)?;
        let width = match place.width {
            Width::Of(width) => width,
            Width::Value(at) => width_of(call, taken(call, at, &mut next)?)?,
        };
        let value = taken(call, place.value, &mut next)?;
        let shown = converted(call, value, place.kind)?;
        put(&mut out, &shown, width, place.is_left)?;
    }
    out.push_str(rest);
    text(out)
}

/// The place of a value among the arguments: the one with a number, else the next.
fn taken(call: &Call<'_>, number: Option<usize>, next: &mut usize) -> Result<usize> {
    let at = number.unwrap_or(*next);
    if at >= call.count() {
        return Err(wrong("too few arguments for format()"));
    }
    *next = at + 1;
    Ok(at)
}

fn width_of(call: &Call<'_>, at: usize) -> Result<i64> {
    match (&call.args[at], call.types[at]) {
        (Value::Null, _) => Ok(0),
        (Value::Int(width), DataType::SmallInt | DataType::Integer) => Ok(*width),
        _ => parse_integer(&call.shown(at), DataType::Integer),
    }
}

fn converted(call: &Call<'_>, at: usize, kind: char) -> Result<String> {
    Ok(match (call.is_null(at), kind) {
        (false, 's') => call.shown(at),
        (false, 'I') => quoted(&call.shown(at)).into_owned(),
        (false, _) => quoted_literal(&call.shown(at)),
        (true, 's') => String::new(),
        (true, 'L') => "NULL".to_owned(),
        (true, _) => return Err(null_name()),
    })
}

fn null_name() -> Error {
    Error::new(Code::NullNotAllowed, "null values cannot be formatted as an SQL identifier")
}

/// Appends a value at the right of its place, or at the left.
fn put(out: &mut String, shown: &str, width: i64, is_left: bool) -> Result<()> {
    if width <= i64::from(i32::MIN) {
        return Err(out_of_range());
    }
    let missing = (width.unsigned_abs() as usize).saturating_sub(shown.chars().count());
    check_bytes((out.len() + shown.len()) as u64 + missing as u64)?;
    let blanks = std::iter::repeat_n(' ', missing);
    if is_left || width < 0 {
        out.push_str(shown);
        out.extend(blanks);
    } else {
        out.extend(blanks);
        out.push_str(shown);
    }
    Ok(())
}

const PERCENT: &str = "For a single \"%\" use \"%%\".";

fn wrong(what: impl Into<String>) -> Error {
    Error::new(Code::InvalidParameterValue, what)
}

fn out_of_range() -> Error {
    Error::new(Code::NumericOutOfRange, "number is out of range")
}

fn unterminated() -> Error {
    wrong("unterminated format() type specifier").hint(PERCENT)
}

/// Reads a place behind its percent sign, and gives what is left.
fn parse_place(pattern: &str) -> Result<(Place, &str)> {
    let mut place = Place { value: None, is_left: false, width: Width::Of(0), kind: 's' };
    let (number, mut rest) = digits(pattern)?;
    let mut has_width = false;
    if let Some(number) = number {
        match rest.strip_prefix('$') {
            Some(left) => (place.value, rest) = (Some(counted(number)?), some(left)?),
            None => (place.width, has_width) = (Width::Of(number), true),
        }
    }
    if !has_width {
        while let Some(left) = rest.strip_prefix('-') {
            (place.is_left, rest) = (true, some(left)?);
        }
        (place.width, rest) = parse_width(rest)?;
    }
    let kind = rest.chars().next().ok_or_else(unterminated)?;
    if !matches!(kind, 's' | 'I' | 'L') {
        let message = format!("unrecognized format() type specifier \"{kind}\"");
        return Err(wrong(message).hint(PERCENT));
    }
    place.kind = kind;
    Ok((place, &rest[1..]))
}

fn parse_width(rest: &str) -> Result<(Width, &str)> {
    let Some(left) = rest.strip_prefix('*') else {
        let (number, rest) = digits(rest)?;
        return Ok((Width::Of(number.unwrap_or(0)), rest));
    };
    let (number, left) = digits(some(left)?)?;
    let Some(number) = number else { return Ok((Width::Value(None), left)) };
    let Some(left) = left.strip_prefix('$') else {
        return Err(wrong("width argument position must be ended by \"$\""));
    };
    Ok((Width::Value(Some(counted(number)?)), some(left)?))
}

/// The place of a value by its number, which counts from 1.
fn counted(number: i64) -> Result<usize> {
    if number == 0 {
        return Err(wrong("format specifies argument 0, but arguments are numbered from 1"));
    }
    usize::try_from(number).map_err(|_| out_of_range())
}

fn some(rest: &str) -> Result<&str> {
    if rest.is_empty() { Err(unterminated()) } else { Ok(rest) }
}

/// A number, if there is one, and what is behind it, which is not the end.
fn digits(rest: &str) -> Result<(Option<i64>, &str)> {
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    if end == 0 {
        return Ok((None, some(rest)?));
    }
    let number: i32 = rest[..end].parse().map_err(|_| out_of_range())?;
    Ok((Some(number.into()), some(&rest[end..])?))
}
