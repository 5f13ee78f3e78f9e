//! REFERENCES and FOREIGN KEY: names become ordinals.
//!
//! ```text
//!   p integer REFERENCES parent              the parent's primary key           constraint c_p_fkey
//!   FOREIGN KEY (a, b) REFERENCES q (x, y)   a unique index of q's (x, y)       constraint c_a_b_fkey
//! ```

use std::collections::BTreeMap;

use sqlparser::ast::{ConstraintReferenceMatchKind, DeferrableInitial, ForeignKeyConstraint, ReferentialAction};
use weft_format::{Code, Error, Result, Schema};
use weft_kernel::{ColumnSet, Deferrable, FkAction, ForeignKey, NewTable, TableDef, TableRef, Transaction};

use super::pieces::{NewUnique, ON_COMMIT, free_name, unsupported};
use crate::parse::{fold, table_name};
use crate::row::{bind_check, generated_property, generation_reads};

/// A foreign key of a CREATE TABLE.
pub(super) struct NewForeignKey {
    name: Option<String>,
    columns: Vec<usize>,
    parent: String,
    parent_columns: Vec<String>,
    on_delete: FkAction,
    on_update: FkAction,
    deferrable: Deferrable,
}

impl NewForeignKey {
    /// What a constraint says. `columns` are the referencing ones.
    pub(super) fn new(name: Option<String>, columns: Vec<usize>, clause: &ForeignKeyConstraint) -> Result<Self> {
        match clause.match_kind {
            None | Some(ConstraintReferenceMatchKind::Simple) => {}
            Some(_) => return Err(unsupported("MATCH FULL or PARTIAL")),
        }
        let characteristics = clause.characteristics.unwrap_or_default();
        if characteristics.enforced == Some(false) {
            return Err(unsupported("NOT ENFORCED"));
        }
        let deferred = characteristics.initially == Some(DeferrableInitial::Deferred);
        let deferrable = match (characteristics.deferrable, deferred) {
            (Some(false), true) => {
                return Err(Error::new(Code::SyntaxError, "constraint declared INITIALLY DEFERRED must be DEFERRABLE"));
            }
            (_, true) => Deferrable::InitiallyDeferred,
            (Some(true), false) => Deferrable::InitiallyImmediate,
            _ => Deferrable::No,
        };
        Ok(NewForeignKey {
            name,
            columns,
            parent: table_name(&clause.foreign_table)?,
            parent_columns: clause.referred_columns.iter().map(fold).collect(),
            on_delete: action(clause.on_delete.as_ref())?,
            on_update: action(clause.on_update.as_ref())?,
            deferrable,
        })
    }
}

fn action(clause: Option<&ReferentialAction>) -> Result<FkAction> {
    Ok(match clause {
        None | Some(ReferentialAction::NoAction) => FkAction::NoAction,
        Some(ReferentialAction::Restrict) => FkAction::Restrict,
        Some(ReferentialAction::Cascade) => FkAction::Cascade,
        Some(ReferentialAction::SetNull) => FkAction::SetNull,
        Some(ReferentialAction::SetDefault) => return Err(unsupported("SET DEFAULT")),
    })
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
        refuse_untested_checks(table, &new)?;
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

/// Actions change rows where CHECK constraints are not tested, and nothing is generated.
fn refuse_untested_checks(table: &NewTable, new: &NewForeignKey) -> Result<()> {
    let columns = changed(&new.columns, new.on_delete, new.on_update);
    if columns == ColumnSet::NONE {
        return Ok(());
    }
    let scope = crate::row::table_scope(&table.name, &table.schema, crate::expr::Scope::empty());
    for ordinal in 0..table.schema.columns.len() {
        let Some(text) = table.properties.get(&generated_property(ordinal)) else { continue };
        let reads = generation_reads(&table.name, &table.schema, ordinal, text)?;
        if columns.contains(ordinal) || reads.into_iter().any(|column| columns.contains(column)) {
            return Err(changes_generated(&table.name));
        }
    }
    for (name, condition) in &table.checks {
        if bind_check(condition, &scope)?.columns().into_iter().any(|column| columns.contains(column)) {
            return Err(changes_checked(&table.name, name));
        }
    }
    Ok(())
}

/// The columns that a foreign key's actions change.
fn changed(columns: &[usize], on_delete: FkAction, on_update: FkAction) -> ColumnSet {
    let changes = on_delete == FkAction::SetNull || matches!(on_update, FkAction::SetNull | FkAction::Cascade);
    columns.iter().copied().filter(|_| changes).collect()
}

/// The columns of a table that the actions of its foreign keys change.
pub(super) fn changed_by_actions(def: &TableDef) -> ColumnSet {
    let keys = def.foreign_keys.iter();
    keys.fold(ColumnSet::NONE, |all, key| all.union(changed(&key.columns, key.on_delete, key.on_update)))
}

const NO_ACTION: &str = "leave the actions of the foreign key out, or change the rows by statements of your own";

/// What is refused of a key and a generated column, whichever comes last.
pub(super) fn changes_generated(table: &str) -> Error {
    let what = "SET NULL or ON UPDATE CASCADE of a column that a generated column is computed from";
    unsupported(what).hint(NO_ACTION).about(table, None, None)
}

/// The same of a CHECK constraint.
pub(super) fn changes_checked(table: &str, check: &str) -> Error {
    let what = "SET NULL or ON UPDATE CASCADE of a column that has a CHECK constraint";
    unsupported(what).hint(NO_ACTION).about(table, None, Some(check))
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
