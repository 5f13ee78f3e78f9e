//! ADD, DROP and VALIDATE CONSTRAINT.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use sqlparser::ast::{Ident, TableConstraint};
use weft_format::schema::ROW_ID_COLUMN;
use weft_format::{Code, Column, DataType, Error, Predicate, Result};
use weft_kernel::{ForeignKey, IndexRef, NewTable, TableRef};

use super::Altering;
use super::columns::{fresh, nulls};
use super::rows::{contains_nulls, each_batch, has_row, rewrite};
use crate::ddl::building::{Building, NewCheck, free_check_name};
use crate::ddl::comment::{self, About};
use crate::ddl::foreign_keys::{NewForeignKey, deferrable, resolve};
use crate::ddl::pieces::{NO_INHERIT, NOT_VALID, marked, move_marks};
use crate::notice::Notice;
use crate::parse::fold;
use crate::row::{stored_check, table_scope};

impl Altering<'_> {
    /// ADD CONSTRAINT
    pub(super) fn add_constraint(&mut self, constraint: &TableConstraint, not_valid: bool) -> Result<()> {
        let mut building = Building::of(&self.table.def, self.source);
        building.constraint(constraint)?;
        let added = building.added(self.table.def.schema.columns.len());
        if let Some((name, columns)) = added.key {
            return self.add_primary_key(name, columns);
        }
        for check in added.checks {
            self.add_check(check, not_valid)?;
        }
        for unique in added.uniques {
            if let Some(name) = unique.name.as_deref().filter(|name| self.has_constraint(name)) {
                return Err(self.taken(name));
            }
            crate::ddl::create_uniques(self.txn, &self.table, vec![unique])?;
        }
        self.add_foreign_keys(added.foreign_keys, not_valid)
    }

    /// ADD PRIMARY KEY: the rows are stored anew, in its order.
    pub(super) fn add_primary_key(&mut self, name: Option<String>, key: Vec<usize>) -> Result<()> {
        let schema = &self.table.def.schema;
        let Some(row_id) = schema.row_id() else {
            let message = format!("multiple primary keys for table \"{}\" are not allowed", self.name());
            return Err(Error::new(Code::InvalidTableDefinition, message));
        };
        for &column in &key {
            if has_row(self.txn, &self.table, vec![Predicate::IsNull { column }])? {
                return Err(contains_nulls(&self.table, &schema.columns[column].name));
            }
        }
        let name = name.unwrap_or_else(|| format!("{}_pkey", self.name()));
        let is_relation = crate::resolve::is_taken(self.txn, self.table.def.namespace, &name);
        if self.has_constraint(&name) || is_relation {
            let message = format!("relation \"{name}\" already exists");
            return Err(Error::new(Code::DuplicateTable, message));
        }
        let mut new = fresh(&self.table.def);
        new.schema.hidden_row_id = false;
        key.iter().for_each(|&ordinal| new.schema.columns[ordinal].not_null = true);
        new.schema.key = key;
        new.schema.drop_column(row_id);
        new.primary_key = Some(name);
        self.rewrite_with(new, |batch| {
            let mut arrays = batch.columns().to_vec();
            arrays[row_id] = nulls(DataType::BigInt, batch);
            arrays
        })
    }

    /// The primary key goes: the rows are stored anew, in the order of a hidden row id.
    pub(super) fn drop_primary_key(&mut self) -> Result<()> {
        let mut new = fresh(&self.table.def);
        let row_id = Column { name: ROW_ID_COLUMN.into(), data_type: DataType::BigInt, not_null: true };
        let ordinal = new.schema.columns.len();
        new.schema.columns.push(row_id);
        new.schema.key = vec![ordinal];
        new.schema.hidden_row_id = true;
        new.defaults.push(None);
        new.primary_key = None;
        let mut next = 1;
        self.rewrite_with(new, |batch| {
            let mut arrays = batch.columns().to_vec();
            let count = batch.num_rows() as i64;
            arrays.push(Arc::new(Int64Array::from_iter_values(next..next + count)));
            next += count;
            arrays
        })?;
        // Rows that come get numbers behind these.
        self.txn.next_row_ids(&self.table, u64::try_from(next).unwrap_or_default());
        Ok(())
    }

    fn rewrite_with(&mut self, new: NewTable, mut change: impl FnMut(&RecordBatch) -> Vec<ArrayRef>) -> Result<()> {
        self.table = rewrite(self.txn, &self.table, new, |_, batch| Ok(change(batch)))?;
        Ok(())
    }

    /// Adds a CHECK constraint.
    pub(super) fn add_check(&mut self, check: NewCheck, not_valid: bool) -> Result<()> {
        let NewCheck { name: given, column, condition, no_inherit } = check;
        let scope = table_scope(self.name(), &self.table.def.schema, crate::expr::Scope::empty());
        let condition = stored_check(&condition, &scope, self.eval.local)?;
        let name = match given {
            Some(name) if self.has_constraint(&name) => return Err(self.taken(&name)),
            Some(name) => name,
            None => free_check_name(self.name(), column.as_deref(), &self.table.def.checks),
        };
        if !not_valid {
            self.test_check(&name, &condition)?;
        }
        self.alter(|def| {
            for (mark, _) in [(NO_INHERIT, no_inherit), (NOT_VALID, not_valid)].into_iter().filter(|(_, is)| *is) {
                def.properties.insert(marked(mark, &name), "true".into());
            }
            def.checks.push((name, condition));
            Ok(())
        })
    }

    /// Adds foreign keys, each tested against the rows that are there.
    pub(super) fn add_foreign_keys(&mut self, foreign_keys: Vec<NewForeignKey>, not_valid: bool) -> Result<()> {
        if foreign_keys.is_empty() {
            return Ok(());
        }
        let mut table = NewTable::of(&self.table.def);
        let known = table.foreign_keys.len();
        let uniques: Vec<crate::ddl::NewUnique> = self.uniques();
        resolve(self.txn, &mut table, &uniques, foreign_keys)?;
        let mut added = table.foreign_keys.split_off(known);
        added.iter_mut().filter(|key| key.parent == ForeignKey::ITSELF).for_each(|key| key.parent = self.table.id());
        if let Some(key) = added.iter().find(|key| self.has_constraint(&key.name)) {
            return Err(self.taken(&key.name));
        }
        let names: Vec<String> = added.iter().map(|key| key.name.clone()).collect();
        self.alter(|def| {
            let marks = added.iter().filter(|_| not_valid).map(|key| (marked(NOT_VALID, &key.name), "true".into()));
            def.properties.extend(marks);
            def.foreign_keys.extend(added);
            Ok(())
        })?;
        if not_valid { Ok(()) } else { names.iter().try_for_each(|name| self.test_foreign_key(name)) }
    }

    /// ALTER CONSTRAINT
    pub(super) fn alter_constraint(&mut self, name: &str, can: Option<bool>, deferred: Option<bool>) -> Result<()> {
        if !self.has_constraint(name) {
            return Err(self.no_constraint(name));
        }
        let deferrable = deferrable(can, deferred)?;
        if !self.table.def.foreign_keys.iter().any(|key| key.name == name) {
            let message =
                format!("constraint \"{name}\" of relation \"{}\" is not a foreign key constraint", self.name());
            return Err(Error::new(Code::WrongObjectType, message).about(self.name(), None, Some(name)));
        }
        self.alter(|def| {
            let keys = def.foreign_keys.iter_mut().filter(|key| key.name == name);
            keys.for_each(|key| key.deferrable = deferrable);
            Ok(())
        })?;
        // What this transaction has put off until its end may be put off no longer.
        if self.txn.has_changed_rows() { self.test_foreign_key(name) } else { Ok(()) }
    }

    fn test_foreign_key(&mut self, name: &str) -> Result<()> {
        let all: Vec<usize> = (0..self.table.def.schema.columns.len()).collect();
        let mut batches: Vec<RecordBatch> = Vec::new();
        each_batch(self.txn, &self.table, &all, Vec::new(), |batch| {
            batches.push(batch);
            Ok(true)
        })?;
        self.txn.check_foreign_key(&self.table, name, &batches)
    }

    /// The unique keys of the table.
    fn uniques(&self) -> Vec<crate::ddl::NewUnique> {
        let indexes = self.txn.indexes_of(&self.table);
        let unique = indexes.iter().filter(|IndexRef { index, .. }| index.is_unique() && !index.is_partial());
        let key = |IndexRef { def, index, .. }: &IndexRef| crate::ddl::NewUnique {
            name: Some(def.name.clone()),
            columns: index.columns().to_vec(),
        };
        unique.map(key).collect()
    }

    /// DROP CONSTRAINT
    pub(super) fn drop_constraint(&mut self, name: &Ident, if_exists: bool, cascade: bool) -> Result<()> {
        let name = fold(name);
        let def = self.table.def.clone();
        let of = |name: &str| format!("constraint {name} on table {}", def.name);
        comment::set(self.txn, &About::Constraint(def.oid, name.clone()), None)?;
        if def.primary_key.as_deref() == Some(&name) {
            let references = self.txn.referring_to(&self.table, &def.schema.key);
            self.drop_references(references, &of(&name), cascade)?;
            return self.drop_primary_key();
        }
        if def.checks.iter().any(|(known, _)| *known == name) {
            return self.alter(|def| {
                def.checks.retain(|(known, _)| *known != name);
                move_marks(def, &name, None);
                Ok(())
            });
        }
        if def.foreign_keys.iter().any(|key| key.name == name) {
            return self.alter(|def| {
                def.foreign_keys.retain(|key| key.name != name);
                move_marks(def, &name, None);
                Ok(())
            });
        }
        let indexes = self.txn.indexes_of(&self.table);
        let is_it = |known: &&IndexRef| known.def.name == name && known.index.is_constraint();
        if let Some(IndexRef { def: index_def, index, .. }) = indexes.iter().find(is_it) {
            let references = self.txn.referring_to(&self.table, index.columns());
            self.drop_references(references, &of(&name), cascade)?;
            return self.txn.drop_index_in(index_def.namespace, &name);
        }
        let error = self.no_constraint(&name);
        if !if_exists {
            return Err(error);
        }
        self.notices.push(Notice::plain(format!("{}, skipping", error.message())));
        Ok(())
    }

    /// Drops foreign keys that others have to this table, or refuses.
    pub(super) fn drop_references(
        &mut self,
        references: Vec<(TableRef, ForeignKey)>,
        what: &str,
        cascade: bool,
    ) -> Result<()> {
        for (child, key) in references {
            if !cascade {
                let message = format!("cannot drop {what} because other objects depend on it");
                let detail = format!("constraint {} on table {} depends on {what}", key.name, child.def.name);
                let error = Error::new(Code::DependentObjects, message);
                return Err(error.hint(format!("{detail}; use DROP ... CASCADE to drop it, too")));
            }
            let message = format!("drop cascades to constraint {} on table {}", key.name, child.def.name);
            self.notices.push(Notice::plain(message));
            let altered = self.txn.alter_table(&child, |def| {
                def.foreign_keys.retain(|known| known.name != key.name);
                move_marks(def, &key.name, None);
                Ok(())
            })?;
            if altered.id() == self.table.id() {
                self.table = altered;
            }
        }
        Ok(())
    }

    /// VALIDATE CONSTRAINT: tests the rows again.
    pub(super) fn validate_constraint(&mut self, name: &Ident) -> Result<()> {
        let name = fold(name);
        if let Some((_, condition)) = self.table.def.checks.iter().find(|(known, _)| *known == name) {
            self.test_check(&name, &condition.clone())?;
            return self.note_valid(&name);
        }
        if self.table.def.foreign_keys.iter().any(|key| key.name == name) {
            self.test_foreign_key(&name)?;
            return self.note_valid(&name);
        }
        if self.has_constraint(&name) {
            let message = format!(
                "constraint \"{name}\" of relation \"{}\" is not a foreign key or check constraint",
                self.name()
            );
            return Err(Error::new(Code::WrongObjectType, message).about(self.name(), None, Some(&name)));
        }
        Err(self.no_constraint(&name))
    }

    /// All rows pass a constraint.
    fn note_valid(&mut self, name: &str) -> Result<()> {
        let mark = marked(NOT_VALID, name);
        if !self.table.def.properties.contains_key(&mark) {
            return Ok(());
        }
        self.alter(|def| {
            def.properties.remove(&mark);
            Ok(())
        })
    }

    /// Whether the table has a constraint of a name.
    pub(super) fn has_constraint(&self, name: &str) -> bool {
        let def = &self.table.def;
        def.primary_key.as_deref() == Some(name)
            || def.checks.iter().any(|(known, _)| known == name)
            || def.foreign_keys.iter().any(|key| key.name == name)
            || self
                .txn
                .indexes_of(&self.table)
                .iter()
                .any(|known| known.def.name == name && known.index.is_constraint())
    }

    pub(super) fn taken(&self, name: &str) -> Error {
        let message = format!("constraint \"{name}\" for relation \"{}\" already exists", self.name());
        Error::new(Code::DuplicateObject, message).about(self.name(), None, Some(name))
    }

    pub(super) fn no_constraint(&self, name: &str) -> Error {
        let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", self.name());
        Error::new(Code::UndefinedObject, message).about(self.name(), None, Some(name))
    }
}
