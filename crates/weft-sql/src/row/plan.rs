//! From a statement to a plan of the point engine.

use std::sync::Arc;

use sqlparser::ast::Statement;
use weft_expr::Local;
use weft_format::{DataType, Result};
use weft_kernel::TableRef;

use super::delete::PointDelete;
use super::insert::Insert;
use super::planner::{Planner, RowContext};
use super::select::{ConstantSelect, PointSelect};
use super::shape::ShapeCache;
use super::update::PointUpdate;
use crate::binding::Tables;
use crate::expr::{BindError, BindResult};
use crate::outcome::{Outcome, OutputColumn, Rows};
use crate::queries::PreparedQuery;

/// A bound statement of the point engine.
pub(crate) struct RowPlan {
    /// The columns it returns.
    pub(crate) columns: Arc<[OutputColumn]>,
    /// The types of its parameters.
    pub(crate) param_types: Vec<DataType>,
    /// Whether it was chosen by what a text means to sessions of one style.
    pub(crate) reads_session: bool,
    action: Action,
}

enum Action {
    Select(Box<PointSelect>),
    Constant(ConstantSelect),
    Insert(Insert),
    Update(PointUpdate),
    Delete(PointDelete),
}

/// Plans a statement, or says why the point engine cannot run it.
pub(crate) fn plan(
    statement: &Statement,
    tables: &dyn Tables,
    shapes: &ShapeCache,
    source: &str,
    local: &Local,
) -> BindResult<RowPlan> {
    let mut planner = Planner::new(tables, shapes, source, local);
    let (action, columns) = match statement {
        Statement::Query(query) => select(&mut planner, query)?,
        Statement::Insert(insert) => {
            let insert = Insert::plan(insert, None, &mut planner)?;
            let columns = insert.columns();
            (Action::Insert(insert), columns)
        }
        Statement::Update(update) => {
            let update = PointUpdate::plan(update, &mut planner)?;
            let columns = update.columns();
            (Action::Update(update), columns)
        }
        Statement::Delete(delete) => {
            let delete = PointDelete::plan(delete, &mut planner)?;
            let columns = delete.columns();
            (Action::Delete(delete), columns)
        }
        _ => return Err(BindError::Unsupported("this statement".into())),
    };
    Ok(done(planner, columns, action))
}

/// Plans the writing half of an INSERT from a query, whose columns and parameter types are known.
pub(crate) fn plan_query_insert(
    insert: &sqlparser::ast::Insert,
    query: &PreparedQuery,
    tables: &dyn Tables,
    shapes: &ShapeCache,
    source: &str,
    local: &Local,
) -> Result<RowPlan> {
    let mut planner = Planner::new(tables, shapes, source, local);
    planner.binder.params = query.param_types().to_vec();
    let insert = Insert::plan(insert, Some(query.columns().as_ref()), &mut planner)?;
    let columns = insert.columns();
    Ok(done(planner, columns, Action::Insert(insert)))
}

impl RowPlan {
    /// Runs the plan of an INSERT from a query on the query's rows.
    pub(crate) fn execute_rows(&self, input: &Rows, context: &mut RowContext<'_>) -> Result<Outcome> {
        match &self.action {
            Action::Insert(insert) => insert.execute_rows(&self.columns, input, context),
            _ => unreachable!("only an INSERT is planned over a query"),
        }
    }

    /// Runs it. None, and nothing was changed, when an index offers more rows than the context takes, or cannot be used
    /// by the snapshot.
    pub(crate) fn execute(&self, context: &mut RowContext<'_>) -> Result<Option<Outcome>> {
        match &self.action {
            Action::Select(select) => select.execute(&self.columns, context),
            Action::Constant(select) => select.execute(&self.columns, context).map(Some),
            Action::Insert(insert) => insert.execute(&self.columns, context).map(Some),
            Action::Update(update) => update.execute(&self.columns, context),
            Action::Delete(delete) => delete.execute(&self.columns, context),
        }
    }

    /// The table that it reads or writes.
    pub(crate) fn table(&self) -> Option<&TableRef> {
        match &self.action {
            Action::Select(select) => Some(select.table()),
            Action::Constant(_) => None,
            Action::Insert(insert) => Some(insert.table()),
            Action::Update(update) => Some(update.table()),
            Action::Delete(delete) => Some(delete.table()),
        }
    }

    /// Whether it may build on commits that are not durable yet ([`weft_kernel::Transaction::begin_statement`]).
    pub(crate) fn may_follow(&self) -> bool {
        match &self.action {
            Action::Insert(insert) => insert.may_follow(),
            Action::Update(update) => update.may_follow(),
            _ => false,
        }
    }

    /// Whether it writes nothing.
    pub(crate) fn is_read_only(&self) -> bool {
        match &self.action {
            Action::Select(select) => !select.locks(),
            Action::Constant(_) => true,
            _ => false,
        }
    }

    /// What it does, one line each.
    pub(crate) fn explain(&self) -> Vec<String> {
        match &self.action {
            Action::Select(select) => select.explain(),
            Action::Constant(_) => vec!["Point engine: constant".into()],
            Action::Insert(insert) => insert.explain(),
            Action::Update(update) => update.explain(),
            Action::Delete(delete) => delete.explain(),
        }
    }
}

/// The plan of what was bound.
fn done(planner: Planner<'_>, columns: Arc<[OutputColumn]>, action: Action) -> RowPlan {
    let param_types = planner.binder.param_types();
    RowPlan { columns, param_types, reads_session: planner.reads_session, action }
}

fn select(planner: &mut Planner<'_>, query: &sqlparser::ast::Query) -> BindResult<(Action, Arc<[OutputColumn]>)> {
    let select = super::select::plain_select(query)?;
    if select.from.is_empty() && query.locks.is_empty() {
        if query.order_by.is_some() {
            return Err(BindError::Unsupported("ORDER BY without FROM".into()));
        }
        let (constant, columns) = ConstantSelect::plan(query, select, planner)?;
        return Ok((Action::Constant(constant), columns));
    }
    let (point, columns) = PointSelect::plan(query, select, planner)?;
    Ok((Action::Select(Box::new(point)), columns))
}
