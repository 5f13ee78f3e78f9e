//! The functions and their arguments.
//!
//! ```text
//!   regexp_instr('abcabc', 'b(c)', 1, 2, 0, '', 1)     6: of the second match from character 1 where group 1 begins
//! ```

use weft_format::{ArrayValue, Code, DataType, Error, Result, Value, ValueRef};

use super::compiled::{Pattern, Search};
use super::counted::{bad_value, number, place};
use super::options::Options;
use super::{replace, similar};
use crate::builtins::builtin::{Arg, Builtin, Call, builtin};
use crate::builtins::limits::check_elements;
use crate::like::{like, like_any_case};

const TEXT: Arg = Arg::Of(DataType::Text);
const INT: Arg = Arg::Of(DataType::Integer);
const BOOLEAN: DataType = DataType::Boolean;

/// `text[]`.
fn texts(_: &[DataType]) -> DataType {
    DataType::Text.array().expect("texts have arrays")
}

/// A function that gives a `text[]`.
const fn listing(
    oid: u32,
    name: &'static str,
    args: &'static [Arg],
    compute: fn(&Call<'_>) -> Result<Value>,
) -> Builtin {
    builtin(oid, name, args, DataType::Text, compute).giving(texts)
}

pub(in crate::builtins) static ROWS: &[Builtin] = &[
    builtin(1254, "textregexeq", &[TEXT, TEXT], BOOLEAN, |call| matches(call, false, true)),
    builtin(1256, "textregexne", &[TEXT, TEXT], BOOLEAN, |call| matches(call, false, false)),
    builtin(1238, "texticregexeq", &[TEXT, TEXT], BOOLEAN, |call| matches(call, true, true)),
    builtin(1239, "texticregexne", &[TEXT, TEXT], BOOLEAN, |call| matches(call, true, false)),
    builtin(850, "textlike", &[TEXT, TEXT], BOOLEAN, |call| is_like(call, false, true)),
    builtin(851, "textnlike", &[TEXT, TEXT], BOOLEAN, |call| is_like(call, false, false)),
    builtin(1569, "like", &[TEXT, TEXT], BOOLEAN, |call| is_like(call, false, true)),
    builtin(1570, "notlike", &[TEXT, TEXT], BOOLEAN, |call| is_like(call, false, false)),
    builtin(1633, "texticlike", &[TEXT, TEXT], BOOLEAN, |call| is_like(call, true, true)),
    builtin(1634, "texticnlike", &[TEXT, TEXT], BOOLEAN, |call| is_like(call, true, false)),
    builtin(1637, "like_escape", &[TEXT, TEXT], DataType::Text, similar::like_escape),
    builtin(1986, "similar_to_escape", &[TEXT, TEXT], DataType::Text, similar::similar_to_escape),
    builtin(1987, "similar_to_escape", &[TEXT], DataType::Text, similar::similar_to_escape),
    builtin(1623, "similar_escape", &[TEXT, TEXT], DataType::Text, similar::similar_escape).lenient(),
    builtin(2073, "substring", &[TEXT, TEXT], DataType::Text, substring),
    builtin(2074, "substring", &[TEXT, TEXT, TEXT], DataType::Text, substring_similar),
    builtin(6263, "regexp_like", &[TEXT, TEXT], BOOLEAN, regexp_like),
    builtin(6264, "regexp_like", &[TEXT, TEXT, TEXT], BOOLEAN, regexp_like),
    builtin(6254, "regexp_count", &[TEXT, TEXT], DataType::Integer, regexp_count),
    builtin(6255, "regexp_count", &[TEXT, TEXT, INT], DataType::Integer, regexp_count),
    builtin(6256, "regexp_count", &[TEXT, TEXT, INT, TEXT], DataType::Integer, regexp_count),
    builtin(6257, "regexp_instr", &[TEXT, TEXT], DataType::Integer, regexp_instr),
    builtin(6258, "regexp_instr", &[TEXT, TEXT, INT], DataType::Integer, regexp_instr),
    builtin(6259, "regexp_instr", &[TEXT, TEXT, INT, INT], DataType::Integer, regexp_instr),
    builtin(6260, "regexp_instr", &[TEXT, TEXT, INT, INT, INT], DataType::Integer, regexp_instr),
    builtin(6261, "regexp_instr", &[TEXT, TEXT, INT, INT, INT, TEXT], DataType::Integer, regexp_instr),
    builtin(6262, "regexp_instr", &[TEXT, TEXT, INT, INT, INT, TEXT, INT], DataType::Integer, regexp_instr),
    builtin(6265, "regexp_substr", &[TEXT, TEXT], DataType::Text, regexp_substr),
    builtin(6266, "regexp_substr", &[TEXT, TEXT, INT], DataType::Text, regexp_substr),
    builtin(6267, "regexp_substr", &[TEXT, TEXT, INT, INT], DataType::Text, regexp_substr),
    builtin(6268, "regexp_substr", &[TEXT, TEXT, INT, INT, TEXT], DataType::Text, regexp_substr),
    builtin(6269, "regexp_substr", &[TEXT, TEXT, INT, INT, TEXT, INT], DataType::Text, regexp_substr),
    listing(3396, "regexp_match", &[TEXT, TEXT], regexp_match),
    listing(3397, "regexp_match", &[TEXT, TEXT, TEXT], regexp_match),
    listing(2767, "regexp_split_to_array", &[TEXT, TEXT], |call| split(call, "regexp_split_to_array()")),
    listing(2768, "regexp_split_to_array", &[TEXT, TEXT, TEXT], |call| split(call, "regexp_split_to_array()")),
    listing(2765, "regexp_split_to_table", &[TEXT, TEXT], |call| split(call, "regexp_split_to_table()")).set(),
    listing(2766, "regexp_split_to_table", &[TEXT, TEXT, TEXT], |call| split(call, "regexp_split_to_table()")).set(),
    builtin(2284, "regexp_replace", &[TEXT, TEXT, TEXT], DataType::Text, replace::regexp_replace),
    builtin(2285, "regexp_replace", &[TEXT, TEXT, TEXT, TEXT], DataType::Text, replace::regexp_replace_with),
    builtin(6253, "regexp_replace", &[TEXT, TEXT, TEXT, INT], DataType::Text, replace::regexp_replace_from),
    builtin(6252, "regexp_replace", &[TEXT, TEXT, TEXT, INT, INT], DataType::Text, replace::regexp_replace_from),
    builtin(6251, "regexp_replace", &[TEXT, TEXT, TEXT, INT, INT, TEXT], DataType::Text, replace::regexp_replace_from),
];

fn matches(call: &Call<'_>, any_case: bool, wanted: bool) -> Result<Value> {
    Ok(Value::Bool(fits(call.text(0), call.text(1), any_case)? == wanted))
}

fn fits(text: &str, pattern: &str, any_case: bool) -> Result<bool> {
    Pattern::of(pattern, Options { any_case, ..Options::ADVANCED })?.search(text).is_match()
}

fn is_like(call: &Call<'_>, any_case: bool, wanted: bool) -> Result<Value> {
    Ok(Value::Bool(fits_like(call.text(0), call.text(1), any_case)? == wanted))
}

fn fits_like(text: &str, pattern: &str, any_case: bool) -> Result<bool> {
    let found = if any_case { like_any_case(text, pattern, Some('\\')) } else { like(text, pattern, Some('\\')) };
    found.ok_or_else(|| Error::new(Code::InvalidEscapeSequence, "LIKE pattern must not end with escape character"))
}

/// `weft_quantified(operator, whether any is enough, text, patterns)`: `text LIKE ANY (patterns)` and its kin.
pub(in crate::builtins) fn quantified(call: &Call<'_>) -> Result<Value> {
    if call.is_null(0) || call.is_null(1) {
        return Ok(Value::Null);
    }
    let (operator, any) = (call.text(0), call.bool(1));
    let Value::Array(patterns) = &call.args[3] else { return Ok(Value::Null) };
    let patterns = patterns.values(DataType::Text);
    if call.is_null(2) {
        return Ok(if patterns.is_empty() { Value::Bool(!any) } else { Value::Null });
    }
    let wanted = !operator.starts_with('!');
    let plain = operator.trim_start_matches('!');
    let any_case = plain.ends_with('*');
    let mut has_null = false;
    for pattern in &patterns {
        let Value::Text(pattern) = pattern else {
            has_null = true;
            continue;
        };
        let text = call.text(2);
        let found =
            if plain.starts_with("~~") { fits_like(text, pattern, any_case) } else { fits(text, pattern, any_case) };
        if (found? == wanted) == any {
            return Ok(Value::Bool(any));
        }
    }
    Ok(if has_null { Value::Null } else { Value::Bool(!any) })
}

/// The options of an argument, if there is one, for a function that has no use for `g`.
fn options(call: &Call<'_>, at: usize, function: &str) -> Result<Options> {
    if at >= call.count() {
        return Ok(Options::ADVANCED);
    }
    let (options, is_global) = Options::parse(call.text(at))?;
    if is_global {
        let message = format!("{function} does not support the \"global\" option");
        let error = Error::new(Code::InvalidParameterValue, message);
        return Err(match function {
            "regexp_match()" => error.hint("Use the regexp_matches function instead."),
            _ => error,
        });
    }
    Ok(options)
}

fn text_of(text: &str, (begin, end): (usize, usize)) -> Value {
    Value::Text(text[begin..end].into())
}

fn list<'a>(texts: impl IntoIterator<Item = Option<&'a str>>) -> Value {
    let values = texts.into_iter().map(|text| text.map_or(ValueRef::Null, ValueRef::Text));
    Value::Array(ArrayValue::new(DataType::Text, values))
}

fn substring(call: &Call<'_>) -> Result<Value> {
    first_part(call.text(0), call.text(1))
}

fn substring_similar(call: &Call<'_>) -> Result<Value> {
    first_part(call.text(0), &similar::translated(call.text(1), Some(call.text(2)))?)
}

/// The first group of the first match, or all of it if the pattern has no groups.
fn first_part(text: &str, pattern: &str) -> Result<Value> {
    let pattern = Pattern::of(pattern, Options::ADVANCED)?;
    let mut search = pattern.search(text);
    let Some(found) = search.next(0)? else { return Ok(Value::Null) };
    let part = if pattern.groups() == 0 { Some(found) } else { search.groups(found)?[0] };
    Ok(part.map_or(Value::Null, |part| text_of(text, part)))
}

fn regexp_like(call: &Call<'_>) -> Result<Value> {
    let options = options(call, 2, "regexp_like()")?;
    let pattern = Pattern::of(call.text(1), options)?;
    Ok(Value::Bool(pattern.search(call.text(0)).is_match()?))
}

fn regexp_count(call: &Call<'_>) -> Result<Value> {
    let start = number(call, 2, "start", 1, 1)?;
    let options = options(call, 3, "regexp_count()")?;
    let pattern = Pattern::of(call.text(1), options)?;
    let text = call.text(0);
    let mut search = pattern.search(text);
    let mut from = place(text, start);
    let mut count = 0;
    while let Some(at) = from {
        let Some(found) = search.next(at)? else { break };
        count += 1;
        from = search.behind(found);
    }
    Ok(Value::Int(count))
}

/// The match of a number from 1 on, from a place on.
fn nth(search: &mut Search<'_>, mut from: Option<usize>, number: i64) -> Result<Option<(usize, usize)>> {
    let mut left = number;
    while let Some(at) = from {
        let Some(found) = search.next(at)? else { break };
        left -= 1;
        if left == 0 {
            return Ok(Some(found));
        }
        from = search.behind(found);
    }
    Ok(None)
}

/// A match, or of it a group; a pattern without groups has one, which is all of it.
fn part(search: &mut Search<'_>, groups: usize, found: (usize, usize), group: i64) -> Result<Option<(usize, usize)>> {
    match usize::try_from(group) {
        Ok(0) => Ok(Some(found)),
        Ok(1) if groups == 0 => Ok(Some(found)),
        Ok(group) if group <= groups => Ok(search.groups(found)?[group - 1]),
        _ => Ok(None),
    }
}

fn regexp_instr(call: &Call<'_>) -> Result<Value> {
    let start = number(call, 2, "start", 1, 1)?;
    let n = number(call, 3, "n", 1, 1)?;
    let at_end = number(call, 4, "endoption", 0, 0)?;
    if at_end > 1 {
        return Err(bad_value("endoption", at_end));
    }
    let group = number(call, 6, "subexpr", 0, 0)?;
    let options = options(call, 5, "regexp_instr()")?;
    let pattern = Pattern::of(call.text(1), options)?;
    let text = call.text(0);
    let mut search = pattern.search(text);
    let Some(found) = nth(&mut search, place(text, start), n)? else { return Ok(Value::Int(0)) };
    let Some((begin, end)) = part(&mut search, pattern.groups(), found, group)? else { return Ok(Value::Int(0)) };
    let before = text[..if at_end == 1 { end } else { begin }].chars().count();
    Ok(Value::Int(before as i64 + 1))
}

fn regexp_substr(call: &Call<'_>) -> Result<Value> {
    let start = number(call, 2, "start", 1, 1)?;
    let n = number(call, 3, "n", 1, 1)?;
    let group = number(call, 5, "subexpr", 0, 0)?;
    let options = options(call, 4, "regexp_substr()")?;
    let pattern = Pattern::of(call.text(1), options)?;
    let text = call.text(0);
    let mut search = pattern.search(text);
    let Some(found) = nth(&mut search, place(text, start), n)? else { return Ok(Value::Null) };
    let part = part(&mut search, pattern.groups(), found, group)?;
    Ok(part.map_or(Value::Null, |part| text_of(text, part)))
}

fn regexp_match(call: &Call<'_>) -> Result<Value> {
    let options = options(call, 2, "regexp_match()")?;
    let pattern = Pattern::of(call.text(1), options)?;
    let text = call.text(0);
    let mut search = pattern.search(text);
    let Some(found) = search.next(0)? else { return Ok(Value::Null) };
    let parts = if pattern.groups() == 0 { vec![Some(found)] } else { search.groups(found)? };
    Ok(list(parts.into_iter().map(|part| part.map(|(begin, end)| &text[begin..end]))))
}

/// The texts between matches; empty matches at the ends and behind a match separate nothing.
fn split(call: &Call<'_>, function: &str) -> Result<Value> {
    let options = options(call, 2, function)?;
    let pattern = Pattern::of(call.text(1), options)?;
    let text = call.text(0);
    let mut search = pattern.search(text);
    let mut parts = Vec::new();
    let (mut begin, mut last, mut from) = (0, 0, Some(0));
    while let Some(at) = from {
        let Some(found) = search.next(at)? else { break };
        if found.0 < text.len() && found.1 > last {
            parts.push(Some(&text[begin..found.0]));
            begin = found.1;
        }
        check_elements(parts.len())?;
        last = found.1;
        from = search.behind(found);
    }
    parts.push(Some(&text[begin..]));
    Ok(list(parts))
}
