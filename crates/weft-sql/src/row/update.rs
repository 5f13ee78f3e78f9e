//! UPDATE by full primary key or an index.

use std::sync::Arc;

use weft_format::{Code, Error, Result};
use weft_kernel::{LockMode, TableRef};

use super::assignments::{apply_assignments, bind_assignments};
use super::key::KeyClause;
use super::planner::{Planner, RowContext};
use super::{Projection, TableShape};
use crate::expr::{BindError, BindResult, Expr};
use crate::outcome::{Outcome, OutputColumn, Rows, Tag};
use crate::updatable::Verb;

/// An UPDATE of the rows of some keys.
pub(super) struct PointUpdate {
    shape: Arc<TableShape>,
    key: KeyClause,
    assignments: Vec<(usize, Option<Expr>)>,
    returning: Option<Projection>,
    /// What is locked of each row.
    mode: LockMode,
}

impl PointUpdate {
    pub(super) fn table(&self) -> &TableRef {
        &self.shape.table
    }

    pub(super) fn plan(update: &sqlparser::ast::Update, planner: &mut Planner<'_>) -> BindResult<PointUpdate> {
        if update.from.is_some() {
            return Err(BindError::Unsupported("UPDATE ... FROM".into()));
        }
        if update.or.is_some() || update.output.is_some() || !update.order_by.is_empty() || update.limit.is_some() {
            let message = "UPDATE with OR, OUTPUT, ORDER BY or LIMIT is not supported";
            return Err(Error::new(Code::FeatureNotSupported, message).into());
        }
        let (shape, name) = planner.changed_table(std::slice::from_ref(&update.table), Verb::Update)?;
        let key = KeyClause::bind(update.selection.as_ref(), &shape, &name, planner)?;
        let scope = shape.scope(&name);
        let assignments = bind_assignments(&update.assignments, &shape, &scope, &mut planner.binder)?;
        let key_columns = &shape.table.def.schema.key;
        if !key.is_one() && assignments.iter().any(|(ordinal, _)| key_columns.contains(ordinal)) {
            // Keys are compared when the statement ends; here a row would meet the next one, which has yet to move.
            return Err(BindError::Unsupported("new keys for several rows".into()));
        }
        let returning = match &update.returning {
            Some(items) => Some(shape.bind_returning(items, &name, &mut planner.binder)?),
            None => None,
        };
        let writes = assignments.iter().map(|(ordinal, _)| *ordinal).collect();
        let read = assignments.iter().filter_map(|(_, expr)| expr.as_ref()).chain(&key.filter);
        let reads = read.flat_map(Expr::columns).collect();
        let mode = shape.write_mode(reads, writes);
        Ok(PointUpdate { shape, key, assignments, returning, mode })
    }

    pub(super) fn columns(&self) -> Arc<[OutputColumn]> {
        self.returning.as_ref().map_or_else(|| Arc::new([]) as Arc<[OutputColumn]>, |list| Arc::clone(&list.columns))
    }

    pub(super) fn execute(
        &self,
        columns: &Arc<[OutputColumn]>,
        context: &mut RowContext<'_>,
    ) -> Result<Option<Outcome>> {
        let table = &self.shape.table;
        let mut returned = Vec::new();
        let mut count = 0;
        let mut values = Vec::with_capacity(self.shape.columns().len());
        let Some(keys) = self.key.find(&self.shape, context)? else { return Ok(None) };
        // A new key must not meet a row that this statement has yet to change: all rows are read before any is written.
        let mut changes = Vec::with_capacity(keys.len());
        let wait = context.txn.lock_wait();
        for (number, key) in keys.into_iter().enumerate() {
            context.check_cancel(number)?;
            if self.key.is_indexed() && !self.key.is_wanted(&key, &self.shape, &mut values, context)? {
                continue;
            }
            let locked = if self.may_follow() {
                context.txn.lock_only_row(table, &key, self.mode, wait)
            } else {
                context.txn.lock_row(table, &key, self.mode, wait)
            };
            let Some(old) = locked? else { continue };
            values.clear();
            self.shape.decode(&old, &mut values);
            if let Some(filter) = &self.key.filter
                && filter.truth(&values, &context.eval)? != Some(true)
            {
                continue;
            }
            let new = apply_assignments(&self.assignments, &values, values.len(), &self.shape, context)?;
            let row = self.shape.complete_update(&old, &new, &context.eval)?;
            if let Some(returning) = &self.returning {
                returning.append(&new, &context.eval, &mut returned)?;
            }
            count += 1;
            changes.push((key, row));
        }
        for (key, row) in changes {
            context.txn.update_columns(table, &key, &row, self.mode)?;
        }
        let shown = if self.returning.is_some() { count } else { 0 };
        let rows = Rows::Values { width: columns.len(), count: shown, values: returned };
        Ok(Some(Outcome { tag: Tag::Update(count as u64), columns: Arc::clone(columns), rows }))
    }

    /// Whether it reads and changes one row, found by its key, and tells nothing of it.
    pub(super) fn may_follow(&self) -> bool {
        self.key.is_one() && self.returning.is_none()
    }

    pub(super) fn explain(&self) -> Vec<String> {
        let name = self.shape.name();
        let mut lines = vec![format!("Point engine: update on {name} by {}", self.key.by())];
        lines.extend(self.key.explain.iter().map(|line| format!("  {line}")));
        let names: Vec<&str> =
            self.assignments.iter().map(|(ordinal, _)| self.shape.columns()[*ordinal].name.as_str()).collect();
        lines.push(format!("  Set: {}", names.join(", ")));
        lines
    }
}
