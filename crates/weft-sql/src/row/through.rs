//! A table's shape as a view shows it to a statement that changes its rows.

use std::sync::Arc;

use weft_format::Result;
use weft_kernel::TableDef;

use super::lens::{Lens, LensColumn, LensLayer};
use super::shape::{TableShape, row_columns, table_scope};
use super::stored::RowDefault;
use crate::expr::{BindError, BindResult, Binder, Expr, Scope, sequence_call};
use crate::updatable::{UpdatableView, Verb};

/// The shape of the table behind a view.
pub(super) fn through(base: &TableShape, view: UpdatableView, verb: Verb) -> BindResult<TableShape> {
    let def = Arc::clone(&base.table.def);
    let width = row_columns(&def.schema).len();
    let (mut layers, mut checks): (Vec<LensLayer>, Vec<(String, Expr)>) = (Vec::new(), Vec::new());
    for layer in view.layers.iter().rev() {
        let scope = match layers.last() {
            Some(LensLayer { columns, .. }) => Scope::empty().with_computed(&layer.alias, width, columns),
            None => table_scope(&layer.alias, &def.schema, Scope::empty()),
        };
        let columns = layer.columns.iter().map(|column| {
            // A text without a type is of the type that the view's column has.
            let bound = Binder::new("").bind(&column.expr, &scope, Some(column.data_type));
            let bound: std::result::Result<Expr, String> = match bound {
                Ok(expr) => Ok(expr),
                Err(error) => Err(lacking(error)),
            };
            (column.name.clone(), bound)
        });
        let columns = columns.collect::<Vec<LensColumn>>();
        if let Some(selection) = layer.selection.as_ref().filter(|_| layer.is_checked && verb != Verb::Delete) {
            checks.push((layer.name.clone(), of_view(Binder::new("").bind_condition(selection, &scope))?));
        }
        let selection = layer.selection.clone();
        layers.push(LensLayer { alias: layer.alias.clone(), columns, selection });
    }
    layers.reverse();
    let defaults = if verb == Verb::Insert { defaults(base, &view)? } else { base.defaults.clone() };
    let update_defaults = (0..width).map(|ordinal| match view.update_default(ordinal) {
        Some(text) => row_default(text, &def, ordinal),
        None => Ok(None),
    });
    let update_defaults = update_defaults.collect::<Result<Vec<_>>>()?;
    let lens = Lens { view, verb, layers, checks, update_defaults };
    Ok(TableShape { defaults, lens: Some((Arc::new(lens), 0)), ..base.clone() })
}

/// What the point engine lacks for an expression of a view: the query engine has understood it.
fn lacking(error: BindError) -> String {
    match error {
        BindError::Unsupported(what) => what,
        BindError::Wrong(error) => error.message().to_owned(),
    }
}

/// What was bound of a view; the query engine takes what the point engine cannot bind.
pub(super) fn of_view<T>(bound: BindResult<T>) -> BindResult<T> {
    bound.map_err(|error| BindError::Unsupported(lacking(error)))
}

/// The defaults of the table, but where the view has its own.
fn defaults(base: &TableShape, view: &UpdatableView) -> Result<Vec<Option<RowDefault>>> {
    let mut defaults = base.defaults.clone();
    for (ordinal, text) in view.insert_defaults()? {
        defaults[ordinal] = row_default(text, &view.table.def, ordinal)?;
    }
    Ok(defaults)
}

fn row_default(text: &str, def: &TableDef, ordinal: usize) -> Result<Option<RowDefault>> {
    match sequence_call(text) {
        Some(sequence) => Ok(Some(RowDefault::NextOf(sequence))),
        None => Ok(bind_default(text, def, ordinal)?.map(RowDefault::Expr)),
    }
}

fn bind_default(text: &str, def: &TableDef, ordinal: usize) -> Result<Option<Expr>> {
    super::stored::bind_default(text, &def.schema.columns[ordinal]).map(Some)
}
