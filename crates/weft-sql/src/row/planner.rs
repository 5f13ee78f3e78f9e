//! What statements of the point engine are planned with, and what their plans run in.

use std::sync::Arc;

use sqlparser::ast::{FromTable, ObjectName, TableAlias, TableFactor, TableWithJoins};
use weft_expr::Local;
use weft_format::Result;
use weft_kernel::Transaction;

use super::shape::{ShapeCache, TableShape};
use super::through::through;
use crate::binding::{CancelToken, Tables};
use crate::expr::{BindError, BindResult, Binder, EvalContext};
use crate::parse::{Literals, fold, table_name};
use crate::updatable::Verb;
use crate::views::is_view;

/// What a plan runs in.
pub(crate) struct RowContext<'a> {
    pub(crate) txn: &'a mut Transaction,
    pub(crate) eval: EvalContext<'a>,
    pub(crate) cancel: &'a CancelToken,
    /// The text and the tuples of an INSERT of literals, whose plan is that of its template.
    pub(crate) literals: Option<(&'a str, &'a Literals)>,
    /// How many rows an index may offer before the query engine is the better choice.
    pub(crate) candidates_max: usize,
}

/// Rows between two looks at the cancel token.
const CHECK_ROWS: usize = 1024;

impl RowContext<'_> {
    /// Fails when the statement was cancelled; asked with the number of each row.
    pub(super) fn check_cancel(&self, number: usize) -> Result<()> {
        if number % CHECK_ROWS == CHECK_ROWS - 1 { self.cancel.check() } else { Ok(()) }
    }
}

/// Plans one statement.
pub(super) struct Planner<'a> {
    pub(super) tables: &'a dyn Tables,
    pub(super) shapes: &'a ShapeCache,
    pub(super) binder: Binder<'a>,
    /// The session that asks.
    pub(super) local: &'a Local,
    /// Whether the plan is good for sessions of its style only.
    pub(super) reads_session: bool,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        tables: &'a dyn Tables,
        shapes: &'a ShapeCache,
        source: &'a str,
        local: &'a Local,
    ) -> Planner<'a> {
        Planner { tables, shapes, binder: Binder::new(source), local, reads_session: false }
    }
}

impl Planner<'_> {
    /// A table by name.
    pub(super) fn shape(&self, name: &ObjectName) -> BindResult<Arc<TableShape>> {
        use sqlparser::ast::Spanned;
        let folded = table_name(name)?;
        if self.tables.of_catalog(&folded).is_some() {
            return Err(BindError::Unsupported(format!("the catalog's relation {}", crate::resolve::shown(&folded))));
        }
        if is_view(&folded) && self.tables.table(&folded).is_err() {
            return Err(BindError::Unsupported(format!("the view {folded}")));
        }
        let table = self.tables.table(&folded).map_err(|error| {
            match crate::parse::span_position(self.binder.source, name.span()) {
                Some(position) if error.position().is_none() => error.at(position),
                _ => error,
            }
        })?;
        Ok(self.shapes.shape(&table)?)
    }

    /// A table, or the one behind a view, that a statement changes.
    pub(super) fn target(&self, name: &ObjectName, verb: Verb) -> BindResult<Arc<TableShape>> {
        match self.tables.updatable(&table_name(name)?, verb)? {
            Some(view) => Ok(Arc::new(through(&*self.shapes.shape(&view.table)?, view, verb)?)),
            None => self.shape(name),
        }
    }

    /// The only table of a FROM clause, and the name it goes by.
    pub(super) fn single_table(&self, from: &[TableWithJoins]) -> BindResult<(Arc<TableShape>, String)> {
        self.only_table(from, None)
    }

    /// The same of the relation that a statement changes.
    pub(super) fn changed_table(&self, from: &[TableWithJoins], verb: Verb) -> BindResult<(Arc<TableShape>, String)> {
        self.only_table(from, Some(verb))
    }

    fn only_table(&self, from: &[TableWithJoins], verb: Option<Verb>) -> BindResult<(Arc<TableShape>, String)> {
        match from {
            [TableWithJoins { relation, joins }] if joins.is_empty() => self.plain_table(relation, verb),
            _ => Err(BindError::Unsupported("a statement on several tables".into())),
        }
    }

    fn plain_table(&self, factor: &TableFactor, verb: Option<Verb>) -> BindResult<(Arc<TableShape>, String)> {
        let TableFactor::Table {
            name,
            alias,
            args: None,
            with_hints,
            version: None,
            with_ordinality: false,
            partitions,
            json_path: None,
            sample: None,
            index_hints,
        } = factor
        else {
            return Err(BindError::Unsupported("a FROM clause that is not a table".into()));
        };
        if !with_hints.is_empty() || !partitions.is_empty() || !index_hints.is_empty() {
            return Err(BindError::Unsupported("a table with hints".into()));
        }
        let shape = verb.map_or_else(|| self.shape(name), |verb| self.target(name, verb))?;
        let known_as = match alias {
            None => shape.known_as().to_owned(),
            Some(TableAlias { name, columns, at: None, .. }) if columns.is_empty() => fold(name),
            Some(_) => return Err(BindError::Unsupported("an alias with columns".into())),
        };
        Ok((shape, known_as))
    }

    /// The table of a DELETE.
    pub(super) fn delete_table(&self, from: &FromTable) -> BindResult<(Arc<TableShape>, String)> {
        match from {
            FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from) => {
                self.changed_table(from, Verb::Delete)
            }
        }
    }
}
