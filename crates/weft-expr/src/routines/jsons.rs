//! Routines of json and jsonb.

use weft_format::{ArrayValue, Code, DataType, Error, Result, Value, ValueRef};

use super::routine::{Routine, Signature};
use crate::json;
use crate::style::Style;
use crate::text::print_as;

pub(super) fn call(signature: &Signature, args: &[Value], style: &Style) -> Result<Value> {
    let (routine, types, result) = (signature.routine, signature.args.as_slice(), signature.result);
    use Routine as R;
    let text = |value: Option<&str>| value.map_or(Value::Null, |value| Value::Text(value.into()));
    let owned = |value: String| Value::Text(value.into());
    Ok(match (routine, args) {
        (R::JsonGet, [Value::Text(value), step]) => text(get(value, step, types[0])?),
        (R::JsonGetText, [Value::Text(value), step]) => plain(get(value, step, types[0])?)?,
        (R::JsonPath, [Value::Text(value), Value::Array(path)]) => text(json::get_path(value, &steps(path))?),
        (R::JsonPathText, [Value::Text(value), Value::Array(path)]) => plain(json::get_path(value, &steps(path))?)?,
        (R::JsonContains, [Value::Text(a), Value::Text(b)]) => Value::Bool(json::contains(a, b)?),
        (R::JsonContained, [Value::Text(a), Value::Text(b)]) => Value::Bool(json::contains(b, a)?),
        (R::JsonHasKey, [Value::Text(value), Value::Text(key)]) => Value::Bool(json::has_key(value, key)?),
        (R::JsonHasAny | R::JsonHasAll, [Value::Text(value), Value::Array(keys)]) => {
            let mut found = steps(keys).into_iter().flatten().map(|key| json::has_key(value, &key));
            let is_any = routine == R::JsonHasAny;
            let decided = found
                .try_fold(!is_any, |so_far, has| has.map(|has| if is_any { so_far || has } else { so_far && has }));
            Value::Bool(decided?)
        }
        (R::JsonConcat, [Value::Text(a), Value::Text(b)]) => owned(json::concat(a, b)?),
        (R::JsonDelete, [Value::Text(value), Value::Text(key)]) => owned(json::delete_key(value, key)?),
        (R::JsonDelete, [Value::Text(value), Value::Int(index)]) => owned(json::delete_index(value, *index)?),
        (R::JsonDelete, [Value::Text(value), Value::Array(keys)]) => {
            let mut left = value.to_string();
            for key in steps(keys).into_iter().flatten() {
                left = json::delete_key(&left, &key)?;
            }
            owned(left)
        }
        (R::JsonDeletePath, [Value::Text(value), Value::Array(path)]) => {
            owned(json::delete_path(value, &whole_path(path)?)?)
        }
        (R::JsonTypeof, [Value::Text(value)]) => text(Some(json::kind(value))),
        (R::JsonArrayLength, [Value::Text(value)]) => Value::Int(json::array_length(value)?),
        (R::JsonBuildObject, args) => owned(build_object(args, types, result, style)?),
        (R::JsonBuildArray, args) => {
            let parts =
                args.iter().zip(types).map(|(v, t)| within(v, *t, result, style)).collect::<Result<Vec<_>>>()?;
            owned(json::array_text(parts.iter().map(String::as_str)))
        }
        (R::ToJson, [value]) => owned(within(value, types[0], result, style)?),
        (R::JsonKeys, [Value::Text(value)]) => {
            let keys = json::keys(value)?;
            Value::Array(ArrayValue::new(DataType::Text, keys.iter().map(|key| ValueRef::Text(key))))
        }
        (R::JsonElements | R::JsonElementsText, [Value::Text(value)]) => elements(routine, value, result)?,
        (R::JsonSet, [Value::Text(value), Value::Array(path), Value::Text(new), rest @ ..]) => {
            let create = !matches!(rest, [Value::Bool(false)]);
            owned(json::set_path(value, &whole_path(path)?, new, create)?)
        }
        (R::JsonPretty, [Value::Text(value)]) => owned(json::pretty(value)?),
        (R::JsonStripNulls, [Value::Text(value)]) => owned(json::strip_nulls(value)?),
        (routine, args) => unreachable!("{routine:?} was found for its types, not {args:?}"),
    })
}

/// A jsonb that is neither array nor object is an array of itself to an index; a json has no elements then.
fn get<'a>(value: &'a str, step: &Value, of: DataType) -> Result<Option<&'a str>> {
    let is_scalar = || !matches!(json::kind(value), "array" | "object");
    match step {
        Value::Int(index) if of == DataType::Jsonb && is_scalar() => Ok(matches!(index, 0 | -1).then_some(value)),
        Value::Text(key) => json::get_key(value, key),
        Value::Int(index) => json::get_index(value, *index),
        other => unreachable!("a step into json is a text or an integer, not {other:?}"),
    }
}

fn plain(found: Option<&str>) -> Result<Value> {
    Ok(match found {
        Some(found) => json::plain_text(found)?.map_or(Value::Null, |text| Value::Text(text.into())),
        None => Value::Null,
    })
}

fn steps(path: &ArrayValue) -> Vec<Option<String>> {
    let text = |value: Value| match value {
        Value::Text(text) => Some(text.into_string()),
        _ => None,
    };
    path.values(DataType::Text).into_iter().map(text).collect()
}

fn whole_path(path: &ArrayValue) -> Result<Vec<String>> {
    let null = || Error::new(Code::InvalidParameterValue, "path element is null");
    steps(path).into_iter().map(|step| step.ok_or_else(null)).collect()
}

/// A value as a json or a jsonb has it.
fn within(value: &Value, of: DataType, whole: DataType, style: &Style) -> Result<String> {
    let write = if whole == DataType::Json { json::json_text } else { json::value_text };
    write(value, of, style)
}

fn build_object(args: &[Value], types: &[DataType], result: DataType, style: &Style) -> Result<String> {
    if !args.len().is_multiple_of(2) {
        return Err(Error::new(Code::InvalidParameterValue, "argument list must have even number of elements")
            .hint("the arguments are alternating keys and values"));
    }
    let mut members = Vec::with_capacity(args.len() / 2);
    for (pair, types) in args.chunks(2).zip(types.chunks(2)) {
        if pair[0].is_null() {
            return Err(Error::new(Code::InvalidParameterValue, "argument of a json object's key must not be null"));
        }
        let key = match &pair[0] {
            Value::Bool(v) => v.to_string(),
            other => print_as(other.as_ref(), types[0], style),
        };
        members.push((key, within(&pair[1], types[1], result, style)?));
    }
    if result == DataType::Jsonb {
        return Ok(json::object_text(members));
    }
    let mut out = String::from("{");
    for (at, (key, value)) in members.iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        json::quote(key, &mut out);
        out.push_str(" : ");
        out.push_str(value);
    }
    out.push('}');
    Ok(out)
}

fn elements(routine: Routine, value: &str, result: DataType) -> Result<Value> {
    let Some(items) = json::items(value)? else {
        let what = if json::kind(value) == "object" { "an object" } else { "a scalar" };
        return Err(Error::new(Code::InvalidParameterValue, format!("cannot extract elements from {what}")));
    };
    let element = result.element().unwrap_or(DataType::Text);
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        values.push(if routine == Routine::JsonElements { Value::Text(item.into()) } else { plain(Some(item))? });
    }
    Ok(Value::Array(ArrayValue::new(element, values.iter().map(Value::as_ref))))
}
