//! Foreign keys in definitions: what CREATE TABLE, DROP TABLE and DROP INDEX ask.

use std::collections::BTreeSet;

use weft_format::{Code, DataType, Error, Result, Schema, TableId};

use super::super::own_ddl::OwnDdl;
use super::super::transaction::Transaction;
use super::parents::{is_comparable, is_unique};
use crate::catalog::{ForeignKey, NewTable, TableRef};
use crate::index::Index;
use crate::lock::LockMode;

impl Transaction {
    /// Tests the foreign keys of a table that is to be made, and keeps writers off the tables that they refer to
    /// (foreign keys 4). Whether a table may refer to columns of its own beside its key is not known before it has
    /// its indexes: that is the caller's business.
    pub(in crate::txn) fn check_foreign_keys(&mut self, new: &NewTable) -> Result<()> {
        if new.foreign_keys.is_empty() {
            return Ok(());
        }
        self.journal.want_steps();
        for foreign_key in &new.foreign_keys {
            if foreign_key.parent == ForeignKey::ITSELF {
                check_columns(new, foreign_key, &new.schema)?;
                continue;
            }
            let parent = self
                .current(foreign_key.parent)
                .ok_or_else(|| Error::internal(format!("foreign key \"{}\" refers to no table", foreign_key.name)))?;
            if !OwnDdl::creates(&self.ddl, parent.id()) {
                self.lock_table(&parent, LockMode::EXCLUSIVE)?;
            }
            check_columns(new, foreign_key, &parent.def.schema)?;
            let dropped = self.ddl.iter().filter_map(|ddl| match ddl {
                OwnDdl::Drop(relation) => Some(relation.id()),
                _ => None,
            });
            if !is_unique(&parent, &foreign_key.parent_columns, &dropped.collect()) {
                return Err(not_unique(&parent.def.name));
            }
        }
        Ok(())
    }

    /// Fails when other tables refer to a table that is to be dropped, and do not go with it.
    pub(in crate::txn) fn check_unreferenced(&self, t: &TableRef, with: &[TableId]) -> Result<()> {
        let references = self.references_to(t);
        let stays = |child: &TableRef| child.id() != t.id() && !with.contains(&child.id());
        let Some((child, foreign_key)) = references.iter().find(|(child, _)| stays(child)) else {
            return Ok(());
        };
        Err(depended_upon("table", &t.def.name, child, foreign_key)
            .hint(format!("drop table \"{}\" before, or in the same statement", child.def.name)))
    }

    /// The foreign keys to some of a table's columns, each with the table that has it; those of the table itself too.
    pub fn referring_to(&self, t: &TableRef, columns: &[usize]) -> Vec<(TableRef, ForeignKey)> {
        let mut references = self.references_to(t);
        references.retain(|(_, key)| key.parent_columns.iter().any(|column| columns.contains(column)));
        references
    }

    /// Fails when a foreign key needs the index.
    pub(in crate::txn) fn check_index_unused(&self, index: &Index) -> Result<()> {
        if !index.is_unique() || index.is_partial() {
            return Ok(());
        }
        let Some(table) = self.current(index.table()) else { return Ok(()) };
        let without = BTreeSet::from([index.id()]);
        let references = self.references_to(&table);
        match references.iter().find(|(_, foreign_key)| !is_unique(&table, &foreign_key.parent_columns, &without)) {
            Some((child, foreign_key)) => Err(depended_upon("index", &index.name(), child, foreign_key)
                .hint(format!("drop table \"{}\" before", child.def.name))),
            None => Ok(()),
        }
    }
}

/// What the kernel relies on in a foreign key.
fn check_columns(new: &NewTable, foreign_key: &ForeignKey, parent: &Schema) -> Result<()> {
    let (columns, parent_columns) = (&foreign_key.columns, &foreign_key.parent_columns);
    if columns.len() != parent_columns.len() || columns.is_empty() {
        let message = "number of referencing and referenced columns for foreign key disagree";
        return Err(Error::new(Code::InvalidForeignKey, message).about(&new.name, None, Some(&foreign_key.name)));
    }
    for (&column, &parent_column) in columns.iter().zip(parent_columns) {
        let (Some(column), Some(parent_column)) = (new.schema.columns.get(column), parent.columns.get(parent_column))
        else {
            return Err(Error::internal(format!(
                "foreign key \"{}\" has columns that are not there",
                foreign_key.name
            )));
        };
        let (a, b) = (column.data_type, parent_column.data_type);
        if is_comparable(a, b) {
            continue;
        }
        let message = format!("foreign key constraint \"{}\" cannot be implemented", foreign_key.name);
        let detail = format!(
            "Key columns \"{}\" and \"{}\" are of incompatible types: {a} and {b}.",
            column.name, parent_column.name
        );
        let code = if is_castable(a, b) { Code::FeatureNotSupported } else { Code::DatatypeMismatch };
        return Err(Error::new(code, message).detail(detail).about(
            &new.name,
            Some(&column.name),
            Some(&foreign_key.name),
        ));
    }
    Ok(())
}

/// Types that PostgreSQL compares although they are not of one kind.
fn is_castable(a: DataType, b: DataType) -> bool {
    if matches!((a, b), (DataType::Enum(_), DataType::Enum(_))) {
        return false;
    }
    let kind = |data_type: DataType| match data_type {
        DataType::Oid
        | DataType::SmallInt
        | DataType::Integer
        | DataType::BigInt
        | DataType::Real
        | DataType::DoublePrecision
        | DataType::Numeric { .. } => 1,
        DataType::Date | DataType::Timestamp | DataType::TimestampTz => 2,
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) => 3,
        DataType::Boolean => 4,
        DataType::Time | DataType::Interval => 5,
        DataType::Bytea => 6,
        DataType::Uuid => 7,
        DataType::Json | DataType::Jsonb => 8,
        DataType::Array(_) => 9,
        DataType::Enum(_) => 10,
        DataType::JsonPath => 11,
        DataType::Bit(_) | DataType::VarBit(_) => 12,
    };
    kind(a) == kind(b)
}

pub(super) fn not_unique(parent: &str) -> Error {
    let message = format!("there is no unique constraint matching given keys for referenced table \"{parent}\"");
    Error::new(Code::InvalidForeignKey, message).about(parent, None, None)
}

fn depended_upon(what: &str, name: &str, child: &TableRef, foreign_key: &ForeignKey) -> Error {
    let message = format!(
        "cannot drop {what} \"{name}\": constraint \"{}\" on table \"{}\" depends on it",
        foreign_key.name, child.def.name
    );
    Error::new(Code::DependentObjects, message).about(name, None, Some(&foreign_key.name))
}
