//! Characters of texts: their numbers, their case, and what replaces them.
//!
//! ```text
//!   initcap('hi THOMAS')              Hi Thomas
//!   translate('12345', '143', 'ax')   a2x5            1 becomes a, 4 becomes x, 3 has nothing to become
//!   overlay('Txxxxas', 'hom', 2, 4)   Thomas
//! ```

use std::collections::HashMap;

use weft_format::{Code, Error, Result, Value};

use super::super::builtin::Call;
use crate::arithmetic::out_of_range;
use crate::builtins::limits::{check_bytes, check_pieces};

pub(super) fn text(text: impl Into<Box<str>>) -> Result<Value> {
    Ok(Value::Text(text.into()))
}

pub(super) fn ascii(call: &Call<'_>) -> Result<Value> {
    Ok(Value::Int(call.text(0).chars().next().map_or(0, |first| i64::from(u32::from(first)))))
}

pub(super) fn chr(call: &Call<'_>) -> Result<Value> {
    let code = call.int(0);
    if code == 0 {
        return Err(Error::new(Code::ProgramLimit, "null character not permitted"));
    }
    let Ok(code) = u32::try_from(code) else {
        return Err(Error::new(Code::InvalidParameterValue, "character number must be positive"));
    };
    match char::from_u32(code) {
        Some(found) => text(String::from(found)),
        None => {
            let what = if code > u32::from(char::MAX) { "too large" } else { "not valid" };
            let message = format!("requested character {what} for encoding: {code}");
            Err(Error::new(Code::ProgramLimit, message))
        }
    }
}

pub(super) fn bit_length(call: &Call<'_>) -> Result<Value> {
    let bytes = match &call.args[0] {
        Value::Bytes(bytes) => bytes.len(),
        _ => call.text(0).len(),
    };
    let bits = i32::try_from(bytes as u64 * 8).map_err(|_| out_of_range(call.result))?;
    Ok(Value::Int(bits.into()))
}

pub(super) fn octet_length(call: &Call<'_>) -> Result<Value> {
    Ok(Value::Int(call.text(0).len() as i64))
}

/// One letter for one letter, as C has it: `ß` has no capital of its own.
fn cased(c: char, mut to: impl Iterator<Item = char>) -> char {
    match (to.next(), to.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

pub(super) fn initcap(call: &Call<'_>) -> Result<Value> {
    let mut in_word = false;
    let of = call.text(0);
    let mut out = String::with_capacity(of.len());
    for c in of.chars() {
        out.push(match (c.is_ascii(), in_word) {
            (true, true) => c.to_ascii_lowercase(),
            (true, false) => c.to_ascii_uppercase(),
            (false, true) => cased(c, c.to_lowercase()),
            (false, false) => cased(c, c.to_uppercase()),
        });
        in_word = c.is_alphanumeric();
    }
    text(out)
}

/// The place in bytes behind so many characters from the start, or before so many from the end.
fn place(of: &str, characters: i64) -> usize {
    let count = usize::try_from(characters.unsigned_abs()).unwrap_or(usize::MAX);
    if of.is_ascii() {
        return if characters >= 0 { count.min(of.len()) } else { of.len().saturating_sub(count) };
    }
    if characters >= 0 {
        return of.char_indices().nth(count).map_or(of.len(), |(at, _)| at);
    }
    of.char_indices().nth_back(count - 1).map_or(0, |(at, _)| at)
}

pub(super) fn left(call: &Call<'_>) -> Result<Value> {
    text(&call.text(0)[..place(call.text(0), call.int(1))])
}

pub(super) fn right(call: &Call<'_>) -> Result<Value> {
    let of = call.text(0);
    match call.int(1) {
        0 => text(""),
        count => text(&of[place(of, -count)..]),
    }
}

/// How often a text that fills another one is needed, whole and its first bytes, so that there are so many characters.
fn filling(fill: &str, missing: usize) -> (usize, usize) {
    if fill.is_empty() || missing == 0 {
        return (0, 0);
    }
    let letters = if fill.is_ascii() { fill.len() } else { fill.chars().count() };
    (missing / letters, place(fill, (missing % letters) as i64))
}

/// A text cut to a number of characters, or filled up to that at its start or its end.
fn padded(call: &Call<'_>, at_start: bool) -> Result<Value> {
    let wanted = usize::try_from(call.int(1).max(0)).unwrap_or(usize::MAX);
    let fill = if call.count() > 2 { call.text(2) } else { " " };
    let of = call.text(0);
    let letters = if of.is_ascii() { of.len() } else { of.chars().count() };
    if letters >= wanted {
        return if letters == wanted { Ok(call.args[0].clone()) } else { text(&of[..place(of, call.int(1).max(0))]) };
    }
    let (whole, partial) = filling(fill, wanted - letters);
    let bytes = (whole as u64).saturating_mul(fill.len() as u64).saturating_add((of.len() + partial) as u64);
    check_bytes(bytes)?;
    let mut out = String::with_capacity(bytes as usize);
    if !at_start {
        out.push_str(of);
    }
    for _ in 0..whole {
        out.push_str(fill);
    }
    out.push_str(&fill[..partial]);
    if at_start {
        out.push_str(of);
    }
    text(out)
}

pub(super) fn lpad(call: &Call<'_>) -> Result<Value> {
    padded(call, true)
}

pub(super) fn rpad(call: &Call<'_>) -> Result<Value> {
    padded(call, false)
}

pub(super) fn repeat(call: &Call<'_>) -> Result<Value> {
    let count = u64::try_from(call.int(1)).unwrap_or(0);
    let of = call.text(0);
    check_bytes(count.saturating_mul(of.len() as u64))?;
    text(if of.is_empty() { String::new() } else { of.repeat(count as usize) })
}

pub(super) fn replace(call: &Call<'_>) -> Result<Value> {
    let (of, from, to) = (call.text(0), call.text(1), call.text(2));
    if from.is_empty() {
        return text(of);
    }
    if to.len() > from.len() {
        let count = of.matches(from).count() as u64;
        check_bytes(count.saturating_mul((to.len() - from.len()) as u64).saturating_add(of.len() as u64))?;
    }
    text(of.replace(from, to))
}

pub(super) fn reverse(call: &Call<'_>) -> Result<Value> {
    let of = call.text(0);
    let mut out = String::with_capacity(of.len());
    out.extend(of.chars().rev());
    text(out)
}

pub(super) fn translate(call: &Call<'_>) -> Result<Value> {
    let (from, to) = (call.text(1), call.text(2));
    if from.is_ascii() && to.is_ascii() {
        return translate_ascii(call.text(0), from.as_bytes(), to.as_bytes());
    }
    let mut targets = to.chars();
    let mut map: HashMap<char, Option<char>> = HashMap::new();
    for from in from.chars() {
        let to = targets.next();
        map.entry(from).or_insert(to);
    }
    let out: String = call.text(0).chars().filter_map(|c| map.get(&c).copied().unwrap_or(Some(c))).collect();
    check_bytes(out.len() as u64)?;
    text(out)
}

/// Replaces ASCII only, by as many bytes at most: what else there is stays as it is.
fn translate_ascii(of: &str, from: &[u8], to: &[u8]) -> Result<Value> {
    let known = from.iter().fold(0_u128, |known, byte| known | 1 << byte);
    let mut out = String::with_capacity(of.len());
    let mut rest = of;
    while let Some(at) = rest.bytes().position(|byte| byte < 128 && known >> byte & 1 == 1) {
        out.push_str(&rest[..at]);
        let place = from.iter().position(|byte| *byte == rest.as_bytes()[at]);
        if let Some(byte) = place.and_then(|place| to.get(place)) {
            out.push(char::from(*byte));
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    text(out)
}

pub(super) fn starts_with(call: &Call<'_>) -> Result<Value> {
    Ok(Value::Bool(call.text(0).starts_with(call.text(1))))
}

/// `position(haystack, needle)`, `strpos(haystack, needle)`: in characters, counted from 1; 0 where there is none.
pub(super) fn position(call: &Call<'_>) -> Result<Value> {
    let of = call.text(0);
    Ok(Value::Int(of.find(call.text(1)).map_or(0, |at| of[..at].chars().count() as i64 + 1)))
}

/// The characters or bytes before an overlay, and those up to its end: of `overlay(..., start, count)`.
pub(super) fn overlaid(start: i64, count: i64) -> Result<(i64, i64)> {
    if start <= 0 {
        return Err(Error::new(Code::Substring, "negative substring length not allowed"));
    }
    let end = i32::try_from(start + count).map_err(|_| out_of_range(weft_format::DataType::Integer))?;
    Ok((start - 1, (i64::from(end) - 1).max(0)))
}

pub(super) fn overlay(call: &Call<'_>) -> Result<Value> {
    let (of, new) = (call.text(0), call.text(1));
    let count = if call.count() > 3 { call.int(3) } else { new.chars().count() as i64 };
    let (before, end) = overlaid(call.int(2), count)?;
    let (head, tail) = (&of[..place(of, before)], &of[place(of, end)..]);
    check_pieces([head, new, tail].map(str::len))?;
    text([head, new, tail].concat())
}

/// An integer's digits; negative ones as the processor has them.
pub(super) fn to_hex(call: &Call<'_>) -> Result<Value> {
    let value = call.int(0);
    match call.types[0] {
        weft_format::DataType::BigInt => text(format!("{value:x}")),
        _ => text(format!("{:x}", value as i32)),
    }
}
