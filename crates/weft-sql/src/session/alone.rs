//! Functions that write, have several statements or give nothing: called alone, as a statement of their own.
//!
//! ```text
//!   SELECT add_order(7, 'x')      SELECT 7, CAST('x' AS text)             the arguments
//!                                 INSERT INTO orders VALUES (7, 'x')      the statements, one after the other
//!                                 SELECT count(*) FROM orders             the last one gives the result
//! ```
//!
//! 1. Each statement sees what those before it have written.
//! 2. What all of them need was tested before the first of them runs, of a function with SECURITY DEFINER as its owner.

use std::sync::Arc;

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, SelectItem, SetExpr, Statement, TableFactor, Value as SqlValue,
};
use weft_expr::cast;
use weft_format::{Code, DataType, Error, Result, Value};
use weft_kernel::Transaction;

use super::statement::Prepared;
use super::work::Work;
use crate::expr::{arguments, literal};
use crate::functions::{self, Function, Gives, cast_of, plain_type_of};
use crate::outcome::{Outcome, OutputColumn, Rows, Tag};
use crate::parse::{Parsed, fold};

/// How deep such functions may call each other.
const NESTING_MAX: usize = 32;

/// A statement that is such a call.
pub(super) struct Call {
    function: Function,
    args: Vec<Expr>,
    /// The names of the columns of the result, and their types.
    columns: Vec<(String, DataType)>,
}

/// What runs one statement.
pub(super) type RunOne<'r> = dyn FnMut(&mut Work<'_>, &Prepared, &[Value]) -> Result<Outcome> + 'r;

/// The call that a statement is; none when it is anything else, or of a function that is put in its place.
pub(super) fn call_of(txn: &Transaction, statement: &Statement) -> Result<Option<Call>> {
    let Statement::Query(query) = statement else { return Ok(None) };
    let is_bare = query.with.is_none() && query.order_by.is_none() && query.limit_clause.is_none();
    if !is_bare || !matches!(&*query.body, SetExpr::Select(_)) || !functions::are_there(txn) {
        return Ok(None);
    }
    let fixed = functions::fixed(txn, statement)?;
    let Statement::Query(query) = &*fixed else { return Ok(None) };
    let SetExpr::Select(select) = &*query.body else { return Ok(None) };
    if select.selection.is_some() || select.distinct.is_some() || select.having.is_some() {
        return Ok(None);
    }
    let (id, args, name) = match (select.projection.as_slice(), select.from.as_slice()) {
        ([SelectItem::ExprWithAlias { expr: Expr::Function(call), alias }], []) => {
            let args = arguments(call).unwrap_or_default().into_iter().cloned().collect();
            (functions::of_fixed_name(&call.name), args, fold(alias))
        }
        ([SelectItem::Wildcard(_)], [from]) if from.joins.is_empty() => match &from.relation {
            TableFactor::Table { name, args: Some(args), alias: Some(alias), .. } => {
                (functions::of_fixed_name(name), plain(&args.args), fold(&alias.name))
            }
            TableFactor::Function { name, args, alias: Some(alias), .. } => {
                (functions::of_fixed_name(name), plain(args), fold(&alias.name))
            }
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let Some(id) = id else { return Ok(None) };
    let function = Function::of_number(txn, id)?.ok_or_else(|| functions::gone(id))?;
    if !functions::runs_alone(txn, &function)? {
        return Ok(None);
    }
    let columns = match (function.columns(txn)?, &function.gives) {
        (Some(_), _) if function.gives_rows() && select.from.is_empty() => {
            let message = format!("function {} gives rows, where a value is expected", function.name);
            let hint = format!("call it in FROM: SELECT * FROM {}(...)", function.name);
            return Err(Error::new(Code::FeatureNotSupported, message).hint(hint));
        }
        (Some(columns), _) if function.gives_rows() || !select.from.is_empty() => {
            let typed = columns.into_iter().map(|column| Ok((column.name, plain_type_of(txn, &column.data_type)?.0)));
            typed.collect::<Result<_>>()?
        }
        (_, Gives::Type(text)) => vec![(name, plain_type_of(txn, text)?.0)],
        // Nothing is shown as an empty text.
        _ => vec![(name, DataType::Text)],
    };
    Ok(Some(Call { function, args, columns }))
}

fn plain(args: &[FunctionArg]) -> Vec<Expr> {
    let expr = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    args.iter().filter_map(expr).collect()
}

/// A statement with the same columns and parameters as a call, for who asks for these.
pub(super) fn described(call: &Call) -> Result<Statement> {
    let null = |data_type: &DataType| cast_of(Expr::value(SqlValue::Null), &data_type.to_string());
    let mut items = Vec::with_capacity(call.columns.len());
    for (name, data_type) in &call.columns {
        let alias = sqlparser::ast::Ident::with_quote('"', name.clone());
        items.push(SelectItem::ExprWithAlias { expr: null(data_type)?, alias });
    }
    let of_args = functions::unless_null(&call.args, Expr::value(SqlValue::Boolean(true)));
    Ok(Statement::Query(Box::new(crate::dml::select(items, Vec::new(), Some(of_args))?)))
}

/// Runs a call.
pub(super) fn run(
    work: &mut Work<'_>,
    call: &Call,
    params: &[Value],
    (depth, run_one): (usize, &mut RunOne<'_>),
) -> Result<Outcome> {
    if depth >= NESTING_MAX {
        return Err(Error::new(Code::StatementTooComplex, "functions call too many functions"));
    }
    let args = values_of(work, call, params, run_one)?;
    let columns: Arc<[OutputColumn]> =
        call.columns.iter().map(|(name, data_type)| OutputColumn::new(name, *data_type)).collect();
    let width = columns.len();
    let answer = |rows: Vec<Value>, count: usize| Outcome {
        tag: Tag::Select(count as u64),
        columns: Arc::clone(&columns),
        rows: Rows::from_values(width, rows),
    };
    if call.function.strict && args.iter().any(|(value, _)| value.is_null()) {
        let is_one = !call.function.is_set;
        return Ok(answer(vec![Value::Null; if is_one { width } else { 0 }], usize::from(is_one)));
    }
    let args: Vec<Expr> = args.iter().map(|(value, data_type)| literal(value, *data_type)).collect::<Result<_>>()?;
    let mut last = None;
    for mut statement in functions::statements_of(work.txn, &call.function)? {
        functions::put_in(&mut statement, &args);
        let prepared = Prepared::of_statement(call.function.body.as_str().into(), statement);
        last = Some(run_one(work, &prepared, &[])?);
    }
    if call.function.gives == Gives::Void {
        return Ok(answer(vec![Value::Text("".into())], 1));
    }
    let last = last.ok_or_else(|| Error::internal("a function that gives something has a statement"))?;
    if last.columns.len() != width {
        let name = &call.function.name;
        let message = format!("the last statement of function {name} does not give what the function is declared to");
        return Err(Error::new(Code::InvalidFunctionDefinition, message).hint("CREATE OR REPLACE FUNCTION"));
    }
    let mut values = Vec::new();
    let mut count = 0;
    for row in last.rows.iter() {
        if count == 1 && !call.function.is_set {
            break;
        }
        count += 1;
        for ((value, from), to) in row.iter().zip(last.columns.iter()).zip(columns.iter()) {
            values.push(cast(value.clone(), from.data_type, to.data_type, &work.local)?);
        }
    }
    if count == 0 && !call.function.is_set {
        return Ok(answer(vec![Value::Null; width], 1));
    }
    Ok(answer(values, count))
}

/// The arguments of a call, each with its type.
fn values_of(
    work: &mut Work<'_>,
    call: &Call,
    params: &[Value],
    run_one: &mut RunOne<'_>,
) -> Result<Vec<(Value, DataType)>> {
    if call.args.is_empty() {
        return Ok(Vec::new());
    }
    let items = call.args.iter().cloned().map(SelectItem::UnnamedExpr).collect();
    let query = crate::dml::select(items, Vec::new(), None)?;
    let prepared = Prepared::of_statement("".into(), Statement::Query(Box::new(query)));
    let found = run_one(work, &prepared, params)?;
    let row = found.rows.iter().next().map(|row| row.to_vec()).unwrap_or_default();
    Ok(row.into_iter().zip(found.columns.iter().map(|column| column.data_type)).collect())
}

/// A statement without a text of its own.
impl Prepared {
    fn of_statement(source: Arc<str>, statement: Statement) -> Prepared {
        Prepared::new(source, Parsed::Sql { statement: Box::new(statement), method: None })
    }
}
