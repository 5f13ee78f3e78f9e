//! DELETE as a query of keys.

use sqlparser::ast::{Delete, FromTable, SelectItem, With};
use weft_expr::Local;
use weft_format::Result;

use super::syntax::{aliased, hidden, select, unsupported};
use super::target::Target;
use super::write::{Parts, PreparedWrite, Write, returns};
use crate::binding::Tables;
use crate::queries::QueryEngine;
use crate::updatable::Verb;

/// Plans a DELETE; `with` are the queries before it.
pub(super) fn prepare(
    engine: &dyn QueryEngine,
    tables: &dyn Tables,
    (delete, with): (&Delete, Option<With>),
    text: &str,
    local: &Local,
) -> Result<PreparedWrite> {
    if delete.output.is_some() || delete.limit.is_some() || !delete.order_by.is_empty() || !delete.tables.is_empty() {
        return Err(unsupported("OUTPUT, ORDER BY, LIMIT or several tables in DELETE"));
    }
    let (FromTable::WithFromKeyword(list) | FromTable::WithoutKeyword(list)) = &delete.from;
    let [only] = &list[..] else {
        return Err(unsupported("deleting from several tables"));
    };
    let (target, shown) = Target::of(tables, only, Verb::Delete)?;
    let table = target.table.clone();
    let schema = &table.def.schema;
    let mut items: Vec<SelectItem> = Vec::new();
    for &ordinal in &schema.key {
        items.push(aliased(target.column(&shown, ordinal), &hidden('k', ordinal)));
    }
    let returns = returns(delete.returning.as_ref());
    items.extend(target.returning(delete.returning.as_deref().unwrap_or(&[]), &shown));
    let mut from = vec![target.relation(only.clone(), &shown, schema.key.iter().copied(), false)?];
    from.extend(delete.using.iter().flatten().cloned());
    let mut query = select(items, from, delete.selection.clone())?;
    query.with = with;
    Ok(PreparedWrite::new(Parts {
        query: engine.prepare_query(tables, &query, text, Some(table.clone()), local)?,
        write: Write::Delete { may_repeat: delete.using.is_some() },
        key_columns: schema.key.len(),
        row_columns: 0,
        returns,
        checks: Vec::new(),
        table,
    }))
}
