//! Calls of sequence functions in expressions: nextval('s'), with the name as a literal.
//!
//! ```text
//!   nextval('t_id_seq'::regclass)     the sequence t_id_seq
//!   nextval('"S".ids')                the sequence ids of the schema S
//! ```

use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value};
use weft_format::{Code, Error, Result};

use crate::parse::{fold_all, parse_expression, table_name};

/// The sequence whose next number an expression's text is; none when it is anything else.
pub(crate) fn sequence_call(text: &str) -> Option<String> {
    if !text.to_lowercase().contains("nextval") {
        return None;
    }
    let Expr::Function(function) = parse_expression(text).ok()? else { return None };
    let [name] = arguments(&function)?[..] else { return None };
    let is_nextval = function_name(&function) == "nextval";
    relation_argument(name).filter(|_| is_nextval)?.ok()
}

/// The name of a function, folded, without the schema of the system.
pub(crate) fn function_name(function: &Function) -> String {
    let name = fold_all(&function.name);
    name.strip_prefix("pg_catalog.").map_or(name.clone(), str::to_owned)
}

/// The plain arguments of a call.
pub(crate) fn arguments(function: &Function) -> Option<Vec<&Expr>> {
    let list = match &function.args {
        FunctionArguments::None => return Some(Vec::new()),
        FunctionArguments::List(list) if list.clauses.is_empty() => list,
        _ => return None,
    };
    let plain = |arg: &'_ FunctionArg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Expr(_)));
    if !list.args.iter().all(plain) {
        return None;
    }
    let args = list.args.iter().filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    Some(args.collect())
}

/// The relation that a text literal, perhaps cast to regclass, names; none when it is no literal.
pub(crate) fn relation_argument(expr: &Expr) -> Option<Result<String>> {
    match expr {
        Expr::Cast { expr, .. } | Expr::Nested(expr) => relation_argument(expr),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(relation_name(text)),
            _ => None,
        },
        _ => None,
    }
}

/// A relation's name as text becomes what names inside are.
pub(crate) fn relation_name(text: &str) -> Result<String> {
    let wrong = || Error::new(Code::InvalidParameterValue, format!("invalid name syntax: \"{text}\""));
    let parts = match parse_expression(text).map_err(|_| wrong())? {
        Expr::Identifier(ident) => vec![ident],
        Expr::CompoundIdentifier(parts) => parts,
        _ => return Err(wrong()),
    };
    table_name(&parts.into())
}
