//! Rows of COPY FROM from values of JSON.
//!
//! ```text
//!   COPY t (a, b, doc) FROM ... (FORMAT json)        {"b": "x", "doc": {"c": [1]}}     a by default, 'x', {"c": [1]}
//!   COPY t (doc) FROM ... (FORMAT json_document)     {"b": "x", "doc": {"c": [1]}}     the same as a document
//! ```
//!
//! 1. Members are columns: one that is missing has the column's default, null is NULL, one that is no column is an
//!    error. Of equal ones the last counts.
//! 2. Columns of json and jsonb take the member as it is, arrays an array of JSON or a text; all others what `->>`
//!    gives of the member, read as a field of the text form is.
//! 3. A document is any value of JSON; null is one, and not NULL.

use weft_expr::{Local, json};
use weft_format::{ArrayValue, Code, DataType, Error, Result, Value};

use super::columns::ColumnBuilder;
use super::from::Input;
use crate::context::StatementContext;
use crate::text;

impl Input<'_> {
    /// A row from the object at hand.
    pub(super) fn read_object(
        &self,
        builders: &mut [ColumnBuilder],
        found: &[u8],
        context: &StatementContext<'_>,
    ) -> Result<usize> {
        let mut made = 0;
        let object = self.json(found)?;
        json::validate(object).map_err(|error| self.located(&error, None))?;
        let Some(members) = json::members(object).map_err(|error| self.located(&error, None))? else {
            let error = self.bad(format!("a row is an object, and this is {}", named(object)));
            return Err(error.hint("values that are not taken apart are read with FORMAT json_document"));
        };
        let mut values: Vec<Option<&str>> = vec![None; self.ordinals.len()];
        for (name, value) in members {
            let Some(&index) = self.places.get(&name) else { return Err(self.no_column(&name)) };
            values[index] = Some(value);
        }
        for (&ordinal, value) in self.ordinals.iter().zip(values) {
            let column = &self.shape.columns()[ordinal];
            match value {
                Some(value) => {
                    made += read(&mut builders[ordinal], value, column.data_type, context.local)
                        .map_err(|error| self.located(&error, Some(&column.name)))?;
                }
                None => {
                    let eval = &context.eval_context();
                    builders[ordinal].append(self.shape.default_value(context.txn, ordinal, eval)?);
                }
            }
        }
        Ok(made)
    }

    /// A row with the document at hand; so many bytes of text it has become.
    pub(super) fn read_document(&self, builders: &mut [ColumnBuilder], found: &[u8], local: &Local) -> Result<usize> {
        let document = self.json(found)?;
        let mut made = 0;
        for &ordinal in self.ordinals {
            let column = &self.shape.columns()[ordinal];
            let value = text::parse(document, column.data_type, local);
            let value = value.map_err(|error| self.located(&error, Some(&column.name)))?;
            made += text_bytes(&value);
            builders[ordinal].append(value);
        }
        Ok(made)
    }

    fn json<'v>(&self, found: &'v [u8]) -> Result<&'v str> {
        std::str::from_utf8(found).map_err(|error| {
            let message = format!("invalid byte sequence for encoding \"UTF8\": {error}");
            self.located(&Error::new(Code::CharacterNotInRepertoire, message).hint("convert the file to UTF-8"), None)
        })
    }

    fn no_column(&self, name: &str) -> Error {
        let names: Vec<&str> = self.ordinals.iter().map(|&at| &*self.shape.columns()[at].name).collect();
        let message = format!("a row has the member \"{}\", and COPY reads no such column", text::shorten(name));
        let error = Error::new(Code::BadCopyFormat, message).hint(format!("it reads {}", names.join(", ")));
        self.located(&error, None)
    }
}

/// Bytes of a text; numbers of documents may be much longer than they were written.
fn text_bytes(value: &Value) -> usize {
    if let Value::Text(text) = value { text.len() } else { 0 }
}

/// Appends a member to a column of a type (2); so many bytes of text a document has become.
fn read(builder: &mut ColumnBuilder, found: &str, to: DataType, local: &Local) -> Result<usize> {
    let kind = json::kind(found);
    match to {
        _ if kind == "null" => builder.append(Value::Null),
        DataType::Json | DataType::Jsonb => {
            let value = text::parse(found, to, local)?;
            let made = text_bytes(&value);
            builder.append(value);
            return Ok(made);
        }
        DataType::Array(element) if kind != "string" => {
            let Some(items) = json::items(found)? else {
                let error =
                    Error::new(Code::InvalidText, format!("expected an array of JSON, and this is {}", named(found)));
                return Err(error.hint("write [..], or the array's text in quotes"));
            };
            let element = element.data_type();
            let values = items.into_iter().map(|item| element_value(item, element, local));
            let values = values.collect::<Result<Vec<Value>>>()?;
            builder.append(Value::Array(ArrayValue::new(element, values.iter().map(Value::as_ref))));
        }
        _ if kind == "string" => builder.read(&json::unquoted(found)?, local)?,
        _ => builder.read(found, local)?,
    }
    Ok(0)
}

fn element_value(found: &str, to: DataType, local: &Local) -> Result<Value> {
    match (json::kind(found), to) {
        ("null", _) => Ok(Value::Null),
        (_, DataType::Json | DataType::Jsonb) => text::parse(found, to, local),
        ("array", _) => Err(Error::new(Code::FeatureNotSupported, "an array of arrays is not supported")
            .hint("take the column as jsonb")),
        ("string", _) => text::parse(&json::unquoted(found)?, to, local),
        _ => text::parse(found, to, local),
    }
}

fn named(value: &str) -> String {
    let kind = json::kind(value);
    format!("{} {kind}", if matches!(kind, "array" | "object") { "an" } else { "a" })
}
