//! Casts of catalog queries: texts, numbers, and names of objects.
//!
//! ```text
//!   'customers'::regclass = 16387      16387::regclass::text = customers       'int4'::regtype = 23
//! ```

use weft_format::{Code, DataType, Error, Result, Value};

use crate::definitions::relation_name;
use crate::snapshot::{Snapshot, quoted};
use crate::type_names::{split_name, type_oid, type_text};
use crate::types::format_type;
use crate::value::{Datum, Type, bool_of, parse_list};

/// The number of what a text names; none when there is no such object.
pub(crate) fn object_named(snapshot: &Snapshot, text: &str, data_type: &Type) -> Option<i64> {
    if let Ok(number) = text.trim().parse::<i64>() {
        return Some(number);
    }
    if text == "-" {
        return Some(0);
    }
    match data_type {
        Type::RegClass => {
            let (schema, name) = split_name(text);
            snapshot.relation_named(schema.as_deref(), &name).map(i64::from)
        }
        Type::RegType => type_oid(snapshot, text),
        Type::RegNamespace => snapshot.schema_oid(&split_name(text).1).map(i64::from),
        Type::RegRole => snapshot.role_oid(&split_name(text).1).map(i64::from),
        _ => None,
    }
}

/// The name of an object, as its type writes it.
pub(crate) fn object_text(snapshot: &Snapshot, number: i64, data_type: &Type) -> String {
    if number == 0 {
        return "-".into();
    }
    let oid = u32::try_from(number).unwrap_or(0);
    match data_type {
        Type::RegClass => relation_name(snapshot, oid),
        Type::RegType => {
            let name = type_text(snapshot, number, None);
            if name == "???" { number.to_string() } else { name }
        }
        Type::RegNamespace => {
            let name = snapshot.schema_name(oid);
            if name == "???" { number.to_string() } else { quoted(name) }
        }
        Type::RegRole => quoted(&snapshot.role_name(number)),
        _ => number.to_string(),
    }
}

/// A value as text.
pub(crate) fn text_of(snapshot: &Snapshot, value: &Datum, data_type: &Type) -> String {
    match (value, data_type) {
        (Datum::Int(number), reg) if reg.is_reg() => object_text(snapshot, *number, reg),
        (Datum::Bool(value), _) => value.to_string(),
        (Datum::Int(micros), Type::Timestamptz) => {
            weft_expr::text::print(weft_format::ValueRef::Int(*micros), weft_format::DataType::TimestampTz)
        }
        (Datum::List(items), Type::Vector(_)) => items.iter().map(Datum::plain).collect::<Vec<_>>().join(" "),
        (Datum::List(items), Type::Array(element)) if element.is_reg() => {
            Datum::list(items.iter().map(|item| Datum::text(text_of(snapshot, item, element))).collect()).plain()
        }
        (value, _) => value.plain(),
    }
}

/// A value of a type as one of another.
pub(crate) fn cast(snapshot: &Snapshot, value: Datum, from: &Type, to: &Type) -> Result<Datum> {
    if value.is_null() || from == to {
        return Ok(value);
    }
    let wrong = |text: &str, name: &str| {
        let message = format!("invalid input syntax for type {name}: \"{text}\"");
        Error::new(Code::InvalidText, message)
    };
    Ok(match to {
        Type::RegProc => {
            let text = text_of(snapshot, &value, from);
            Datum::text(text.strip_prefix("pg_catalog.").unwrap_or(&text))
        }
        reg if reg.is_reg() => match &value {
            Datum::Text(text) => match object_named(snapshot, text, reg) {
                Some(number) => Datum::Int(number),
                None => return Err(missing(text, reg)),
            },
            other => other.int().map_or(Datum::Null, Datum::Int),
        },
        Type::Bool => match &value {
            Datum::Text(text) => Datum::Bool(bool_of(text).ok_or_else(|| wrong(text, "boolean"))?),
            other => Datum::Bool(other.int().unwrap_or(0) != 0),
        },
        Type::Int2 | Type::Int4 | Type::Int8 | Type::Oid => match value.int() {
            Some(number) if fits(number, to) => Datum::Int(number),
            Some(_) => {
                let name = format_type(to.oid(), None);
                return Err(Error::new(Code::NumericOutOfRange, format!("{name} out of range")));
            }
            None => return Err(wrong(&value.plain(), &format_type(to.oid(), None))),
        },
        Type::Float4 | Type::Float8 | Type::Numeric => match value.float() {
            Some(number) => Datum::Float(number),
            None => return Err(wrong(&value.plain(), "double precision")),
        },
        Type::Array(element) | Type::Vector(element) => {
            let (items, of) = match &value {
                Datum::List(items) => (items.to_vec(), from.element().unwrap_or(&Type::Unknown).clone()),
                other => {
                    let text = other.plain();
                    (parse_list(&text).ok_or_else(|| wrong(&text, "array"))?, Type::Unknown)
                }
            };
            let items: Result<Vec<Datum>> = items.into_iter().map(|item| cast(snapshot, item, &of, element)).collect();
            Datum::list(items?)
        }
        Type::Char => Datum::text(text_of(snapshot, &value, from).chars().take(1).collect::<String>()),
        Type::Timestamptz => match &value {
            Datum::Text(text) => Datum::Int(weft_expr::text::parse_timestamptz(text, weft_expr::Local::fixed())?),
            other => other.clone(),
        },
        Type::Read(to) => {
            let (value, from) = match (&value, from) {
                (Datum::Int(micros), Type::Timestamptz) => (Value::Int(*micros), DataType::TimestampTz),
                (other, _) => (Value::Text(text_of(snapshot, other, from).into()), DataType::Text),
            };
            let read = weft_expr::cast(value, from, *to, weft_expr::Local::fixed())?;
            Datum::text(weft_expr::text::print(read.as_ref(), *to))
        }
        Type::Record(_) | Type::Unknown => value,
        Type::Text | Type::Varchar | Type::Name | Type::Json => Datum::text(text_of(snapshot, &value, from)),
        _ => value,
    })
}

/// Whether an integer has a place in a type.
fn fits(number: i64, to: &Type) -> bool {
    match to {
        Type::Int2 => i16::try_from(number).is_ok(),
        Type::Int4 => i32::try_from(number).is_ok(),
        _ => true,
    }
}

/// The error about a name that no object has.
pub(crate) fn missing(text: &str, reg: &Type) -> Error {
    let (code, what) = match reg {
        Type::RegClass => (Code::UndefinedTable, "relation"),
        Type::RegNamespace => (Code::UndefinedSchema, "schema"),
        Type::RegRole => (Code::UndefinedObject, "role"),
        _ => (Code::UndefinedObject, "type"),
    };
    Error::new(code, format!("{what} \"{text}\" does not exist"))
}
