//! What a path of many steps leads to, what is left without some keys, and `jsonb_set` of NULL.

use weft_format::{ArrayValue, Code, DataType, Element, Error, Result, Value, ValueRef};

use super::super::builtin::Call;
use super::texts::text;
use crate::json;
use crate::routines::{Routine, Signature, call as call_routine};

const TEXTS: DataType = DataType::Array(Element::Text);

fn found<'a>(call: &'a Call<'_>) -> Result<Option<&'a str>> {
    let path: Vec<Option<String>> = call.args[1..].iter().cloned().map(text).collect();
    json::get_path(call.text(0), &path)
}

/// `json_extract_path(value, step, ...)`
pub(super) fn extract_path(call: &Call<'_>) -> Result<Value> {
    Ok(found(call)?.map_or(Value::Null, |found| Value::Text(found.into())))
}

/// `json_extract_path_text(value, step, ...)`
pub(super) fn extract_path_text(call: &Call<'_>) -> Result<Value> {
    let plain = found(call)?.map(json::plain_text).transpose()?.flatten();
    Ok(plain.map_or(Value::Null, |plain| Value::Text(plain.into())))
}

/// `jsonb_delete(value, key, key, ...)`: NULL is no key.
pub(super) fn delete_keys(call: &Call<'_>) -> Result<Value> {
    let keys = ArrayValue::new(DataType::Text, call.args[1..].iter().map(Value::as_ref));
    let signature = Signature::new(Routine::JsonDelete, [DataType::Jsonb, TEXTS], DataType::Jsonb);
    call_routine(&signature, &[call.args[0].clone(), Value::Array(keys)], call.local, call.random)
}

/// `jsonb_set_lax(value, path, new [, create [, what NULL means]])`
pub(super) fn jsonb_set_lax(call: &Call<'_>) -> Result<Value> {
    let is_null = |at: usize| at < call.count() && call.is_null(at);
    if is_null(0) || is_null(1) || is_null(3) {
        return Ok(Value::Null);
    }
    let treatment = match call.args.get(4) {
        None => "use_json_null",
        Some(Value::Text(treatment)) => &**treatment,
        Some(_) => return Err(unknown_treatment()),
    };
    let create = call.args.get(3).cloned().unwrap_or(Value::Bool(true));
    let set = |new: Value| {
        let types = [DataType::Jsonb, TEXTS, DataType::Jsonb, DataType::Boolean];
        let args = [call.args[0].clone(), call.args[1].clone(), new, create];
        call_routine(&Signature::new(Routine::JsonSet, types, DataType::Jsonb), &args, call.local, call.random)
    };
    if !call.is_null(2) {
        return set(call.args[2].clone());
    }
    match treatment {
        "use_json_null" => set(ValueRef::Text("null").to_value()),
        "return_target" => Ok(call.args[0].clone()),
        "delete_key" => {
            let signature = Signature::new(Routine::JsonDeletePath, [DataType::Jsonb, TEXTS], DataType::Jsonb);
            call_routine(&signature, &call.args[..2], call.local, call.random)
        }
        "raise_exception" => Err(Error::new(Code::NullNotAllowed, "JSON value must not be null")
            .detail("Exception was raised because null_value_treatment is \"raise_exception\".")
            .hint(
                "To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.",
            )),
        _ => Err(unknown_treatment()),
    }
}

fn unknown_treatment() -> Error {
    let message = "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \
                   \"raise_exception\"";
    Error::new(Code::InvalidParameterValue, message)
}
