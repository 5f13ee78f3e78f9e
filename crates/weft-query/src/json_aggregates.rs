//! Aggregates that make JSON, as an `array_agg` and what makes JSON of it.
//!
//! ```text
//!   json_agg(x ORDER BY y)                weft_json_list(array_agg(weft_json_item(x) ORDER BY y))
//!   json_agg(DISTINCT x)                  weft_json_list(array_agg(DISTINCT x))
//!   jsonb_agg(x)                          to_jsonb(array_agg(to_jsonb(x)))
//!   jsonb_object_agg(k, v)                weft_jsonb_object(array_agg(weft_jsonb_pair(k, v)))
//! ```
//!
//! 1. What is DISTINCT is compared before it is JSON: in the order of its own type.

use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArgumentList,
    FunctionArguments, Ident, Value,
};
use weft_expr::builtins::{JSON_ITEM, JSON_LIST, JSON_OBJECT, JSON_PAIR, JSONB_OBJECT, JSONB_PAIR};
use weft_format::{Code, Error, Result};
use weft_sql::expr::call;

use super::row_forms::is_row;

/// Such an aggregate written out; none when a call is none.
pub(super) fn written_out(function: &Function) -> Result<Option<Expr>> {
    let [part] = &function.name.0[..] else { return Ok(None) };
    let Some(name) = part.as_ident().map(|name| name.value.to_lowercase()) else { return Ok(None) };
    let FunctionArguments::List(list) = &function.args else { return Ok(None) };
    Ok(match (name.as_str(), values(list).as_deref()) {
        ("json_agg", Some([value])) => Some(collected(function, list, JSON_LIST, item(list, value))),
        ("jsonb_agg", Some([value])) => {
            let value = if is_distinct(list) { value.clone() } else { call("to_jsonb", vec![value.clone()]) };
            Some(collected(function, list, "to_jsonb", value))
        }
        ("json_object_agg", Some([key, value])) => {
            check_distinct(list)?;
            Some(collected(function, list, JSON_OBJECT, call(JSON_PAIR, vec![key.clone(), value.clone()])))
        }
        ("jsonb_object_agg", Some([key, value])) => {
            check_distinct(list)?;
            Some(collected(function, list, JSONB_OBJECT, call(JSONB_PAIR, vec![key.clone(), value.clone()])))
        }
        _ => None,
    })
}

fn values(list: &FunctionArgumentList) -> Option<Vec<Expr>> {
    let value = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
        _ => None,
    };
    list.args.iter().map(value).collect()
}

fn is_distinct(list: &FunctionArgumentList) -> bool {
    list.duplicate_treatment == Some(DuplicateTreatment::Distinct)
}

/// Pairs are compared as one value, which an order of other values is none of.
fn check_distinct(list: &FunctionArgumentList) -> Result<()> {
    let is_ordered = list.clauses.iter().any(|clause| matches!(clause, FunctionArgumentClause::OrderBy(_)));
    if is_distinct(list) && is_ordered {
        let message = "an aggregate of keys and values with both DISTINCT and ORDER BY is not supported";
        return Err(Error::new(Code::FeatureNotSupported, message).hint("SELECT DISTINCT them in a subquery of FROM"));
    }
    Ok(())
}

fn item(list: &FunctionArgumentList, value: &Expr) -> Expr {
    if is_distinct(list) {
        return value.clone();
    }
    let mut args = vec![value.clone()];
    if is_row(value) {
        args.push(Expr::value(Value::Boolean(true)));
    }
    call(JSON_ITEM, args)
}

/// `made(array_agg(value))`, with what the aggregate had besides.
fn collected(function: &Function, list: &FunctionArgumentList, made: &str, value: Expr) -> Expr {
    let args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(value))];
    let args = FunctionArguments::List(FunctionArgumentList { args, ..list.clone() });
    let all = Function { name: Ident::new("array_agg").into(), args, ..function.clone() };
    call(made, vec![Expr::Function(all)])
}
