//! JSON_EXISTS, JSON_VALUE and JSON_QUERY.
//!
//! ```text
//!   json_exists(document, path, vars, on error)
//!   json_value(document, path, vars, on empty and on error, type, on empty, on error)
//!   json_query(document, path, vars, on empty, on error, wrapper and quotes, type, on empty, on error)
//!   json_value(cell, on empty and on error, column, type, on empty, on error)     the same of json_query
//! ```
//!
//! 1. A cell is an array of the items that were found; an object in its place says that the path met an error, and NULL
//!    that there is no row to have one.
//! 2. The type is that of an argument, which is NULL. Whoever calls them by their quoted names may give anything.

use weft_format::{Code, DataType, Error, Result, Value};

use super::super::super::builtin::{Arg, Builtin, Call, builtin};
use super::super::super::jsons::read_as;
use super::super::kept::path_of;
use super::clauses::{Instead, is_answered};
use super::found::Asking;
use super::rows::{JSON_TABLE, json_table};
use crate::cast::{cast, is_castable, no_cast};
use crate::json;
use crate::style::Local;

/// Whether a path finds something.
pub const JSON_EXISTS: &str = "json_exists";
/// A scalar as a value of a type.
pub const JSON_VALUE: &str = "json_value";
/// Any item.
pub const JSON_QUERY: &str = "json_query";

const ANY: Arg = Arg::Any;
const JSONB: Arg = Arg::Of(DataType::Jsonb);
const PATH: Arg = Arg::Of(DataType::JsonPath);
const TEXT: Arg = Arg::Of(DataType::Text);
const TEXTS: Arg = Arg::Of(DataType::Array(weft_format::Element::Text));

const OF_DOCUMENT: &[Arg] = &[JSONB, PATH, JSONB, TEXT, ANY, ANY, ANY];
const OF_CELL: &[Arg] = &[JSONB, TEXT, TEXT, ANY, ANY, ANY];

/// The rows.
pub(in crate::builtins) static ROWS: &[Builtin] = &[
    builtin(90_120, JSON_EXISTS, &[JSONB, PATH, JSONB, TEXT], DataType::Boolean, json_exists).present(),
    builtin(90_121, JSON_VALUE, OF_DOCUMENT, DataType::Text, |call| of_document(call, scalar))
        .present()
        .lenient()
        .giving(|args| args[4]),
    builtin(90_122, JSON_QUERY, OF_DOCUMENT, DataType::Text, |call| of_document(call, any_item))
        .present()
        .lenient()
        .giving(|args| args[4]),
    builtin(90_123, JSON_VALUE, OF_CELL, DataType::Text, |call| of_cell(call, of_its_type))
        .stable()
        .lenient()
        .giving(|args| args[3]),
    builtin(90_124, JSON_QUERY, OF_CELL, DataType::Text, |call| of_cell(call, any_item))
        .stable()
        .lenient()
        .giving(|args| args[3]),
    builtin(90_125, JSON_TABLE, &[JSONB, TEXTS, JSONB], DataType::Array(weft_format::Element::Jsonb), json_table)
        .present(),
];

/// What a function asks for: the clauses and the type.
struct Asked<'a> {
    name: &'static str,
    letters: &'a [u8],
    /// Of JSON_TABLE.
    column: Option<&'a str>,
    to: DataType,
    /// The values behind DEFAULT, on empty and on error, and their types.
    defaults: [(&'a Value, DataType); 2],
    local: &'a Local,
}

/// What the items that were found are to the function; none: nothing was found.
type Taken = fn(&Asked<'_>, &[&str]) -> Result<Option<Value>>;

fn json_exists(call: &Call<'_>) -> Result<Value> {
    let on_error = Instead::of(call.text(3).chars().next().unwrap_or_default())?;
    let path = path_of(call.text(1))?;
    match asking(call).is_there(call.text(0), &path) {
        Ok(is_there) => Ok(Value::Bool(is_there)),
        Err(error) if is_answered(&error) => on_error.truth(error),
        Err(error) => Err(error),
    }
}

fn of_document(call: &Call<'_>, taken: Taken) -> Result<Value> {
    if (0..4).any(|at| call.is_null(at)) {
        return Ok(Value::Null);
    }
    let asked = Asked::of(call, call.text(3), None, 4);
    let path = path_of(call.text(1))?;
    match asking(call).items(call.text(0), &path) {
        Ok(items) => asked.answer(&items.iter().map(String::as_str).collect::<Vec<_>>(), taken),
        Err(error) => asked.on_error(error),
    }
}

fn asking<'a>(call: &'a Call<'_>) -> Asking<'a> {
    Asking { vars: call.text(2), local: call.local, work_left: None }
}

fn of_cell(call: &Call<'_>, taken: Taken) -> Result<Value> {
    if (0..3).any(|at| call.is_null(at)) || json::kind(call.text(0)) == "null" {
        return Ok(Value::Null);
    }
    let asked = Asked::of(call, call.text(1), Some(call.text(2)), 3);
    match json::items(call.text(0))? {
        Some(items) => asked.answer(&items, taken),
        None => asked.on_error(Error::new(Code::InvalidText, "a path of JSON_TABLE met an error")),
    }
}

impl<'a> Asked<'a> {
    fn of(call: &'a Call<'_>, letters: &'a str, column: Option<&'a str>, to: usize) -> Asked<'a> {
        let name = if letters.len() > 2 { "JSON_QUERY" } else { "JSON_VALUE" };
        let defaults = [to + 1, to + 2].map(|at| (&call.args[at], call.types[at]));
        Asked { name, letters: letters.as_bytes(), column, to: call.types[to], defaults, local: call.local }
    }

    fn answer(&self, items: &[&str], taken: Taken) -> Result<Value> {
        match taken(self, items) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => self.instead(0, self.named(Code::JsonNoItem, "no SQL/JSON item found for specified path")),
            Err(error) => self.on_error(error),
        }
    }

    fn on_error(&self, error: Error) -> Result<Value> {
        if is_answered(&error) { self.instead(1, error) } else { Err(error) }
    }

    /// What the clause of a place says.
    fn instead(&self, place: usize, error: Error) -> Result<Value> {
        let letter = self.letters.get(place).copied().unwrap_or_default();
        match Instead::of(char::from(letter))? {
            Instead::Null => Ok(Value::Null),
            Instead::Default => {
                let (value, of) = self.defaults[place];
                if of != self.to && !is_castable(of, self.to) {
                    return Err(no_cast(of, self.to));
                }
                cast(value.clone(), of, self.to, self.local)
            }
            Instead::EmptyArray | Instead::EmptyObject if self.letters.len() < 4 && !has_parts(self.to) => {
                let message = "EMPTY ARRAY and EMPTY OBJECT are for json, jsonb and arrays";
                Err(Error::new(Code::SyntaxError, message).hint("write NULL, ERROR or DEFAULT"))
            }
            Instead::EmptyArray => self.item("[]"),
            Instead::EmptyObject => self.item("{}"),
            _ => Err(error),
        }
    }

    /// An error, with the column that it is of.
    fn named(&self, code: Code, message: &str) -> Error {
        match self.column {
            Some(column) => Error::new(code, format!("{message} of column \"{column}\"")),
            None => Error::new(code, message),
        }
    }

    /// An error of items that the function does not take.
    fn unfit(&self, code: Code, what: &str) -> Error {
        match self.column {
            Some(column) => {
                Error::new(code, format!("JSON path expression for column \"{column}\" must return {what}"))
            }
            None => Error::new(code, format!("JSON path expression in {} must return {what}", self.name)),
        }
    }

    fn omits_quotes(&self) -> bool {
        self.letters.get(3) == Some(&b'o')
    }

    /// An item as a value of the type.
    fn item(&self, item: &str) -> Result<Value> {
        let is_string = json::kind(item) == "string";
        let plain = if self.omits_quotes() && is_string { json::plain_text(item)? } else { None };
        let is_text = matches!(self.to, DataType::Text | DataType::Varchar(_) | DataType::Char(_) | DataType::Bytea);
        match (plain, self.to) {
            (Some(plain), to) => cast(Value::Text(plain.into()), DataType::Text, to, self.local),
            (None, DataType::Json | DataType::Jsonb) => Ok(Value::Text(item.into())),
            (None, to) if is_text => cast(Value::Text(item.into()), DataType::Text, to, self.local),
            (None, to) => read_as(item, to, self.column.unwrap_or_default(), self.local),
        }
    }
}

/// JSON_VALUE: the one scalar that was found; JSON's null is NULL.
fn scalar(asked: &Asked<'_>, items: &[&str]) -> Result<Option<Value>> {
    const WHAT: &str = "single scalar item";
    let item = match items {
        [] => return Ok(None),
        [item] => *item,
        _ => return Err(asked.unfit(Code::JsonSeveralItems, WHAT)),
    };
    let text = match json::kind(item) {
        "array" | "object" => return Err(asked.unfit(Code::JsonScalarRequired, WHAT)),
        "null" => return Ok(Some(Value::Null)),
        _ if matches!(asked.to, DataType::Json | DataType::Jsonb) => return Ok(Some(Value::Text(item.into()))),
        "boolean" => item[..1].to_owned(),
        _ => json::plain_text(item)?.unwrap_or_default(),
    };
    cast(Value::Text(text.into()), DataType::Text, asked.to, asked.local).map(Some)
}

/// A column of JSON_TABLE of which nothing is said: JSON_QUERY for the types that have arrays and objects.
fn of_its_type(asked: &Asked<'_>, items: &[&str]) -> Result<Option<Value>> {
    if has_parts(asked.to) { any_item(asked, items) } else { scalar(asked, items) }
}

fn has_parts(of: DataType) -> bool {
    matches!(of, DataType::Json | DataType::Jsonb | DataType::Array(_))
}

/// JSON_QUERY: the one item that was found, or all of them in an array.
fn any_item(asked: &Asked<'_>, items: &[&str]) -> Result<Option<Value>> {
    let wraps = match asked.letters.get(2) {
        _ if items.is_empty() => return Ok(None),
        Some(b'u') => true,
        Some(b'c') => items.len() > 1,
        _ => false,
    };
    match items {
        [item] if !wraps => asked.item(item),
        _ if wraps => asked.item(&json::array_text(items.iter().copied())),
        _ => {
            let error = asked.unfit(Code::JsonSeveralItems, "single item when no wrapper is requested");
            Err(error.hint("Use the WITH WRAPPER clause to wrap SQL/JSON items into an array."))
        }
    }
    .map(Some)
}
