//! Names of queries around that the planner does not find.
//!
//! ```text
//!   FROM t, LATERAL (SELECT t.* LIMIT 1) AS u       SELECT t.a, t.b
//!   (SELECT r FROM (SELECT q1 AS q2) x, LATERAL (SELECT q2 AS r) y) FROM t
//!                                                   SELECT x.q2 AS r, though t has a q2, too
//! ```
//!
//! 1. `t.*` is of the innermost FROM that has a `t`.
//! 2. A LATERAL item sees the items before it first, then the query around its query.

use sqlparser::ast::{Ident, Select, SelectItem, SelectItemQualifiedWildcardKind, TableFactor, TableWithJoins};
use weft_sql::queries::names::folded;

use super::fields::{Expander, Field, only};
use super::using;

/// Writes out such names in a SELECT, of which the queries inside are written already.
pub(super) fn write_out(expander: &mut Expander<'_>, select: &mut Select) {
    if expander.around.is_empty() {
        return;
    }
    stars(expander, select);
    let Select { from, .. } = select;
    for place in 0..from.len() {
        let (before, rest) = from.split_at_mut(place);
        if let Some(table) = rest.first_mut() {
            laterals(expander, before, table);
        }
    }
}

/// Invariant 1.
fn stars(expander: &mut Expander<'_>, select: &mut Select) {
    if !select.projection.iter().any(|item| starred(item).is_some()) {
        return;
    }
    let own = expander.fields_of(&select.from);
    let mut items = Vec::with_capacity(select.projection.len());
    for item in std::mem::take(&mut select.projection) {
        let found = match (starred(&item), &own) {
            (Some(name), Some(own)) if !own.iter().any(|field| is_of(field, name)) => of_around(expander, name),
            _ => None,
        };
        match found {
            Some(fields) => items.extend(fields.iter().map(Field::item)),
            None => items.push(item),
        }
    }
    select.projection = items;
}

fn starred(item: &SelectItem) -> Option<&Ident> {
    match item {
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => match &name.0[..] {
            [only] => only.as_ident(),
            _ => None,
        },
        _ => None,
    }
}

fn is_of(field: &Field, name: &Ident) -> bool {
    field.table.as_ref().is_some_and(|table| folded(table) == folded(name))
}

/// The columns of a relation of the queries around.
fn of_around(expander: &mut Expander<'_>, name: &Ident) -> Option<Vec<Field>> {
    for depth in (0..expander.around.len()).rev() {
        let from = expander.around[depth].clone();
        let mut found = Vec::new();
        for table in &from {
            // What comes later, an item does not see; its columns need not be known.
            let Some(fields) = expander.fields_of(std::slice::from_ref(table)) else { continue };
            found.extend(fields.into_iter().filter(|field| is_of(field, name)));
        }
        if !found.is_empty() {
            return Some(found.into_iter().map(|field| Field { value: None, ..field }).collect());
        }
    }
    None
}

/// Invariant 2, in one item of FROM.
fn laterals(expander: &mut Expander<'_>, before: &[TableWithJoins], table: &mut TableWithJoins) {
    let mut seen = before.to_vec();
    one(expander, &seen, &mut table.relation);
    let relation = table.relation.clone();
    seen.push(TableWithJoins { relation, joins: Vec::new() });
    for at in 0..table.joins.len() {
        one(expander, &seen, &mut table.joins[at].relation);
        if let Some(last) = seen.last_mut() {
            last.joins.push(table.joins[at].clone());
        }
    }
}

fn one(expander: &mut Expander<'_>, seen: &[TableWithJoins], factor: &mut TableFactor) {
    if !matches!(factor, TableFactor::Derived { lateral: true, .. }) {
        return;
    }
    let Some(fields) = expander.fields_of(seen) else { return };
    let mut others = Vec::new();
    for depth in 0..expander.around.len() {
        let from = expander.around[depth].clone();
        others.extend(expander.fields_of(&from).unwrap_or_default());
    }
    let is_hidden = |field: &&Field| others.iter().any(|other| other.name == field.name);
    let hidden = fields.iter().filter(|field| field.table.is_some() && only(&fields, &field.name).is_some());
    let hidden: Vec<Field> = hidden.filter(is_hidden).cloned().collect();
    if !hidden.is_empty() {
        using::qualify(expander, factor, &hidden);
    }
}
