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
