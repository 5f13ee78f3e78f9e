//! REFERENCES and FOREIGN KEY: names become ordinals.
//!
//! ```text
//!   p integer REFERENCES parent              the parent's primary key           constraint c_p_fkey
//!   FOREIGN KEY (a, b) REFERENCES q (x, y)   a unique index of q's (x, y)       constraint c_a_b_fkey
//! ```

use std::collections::BTreeMap;

use sqlparser::ast::{ConstraintReferenceMatchKind, DeferrableInitial, ForeignKeyConstraint, ReferentialAction};
use weft_format::{Code, Error, Result, Schema};
use weft_kernel::{Deferrable, FkAction, ForeignKey, NewTable, TableRef, Transaction};

use super::pieces::{NewUnique, ON_COMMIT, free_name, unsupported};
use crate::parse::{referred_and_set, table_name};
use crate::row::generated_property;

/// A foreign key of a CREATE TABLE.
pub(super) struct NewForeignKey {
    name: Option<String>,
    columns: Vec<usize>,
    parent: String,
    parent_columns: Vec<String>,
    on_delete: FkAction,
    on_update: FkAction,
    deferrable: Deferrable,
    full: bool,
    set_on_delete: Vec<String>,
}

impl NewForeignKey {
    /// What a constraint says. `columns` are the referencing ones.
    pub(super) fn new(name: Option<String>, columns: Vec<usize>, clause: &ForeignKeyConstraint) -> Result<Self> {
        if let Some(ConstraintReferenceMatchKind::Partial) = clause.match_kind {
            return Err(unsupported("MATCH PARTIAL").hint("MATCH SIMPLE and MATCH FULL are there"));
        }
        let characteristics = clause.characteristics.unwrap_or_default();
        if characteristics.enforced == Some(false) {
            return Err(unsupported("NOT ENFORCED"));
        }
        let deferred = characteristics.initially.map(|when| when == DeferrableInitial::Deferred);
        let (parent_columns, set_on_delete) = referred_and_set(&clause.referred_columns);
        Ok(NewForeignKey {
            name,
            columns,
            parent: table_name(&clause.foreign_table)?,
            parent_columns,
            on_delete: action(clause.on_delete.as_ref()),
            on_update: action(clause.on_update.as_ref()),
            deferrable: deferrable(characteristics.deferrable, deferred)?,
            full: matches!(clause.match_kind, Some(ConstraintReferenceMatchKind::Full)),
            set_on_delete,
        })
    }
}

/// When a foreign key is tested, of which `deferrable` and initially `deferred` may be said.
pub(super) fn deferrable(deferrable: Option<bool>, deferred: Option<bool>) -> Result<Deferrable> {
    match (deferrable, deferred) {
        (Some(false), Some(true)) => {
            Err(Error::new(Code::SyntaxError, "constraint declared INITIALLY DEFERRED must be DEFERRABLE"))
        }
        (_, Some(true)) => Ok(Deferrable::InitiallyDeferred),
        (Some(true), _) => Ok(Deferrable::InitiallyImmediate),
        _ => Ok(Deferrable::No),
    }
}

fn action(clause: Option<&ReferentialAction>) -> FkAction {
    match clause {
        None | Some(ReferentialAction::NoAction) => FkAction::NoAction,
        Some(ReferentialAction::Restrict) => FkAction::Restrict,
        Some(ReferentialAction::Cascade) => FkAction::Cascade,
        Some(ReferentialAction::SetNull) => FkAction::SetNull,
        Some(ReferentialAction::SetDefault) => FkAction::SetDefault,
    }
}

/// Puts the foreign keys into the definition; `uniques` are the table's own UNIQUE constraints.
pub(super) fn resolve(
    txn: &Transaction,
    table: &mut NewTable,
    uniques: &[NewUnique],
    foreign_keys: Vec<NewForeignKey>,
) -> Result<()> {
    for new in foreign_keys {
        let to_itself = match crate::resolve::split(&new.parent) {
            (None, name) => name == table.name && txn.search_path().contains(&table.namespace),
            (Some(schema), name) => {
                name == table.name && crate::resolve::schema_of(txn, schema) == Some(table.namespace)
            }
        };
        let parent = if to_itself { None } else { Some(parent_of(txn, &new.parent)?) };
        if let Some(parent) = &parent {
            crate::resolve::check_same_life(txn, table.namespace, parent.def.namespace)?;
            check_on_commit(table, parent)?;
        }
        let schema = parent.as_ref().map_or(&table.schema, |parent| &*parent.def.schema);
        let parent_columns = parent_columns(&new, schema)?;
        let is_own_key = || same(&table.schema.key, &parent_columns) && !table.schema.hidden_row_id;
        let is_own_unique = || uniques.iter().any(|unique| same(&unique.columns, &parent_columns));
        if to_itself && new.columns.len() == parent_columns.len() && !is_own_key() && !is_own_unique() {
            let message =
                format!("there is no unique constraint matching given keys for referenced table \"{}\"", table.name);
            return Err(Error::new(Code::InvalidForeignKey, message));
        }
        check_generated(table, &new)?;
        let set_on_delete = set_on_delete(table, &new)?;
        let names: Vec<&str> = new.columns.iter().map(|&column| table.schema.columns[column].name.as_str()).collect();
        let is_taken = |name: &str| {
            table.foreign_keys.iter().any(|known| known.name == name)
                || table.checks.iter().any(|(known, _)| known == name)
        };
        let name = match new.name {
            Some(name) if is_taken(&name) => {
                let message = format!("constraint \"{name}\" for relation \"{}\" already exists", table.name);
                return Err(Error::new(Code::DuplicateObject, message));
            }
            Some(name) => name,
            None => free_name(&format!("{}_{}", table.name, names.join("_")), "fkey", &is_taken),
        };
        table.foreign_keys.push(ForeignKey {
            name,
            columns: new.columns,
            parent: parent.map_or(ForeignKey::ITSELF, |parent| parent.id()),
            parent_columns,
            on_delete: new.on_delete,
            on_update: new.on_update,
            deferrable: new.deferrable,
            full: new.full,
            set_on_delete,
        });
    }
    Ok(())
}

fn parent_of(txn: &Transaction, name: &str) -> Result<TableRef> {
    match crate::resolve::relation(txn, name) {
        Some(crate::resolve::Relation::Table(table)) if !super::dependents::is_materialized(&table.def) => Ok(table),
        Some(_) => {
            let name = crate::resolve::shown(name);
            let message = format!("referenced relation \"{name}\" is not a table");
            Err(Error::new(Code::WrongObjectType, message).about(&name, None, None))
        }
        None => Err(crate::resolve::undefined(name)),
    }
}

fn parent_columns(new: &NewForeignKey, schema: &Schema) -> Result<Vec<usize>> {
    if new.parent_columns.is_empty() {
        if schema.hidden_row_id {
            let message = format!("there is no primary key for referenced table \"{}\"", new.parent);
            return Err(Error::new(Code::UndefinedObject, message).about(&new.parent, None, None));
        }
        return Ok(schema.key.clone());
    }
    let mut ordinals = Vec::with_capacity(new.parent_columns.len());
    for name in &new.parent_columns {
        let found = schema.visible_ordinal(name);
        let ordinal = found.ok_or_else(|| {
            let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
            Error::new(Code::UndefinedColumn, message).about(&new.parent, Some(name), None)
        })?;
        if ordinals.contains(&ordinal) {
            let message = "foreign key referenced-columns list must not contain duplicates";
            return Err(Error::new(Code::InvalidForeignKey, message).about(&new.parent, Some(name), None));
        }
        ordinals.push(ordinal);
    }
    Ok(ordinals)
}

/// What is generated is not set.
fn check_generated(table: &NewTable, new: &NewForeignKey) -> Result<()> {
    let is_generated = |column: &usize| table.properties.contains_key(&generated_property(*column));
    if !new.columns.iter().any(is_generated) {
        return Ok(());
    }
    let sets = |action| matches!(action, FkAction::SetNull | FkAction::SetDefault);
    let event = match (sets(new.on_update) || new.on_update == FkAction::Cascade, sets(new.on_delete)) {
        (true, _) => "UPDATE",
        (_, true) => "DELETE",
        _ => return Ok(()),
    };
    let message = format!("invalid ON {event} action for foreign key constraint containing generated column");
    Err(Error::new(Code::SyntaxError, message).about(&table.name, None, None))
}

/// The ordinals of the columns that SET NULL and SET DEFAULT name.
fn set_on_delete(table: &NewTable, new: &NewForeignKey) -> Result<Vec<usize>> {
    let ordinal = |name: &String| {
        let wrong = |code, what: &str| {
            let message = format!("column \"{name}\" referenced in {what}");
            Error::new(code, message).about(&table.name, Some(name), None)
        };
        let column = table.schema.visible_ordinal(name);
        let column = column.ok_or_else(|| wrong(Code::UndefinedColumn, "foreign key constraint does not exist"))?;
        match new.columns.contains(&column) {
            true => Ok(column),
            false => Err(wrong(Code::InvalidColumnReference, "ON DELETE SET action must be part of foreign key")),
        }
    };
    new.set_on_delete.iter().map(ordinal).collect()
}

/// What is emptied by commits is referred to only by what these empty, too.
fn check_on_commit(table: &NewTable, parent: &TableRef) -> Result<()> {
    let is_emptied =
        |properties: &BTreeMap<String, String>| properties.get(ON_COMMIT).is_some_and(|what| what == "delete");
    if !is_emptied(&parent.def.properties) || is_emptied(&table.properties) {
        return Ok(());
    }
    let message = "unsupported ON COMMIT and foreign key combination";
    let hint = format!(
        "Table \"{}\" references \"{}\", but they do not have the same ON COMMIT setting.",
        table.name, parent.def.name
    );
    Err(Error::new(Code::FeatureNotSupported, message).hint(hint).about(&table.name, None, None))
}

fn same(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && a.iter().all(|column| b.contains(column))
}
