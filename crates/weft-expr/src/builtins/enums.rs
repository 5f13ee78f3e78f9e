//! Functions of enums (PostgreSQL's documentation, 9.10). They look at the type of an argument, which may be NULL.
//!
//! ```text
//!   mood: sad, ok, happy        enum_first(NULL::mood) sad        enum_range('ok', NULL::mood) {ok,happy}
//! ```

use weft_format::enums::{self, Labels};
use weft_format::{ArrayValue, Code, DataType, Error, Result, Value, ValueRef};

use super::builtin::{Arg, Builtin, Call, builtin};

pub(super) static ROWS: &[Builtin] = &[
    builtin(3528, "enum_first", &[Arg::AnyEnum], DataType::Text, first).lenient().stable().giving(same),
    builtin(3529, "enum_last", &[Arg::AnyEnum], DataType::Text, last).lenient().stable().giving(same),
    builtin(3530, "enum_range", &[Arg::AnyEnum, Arg::AnyEnum], DataType::Text, range).lenient().stable().giving(array),
    builtin(3531, "enum_range", &[Arg::AnyEnum], DataType::Text, all).lenient().stable().giving(array),
];

fn same(args: &[DataType]) -> DataType {
    args[0]
}

fn array(args: &[DataType]) -> DataType {
    args[0].array().unwrap_or(DataType::Text)
}

fn labels(call: &Call<'_>) -> Result<std::sync::Arc<Labels>> {
    let known = match call.types[0] {
        DataType::Enum(id) => enums::known(id),
        _ => None,
    };
    known.ok_or_else(|| Error::new(Code::UndefinedObject, "the labels of the enum are not known"))
}

fn value(code: Option<i64>) -> Result<Value> {
    Ok(code.map_or(Value::Null, Value::Int))
}

fn first(call: &Call<'_>) -> Result<Value> {
    value(labels(call)?.iter().map(|(code, _)| code).next())
}

fn last(call: &Call<'_>) -> Result<Value> {
    value(labels(call)?.iter().map(|(code, _)| code).last())
}

fn all(call: &Call<'_>) -> Result<Value> {
    between(call, i64::MIN, i64::MAX)
}

/// A bound that is NULL is none.
fn range(call: &Call<'_>) -> Result<Value> {
    let bound = |at: usize, none: i64| match &call.args[at] {
        Value::Int(code) => *code,
        _ => none,
    };
    between(call, bound(0, i64::MIN), bound(1, i64::MAX))
}

fn between(call: &Call<'_>, from: i64, to: i64) -> Result<Value> {
    let labels = labels(call)?;
    let codes = labels.iter().map(|(code, _)| code).filter(|code| (from..=to).contains(code));
    let codes: Vec<ValueRef<'_>> = codes.map(ValueRef::Int).collect();
    Ok(Value::Array(ArrayValue::new(call.types[0], codes)))
}
