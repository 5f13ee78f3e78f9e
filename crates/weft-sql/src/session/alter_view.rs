//! ALTER VIEW: options, defaults of columns, names of columns.

use std::sync::Arc;

use sqlparser::ast::{AlterColumnOperation, AlterTableOperation, ObjectName};
use weft_format::{Code, Column, Error, Result};
use weft_kernel::{Object, ObjectKind};

use super::Session;
use super::views::{put_options, read_options, write_columns};
use super::work::Work;
use crate::ddl::{check_default, dependents};
use crate::notice::Notice;
use crate::outcome::{Outcome, Tag};
use crate::parse::{Parsed, ViewChange, fold, parse, table_name, written};
use crate::resolve::{self, Relation};
use crate::types;
use crate::view_columns::{SEPARATOR, default_property, options, view_columns};

/// ALTER VIEW
pub(super) fn alter(
    session: &mut Session,
    name: &ObjectName,
    if_exists: bool,
    change: &ViewChange,
    source: &str,
) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable("ALTER VIEW")?;
        let known_as = table_name(name)?;
        let done = Ok(Outcome::done(Tag::Done("ALTER VIEW")));
        let view = match resolve::relation(work.txn, &known_as) {
            Some(Relation::Object(object)) if object.kind == ObjectKind::View => object,
            Some(_) => {
                let message = format!("\"{}\" is not a view", resolve::split(&known_as).1);
                return Err(Error::new(Code::WrongObjectType, message));
            }
            None if if_exists => {
                let message = format!("relation \"{}\" does not exist, skipping", resolve::shown(&known_as));
                work.notices.push(Notice::plain(message));
                return done;
            }
            None => return Err(resolve::undefined(&known_as)),
        };
        work.permit.check_owns(&Relation::Object(Arc::clone(&view)))?;
        change_view(work, &view, change, source)?;
        done
    })
}

/// What an operation of ALTER TABLE says of a view.
pub(super) fn change_of(operation: &AlterTableOperation) -> Option<ViewChange> {
    use AlterTableOperation as Op;
    Some(match operation {
        Op::AlterColumn { column_name, op: AlterColumnOperation::SetDefault { value } } => {
            ViewChange::SetDefault(fold(column_name), Box::new(value.clone()))
        }
        Op::AlterColumn { column_name, op: AlterColumnOperation::DropDefault } => {
            ViewChange::DropDefault(fold(column_name))
        }
        Op::RenameColumn { old_column_name, new_column_name } => {
            ViewChange::RenameColumn(fold(old_column_name), fold(new_column_name))
        }
        Op::SetOptionsParens { options } => ViewChange::Set(options.clone()),
        _ => return None,
    })
}

/// Changes a view.
pub(super) fn change_view(work: &mut Work<'_>, view: &Arc<Object>, change: &ViewChange, source: &str) -> Result<()> {
    let mut changed = (**view).clone();
    match change {
        ViewChange::Set(given) => {
            let given = read_options(given)?;
            let mut all = options(view);
            all.retain(|(name, _)| given.iter().all(|(known, _)| known != name));
            all.extend(given);
            put_options(work.txn, &mut changed, &all)?;
        }
        ViewChange::Reset(names) => {
            let mut all = options(view);
            all.retain(|(name, _)| !names.contains(name));
            put_options(work.txn, &mut changed, &all)?;
        }
        ViewChange::SetDefault(column, value) => {
            let place = place_of(view, column)?;
            let (name, data_type) = view_columns(view).swap_remove(place);
            let column = Column { name, data_type, not_null: false };
            types::hold(work.txn, &**value)?;
            let value = types::fixed(work.txn, &**value)?;
            let text = check_default(work.txn, view.namespace, &value.to_string(), &column, &work.local)?;
            changed.properties.insert(default_property(place), text);
        }
        ViewChange::DropDefault(column) => {
            changed.properties.remove(&default_property(place_of(view, column)?));
        }
        ViewChange::RenameColumn(old, new) => rename_column(work, &mut changed, (old, new), source)?,
    }
    work.txn.put_object(changed)?;
    Ok(())
}

/// The place of a column of a view.
fn place_of(view: &Object, column: &str) -> Result<usize> {
    view_columns(view).iter().position(|(name, _)| name == column).ok_or_else(|| {
        let message = format!("column \"{column}\" of relation \"{}\" does not exist", view.name);
        Error::new(Code::UndefinedColumn, message).about(&view.name, Some(column), None)
    })
}

/// Gives a column another name, in the text of the query as well.
fn rename_column(work: &Work<'_>, view: &mut Object, (old, new): (&str, &str), source: &str) -> Result<()> {
    let place = place_of(view, old)?;
    if view_columns(view).iter().any(|(name, _)| name == new) {
        let message = format!("column \"{new}\" of relation \"{}\" already exists", view.name);
        return Err(Error::new(Code::DuplicateColumn, message));
    }
    dependents::refuse_rename_of_view(work.txn, view, Some(old))?;
    let list = |name: &str| -> Vec<String> {
        view.property(name).unwrap_or_default().split(SEPARATOR).map(str::to_owned).collect()
    };
    let (mut columns, mut from, types) = (list("columns"), list("from"), list("types"));
    new.clone_into(&mut columns[place]);
    let text = view.property("query").unwrap_or_default();
    if let Some(Parsed::Sql { statement, .. }) = parse(text)?.pop()
        && let sqlparser::ast::Statement::Query(mut query) = *statement
        && write_columns(work, &mut query, (&from, &types), &columns, source)
    {
        from.clone_from(&columns);
        view.properties.insert("query".to_owned(), written(&query));
    }
    let separator = SEPARATOR.to_string();
    view.properties.insert("columns".to_owned(), columns.join(&separator));
    view.properties.insert("from".to_owned(), from.join(&separator));
    Ok(())
}
