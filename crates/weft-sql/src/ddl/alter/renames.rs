//! RENAME of tables, columns, constraints and indexes.

use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{Expr as SqlExpr, Ident, ObjectName, RenameTableNameKind};
use weft_format::{Code, Error, Result};
use weft_kernel::{ObjectKind, Transaction};
use weft_walk::visit_expressions_mut;

use super::Altering;
use super::columns::forget_bloom;
use crate::ddl::building::check_column_name;
use crate::ddl::comment;
use crate::ddl::pieces::{check_length, move_marks};
use crate::parse::{fold, parse_expression, table_name};
use crate::resolve::{self, Relation};
use crate::row::GENERATED;

impl Altering<'_> {
    /// RENAME COLUMN
    pub(super) fn rename_column(&mut self, old: &Ident, new: &Ident) -> Result<()> {
        let (old, new) = (fold(old), fold(new));
        let schema = &self.table.def.schema;
        let ordinal = schema.visible_ordinal(&old).ok_or_else(|| self.no_column(&old))?;
        check_column_name(&new, &[])?;
        if schema.visible_ordinal(&new).is_some() {
            let message = format!("column \"{new}\" of relation \"{}\" already exists", self.name());
            return Err(Error::new(Code::DuplicateColumn, message).about(self.name(), Some(&new), None));
        }
        crate::ddl::dependents::refuse_rename(self.txn, &self.table.def, Some(&old))?;
        self.alter(|def| {
            for (_, check) in &mut def.checks {
                *check = with_names(check, |part| if *part == old { Some(new.clone()) } else { None })?;
            }
            for (property, text) in &mut def.properties {
                if property.starts_with(GENERATED) {
                    *text = with_names(text, |part| if *part == old { Some(new.clone()) } else { None })?;
                }
            }
            let mut schema = (*def.schema).clone();
            schema.columns[ordinal].name = new.clone();
            def.schema = Arc::new(schema);
            forget_bloom(def, &old, Some(&new));
            Ok(())
        })
    }

    /// RENAME CONSTRAINT
    pub(super) fn rename_constraint(&mut self, old: &Ident, new: &Ident) -> Result<()> {
        let (old, new) = (fold(old), fold(new));
        check_length(&new)?;
        if !self.has_constraint(&old) {
            return Err(self.no_constraint(&old));
        }
        if self.has_constraint(&new) {
            return Err(self.taken(&new));
        }
        comment::rename_constraint(self.txn, self.table.def.oid, &old, &new)?;
        let indexes = self.txn.indexes_of(&self.table);
        if let Some(known) = indexes.iter().find(|known| known.def.name == old && known.index.is_constraint()) {
            return rename_index(self.txn, known.def.namespace, &old, &new);
        }
        self.alter(|def| {
            move_marks(def, &old, Some(&new));
            if def.primary_key.as_deref() == Some(&old) {
                def.primary_key = Some(new.clone());
            }
            def.checks.iter_mut().filter(|(name, _)| *name == old).for_each(|(name, _)| name.clone_from(&new));
            def.foreign_keys.iter_mut().filter(|key| key.name == old).for_each(|key| key.name.clone_from(&new));
            Ok(())
        })
    }

    /// RENAME TO
    pub(crate) fn rename(&mut self, name: &RenameTableNameKind) -> Result<()> {
        self.txn.lock_definition(&self.table)?;
        self.rename_table(name)
    }

    pub(super) fn rename_table(&mut self, name: &RenameTableNameKind) -> Result<()> {
        let (RenameTableNameKind::To(name) | RenameTableNameKind::As(name)) = name;
        let new = new_name(name)?;
        let old = self.table.def.name.clone();
        if resolve::is_taken(self.txn, self.table.def.namespace, &new) {
            return Err(relation_exists(&new));
        }
        crate::ddl::dependents::refuse_rename(self.txn, &self.table.def, None)?;
        self.alter(|def| {
            for (_, check) in &mut def.checks {
                *check = with_tables(check, &old, &new)?;
            }
            def.name = new;
            Ok(())
        })
    }
}

/// The name that something gets: without a schema.
fn new_name(name: &ObjectName) -> Result<String> {
    let new = table_name(name)?;
    if resolve::split(&new).0.is_some() {
        return Err(Error::new(Code::SyntaxError, format!("RENAME takes a name without a schema, not {name}")));
    }
    check_length(&new)?;
    Ok(new)
}

fn relation_exists(name: &str) -> Error {
    Error::new(Code::DuplicateTable, format!("relation \"{name}\" already exists")).about(name, None, None)
}

/// SET SCHEMA of a table, its indexes and the sequences that it owns.
pub(crate) fn move_table(
    txn: &mut Transaction,
    table: &weft_kernel::TableRef,
    to: weft_kernel::SchemaId,
) -> Result<()> {
    crate::ddl::dependents::refuse_rename(txn, &table.def, None)?;
    // From here on nobody makes an index of it, or is about to.
    txn.lock_definition(table)?;
    for index in txn.indexes_of(table) {
        let name = &index.def.name;
        if resolve::is_taken(txn, to, name) {
            return Err(relation_exists(name));
        }
        txn.rename_index(&index, to, name)?;
    }
    for columns in txn.column_indexes_of(table) {
        let name = &columns.def.name;
        if resolve::is_taken(txn, to, name) {
            return Err(relation_exists(name));
        }
        txn.rename_column_index(&columns, to, name)?;
    }
    txn.alter_table(table, |def| {
        def.namespace = to;
        Ok(())
    })?;
    for object in txn.objects() {
        let is_owned = crate::ddl::sequence::owner(&object).is_some_and(|(of, _)| of == table.def.oid);
        if object.kind == ObjectKind::Sequence && is_owned {
            move_object(txn, &object, to)?;
        }
    }
    Ok(())
}

/// SET SCHEMA of a view or a sequence.
pub(crate) fn move_object(
    txn: &mut Transaction,
    object: &Arc<weft_kernel::Object>,
    to: weft_kernel::SchemaId,
) -> Result<()> {
    if object.kind == ObjectKind::View {
        crate::ddl::dependents::refuse_rename_of_view(txn, object, None)?;
    }
    let mut moved = (**object).clone();
    moved.namespace = to;
    let moved = txn.put_object(moved)?;
    if moved.kind == ObjectKind::Sequence {
        crate::ddl::sequence::renamed(txn, object, &moved)?;
    }
    Ok(())
}

/// ALTER INDEX ... RENAME TO
pub(crate) fn rename_index(
    txn: &mut Transaction,
    namespace: weft_kernel::SchemaId,
    old: &str,
    new: &str,
) -> Result<()> {
    if resolve::is_taken(txn, namespace, new) {
        return Err(relation_exists(new));
    }
    let relation = txn
        .index_relation(namespace, old)
        .ok_or_else(|| Error::new(Code::UndefinedObject, format!("index \"{old}\" does not exist")))?;
    txn.rename_index(&relation, namespace, new)
}

/// Renames a view, a sequence or an index by its name. False: it is a table.
pub(crate) fn rename_relation(txn: &mut Transaction, name: &ObjectName, new: &ObjectName) -> Result<bool> {
    let old = table_name(name)?;
    let new = new_name(new)?;
    match resolve::relation(txn, &old) {
        None => Err(resolve::undefined(&old)),
        Some(Relation::Table(_)) => Ok(false),
        Some(Relation::Index(table, index)) => {
            rename_index(txn, table.def.namespace, &index.name(), &new)?;
            Ok(true)
        }
        Some(Relation::Columns(_, columns)) => {
            if resolve::is_taken(txn, columns.def.namespace, &new) {
                return Err(relation_exists(&new));
            }
            txn.rename_column_index(&columns, columns.def.namespace, &new)?;
            Ok(true)
        }
        Some(Relation::Object(object)) => {
            if resolve::is_taken(txn, object.namespace, &new) {
                return Err(relation_exists(&new));
            }
            if object.kind == ObjectKind::View {
                crate::ddl::dependents::refuse_rename_of_view(txn, &object, None)?;
            }
            let mut renamed = (*object).clone();
            renamed.name = new;
            let renamed = txn.put_object(renamed)?;
            if renamed.kind == ObjectKind::Sequence {
                crate::ddl::sequence::renamed(txn, &object, &renamed)?;
            }
            Ok(true)
        }
    }
}

/// An expression's text with other names of columns.
fn with_names(text: &str, name: impl Fn(&String) -> Option<String>) -> Result<String> {
    let mut expr = parse_expression(text)?;
    let change = |ident: &mut Ident| {
        if let Some(new) = name(&fold(ident)) {
            *ident = Ident::with_quote('"', new);
        }
    };
    let _ = visit_expressions_mut(&mut expr, |part| {
        match part {
            SqlExpr::Identifier(ident) => change(ident),
            SqlExpr::CompoundIdentifier(parts) => parts.last_mut().into_iter().for_each(change),
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
    Ok(expr.to_string())
}

/// An expression's text with another name of its table.
fn with_tables(text: &str, old: &str, new: &str) -> Result<String> {
    let mut expr = parse_expression(text)?;
    let _ = visit_expressions_mut(&mut expr, |part| {
        if let SqlExpr::CompoundIdentifier(parts) = part
            && let [.., table, _] = parts.as_mut_slice()
            && fold(table) == old
        {
            *table = Ident::with_quote('"', new);
        }
        ControlFlow::<()>::Continue(())
    });
    Ok(expr.to_string())
}
