//! ON CONFLICT: by which keys the row in the way is found, and what becomes of it.
//!
//! ```text
//!   t (id PRIMARY KEY, a UNIQUE);   INSERT INTO t VALUES (1, 7) ON CONFLICT (a) DO UPDATE ...
//!     arbiter  t_a_key      candidates of a = 7 ── each read ── has 7: locked, updated
//!                                                   none: insert ── 7 is there all the same: another transaction was
//!                                                                   faster, the statement is run on a new snapshot
//! ```
//!
//! A unique index is an arbiter of the rows that it has: a partial one when `ON CONFLICT (columns) WHERE ...` implies
//! its predicate, or when no columns are named. One on an expression is found when the list has the same expression.
//!
//! 1. A violation of a key that is no arbiter is an error.
//! 2. A row that one statement inserted or updated is not updated by it again.

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

use sqlparser::ast::{ConflictTarget, Expr as SqlExpr, Ident, OnConflict, OnConflictAction};
use weft_format::predicate::all_implied;
use weft_format::{Code, DataType, Error, Predicate, Result, Value};
use weft_kernel::index::{Direction, Index, IndexPart};

use super::TableShape;
use super::assignments::{apply_assignments, bind_assignments};
use super::condition::part_of;
use super::planner::{Planner, RowContext};
use super::predicate::known_predicates;
use crate::expr::{BindError, BindResult, Binder, EvalContext, Expr};
use crate::parse::fold;

/// The key and the row that is in the way.
type Present = (Vec<u8>, Arc<[u8]>);

/// What an INSERT does when a row is in the way.
pub(super) struct Conflict {
    /// Whether the primary key finds such a row.
    by_primary_key: bool,
    /// The unique indexes that do.
    indexes: Vec<Arc<Index>>,
    pub(super) action: ConflictAction,
}

pub(super) enum ConflictAction {
    Nothing,
    Update {
        assignments: Vec<(usize, Option<Expr>)>,
        filter: Option<Expr>,
    },
    /// An update that sets every column to the proposed value: the old row need not be read. By primary key only.
    Replace,
}

impl Conflict {
    /// `parts` is the list when it is not of columns alone, `rows` the WHERE behind it.
    pub(super) fn plan(
        clause: &OnConflict,
        (parts, rows): (Option<&[SqlExpr]>, Option<&SqlExpr>),
        shape: &TableShape,
        known_as: &str,
        planner: &mut Planner<'_>,
    ) -> BindResult<Conflict> {
        let known = match rows {
            Some(rows) => {
                planner.binder.bind_condition(rows, &shape.scope(shape.name()))?;
                known_predicates(rows, shape, shape.name(), planner)?
            }
            None => Vec::new(),
        };
        let named = match &clause.conflict_target {
            None | Some(ConflictTarget::OnConstraint(_)) => Vec::new(),
            Some(ConflictTarget::Columns(columns)) => named_parts(columns, parts, shape, planner)?,
        };
        let (by_primary_key, indexes) = arbiters(clause.conflict_target.as_ref(), &named, &known, shape, planner)?;
        let action = match &clause.action {
            OnConflictAction::DoNothing => ConflictAction::Nothing,
            OnConflictAction::DoUpdate(_) if clause.conflict_target.is_none() => {
                let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
                let error = Error::new(Code::SyntaxError, message);
                return Err(error.hint("write ON CONFLICT (columns of a primary or unique key)").into());
            }
            OnConflictAction::DoUpdate(update) => {
                let scope = shape.scope_behind("excluded", shape.scope(known_as));
                let binder = &mut planner.binder;
                let assignments = bind_assignments(&update.assignments, shape, &scope, binder)?;
                let filter = update.selection.as_ref().map(|expr| binder.bind_condition(expr, &scope)).transpose()?;
                if filter.is_none() && indexes.is_empty() && sets_all_as_proposed(&assignments, shape) {
                    ConflictAction::Replace
                } else {
                    ConflictAction::Update { assignments, filter }
                }
            }
        };
        Ok(Conflict { by_primary_key, indexes, action })
    }

    pub(super) fn explain(&self, shape: &TableShape) -> String {
        let what = match &self.action {
            ConflictAction::Nothing => "skip",
            ConflictAction::Update { .. } => "update",
            ConflictAction::Replace => "replace without reading",
        };
        let primary = self.by_primary_key.then_some("primary key");
        let primary = primary.into_iter().map(Arc::<str>::from);
        let keys: Vec<Arc<str>> = primary.chain(self.indexes.iter().map(|index| index.name())).collect();
        let keys = if keys.is_empty() { format!("nothing: {} has no key", shape.name()) } else { keys.join(", ") };
        format!("On conflict: {what}, found by {keys}")
    }

    /// The key and the row that is in the way of the proposed one, locked.
    pub(super) fn find(
        &self,
        shape: &TableShape,
        row: &[u8],
        values: &[Value],
        context: &mut RowContext<'_>,
    ) -> Result<Option<Present>> {
        if self.by_primary_key {
            let key = shape.key_of(row);
            if let Some(old) = context.txn.get_for_upsert(&shape.table, &key)? {
                return Ok(Some((key, old)));
            }
        }
        for index in &self.indexes {
            if let Some(found) = find_by_index(index, shape, row, values, context)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Inserts the proposed row; nothing that the snapshot shows is in its way.
    pub(super) fn insert(&self, shape: &TableShape, row: &[u8], context: &mut RowContext<'_>) -> Result<()> {
        context.txn.insert(&shape.table, row).map_err(|error| {
            let is_arbiter = |name: &str| self.indexes.iter().any(|index| *index.name() == *name);
            if error.code() == Code::UniqueViolation && error.constraint().is_some_and(is_arbiter) {
                let message = "could not serialize access due to a concurrent insert of the same key";
                return Error::new(Code::SerializationFailure, message).hint("run the transaction again");
            }
            error
        })
    }
}

fn find_by_index(
    index: &Index,
    shape: &TableShape,
    row: &[u8],
    values: &[Value],
    context: &mut RowContext<'_>,
) -> Result<Option<Present>> {
    let table = &shape.table;
    if !index.has_row(row) {
        return Ok(None);
    }
    let value = |part: &IndexPart| match part {
        IndexPart::Column(ordinal) => Ok(values[*ordinal].clone()),
        IndexPart::Expression(expr) => expr.eval(values, &EvalContext::none()),
    };
    let wanted = index.parts().iter().map(value).collect::<Result<Vec<Value>>>()?;
    if wanted.iter().any(Value::is_null) {
        return Ok(None);
    }
    let (low, high) = (Bound::Included(wanted.as_slice()), Bound::Included(wanted.as_slice()));
    let candidates = context.txn.index_keys(table, index, low, high, Direction::Forward, usize::MAX)?;
    let Some(candidates) = candidates else {
        let message = format!("index \"{}\" is newer than the transaction's snapshot", index.name());
        return Err(Error::new(Code::SerializationFailure, message).hint("run the transaction again"));
    };
    let has_wanted = |row: &[u8]| index.has_row(row) && index.row_has(row, &wanted);
    for key in candidates {
        let is_there = context.txn.get_row(table, &key)?.is_some_and(|row| has_wanted(&row));
        if is_there
            && let Some(row) = context.txn.get_for_update(table, &key)?
            && has_wanted(&row)
        {
            return Ok(Some((key, row)));
        }
    }
    Ok(None)
}

/// Rows that a statement inserted or updated (conflict 2).
pub(super) struct Touched {
    /// Whether more than one row is proposed; else nothing is noted.
    pub(super) many: bool,
    keys: HashSet<Vec<u8>>,
}

impl Touched {
    pub(super) fn new(many: bool) -> Touched {
        Touched { many, keys: HashSet::new() }
    }

    /// An error when the row was noted before.
    pub(super) fn check(&self, key: &[u8]) -> Result<()> {
        if self.keys.contains(key) {
            return Err(Error::new(
                Code::CardinalityViolation,
                "ON CONFLICT DO UPDATE command cannot affect row a second time",
            )
            .hint("ensure that no rows proposed for insertion within the same command have duplicate key values"));
        }
        Ok(())
    }

    pub(super) fn note(&mut self, key: Vec<u8>) {
        if self.many {
            self.keys.insert(key);
        }
    }
}

/// Updates a present row by the proposed `values`, which become the new ones. False when the filter says no.
pub(super) fn update(
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

/// What the list of an ON CONFLICT names.
fn named_parts(
    columns: &[Ident],
    parts: Option<&[SqlExpr]>,
    shape: &TableShape,
    planner: &Planner<'_>,
) -> BindResult<Vec<IndexPart>> {
    let Some(parts) = parts else {
        let part = |ident: &Ident| match shape.view() {
            // It may be an expression that is indexed.
            Some(view) => {
                if !view.names().any(|name| name == fold(ident)) {
                    shape.ordinal(&fold(ident))?;
                }
                let column = SqlExpr::Identifier(ident.clone());
                part_of(&column, shape, shape.name(), &planner.binder).ok_or_else(|| no_arbiter().into())
            }
            None => Ok(IndexPart::Column(shape.ordinal(&fold(ident))?)),
        };
        return columns.iter().map(part).collect();
    };
    let mut named = Vec::with_capacity(parts.len());
    for part in parts {
        // Its mistakes are the user's, before it is compared with what indexes have.
        match Binder::new(planner.binder.source).bind(part, &shape.scope(shape.name()), None) {
            Ok(_) | Err(BindError::Unsupported(_)) => {}
            Err(error) => return Err(error),
        }
        named.push(part_of(part, shape, shape.name(), &planner.binder).ok_or_else(no_arbiter)?);
    }
    Ok(named)
}

fn no_arbiter() -> Error {
    let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
    let hint = "name all columns of the primary key or of a unique index, and the WHERE of a partial one";
    Error::new(Code::InvalidColumnReference, message).hint(hint)
}

/// What finds the row in the way: whether the primary key does, and which unique indexes.
fn arbiters(
    target: Option<&ConflictTarget>,
    named: &[IndexPart],
    known: &[Predicate],
    shape: &TableShape,
    planner: &Planner<'_>,
) -> Result<(bool, Vec<Arc<Index>>)> {
    let schema = &shape.table.def.schema;
    let indexes = shape.table.indexes();
    let unique = indexes
        .iter()
        .map(|index| &index.index)
        .filter(|index| index.is_unique() && planner.tables.can_use_index(&shape.table, index))
        .map(Arc::clone);
    match target {
        None => Ok((!schema.hidden_row_id, unique.collect())),
        Some(ConflictTarget::Columns(_)) => {
            let is_named = |parts: &[IndexPart]| {
                parts.iter().all(|part| named.contains(part)) && named.iter().all(|part| parts.contains(part))
            };
            let key: Vec<IndexPart> = schema.key.iter().copied().map(IndexPart::Column).collect();
            let by_primary_key = !schema.hidden_row_id && is_named(&key);
            let indexes: Vec<Arc<Index>> =
                unique.filter(|index| is_named(index.parts()) && all_implied(known, index.predicate())).collect();
            if by_primary_key || !indexes.is_empty() {
                return Ok((by_primary_key, indexes));
            }
            Err(no_arbiter())
        }
        Some(ConflictTarget::OnConstraint(name)) => {
            let constraint = name.0.last().and_then(|part| part.as_ident()).map(fold);
            let constraint = constraint.filter(|_| shape.view().is_none());
            if !schema.hidden_row_id && constraint.is_some() && constraint == shape.table.def.primary_key {
                return Ok((true, Vec::new()));
            }
            let named: Vec<Arc<Index>> =
                unique.filter(|index| index.is_constraint() && Some(&*index.name()) == constraint.as_deref()).collect();
            if named.is_empty() {
                let message = format!("constraint \"{name}\" for table \"{}\" does not exist", shape.known_as());
                return Err(Error::new(Code::UndefinedObject, message));
            }
            Ok((false, named))
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
    let mut set = schema.visible().map(|(ordinal, _)| ordinal).filter(|ordinal| !schema.key.contains(ordinal));
    key_is_kept && set.all(proposed) && !assignments.iter().any(sets_key)
}
