//! What changed in a table: functions in FROM that become queries of its past.
//!
//! ```text
//!   weft_difference('t', a, b)      FROM t (there at b, not at a) n FULL JOIN t (there at a, not at b) o ON n.k = o.k
//!     change   k   old_v   new_v
//!     insert   1   NULL    x           rows come in any order
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
    Expr, FunctionArg, FunctionArgExpr, Ident, Query, Statement, TableAlias, TableFactor, TableVersion, Value, Visitor,
    VisitorMut,
};
use weft_expr::builtins::{self, Volatility};
use weft_format::{Code, Error, Result};
use weft_kernel::{TableRef, Transaction};
use weft_pgcatalog::quoted;
use weft_walk::{Visit, VisitMut};

use crate::expr::{function_name, relation_argument};
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

/// Whether a text may have such a call.
pub(crate) fn names_any(text: &str) -> bool {
    let text = text.to_lowercase();
    [Kind::Difference, Kind::RowHistory].iter().any(|kind| text.contains(kind.name()))
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
        Kind::RowHistory if args.len() == key.len() + 1 => {
            args[1..].iter().try_for_each(check_key)?;
            row_history(&from, &key, &names, promises_all(&table))?
        }
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

/// A call in FROM: which function, and its arguments; other forms of it are left to who refuses them.
fn called(factor: &TableFactor) -> Option<(Kind, Vec<Expr>)> {
    let (name, args) = match factor {
        TableFactor::Table { name, args: Some(args), with_ordinality: false, .. } if args.settings.is_none() => {
            (name, &args.args)
        }
        TableFactor::Function { name, args, lateral: false, with_ordinality: false, .. } => (name, args),
        _ => return None,
    };
    let parts = name.0.iter().map(|part| part.as_ident().map(fold)).collect::<Option<Vec<String>>>()?;
    let kind = match &parts[..] {
        [name] => Kind::named(name)?,
        [schema, name] if schema == "pg_catalog" => Kind::named(name)?,
        _ => return None,
    };
    let given = args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    Some((kind, given.collect::<Option<Vec<Expr>>>()?))
}

/// Refuses what has no value of its own in the key of a row, or another each time.
fn check_key(expr: &Expr) -> Result<()> {
    struct Parts;
    impl Visitor for Parts {
        type Break = Error;

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Error> {
            let what = match expr {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => format!("the column {expr}"),
                Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => "a subquery".to_owned(),
                Expr::Function(function) => match function_name(function) {
                    name if builtins::volatility(&name) == Volatility::Volatile => {
                        format!("the volatile function {name}")
                    }
                    _ => return ControlFlow::Continue(()),
                },
                _ => return ControlFlow::Continue(()),
            };
            let error = Error::new(
                Code::FeatureNotSupported,
                format!("{what} in the key of weft_row_history is not supported"),
            );
            ControlFlow::Break(error.hint("name one row, by constants or parameters"))
        }
    }
    match expr.visit(&mut Parts) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
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
    let given = others().flat_map(|name| [format!("old_{name}"), format!("new_{name}")]);
    let given: Vec<String> = key.iter().cloned().chain(given).chain(["change".to_owned()]).collect();
    if let Some((at, name)) = given.iter().enumerate().find(|(at, name)| given[..*at].contains(name)) {
        let message = format!("weft_difference would have two columns called \"{name}\"");
        let hint = format!("rename the column \"{}\"", if at + 1 == given.len() { "change" } else { name });
        return Err(Error::new(Code::DuplicateColumn, message).hint(hint));
    }
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

/// Whether a table promises to keep everything: then a version that nothing is known before is that of an insertion.
fn promises_all(table: &TableRef) -> bool {
    table.def.options.get("history").is_none_or(|kept| kept == "all")
}

/// The versions of a row, each column beside what it was before; `is_whole`: nothing of it was forgotten.
fn row_history(from: &str, key: &[String], names: &[String], is_whole: bool) -> Result<Query> {
    let first = if is_whole { "insert" } else { "oldest" };
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
         CASE WHEN follows THEN 'update' WHEN is_first THEN '{first}' ELSE 'insert' END AS change, \
         unnest(ARRAY[{name_list}]) AS column_name, \
         unnest(ARRAY[{old}]) AS old_value, unnest(ARRAY[{new}]) AS new_value \
         FROM (SELECT v.*, coalesce(lag(v.ended) OVER w = v.begun, false) AS follows, \
         lag(v.begun) OVER w IS NULL AS is_first{before} FROM ({versions}) AS v \
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
