//! What a function of the catalog is, and the pieces that lists of them are written with.

use weft_format::Result;

use crate::cast::{missing, object_named, text_of};
use crate::snapshot::Snapshot;
use crate::value::{Datum, Type};

/// The arguments of a call.
pub(crate) struct Arguments<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) values: &'a [Datum],
    pub(crate) types: &'a [Type],
}

impl Arguments<'_> {
    pub(crate) fn int(&self, at: usize) -> i64 {
        self.values.get(at).and_then(Datum::int).unwrap_or(0)
    }

    pub(crate) fn text(&self, at: usize) -> String {
        self.values.get(at).map_or_else(String::new, |value| text_of(self.snapshot, value, &self.types[at]))
    }

    /// The number of a relation that is given by number or by name.
    pub(crate) fn relation(&self, at: usize) -> u32 {
        let value = self.values.get(at).unwrap_or(&Datum::Null);
        let number = match value {
            Datum::Text(text) => object_named(self.snapshot, text, &Type::RegClass),
            other => other.int(),
        };
        number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
    }

    /// The same; a name must be that of a relation.
    pub(crate) fn known_relation(&self, at: usize) -> Result<u32> {
        match self.values.get(at) {
            Some(Datum::Text(text)) if object_named(self.snapshot, text, &Type::RegClass).is_none() => {
                Err(missing(text, &Type::RegClass))
            }
            _ => Ok(self.relation(at)),
        }
    }
}

/// A function.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) least: usize,
    pub(crate) most: usize,
    pub(crate) returns: fn(&[Type]) -> Type,
    /// NULL when an argument is.
    pub(crate) is_strict: bool,
    /// It gives a list, whose elements are its rows.
    pub(crate) is_set: bool,
    pub(crate) call: fn(&Arguments<'_>) -> Result<Datum>,
}

pub(crate) const fn function(
    name: &'static str,
    (least, most): (usize, usize),
    returns: fn(&[Type]) -> Type,
    call: fn(&Arguments<'_>) -> Result<Datum>,
) -> Function {
    Function { name, least, most, returns, is_strict: true, is_set: false, call }
}

pub(crate) const fn lenient(function: Function) -> Function {
    Function { is_strict: false, ..function }
}

pub(crate) const fn set(function: Function) -> Function {
    Function { is_set: true, ..function }
}

pub(crate) fn text(_: &[Type]) -> Type {
    Type::Text
}

pub(crate) fn name(_: &[Type]) -> Type {
    Type::Name
}

pub(crate) fn boolean(_: &[Type]) -> Type {
    Type::Bool
}

pub(crate) fn int4(_: &[Type]) -> Type {
    Type::Int4
}

pub(crate) fn int8(_: &[Type]) -> Type {
    Type::Int8
}

pub(crate) fn oid(_: &[Type]) -> Type {
    Type::Oid
}

pub(crate) fn time(_: &[Type]) -> Type {
    Type::Timestamptz
}

pub(crate) fn null(_: &Arguments<'_>) -> Result<Datum> {
    Ok(Datum::Null)
}

pub(crate) fn zero(_: &Arguments<'_>) -> Result<Datum> {
    Ok(Datum::Int(0))
}

pub(crate) fn nothing(_: &Arguments<'_>) -> Result<Datum> {
    Ok(Datum::list(Vec::new()))
}

/// A value as JSON.
pub(crate) fn json_text(value: &Datum) -> String {
    match value {
        Datum::Null => "null".into(),
        Datum::Bool(value) => value.to_string(),
        Datum::Int(_) | Datum::Float(_) => value.plain(),
        Datum::List(items) => format!("[{}]", items.iter().map(json_text).collect::<Vec<_>>().join(",")),
        Datum::Text(text) => {
            let mut out = String::from("\"");
            for c in text.chars() {
                match c {
                    '"' => out.push_str("\\\""),
                    '\\' => out.push_str("\\\\"),
                    '\n' => out.push_str("\\n"),
                    c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
                    c => out.push(c),
                }
            }
            out + "\""
        }
    }
}
