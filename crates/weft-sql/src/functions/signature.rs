//! Functions named by the types of their arguments, as DROP, ALTER and GRANT name them.

use sqlparser::ast::DataType as SqlType;
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::Transaction;

use super::definition::Function;
use super::overload::named;
use crate::domains;
use crate::expr::data_type_of;
use crate::parse::{ArgumentMode, Signature, WrittenArgument, table_name};
use crate::resolve;
use crate::types;

/// The name of a type without lengths and digits.
pub(crate) fn open_name(data_type: DataType) -> String {
    match data_type {
        DataType::Varchar(_) | DataType::Text => "text".to_owned(),
        DataType::Char(_) => "bpchar".to_owned(),
        DataType::Numeric { .. } => "numeric".to_owned(),
        DataType::Bit(_) => DataType::Bit(0).to_string(),
        DataType::VarBit(_) => DataType::VarBit(0).to_string(),
        DataType::Array(element) => format!("{}[]", open_name(element.data_type())),
        other => other.to_string(),
    }
}

/// The function of a signature.
pub(crate) fn find(txn: &Transaction, which: &Signature) -> Result<Option<Function>> {
    let mut functions = named(txn, &which.name)?;
    let Some(arguments) = &which.arguments else {
        return match functions.len() {
            0 | 1 => Ok(functions.pop()),
            _ => {
                let shown = resolve::shown(&table_name(&which.name)?);
                let error = Error::new(Code::AmbiguousFunction, format!("function name \"{shown}\" is not unique"));
                Err(error.hint("Specify the argument list to select the function unambiguously."))
            }
        };
    };
    types::note_all(txn)?;
    let inputs = arguments
        .iter()
        .filter(|argument| !matches!(argument.mode, ArgumentMode::Out | ArgumentMode::Table))
        .map(|argument| same_type(txn, &argument.data_type))
        .collect::<Result<Vec<_>>>()?;
    let is_it = |function: &Function| {
        let types: Vec<String> = function.inputs().map(|input| input.data_type.clone()).collect();
        types == inputs
    };
    Ok(functions.into_iter().find(is_it))
}

fn same_type(txn: &Transaction, written: &SqlType) -> Result<String> {
    let fixed = types::fixed_type(txn, written)?;
    if domains::plain_type(txn, &fixed)?.is_some() {
        return Ok(fixed.to_string());
    }
    Ok(open_name(data_type_of(&fixed)?))
}

/// The error of a signature without a function.
pub(crate) fn missing(which: &Signature) -> Error {
    Error::new(Code::UndefinedFunction, missing_message(which))
}

/// What is said of a signature without a function.
pub(crate) fn missing_message(which: &Signature) -> String {
    let shown = table_name(&which.name).map_or_else(|_| which.name.to_string(), |name| resolve::shown(&name));
    let Some(arguments) = &which.arguments else { return format!("could not find a function named \"{shown}\"") };
    let type_name = |argument: &WrittenArgument| match data_type_of(&argument.data_type) {
        Ok(data_type) => crate::text::type_name(data_type).to_string(),
        Err(_) => argument.data_type.to_string(),
    };
    let inputs = arguments.iter().filter(|argument| !matches!(argument.mode, ArgumentMode::Out | ArgumentMode::Table));
    let types: Vec<String> = inputs.map(type_name).collect();
    format!("function {shown}({}) does not exist", types.join(", "))
}
