//! What a JSON value has.

use weft_format::{Code, Error, Result};

use super::scan::{items, member, members, unquoted};

/// `object`, `array`, `string`, `number`, `boolean` or `null`.
pub fn kind(text: &str) -> &'static str {
    match text.trim_start().as_bytes().first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ => "number",
    }
}

/// `value -> 'key'`: of equal keys the last one.
pub fn get_key<'a>(text: &'a str, key: &str) -> Result<Option<&'a str>> {
    member(text, key)
}

/// `value -> n`: counted from 0, or from the end by negative numbers.
pub fn get_index(text: &str, index: i64) -> Result<Option<&str>> {
    let found = items(text)?.unwrap_or_default();
    let at = if index < 0 { index + found.len() as i64 } else { index };
    Ok(usize::try_from(at).ok().and_then(|at| found.get(at).copied()))
}

/// `value #> '{a,0}'`: NULL in the path finds nothing.
pub fn get_path<'a>(text: &'a str, path: &[Option<String>]) -> Result<Option<&'a str>> {
    let mut found = text;
    for step in path {
        let Some(step) = step else { return Ok(None) };
        let next = match kind(found) {
            "object" => get_key(found, step)?,
            "array" => match step.trim().parse::<i64>() {
                Ok(index) => get_index(found, index)?,
                Err(_) => None,
            },
            _ => None,
        };
        let Some(next) = next else { return Ok(None) };
        found = next;
    }
    Ok(Some(found))
}

/// What `->>` gives: a string without its quotes, nothing for null.
pub fn plain_text(text: &str) -> Result<Option<String>> {
    match kind(text) {
        "null" => Ok(None),
        "string" => unquoted(text).map(Some),
        _ => Ok(Some(text.trim().to_owned())),
    }
}

/// `value ? 'key'`
pub fn has_key(text: &str, key: &str) -> Result<bool> {
    Ok(match kind(text) {
        "object" => get_key(text, key)?.is_some(),
        "array" => {
            let found = items(text)?.unwrap_or_default();
            found.into_iter().any(|item| kind(item) == "string" && unquoted(item).is_ok_and(|item| item == key))
        }
        "string" => unquoted(text)? == key,
        _ => false,
    })
}

/// The keys of an object, in the order they have.
pub fn keys(text: &str) -> Result<Vec<String>> {
    match members(text)? {
        Some(members) => Ok(members.into_iter().map(|(key, _)| key).collect()),
        None => {
            let what = if kind(text) == "array" { "an array" } else { "a scalar" };
            Err(Error::new(Code::InvalidParameterValue, format!("cannot call jsonb_object_keys on {what}")))
        }
    }
}

/// How many elements an array has.
pub fn array_length(text: &str) -> Result<i64> {
    match items(text)? {
        Some(items) => Ok(items.len() as i64),
        None => {
            let what = if kind(text) == "object" { "a non-array" } else { "a scalar" };
            Err(Error::new(Code::InvalidParameterValue, format!("cannot get array length of {what}")))
        }
    }
}

/// `a @> b`, of canonical texts: all of b is somewhere in a. An array contains a scalar that is one of its elements.
pub fn contains(a: &str, b: &str) -> Result<bool> {
    match (kind(a), kind(b)) {
        ("array", "array" | "object") | ("object", _) => part_of(a, b),
        ("array", _) => {
            for item in items(a)?.unwrap_or_default() {
                if is_equal(item, b)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => is_equal(a, b),
    }
}

fn part_of(a: &str, b: &str) -> Result<bool> {
    match (kind(a), kind(b)) {
        ("object", "object") => {
            for (key, wanted) in members(b)?.unwrap_or_default() {
                match get_key(a, &key)? {
                    Some(found) if part_of(found, wanted)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        ("array", "array") => {
            let found = items(a)?.unwrap_or_default();
            for wanted in items(b)?.unwrap_or_default() {
                let mut any = false;
                for item in &found {
                    any = any || part_of(item, wanted)?;
                }
                if !any {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => is_equal(a, b),
    }
}

/// Whether two canonical texts are the same value: numbers may differ in zeros behind their point.
pub fn is_equal(a: &str, b: &str) -> Result<bool> {
    if a == b {
        return Ok(true);
    }
    Ok(match (kind(a), kind(b)) {
        ("number", "number") => plain_number(a) == plain_number(b),
        ("object", "object") => {
            let (left, right) = (members(a)?.unwrap_or_default(), members(b)?.unwrap_or_default());
            let mut equal = left.len() == right.len();
            for ((key, value), (other, other_value)) in left.iter().zip(&right) {
                equal = equal && key == other && is_equal(value, other_value)?;
            }
            equal
        }
        ("array", "array") => {
            let (left, right) = (items(a)?.unwrap_or_default(), items(b)?.unwrap_or_default());
            let mut equal = left.len() == right.len();
            for (value, other) in left.iter().zip(&right) {
                equal = equal && is_equal(value, other)?;
            }
            equal
        }
        _ => false,
    })
}

fn plain_number(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}
