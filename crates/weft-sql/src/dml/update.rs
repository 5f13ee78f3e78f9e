//! UPDATE as a query of old keys and new rows.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, Query, SelectItem, TableWithJoins, Update, UpdateTableFromKind, With};
use weft_expr::Local;
use weft_format::{Result, Schema};
use weft_kernel::{ColumnSet, TableRef};
use weft_walk::visit_expressions;

use super::syntax::{
    aliased, assignments, column, derived, exact, hidden, is_default, select, stored_expression, unsupported,
};
use super::target::Target;
use super::write::{Parts, PreparedWrite, Write, returns};
use crate::binding::Tables;
use crate::expr::{cast_to, with_parts};
use crate::parse::{fold, parts_of};
use crate::queries::QueryEngine;
use crate::queries::names::MARKER;
use crate::row::{all_generated, check_not_set};
use crate::updatable::Verb;

/// Plans an UPDATE; `with` are the queries before it.
pub(super) fn prepare(
    engine: &dyn QueryEngine,
    tables: &dyn Tables,
    (update, with): (&Update, Option<With>),
    text: &str,
    local: &Local,
) -> Result<PreparedWrite> {
    if update.or.is_some() || update.output.is_some() || update.limit.is_some() || !update.order_by.is_empty() {
        return Err(unsupported("OR, OUTPUT, ORDER BY or LIMIT in UPDATE"));
    }
    let (target, shown) = Target::of(tables, &update.table, Verb::Update)?;
    let table = target.table.clone();
    let schema = &table.def.schema;
    let assigned = assignments(&update.assignments, schema, |name| target.ordinal(name))?;
    for (ordinal, _) in assigned.iter().filter(|(_, value)| !is_default(value)) {
        check_not_set(&table.def, *ordinal)?;
    }

    let mut inner = rows(&target, &shown, &assigned)?;
    let is_of_key = |ordinal: &usize| schema.key.contains(ordinal);
    let changes_key = assigned.iter().any(|(ordinal, _)| is_of_key(ordinal))
        || all_generated(&table.def).iter().any(|(ordinal, _)| is_of_key(ordinal));
    let may_repeat = update.from.is_some();
    let returns = returns(update.returning.as_ref());
    let is_placed = !changes_key && !may_repeat && !returns;
    if is_placed {
        inner.push(aliased(target.place(&shown), &hidden('p', 0)));
    }
    let all = 0..schema.columns.len();
    let mut from: Vec<TableWithJoins> = vec![target.relation(update.table.clone(), &shown, all, is_placed)?];
    match &update.from {
        Some(UpdateTableFromKind::AfterSet(more)) => from.extend(more.iter().cloned()),
        Some(UpdateTableFromKind::BeforeSet(_)) => return Err(unsupported("FROM before SET")),
        None => {}
    }
    let mut query = select(inner, from, update.selection.clone())?;
    let computed = all_generated(&table.def);
    if !computed.is_empty() {
        query = with_generated(query, &table, &computed, is_placed)?;
    }

    let checks = target.checks();
    if returns || !checks.is_empty() {
        query = with_returning(query, update, &target, &shown, is_placed)?;
    }
    query.with = with;
    let set = assigned.iter().map(|(ordinal, _)| *ordinal).chain(computed.iter().map(|(ordinal, _)| *ordinal));
    let set = set.collect::<BTreeSet<usize>>();
    let (writes, placed) = (set.iter().copied().collect(), is_placed.then(|| set.into_iter().collect()));
    let reads = match target.is_view() {
        true => (0..schema.columns.len()).collect(),
        false => {
            let mut reads = columns_read(update, schema);
            let parts = assigned.iter().filter(|(_, value)| parts_of(value).is_some());
            parts.for_each(|(ordinal, _)| reads.insert(*ordinal));
            reads
        }
    };
    Ok(PreparedWrite::new(Parts {
        query: engine.prepare_query(tables, &query, text, Some(table.clone()), local)?,
        write: Write::Update { changes_key, may_repeat, reads, writes, placed },
        key_columns: schema.key.len(),
        row_columns: schema.columns.len(),
        returns,
        checks,
        table,
    }))
}

/// Old keys and new rows.
fn rows(target: &Target, shown: &Ident, assigned: &[(usize, Expr)]) -> Result<Vec<SelectItem>> {
    let schema = &target.table.def.schema;
    let mut inner: Vec<SelectItem> = Vec::with_capacity(schema.key.len() + schema.columns.len());
    for &ordinal in &schema.key {
        inner.push(aliased(target.column(shown, ordinal), &hidden('k', ordinal)));
    }
    for (ordinal, stored) in schema.columns.iter().enumerate() {
        let expr = match assigned.iter().find(|(known, _)| *known == ordinal) {
            Some((_, value)) if is_default(value) => cast_to(target.default(ordinal)?, stored.data_type)?,
            Some((_, value)) => {
                let old = target.column(shown, ordinal);
                cast_to(with_parts(value.clone(), old, stored.data_type, &stored.name)?, stored.data_type)?
            }
            None => target.column(shown, ordinal),
        };
        inner.push(aliased(expr, &stored.name));
    }
    Ok(inner)
}

/// The query of old keys and new rows with what the conditions of views say and RETURNING shows of them.
fn with_returning(query: Query, update: &Update, target: &Target, shown: &Ident, is_placed: bool) -> Result<Query> {
    let schema = &target.table.def.schema;
    let keys: Vec<String> = schema.key.iter().map(|&ordinal| hidden('k', ordinal)).collect();
    let place = is_placed.then(|| hidden('p', 0));
    let others: Vec<String> = keys.iter().cloned().chain(place.clone()).collect();
    let kept = |name: &String| aliased(column(shown, name), name);
    let mut outer: Vec<SelectItem> = keys.iter().map(kept).collect();
    outer.extend((0..schema.columns.len()).map(|ordinal| target.new_column(shown, ordinal)));
    outer.extend(target.flags(shown));
    outer.extend(place.iter().map(kept));
    outer.extend(target.returning(update.returning.as_deref().unwrap_or(&[]), shown));
    select(outer, vec![target.new_rows(query, shown, 0..schema.columns.len(), &others)?], None)
}

/// The query of old keys and new rows with the generated columns computed from the others.
fn with_generated(query: Query, table: &TableRef, computed: &[(usize, &str)], is_placed: bool) -> Result<Query> {
    let schema = &table.def.schema;
    let new = exact(&format!("{MARKER}new"));
    let mut outer: Vec<SelectItem> = Vec::new();
    for &ordinal in &schema.key {
        outer.push(aliased(column(&new, &hidden('k', ordinal)), &hidden('k', ordinal)));
    }
    for (ordinal, stored) in schema.columns.iter().enumerate() {
        let expr = match computed.iter().find(|(known, _)| *known == ordinal) {
            Some((_, text)) => cast_to(stored_expression(text)?, stored.data_type)?,
            None => column(&new, &stored.name),
        };
        outer.push(aliased(expr, &stored.name));
    }
    if is_placed {
        outer.push(aliased(column(&new, &hidden('p', 0)), &hidden('p', 0)));
    }
    select(outer, vec![derived(query, new, &[])], None)
}

/// The columns of the target that WHERE and SET may read: those whose names they mention, of whatever table.
fn columns_read(update: &Update, schema: &Schema) -> ColumnSet {
    let mut reads = ColumnSet::NONE;
    let mut note = |expr: &Expr| {
        let name = match expr {
            Expr::Identifier(ident) => Some(fold(ident)),
            Expr::CompoundIdentifier(parts) => parts.last().map(fold),
            _ => None,
        };
        let ordinal = name.and_then(|name| schema.columns.iter().position(|column| column.name == name));
        ordinal.into_iter().for_each(|ordinal| reads.insert(ordinal));
        ControlFlow::<()>::Continue(())
    };
    for assignment in &update.assignments {
        let _ = visit_expressions(&assignment.value, &mut note);
    }
    if let Some(selection) = &update.selection {
        let _ = visit_expressions(selection, &mut note);
    }
    if let Some(UpdateTableFromKind::AfterSet(more)) = &update.from {
        let _ = visit_expressions(more, &mut note);
    }
    reads
}
