//! What depends on a relation: the views over it.
//!
//! ```text
//!   v over t, w over v     DROP TABLE t            2BP01: view v depends on table t
//!                          DROP TABLE t CASCADE    v and w go, too
//! ```

use std::sync::Arc;

use weft_format::{Code, Error, Result};
use weft_kernel::{Object, ObjectKind, TableDef, TableRef, Transaction};

use crate::functions::{Function, fixed_name};
use crate::notice::Notice;

/// The property of a materialised view: of its table the query, of its companion the name.
pub(crate) const MATERIALIZED: &str = "materialized";
/// The property of its table that says whether it has what its query gave.
pub(crate) const POPULATED: &str = "populated";

/// Whether a table is a materialised view.
pub(crate) fn is_materialized(def: &TableDef) -> bool {
    def.properties.contains_key(MATERIALIZED)
}

/// Whether a table may be read.
pub(crate) fn is_populated(def: &TableDef) -> bool {
    def.properties.get(POPULATED).is_none_or(|populated| populated == "yes")
}

/// The name of the view that stands for a materialised one and needs what that reads. No text of SQL has it.
pub(crate) fn companion_name(table: u32) -> String {
    format!("\0{table}")
}

/// Whether a view stands for a materialised one.
pub(crate) fn is_companion(view: &Object) -> bool {
    view.name.starts_with('\0')
}

/// The name of a view, as users know it.
pub(crate) fn name_of(view: &Object) -> &str {
    view.property(MATERIALIZED).unwrap_or(&view.name)
}

/// The table of a materialised view that a view stands for.
pub(crate) fn materialized_by(txn: &Transaction, view: &Object) -> Option<TableRef> {
    let number: u32 = view.name.strip_prefix('\0')?.parse().ok()?;
    let def = txn.tables().into_iter().find(|def| def.oid == number)?;
    txn.table_of(def.id)
}

/// Drops the view that stands for a materialised one.
pub(crate) fn drop_companion(txn: &mut Transaction, table: &TableDef) -> Result<()> {
    match txn.object(weft_kernel::ObjectKind::View, table.namespace, &companion_name(table.oid)) {
        Some(companion) => txn.drop_object(&companion),
        None => Ok(()),
    }
}

/// What messages call a view.
fn shown(view: &Object) -> String {
    match view.property(MATERIALIZED) {
        Some(name) => format!("materialized view {name}"),
        None => format!("view {}", view.name),
    }
}

/// The views that name a relation.
pub(crate) fn views_on(txn: &Transaction, id: u32) -> Vec<Arc<Object>> {
    let objects = txn.objects().into_iter();
    objects.filter(|object| object.kind == ObjectKind::View && object.needs.contains(&id)).collect()
}

/// Whether a view's query may mean a column: it names it, shows it by `*`, or asks for all that changed.
fn mentions(view: &Object, column: &str) -> bool {
    if view.property("query").is_some_and(crate::changes::names_any) {
        return true;
    }
    let column = column.to_lowercase();
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    let texts = [view.property("query"), view.property("from")];
    texts.into_iter().flatten().any(|text| text.to_lowercase().split(|c| !is_word(c)).any(|word| word == column))
}

/// Drops the views over a table (those that mention a column, when it is one that goes), or refuses.
pub(crate) fn check_views(
    txn: &mut Transaction,
    table: &TableDef,
    column: Option<&str>,
    cascade: bool,
    notices: &mut Vec<Notice>,
) -> Result<()> {
    let what = match column {
        Some(column) => format!("column {column} of table {}", table.name),
        None => format!("table {}", table.name),
    };
    if column.is_none() {
        functions_on(txn, table.oid).iter().try_for_each(|object| drop_caller(txn, object, &what, cascade, notices))?;
    }
    for view in views_on(txn, table.oid) {
        if column.is_none_or(|column| mentions(&view, column)) {
            drop_dependent(txn, &view, &what, cascade, notices)?;
        }
    }
    Ok(())
}

/// The functions that give rows of a relation.
fn functions_on(txn: &Transaction, id: u32) -> Vec<Arc<Object>> {
    let functions = txn.objects_of(ObjectKind::Function).into_iter().map(|(object, _)| object);
    functions.filter(|object| object.needs.contains(&id)).collect()
}

/// Drops a function; with `cascade` also the views and functions that call it by its number.
pub(crate) fn drop_function(
    txn: &mut Transaction,
    object: &Arc<Object>,
    cascade: bool,
    notices: &mut Vec<Notice>,
) -> Result<()> {
    let what = format!("function {}", Function::of(object)?.shown(txn));
    let views = views_on(txn, object.id);
    let fixed = fixed_name(object.id).to_string();
    let functions = txn.objects_of(ObjectKind::Function).into_iter().map(|(other, _)| other);
    let names =
        |other: &Arc<Object>| other.id != object.id && other.properties.values().any(|text| text.contains(&fixed));
    let callers: Vec<Arc<Object>> = functions.filter(names).collect();
    // It goes first, as those that it calls may call it.
    if cascade || views.is_empty() && callers.is_empty() {
        super::comment::drop_of(txn, object.id, None)?;
        if let Some(object) = txn.object_of(object.id) {
            txn.drop_object(&object)?;
        }
    }
    for view in views {
        drop_dependent(txn, &view, &what, cascade, notices)?;
    }
    for other in callers {
        drop_caller(txn, &other, &what, cascade, notices)?;
    }
    Ok(())
}

/// Drops a function that depends on something that goes; or refuses.
pub(crate) fn drop_caller(
    txn: &mut Transaction,
    object: &Arc<Object>,
    what: &str,
    cascade: bool,
    notices: &mut Vec<Notice>,
) -> Result<()> {
    let shown = format!("function {}", Function::of(object)?.shown(txn));
    if !cascade {
        let message = format!("cannot drop {what} because other objects depend on it");
        let error = Error::new(Code::DependentObjects, message);
        return Err(error.hint(format!("{shown} depends on {what}; use DROP ... CASCADE to drop it, too")));
    }
    if txn.object_of(object.id).is_none() {
        return Ok(());
    }
    notices.push(Notice::plain(format!("drop cascades to {shown}")));
    drop_function(txn, object, true, notices)
}

/// Drops a view that depends on something that goes, and what depends on the view; or refuses.
pub(crate) fn drop_dependent(
    txn: &mut Transaction,
    view: &Arc<Object>,
    what: &str,
    cascade: bool,
    notices: &mut Vec<Notice>,
) -> Result<()> {
    if !cascade {
        let message = format!("cannot drop {what} because other objects depend on it");
        let error = Error::new(Code::DependentObjects, message);
        return Err(error.hint(format!("{} depends on {what}; use DROP ... CASCADE to drop it, too", shown(view))));
    }
    if txn.object_of(view.id).is_none() {
        return Ok(());
    }
    let table = materialized_by(txn, view);
    let id = table.as_ref().map_or(view.id, |table| table.def.oid);
    for object in functions_on(txn, id) {
        drop_caller(txn, &object, &shown(view), true, notices)?;
    }
    for other in views_on(txn, id) {
        drop_dependent(txn, &other, &shown(view), true, notices)?;
    }
    notices.push(Notice::plain(format!("drop cascades to {}", shown(view))));
    super::comment::drop_of(txn, table.as_ref().map_or(view.id, |table| table.def.oid), None)?;
    if let Some(table) = table {
        txn.drop_relation(&table, &[])?;
    }
    txn.drop_object(view)
}

/// Views keep the names of what they read as text.
pub(crate) fn refuse_rename(txn: &Transaction, table: &TableDef, column: Option<&str>) -> Result<()> {
    let views = views_on(txn, table.oid);
    let view = views.iter().find(|view| column.is_none_or(|column| mentions(view, column)));
    match view {
        Some(view) => Err(in_view(name_of(view))),
        None => Ok(()),
    }
}

/// As [`refuse_rename`], of a view.
pub(crate) fn refuse_rename_of_view(txn: &Transaction, view: &Object, column: Option<&str>) -> Result<()> {
    let views = views_on(txn, view.id);
    match views.iter().find(|other| column.is_none_or(|column| mentions(other, column))) {
        Some(other) => Err(in_view(name_of(other))),
        None => Ok(()),
    }
}

fn in_view(view: &str) -> Error {
    Error::new(Code::FeatureNotSupported, format!("renaming what view \"{view}\" reads is not supported"))
        .hint("drop the view, and make it again")
}
