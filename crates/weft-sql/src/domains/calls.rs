//! Casts to domains, as calls that test what was cast to the base type.
//!
//! ```text
//!   CAST(x AS posint)      weft_as_domain(CAST(x AS INT), '5c01…')
//! ```

use std::sync::Arc;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    Value as SqlValue,
};
use weft_expr::domains::{self, Domain};

/// The function that tests a value.
const AS_DOMAIN: &str = "weft_as_domain";

/// The call that tests what `expr` gives, a cast to the base type, by the rules of a hash.
pub(crate) fn call(expr: Expr, hash: u64) -> Expr {
    let argument = |expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    let hash = Expr::Value(SqlValue::SingleQuotedString(format!("{hash:016x}")).into());
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(AS_DOMAIN)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![argument(expr), argument(hash)],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// The two arguments of such a call.
fn call_of(expr: &Expr) -> Option<(&Expr, &str)> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr else { return None };
    let [part] = name.0.as_slice() else { return None };
    if part.as_ident()?.value != AS_DOMAIN {
        return None;
    }
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(cast)), FunctionArg::Unnamed(FunctionArgExpr::Expr(hash))] =
        list.args.as_slice()
    else {
        return None;
    };
    match hash {
        Expr::Value(value) => match &value.value {
            SqlValue::SingleQuotedString(hash) => Some((cast, hash)),
            _ => None,
        },
        _ => None,
    }
}

/// What is cast by such a call, and to which domain.
pub(crate) fn cast_of_call(expr: &Expr) -> Option<(&Expr, Option<Arc<Domain>>)> {
    let (cast, hash) = call_of(expr)?;
    match cast {
        Expr::Cast { expr, .. } => Some((expr, u64::from_str_radix(hash, 16).ok().and_then(domains::known))),
        _ => None,
    }
}
