//! Column indexes inside a transaction: made, dropped, renamed. Who is fed when says `index/columns.rs`.
//!
//! ```text
//!   CREATE INDEX ... USING columns   table locked: writers wait, readers go on ─ settle ─ snapshot S
//!                                    rows as of S, in the order of their keys, 32 MiB at a time ─▶ files ─▶ commit
//!                                    the commit's own rows are fed behind its files
//! ```
//!
//! 1. The table is locked from before S is taken until the commit that makes the index is published: no commit falls
//!    between what the files have and what is fed.
//! 2. Files are durable before the commit record that names them; rolled back, they go.

use std::sync::Arc;

use arrow_array::RecordBatch;
use weft_contract::{Attachment, RecoveredTable};
use weft_format::{Code, Error, Result, Timestamp};

use super::journal::Step;
use super::own_ddl::OwnDdl;
use super::transaction::{Transaction, undefined_table};
use crate::catalog::{ColumnsRef, NewTable, Relation, SchemaId, TableRef};
use crate::fault::{Fault, active};
use crate::history::History;
use crate::index::{ColumnIndex, NewColumnIndex, STORED_BY, for_each_row};
use crate::lock::LockMode;

/// Rows of so many bytes become files at once.
const BUILT_BYTES: usize = 32 << 20;

impl Transaction {
    /// Makes a column index of a table, usable by snapshots from the commit on. Who writes to the table waits until
    /// then, who reads does not. Of tables only that build no files of rows: the others are stored as columns.
    pub fn create_column_index(&mut self, t: &TableRef, mut new: NewColumnIndex) -> Result<ColumnsRef> {
        self.core().check_writable()?;
        if t.table.in_place().is_none() {
            let (name, method) = (&t.def.name, &t.def.method);
            let message = format!("table {name:?} is stored as columns already: its method is {method}");
            return Err(Error::new(Code::FeatureNotSupported, message).about(name, None, None));
        }
        new.check(&t.def.schema)?;
        if self.has_files(t) {
            let (name, message) = (&t.def.name, format!("rows were added in bulk to table {:?}", t.def.name));
            let error = Error::new(Code::FeatureNotSupported, message).about(name, None, None);
            return Err(error.hint("commit first"));
        }
        let method = self.core().method(STORED_BY)?.clone();
        for (name, value) in &self.core().services.options().table_options {
            let is_known = method.check_options(&[(name.clone(), value.clone())].into()).is_ok();
            if is_known && name != History::OPTION {
                new.options.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        method.check_options(&new.options)?;
        self.lock_free_name(t.def.namespace, &new.name)?;
        let own = OwnDdl::creates(&self.ddl, t.id());
        self.lock_indexes(t, LockMode::EXCLUSIVE, self.lock_wait())?;
        self.lock_table(t, LockMode::EXCLUSIVE)?;
        let relation = NewTable { namespace: t.def.namespace, oid: new.oid, ..new.relation(&t.def) };
        let def = Arc::new(relation.into_def(self.core().catalog.allocate_id()));
        let context = t.context_of_index(def.clone(), &self.core().env, &self.core().services);
        let index = ColumnIndex::open(context, &*method, RecoveredTable::default(), &t.as_indexed())?;
        // It has missed nothing of what it will be fed.
        index.note_lacking(std::iter::empty());
        let columns = ColumnsRef::new(def, index.clone());
        self.ddl.push(OwnDdl::Create(columns.clone().into()));
        self.journal.note(|| Step::Ddl);
        assert!(!self.has_files(t), "the rows of a table that gets one are committed, or staged one by one");
        if !own {
            self.fill_columns(t, &columns, &index)?;
        }
        Ok(columns)
    }

    /// Puts the rows committed so far into the files of the index (column indexes 1).
    fn fill_columns(&mut self, t: &TableRef, columns: &ColumnsRef, index: &ColumnIndex) -> Result<()> {
        let engine = self.engine.clone();
        let timeline = &engine.core.timeline;
        timeline.settle()?;
        let read_ts = timeline.register();
        let as_of = if active(Fault::COLUMNS_OLD_SNAPSHOT) { self.read_ts } else { read_ts };
        let mut built = Attachment { files: Vec::new(), rows: 0, payload: Vec::new(), replaced: None };
        let result = self.build_columns(t, index, as_of, &mut built);
        timeline.release(read_ts);
        debug_assert!(built.files.is_empty() == (built.rows == 0), "each file has rows, and each row a file");
        if let Err(error) = result {
            weft_contract::Derived::discard(index, &built);
            return Err(error);
        }
        // The log says as of when they are.
        built.payload = read_ts.0.to_le_bytes().to_vec();
        self.journal.attach_entries(columns.clone(), built);
        Ok(())
    }

    fn build_columns(&self, t: &TableRef, index: &ColumnIndex, as_of: Timestamp, built: &mut Attachment) -> Result<()> {
        let (mut batches, mut bytes): (Vec<RecordBatch>, usize) = (Vec::new(), 0);
        let mut write = |batches: &mut Vec<RecordBatch>| {
            let files = index.build(&std::mem::take(batches))?;
            built.rows += files.rows;
            built.files.extend(files.files);
            Ok(())
        };
        for_each_row(&*t.table, &t.def.schema, as_of, |batch| {
            self.check_goes_on()?;
            bytes += batch.get_array_memory_size();
            batches.push(batch.clone());
            if bytes < BUILT_BYTES {
                return Ok(());
            }
            bytes = 0;
            write(&mut batches)
        })?;
        if batches.is_empty() { Ok(()) } else { write(&mut batches) }
    }

    /// The relation of a column index, by its schema and exact name; own DDL included.
    pub fn column_index_in(&self, namespace: SchemaId, name: &str) -> Option<ColumnsRef> {
        self.relation(namespace, name)?.into_columns()
    }

    /// The column indexes of a table as this transaction sees them: its own too, and not those that it dropped.
    pub fn column_indexes_of(&self, t: &TableRef) -> Vec<ColumnsRef> {
        let listed = t.column_indexes();
        let alive = listed.iter().filter(|columns| !OwnDdl::drops(&self.ddl, columns.id()));
        let own = |columns: &ColumnsRef| OwnDdl::by_id(&self.ddl, columns.id()).and_then(Relation::into_columns);
        let mut all: Vec<ColumnsRef> = alive.map(|columns| own(columns).unwrap_or_else(|| columns.clone())).collect();
        let made = self.ddl.iter().filter_map(|ddl| match ddl {
            OwnDdl::Create(Relation::Columns(made)) if made.table() == t.id() => Some(made),
            _ => None,
        });
        for made in made.filter(|made| !OwnDdl::drops(&self.ddl, made.id())) {
            all.push(own(made).unwrap_or_else(|| made.clone()));
        }
        all
    }

    /// Drops a column index of a schema; others use it until commit. Waits for the transactions that write to its
    /// table.
    pub fn drop_column_index_in(&mut self, namespace: SchemaId, name: &str) -> Result<()> {
        self.core().check_writable()?;
        let Some(dropped) = self.column_index_in(namespace, name) else {
            return Err(Error::new(Code::UndefinedObject, format!("index {name:?} does not exist")));
        };
        self.lock_column_index(&dropped)?;
        self.push_drop_columns(&dropped);
        Ok(())
    }

    pub(super) fn push_drop_columns(&mut self, dropped: &ColumnsRef) {
        if !OwnDdl::drops(&self.ddl, dropped.id()) {
            self.ddl.push(OwnDdl::Drop(dropped.clone().into()));
            self.journal.note(|| Step::Ddl);
        }
    }

    /// Drops a column index and makes it again from the rows of its table, under its name and number.
    pub fn rebuild_column_index(&mut self, namespace: SchemaId, name: &str) -> Result<()> {
        let gone = || Error::new(Code::UndefinedObject, format!("index {name:?} does not exist"));
        let relation = self.column_index_in(namespace, name).ok_or_else(gone)?;
        let t = self.current(relation.table()).ok_or_else(gone)?;
        self.drop_column_index_in(namespace, name)?;
        self.create_column_index(&t, NewColumnIndex::again(&relation.def)?)?;
        Ok(())
    }

    /// Gives a column index another name, or another schema. Others see it from the commit on. Waits for the
    /// transactions that write to its table.
    pub fn rename_column_index(&mut self, columns: &ColumnsRef, namespace: SchemaId, name: &str) -> Result<()> {
        self.core().check_writable()?;
        self.lock_column_index(columns)?;
        let mut def = (*columns.def).clone();
        let mut schema = (*def.schema).clone();
        schema.version += 1;
        def.schema = Arc::new(schema);
        (def.namespace, def.name) = (namespace, name.to_owned());
        if (def.namespace, &def.name) != (columns.def.namespace, &columns.def.name) {
            self.lock_relation_name(columns.def.namespace, &columns.def.name)?;
            self.lock_free_name(def.namespace, &def.name)?;
        }
        let altered = columns.with_def(Arc::new(def));
        self.ddl.push(OwnDdl::Alter(columns.clone().into(), altered.into()));
        self.journal.note(|| Step::Ddl);
        Ok(())
    }

    /// Keeps others from a column index and from its table; fails when it is not what this transaction sees any more.
    fn lock_column_index(&mut self, columns: &ColumnsRef) -> Result<()> {
        if !OwnDdl::creates(&self.ddl, columns.id()) {
            self.lock_relation_name(columns.def.namespace, &columns.def.name)?;
        }
        let owner = self.current(columns.table()).ok_or_else(|| undefined_table(&columns.def.name))?;
        self.lock_table(&owner, LockMode::EXCLUSIVE)?;
        self.check_current(&columns.def, columns.drop_ts(), columns.committed_version())
    }
}
