//! Statements that write, planned and run.

use std::sync::Arc;

use sqlparser::ast::{Query, SetExpr, Statement};
use weft_expr::Local;
use weft_format::{Error, Result};

use super::stage::{Stage, numbered};
use super::write::{PreparedWrite, Write};
use super::{delete, insert, lock, merge, update};
use crate::binding::Tables;
use crate::context::StatementContext;
use crate::expr::EvalContext;
use crate::outcome::{Outcome, Tag};
use crate::queries::{Purpose, QueryEngine};
use crate::row::Load;

/// Plans a statement that writes behind WITH.
fn behind_with(
    engine: &dyn QueryEngine,
    tables: &dyn Tables,
    query: &Query,
    text: &str,
    local: &Local,
) -> Result<PreparedWrite> {
    let with = query.with.clone();
    match &*query.body {
        SetExpr::Update(Statement::Update(change)) => update::prepare(engine, tables, (change, with), text, local),
        SetExpr::Delete(Statement::Delete(change)) => delete::prepare(engine, tables, (change, with), text, local),
        SetExpr::Merge(Statement::Merge(change)) => merge::prepare(engine, tables, (change, with), text, local),
        SetExpr::Insert(Statement::Insert(change)) => insert::prepare(engine, tables, change, text, local),
        _ => Err(not_planned()),
    }
}

fn not_planned() -> Error {
    Error::internal("only UPDATE, DELETE, MERGE and INSERT are planned as writes")
}

impl PreparedWrite {
    /// Plans an UPDATE, a DELETE, or an INSERT that the point engine does not run.
    pub(crate) fn prepare(
        engine: &dyn QueryEngine,
        tables: &dyn Tables,
        statement: &Statement,
        text: &str,
        local: &Local,
    ) -> Result<PreparedWrite> {
        match statement {
            Statement::Update(update) => update::prepare(engine, tables, (update, None), text, local),
            Statement::Delete(delete) => delete::prepare(engine, tables, (delete, None), text, local),
            Statement::Insert(insert) => insert::prepare(engine, tables, insert, text, local),
            Statement::Merge(merge) => merge::prepare(engine, tables, (merge, None), text, local),
            Statement::Query(query) if !query.locks.is_empty() => lock::prepare(engine, tables, query, text, local),
            Statement::Query(query) => behind_with(engine, tables, query, text, local),
            _ => Err(not_planned()),
        }
    }

    /// Reads, then stages. A failing row leaves earlier ones staged: the caller rolls back to its mark.
    pub(crate) fn execute(&self, context: &mut StatementContext<'_>) -> Result<Outcome> {
        if let Write::Lock(locking) = &self.write {
            let rows = self.lock(locking, context)?;
            let count = rows.batches.iter().map(|batch| batch.num_rows() as u64).sum();
            return self.shown(Tag::Select(count), rows);
        }
        if let Write::Merge(plan) = &self.write {
            return self.merge(plan, context);
        }
        if matches!(self.write, Write::Insert { .. }) && !self.returns && context.txn.can_build_in_parts(&self.table) {
            return self.load(context);
        }
        if let Write::Update { placed: Some(columns), .. } = &self.write {
            return self.update(columns, context);
        }
        // New rows may go to files of their own; changed ones are staged in memory.
        let row_memory_bytes = context.txn.engine().status().row_memory_limit_bytes;
        let bytes_max = if matches!(self.write, Write::Insert { .. }) { u64::MAX } else { row_memory_bytes };
        let binding = || context.binding(&self.query);
        let read = context.engine.collect_within(&self.query, Purpose::Written, bytes_max, binding)?;
        let mut rows = read.ok_or_else(|| self.too_large(row_memory_bytes, context.engine.memory_bytes() as u64))?;
        context.txn.end_query();
        let stage = Stage::new(self, context);
        let (count, kept) = stage.run(&rows.batches)?;
        let tag = match self.write {
            Write::Insert { .. } => Tag::Insert(count),
            Write::Update { .. } => Tag::Update(count),
            Write::Delete { .. } => Tag::Delete(count),
            Write::Merge(_) | Write::Lock(_) => unreachable!("returned above"),
        };
        if !self.returns {
            return Ok(Outcome::done(tag));
        }
        rows.batches = kept.unwrap_or(rows.batches);
        self.shown(tag, rows)
    }

    /// New rows go to their table while the query still runs; one that runs out of memory begins again (dml 1).
    fn load(&self, context: &mut StatementContext<'_>) -> Result<Outcome> {
        let shape = context.shapes.shape(&self.table)?;
        let rng = Arc::clone(&context.txn.engine().env().rng);
        let eval = EvalContext { params: context.params, local: context.local, rng: Some(&*rng) };
        loop {
            let mark = context.txn.mark();
            context.txn.admit_query()?;
            let mut rows = context.engine.execute(&self.query, context.binding(&self.query)?)?;
            let mut load = Load::new(&shape, context.engine, context.txn, context.cancel);
            let error = loop {
                match rows.next_batch() {
                    Ok(Some(batch)) => {
                        self.check_views(&batch)?;
                        let row: Vec<usize> = (0..self.row_columns).collect();
                        let batch = match self.checks.is_empty() {
                            true => batch,
                            false => batch.project(&row).map_err(|error| Error::internal(error.to_string()))?,
                        };
                        let batch = numbered(&self.write, batch, &shape, context.txn, &eval)?;
                        shape.check_batch(&batch, &eval)?;
                        if let Err(error) = load.push(context.txn, batch) {
                            break error;
                        }
                    }
                    Ok(None) => {
                        drop(rows);
                        context.txn.end_query();
                        return Ok(Outcome::done(Tag::Insert(load.finish(context.txn)?)));
                    }
                    Err(error) => break error,
                }
            };
            drop((rows, load));
            if !context.engine.spares_after(&error, &self.query) {
                return Err(error);
            }
            context.txn.rollback_to(mark);
        }
    }
}
