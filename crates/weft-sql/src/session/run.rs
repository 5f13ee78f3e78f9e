//! Running a prepared statement: plan, parameters, transaction, engine.

use std::sync::Arc;

use sqlparser::ast::{Query, SetExpr, Statement};
use weft_expr::{Local, Style};
use weft_format::{Error, Result, Value};
use weft_kernel::Transaction;

use super::asks::is_planned;
use super::client::{Client, Embedded};
use super::execute::{Executed, Run, execute_literals, wrong_count};
use super::plan::plan;
use super::planned::Plan;
use super::statement::Prepared;
use super::work::Work;
use super::{Session, alone, calls, constants, setval_rows, utility};
use crate::engine::SqlEngine;
use crate::expansion::expand_views;
use crate::outcome::Outcome;
use crate::parse::{Literals, Parsed, parse};
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
                if !params.is_empty() && prepared.query().is_none() {
                    return Err(self.fail(wrong_count(0, params.len())));
                }
                return utility::run(self, prepared, params, client);
            }
        };
        let engine = self.settings.engine;
        let looks_following = !prepared.has_calls() && looks_following(statement);
        let outcome = self.in_statement_following(looks_following, |work| {
            if let Some(call) = alone::call_of(work.txn, statement)? {
                work.permit.check_statement(work.txn, statement)?;
                return run_alone(work, &call, params, engine, 0);
            }
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
            execute(&plan, Run { statement, source: prepared.source(), params, literals }, work, client)
        });
        if prepared.has_calls() {
            utility::change_settings(self, outcome.is_ok())?;
        }
        outcome
    }

    /// Plans a statement for its columns and parameter types. Statements that are not planned have none.
    pub(super) fn describe(&mut self, prepared: &Prepared) -> Result<()> {
        let Parsed::Sql { statement, .. } = &prepared.parsed else { return Ok(()) };
        if let Some(query) = prepared.query() {
            return self.describe(query);
        }
        if !is_planned(statement) {
            return Ok(());
        }
        let engine = self.settings.engine;
        self.in_statement(|work| {
            if !work.permit.is_superuser() {
                // Who may not look into a schema learns nothing of its tables.
                work.permit.needs(work.txn, statement)?;
            }
            if let Some(call) = alone::call_of(work.txn, statement)? {
                let described = alone::described(&call)?;
                let described = expand_views(work.txn, &described)?;
                let made = plan(work.db, &described, prepared.source(), work.txn, (engine, &work.local))?;
                *prepared.plan.write() = Some(Arc::new(made));
                return Ok(());
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

/// Runs a plan; one of a template that does not run it with its whole text.
fn execute(plan: &Plan, run: Run<'_>, work: &mut Work<'_>, client: &mut dyn Client) -> Result<Outcome> {
    match (execute_literals(plan, &run, work, client)?, run.literals) {
        (Executed::Done(outcome), _) => Ok(outcome),
        (Executed::Whole(engine), Some((text, _))) => run_whole(text, engine, work, client),
        (Executed::Whole(_), None) => Err(Error::internal("a statement without literals has a template")),
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
    if let Some(asked) = setval_rows::arguments_of(statement) {
        return set_for_rows(work, prepared.source(), asked, (params, engine));
    }
    let needs = work.permit.check_statement(work.txn, statement)?;
    let (called, plan) = called_plan(work, prepared, statement, params, engine)?;
    work.permit.check_tables(&needs, plan.tables())?;
    if !plan.is_read_only() {
        work.check_writable(first_word(statement))?;
    }
    execute(&plan, Run { statement: &called, source: prepared.source(), params, literals }, work, client)
}

/// Runs a call of a function that is a statement of its own; what its statements need was tested.
fn run_alone(
    work: &mut Work<'_>,
    call: &alone::Call,
    params: &[Value],
    engine: EngineChoice,
    depth: usize,
) -> Result<Outcome> {
    let mut one = |work: &mut Work<'_>, prepared: &Prepared, params: &[Value]| {
        let Parsed::Sql { statement, .. } = &prepared.parsed else {
            return Err(Error::internal("a statement of a function is another"));
        };
        if let Some(call) = alone::call_of(work.txn, statement)? {
            return run_alone(work, &call, params, engine, depth + 1);
        }
        let (called, plan) = called_plan(work, prepared, statement, params, engine)?;
        if !plan.is_read_only() {
            work.check_writable(first_word(statement))?;
        }
        execute(
            &plan,
            Run { statement: &called, source: prepared.source(), params, literals: None },
            work,
            &mut Embedded,
        )
    };
    alone::run(work, call, params, (depth, &mut one))
}

/// Runs setval for each row of a query.
fn set_for_rows(
    work: &mut Work<'_>,
    source: &Arc<str>,
    asked: setval_rows::Asked,
    (params, engine): (&[Value], EngineChoice),
) -> Result<Outcome> {
    let name = asked.name.clone();
    let mut found = |statement: &Statement, params: &[Value]| {
        let parsed = Parsed::Sql { statement: Box::new(statement.clone()), method: None };
        let query = Prepared::new(Arc::clone(source), parsed);
        run_called(work, &query, statement, (params, None, engine), &mut Embedded)
    };
    let rows = match &asked.which {
        Some(which) => {
            let which = found(which, &[])?;
            asked.rows_of(&which)
        }
        None => asked.rows,
    };
    let rows = found(&rows, params)?;
    setval_rows::set(work, &rows, &name)
}

/// Runs an INSERT of literals as any other statement: a plan that is not the point engine's has the NULLs of the
/// template in it, not the literals.
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
    execute(&plan, Run { statement, source: text, params: &[], literals: None }, work, client)
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
        Err(error) if prepared.has_constants() && engine != EngineChoice::Point && constants::is_lacking(&error) => {
            plan(work.db, statement, prepared.source(), work.txn, (engine, &work.local)).map_err(|_| error)
        }
        made => made,
    }
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
        Statement::Merge(_) => "MERGE",
        Statement::Query(query) => behind_with(query),
        _ => "SELECT",
    }
}

/// What a query does that writes behind WITH.
fn behind_with(query: &Query) -> &'static str {
    match &*query.body {
        SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner) | SetExpr::Merge(inner) => {
            first_word(inner)
        }
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

/// An error of a template with its position in the whole text.
fn in_whole_text(error: Error, literals: Option<(&str, &Literals)>) -> Error {
    match (error.position(), literals) {
        (Some(position), Some((_, literals))) => error.at(literals.position(position)),
        _ => error,
    }
}
