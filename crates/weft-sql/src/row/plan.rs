//! From a statement to a plan of the row engine.

use std::sync::Arc;

use sqlparser::ast::{FromTable, ObjectName, Statement, TableAlias, TableFactor, TableWithJoins};
use weft_expr::Local;
use weft_format::{DataType, Result};
use weft_kernel::{TableRef, Transaction};

use super::delete::PointDelete;
use super::insert::Insert;
use super::select::{ConstantSelect, PointSelect};
use super::update::PointUpdate;
use super::{ShapeCache, TableShape};
use crate::binding::{CancelToken, Tables};
use crate::expr::{BindError, BindResult, Binder, EvalContext};
use crate::outcome::{Outcome, OutputColumn, Rows};
use crate::parse::{Literals, fold, table_name};
use crate::queries::PreparedQuery;
use crate::views::is_view;

/// A bound statement of the row engine.
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

/// What a plan runs in.
pub(crate) struct RowContext<'a> {
    pub(crate) txn: &'a mut Transaction,
    pub(crate) eval: EvalContext<'a>,
    pub(crate) cancel: &'a CancelToken,
    /// The text and the tuples of an INSERT of literals, whose plan is that of its template.
    pub(crate) literals: Option<(&'a str, &'a Literals)>,
    /// How many rows an index may offer before the column engine is the better choice.
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

/// Plans a statement, or says why the row engine cannot run it.
pub(crate) fn plan(
    statement: &Statement,
    tables: &dyn Tables,
    shapes: &ShapeCache,
    source: &str,
    local: &Local,
) -> BindResult<RowPlan> {
    let mut planner = Planner::new(tables, shapes, source, local);
    let (action, columns) = match statement {
        Statement::Query(query) => planner.select(query)?,
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
    Ok(planner.done(columns, action))
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
    Ok(planner.done(columns, Action::Insert(insert)))
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

    /// Whether it may build on commits that are not durable yet ([`Transaction::begin_statement`]).
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
            Action::Constant(_) => vec!["Row engine: constant".into()],
            Action::Insert(insert) => insert.explain(),
            Action::Update(update) => update.explain(),
            Action::Delete(delete) => delete.explain(),
        }
    }
}

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
    fn new(tables: &'a dyn Tables, shapes: &'a ShapeCache, source: &'a str, local: &'a Local) -> Planner<'a> {
        Planner { tables, shapes, binder: Binder::new(source), local, reads_session: false }
    }

    fn done(self, columns: Arc<[OutputColumn]>, action: Action) -> RowPlan {
        RowPlan { columns, param_types: self.binder.param_types(), reads_session: self.reads_session, action }
    }
}

impl Planner<'_> {
    fn select(&mut self, query: &sqlparser::ast::Query) -> BindResult<(Action, Arc<[OutputColumn]>)> {
        let select = super::select::plain_select(query)?;
        if select.from.is_empty() && query.locks.is_empty() {
            if query.order_by.is_some() {
                return Err(BindError::Unsupported("ORDER BY without FROM".into()));
            }
            let (constant, columns) = ConstantSelect::plan(query, select, self)?;
            return Ok((Action::Constant(constant), columns));
        }
        let (point, columns) = PointSelect::plan(query, select, self)?;
        Ok((Action::Select(Box::new(point)), columns))
    }

    /// A table by name.
    pub(super) fn shape(&self, name: &ObjectName) -> BindResult<Arc<TableShape>> {
        use sqlparser::ast::Spanned;
        let folded = table_name(name)?;
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

    /// The only table of a FROM clause, and the name it goes by.
    pub(super) fn single_table(&self, from: &[TableWithJoins]) -> BindResult<(Arc<TableShape>, String)> {
        match from {
            [TableWithJoins { relation, joins }] if joins.is_empty() => self.plain_table(relation),
            _ => Err(BindError::Unsupported("a statement on several tables".into())),
        }
    }

    fn plain_table(&self, factor: &TableFactor) -> BindResult<(Arc<TableShape>, String)> {
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
        let shape = self.shape(name)?;
        let known_as = match alias {
            None => shape.name().to_owned(),
            Some(TableAlias { name, columns, at: None, .. }) if columns.is_empty() => fold(name),
            Some(_) => return Err(BindError::Unsupported("an alias with columns".into())),
        };
        Ok((shape, known_as))
    }

    /// The table of a DELETE.
    pub(super) fn delete_table(&self, from: &FromTable) -> BindResult<(Arc<TableShape>, String)> {
        match from {
            FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from) => self.single_table(from),
        }
    }
}
