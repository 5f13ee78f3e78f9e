//! Creating and dropping tables inside a transaction.

use std::sync::Arc;

use weft_format::{Code, Error, Result, TableId};

use super::journal::Step;
use super::transaction::{Transaction, undefined_table};
use crate::catalog::{NewTable, TableRef};
use crate::lock::{LockMode, LockName};
use crate::table::{RecoveredTable, TableContext};

/// A DDL statement of the transaction itself.
pub(super) enum OwnDdl {
    Create(TableRef),
    Drop(TableRef),
}

impl OwnDdl {
    /// What the transaction's own DDL says of a name: nothing, a table, or that there is none.
    pub(super) fn find(ddl: &[OwnDdl], name: &str) -> Option<Option<TableRef>> {
        ddl.iter().rev().find_map(|ddl| match ddl {
            OwnDdl::Create(table) if table.def.name == name => Some(Some(table.clone())),
            OwnDdl::Drop(table) if table.def.name == name => Some(None),
            _ => None,
        })
    }

    /// Whether the transaction drops a table.
    pub(super) fn drops(ddl: &[OwnDdl], id: TableId) -> bool {
        ddl.iter().any(|ddl| matches!(ddl, OwnDdl::Drop(table) if table.def.id == id))
    }

    /// Whether the transaction makes a table.
    pub(super) fn creates(ddl: &[OwnDdl], id: TableId) -> bool {
        ddl.iter().any(|ddl| matches!(ddl, OwnDdl::Create(table) if table.def.id == id))
    }
}

impl Transaction {
    /// Creates a table, visible to others from commit on. The name is locked until then.
    pub fn create_table(&mut self, new: NewTable) -> Result<TableRef> {
        self.core().check_writable()?;
        let method = self.core().method(&new.method)?.clone();
        method.check_options(&new.options)?;
        check_definition(&new)?;
        self.lock_free_name(&new.name)?;
        let def = Arc::new(new.into_def(self.core().catalog.allocate_id()));
        let core = self.core();
        let context = TableContext { def: def.clone(), env: core.env.clone(), services: core.services.clone() };
        let table = TableRef::new(def, method.open(context, RecoveredTable::default())?);
        self.ddl.push(OwnDdl::Create(table.clone()));
        self.journal.note(|| Step::Ddl);
        Ok(table)
    }

    /// Locks the name of a relation that is to be made; it must be free.
    pub(super) fn lock_free_name(&mut self, name: &str) -> Result<()> {
        self.lock_name(name)?;
        let taken = match OwnDdl::find(&self.ddl, name) {
            Some(own) => own,
            None => self.core().catalog.newest(name).map(|entry| entry.table),
        };
        let Some(taken) = taken else { return Ok(()) };
        let what = if taken.as_index.is_some() { "index" } else { "table" };
        let message = format!("{what} {name:?} exists already");
        Err(Error::new(Code::DuplicateTable, message).about(name, None, None))
    }

    pub(super) fn lock_name(&mut self, name: &str) -> Result<()> {
        self.lock(LockName::table_name(name), LockMode::EXCLUSIVE, self.lock_wait(), &|| format!("the name {name:?}"))
    }

    /// Drops a table; others see it until commit. Waits for the transactions that write to it.
    pub fn drop_table(&mut self, name: &str) -> Result<()> {
        self.core().check_writable()?;
        let table = self.table(name)?;
        if !OwnDdl::creates(&self.ddl, table.def.id) {
            self.lock_name(name)?;
            self.lock(LockName::table(table.def.id), LockMode::EXCLUSIVE, self.lock_wait(), &|| {
                format!("table {name:?}")
            })?;
            let newest = self.core().catalog.newest(name);
            if newest.is_none_or(|newest| newest.table.def.id != table.def.id) {
                let message = format!("table {name:?} was dropped by a concurrent transaction");
                return Err(Error::new(Code::SerializationFailure, message).hint("run the transaction again"));
            }
        }
        for index in table.index_relations().iter() {
            if !OwnDdl::drops(&self.ddl, index.id()) {
                self.ddl.push(OwnDdl::Drop(index.clone()));
                self.journal.note(|| Step::Ddl);
            }
        }
        self.ddl.push(OwnDdl::Drop(table));
        self.journal.note(|| Step::Ddl);
        Ok(())
    }

    /// Fails when a table is no longer there to be written to. The caller holds its lock.
    pub(super) fn check_alive(&self, table: &TableRef) -> Result<()> {
        if OwnDdl::drops(&self.ddl, table.def.id) {
            return Err(undefined_table(&table.def.name));
        }
        if table.drop_ts() <= self.read_ts {
            return Err(undefined_table(&table.def.name));
        }
        if table.drop_ts() != weft_format::Timestamp::MAX {
            let message = format!("table {:?} was dropped by a concurrent transaction", table.def.name);
            return Err(Error::new(Code::SerializationFailure, message).hint("run the transaction again"));
        }
        Ok(())
    }
}

/// What the kernel relies on in a definition.
fn check_definition(new: &NewTable) -> Result<()> {
    let bad = |what: String| Err(Error::new(Code::InvalidTableDefinition, what).about(&new.name, None, None));
    let schema = &new.schema;
    if schema.columns.len() > 1600 {
        return bad(format!("table {:?} has {} columns, at most 1600 are allowed", new.name, schema.columns.len()));
    }
    for (ordinal, column) in schema.columns.iter().enumerate() {
        if schema.ordinal(&column.name) != Some(ordinal) {
            let message = format!("column {:?} of table {:?} is named twice", column.name, new.name);
            return Err(Error::new(Code::DuplicateColumn, message).about(&new.name, Some(&column.name), None));
        }
    }
    if schema.key.iter().any(|&ordinal| !schema.columns.get(ordinal).is_some_and(|column| column.not_null)) {
        return bad(format!("a key column of table {:?} does not exist or is nullable", new.name));
    }
    if new.defaults.len() != schema.visible().len() {
        let (defaults, columns) = (new.defaults.len(), schema.visible().len());
        return bad(format!("table {:?} has {defaults} defaults for {columns} columns", new.name));
    }
    Ok(())
}
