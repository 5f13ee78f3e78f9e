//! WITH queries that write, or lock rows.
//!
//! ```text
//!   WITH gone AS (DELETE FROM t WHERE a < 7 RETURNING *), n AS (SELECT count(*) AS c FROM t)
//!   INSERT INTO old SELECT gone.*, c FROM gone, n
//!
//!   gone     run: DELETE ... RETURNING *                         3 rows
//!   main     run: WITH gone AS (SELECT * FROM (VALUES ...) ...), n AS (...) INSERT ...
//! ```
//!
//! 1. The queries of all parts read what the transaction saw before the first of them ran: none sees what another
//!    writes, but for what it returns. What looks rows up while it writes (ON CONFLICT, unique and foreign keys) sees
//!    what the parts before have written.
//! 2. Parts that write run in the order in which they are written, each once, whether or not the others name it; the
//!    main one runs last. A WITH query that only reads is no part: its text stands in every part that names it and is
//!    computed there, so that one with a volatile function may stand in one part only.
//!    A WITH query with FOR UPDATE or its kin is a part: it locks its rows before the others read theirs.
//! 3. One part at most changes or deletes rows of a table, and one with ON CONFLICT DO UPDATE is the only one that
//!    writes to its table: it would see their rows (1), and PostgreSQL does not say which of two changes would win.
//! 4. A parameter has one type in all parts: the first that a part says.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{
    Cte, Expr, OnConflictAction, OnInsert, Query, SetExpr, Statement, TableFactor, Value as SqlValue, Visitor, With,
};
use weft_expr::builtins::{self, Volatility};
use weft_format::{Code, DataType, Error, Result, TableId, Value};
use weft_kernel::{TableRef, Transaction};
use weft_walk::{Visit, visit_expressions};

use super::planned::{Action, Parts, Plan};
use super::typed::write_casts;
use super::work::Work;
use crate::binding::Views;
use crate::expansion::expand_views;
use crate::expr::{function_name, text_literal};
use crate::outcome::{Outcome, OutputColumn, Rows};
use crate::parse::{Parsed, fold, has_writing_parts, is_part, parse, statement_of, table_name, writes};

/// How many values the WITH queries of a statement may return to others.
const VALUES_MAX: usize = 200_000;
/// How long these may be together, as text.
const VALUES_BYTES_MAX: usize = 16 << 20;
/// Functions that are computed for each row, apart from built-in ones that say so.
const VOLATILE: &[&str] = &[
    "clock_timestamp",
    "currval",
    "gen_random_uuid",
    "lastval",
    "nextval",
    "pg_sleep",
    "random",
    "set_config",
    "setval",
    "timeofday",
    "uuid",
];

/// Plans the parts, as if none returned rows; `make` plans one.
pub(super) fn plan_parts(query: &Query, txn: &Transaction, make: impl Fn(&Statement) -> Result<Plan>) -> Result<Parts> {
    check_volatile(query, &names_of_each(query))?;
    let (mut known, mut tables, mut written) = (Vec::new(), Vec::new(), Vec::new());
    let mut columns: Arc<[OutputColumn]> = Arc::new([]);
    each_part(query, |statement, _| {
        let statement = expand_views(txn, statement)?;
        let made = make(&statement)?;
        note_types(&mut known, &statement, &made);
        note_written(&mut written, &statement, &made)?;
        tables.extend(read_and_written(&made));
        columns = Arc::clone(&made.columns);
        Ok((Arc::clone(&made.columns), Rows::default()))
    })?;
    let param_types: Vec<DataType> = known.into_iter().map(|known| known.unwrap_or(DataType::Text)).collect();
    if !param_types.is_empty() {
        each_part(query, |statement, _| {
            let (made, _) = plan_part(&*expand_views(txn, statement)?, &param_types, &make)?;
            columns = Arc::clone(&made.columns);
            Ok((Arc::clone(&made.columns), Rows::default()))
        })?;
    }
    Ok(Parts { columns, param_types, tables })
}

/// Plans a part whose parameters have the types of the whole statement's (parts 4); the plan, and what it is of.
pub(super) fn plan_part<'s>(
    part: &'s Statement,
    types: &[DataType],
    make: impl Fn(&Statement) -> Result<Plan>,
) -> Result<(Plan, Cow<'s, Statement>)> {
    let made = make(part)?;
    if types.is_empty() {
        return Ok((made, Cow::Borrowed(part)));
    }
    let used = placeholders(part);
    let types = types.iter().enumerate().map(|(at, known)| used.contains(&at).then_some(*known));
    let mut typed = part.clone();
    if !write_casts(&mut typed, &types.collect::<Vec<_>>(), &made.param_types) {
        return Ok((made, Cow::Borrowed(part)));
    }
    Ok((make(&typed)?, Cow::Owned(typed)))
}

/// The parameters of a part's plan, of those of the whole statement, which have these types: one that the plan takes
/// for a text, or does not have, is its text.
pub(super) fn params_of(made: &Plan, types: &[DataType], params: &[Value]) -> Vec<Value> {
    let given = made.param_types.iter().zip(types).zip(params);
    given
        .map(|((to, from), value)| match value {
            Value::Null => Value::Null,
            value if to.is_text() && !from.is_text() => {
                Value::Text(weft_expr::text::print(value.as_ref(), *from).into())
            }
            value => value.clone(),
        })
        .collect()
}

/// The parameters that a statement has, from 0.
fn placeholders(statement: &Statement) -> HashSet<usize> {
    let mut found = HashSet::new();
    let _ = visit_expressions(statement, |expr| {
        if let Expr::Value(value) = expr
            && let SqlValue::Placeholder(name) = &value.value
            && let Ok(number) = name.trim_start_matches('$').parse::<usize>()
        {
            found.insert(number.wrapping_sub(1));
        }
        ControlFlow::<()>::Continue(())
    });
    found
}

/// Runs the parts; what the last one gives. `execute` plans and runs one.
pub(super) fn run_parts(
    parts: &Parts,
    statement: &Statement,
    work: &mut Work<'_>,
    mut execute: impl FnMut(&mut Work<'_>, &Statement) -> Result<Outcome>,
) -> Result<Outcome> {
    let Statement::Query(query) = statement else { return Err(Error::internal("parts are of a query")) };
    let mut views = Views::with_capacity(parts.tables.len());
    for table in &parts.tables {
        views.insert(table.def.id, (table.clone(), work.txn.view(table)?));
    }
    work.views = Some(Arc::new(views));
    let mut last = None;
    let done = each_part(query, |statement, is_main| {
        let expanded = expand_views(work.txn, statement)?.into_owned();
        let outcome = execute(work, &expanded)?;
        let (columns, rows) = (Arc::clone(&outcome.columns), outcome.rows.clone());
        last = is_main.then_some(outcome);
        Ok((columns, rows))
    });
    work.views = None;
    done?;
    last.ok_or_else(|| Error::internal("a statement has a main part"))
}

/// Calls `each` with the statement of each part that writes and at last with the main one, behind the WITH queries
/// before it; it says what the part returns.
fn each_part(
    query: &Query,
    mut each: impl FnMut(&Statement, bool) -> Result<(Arc<[OutputColumn]>, Rows)>,
) -> Result<()> {
    let Some(with) = &query.with else { return Err(Error::internal("parts are those of WITH")) };
    let named = names_of_each(query);
    let mut before = With { cte_tables: Vec::new(), ..with.clone() };
    let mut silent: Vec<String> = Vec::new();
    let mut returned = Returned::default();
    for (at, table) in with.cte_tables.iter().enumerate() {
        if !is_part(&table.query) {
            check_names(&Statement::Query(table.query.clone()), &silent)?;
            before.cte_tables.push(table.clone());
            continue;
        }
        if has_writing_parts(&table.query) {
            let message = "WITH clause containing a data-modifying statement must be at the top level";
            return Err(Error::new(Code::FeatureNotSupported, message));
        }
        let statement = statement_of((*table.query).clone(), some(&before));
        check_names(&statement, &silent)?;
        let (columns, rows) = each(&statement, false)?;
        let name = fold(&table.alias.name);
        if columns.is_empty() {
            silent.push(name);
            continue;
        }
        let is_read = named[at + 1..].iter().any(|names| names.contains(&name));
        let rows = if is_read { rows } else { Rows::default() };
        before.cte_tables.push(Cte { query: Box::new(query_of(&columns, &rows, &mut returned)?), ..table.clone() });
    }
    let main = Query { with: some(&before), ..query.clone() };
    let main = if writes(&main) { statement_of(main, None) } else { Statement::Query(Box::new(main)) };
    check_names(&main, &silent)?;
    each(&main, true).map(|_| ())
}

/// How much the parts have returned to others.
#[derive(Default)]
struct Returned {
    values: usize,
    bytes: usize,
}

impl Returned {
    /// Adds a value that is as long as text; an error when these are too many, or too long.
    fn add(&mut self, bytes: usize) -> Result<()> {
        self.values += 1;
        self.bytes += bytes;
        let passed = if self.values > VALUES_MAX {
            format!("{VALUES_MAX} values")
        } else if self.bytes > VALUES_BYTES_MAX {
            format!("{} MB of values", VALUES_BYTES_MAX >> 20)
        } else {
            return Ok(());
        };
        let error = Error::new(Code::ProgramLimit, format!("the WITH queries that write return more than {passed}"));
        Err(error.hint("return fewer columns or rows, or use two statements in a transaction"))
    }
}

/// The names of tables in each WITH query, and at last in what is behind them.
fn names_of_each(query: &Query) -> Vec<HashSet<String>> {
    let main = Query { with: None, ..query.clone() };
    let queries = query.with.iter().flat_map(|with| &with.cte_tables).map(|table| &*table.query);
    queries.chain([&main]).map(names_in).collect()
}

fn names_in(query: &Query) -> HashSet<String> {
    struct Names(HashSet<String>);
    impl Visitor for Names {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            if let TableFactor::Table { name, .. } = factor {
                self.0.extend(table_name(name));
            }
            ControlFlow::Continue(())
        }
    }
    let mut names = Names(HashSet::new());
    let _ = query.visit(&mut names);
    names.0
}

/// An error when a WITH query that only reads has a volatile function and would stand in two parts (parts 2); `named`
/// are the names in each query.
fn check_volatile(query: &Query, named: &[HashSet<String>]) -> Result<()> {
    let tables = query.with.as_ref().map_or(&[][..], |with| &with.cte_tables);
    // By name: which volatile queries the text of one that only reads has, itself among them.
    let mut within: HashMap<String, BTreeSet<usize>> = HashMap::new();
    let mut taken = HashSet::new();
    for (at, names) in named.iter().enumerate() {
        let mut held: BTreeSet<usize> = names.iter().filter_map(|name| within.get(name)).flatten().copied().collect();
        if let Some(table) = tables.get(at).filter(|table| !is_part(&table.query)) {
            if is_volatile(&table.query) {
                held.insert(at);
            }
            within.insert(fold(&table.alias.name), held);
            continue;
        }
        if let Some(twice) = held.into_iter().find(|of| !taken.insert(*of)) {
            let name = fold(&tables[twice].alias.name);
            let message =
                format!("WITH query \"{name}\" calls a volatile function, and two parts of the statement name it");
            let error = Error::new(Code::FeatureNotSupported, message);
            return Err(error.hint("put its rows into a temporary table first"));
        }
    }
    Ok(())
}

/// Whether a query calls a function that is computed for each row.
fn is_volatile(query: &Query) -> bool {
    struct Calls;
    impl Visitor for Calls {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(function) => found(&function_name(function)),
                _ => ControlFlow::Continue(()),
            }
        }

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            match factor {
                TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } => {
                    found(&name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    fn found(name: &str) -> ControlFlow<()> {
        let is_volatile = VOLATILE.contains(&name) || builtins::volatility(name) == Volatility::Volatile;
        if is_volatile { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
    query.visit(&mut Calls).is_break()
}

fn some(with: &With) -> Option<With> {
    (!with.cte_tables.is_empty()).then(|| with.clone())
}

/// An error when a statement names a part that returns nothing.
fn check_names(statement: &Statement, silent: &[String]) -> Result<()> {
    struct Names<'a>(&'a [String]);
    impl Visitor for Names<'_> {
        type Break = String;

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<String> {
            let TableFactor::Table { name, .. } = factor else { return ControlFlow::Continue(()) };
            match table_name(name).ok().filter(|name| self.0.contains(name)) {
                Some(name) => ControlFlow::Break(name),
                None => ControlFlow::Continue(()),
            }
        }
    }
    if silent.is_empty() {
        return Ok(());
    }
    match statement.visit(&mut Names(silent)) {
        ControlFlow::Break(name) => {
            let message = format!("WITH query \"{name}\" does not have a RETURNING clause");
            Err(Error::new(Code::FeatureNotSupported, message))
        }
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// `SELECT * FROM (VALUES ...) AS part (...)`
fn query_of(columns: &[OutputColumn], rows: &Rows, returned: &mut Returned) -> Result<Query> {
    let names: Vec<String> = columns.iter().map(|column| format!("\"{}\"", column.name.replace('"', "\"\""))).collect();
    let filter = if rows.is_empty() { " WHERE false" } else { "" };
    let sql = format!("SELECT * FROM (VALUES (NULL)) AS part ({}){filter}", names.join(", "));
    let damaged = || Error::internal("a query of constants is one");
    let Some(Parsed::Sql { statement, .. }) = parse(&sql)?.pop() else { return Err(damaged()) };
    let Statement::Query(mut query) = *statement else { return Err(damaged()) };
    let SetExpr::Select(select) = &mut *query.body else { return Err(damaged()) };
    let TableFactor::Derived { subquery, .. } = &mut select.from[0].relation else { return Err(damaged()) };
    let SetExpr::Values(list) = &mut *subquery.body else { return Err(damaged()) };
    let Some(like) = list.rows.pop() else { return Err(damaged()) };
    let mut push = |content: Vec<sqlparser::ast::Expr>| {
        let mut row = like.clone();
        row.content = content;
        list.rows.push(row);
    };
    if rows.is_empty() {
        push(columns.iter().map(|column| text_literal(None, column.data_type)).collect::<Result<_>>()?);
    }
    for row in rows.iter() {
        let value = |(value, column): (&Value, &OutputColumn)| {
            let text = (!value.is_null()).then(|| weft_expr::text::print(value.as_ref(), column.data_type));
            returned.add(text.as_ref().map_or(0, String::len))?;
            text_literal(text, column.data_type)
        };
        push(row.iter().zip(columns).map(value).collect::<Result<_>>()?);
    }
    Ok(*query)
}

/// The types of parameters, as far as a part says them.
fn note_types(known: &mut Vec<Option<DataType>>, part: &Statement, made: &Plan) {
    let used = placeholders(part);
    let of_part: Vec<Option<DataType>> = match &made.action {
        Action::Query(query) => query.param_types().to_vec(),
        Action::Dml(write) => write.param_types().to_vec(),
        _ => made.param_types.iter().copied().map(Some).collect(),
    };
    for (at, data_type) in of_part.into_iter().enumerate() {
        if at == known.len() {
            known.push(None);
        }
        known[at] = known[at].or(data_type.filter(|_| used.contains(&at)));
    }
}

fn read_and_written(made: &Plan) -> Vec<TableRef> {
    let queries = match &made.action {
        Action::Query(query) | Action::Upsert(query, _) => Some(query),
        Action::Dml(write) => Some(write.query()),
        _ => None,
    };
    let named = queries.into_iter().flat_map(|query| query.tables()).cloned();
    named.chain(made.tables().into_iter().cloned()).collect()
}

/// What a part does to the rows of a table.
struct Written {
    table: TableId,
    /// It changes or deletes rows that are there, or does nothing for their sake.
    changes: bool,
    /// It has ON CONFLICT DO UPDATE.
    upserts: bool,
}

/// Notes the table that a part writes to (parts 3).
fn note_written(written: &mut Vec<Written>, part: &Statement, made: &Plan) -> Result<()> {
    let (changes, upserts) = match part {
        Statement::Insert(insert) => (insert.on.is_some(), updates(insert.on.as_ref())),
        Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_) => (true, false),
        Statement::Query(query) if writes(query) => (true, false),
        _ => return Ok(()),
    };
    let table = match &made.action {
        Action::Dml(write) => Some(write.table()),
        Action::Row(row) | Action::Upsert(_, row) => row.table(),
        _ => None,
    };
    let Some(table) = table else { return Ok(()) };
    let clashes = |other: &Written| changes && other.changes || upserts || other.upserts;
    if written.iter().filter(|other| other.table == table.id()).any(clashes) {
        let message = format!("changing rows of \"{}\" twice in one statement is not supported", table.def.name);
        return Err(Error::new(Code::FeatureNotSupported, message).hint("use two statements in a transaction"));
    }
    written.push(Written { table: table.id(), changes, upserts });
    Ok(())
}

/// Whether a conflict is answered with an update.
fn updates(on: Option<&OnInsert>) -> bool {
    matches!(on, Some(OnInsert::OnConflict(conflict)) if matches!(conflict.action, OnConflictAction::DoUpdate(_)))
}
