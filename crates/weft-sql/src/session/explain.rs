//! EXPLAIN: which engine runs a statement, and how.

use std::iter::Peekable;
use std::sync::Arc;

use sqlparser::ast::{Statement, UtilityOption};
use weft_expr::json::quote;
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
pub(super) fn columns(data_type: DataType) -> Arc<[OutputColumn]> {
    Arc::new([OutputColumn::new("QUERY PLAN", data_type)])
}

/// What EXPLAIN is asked for in parentheses.
#[derive(Default)]
pub(super) struct Options {
    pub(super) analyze: bool,
    pub(super) json: bool,
}

/// EXPLAIN (ANALYZE, FORMAT JSON, ...)
pub(super) fn explain_options(options: &[UtilityOption]) -> Result<Options> {
    let mut asked = Options::default();
    for option in options {
        let argument = option.arg.as_ref().map(|arg| arg.to_string().to_lowercase());
        let is_on = !matches!(argument.as_deref(), Some("false" | "off" | "0"));
        match option.name.value.to_lowercase().as_str() {
            "analyze" => asked.analyze = is_on,
            "verbose" | "costs" | "timing" | "summary" | "buffers" | "settings" | "wal" => {}
            "format" if matches!(argument.as_deref(), Some("text" | "json")) => {
                asked.json = argument.as_deref() == Some("json");
            }
            "format" => {
                let what = format!("EXPLAIN (FORMAT {})", argument.unwrap_or_default().to_uppercase());
                return Err(unsupported(&what).hint("there are text and json"));
            }
            other => return Err(unsupported(&format!("the EXPLAIN option {other}"))),
        }
    }
    Ok(asked)
}

/// The plan of a statement, one line per row, or as one JSON text; with `analyze` it is run, too.
pub(super) fn explain(session: &mut Session, statement: &Statement, asked: &Options, source: &str) -> Result<Outcome> {
    let analyze = asked.analyze;
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
        let statement = &*crate::expansion::expand_views(work.txn, statement)?;
        let made = plan(work.db, statement, source, work.txn, (engine, &work.local))?;
        work.permit.check_tables(&needs, made.tables())?;
        if analyze && !made.is_read_only() {
            work.check_writable("EXPLAIN ANALYZE of a statement that writes")?;
        }
        explain_plan(&made, analyze, &Run { statement, source, params: &[], literals: None }, work)
    })?;
    let lines = if asked.json { vec![json_plan(&lines)] } else { lines };
    let mut outcome = text_rows(&["QUERY PLAN"], lines);
    if asked.json {
        outcome.columns = columns(DataType::Json);
    }
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

/// A node of a plan that is shown, and its parts.
struct Shown<'l> {
    line: &'l str,
    parts: Vec<Shown<'l>>,
}

impl<'l> Shown<'l> {
    /// The nodes that come next and are indented by so much at least; what is indented more is a part of the one
    /// before.
    fn read(lines: &mut Peekable<std::slice::Iter<'l, String>>, least: usize) -> Vec<Shown<'l>> {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let mut nodes = Vec::new();
        while let Some(line) = lines.next_if(|line| indent(line) >= least) {
            nodes.push(Shown { line: line.trim_start(), parts: Shown::read(lines, indent(line) + 1) });
        }
        nodes
    }

    fn write(&self, out: &mut String) {
        let (name, detail) = self.line.split_once(": ").unwrap_or((self.line, ""));
        out.push_str("{\"Node Type\": ");
        quote(name, out);
        if !detail.is_empty() {
            out.push_str(", \"Detail\": ");
            quote(detail, out);
        }
        if !self.parts.is_empty() {
            out.push_str(", \"Plans\": [");
            for (at, part) in self.parts.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                part.write(out);
            }
            out.push(']');
        }
        out.push('}');
    }
}

/// The lines of a plan as PostgreSQL's clients read it: an array of one object with `Plan`, whose parts stand in
/// `Plans`.
///
/// ```text
///   Query engine (cold)              [{"Plan": {"Node Type": "Query engine (cold)", "Plans": [
///   SortExec: expr=[a]                 {"Node Type": "SortExec", "Detail": "expr=[a]", "Plans": [
///     WeftScanExec: table=t              {"Node Type": "WeftScanExec", "Detail": "table=t"}]}]}}]
/// ```
fn json_plan(lines: &[String]) -> String {
    let (first, rest) = lines.split_first().map_or(("", lines), |(first, rest)| (first.as_str(), rest));
    let plan = Shown { line: first, parts: Shown::read(&mut rest.iter().peekable(), 0) };
    let mut text = String::from("[{\"Plan\": ");
    plan.write(&mut text);
    text.push_str("}]");
    weft_expr::json::pretty(&text).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_nested_as_its_lines_are() {
        let lines = ["Query engine", "Join: on=[\"a\"]", "  Scan: t", "    Filter", "  Scan: u", "Rows: 3"];
        let text = json_plan(&lines.map(str::to_owned));
        let plain: String = text.split_whitespace().collect();
        assert_eq!(
            plain,
            "[{\"Plan\":{\"NodeType\":\"Queryengine\",\"Plans\":[{\"NodeType\":\"Join\",\
             \"Detail\":\"on=[\\\"a\\\"]\",\"Plans\":[\
             {\"NodeType\":\"Scan\",\"Detail\":\"t\",\"Plans\":[{\"NodeType\":\"Filter\"}]},\
             {\"NodeType\":\"Scan\",\"Detail\":\"u\"}]},{\"NodeType\":\"Rows\",\"Detail\":\"3\"}]}}]"
        );
        weft_expr::json::validate(&text).unwrap();
    }
}
