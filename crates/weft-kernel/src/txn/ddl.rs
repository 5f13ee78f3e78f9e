//! Creating, altering and dropping tables inside a transaction.
//!
//! ```text
//!   ALTER TABLE   the table's lock alone: whoever writes is done, nobody begins ─ another definition ─ commit
//!                 a transaction that planned under the older one meets a conflict when it comes to write
//!   stored anew   the old table dropped, a new one made under the same name and number; its rows are the caller's
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_contract::RecoveredTable;
use weft_format::{Code, Error, Result, TableId, Timestamp};

use super::journal::{Step, TableState};
use super::own_ddl::OwnDdl;
use super::transaction::{Transaction, undefined_table};
use crate::catalog::{ColumnsRef, ForeignKey, IndexRef, NewTable, ObjectKind, Relation, SchemaId, TableDef, TableRef};
use crate::index::NewColumnIndex;
use crate::lock::{LockMode, LockName, Wait};
use crate::method::TableContext;

impl Transaction {
    /// Creates a table, visible to others from commit on. The name is locked until then.
    pub fn create_table(&mut self, mut new: NewTable) -> Result<TableRef> {
        self.core().check_writable()?;
        let method = self.core().method(&new.method)?.clone();
        for (name, value) in &self.core().services.options().table_options {
            // Those that its method does not know are meant for tables of others.
            if method.check_options(&BTreeMap::from([(name.clone(), value.clone())])).is_err() {
                continue;
            }
            new.options.entry(name.clone()).or_insert_with(|| value.clone());
        }
        method.check_options(&new.options)?;
        check_definition(&new)?;
        self.lock_free_name(new.namespace, &new.name)?;
        self.check_foreign_keys(&new)?;
        let def = Arc::new(new.into_def(self.core().catalog.allocate_id()));
        debug_assert!(OwnDdl::by_id(&self.ddl, def.id).is_none(), "an id is given once");
        let core = self.core();
        let context = TableContext::new(def, &core.env, &core.services);
        let table = TableRef::new(&context, method.open(context.clone(), RecoveredTable::default())?);
        self.ddl.push(OwnDdl::Create(table.clone().into()));
        self.journal.note(|| Step::Ddl);
        Ok(table)
    }

    /// Gives a table another definition: the same key and, in their places, the same columns, perhaps dropped ones and
    /// more at the end. Others see it from the commit on. Waits for the transactions that write to the table. New
    /// constraints are the caller's to test, when this returned: then nobody else writes.
    pub fn alter_table(&mut self, t: &TableRef, change: impl FnOnce(&mut TableDef) -> Result<()>) -> Result<TableRef> {
        self.core().check_writable()?;
        self.lock_definition(t)?;
        let mut def = (*t.def).clone();
        change(&mut def)?;
        let mut schema = (*def.schema).clone();
        schema.version = t.def.schema.version + 1;
        def.schema = Arc::new(schema);
        check_successor(&t.def, &def)?;
        if (def.namespace, &def.name) != (t.def.namespace, &t.def.name) {
            self.lock_relation_name(t.def.namespace, &t.def.name)?;
            self.lock_free_name(def.namespace, &def.name)?;
        }
        let added = def.foreign_keys.iter().filter(|key| !t.def.foreign_keys.contains(key)).cloned();
        let mut referring = NewTable::of(&def);
        referring.foreign_keys = added.collect();
        referring.foreign_keys.iter_mut().filter(|key| key.parent == t.id()).for_each(|key| {
            key.parent = ForeignKey::ITSELF;
        });
        self.check_foreign_keys(&referring)?;
        let altered = t.with_def(Arc::new(def));
        let is_gone = |ordinal: usize| altered.def.schema.is_dropped(ordinal);
        for columns in self.column_indexes_of(t) {
            if NewColumnIndex::again(&columns.def)?.columns.iter().any(|&ordinal| is_gone(ordinal)) {
                self.push_drop_columns(&columns);
            }
        }
        self.push_alter(t, &altered);
        Ok(altered)
    }

    fn push_alter(&mut self, t: &TableRef, altered: &TableRef) {
        let has_replaced = |state: &TableState| state.writes.attachments.iter().any(|files| files.replaced.is_some());
        let is_apart = !self.journal.find(t.id()).is_some_and(has_replaced);
        assert!(is_apart, "files of a large update are taken apart before their table is altered");
        self.ddl.push(OwnDdl::Alter(t.clone().into(), altered.clone().into()));
        self.journal.note(|| Step::Ddl);
        self.journal.redefine(altered);
    }

    /// Gives an index another name, or another schema. Others see it from the commit on. Waits for the transactions
    /// that write to its table.
    pub fn rename_index(&mut self, index: &IndexRef, namespace: SchemaId, name: &str) -> Result<()> {
        self.core().check_writable()?;
        let owner = self.current(index.index.table()).ok_or_else(|| undefined_table(&index.def.name))?;
        self.lock_table(&owner, LockMode::EXCLUSIVE)?;
        let is_there = OwnDdl::creates(&self.ddl, index.id()) || self.core().catalog.by_id(index.id()).is_some();
        if !is_there {
            // Its maker, who had listed it, has rolled back.
            return Err(undefined_table(&index.def.name));
        }
        self.check_current(&index.def, index.drop_ts(), index.committed_version())?;
        let mut def = (*index.def).clone();
        let mut schema = (*def.schema).clone();
        schema.version += 1;
        def.schema = Arc::new(schema);
        (def.namespace, def.name) = (namespace, name.to_owned());
        if (def.namespace, &def.name) != (index.def.namespace, &index.def.name) {
            self.lock_relation_name(index.def.namespace, &index.def.name)?;
            self.lock_free_name(def.namespace, &def.name)?;
        }
        let altered = index.with_def(Arc::new(def));
        self.ddl.push(OwnDdl::Alter(index.clone().into(), altered.into()));
        self.journal.note(|| Step::Ddl);
        Ok(())
    }

    /// Waits for the transactions that write to a table and keeps others from it until the end; fails when it is not
    /// what this transaction sees any more.
    pub fn lock_definition(&mut self, t: &TableRef) -> Result<()> {
        self.lock_table(t, LockMode::EXCLUSIVE)?;
        self.unbuild(t)
    }

    /// Keeps a table from being altered and dropped by others until the end.
    pub fn lock_against_ddl(&mut self, t: &TableRef) -> Result<()> {
        self.lock_table(t, LockMode::SHARED)
    }

    /// Locks a whole table until the end: shared, as those who write rows do, or exclusively; fails when it is not what
    /// this transaction sees any more.
    pub fn lock_whole(&mut self, t: &TableRef, mode: LockMode, wait: Wait) -> Result<()> {
        self.lock(LockName::table(t.def.id), mode, wait, &|| format!("table {:?}", t.def.name))?;
        self.lock_table(t, mode)
    }

    /// Stores a table anew, without rows: under another id, with the same name and number. Tables with foreign keys to
    /// it refer to the new one. Its indexes are gone.
    pub fn replace_table(&mut self, t: &TableRef, new: NewTable) -> Result<TableRef> {
        self.core().check_writable()?;
        self.lock_definition(t)?;
        let children = self.references_to(t);
        self.push_drop(t);
        let mut made = new;
        made.oid = Some(t.def.oid);
        made.schema.version = t.def.schema.version + 1;
        made.foreign_keys.iter_mut().filter(|key| key.parent == t.id()).for_each(|key| {
            key.parent = ForeignKey::ITSELF;
        });
        let made = self.create_table(made)?;
        assert!(made.id() != t.id(), "a table that is stored anew has an id of its own");
        made.go_on_with_row_ids_of(t);
        let mut done = Vec::new();
        for (child, _) in children {
            if child.id() == t.id() || done.contains(&child.id()) {
                continue;
            }
            done.push(child.id());
            let (old, new) = (t.id(), made.id());
            self.redirect(&child, old, new)?;
        }
        Ok(made)
    }

    /// The foreign keys of a table to another refer to the one that took its place.
    fn redirect(&mut self, child: &TableRef, old: TableId, new: TableId) -> Result<()> {
        self.lock_definition(child)?;
        let child = self.current(child.id()).ok_or_else(|| undefined_table(&child.def.name))?;
        let mut def = (*child.def).clone();
        let mut schema = (*def.schema).clone();
        schema.version += 1;
        def.schema = Arc::new(schema);
        def.foreign_keys.iter_mut().filter(|key| key.parent == old).for_each(|key| key.parent = new);
        let altered = child.with_def(Arc::new(def));
        self.push_alter(&child, &altered);
        Ok(())
    }

    /// A table as this transaction defines it, or as it is committed now.
    pub(super) fn current(&self, id: TableId) -> Option<TableRef> {
        let found = OwnDdl::by_id(&self.ddl, id).or_else(|| self.core().catalog.by_id(id));
        found.and_then(Relation::into_table)
    }

    /// Locks the name of a relation that is to be made; it must be free.
    pub(super) fn lock_free_name(&mut self, namespace: SchemaId, name: &str) -> Result<()> {
        self.lock_relation_name(namespace, name)?;
        let taken = match OwnDdl::find(&self.ddl, namespace, name) {
            Some(own) => own,
            None => self.core().catalog.newest(namespace, name).map(|entry| entry.relation),
        };
        let what = match taken {
            Some(Relation::Index(_) | Relation::Columns(_)) => "index",
            Some(Relation::Table(_)) => "table",
            None => match self.newest_relation_object(namespace, name) {
                Some(object) if object.kind == ObjectKind::View => "view",
                Some(_) => "sequence",
                None => return Ok(()),
            },
        };
        let message = format!("{what} {name:?} exists already");
        Err(Error::new(Code::DuplicateTable, message).about(name, None, None))
    }

    pub(super) fn lock_relation_name(&mut self, namespace: SchemaId, name: &str) -> Result<()> {
        let lock = match namespace {
            SchemaId::PUBLIC => LockName::table_name(name),
            SchemaId(id) => LockName::table_name(&format!("{id}\0{name}")),
        };
        self.lock(lock, LockMode::EXCLUSIVE, self.lock_wait(), &|| format!("the name {name:?}"))
    }

    /// Drops a table; others see it until commit. Waits for the transactions that write to it.
    pub fn drop_table(&mut self, name: &str) -> Result<()> {
        let table = self.table(name)?;
        self.drop_relation(&table, &[])
    }

    /// Drops a table, to which others may refer that go with it.
    pub fn drop_relation(&mut self, table: &TableRef, with: &[TableId]) -> Result<()> {
        self.core().check_writable()?;
        if !OwnDdl::creates(&self.ddl, table.def.id) {
            let name = &table.def.name;
            self.lock_relation_name(table.def.namespace, name)?;
            self.lock(LockName::table(table.def.id), LockMode::EXCLUSIVE, self.lock_wait(), &|| {
                format!("table {name:?}")
            })?;
            self.check_alive(table)?;
        }
        self.check_unreferenced(table, with)?;
        self.push_drop(table);
        Ok(())
    }

    fn push_drop(&mut self, table: &TableRef) {
        // One that could not be opened is not listed: without its table the next opening would not know what it is of.
        let alive = self.core().catalog.all().into_iter().filter(Relation::is_alive).filter_map(Relation::into_index);
        let listed = table.indexes();
        let unlisted = |index: &IndexRef| listed.iter().all(|known| known.id() != index.id());
        let left_alone = alive.filter(|index| index.index.table() == table.id() && unlisted(index));
        let left_alone: Vec<IndexRef> = left_alone.collect();
        for index in listed.iter().chain(&left_alone) {
            if !OwnDdl::drops(&self.ddl, index.id()) {
                self.ddl.push(OwnDdl::Drop(index.clone().into()));
                self.journal.note(|| Step::Ddl);
            }
        }
        let own = self.column_indexes_of(table);
        let known = self.core().catalog.all().into_iter().filter(Relation::is_alive).filter_map(Relation::into_columns);
        let known: Vec<ColumnsRef> = known.filter(|columns| columns.table() == table.id()).collect();
        own.iter().chain(&known).for_each(|columns| self.push_drop_columns(columns));
        self.ddl.push(OwnDdl::Drop(table.clone().into()));
        self.journal.note(|| Step::Ddl);
    }

    /// Fails when a table is no longer there to be written to. The caller holds its lock.
    pub(super) fn check_alive(&self, table: &TableRef) -> Result<()> {
        self.check_current(&table.def, table.drop_ts(), table.committed_version())
    }

    /// Fails for a definition that is not the one that counts now: of a relation that was dropped, or altered.
    pub(super) fn check_current(&self, def: &TableDef, drop_ts: Timestamp, committed_version: u32) -> Result<()> {
        if OwnDdl::drops(&self.ddl, def.id) || drop_ts <= self.read_ts {
            return Err(undefined_table(&def.name));
        }
        let own = if self.ddl.is_empty() { None } else { OwnDdl::by_id(&self.ddl, def.id) };
        let version = own.map_or(committed_version, |own| own.def().schema.version);
        let what = if drop_ts != Timestamp::MAX {
            "dropped"
        } else if def.schema.version == version {
            return Ok(());
        } else {
            "altered"
        };
        let message = format!("table {:?} was {what} by a concurrent transaction", def.name);
        Err(Error::new(Code::SerializationFailure, message).hint("run the transaction again"))
    }
}

/// What the kernel relies on in the next definition of a table.
fn check_successor(before: &TableDef, after: &TableDef) -> Result<()> {
    let (old, new) = (&before.schema, &after.schema);
    let is_one = (before.id, before.oid, &before.method) == (after.id, after.oid, &after.method);
    let is_prefix = new.columns.len() >= old.columns.len()
        && (0..old.columns.len()).all(|at| {
            let (old, new) = (old.columns[at].data_type, new.columns[at].data_type);
            old == new || old.slot_bytes() == new.slot_bytes() && old.arrow() == new.arrow()
        });
    if !is_one || !is_prefix || old.key != new.key || old.hidden_row_id != new.hidden_row_id {
        return Err(Error::internal(format!("table {:?} cannot become what was asked for", before.name)));
    }
    check_definition(&NewTable::of(after))
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
    if new.defaults.len() != schema.columns.len() {
        let (defaults, columns) = (new.defaults.len(), schema.columns.len());
        return bad(format!("table {:?} has {defaults} defaults for {columns} columns", new.name));
    }
    Ok(())
}
