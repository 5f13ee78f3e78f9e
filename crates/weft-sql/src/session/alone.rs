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
    Expr, FunctionArg, FunctionArgExpr, Select, SelectItem, SetExpr, Statement, TableFactor, Value as SqlValue,
    WildcardAdditionalOptions,
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
    /// The last column numbers the rows.
    is_numbered: bool,
}

/// What runs one statement.
pub(super) type RunOne<'r> = dyn FnMut(&mut Work<'_>, &Prepared, &[Value]) -> Result<Outcome> + 'r;

/// The call that a statement is; none when it is anything else, or of a function that is put in its place.
pub(super) fn call_of(txn: &Transaction, statement: &Statement) -> Result<Option<Call>> {
    if !matches!(statement, Statement::Query(_)) || !functions::are_there(txn) {
        return Ok(None);
    }
    let fixed = functions::fixed(txn, statement)?;
    let Some(select) = bare(&fixed)? else { return Ok(None) };
    let Some(Named { id, args, name, columns: written, is_numbered }) = named(select) else { return Ok(None) };
    let function = Function::of_number(txn, id)?.ok_or_else(|| functions::gone(id))?;
    if !functions::runs_alone(txn, &function)? && !functions::is_better_alone(txn, &function, &args)? {
        return Ok(None);
    }
    let mut columns = match (function.columns(txn)?, &function.gives) {
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
        // Nothing is NULL.
        _ => vec![(name, DataType::Text)],
    };
    if is_numbered {
        columns.push(("ordinality".to_owned(), DataType::BigInt));
    }
    if written.len() > columns.len() {
        let (given, wanted) = (columns.len(), written.len());
        let alias = from_name(select);
        let message = format!("table \"{alias}\" has {given} columns available but {wanted} columns specified");
        return Err(Error::new(Code::InvalidColumnReference, message));
    }
    columns.iter_mut().zip(written).for_each(|((known, _), name)| *known = name);
    Ok(Some(Call { function, args, columns, is_numbered }))
}

/// A call as it is written.
struct Named {
    id: u32,
    args: Vec<Expr>,
    name: String,
    /// The names of columns behind the alias.
    columns: Vec<String>,
    /// WITH ORDINALITY
    is_numbered: bool,
}

/// The SELECT that a statement is, when it has nothing but a result and FROM.
fn bare(statement: &Statement) -> Result<Option<&Select>> {
    let Statement::Query(query) = statement else { return Ok(None) };
    let SetExpr::Select(written) = &*query.body else { return Ok(None) };
    let plain = crate::dml::select(written.projection.clone(), written.from.clone(), None)?;
    Ok((**query == plain).then_some(&**written))
}

/// The call that a SELECT has in its result, or in FROM.
fn named(select: &Select) -> Option<Named> {
    match (select.projection.as_slice(), select.from.as_slice()) {
        ([SelectItem::ExprWithAlias { expr: Expr::Function(call), alias }], []) => Some(Named {
            id: functions::of_fixed_name(&call.name)?,
            args: arguments(call).unwrap_or_default().into_iter().cloned().collect(),
            name: fold(alias),
            columns: Vec::new(),
            is_numbered: false,
        }),
        ([SelectItem::Wildcard(options)], [from])
            if from.joins.is_empty() && *options == WildcardAdditionalOptions::default() =>
        {
            let (name, args, alias, is_numbered) = match &from.relation {
                TableFactor::Table {
                    name,
                    args: Some(args),
                    alias: Some(alias),
                    version: None,
                    sample: None,
                    with_ordinality,
                    ..
                } => (name, plain(&args.args), alias, *with_ordinality),
                TableFactor::Function { name, args, alias: Some(alias), with_ordinality, .. } => {
                    (name, plain(args), alias, *with_ordinality)
                }
                _ => return None,
            };
            let id = functions::of_fixed_name(name)?;
            let columns = alias.columns.iter().map(|column| fold(&column.name)).collect();
            Some(Named { id, args, name: fold(&alias.name), columns, is_numbered })
        }
        _ => None,
    }
}

/// What the FROM item of a call is called.
fn from_name(select: &Select) -> String {
    match select.from.first().map(|from| &from.relation) {
        Some(TableFactor::Table { alias: Some(alias), .. } | TableFactor::Function { alias: Some(alias), .. }) => {
            fold(&alias.name)
        }
        _ => String::new(),
    }
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
    let given = width - usize::from(call.is_numbered);
    let answer = |rows: Vec<Value>, count: usize| Outcome {
        tag: Tag::Select(count as u64),
        columns: Arc::clone(&columns),
        rows: Rows::from_values(width, rows),
    };
    if call.function.strict && args.iter().any(|(value, _)| value.is_null()) {
        let is_one = !call.function.is_set;
        return Ok(answer(if is_one { nothing(call) } else { Vec::new() }, usize::from(is_one)));
    }
    let args: Vec<Expr> = args.iter().map(|(value, data_type)| literal(value, *data_type)).collect::<Result<_>>()?;
    let mut last = None;
    for mut statement in functions::statements_of(work.txn, &call.function)? {
        functions::put_in(&mut statement, &args);
        let prepared = Prepared::of_statement(call.function.body.as_str().into(), statement);
        last = Some(run_one(work, &prepared, &[])?);
    }
    if call.function.gives == Gives::Void {
        let number = call.is_numbered.then_some(Value::Int(1));
        return Ok(answer([Value::Null].into_iter().chain(number).collect(), 1));
    }
    let last = last.ok_or_else(|| Error::internal("a function that gives something has a statement"))?;
    if last.columns.len() != given {
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
        if call.is_numbered {
            values.push(Value::Int(i64::try_from(count).map_err(|_| Error::internal("rows are too many"))?));
        }
    }
    if count == 0 && !call.function.is_set {
        return Ok(answer(nothing(call), 1));
    }
    Ok(answer(values, count))
}

/// The one row of a function that gives nothing.
fn nothing(call: &Call) -> Vec<Value> {
    let mut row = vec![Value::Null; call.columns.len()];
    if let (true, Some(number)) = (call.is_numbered, row.last_mut()) {
        *number = Value::Int(1);
    }
    row
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
