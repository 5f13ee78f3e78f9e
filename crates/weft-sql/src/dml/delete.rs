//! DELETE as a query of keys.

use sqlparser::ast::{Delete, FromTable, SelectItem, With};
use weft_expr::Local;
use weft_format::Result;

use super::syntax::{aliased, column, hidden, returning, select, target, target_relation, unsupported};
use super::write::{Parts, PreparedWrite, Write, returns};
use crate::binding::Tables;
use crate::queries::QueryEngine;

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
    let (name, shown) = target(only)?;
    let table = tables.table(&name)?;
    let schema = &table.def.schema;
    let mut items: Vec<SelectItem> = Vec::new();
    for &ordinal in &schema.key {
        items.push(aliased(column(&shown, &schema.columns[ordinal].name), &hidden('k', ordinal)));
    }
    let returns = returns(delete.returning.as_ref());
    items.extend(returning(delete.returning.as_deref().unwrap_or(&[]), schema, &shown));
    let mut from = vec![target_relation(only.clone(), &shown)];
    from.extend(delete.using.iter().flatten().cloned());
    let mut query = select(items, from, delete.selection.clone())?;
    query.with = with;
    Ok(PreparedWrite::new(Parts {
        query: engine.prepare_query(tables, &query, text, Some(table.clone()), local)?,
        write: Write::Delete { may_repeat: delete.using.is_some() },
        key_columns: schema.key.len(),
        row_columns: 0,
        returns,
        table,
    }))
}
