//! UPDATE as a query of old keys and new rows.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, Query, SelectItem, TableWithJoins, Update, UpdateTableFromKind, With, visit_expressions,
};
use weft_expr::Local;
use weft_format::{Result, Schema};
use weft_kernel::table::LOCATION_NAME;
use weft_kernel::{ColumnSet, TableRef};

use super::syntax::{
    aliased, assignments, column, default_of, derived, exact, hidden, is_default, returning, select, stored_expression,
    target, target_relation, unsupported,
};
use super::write::{Parts, PreparedWrite, Write, returns};
use crate::binding::Tables;
use crate::expr::cast_to;
use crate::parse::fold;
use crate::queries::QueryEngine;
use crate::queries::names::MARKER;
use crate::row::{all_generated, check_not_set};

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
    let (name, shown) = target(&update.table)?;
    let table = tables.table(&name)?;
    let schema = &table.def.schema;
    let assigned = assignments(&update.assignments, schema, &name)?;
    for (ordinal, _) in assigned.iter().filter(|(_, value)| !is_default(value)) {
        check_not_set(&table.def, *ordinal)?;
    }

    let key_name = |ordinal: usize| hidden('k', ordinal);
    let mut inner: Vec<SelectItem> = Vec::with_capacity(schema.key.len() + schema.columns.len());
    for &ordinal in &schema.key {
        inner.push(aliased(column(&shown, &schema.columns[ordinal].name), &key_name(ordinal)));
    }
    for (ordinal, stored) in schema.columns.iter().enumerate() {
        let expr = match assigned.iter().find(|(known, _)| *known == ordinal) {
            Some((_, value)) if is_default(value) => cast_to(default_of(&table.def, ordinal)?, stored.data_type)?,
            Some((_, value)) => cast_to(value.clone(), stored.data_type)?,
            None => column(&shown, &stored.name),
        };
        inner.push(aliased(expr, &stored.name));
    }
    let is_of_key = |ordinal: &usize| schema.key.contains(ordinal);
    let changes_key = assigned.iter().any(|(ordinal, _)| is_of_key(ordinal))
        || all_generated(&table.def).iter().any(|(ordinal, _)| is_of_key(ordinal));
    let may_repeat = update.from.is_some();
    let returns = returns(update.returning.as_ref());
    let is_placed = !changes_key && !may_repeat && !returns;
    if is_placed {
        inner.push(aliased(column(&shown, LOCATION_NAME), &hidden('p', 0)));
    }
    let mut from: Vec<TableWithJoins> = vec![target_relation(update.table.clone(), &shown)];
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

    if returns {
        query = with_returning(query, update, schema, shown)?;
    }
    query.with = with;
    let set = assigned.iter().map(|(ordinal, _)| *ordinal).chain(computed.iter().map(|(ordinal, _)| *ordinal));
    let set = set.collect::<BTreeSet<usize>>();
    let (writes, placed) = (set.iter().copied().collect(), is_placed.then(|| set.into_iter().collect()));
    Ok(PreparedWrite::new(Parts {
        query: engine.prepare_query(tables, &query, text, Some(table.clone()), local)?,
        write: Write::Update { changes_key, may_repeat, reads: columns_read(update, schema), writes, placed },
        key_columns: schema.key.len(),
        row_columns: schema.columns.len(),
        returns,
        table,
    }))
}

/// The query of old keys and new rows with what RETURNING shows of them.
fn with_returning(query: Query, update: &Update, schema: &Schema, shown: Ident) -> Result<Query> {
    let key_name = |ordinal: usize| hidden('k', ordinal);
    let mut outer: Vec<SelectItem> = Vec::new();
    for &ordinal in &schema.key {
        outer.push(aliased(column(&shown, &key_name(ordinal)), &key_name(ordinal)));
    }
    for (ordinal, stored) in schema.columns.iter().enumerate() {
        outer.push(aliased(column(&shown, &stored.name), &hidden('c', ordinal)));
    }
    outer.extend(returning(update.returning.as_deref().unwrap_or(&[]), schema, &shown));
    select(outer, vec![derived(query, shown, &[])], None)
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
