//! Running a prepared statement: plan, parameters, transaction, engine.

use std::borrow::Cow;
use std::sync::Arc;

use sqlparser::ast::Statement;
use weft_format::{Code, DataType, Error, Result, Value};
use weft_kernel::Transaction;

use super::plan::{Action, Plan, plan};
use super::transaction::Work;
use super::views::expand_views;
use super::{Client, Prepared, Session, calls, catalog, constants, utility};
use crate::activity::EngineUsed;
use crate::context::StatementContext;
use crate::engine::SqlEngine;
use crate::queries::{PreparedQuery, QueryEngine};
use weft_expr::{Local, Style};

use crate::expr::{EvalContext, coerce_param};
use crate::outcome::{Outcome, OutputColumn, Rows, Tag};
use crate::parse::{Literals, Parsed, parse};
use crate::row::RowContext;
use crate::settings::EngineChoice;

impl Session {
    /// Runs a statement; `literals` are the text and the tuples of an INSERT whose template it is.
    pub(super) fn run(
        &mut self,
        prepared: &Prepared,
        params: &[Value],
        literals: Option<(&str, &Literals)>,
        client: &mut dyn Client,
    ) -> Result<Outcome> {
        let statement = match &prepared.parsed {
            Parsed::Sql { statement, .. } if is_planned(statement) => &**statement,
            _ => {
                if !params.is_empty() {
                    return Err(self.fail(wrong_count(0, params.len())));
                }
                return utility::run(self, prepared, client);
            }
        };
        let engine = self.settings.engine;
        let looks_following = !prepared.has_calls() && looks_following(statement);
        self.in_statement_following(looks_following, |work| {
            if prepared.has_calls() {
                return run_called(work, prepared, statement, (params, literals, engine), client);
            }
            let plan = permitted_plan(work, prepared, statement, engine);
            let mut plan = plan.map_err(|error| in_whole_text(error, literals))?;
            if looks_following && !plan.may_follow() && work.txn.follow_no_more()? {
                // The catalog may be another in the new snapshot.
                plan = permitted_plan(work, prepared, statement, engine)?;
            }
            if !plan.is_read_only() {
                work.check_writable(first_word(statement))?;
            }
            execute(&plan, &Run { statement, source: prepared.source(), params, literals }, work, client)
        })
    }

    /// Plans a statement for its columns and parameter types. Statements that are not planned have none.
    pub(super) fn describe(&mut self, prepared: &Prepared) -> Result<()> {
        let Parsed::Sql { statement, .. } = &prepared.parsed else { return Ok(()) };
        if !is_planned(statement) {
            return Ok(());
        }
        let engine = self.settings.engine;
        self.in_statement(|work| {
            if !work.permit.is_superuser() {
                // Who may not look into a schema learns nothing of its tables.
                work.permit.needs(work.txn, statement)?;
            }
            if !prepared.has_calls() {
                return current_plan(work.db, prepared, statement, work.txn, (engine, &work.local)).map(|_| ());
            }
            let called =
                if prepared.has_constants() { constants::described(statement)? } else { (**statement).clone() };
            let called = calls::described(&called)?;
            let called = expand_views(work.txn, &called)?;
            let made = plan(work.db, called.as_ref(), prepared.source(), work.txn, (engine, &work.local));
            let made = Arc::new(or_of_catalog(made, work, prepared, statement, engine)?);
            *prepared.plan.write() = Some(made);
            Ok(())
        })
    }
}

/// Runs a statement whose calls get their values first.
fn run_called(
    work: &mut Work<'_>,
    prepared: &Prepared,
    statement: &Statement,
    (params, literals, engine): (&[Value], Option<(&str, &Literals)>, EngineChoice),
    client: &mut dyn Client,
) -> Result<Outcome> {
    let needs = work.permit.check_statement(work.txn, statement)?;
    let (called, plan) = called_plan(work, prepared, statement, params, engine)?;
    work.permit.check_tables(&needs, plan.tables())?;
    if !plan.is_read_only() {
        work.check_writable(first_word(statement))?;
    }
    execute(&plan, &Run { statement: &called, source: prepared.source(), params, literals }, work, client)
}

/// Runs an INSERT of literals as any other statement: a plan that is not the row engine's has the NULLs of the template
/// in it, not the literals.
fn run_whole(text: &str, engine: EngineChoice, work: &mut Work<'_>, client: &mut dyn Client) -> Result<Outcome> {
    let parsed = parse(text)?.pop().ok_or_else(|| Error::internal("an INSERT of literals is no statement"))?;
    let whole = Prepared::new(text.into(), parsed);
    let Parsed::Sql { statement, .. } = &whole.parsed else {
        return Err(Error::internal("an INSERT of literals is another statement"));
    };
    if whole.has_calls() {
        return run_called(work, &whole, statement, (&[], None, engine), client);
    }
    let plan = permitted_plan(work, &whole, statement, engine)?;
    execute(&plan, &Run { statement, source: text, params: &[], literals: None }, work, client)
}

/// The plan of a statement with the values of its calls in their places, and that statement.
fn called_plan(
    work: &mut Work<'_>,
    prepared: &Prepared,
    statement: &Statement,
    params: &[Value],
    engine: EngineChoice,
) -> Result<(Statement, Plan)> {
    let source = prepared.source();
    let folded = match prepared.has_constants() {
        true => constants::substitute(work, statement, source)?,
        false => Ok(statement.clone()),
    };
    let folded = match folded {
        Err(error) => {
            // An error of the constant says more than what the catalog lacks.
            let made = plan(work.db, statement, source, work.txn, (engine, &work.local)).map_err(|_| error)?;
            return Ok((statement.clone(), made));
        }
        Ok(folded) => folded,
    };
    let called = calls::substitute(work, &folded, source, params)?;
    let called = expand_views(work.txn, &called)?.into_owned();
    let made = plan(work.db, &called, source, work.txn, (engine, &work.local));
    let made = or_of_catalog(made, work, prepared, statement, engine)?;
    Ok((called, made))
}

/// The plan of an engine of tables, or, where these lack something, the catalog's of the statement as it is written.
fn or_of_catalog(
    made: Result<Plan>,
    work: &Work<'_>,
    prepared: &Prepared,
    statement: &Statement,
    engine: EngineChoice,
) -> Result<Plan> {
    match made {
        Err(error) if prepared.has_constants() && engine != EngineChoice::Row && constants::is_lacking(&error) => {
            plan(work.db, statement, prepared.source(), work.txn, (engine, &work.local)).map_err(|_| error)
        }
        made => made,
    }
}

/// Whether a statement goes to an engine.
fn is_planned(statement: &Statement) -> bool {
    matches!(statement, Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_))
}

/// Whether a statement may turn out to be one that follows ([`Plan::may_follow`]).
fn looks_following(statement: &Statement) -> bool {
    match statement {
        Statement::Insert(insert) => insert.returning.is_none() && insert.on.is_none(),
        Statement::Update(update) => update.returning.is_none() && update.from.is_none(),
        _ => false,
    }
}

fn first_word(statement: &Statement) -> &'static str {
    match statement {
        Statement::Insert(_) => "INSERT",
        Statement::Update(_) => "UPDATE",
        Statement::Delete(_) => "DELETE",
        _ => "SELECT",
    }
}

/// The plan of a statement that the session's role may run.
fn permitted_plan(
    work: &Work<'_>,
    prepared: &Prepared,
    statement: &Statement,
    engine: EngineChoice,
) -> Result<Arc<Plan>> {
    if work.permit.is_superuser() {
        return current_plan(work.db, prepared, statement, work.txn, (engine, &work.local));
    }
    let role = work.permit.oid();
    if let Some(kept) = kept_plan(prepared, work.txn, engine, &work.local.style)
        && kept.permits(role)
    {
        return Ok(kept);
    }
    let needs = work.permit.needs(work.txn, statement)?;
    let plan = current_plan(work.db, prepared, statement, work.txn, (engine, &work.local))?;
    work.permit.check(&needs)?;
    work.permit.check_tables(&needs, plan.tables())?;
    if plan.version.is_some() {
        plan.note_permitted(role);
    }
    Ok(plan)
}

/// The kept plan if it is still good (session 2).
fn kept_plan(prepared: &Prepared, txn: &Transaction, engine: EngineChoice, style: &Style) -> Option<Arc<Plan>> {
    let version = txn.catalog_version();
    let kept = prepared.plan.read();
    let kept = kept.as_ref().filter(|_| version.is_some())?;
    let is_good = kept.version == version && kept.engine == engine && kept.path == *txn.search_path();
    let is_good = is_good && kept.suits(style);
    is_good.then(|| Arc::clone(kept))
}

/// The kept plan if it is still good (session 2), else a new one.
fn current_plan(
    db: &SqlEngine,
    prepared: &Prepared,
    statement: &Statement,
    txn: &Transaction,
    (engine, local): (EngineChoice, &Local),
) -> Result<Arc<Plan>> {
    if let Some(kept) = kept_plan(prepared, txn, engine, &local.style) {
        return Ok(kept);
    }
    let expanded = expand_views(txn, statement)?;
    let made = Arc::new(plan(db, expanded.as_ref(), prepared.source(), txn, (engine, local))?);
    // Kept even when it is good for this transaction only: Prepared::columns tells of it, and the version keeps it
    // apart.
    *prepared.plan.write() = Some(Arc::clone(&made));
    Ok(made)
}

/// How many rows an index may offer: beyond, a scan is faster than reading them one by one.
const CANDIDATES_MAX: usize = 4096;

/// One execution of a plan: the statement it was made from, and its parameters.
pub(super) struct Run<'a> {
    pub(super) statement: &'a Statement,
    pub(super) source: &'a str,
    pub(super) params: &'a [Value],
    pub(super) literals: Option<(&'a str, &'a Literals)>,
}

/// Runs a plan in a transaction.
pub(super) fn execute(plan: &Plan, run: &Run<'_>, work: &mut Work<'_>, client: &mut dyn Client) -> Result<Outcome> {
    if let (Some((text, _)), false) = (run.literals, matches!(plan.action, Action::Row(_))) {
        return run_whole(text, plan.engine, work, client);
    }
    let params = bring_to_types(run.params, &plan.param_types, &work.local)?;
    let rng = Arc::clone(&work.db.kernel().env().rng);
    work.activity.uses(match &plan.action {
        Action::Row(_) => EngineUsed::Row,
        Action::Catalog(_) => EngineUsed::Catalog,
        _ => EngineUsed::Column,
    });
    if let Action::Row(row) = &plan.action {
        let eval = EvalContext { params: &params, local: &work.local, rng: Some(&*rng) };
        let is_forced = plan.engine == EngineChoice::Row;
        let candidates_max = if is_forced { usize::MAX } else { CANDIDATES_MAX };
        let literals = run.literals;
        let mut context = RowContext { txn: work.txn, eval, cancel: work.cancel, literals, candidates_max };
        if let Some(outcome) = row.execute(&mut context)? {
            return Ok(outcome);
        }
        if is_forced {
            let message = "the row engine cannot run this statement: its index is newer than the snapshot";
            return Err(Error::new(Code::FeatureNotSupported, message).hint("SET engine = auto"));
        }
        if let Some((text, _)) = run.literals {
            return run_whole(text, EngineChoice::Column, work, client);
        }
        let expanded = expand_views(work.txn, run.statement)?;
        let other = plan.by_columns(work.db, expanded.as_ref(), run.source, work.txn, &work.local)?;
        return execute(&other, run, work, client);
    }
    if let Action::Catalog(query) = &plan.action {
        return catalog::run(query, &params, run.source, work);
    }
    let queries = work.db.queries()?;
    work.txn.admit_query()?;
    let outcome = execute_by_columns(plan, &params, work, &*queries, client);
    work.txn.end_query();
    outcome
}

/// Runs what the column engine reads; in a query slot, which statements that lock rows give back before they do.
fn execute_by_columns(
    plan: &Plan,
    params: &[Value],
    work: &mut Work<'_>,
    queries: &dyn QueryEngine,
    client: &mut dyn Client,
) -> Result<Outcome> {
    let mut context = StatementContext {
        txn: work.txn,
        engine: queries,
        shapes: work.db.shapes(),
        params,
        param_types: &plan.param_types,
        cancel: work.cancel,
        local: &work.local,
        settings: work.settings,
    };
    match &plan.action {
        Action::Query(query) if client.takes_rows() && !context.txn.is_speculative() => {
            let count = stream(query, &context, &plan.columns, client)?;
            Ok(Outcome { tag: Tag::Select(count), columns: Arc::clone(&plan.columns), rows: Rows::default() })
        }
        Action::Query(query) => {
            let rows = read(query, &context)?;
            Ok(Outcome { tag: Tag::Select(rows.len() as u64), columns: Arc::clone(&plan.columns), rows })
        }
        Action::Dml(prepared) => prepared.execute(&mut context),
        Action::Upsert(query, insert) => {
            let rows = read(query, &context)?;
            context.txn.end_query();
            let rng = Arc::clone(&work.db.kernel().env().rng);
            let eval = EvalContext { params, local: &work.local, rng: Some(&*rng) };
            let (literals, candidates_max) = (None, CANDIDATES_MAX);
            insert.execute_rows(
                &rows,
                &mut RowContext { txn: work.txn, eval, cancel: work.cancel, literals, candidates_max },
            )
        }
        Action::Row(_) | Action::Catalog(_) => unreachable!("row plans and queries of the catalog have run above"),
    }
}

/// An error of a template with its position in the whole text.
fn in_whole_text(error: Error, literals: Option<(&str, &Literals)>) -> Error {
    match (error.position(), literals) {
        (Some(position), Some((_, literals))) => error.at(literals.position(position)),
        _ => error,
    }
}

/// All rows of a query.
fn read(query: &PreparedQuery, context: &StatementContext<'_>) -> Result<Rows> {
    let collected = context.engine.collect(query, || context.binding(query.tables()))?;
    let types: Arc<[DataType]> = query.columns().iter().map(|column| column.data_type).collect();
    Ok(Rows::from_collected(types, collected))
}

/// Hands the rows of a query to the client, batch by batch. What is read so cannot conflict, so it is never run again
/// (client 1).
fn stream(
    query: &PreparedQuery,
    context: &StatementContext<'_>,
    columns: &Arc<[OutputColumn]>,
    client: &mut dyn Client,
) -> Result<u64> {
    let types: Arc<[DataType]> = query.columns().iter().map(|column| column.data_type).collect();
    let mut count = 0;
    let mut attempt = |count: &mut u64| -> Result<()> {
        let mut batches = context.engine.execute(query, context.binding(query.tables()))?;
        while let Some(batch) = batches.next_batch()? {
            let rows = Rows::from_batches(Arc::clone(&types), vec![batch]);
            *count += rows.len() as u64;
            client.rows(columns, &rows)?;
        }
        Ok(())
    };
    let mut result = attempt(&mut count);
    if let Err(error) = &result
        && count == 0
        && context.engine.spares_after(error, query)
    {
        result = attempt(&mut count);
    }
    result.map(|()| count)
}

/// Parameters in the types of the plan; borrowed when they have them already.
fn bring_to_types<'a>(params: &'a [Value], types: &[DataType], local: &Local) -> Result<Cow<'a, [Value]>> {
    if params.len() != types.len() {
        return Err(wrong_count(types.len(), params.len()));
    }
    let fits = |(value, data_type): (&Value, &DataType)| match (value, data_type) {
        (Value::Null, _) | (Value::Bool(_), DataType::Boolean) | (Value::Int(_), DataType::BigInt) => true,
        (Value::Float(_), DataType::DoublePrecision) => true,
        (Value::Text(text), DataType::Text) => !text.contains('\0'),
        (Value::Int(v), DataType::Integer) => i32::try_from(*v).is_ok(),
        _ => false,
    };
    if params.iter().zip(types).all(fits) {
        return Ok(Cow::Borrowed(params));
    }
    let cast = params.iter().zip(types).enumerate();
    cast.map(|(index, (value, data_type))| coerce_param(value, *data_type, index, local)).collect()
}

fn wrong_count(wanted: usize, given: usize) -> Error {
    if given < wanted {
        let message = format!("there is no parameter ${}: the statement has {wanted}, {given} were given", given + 1);
        return Error::new(Code::UndefinedParameter, message);
    }
    Error::new(Code::UndefinedParameter, format!("{given} parameters were given, the statement has {wanted}"))
}
