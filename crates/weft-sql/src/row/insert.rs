//! INSERT ... VALUES, with ON CONFLICT and RETURNING; and the writing half of INSERT ... SELECT ... ON CONFLICT.

use std::sync::Arc;

use sqlparser::ast::{OnInsert, SetExpr, TableObject};
use weft_format::{Code, Error, Result, Value};
use weft_kernel::TableRef;

use super::assignments::bind_value;
use super::conflict::{Conflict, ConflictAction, Touched, update};
use super::literal::literal_value;
use super::planner::{Planner, RowContext};
use super::shape::check_generated;
use super::{Projection, TableShape};
use crate::expr::{BindError, BindResult, Binder, Expr, Scope};
use crate::outcome::{Outcome, OutputColumn, Rows, Tag};
use crate::parse::{Literals, conflict_parts, conflict_rows, fold, has_overriding};
use crate::updatable::Verb;

/// Rows between two looks at the cancel token.
const CHECK_ROWS: usize = 1024;

/// An INSERT of rows of expressions.
pub(super) struct Insert {
    shape: Arc<TableShape>,
    /// Per value of a row: its place in the rows given, or none for its default.
    sources: Vec<Option<usize>>,
    /// Per row and target column; none is DEFAULT. For an INSERT from a query there is one: over the query's columns.
    rows: Vec<Vec<Option<Expr>>>,
    /// Per place in a tuple: the ordinal of its column.
    targets: Vec<usize>,
    /// None: a row in the way is an error.
    conflict: Option<Conflict>,
    returning: Option<Projection>,
}

impl Insert {
    pub(super) fn table(&self) -> &TableRef {
        &self.shape.table
    }

    /// Whether it reads nothing but the keys of its rows, and tells nothing of them.
    pub(super) fn may_follow(&self) -> bool {
        self.conflict.is_none() && self.returning.is_none() && self.shape.table.def.foreign_keys.is_empty()
    }

    /// Plans an INSERT; `query` has the columns of its query, when it has one.
    pub(super) fn plan(
        insert: &sqlparser::ast::Insert,
        query: Option<&[OutputColumn]>,
        planner: &mut Planner<'_>,
    ) -> BindResult<Insert> {
        let TableObject::TableName(name) = &insert.table else {
            return Err(BindError::Unsupported("INSERT into a function".into()));
        };
        check_clauses(insert)?;
        let shape = planner.target(name, Verb::Insert)?;
        let known_as =
            insert.table_alias.as_ref().map_or_else(|| shape.known_as().to_owned(), |alias| fold(&alias.alias));
        let mut targets = targets(insert, query, &shape)?;
        let listed = !insert.columns.is_empty();
        let rows = match query {
            Some(columns) => vec![query_row(columns, &shape, &targets, listed)?],
            None => plan_rows(insert, &shape, &targets, listed, &mut planner.binder)?,
        };
        let width = rows.first().map_or(0, Vec::len);
        for (place, &ordinal) in targets.iter().take(width).enumerate() {
            if rows.iter().any(|row| row[place].is_some()) {
                check_generated(&shape.table.def, ordinal, insert)?;
            }
        }
        let mut sources = vec![None; shape.columns().len()];
        for (index, &ordinal) in targets.iter().take(width).enumerate() {
            sources[ordinal] = Some(index);
        }
        let conflict = match &insert.on {
            None => None,
            Some(OnInsert::OnConflict(clause)) => {
                let given = (conflict_parts(insert), conflict_rows(insert));
                Some(Conflict::plan(clause, given, &shape, &known_as, planner)?)
            }
            Some(_) => return Err(unsupported("ON DUPLICATE KEY UPDATE", "write ON CONFLICT").into()),
        };
        let returning = match &insert.returning {
            Some(items) => Some(shape.bind_returning(items, &known_as, &mut planner.binder)?),
            None => None,
        };
        targets.truncate(width);
        Ok(Insert { shape, sources, rows, targets, conflict, returning })
    }

    pub(super) fn columns(&self) -> Arc<[OutputColumn]> {
        self.returning.as_ref().map_or_else(|| Arc::new([]) as Arc<[OutputColumn]>, |list| Arc::clone(&list.columns))
    }

    pub(super) fn execute(&self, columns: &Arc<[OutputColumn]>, context: &mut RowContext<'_>) -> Result<Outcome> {
        if let Some((text, literals)) = context.literals {
            return self.execute_literals(columns, text, literals, context);
        }
        let mut writing = Writing::new(self, self.rows.len() > 1);
        for (index, row) in self.rows.iter().enumerate() {
            if index % CHECK_ROWS == CHECK_ROWS - 1 {
                context.cancel.check()?;
            }
            writing.row(row, &[], context)?;
        }
        Ok(writing.finish(columns))
    }

    fn execute_literals(
        &self,
        columns: &Arc<[OutputColumn]>,
        text: &str,
        literals: &Literals,
        context: &mut RowContext<'_>,
    ) -> Result<Outcome> {
        let mut writing = Writing::new(self, literals.tuple_count() > 1);
        let mut tuple = Vec::with_capacity(literals.width);
        for number in 0..literals.tuple_count() {
            if number % CHECK_ROWS == CHECK_ROWS - 1 {
                context.cancel.check()?;
            }
            tuple.clear();
            for (index, &ordinal) in self.targets.iter().enumerate() {
                let column = &self.shape.columns()[ordinal];
                tuple.push(literal_value(literals.get(text, number, index), text, column, context.eval.local)?);
            }
            let mut values = writing.empty_values();
            for (ordinal, source) in self.sources.iter().enumerate() {
                values.push(match source {
                    Some(source) => std::mem::take(&mut tuple[*source]),
                    None => self.shape.default_value(context.txn, ordinal, &context.eval)?,
                });
            }
            writing.values(values, context)?;
        }
        Ok(writing.finish(columns))
    }

    /// Inserts the rows of the query.
    pub(super) fn execute_rows(
        &self,
        columns: &Arc<[OutputColumn]>,
        input: &Rows,
        context: &mut RowContext<'_>,
    ) -> Result<Outcome> {
        let mut writing = Writing::new(self, input.len() > 1);
        for (index, values) in input.iter().enumerate() {
            if index % CHECK_ROWS == CHECK_ROWS - 1 {
                context.cancel.check()?;
            }
            writing.row(&self.rows[0], &values, context)?;
        }
        Ok(writing.finish(columns))
    }

    pub(super) fn explain(&self) -> Vec<String> {
        let rows = self.rows.len();
        let name = self.shape.name();
        let plural = if rows == 1 { "row" } else { "rows" };
        let mut lines = vec![format!("Point engine: insert {rows} {plural} into {name}")];
        lines.extend(self.conflict.iter().map(|conflict| format!("  {}", conflict.explain(&self.shape))));
        lines
    }
}

/// One execution.
struct Writing<'a> {
    insert: &'a Insert,
    touched: Touched,
    returned: Vec<Value>,
    count: usize,
    /// Buffers of one row after the other.
    values: Vec<Value>,
    row: Vec<u8>,
}

impl<'a> Writing<'a> {
    fn new(insert: &'a Insert, many: bool) -> Writing<'a> {
        let (touched, values) = (Touched::new(many), Vec::with_capacity(insert.sources.len()));
        Writing { insert, touched, returned: Vec::new(), count: 0, values, row: Vec::new() }
    }

    /// The buffer for a row's values; [`Writing::values`] takes it back.
    fn empty_values(&mut self) -> Vec<Value> {
        let mut values = std::mem::take(&mut self.values);
        values.clear();
        values
    }

    /// Writes one row: `row` over the values of `input`.
    fn row(&mut self, row: &[Option<Expr>], input: &[Value], context: &mut RowContext<'_>) -> Result<()> {
        let mut values = self.empty_values();
        for (ordinal, source) in self.insert.sources.iter().enumerate() {
            values.push(match source.and_then(|source| row[source].as_ref()) {
                Some(expr) => expr.eval(input, &context.eval)?,
                None => self.insert.shape.default_value(context.txn, ordinal, &context.eval)?,
            });
        }
        self.values(values, context)
    }

    /// Writes one row of the visible columns.
    fn values(&mut self, mut values: Vec<Value>, context: &mut RowContext<'_>) -> Result<()> {
        let width = self.insert.sources.len();
        if self.write(&mut values, context)? {
            self.count += 1;
            if let Some(returning) = &self.insert.returning {
                returning.append(&values[..width], &context.eval, &mut self.returned)?;
            }
        }
        self.values = values;
        Ok(())
    }

    fn finish(self, columns: &Arc<[OutputColumn]>) -> Outcome {
        let shown = if self.insert.returning.is_some() { self.count } else { 0 };
        let rows = Rows::Values { width: columns.len(), count: shown, values: self.returned };
        Outcome { tag: Tag::Insert(self.count as u64), columns: Arc::clone(columns), rows }
    }

    /// Writes one row; on return `values` starts with the row as it is stored. False when it was skipped.
    fn write(&mut self, values: &mut Vec<Value>, context: &mut RowContext<'_>) -> Result<bool> {
        let mut row = std::mem::take(&mut self.row);
        self.insert.shape.generate(values, &context.eval)?;
        self.insert.shape.complete(context.txn, values, &context.eval, &mut row)?;
        let written = self.write_row(&row, values, context);
        self.row = row;
        written
    }

    fn write_row(&mut self, row: &[u8], values: &mut Vec<Value>, context: &mut RowContext<'_>) -> Result<bool> {
        let insert = self.insert;
        let table = &insert.shape.table;
        let check = |values: &[Value], context: &RowContext<'_>| {
            insert.shape.check_view(&values[..insert.sources.len()], &context.eval)
        };
        let Some(conflict) = &insert.conflict else {
            check(values, context)?;
            return context.txn.insert(table, row).map(|()| true);
        };
        match &conflict.action {
            ConflictAction::Nothing => {
                let free = conflict.find(&insert.shape, row, values, context)?.is_none();
                if free {
                    check(values, context)?;
                    conflict.insert(&insert.shape, row, context)?;
                }
                Ok(free)
            }
            ConflictAction::Replace => {
                let key = insert.shape.key_of(row);
                self.touched.check(&key)?;
                check(values, context)?;
                context.txn.put(table, &key, row)?;
                self.touched.note(key);
                Ok(true)
            }
            ConflictAction::Update { assignments, filter } => {
                let Some((key, old)) = conflict.find(&insert.shape, row, values, context)? else {
                    check(values, context)?;
                    conflict.insert(&insert.shape, row, context)?;
                    if self.touched.many {
                        self.touched.note(insert.shape.key_of(row));
                    }
                    return Ok(true);
                };
                self.touched.check(&key)?;
                let updated = update(&insert.shape, assignments, filter.as_ref(), (&key, &old), values, context)?;
                if updated {
                    self.touched.note(key);
                }
                Ok(updated)
            }
        }
    }
}

/// The ordinals of the columns that an INSERT gives values for.
fn targets(
    insert: &sqlparser::ast::Insert,
    query: Option<&[OutputColumn]>,
    shape: &TableShape,
) -> BindResult<Vec<usize>> {
    let mut names = Vec::with_capacity(insert.columns.len());
    for column in &insert.columns {
        let ident = column.0.last().and_then(|part| part.as_ident());
        let ident = ident.ok_or_else(|| Error::new(Code::SyntaxError, format!("\"{column}\" is not a column")))?;
        names.push(fold(ident));
    }
    if let Some(view) = shape.view() {
        let width = query.map_or_else(|| width_of(insert), <[OutputColumn]>::len);
        return Ok(view.given(&names, width)?);
    }
    let mut targets = Vec::with_capacity(names.len());
    for name in &names {
        let ordinal = shape.ordinal(name)?;
        if targets.contains(&ordinal) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(Code::DuplicateColumn, message).into());
        }
        targets.push(ordinal);
    }
    if names.is_empty() && insert.source.is_some() {
        targets.extend(shape.visible());
    }
    Ok(targets)
}

/// How many values the first row of VALUES has.
fn width_of(insert: &sqlparser::ast::Insert) -> usize {
    match insert.source.as_ref().map(|source| &*source.body) {
        Some(SetExpr::Values(values)) => values.rows.first().map_or(0, |row| row.content.len()),
        _ => 0,
    }
}

fn check_clauses(insert: &sqlparser::ast::Insert) -> BindResult<()> {
    let is_foreign = insert.or.is_some()
        || insert.ignore
        || insert.overwrite
        || !insert.assignments.is_empty()
        || insert.partitioned.is_some()
        || !insert.after_columns.is_empty()
        || insert.output.is_some()
        || insert.replace_into
        || insert.priority.is_some()
        || insert.insert_alias.is_some()
        || (insert.settings.is_some()
            && conflict_rows(insert).is_none()
            && conflict_parts(insert).is_none()
            && !has_overriding(insert))
        || insert.format_clause.is_some()
        || insert.multi_table_insert_type.is_some();
    if is_foreign {
        return Err(unsupported("a clause of this INSERT", "write INSERT INTO t (columns) VALUES (...)").into());
    }
    Ok(())
}

fn unsupported(what: &str, hint: &str) -> Error {
    Error::new(Code::FeatureNotSupported, format!("{what} is not supported")).hint(hint)
}

/// The row of an INSERT from a query: its columns, cast to the targets.
fn query_row(
    columns: &[OutputColumn],
    shape: &TableShape,
    targets: &[usize],
    listed: bool,
) -> BindResult<Vec<Option<Expr>>> {
    if columns.len() > targets.len() {
        return Err(Error::new(Code::SyntaxError, "INSERT has more expressions than target columns").into());
    }
    if listed && columns.len() < targets.len() {
        return Err(Error::new(Code::SyntaxError, "INSERT has more target columns than expressions").into());
    }
    let mut row = Vec::with_capacity(columns.len());
    for (index, (output, &ordinal)) in columns.iter().zip(targets).enumerate() {
        let column = &shape.columns()[ordinal];
        row.push(Some(Expr::column(index, output.data_type).assign_to(column.data_type, &column.name)?));
    }
    Ok(row)
}

fn plan_rows(
    insert: &sqlparser::ast::Insert,
    shape: &TableShape,
    targets: &[usize],
    listed: bool,
    binder: &mut Binder<'_>,
) -> BindResult<Vec<Vec<Option<Expr>>>> {
    let Some(source) = &insert.source else { return Ok(vec![Vec::new()]) };
    let is_plain = source.with.is_none()
        && source.order_by.is_none()
        && source.limit_clause.is_none()
        && source.fetch.is_none()
        && source.locks.is_empty();
    let SetExpr::Values(list) = &*source.body else { return Err(BindError::Unsupported("INSERT ... SELECT".into())) };
    if !is_plain {
        return Err(BindError::Unsupported("VALUES with ORDER BY or LIMIT".into()));
    }
    let mut rows = Vec::with_capacity(list.rows.len());
    let width = list.rows.first().map_or(0, |row| row.content.len());
    for row in &list.rows {
        let exprs = &row.content;
        if exprs.len() != width {
            return Err(Error::new(Code::SyntaxError, "VALUES lists must all be the same length").into());
        }
        if exprs.len() > targets.len() {
            return Err(Error::new(Code::SyntaxError, "INSERT has more expressions than target columns").into());
        }
        if listed && exprs.len() < targets.len() {
            return Err(Error::new(Code::SyntaxError, "INSERT has more target columns than expressions").into());
        }
        let mut bound = Vec::with_capacity(exprs.len());
        for (expr, &ordinal) in exprs.iter().zip(targets) {
            let old = Expr::literal(Value::Null, shape.columns()[ordinal].data_type);
            bound.push(bind_value(expr, (shape, ordinal, old), &Scope::empty(), binder)?);
        }
        rows.push(bound);
    }
    Ok(rows)
}
