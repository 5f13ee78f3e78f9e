//! Indexes inside a transaction: made, dropped, asked for rows. What keeps them unique is in `unique`.
//!
//! ```text
//!   CREATE INDEX   listed: installations feed it ─ settle ─ snapshot S ─ rows as of S sorted into files ─ commit
//!                  a row is in the files (committed up to S), or was installed after the listing
//! ```
//!
//! 1. An index is listed at its table before the snapshot is taken that fills it, and commits sequenced before are
//!    published by then, so no row falls between. While it is made, jobs carry what it is fed to files, and the log
//!    that it needs is kept, as for every table (`catalog/building.rs`).

use std::ops::Bound;
use std::sync::Arc;

use arrow_array::RecordBatch;
use weft_contract::{Attachment, Derived, NoteReads, RecoveredTable};
use weft_format::{Code, CompareOp, Error, Predicate, Result, Timestamp, Value};

use super::journal::Step;
use super::own_ddl::OwnDdl;
use super::transaction::Transaction;
use crate::catalog::{IndexRef, NewTable, Relation, SchemaId, TableRef};
use crate::fault::{Fault, active};
use crate::index::{Direction, Index, IndexPart, NewIndex, attachment, for_each_row};
use crate::lock::LockMode;

/// Files that were built for the indexes of a table, each with its index.
pub(super) type IndexFiles = Vec<(IndexRef, Attachment)>;

impl Transaction {
    /// Makes an index of a table while others go on writing to it; usable by snapshots from the commit on. A name that
    /// a relation has is [`Code::DuplicateTable`], rows that are the same in a unique index
    /// [`Code::UniqueViolation`].
    pub fn create_index(&mut self, t: &TableRef, new: NewIndex) -> Result<()> {
        self.core().check_writable()?;
        self.unbuild(t)?;
        if self.has_built(t) {
            let message =
                format!("table {:?} has uncommitted rows of a bulk statement of this transaction", t.def.name);
            return Err(Error::new(Code::FeatureNotSupported, message).hint("commit first, or make the index before"));
        }
        new.check(&t.def.schema)?;
        self.lock_free_name(t.def.namespace, &new.name)?;
        let own = OwnDdl::creates(&self.ddl, t.id());
        self.lock_indexes(t, LockMode::EXCLUSIVE, self.lock_wait())?;
        self.lock_table(t, LockMode::SHARED)?;
        let relation = NewTable { namespace: t.def.namespace, oid: new.oid, ..new.relation(t.id()) };
        let def = Arc::new(relation.into_def(self.core().catalog.allocate_id()));
        let context = t.context_of_index(def.clone(), &self.core().env, &self.core().services);
        let index = Index::open(context, &RecoveredTable::default(), &t.as_indexed())?;
        assert!(!self.has_files(t), "the rows of a table that gets an index are committed, or staged one by one");
        let relation = IndexRef::new(def, index.clone());
        // It begins at what is published: what was before comes by the snapshot.
        index.store().freeze();
        if !own {
            self.core().catalog.buildings.enter(relation.clone());
        }
        self.ddl.push(OwnDdl::Create(relation.clone().into()));
        self.journal.note(|| Step::Ddl);
        t.add_index(relation.clone());
        if !own {
            self.fill(t, &relation, &index)?;
        }
        if new.unique || index.can_fail() {
            self.lock_table(t, LockMode::EXCLUSIVE)?;
        }
        if index.can_fail() {
            self.check_values(t, &index)?;
        }
        if new.unique {
            self.check_unique(t, &index)?;
        }
        Ok(())
    }

    /// Tests that all rows have a value, own ones included (index parts 2). The caller has locked the table: whoever
    /// staged a row without knowing the index is done.
    fn check_values(&mut self, t: &TableRef, index: &Arc<Index>) -> Result<()> {
        let engine = self.engine.clone();
        let timeline = &engine.core.timeline;
        timeline.settle()?;
        let mut value = Vec::new();
        if index.met_failure() {
            let read_ts = timeline.register();
            let tested = for_each_row(&*t.table, &t.def.schema, read_ts, |batch| {
                self.check_goes_on()?;
                let rows = t.codec.encode_columns(batch.columns());
                let mut indexed = rows.iter().filter(|row| index.has_row(row));
                indexed.try_for_each(|row| index.put_row(row, &mut value).map(|_| ()))
            });
            timeline.release(read_ts);
            tested?;
        }
        let own = self.journal.find(t.id()).map(|state| Arc::clone(&state.writes));
        for key in own.iter().flat_map(|writes| writes.rows.keys()) {
            if let Some(row) = self.current_row(t, key)?.filter(|row| index.has_row(row)) {
                index.put_row(&row, &mut value)?;
            }
        }
        Ok(())
    }

    /// Puts the rows committed so far into the index (indexes 1).
    fn fill(&mut self, t: &TableRef, relation: &IndexRef, index: &Arc<Index>) -> Result<()> {
        let engine = self.engine.clone();
        let timeline = &engine.core.timeline;
        timeline.settle()?;
        let read_ts = timeline.register();
        let built = self.build_entries(t, index, read_ts);
        timeline.release(read_ts);
        // The log says as of when they are: what changed later comes by the commits.
        let built = Attachment { payload: read_ts.0.to_le_bytes().to_vec(), ..built? };
        if !built.files.is_empty() {
            // For who tests uniqueness; a rollback drops all of the index. The commit says when (buildings 3).
            let ts = if active(Fault::LIST_BUILT_EARLY) { read_ts } else { Timestamp::MAX };
            index.store().attach(&built.files, ts)?;
        }
        self.journal.attach_entries(relation.clone(), built);
        Ok(())
    }

    fn build_entries(&self, t: &TableRef, index: &Index, read_ts: Timestamp) -> Result<Attachment> {
        let mut build = index.store().builder(read_ts);
        let (mut value, mut key) = (Vec::new(), Vec::new());
        for_each_row(&*t.table, &t.def.schema, read_ts, |batch| {
            self.check_goes_on()?;
            for row in t.codec.encode_columns(batch.columns()).iter().filter(|row| index.has_row(row)) {
                index.put_row(row, &mut value)?;
                t.keys.put_row(&t.codec, row, &mut key);
                build.push(&value, &key)?;
            }
            Ok(())
        })?;
        Ok(attachment(build.finish()?))
    }

    /// Drops an index of the schema `public`; others use it until commit. Waits for the transactions that write to its
    /// table.
    pub fn drop_index(&mut self, name: &str) -> Result<()> {
        self.drop_index_in(SchemaId::PUBLIC, name)
    }

    /// Drops an index of a schema.
    pub fn drop_index_in(&mut self, namespace: SchemaId, name: &str) -> Result<()> {
        self.core().check_writable()?;
        let Some(dropped) = self.index_relation(namespace, name) else {
            return Err(Error::new(Code::UndefinedObject, format!("index {name:?} does not exist")));
        };
        if !OwnDdl::creates(&self.ddl, dropped.id()) {
            self.lock_relation_name(namespace, name)?;
            if let Some(table) = self.current(dropped.index.table()) {
                self.lock_table(&table, LockMode::EXCLUSIVE)?;
            }
            if dropped.drop_ts() != Timestamp::MAX {
                let message = format!("index {name:?} was dropped by a concurrent transaction");
                return Err(Error::new(Code::SerializationFailure, message).hint("run the transaction again"));
            }
        }
        self.check_index_unused(&dropped.index)?;
        self.ddl.push(OwnDdl::Drop(dropped.into()));
        self.journal.note(|| Step::Ddl);
        Ok(())
    }

    /// Drops an index and makes it again from the rows of its table, under its name and number, whatever depends on it.
    /// Waits for the transactions that write to its table.
    pub fn rebuild_index(&mut self, namespace: SchemaId, name: &str) -> Result<()> {
        self.core().check_writable()?;
        let gone = || Error::new(Code::UndefinedObject, format!("index {name:?} does not exist"));
        let relation = &self.index_relation(namespace, name).ok_or_else(gone)?;
        let index = &relation.index;
        let t = self.current(index.table()).ok_or_else(gone)?;
        if !OwnDdl::creates(&self.ddl, relation.id()) {
            self.lock_relation_name(namespace, name)?;
            self.lock_table(&t, LockMode::EXCLUSIVE)?;
            if relation.drop_ts() != Timestamp::MAX {
                let message = format!("index {name:?} was dropped by a concurrent transaction");
                return Err(Error::new(Code::SerializationFailure, message).hint("run the transaction again"));
            }
        }
        self.ddl.push(OwnDdl::Drop(relation.clone().into()));
        self.journal.note(|| Step::Ddl);
        let new = NewIndex {
            name: relation.def.name.clone(),
            parts: index.parts().to_vec(),
            unique: index.is_unique(),
            constraint: index.is_constraint(),
            include: index.included().to_vec(),
            predicate: index.predicate().to_vec(),
            oid: Some(relation.def.oid),
        };
        self.create_index(&t, new)
    }

    /// An index of the schema `public` by its exact name, with its table; own DDL included.
    pub fn index(&self, name: &str) -> Option<(TableRef, Arc<Index>)> {
        self.index_in(SchemaId::PUBLIC, name)
    }

    /// An index by its schema and exact name, with its table; own DDL included.
    pub fn index_in(&self, namespace: SchemaId, name: &str) -> Option<(TableRef, Arc<Index>)> {
        let index = self.index_relation(namespace, name)?.index;
        let table = self.table_of(index.table()).or_else(|| self.current(index.table()))?;
        Some((table, index))
    }

    /// The relation of an index, by its schema and exact name.
    pub fn index_relation(&self, namespace: SchemaId, name: &str) -> Option<IndexRef> {
        self.relation(namespace, name)?.into_index()
    }

    /// The indexes of a table as this transaction sees them: those that it did not drop, under their own names.
    pub fn indexes_of(&self, t: &TableRef) -> Vec<IndexRef> {
        let indexes = t.indexes();
        let alive = indexes.iter().filter(|index| !OwnDdl::drops(&self.ddl, index.id()));
        let own = |index: &IndexRef| OwnDdl::by_id(&self.ddl, index.id()).and_then(Relation::into_index);
        alive.map(|index| own(index).unwrap_or_else(|| index.clone())).collect()
    }

    /// Whether this transaction finds all rows of the table through the index: it was ready before the snapshot, or is
    /// as new as its table.
    pub fn can_use_index(&self, t: &TableRef, index: &Index) -> bool {
        let own = OwnDdl::creates(&self.ddl, index.id()) && OwnDdl::creates(&self.ddl, t.id());
        (own || index.is_usable(self.read_ts)) && !OwnDdl::drops(&self.ddl, index.id()) && !self.has_files(t)
    }

    /// Keys of rows that may have values between two bounds (the first columns of an index), own rows included; by
    /// value and key, or the other way round. Each must be tested again by reading its row. None when there are more
    /// than `limit`, when a bound does not fit its columns, and when this snapshot cannot use the index.
    pub fn index_keys(
        &self,
        t: &TableRef,
        index: &Index,
        low: Bound<&[Value]>,
        high: Bound<&[Value]>,
        direction: Direction,
        limit: usize,
    ) -> Result<Option<Vec<Vec<u8>>>> {
        self.check_kept(t)?;
        if !self.can_use_index(t, index) {
            return Ok(None);
        }
        // What validation knows of the read: an equality is told as such, of a range just its columns are.
        let equalities = match (low, high) {
            (Bound::Included(low), Bound::Included(high)) if low == high => equal_to(index, low),
            _ => Vec::new(),
        };
        let (Some(low), Some(high)) = (index.prefix_bound(low), index.prefix_bound(high)) else { return Ok(None) };
        if let Some(reads) = &self.reads {
            reads.note_scan(t.id(), &equalities, index.deciding());
        }
        let mut found = self.own_values(t, index, &low, &high);
        let own_count = found.len();
        let mut cursor =
            index.store().scan(low.as_ref().map(Vec::as_slice), high.as_ref().map(Vec::as_slice), direction)?;
        if !index.store().shows(self.read_ts) {
            return Ok(None);
        }
        let own = self.shown_writes(t).map(|writes| &writes.rows);
        while let Some(entry) = cursor.next()? {
            if own.is_some_and(|own| own.contains_key(entry.key)) {
                continue;
            }
            if found.len() == limit {
                return Ok(None);
            }
            found.push((entry.value.to_vec(), entry.key.to_vec()));
        }
        if own_count > 0 {
            match direction {
                Direction::Forward => found.sort_unstable(),
                Direction::Backward => found.sort_unstable_by(|a, b| b.cmp(a)),
            }
        }
        Ok(Some(found.into_iter().map(|(_, key)| key).collect()))
    }

    /// Keys of the first rows between two bounds in the order of an index (or from the other end), own rows included,
    /// at most `limit`: entries whose rows have another value by now are left out, so the order is that of the rows.
    /// None when a bound does not fit its columns, and when this snapshot cannot use the index.
    pub fn index_order(
        &self,
        t: &TableRef,
        index: &Index,
        low: Bound<&[Value]>,
        high: Bound<&[Value]>,
        direction: Direction,
        limit: usize,
    ) -> Result<Option<Vec<Vec<u8>>>> {
        self.check_kept(t)?;
        if !self.can_use_index(t, index) {
            return Ok(None);
        }
        let (Some(low), Some(high)) = (index.prefix_bound(low), index.prefix_bound(high)) else { return Ok(None) };
        if let Some(reads) = &self.reads {
            reads.note_scan(t.id(), &[], index.deciding());
        }
        let mut own = self.own_values(t, index, &low, &high);
        // The next one is the last of the vector.
        match direction {
            Direction::Forward => own.sort_unstable_by(|a, b| b.cmp(a)),
            Direction::Backward => own.sort_unstable(),
        }
        let is_before = |a: (&[u8], &[u8]), b: (&[u8], &[u8])| match direction {
            Direction::Forward => a < b,
            Direction::Backward => a > b,
        };
        let staged = self.shown_writes(t).map(|writes| &writes.rows);
        let mut cursor =
            index.store().scan(low.as_ref().map(Vec::as_slice), high.as_ref().map(Vec::as_slice), direction)?;
        if !index.store().shows(self.read_ts) {
            return Ok(None);
        }
        let (mut found, mut values, mut value, mut last) =
            (Vec::new(), Vec::new(), Vec::new(), (Vec::new(), Vec::new()));
        while found.len() < limit {
            let Some(entry) = cursor.next()? else { break };
            while let Some((value, key)) = own.pop_if(|(value, key)| is_before((value, key), (entry.value, entry.key)))
            {
                found.push((value, key));
            }
            let is_again = entry.value == last.0 && entry.key == last.1;
            if is_again || staged.is_some_and(|staged| staged.contains_key(entry.key)) {
                continue;
            }
            last = (entry.value.to_vec(), entry.key.to_vec());
            let is_there = if index.is_partial() || index.columns().contains(&Index::NO_COLUMN) {
                let row = t.table.read_row(entry.key, self.read_ts)?;
                row.is_some_and(|row| index.has_row_by(&row, entry.value, &mut value))
            } else {
                t.read(entry.key, self.read_ts, index.columns(), &mut values)?
                    && index.prefix(&values).is_some_and(|value| value == entry.value)
            };
            if is_there {
                found.push(last.clone());
            }
        }
        found.extend(own.into_iter().rev());
        found.truncate(limit);
        Ok(Some(found.into_iter().map(|(_, key)| key).collect()))
    }

    /// Values and keys of own rows between two bounds.
    fn own_values(
        &self,
        t: &TableRef,
        index: &Index,
        low: &Bound<Vec<u8>>,
        high: &Bound<Vec<u8>>,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        let Some(writes) = self.shown_writes(t) else { return Vec::new() };
        let mut found = Vec::new();
        let mut value = Vec::new();
        for (key, staged) in &writes.rows {
            let Some(row) = staged.row.as_ref().filter(|row| index.has_row(row)) else { continue };
            if index.put_row(row, &mut value).is_err() {
                // Staged before this transaction dropped and made the index; it tested such rows when it made it.
                continue;
            }
            let above = match low {
                Bound::Included(low) => value >= *low,
                Bound::Excluded(low) => value > *low && !value.starts_with(low),
                Bound::Unbounded => true,
            };
            let below = match high {
                Bound::Included(high) => value <= *high || value.starts_with(high),
                Bound::Excluded(high) => value < *high,
                Bound::Unbounded => true,
            };
            if above && below {
                found.push((value.clone(), key.to_vec()));
            }
        }
        found
    }

    /// Builds the entries of rows that are added in bulk, where nobody else writes to the table, or are replaced with
    /// some columns changed, none of them of a unique index. After an error nothing is left.
    pub(super) fn build_indexes(
        &mut self,
        t: &TableRef,
        batches: &[RecordBatch],
        changed: Option<&[usize]>,
    ) -> Result<IndexFiles> {
        let mut built = IndexFiles::new();
        for relation in t.indexes().iter() {
            let index = &relation.index;
            if changed.is_some_and(|changed| !index.is_touched(changed)) {
                continue;
            }
            match self.build_index(t, index, batches) {
                Ok(attachment) if attachment.files.is_empty() => {}
                Ok(attachment) => built.push((relation.clone(), attachment)),
                Err(error) => {
                    built.iter().for_each(|(relation, files)| relation.index.discard(files));
                    return Err(error);
                }
            }
        }
        Ok(built)
    }

    fn build_index(&mut self, t: &TableRef, index: &Arc<Index>, batches: &[RecordBatch]) -> Result<Attachment> {
        let mut build = index.store().builder(self.read_ts);
        let mut values: Vec<Vec<u8>> = Vec::new();
        let (mut value, mut key) = (Vec::new(), Vec::new());
        for batch in batches {
            self.check_goes_on()?;
            for row in t.codec.encode_columns(batch.columns()).iter().filter(|row| index.has_row(row)) {
                let has_null = index.put_row(row, &mut value)?;
                t.keys.put_row(&t.codec, row, &mut key);
                build.push(&value, &key)?;
                if index.is_unique() && !has_null {
                    self.check_only(t, index, &key, row, &value)?;
                    values.push(value.clone());
                }
            }
        }
        values.sort_unstable();
        if values.windows(2).any(|pair| pair[0] == pair[1]) {
            let message = format!("rows to load have the same values in unique index {:?}", index.name());
            return Err(Error::new(Code::UniqueViolation, message).about(&t.def.name, None, Some(&index.name())));
        }
        Ok(attachment(build.finish()?))
    }
}

/// The first columns of an index are these values; what is said of expressions is left out.
fn equal_to(index: &Index, values: &[Value]) -> Vec<Predicate> {
    let pairs = index.parts().iter().zip(values);
    let predicate = |(part, value): (&IndexPart, &Value)| match (part, value) {
        (IndexPart::Expression(_), _) => None,
        (IndexPart::Column(column), Value::Null) => Some(Predicate::IsNull { column: *column }),
        (IndexPart::Column(column), value) => {
            Some(Predicate::Compare { column: *column, op: CompareOp::Eq, value: value.clone() })
        }
    };
    pairs.filter_map(predicate).collect()
}
