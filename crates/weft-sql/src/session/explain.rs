//! EXPLAIN: which engine runs a statement, and how.

use std::sync::Arc;

use sqlparser::ast::{Statement, UtilityOption};
use weft_format::{DataType, Result};

use super::Session;
use super::answers::{text_rows, unsupported};
use super::client::Embedded;
use super::execute::{Run, execute};
use super::plan::plan;
use super::planned::{Action, Plan};
use super::work::{Work, with_context};
use crate::outcome::{Outcome, OutputColumn, Tag};
use crate::settings::EngineChoice;

/// The columns of EXPLAIN's result.
pub(super) fn columns() -> Arc<[OutputColumn]> {
    Arc::new([OutputColumn::new("QUERY PLAN", DataType::Text)])
}

/// EXPLAIN (ANALYZE, ...): whether ANALYZE is on.
pub(super) fn explain_options(options: &[UtilityOption]) -> Result<bool> {
    let mut analyze = false;
    for option in options {
        let argument = option.arg.as_ref().map(|arg| arg.to_string().to_lowercase());
        let is_on = !matches!(argument.as_deref(), Some("false" | "off" | "0"));
        match option.name.value.to_lowercase().as_str() {
            "analyze" => analyze = is_on,
            "verbose" | "costs" | "timing" | "summary" | "buffers" | "settings" | "wal" => {}
            "format" if argument.as_deref() == Some("text") => {}
            other => return Err(unsupported(&format!("the EXPLAIN option {other}"))),
        }
    }
    Ok(analyze)
}

/// The plan of a statement, one line per row; with `analyze` it is run, too.
pub(super) fn explain(session: &mut Session, statement: &Statement, analyze: bool, source: &str) -> Result<Outcome> {
    let engine = session.settings.engine;
    let lines = session.in_statement(|work| {
        if !matches!(
            statement,
            Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_)
        ) {
            return Err(
                unsupported("EXPLAIN of this statement").hint("EXPLAIN takes SELECT, INSERT, UPDATE and DELETE")
            );
        }
        let needs = work.permit.check_statement(work.txn, statement)?;
        let statement = &*super::views::expand_views(work.txn, statement)?;
        let made = plan(work.db, statement, source, work.txn, (engine, &work.local))?;
        work.permit.check_tables(&needs, made.tables())?;
        if analyze && !made.is_read_only() {
            work.check_writable("EXPLAIN ANALYZE of a statement that writes")?;
        }
        explain_plan(&made, analyze, &Run { statement, source, params: &[], literals: None }, work)
    })?;
    let mut outcome = text_rows(&["QUERY PLAN"], lines);
    outcome.tag = Tag::Done("EXPLAIN");
    Ok(outcome)
}

fn explain_plan(made: &Plan, analyze: bool, run: &Run<'_>, work: &mut Work<'_>) -> Result<Vec<String>> {
    let text = match &made.action {
        Action::Row(row) => {
            let mut lines = row.explain();
            if made.engine == EngineChoice::Query {
                lines.push("  INSERT ... VALUES has this path only, whatever engine is forced".into());
            }
            if analyze {
                lines.push(format!("  {}", timed(made, run, work)?));
            }
            return Ok(lines);
        }
        Action::Catalog(_) => {
            let mut text = String::from("Catalog: rows of what the transaction sees");
            if analyze {
                text.push_str(&format!("\n  {}", timed(made, run, work)?));
            }
            text
        }
        Action::Query(query) => with_context(work, |context| {
            let binding = context.binding(query)?;
            context.engine.explain(query, binding, analyze)
        })?,
        Action::Parts(_) => return Err(unsupported("EXPLAIN of a statement whose WITH queries write")),
        Action::Dml(_) | Action::Upsert(..) => {
            let query = match &made.action {
                Action::Dml(prepared) => prepared.query(),
                Action::Upsert(query, _) => query,
                _ => unreachable!("the outer match has told them apart"),
            };
            let read = with_context(work, |context| {
                let binding = context.binding(query)?;
                context.engine.explain(query, binding, false)
            })?;
            let mut text = format!("Query engine: the rows to write are read by\n{read}");
            if analyze {
                text.push_str(&format!("\n{}", timed(made, run, work)?));
            }
            text
        }
    };
    Ok(text.lines().map(str::to_owned).collect())
}

/// Runs a plan; how many rows and how long.
fn timed(made: &Plan, run: &Run<'_>, work: &mut Work<'_>) -> Result<String> {
    let clock = Arc::clone(&work.db.kernel().env().clock);
    let start = clock.monotonic_nanos();
    let outcome = execute(made, run, work, &mut Embedded)?;
    let micros = (clock.monotonic_nanos() - start) as f64 / 1000.0;
    Ok(format!("Rows: {}, time: {micros:.1} us", outcome.tag.row_count()))
}
