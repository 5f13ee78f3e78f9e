//! WITH queries that write.
//!
//! ```text
//!   WITH gone AS (DELETE FROM t WHERE a < 7 RETURNING *), n AS (SELECT count(*) AS c FROM t)
//!   INSERT INTO old SELECT gone.*, c FROM gone, n
//!
//!   gone     run: DELETE ... RETURNING *                         3 rows
//!   main     run: WITH gone AS (SELECT * FROM (VALUES ...) ...), n AS (...) INSERT ...
//! ```
//!
//! 1. All parts read what the transaction saw before the first of them ran: none sees what another writes, but for
//!    what it returns.
//! 2. Parts run in the order in which they are written, each once, whether or not the others name it.
//! 3. One part at most changes or deletes rows of a table: PostgreSQL does not say which of two would win.

use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{Cte, Query, SetExpr, Statement, TableFactor, Visit, Visitor, With};
use weft_format::{Code, DataType, Error, Result, TableId, Value};
use weft_kernel::{TableRef, Transaction};

use super::planned::{Action, Parts, Plan};
use super::views::expand_views;
use super::work::Work;
use crate::binding::Views;
use crate::expr::{cast_to, literal};
use crate::outcome::{Outcome, OutputColumn, Rows};
use crate::parse::{Parsed, fold, has_writing_parts, parse, parse_expression, statement_of, table_name, writes};

/// How many values the WITH queries of a statement may return.
const VALUES_MAX: usize = 200_000;

/// Plans the parts, as if none returned rows; `make` plans one.
pub(super) fn plan_parts(
    query: &Query,
    txn: &Transaction,
    mut make: impl FnMut(&Statement) -> Result<Plan>,
) -> Result<Parts> {
    let (mut known, mut tables, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    let mut columns: Arc<[OutputColumn]> = Arc::new([]);
    each_part(query, |statement, _| {
        let made = make(&*expand_views(txn, statement)?)?;
        note_types(&mut known, &made);
        note_changed(&mut changed, statement, &made)?;
        tables.extend(read_and_written(&made));
        columns = Arc::clone(&made.columns);
        Ok((Arc::clone(&made.columns), Rows::default()))
    })?;
    let param_types = known.into_iter().map(|known| known.unwrap_or(DataType::Text)).collect();
    Ok(Parts { columns, param_types, tables })
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
    let mut before = With { cte_tables: Vec::new(), ..with.clone() };
    let mut silent: Vec<String> = Vec::new();
    let mut values = 0;
    for table in &with.cte_tables {
        if !writes(&table.query) {
            check_names(&Statement::Query(table.query.clone()), &silent)?;
            before.cte_tables.push(table.clone());
            continue;
        }
        if has_writing_parts(&Statement::Query(table.query.clone())) {
            let message = "WITH clause containing a data-modifying statement must be at the top level";
            return Err(Error::new(Code::FeatureNotSupported, message));
        }
        let statement = statement_of((*table.query).clone(), some(&before));
        check_names(&statement, &silent)?;
        let (columns, rows) = each(&statement, false)?;
        values += rows.len() * columns.len();
        if values > VALUES_MAX {
            let message = format!("the WITH queries that write return more than {VALUES_MAX} values");
            let error = Error::new(Code::ProgramLimit, message);
            return Err(error.hint("return fewer columns or rows, or use two statements in a transaction"));
        }
        if columns.is_empty() {
            silent.push(fold(&table.alias.name));
            continue;
        }
        before.cte_tables.push(Cte { query: Box::new(query_of(&columns, &rows)?), ..table.clone() });
    }
    let main = Query { with: some(&before), ..query.clone() };
    let main = if writes(&main) { statement_of(main, None) } else { Statement::Query(Box::new(main)) };
    check_names(&main, &silent)?;
    each(&main, true).map(|_| ())
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
fn query_of(columns: &[OutputColumn], rows: &Rows) -> Result<Query> {
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
    let null = |column: &OutputColumn| cast_to(parse_expression("NULL")?, column.data_type);
    let mut push = |content: Vec<sqlparser::ast::Expr>| {
        let mut row = like.clone();
        row.content = content;
        list.rows.push(row);
    };
    if rows.is_empty() {
        push(columns.iter().map(null).collect::<Result<_>>()?);
    }
    for row in rows.iter() {
        let value = |(value, column): (&Value, &OutputColumn)| match value {
            Value::Null => null(column),
            value => cast_to(literal(value, column.data_type)?, column.data_type),
        };
        push(row.iter().zip(columns).map(value).collect::<Result<_>>()?);
    }
    Ok(*query)
}

/// The types of parameters, as far as a part says them.
fn note_types(known: &mut Vec<Option<DataType>>, made: &Plan) {
    let of_part: Vec<Option<DataType>> = match &made.action {
        Action::Query(query) => query.param_types().to_vec(),
        Action::Dml(write) => write.param_types().to_vec(),
        _ => made.param_types.iter().map(|known| (*known != DataType::Text).then_some(*known)).collect(),
    };
    for (at, data_type) in of_part.into_iter().enumerate() {
        if at == known.len() {
            known.push(None);
        }
        known[at] = known[at].or(data_type);
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

/// Notes the table whose rows a part changes (parts 3).
fn note_changed(changed: &mut Vec<TableId>, statement: &Statement, made: &Plan) -> Result<()> {
    let changes = match statement {
        Statement::Insert(insert) => insert.on.is_some(),
        Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_) => true,
        Statement::Query(query) => writes(query),
        _ => false,
    };
    let table = match &made.action {
        Action::Dml(write) => Some(write.table()),
        Action::Row(row) | Action::Upsert(_, row) => row.table(),
        _ => None,
    };
    let Some(table) = table.filter(|_| changes) else { return Ok(()) };
    if changed.contains(&table.id()) {
        let message = format!("changing rows of \"{}\" twice in one statement is not supported", table.def.name);
        return Err(Error::new(Code::FeatureNotSupported, message).hint("use two statements in a transaction"));
    }
    changed.push(table.id());
    Ok(())
}
