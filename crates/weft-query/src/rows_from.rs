//! `ROWS FROM (f(x), g(y))`: functions whose rows stand side by side, as arrays that are taken apart together.
//!
//! ```text
//!   ROWS FROM (generate_series(1, 3), unnest(a)) AS r (n, v)    unnest(list_generate_series(1, 3), a) AS r (n, v)
//!   ROWS FROM (jsonb_each(j), abs(-1))                          unnest(keys of j, values of j, ARRAY[abs(-1)])
//! ```
//!
//! 1. A column has the name of its function, as far as the alias names none; the relation that of the first one.

use sqlparser::ast::{
    Array, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, TableAlias, TableAliasColumnDef,
    TableFactor,
};
use weft_expr::routines::gives_rows;
use weft_format::{Code, Error, Result};
use weft_sql::expr::call;
use weft_sql::parse::ROWS_FROM;
use weft_sql::queries::names::{MARKER, folded};

use super::json_tables::columns_of_each;
use super::routines::LIST_PREFIX;

/// Writes it so.
pub(super) fn write_out(factor: &mut TableFactor) -> Result<()> {
    let (name, alias, args, with_ordinality) = match factor {
        TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. } => {
            (name, alias, &args.args, *with_ordinality)
        }
        TableFactor::Function { name, alias, args, with_ordinality, .. } => (name, alias, &*args, *with_ordinality),
        _ => return Ok(()),
    };
    if name.0.last().and_then(|part| part.as_ident()).is_none_or(|ident| ident.value != ROWS_FROM) {
        return Ok(());
    }
    let mut columns: Vec<(String, Expr)> = Vec::new();
    for arg in args {
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(function))) => columns.extend(arrays(function)?),
            other => return Err(refused(&format!("{other}"))),
        }
    }
    let first = columns.first().map(|(name, _)| name.clone()).unwrap_or_default();
    let mut alias = alias.take().unwrap_or_else(|| TableAlias {
        explicit: true,
        name: Ident::with_quote('"', first),
        columns: Vec::new(),
        at: None,
    });
    for place in alias.columns.len()..columns.len() {
        let name = &columns[place].0;
        let is_again = columns[..place].iter().any(|(known, _)| known == name);
        let name = if is_again { format!("{name}{MARKER}{place}") } else { name.clone() };
        alias.columns.push(TableAliasColumnDef { name: Ident::with_quote('"', name), data_type: None });
    }
    *factor = TableFactor::UNNEST {
        alias: Some(alias),
        array_exprs: columns.into_iter().map(|(_, array)| array).collect(),
        with_offset: false,
        with_offset_alias: None,
        with_ordinality,
    };
    Ok(())
}

/// The columns of a function: their names, and arrays of their rows.
fn arrays(function: &Function) -> Result<Vec<(String, Expr)>> {
    let name = function.name.0.last().and_then(|part| part.as_ident()).map(folded).unwrap_or_default();
    let FunctionArguments::List(list) = &function.args else { return Err(refused(&name)) };
    let given = list.args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    let given = given.collect::<Option<Vec<Expr>>>().ok_or_else(|| refused(&name))?;
    if let [object] = given.as_slice()
        && let Some(columns) = columns_of_each(&name, object)
    {
        return Ok(["key", "value"].map(str::to_owned).into_iter().zip(columns).collect());
    }
    if name == "unnest" {
        return Ok(given.into_iter().map(|array| (name.clone(), array)).collect());
    }
    let column = if name.contains("_array_elements") { "value".to_owned() } else { name.clone() };
    let array = match gives_rows(&name) {
        true => call(&format!("{LIST_PREFIX}{name}"), given),
        false => Expr::Array(Array { elem: vec![Expr::Function(function.clone())], named: true }),
    };
    Ok(vec![(column, array)])
}

fn refused(what: &str) -> Error {
    Error::new(Code::FeatureNotSupported, format!("{what} in ROWS FROM is not supported"))
        .hint("put functions with arguments in their order there, or join them by WITH ORDINALITY")
}
