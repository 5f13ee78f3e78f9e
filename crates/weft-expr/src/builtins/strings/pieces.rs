//! Texts in pieces: trimmed, split, put together.
//!
//! ```text
//!   ltrim('zzytest', 'xyz')                       test
//!   split_part('abc~@~def~@~ghi', '~@~', -1)      ghi
//!   string_to_table('xx~^~yy~^~zz', '~^~', 'yy')  three rows: xx, NULL, zz
//!   concat_ws(',', 'abcde', 2, NULL, 22)          abcde,2,22
//! ```

use weft_format::{ArrayValue, Code, DataType, Error, Result, Value, ValueRef};

use super::super::builtin::Call;
use super::letters::text;
use crate::builtins::limits::{check_elements, check_pieces};

/// The characters that are trimmed; with many of them it is searched in their order.
fn trimmed(call: &Call<'_>) -> impl Fn(char) -> bool {
    let mut set: Vec<char> = if call.count() > 1 { call.text(1).chars().collect() } else { vec![' '] };
    set.sort_unstable();
    move |c| set.binary_search(&c).is_ok()
}

pub(super) fn btrim(call: &Call<'_>) -> Result<Value> {
    text(call.text(0).trim_matches(trimmed(call)))
}

pub(super) fn ltrim(call: &Call<'_>) -> Result<Value> {
    text(call.text(0).trim_start_matches(trimmed(call)))
}

pub(super) fn rtrim(call: &Call<'_>) -> Result<Value> {
    text(call.text(0).trim_end_matches(trimmed(call)))
}

pub(super) fn split_part(call: &Call<'_>) -> Result<Value> {
    let (of, separator, field) = (call.text(0), call.text(1), call.int(2));
    if field == 0 {
        return Err(Error::new(Code::InvalidParameterValue, "field position must not be zero"));
    }
    let at = usize::try_from(field.unsigned_abs() - 1).unwrap_or(usize::MAX);
    if separator.is_empty() {
        return text(if at == 0 { of } else { "" });
    }
    if field > 0 {
        return text(of.split(separator).nth(at).unwrap_or(""));
    }
    // From the end, but where separators overlap they are found from the start.
    let count = of.split(separator).count();
    text(count.checked_sub(at + 1).and_then(|at| of.split(separator).nth(at)).unwrap_or(""))
}

/// `string_to_table(text, separator [, null text])`: a row for each piece; without a separator for each character.
pub(super) fn string_to_table(call: &Call<'_>) -> Result<Value> {
    let rows = |pieces: Vec<&str>| {
        let null = (call.count() > 2 && !call.is_null(2)).then(|| call.text(2));
        let values = pieces.iter().map(|piece| match null {
            Some(null) if null == *piece => ValueRef::Null,
            _ => ValueRef::Text(piece),
        });
        Ok(Value::Array(ArrayValue::new(DataType::Text, values)))
    };
    if call.is_null(0) || call.text(0).is_empty() {
        return rows(Vec::new());
    }
    let of = call.text(0);
    if call.is_null(1) {
        check_elements(of.chars().count())?;
        return rows(of.char_indices().map(|(at, c)| &of[at..at + c.len_utf8()]).collect());
    }
    match call.text(1) {
        "" => rows(vec![of]),
        separator => {
            check_elements(of.matches(separator).count())?;
            rows(of.split(separator).collect())
        }
    }
}

/// The arguments from a place on that are not NULL, as texts.
fn shown(call: &Call<'_>, from: usize) -> Vec<String> {
    (from..call.count()).filter(|at| !call.is_null(*at)).map(|at| call.shown(at)).collect()
}

pub(super) fn concat(call: &Call<'_>) -> Result<Value> {
    let pieces = shown(call, 0);
    check_pieces(pieces.iter().map(String::len))?;
    text(pieces.concat())
}

pub(super) fn concat_ws(call: &Call<'_>) -> Result<Value> {
    if call.is_null(0) {
        return Ok(Value::Null);
    }
    let pieces = shown(call, 1);
    check_pieces(pieces.iter().map(|piece| piece.len() + call.text(0).len()))?;
    text(pieces.join(call.text(0)))
}
