//! Calls functions with texts, for tests.

use weft_format::{DataType, Result, Value};

use crate::routines::{Signature, call};
use crate::style::Local;
use crate::text::{parse, print_as};

/// The text of what a function gives for arguments of these types, written as PostgreSQL reads them: `None` is NULL.
/// An error is its message. Casts of the arguments that the call needs are done.
pub(crate) fn answer_in(local: &Local, name: &str, args: &[(DataType, Option<&str>)]) -> String {
    shown(local, name, args).unwrap_or_else(|error| format!("ERROR: {}", error.message()))
}

/// The same in UTC with ISO styles.
pub(crate) fn answer(name: &str, args: &[(DataType, Option<&str>)]) -> String {
    answer_in(Local::fixed(), name, args)
}

fn shown(local: &Local, name: &str, args: &[(DataType, Option<&str>)]) -> Result<String> {
    let given: Vec<Option<DataType>> = args.iter().map(|(data_type, _)| Some(*data_type)).collect();
    let signature: Signature = super::find(name, &given).unwrap_or_else(|| panic!("no {name} of {given:?}"));
    let mut values = Vec::new();
    for ((from, text), to) in args.iter().zip(&signature.args) {
        let value = match text {
            None => Value::Null,
            Some(text) => parse(text, *from, local)?,
        };
        values.push(crate::cast(value, *from, *to, local)?);
    }
    let value = call(&signature, &values, local, &|| 0)?;
    Ok(if value.is_null() { "NULL".into() } else { print_as(value.as_ref(), signature.result, &local.style) })
}

/// A function, its arguments with their types, and what it gives: `("left", "text abc | integer 2", "ab")`.
pub(crate) type Case = (&'static str, &'static str, &'static str);

pub(crate) fn type_named(name: &str) -> DataType {
    if let Some(element) = name.strip_suffix("[]") {
        return type_named(element).array().expect("a type of elements");
    }
    match name {
        "integer" => DataType::Integer,
        "bigint" => DataType::BigInt,
        "double" => DataType::DoublePrecision,
        "numeric" => DataType::Numeric { precision: 10, scale: 2 },
        "text" => DataType::Text,
        "varchar" => DataType::Varchar(3),
        "boolean" => DataType::Boolean,
        "date" => DataType::Date,
        "timestamp" => DataType::Timestamp,
        "interval" => DataType::Interval,
        "json" => DataType::Json,
        "jsonb" => DataType::Jsonb,
        "jsonpath" => DataType::JsonPath,
        "bit" => DataType::Bit(0),
        "varbit" => DataType::VarBit(0),
        "real" => DataType::Real,
        "char" => DataType::Char(3),
        "moment" => DataType::TimestampTz,
        "oid" => DataType::Oid,
        "bytea" => DataType::Bytea,
        "uuid" => DataType::Uuid,
        "smallint" => DataType::SmallInt,
        "time" => DataType::Time,
        other => panic!("no type {other}"),
    }
}

/// Tests cases, and tells all that give something else.
pub(crate) fn check(cases: &[Case]) {
    let mut wrong = Vec::new();
    for (name, args, wanted) in cases {
        let args = args.split(" | ").filter(|arg| !arg.is_empty()).map(|arg| {
            let (data_type, text) = arg.split_once(' ').expect("a type and a text");
            (type_named(data_type), (text != "NULL").then_some(text))
        });
        let args: Vec<_> = args.collect();
        let given = answer(name, &args);
        if given != *wanted {
            wrong.push(format!("{name}({args:?})\n  gives {given}\n  not   {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
