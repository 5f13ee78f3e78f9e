//! DELETE by full primary key or an index.

use std::sync::Arc;

use weft_format::{Code, Error, Result};
use weft_kernel::TableRef;

use super::key::KeyClause;
use super::planner::{Planner, RowContext};
use super::{Projection, TableShape};
use crate::expr::{BindError, BindResult};
use crate::outcome::{Outcome, OutputColumn, Rows, Tag};

/// A DELETE of the rows of some keys.
pub(super) struct PointDelete {
    shape: Arc<TableShape>,
    key: KeyClause,
    returning: Option<Projection>,
}

impl PointDelete {
    pub(super) fn table(&self) -> &TableRef {
        &self.shape.table
    }

    pub(super) fn plan(delete: &sqlparser::ast::Delete, planner: &mut Planner<'_>) -> BindResult<PointDelete> {
        if delete.using.is_some() {
            return Err(BindError::Unsupported("DELETE ... USING".into()));
        }
        let is_foreign = !delete.tables.is_empty()
            || delete.output.is_some()
            || !delete.order_by.is_empty()
            || delete.limit.is_some();
        if is_foreign {
            let message = "DELETE with a table list, OUTPUT, ORDER BY or LIMIT is not supported";
            return Err(Error::new(Code::FeatureNotSupported, message).into());
        }
        let (shape, name) = planner.delete_table(&delete.from)?;
        let key = KeyClause::bind(delete.selection.as_ref(), &shape, &name, planner)?;
        let returning = match &delete.returning {
            Some(items) => Some(shape.bind_returning(items, &name, &mut planner.binder)?),
            None => None,
        };
        Ok(PointDelete { shape, key, returning })
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
        let mut values = Vec::new();
        let Some(keys) = self.key.find(&self.shape, context)? else { return Ok(None) };
        for (number, key) in keys.into_iter().enumerate() {
            context.check_cancel(number)?;
            if self.key.is_indexed() && !self.key.is_wanted(&key, &self.shape, &mut values, context)? {
                continue;
            }
            if self.key.filter.is_some() || self.returning.is_some() {
                let Some(old) = context.txn.get_for_update(table, &key)? else { continue };
                values.clear();
                self.shape.decode(&old, &mut values);
                if let Some(filter) = &self.key.filter
                    && filter.truth(&values, &context.eval)? != Some(true)
                {
                    continue;
                }
            }
            if context.txn.delete(table, &key)? {
                count += 1;
                if let Some(returning) = &self.returning {
                    returning.append(&values, &context.eval, &mut returned)?;
                }
            }
        }
        let shown = if self.returning.is_some() { count } else { 0 };
        let rows = Rows::Values { width: columns.len(), count: shown, values: returned };
        Ok(Some(Outcome { tag: Tag::Delete(count as u64), columns: Arc::clone(columns), rows }))
    }

    pub(super) fn explain(&self) -> Vec<String> {
        let mut lines = vec![format!("Point engine: delete on {} by {}", self.shape.name(), self.key.by())];
        lines.extend(self.key.explain.iter().map(|line| format!("  {line}")));
        lines
    }
}
