//! One execution of a plan, by the engine that it was made for.

use std::borrow::Cow;
use std::sync::Arc;

use sqlparser::ast::Statement;
use weft_expr::Local;
use weft_format::{Code, DataType, Error, Result, Value};

use super::asking::Asking;
use super::catalog;
use super::client::{Client, Embedded};
use super::parts::{params_of, plan_part, run_parts};
use super::plan::plan as make;
use super::planned::{Action, Plan};
use super::work::Work;
use crate::activity::EngineUsed;
use crate::context::StatementContext;
use crate::expansion::expand_views;
use crate::expr::{EvalContext, coerce_param};
use crate::outcome::{Outcome, OutputColumn, Rows, Tag};
use crate::parse::Literals;
use crate::queries::{PreparedQuery, QueryEngine};
use crate::row::RowContext;
use crate::settings::EngineChoice;

/// How many rows an index may offer: beyond, a scan is faster than reading them one by one.
const CANDIDATES_MAX: usize = 4096;

/// One execution of a plan: the statement it was made from, and its parameters.
pub(super) struct Run<'a> {
    pub(super) statement: &'a Statement,
    pub(super) source: &'a str,
    pub(super) params: &'a [Value],
    pub(super) literals: Option<(&'a str, &'a Literals)>,
}

/// What became of an execution.
pub(super) enum Executed {
    /// It gave this.
    Done(Outcome),
    /// Nothing was done: an INSERT of literals whose template the point engine does not run is to be planned as a
    /// whole, for this engine; in the template's plan are NULLs, not the literals.
    Whole(EngineChoice),
}

/// Runs a plan of a statement without a template in a transaction.
pub(super) fn execute(plan: &Plan, run: &Run<'_>, work: &mut Work<'_>, client: &mut dyn Client) -> Result<Outcome> {
    debug_assert!(run.literals.is_none(), "who has literals asks for what became of them");
    match execute_literals(plan, run, work, client)? {
        Executed::Done(outcome) => Ok(outcome),
        Executed::Whole(_) => Err(Error::internal("a statement without literals has a template")),
    }
}

/// Runs a plan in a transaction, perhaps with the literals of its template.
pub(super) fn execute_literals(
    plan: &Plan,
    run: &Run<'_>,
    work: &mut Work<'_>,
    client: &mut dyn Client,
) -> Result<Executed> {
    if run.literals.is_some() && !matches!(plan.action, Action::Row(_)) {
        return Ok(Executed::Whole(plan.engine));
    }
    let params = bring_to_types(run.params, &plan.param_types, &work.local)?;
    let rng = Arc::clone(&work.db.kernel().env().rng);
    work.activity.uses(match &plan.action {
        Action::Row(_) => EngineUsed::Point,
        Action::Catalog(_) => EngineUsed::Catalog,
        _ => EngineUsed::Query,
    });
    if let Action::Row(row) = &plan.action {
        let eval = EvalContext { params: &params, local: &work.local, rng: Some(&*rng) };
        let is_forced = plan.engine == EngineChoice::Point;
        let candidates_max = if is_forced { usize::MAX } else { CANDIDATES_MAX };
        let literals = run.literals;
        let mut context = RowContext { txn: work.txn, eval, cancel: work.cancel, literals, candidates_max };
        if let Some(outcome) = row.execute(&mut context)? {
            return Ok(Executed::Done(outcome));
        }
        if is_forced {
            let message = "the point engine cannot run this statement: its index is newer than the snapshot";
            return Err(Error::new(Code::FeatureNotSupported, message).hint("SET engine = auto"));
        }
        if run.literals.is_some() {
            return Ok(Executed::Whole(EngineChoice::Query));
        }
        let expanded = expand_views(work.txn, run.statement)?;
        let make = || make(work.db, expanded.as_ref(), run.source, work.txn, (EngineChoice::Query, &work.local));
        let other = plan.by_columns(&work.local.style, make)?;
        return execute_literals(&other, run, work, client);
    }
    if let Action::Catalog(query) = &plan.action {
        return catalog::run(query, &params, run.source, work).map(Executed::Done);
    }
    if let Action::Parts(parts) = &plan.action {
        let run_part = |work: &mut Work<'_>, statement: &Statement| {
            let make = |part: &Statement| make(work.db, part, run.source, work.txn, (EngineChoice::Query, &work.local));
            let (made, part) = plan_part(statement, &plan.param_types, make)?;
            let params = params_of(&made, &plan.param_types, &params);
            let run = Run { statement: &part, source: run.source, params: &params, literals: None };
            execute(&made, &run, work, &mut Embedded)
        };
        return run_parts(parts, run.statement, work, run_part).map(Executed::Done);
    }
    let queries = work.db.queries()?;
    work.txn.admit_query()?;
    // Who waited there would hold a query slot and threads that others need to give the lock back.
    work.locks.never_wait(true);
    let outcome = execute_by_columns(plan, &params, work, &*queries, client);
    work.locks.never_wait(false);
    work.txn.end_query();
    outcome.map(Executed::Done)
}

/// Runs what the query engine reads; in a query slot, which statements that lock rows give back before they do.
fn execute_by_columns(
    plan: &Plan,
    params: &[Value],
    work: &mut Work<'_>,
    queries: &dyn QueryEngine,
    client: &mut dyn Client,
) -> Result<Outcome> {
    let asking = Asking {
        db: work.db,
        settings: work.settings,
        cancel: work.cancel,
        local: &work.local,
        permit: work.permit,
        temporary: work.temporary,
        read_only: work.read_only,
    };
    let mut context = StatementContext {
        txn: work.txn,
        engine: queries,
        shapes: work.db.shapes(),
        params,
        param_types: &plan.param_types,
        cancel: work.cancel,
        local: &work.local,
        settings: work.settings,
        views: work.views.clone(),
        catalog: &asking,
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
        Action::Row(_) | Action::Catalog(_) | Action::Parts(_) => unreachable!("these have run above"),
    }
}

/// All rows of a query.
fn read(query: &PreparedQuery, context: &StatementContext<'_>) -> Result<Rows> {
    let collected = context.engine.collect(query, || context.binding(query))?;
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
        let mut batches = context.engine.execute(query, context.binding(query)?)?;
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

pub(super) fn wrong_count(wanted: usize, given: usize) -> Error {
    if given < wanted {
        let message = format!("there is no parameter ${}: the statement has {wanted}, {given} were given", given + 1);
        return Error::new(Code::UndefinedParameter, message);
    }
    Error::new(Code::UndefinedParameter, format!("{given} parameters were given, the statement has {wanted}"))
}
