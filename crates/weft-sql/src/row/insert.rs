//! INSERT ... VALUES, with ON CONFLICT and RETURNING; and the writing half of INSERT ... SELECT ... ON CONFLICT.

use std::collections::HashSet;
use std::sync::Arc;

use sqlparser::ast::{
    AssignmentTarget, ConflictTarget, Expr as SqlExpr, OnConflict, OnConflictAction, OnInsert, SetExpr, TableObject,
};
use weft_format::{Code, DataType, Error, Result, Value};

use super::literal::literal_value;
use super::plan::{Planner, RowContext};
use super::{Projection, TableShape};
use crate::expr::{BindError, BindResult, Binder, Expr, Scope};
use crate::outcome::{Outcome, OutputColumn, Rows, Tag};
use crate::parse::{Literals, fold};

/// Rows between two looks at the cancel token.
const CHECK_ROWS: usize = 1024;

/// An INSERT of rows of expressions.
pub(super) struct Insert {
    shape: Arc<TableShape>,
    /// Per visible column: its place in the rows, or none for its default.
    sources: Vec<Option<usize>>,
    /// Per row and target column; none is DEFAULT. For an INSERT from a query there is one: over the query's columns.
    rows: Vec<Vec<Option<Expr>>>,
    /// Per place in a tuple: the ordinal of its column.
    targets: Vec<usize>,
    conflict: Conflict,
    returning: Option<Projection>,
}

enum Conflict {
    Fail,
    Nothing,
    Update {
        assignments: Vec<(usize, Option<Expr>)>,
        filter: Option<Expr>,
    },
    /// An update that sets every column to the proposed value: the old row need not be read.
    Replace,
}

impl Insert {
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
        let shape = planner.shape(name)?;
        let known_as = insert.table_alias.as_ref().map_or_else(|| shape.name().to_owned(), |alias| fold(&alias.alias));
        let mut targets = Vec::with_capacity(insert.columns.len());
        for column in &insert.columns {
            let ident = column.0.last().and_then(|part| part.as_ident());
            let ident = ident.ok_or_else(|| Error::new(Code::SyntaxError, format!("\"{column}\" is not a column")))?;
            let ordinal = shape.ordinal(&fold(ident))?;
            if targets.contains(&ordinal) {
                let message = format!("column \"{}\" specified more than once", fold(ident));
                return Err(Error::new(Code::DuplicateColumn, message).into());
            }
            targets.push(ordinal);
        }
        let listed = !targets.is_empty();
        if !listed && insert.source.is_some() {
            targets.extend(0..shape.columns().len());
        }
        let rows = match query {
            Some(columns) => vec![query_row(columns, &shape, &targets, listed)?],
            None => plan_rows(insert, &shape, &targets, listed, &mut planner.binder)?,
        };
        let width = rows.first().map_or(0, Vec::len);
        let mut sources = vec![None; shape.columns().len()];
        for (index, &ordinal) in targets.iter().take(width).enumerate() {
            sources[ordinal] = Some(index);
        }
        let conflict = match &insert.on {
            None => Conflict::Fail,
            Some(OnInsert::OnConflict(clause)) => plan_conflict(clause, &shape, &known_as, &mut planner.binder)?,
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
                tuple.push(literal_value(literals.get(text, number, index), text, &self.shape.columns()[ordinal])?);
            }
            let mut values = Vec::with_capacity(self.sources.len());
            for (ordinal, source) in self.sources.iter().enumerate() {
                values.push(match source {
                    Some(source) => std::mem::take(&mut tuple[*source]),
                    None => self.shape.default_value(ordinal, &context.eval)?,
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
        let mut lines = vec![format!("Row engine: insert {rows} {plural} into {name}")];
        match &self.conflict {
            Conflict::Fail => {}
            Conflict::Nothing => lines.push("  On conflict: skip, found by primary key".into()),
            Conflict::Update { .. } => lines.push("  On conflict: update, found by primary key".into()),
            Conflict::Replace => lines.push("  On conflict: replace without reading, found by primary key".into()),
        }
        lines
    }
}

/// One execution.
struct Writing<'a> {
    insert: &'a Insert,
    /// Whether more than one row is proposed.
    many: bool,
    touched: HashSet<Vec<u8>>,
    returned: Vec<Value>,
    count: usize,
}

impl<'a> Writing<'a> {
    fn new(insert: &'a Insert, many: bool) -> Writing<'a> {
        Writing { insert, many, touched: HashSet::new(), returned: Vec::new(), count: 0 }
    }

    /// Writes one row: `row` over the values of `input`.
    fn row(&mut self, row: &[Option<Expr>], input: &[Value], context: &mut RowContext<'_>) -> Result<()> {
        let mut values = Vec::with_capacity(self.insert.sources.len());
        for (ordinal, source) in self.insert.sources.iter().enumerate() {
            values.push(match source.and_then(|source| row[source].as_ref()) {
                Some(expr) => expr.eval(input, &context.eval)?,
                None => self.insert.shape.default_value(ordinal, &context.eval)?,
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
        Ok(())
    }

    fn finish(self, columns: &Arc<[OutputColumn]>) -> Outcome {
        let shown = if self.insert.returning.is_some() { self.count } else { 0 };
        let rows = Rows::Values { width: columns.len(), count: shown, values: self.returned };
        Outcome { tag: Tag::Insert(self.count as u64), columns: Arc::clone(columns), rows }
    }

    /// Writes one row; on return `values` starts with the row as it is stored. False when it was skipped.
    fn write(&mut self, values: &mut Vec<Value>, context: &mut RowContext<'_>) -> Result<bool> {
        let insert = self.insert;
        let table = &insert.shape.table;
        let row = insert.shape.complete(context.txn, values, &context.eval)?;
        match &insert.conflict {
            Conflict::Fail => context.txn.insert(table, &row).map(|()| true),
            Conflict::Nothing => {
                let free = context.txn.get_for_upsert(table, &insert.shape.key_of(&row))?.is_none();
                if free {
                    context.txn.insert(table, &row)?;
                }
                Ok(free)
            }
            Conflict::Replace => {
                let key = self.touch(&row)?;
                context.txn.upsert(table, &key, &row).map(|_| true)
            }
            Conflict::Update { assignments, filter } => {
                let key = self.touch(&row)?;
                let Some(old) = context.txn.get_for_upsert(table, &key)? else {
                    context.txn.insert(table, &row)?;
                    return Ok(true);
                };
                update(&insert.shape, assignments, filter.as_ref(), (&key, &old), values, context)
            }
        }
    }

    /// The key of a proposed row, which an update may touch once.
    fn touch(&mut self, row: &[u8]) -> Result<Vec<u8>> {
        let key = self.insert.shape.key_of(row);
        if self.many && !self.touched.insert(key.clone()) {
            return Err(Error::new(
                Code::CardinalityViolation,
                "ON CONFLICT DO UPDATE command cannot affect row a second time",
            )
            .hint("ensure that no rows proposed for insertion within the same command have duplicate key values"));
        }
        Ok(key)
    }
}

/// Updates a present row by the proposed `values`, which become the new ones. False when the filter says no.
fn update(
    shape: &TableShape,
    assignments: &[(usize, Option<Expr>)],
    filter: Option<&Expr>,
    (key, old): (&[u8], &[u8]),
    values: &mut Vec<Value>,
    context: &mut RowContext<'_>,
) -> Result<bool> {
    // The row of the expressions: the present values, then the proposed ones.
    let width = values.len();
    let proposed = std::mem::take(values);
    shape.decode(old, values);
    values.extend(proposed);
    if let Some(filter) = filter
        && filter.truth(values, &context.eval)? != Some(true)
    {
        return Ok(false);
    }
    let new = apply_assignments(assignments, values, width, shape, context)?;
    let row = shape.complete_update(old, &new, &context.eval)?;
    context.txn.update(&shape.table, key, &row)?;
    *values = new;
    Ok(true)
}

/// Sets columns of a row: evaluates all on the old values, then replaces.
pub(super) fn apply_assignments(
    assignments: &[(usize, Option<Expr>)],
    values: &[Value],
    width: usize,
    shape: &TableShape,
    context: &RowContext<'_>,
) -> Result<Vec<Value>> {
    let mut new = values[..width].to_vec();
    for (ordinal, expr) in assignments {
        new[*ordinal] = match expr {
            Some(expr) => expr.eval(values, &context.eval)?,
            None => shape.default_value(*ordinal, &context.eval)?,
        };
    }
    Ok(new)
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
        || insert.settings.is_some()
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
            bound.push(bind_value(expr, shape, ordinal, &Scope::empty(), binder)?);
        }
        rows.push(bound);
    }
    Ok(rows)
}

/// Binds a value for a column; DEFAULT is none.
pub(super) fn bind_value(
    expr: &SqlExpr,
    shape: &TableShape,
    ordinal: usize,
    scope: &Scope,
    binder: &mut Binder<'_>,
) -> BindResult<Option<Expr>> {
    if let SqlExpr::Identifier(ident) = expr
        && ident.quote_style.is_none()
        && ident.value.eq_ignore_ascii_case("default")
    {
        return Ok(None);
    }
    let column = &shape.columns()[ordinal];
    binder.bind_assignment(expr, scope, column.data_type, &column.name).map(Some)
}

/// Binds SET lists of single columns.
pub(super) fn bind_assignments(
    list: &[sqlparser::ast::Assignment],
    shape: &TableShape,
    scope: &Scope,
    binder: &mut Binder<'_>,
) -> BindResult<Vec<(usize, Option<Expr>)>> {
    let mut assignments: Vec<(usize, Option<Expr>)> = Vec::with_capacity(list.len());
    for assignment in list {
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            return Err(BindError::Unsupported("SET of several columns at once".into()));
        };
        let [part] = name.0.as_slice() else {
            let message = format!("SET {name}: a column in SET stands without its table");
            return Err(Error::new(Code::SyntaxError, message).into());
        };
        let ident =
            part.as_ident().ok_or_else(|| Error::new(Code::SyntaxError, format!("\"{name}\" is not a column")))?;
        let ordinal = shape.ordinal(&fold(ident))?;
        if assignments.iter().any(|(known, _)| *known == ordinal) {
            let message = format!("multiple assignments to same column \"{}\"", fold(ident));
            return Err(Error::new(Code::SyntaxError, message).into());
        }
        assignments.push((ordinal, bind_value(&assignment.value, shape, ordinal, scope, binder)?));
    }
    Ok(assignments)
}

fn plan_conflict(
    clause: &OnConflict,
    shape: &TableShape,
    known_as: &str,
    binder: &mut Binder<'_>,
) -> BindResult<Conflict> {
    if let Some(target) = &clause.conflict_target {
        check_conflict_target(target, shape)?;
    }
    match &clause.action {
        OnConflictAction::DoNothing => Ok(Conflict::Nothing),
        OnConflictAction::DoUpdate(_) if clause.conflict_target.is_none() => {
            let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
            Err(Error::new(Code::SyntaxError, message).hint("write ON CONFLICT (primary key columns)").into())
        }
        OnConflictAction::DoUpdate(update) => {
            let columns = || shape.columns().iter().map(|column| (column.name.as_str(), column.data_type));
            let scope = shape.scope(known_as).with("excluded", columns());
            let assignments = bind_assignments(&update.assignments, shape, &scope, binder)?;
            let filter = update.selection.as_ref().map(|expr| binder.bind_condition(expr, &scope)).transpose()?;
            if filter.is_none() && sets_all_as_proposed(&assignments, shape) {
                return Ok(Conflict::Replace);
            }
            Ok(Conflict::Update { assignments, filter })
        }
    }
}

/// Whether the new row is the proposed row, whatever the present one is.
fn sets_all_as_proposed(assignments: &[(usize, Option<Expr>)], shape: &TableShape) -> bool {
    let (width, schema) = (shape.columns().len(), &shape.table.def.schema);
    let proposed = |ordinal: usize| {
        let set = assignments.iter().find(|(known, _)| *known == ordinal);
        set.is_some_and(|(_, expr)| expr.as_ref().and_then(Expr::as_column) == Some(width + ordinal))
    };
    let is_float =
        |ordinal: &usize| matches!(schema.columns[*ordinal].data_type, DataType::Real | DataType::DoublePrecision);
    // -0.0 and 0.0 are one key and two values: the present row keeps its own.
    let key_is_kept = !schema.key.iter().any(is_float);
    let sets_key = |(ordinal, _): &(usize, Option<Expr>)| schema.key.contains(ordinal) && !proposed(*ordinal);
    key_is_kept && schema.columns_beside_key().into_iter().all(proposed) && !assignments.iter().any(sets_key)
}

fn check_conflict_target(target: &ConflictTarget, shape: &TableShape) -> Result<()> {
    let schema = &shape.table.def.schema;
    let names_key = match target {
        ConflictTarget::Columns(columns) => {
            let mut ordinals = columns.iter().map(|ident| shape.ordinal(&fold(ident))).collect::<Result<Vec<_>>>()?;
            let mut key = schema.key.clone();
            ordinals.sort_unstable();
            ordinals.dedup();
            key.sort_unstable();
            ordinals == key
        }
        ConflictTarget::OnConstraint(name) => {
            let constraint = name.0.last().and_then(|part| part.as_ident()).map(fold);
            if constraint.is_none() || constraint != shape.table.def.primary_key {
                let message = format!("constraint \"{name}\" for table \"{}\" does not exist", shape.name());
                return Err(Error::new(Code::UndefinedObject, message));
            }
            true
        }
    };
    if names_key && !schema.hidden_row_id {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidColumnReference,
        "there is no unique or exclusion constraint matching the ON CONFLICT specification",
    )
    .hint("name all columns of the primary key"))
}
