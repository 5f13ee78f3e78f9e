//! Functions in FROM that make rows of JSON, as what the planner has for them.
//!
//! ```text
//!   jsonb_each(j) AS e            unnest(weft_jsonb_keys(j, ..), weft_jsonb_values(j, ..)) AS e (key, value)
//!   json_to_record(j) AS r (a int)
//!       LATERAL (SELECT weft_json_field(weft_json_record(j, ..), 'a', CAST(NULL AS int)) AS a) AS r
//!   json_populate_recordset(NULL::t, j) AS r (x)
//!       LATERAL (SELECT weft_json_field(v, 'id', CAST(NULL AS int)) AS id, ...
//!                FROM unnest(weft_json_records(j, ..)) AS i (v)) AS r (x)
//! ```
//!
//! 1. Of a NULL object a record has one row of NULL, a set of records has none.

use sqlparser::ast::{
    AccessExpr, CastKind, DataType as SqlType, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    SelectItem, SetExpr, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins, Value,
};
use weft_expr::builtins::JSON_FIELD;
use weft_format::{Code, Error, Result};
use weft_sql::expr::{call, cast_to};
use weft_sql::queries::names::{MARKER, folded};

use super::fields::Expander;
use super::from_functions::called;
use super::template::parsed;

/// Writes such a function in FROM in such a form.
pub(super) fn write_out(expander: &mut Expander<'_>, factor: &mut TableFactor) -> Result<()> {
    if let TableFactor::Table { args: Some(_), .. } | TableFactor::Function { .. } = factor
        && let Some((name, given)) = called(factor)
    {
        each(factor, &name, &given);
        if let Some(of) = Record::named(&name) {
            record(expander, factor, (&name, of), given)?;
        }
    }
    Ok(())
}

/// `json` or `jsonb`, and what comes behind it in a name.
fn split(name: &str) -> Option<(&'static str, &str)> {
    let split = |of: &'static str| Some((of, name.strip_prefix(of)?.strip_prefix('_')?));
    split("jsonb").or_else(|| split("json"))
}

fn text(text: &str) -> Expr {
    Expr::value(Value::SingleQuotedString(text.to_owned()))
}

/// What gives the columns of `json_each` and its kin; none when a function is another one.
pub(super) fn columns_of_each(name: &str, object: &Expr) -> Option<[Expr; 2]> {
    let (of, what) = split(name)?;
    let values = match what {
        "each" => "values",
        "each_text" => "texts",
        _ => return None,
    };
    Some(["keys", values].map(|column| call(&format!("weft_{of}_{column}"), vec![object.clone(), text(name)])))
}

fn each(factor: &mut TableFactor, name: &str, given: &[Expr]) {
    let [object] = given else { return };
    let Some(array_exprs) = columns_of_each(name, object) else { return };
    let Some((alias, with_ordinality)) = taken(factor) else { return };
    let mut alias = alias.unwrap_or_else(|| named(name));
    for column in ["key", "value"].iter().skip(alias.columns.len()) {
        alias.columns.push(TableAliasColumnDef { name: Ident::with_quote('"', *column), data_type: None });
    }
    *factor = TableFactor::UNNEST {
        alias: Some(alias),
        array_exprs: array_exprs.into(),
        with_offset: false,
        with_offset_alias: None,
        with_ordinality,
    };
}

/// The alias of a function in FROM, and whether its rows have numbers.
fn taken(factor: &mut TableFactor) -> Option<(Option<TableAlias>, bool)> {
    match factor {
        TableFactor::Table { alias, with_ordinality, .. } | TableFactor::Function { alias, with_ordinality, .. } => {
            Some((alias.take(), *with_ordinality))
        }
        _ => None,
    }
}

fn named(name: &str) -> TableAlias {
    TableAlias { explicit: true, name: Ident::with_quote('"', name), columns: Vec::new(), at: None }
}

/// `json_each` and its kin among result columns: their rows as texts. `(json_each(j)).key`: a column of these rows.
pub(super) fn of_each(expr: &Expr) -> Option<Expr> {
    if let Expr::CompoundFieldAccess { root, access_chain } = expr {
        let [AccessExpr::Dot(Expr::Identifier(column))] = &access_chain[..] else { return None };
        let (name, object) = each_called(root)?;
        let [keys, values] = columns_of_each(&name, &object)?;
        return match folded(column).as_str() {
            "key" => Some(call("unnest", vec![keys])),
            "value" => Some(call("unnest", vec![values])),
            _ => None,
        };
    }
    let (name, object) = each_called(expr)?;
    let (of, _) = split(&name)?;
    Some(call("unnest", vec![call(&format!("weft_{of}_members"), vec![object, text(&name)])]))
}

fn each_called(expr: &Expr) -> Option<(String, Expr)> {
    let (name, given) = called_in_expr(expr)?;
    let [object] = &given[..] else { return None };
    columns_of_each(&name, object)?;
    Some((name, object.clone()))
}

fn called_in_expr(expr: &Expr) -> Option<(String, Vec<Expr>)> {
    let function = match expr {
        Expr::Nested(inner) => return called_in_expr(inner),
        Expr::Function(function) => function,
        _ => return None,
    };
    let FunctionArguments::List(list) = &function.args else { return None };
    let name = function.name.0.last().and_then(|part| part.as_ident()).map(folded)?;
    let given = list.args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    Some((name, given.collect::<Option<Vec<Expr>>>()?))
}

/// A function that makes columns of the members of objects.
#[derive(Clone, Copy)]
struct Record {
    of: &'static str,
    is_set: bool,
    /// The columns are those of its first argument.
    is_populated: bool,
}

impl Record {
    fn named(name: &str) -> Option<Record> {
        let (of, what) = split(name)?;
        let (is_set, is_populated) = match what {
            "to_record" => (false, false),
            "to_recordset" => (true, false),
            "populate_record" => (false, true),
            "populate_recordset" => (true, true),
            _ => return None,
        };
        Some(Record { of, is_set, is_populated })
    }
}

/// A column of a record: its name, and what it is where the object lacks it.
struct Column {
    name: String,
    default: Expr,
}

fn record(
    expander: &mut Expander<'_>,
    factor: &mut TableFactor,
    (name, record): (&str, Record),
    mut given: Vec<Expr>,
) -> Result<()> {
    let Some((alias, with_ordinality)) = taken(factor) else { return Ok(()) };
    let mut alias = alias.unwrap_or_else(|| named(name));
    let is_defined = alias.columns.iter().any(|column| column.data_type.is_some());
    let columns = if record.is_populated {
        let base = if given.len() == 2 { Some(given.remove(0)) } else { None };
        let Some(base) = base else { return Err(unknown(name)) };
        populated(expander, &base, name, is_defined.then_some(&alias))?
    } else {
        if !is_defined {
            let message = "a column definition list is required for functions returning \"record\"";
            return Err(Error::new(Code::SyntaxError, message).hint(format!("{name}(...) AS t (a integer, b text)")));
        }
        defined(&alias)?
    };
    let [object] = &given[..] else { return Err(unknown(name)) };
    if is_defined {
        if with_ordinality {
            let message = "WITH ORDINALITY cannot be used with a column definition list";
            return Err(Error::new(Code::SyntaxError, message).hint("number the rows by row_number() OVER ()"));
        }
        alias.columns.clear();
    }
    *factor = rows_of(record, name, object, &columns, with_ordinality)?;
    if let TableFactor::Derived { alias: of, .. } = factor {
        *of = Some(alias);
    }
    Ok(())
}

/// The query that gives the rows. What names neighbours stands in it itself: the planner looks no further.
fn rows_of(
    record: Record,
    name: &str,
    object: &Expr,
    columns: &[Column],
    with_ordinality: bool,
) -> Result<TableFactor> {
    let value = Ident::with_quote('"', format!("{MARKER}object"));
    let what = if record.is_set { "records" } else { "record" };
    let given = call(&format!("weft_{}_{what}", record.of), vec![object.clone(), text(name)]);
    let one = if record.is_set { Expr::Identifier(value.clone()) } else { given.clone() };
    let item = |column: &Column| {
        let args = vec![one.clone(), text(&column.name), column.default.clone()];
        SelectItem::ExprWithAlias { expr: call(JSON_FIELD, args), alias: Ident::with_quote('"', &column.name) }
    };
    let numbers = if with_ordinality { ", row_number() OVER () AS ordinality" } else { "" };
    let mut query = parsed(&format!("SELECT 1{numbers}"))?;
    let SetExpr::Select(select) = &mut *query.body else { return Err(Error::internal("no SELECT")) };
    select.projection.splice(..1, columns.iter().map(item));
    if record.is_set {
        let columns = vec![TableAliasColumnDef { name: value, data_type: None }];
        let relation = TableFactor::UNNEST {
            alias: Some(TableAlias { columns, ..named(&format!("{MARKER}rows")) }),
            array_exprs: vec![given],
            with_offset: false,
            with_offset_alias: None,
            with_ordinality: false,
        };
        select.from = vec![TableWithJoins { relation, joins: Vec::new() }];
    }
    Ok(TableFactor::Derived { lateral: true, subquery: Box::new(query), alias: None, sample: None })
}

fn null_of(data_type: SqlType) -> Expr {
    let expr = Box::new(Expr::value(Value::Null));
    Expr::Cast { kind: CastKind::Cast, expr, data_type, array: false, format: None }
}

/// The columns of a list of definitions.
fn defined(alias: &TableAlias) -> Result<Vec<Column>> {
    let column = |column: &TableAliasColumnDef| {
        let Some(data_type) = column.data_type.clone() else {
            let message = format!("a column definition of \"{}\" lacks a type", folded(&column.name));
            return Err(Error::new(Code::SyntaxError, message));
        };
        Ok(Column { name: folded(&column.name), default: null_of(data_type) })
    };
    alias.columns.iter().map(column).collect()
}

/// The columns of a call that gives rows, in a result: `(json_each(j)).*`, `(json_populate_record(NULL::t, j)).*`.
pub(super) fn columns_of_call(expander: &Expander<'_>, expr: &Expr) -> Result<Option<Vec<(String, Expr)>>> {
    let Some((name, mut given)) = called_in_expr(expr) else { return Ok(None) };
    if let [object] = &given[..]
        && let Some([keys, values]) = columns_of_each(&name, object)
    {
        let rows = |column: Expr| call("unnest", vec![column]);
        return Ok(Some(vec![("key".to_owned(), rows(keys)), ("value".to_owned(), rows(values))]));
    }
    let Some(record) = Record::named(&name).filter(|record| record.is_populated && given.len() == 2) else {
        return Ok(None);
    };
    let columns = populated(expander, &given.remove(0), &name, None)?;
    let [object] = &given[..] else { return Ok(None) };
    let what = if record.is_set { "records" } else { "record" };
    let object = call(&format!("weft_{}_{what}", record.of), vec![object.clone(), text(&name)]);
    let object = if record.is_set { call("unnest", vec![object]) } else { object };
    let field = |column: Column| {
        let args = vec![object.clone(), text(&column.name), column.default];
        (column.name, call(JSON_FIELD, args))
    };
    Ok(Some(columns.into_iter().map(field).collect()))
}

/// The columns of the table that NULL is cast to.
fn populated(expander: &Expander<'_>, base: &Expr, name: &str, list: Option<&TableAlias>) -> Result<Vec<Column>> {
    let base = match base {
        Expr::Nested(inner) => return populated(expander, inner, name, list),
        base => base,
    };
    match (base, list) {
        (Expr::Cast { expr, data_type: SqlType::Custom(table, _), .. }, None) if is_null(expr) => {
            let columns = expander.stored_columns(table)?;
            let column =
                |(name, data_type)| Ok(Column { name, default: cast_to(Expr::value(Value::Null), data_type)? });
            columns.into_iter().map(column).collect()
        }
        (Expr::Cast { expr, data_type: SqlType::Custom(..), .. }, Some(_)) if is_null(expr) => {
            let message = "a column definition list is redundant for a function returning a named composite type";
            Err(Error::new(Code::SyntaxError, message).hint("leave the list out"))
        }
        (base, Some(list)) if is_null(base) => defined(list),
        (base, _) => {
            let message = format!("the first argument {base} of {name} is not supported");
            Err(Error::new(Code::FeatureNotSupported, message).hint("NULL::t, where t is a table, gives its columns"))
        }
    }
}

fn is_null(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_null(inner),
        Expr::Value(value) => matches!(value.value, Value::Null),
        _ => false,
    }
}

fn unknown(name: &str) -> Error {
    Error::new(Code::UndefinedFunction, format!("function {name} with these arguments does not exist"))
        .hint("check the number and types of the arguments")
}
