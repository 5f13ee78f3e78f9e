//! Arguments that count characters, matches and groups.

use weft_format::{Code, Error, Result};

use crate::builtins::builtin::Call;

/// An integer argument that is at least so much; what it is if it is not given.
pub(super) fn number(call: &Call<'_>, at: usize, name: &str, least: i64, else_is: i64) -> Result<i64> {
    if at >= call.count() {
        return Ok(else_is);
    }
    let value = call.int(at);
    if value >= least { Ok(value) } else { Err(bad_value(name, value)) }
}

/// An error of an argument that is too small.
pub(super) fn bad_value(name: &str, value: i64) -> Error {
    Error::new(Code::InvalidParameterValue, format!("invalid value for parameter \"{name}\": {value}"))
}

/// The place of a character by its number from 1 on; the end of the text is one more place.
pub(super) fn place(text: &str, number: i64) -> Option<usize> {
    let before = usize::try_from(number - 1).ok()?;
    if text.is_ascii() {
        return (before <= text.len()).then_some(before);
    }
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(before)
}
