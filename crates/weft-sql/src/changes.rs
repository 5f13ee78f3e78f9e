//! What changed in a table: functions in FROM that become queries of its past.
//!
//! ```text
//!   weft_difference('t', a, b)      FROM t (there at b, not at a) n FULL JOIN t (there at a, not at b) o ON n.k = o.k
//!     change   k   old_v   new_v
//!     insert   1   NULL    x           in key order of nothing: say ORDER BY
//!     update   2   x       y
//!     delete   3   z       NULL
//!
//!   weft_row_history('t', key)      FROM t FOR SYSTEM_TIME ALL WHERE k = key, each version beside the one before it
//!     commit   time       change   column_name   old_value   new_value
//!     41       10:00:01   insert   v             NULL        x
//!     44       10:00:09   update   v             x           y
//! ```
//!
//! 1. Rows of two moments are told by the primary key. A row that was changed and changed back is in no difference.
//! 2. Of a lineage table only versions that end or begin between the moments are read; of others both moments.
//! 3. The table is named by a constant, so that a statement's text says what it reads: rights and views go by it.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Ident, Query, Statement, TableAlias, TableFactor, TableVersion, Value, Visit,
    VisitMut, Visitor, VisitorMut,
};
use weft_format::{Code, Error, Result};
use weft_kernel::{TableRef, Transaction};
use weft_pgcatalog::quoted;

use crate::expr::relation_argument;
use crate::parse::{Parsed, PeriodKind, fold, parse, period};
use crate::resolve;

/// What stands in a text of ours for the n-th argument, or the n-th reading of the table: no SQL text has the sign.
const MARK: char = '\u{2}';

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Difference,
    RowHistory,
}

impl Kind {
    fn named(name: &str) -> Option<Kind> {
        match name {
            "weft_difference" => Some(Kind::Difference),
            "weft_row_history" => Some(Kind::RowHistory),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Difference => "weft_difference",
            Kind::RowHistory => "weft_row_history",
        }
    }
}

/// Whether a statement calls such a function.
pub(crate) fn has_calls(statement: &Statement) -> bool {
    struct Calls;
    impl Visitor for Calls {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            if called(factor).is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    statement.visit(&mut Calls).is_break()
}

/// The table that a call reads, as names are inside; none: FROM has no such call there.
pub(crate) fn table_of(factor: &TableFactor) -> Result<Option<String>> {
    called(factor).map(|(kind, args)| named_table(kind, &args)).transpose()
}

/// Names the table of a call with its schema; the table, if there is such a call.
pub(crate) fn qualify(txn: &Transaction, factor: &mut TableFactor) -> Result<Option<TableRef>> {
    let Some(name) = table_of(factor)? else { return Ok(None) };
    let table = resolve::table(txn, &name)?;
    let args = match factor {
        TableFactor::Table { args: Some(args), .. } => &mut args.args,
        TableFactor::Function { args, .. } => args,
        _ => return Ok(None),
    };
    let text = written_name(txn, &table);
    args[0] = FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::value(Value::SingleQuotedString(text))));
    Ok(Some(table))
}

/// The query that a call stands for.
pub(crate) fn expanded(txn: &Transaction, factor: &TableFactor) -> Result<Option<TableFactor>> {
    let Some((kind, args)) = called(factor) else { return Ok(None) };
    let table = resolve::table(txn, &named_table(kind, &args)?)?;
    let key = &table.def.schema.key;
    if table.def.schema.hidden_row_id {
        let message = format!("{} needs a primary key, which \"{}\" does not have", kind.name(), table.def.name);
        return Err(Error::new(Code::WrongObjectType, message).hint("its rows of two moments are told by the key"));
    }
    let names: Vec<String> = table.def.schema.visible().map(|(_, column)| column.name.clone()).collect();
    let key: Vec<String> = key.iter().map(|&ordinal| table.def.schema.columns[ordinal].name.clone()).collect();
    let from = written_name(txn, &table);
    let mut query = match kind {
        Kind::Difference if args.len() == 3 => difference(&from, &key, &names)?,
        Kind::RowHistory if args.len() == key.len() + 1 => row_history(&from, &key, &names)?,
        Kind::Difference => return Err(wrong_arguments("weft_difference takes a table and two moments")),
        Kind::RowHistory => {
            let (count, key) = (key.len(), key.join(", "));
            let text = format!("weft_row_history of \"{}\" takes the table and {count} of key: {key}", table.def.name);
            return Err(wrong_arguments(&text));
        }
    };
    let versions = match kind {
        Kind::Difference if table.versions().is_ok() => {
            let there = |at: usize, not: usize| period(PeriodKind::AtNot, vec![args[at].clone(), args[not].clone()]);
            vec![there(2, 1), there(1, 2)]
        }
        Kind::Difference => vec![args[2].clone(), args[1].clone()],
        Kind::RowHistory => Vec::new(),
    };
    let _ = VisitMut::visit(&mut query, &mut Putting { args: &args, versions: &versions });
    let alias = match factor {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Function { alias: Some(alias), .. } => {
            alias.clone()
        }
        _ => {
            let name = Ident::with_quote('"', kind.name());
            TableAlias { explicit: true, name, columns: Vec::new(), at: None }
        }
    };
    Ok(Some(TableFactor::Derived { lateral: false, subquery: Box::new(query), alias: Some(alias), sample: None }))
}

/// A call in FROM: which function, and its arguments.
fn called(factor: &TableFactor) -> Option<(Kind, Vec<Expr>)> {
    let (name, args) = match factor {
        TableFactor::Table { name, args: Some(args), .. } => (name, &args.args),
        TableFactor::Function { name, args, .. } => (name, args),
        _ => return None,
    };
    let kind = Kind::named(&fold(name.0.last()?.as_ident()?))?;
    let given = args.iter().filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    Some((kind, given.collect()))
}

fn named_table(kind: Kind, args: &[Expr]) -> Result<String> {
    args.first().and_then(relation_argument).unwrap_or_else(|| {
        Err(wrong_arguments(&format!("{} takes the name of a table first, as a constant", kind.name())))
    })
}

fn wrong_arguments(message: &str) -> Error {
    let hint = "weft_difference('t', moment, moment); weft_row_history('t', key)";
    Error::new(Code::InvalidParameterValue, message).hint(hint)
}

/// A table with its schema, as SQL names it.
fn written_name(txn: &Transaction, table: &TableRef) -> String {
    let schema = resolve::schema_name(txn, table.def.namespace);
    format!("{}.{}", quoted(&schema), quoted(&table.def.name))
}

fn of(text: &str) -> Result<Query> {
    match parse(text)?.pop() {
        Some(Parsed::Sql { statement, .. }) => match *statement {
            Statement::Query(query) => Ok(*query),
            _ => Err(Error::internal(format!("no query: {text}"))),
        },
        _ => Err(Error::internal(format!("no query: {text}"))),
    }
}

fn joined(parts: impl Iterator<Item = String>, by: &str) -> String {
    parts.collect::<Vec<_>>().join(by)
}

/// The difference of two moments; where the table is read it is named by its number.
fn difference(from: &str, key: &[String], names: &[String]) -> Result<Query> {
    let others = || names.iter().filter(|name| !key.contains(name));
    let first = quoted(&key[0]);
    let keys = joined(key.iter().map(|k| format!("coalesce(n.{0}, o.{0}) AS {0}", quoted(k))), ", ");
    let columns = joined(
        others().map(|name| {
            let (own, old, new) = (quoted(name), quoted(&format!("old_{name}")), quoted(&format!("new_{name}")));
            format!(", o.{own} AS {old}, n.{own} AS {new}")
        }),
        "",
    );
    let on = joined(key.iter().map(|k| format!("n.{0} = o.{0}", quoted(k))), " AND ");
    let differs = joined(others().map(|name| format!(" OR n.{0} IS DISTINCT FROM o.{0}", quoted(name))), "");
    of(&format!(
        "SELECT CASE WHEN o.{first} IS NULL THEN 'insert' WHEN n.{first} IS NULL THEN 'delete' ELSE 'update' END \
         AS change, {keys}{columns} FROM {from} FOR SYSTEM_TIME AS OF \"{MARK}v0\" AS n \
         FULL JOIN {from} FOR SYSTEM_TIME AS OF \"{MARK}v1\" AS o ON {on} \
         WHERE n.{first} IS NULL OR o.{first} IS NULL{differs}"
    ))
}

/// The versions of a row, each column beside what it was before.
fn row_history(from: &str, key: &[String], names: &[String]) -> Result<Query> {
    let is_row =
        joined(key.iter().enumerate().map(|(at, name)| format!("h.{} = \"{MARK}a{}\"", quoted(name), at + 1)), " AND ");
    let number = |at: usize, kind: char| format!("\"{MARK}{kind}{at}\"");
    // What began with each version, and what ended with those that nothing follows.
    let texts = joined(
        names.iter().enumerate().map(|(at, name)| format!(", CAST(h.{} AS text) AS {}", quoted(name), number(at, 'c'))),
        "",
    );
    let versions = format!(
        "SELECT h.row_start_commit AS begun, h.row_start AS begun_at, h.row_end_commit AS ended, h.row_end AS ended_at\
         {texts} FROM {from} FOR SYSTEM_TIME ALL AS h WHERE {is_row}"
    );
    let before =
        joined((0..names.len()).map(|at| format!(", lag({0}) OVER w AS {1}", number(at, 'c'), number(at, 'o'))), "");
    let columns = |what: &dyn Fn(usize) -> String| joined((0..names.len()).map(what), ", ");
    let name_list = joined(names.iter().map(|name| format!("'{}'", name.replace('\'', "''"))), ", ");
    let (new, old) =
        (columns(&|at| number(at, 'c')), columns(&|at| format!("CASE WHEN follows THEN {} END", number(at, 'o'))));
    let nothing = columns(&|_| "CAST(NULL AS text)".to_owned());
    of(&format!(
        "SELECT c.\"commit\", c.\"time\", c.change, c.column_name, c.old_value, c.new_value FROM (\
         SELECT begun AS \"commit\", begun_at AS \"time\", \
         CASE WHEN follows THEN 'update' ELSE 'insert' END AS change, unnest(ARRAY[{name_list}]) AS column_name, \
         unnest(ARRAY[{old}]) AS old_value, unnest(ARRAY[{new}]) AS new_value \
         FROM (SELECT v.*, coalesce(lag(v.ended) OVER w = v.begun, false) AS follows{before} FROM ({versions}) AS v \
         WINDOW w AS (ORDER BY v.begun)) AS b \
         UNION ALL SELECT ended, ended_at, 'delete', unnest(ARRAY[{name_list}]), unnest(ARRAY[{new}]), \
         unnest(ARRAY[{nothing}]) FROM (SELECT v.*, lead(v.begun) OVER w IS DISTINCT FROM v.ended AS is_last \
         FROM ({versions}) AS v WINDOW w AS (ORDER BY v.begun)) AS e WHERE e.is_last AND e.ended IS NOT NULL) AS c \
         WHERE c.old_value IS DISTINCT FROM c.new_value"
    ))
}

/// Puts arguments and readings where a text of ours has their numbers.
struct Putting<'a> {
    args: &'a [Expr],
    versions: &'a [Expr],
}

impl Putting<'_> {
    fn numbered<'e>(expr: &Expr, kind: char, from: &'e [Expr]) -> Option<&'e Expr> {
        let Expr::Identifier(name) = expr else { return None };
        let number = name.value.strip_prefix(MARK)?.strip_prefix(kind)?;
        from.get(number.parse::<usize>().ok()?)
    }
}

impl VisitorMut for Putting<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(arg) = Putting::numbered(expr, 'a', self.args) {
            *expr = Expr::Nested(Box::new(arg.clone()));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { version: Some(TableVersion::ForSystemTimeAsOf(moment)), .. } = factor
            && let Some(version) = Putting::numbered(moment, 'v', self.versions)
        {
            *moment = version.clone();
        }
        ControlFlow::Continue(())
    }
}
