//! Staging: which lock, which conflict, what is written down.
//!
//! ```text
//!   under the row's lock, n = table.newest(key), s = the snapshot
//!   insert   n alive             → unique violation; n newer than s, serializable → serialization failure
//!   update   n gone, or a column changed since s that the statement sets or has read → serialization failure
//!            other columns changed  → staged on the row as s shows it; the commit puts the set columns onto n
//!   delete   nothing seen at s   → false;  n none, or any column changed → serialization failure
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use weft_contract::{Attachment, Base, Derived, Newest, Replaced, Staged};
use weft_env::JoinHandle;
use weft_env::sync::Mutex;
use weft_format::row::RowCodec;
use weft_format::{Code, DataType, Error, Result, Timestamp, Value, ValueRef};

use super::indexes::IndexFiles;
use super::journal::Journal;
use super::level::IsolationLevel;
use super::own_ddl::OwnDdl;
use super::transaction::{LastRead, Transaction};
use crate::catalog::{Relation, TableRef};
use crate::fault::{Fault, active};
use crate::lock::{ColumnSet, LockMode, LockName, LockRequest, Wait};

/// Staged bytes are charged in steps of this.
pub(super) const CHARGE_BYTES: u64 = 64 << 10;
/// What a lock costs in memory, about: its place in the lock table, and in the list of what the transaction holds.
pub(super) const LOCK_BYTES: u64 = 192;

impl Transaction {
    /// Inserts a row (row codec). A key that exists is [`Code::UniqueViolation`], naming table and key.
    pub fn insert(&mut self, t: &TableRef, row: &[u8]) -> Result<()> {
        let mut key = std::mem::take(&mut self.key_buffer);
        t.keys.put_row(&t.codec, row, &mut key);
        let inserted = self.insert_at(t, &key, row.into());
        self.key_buffer = key;
        inserted
    }

    /// Inserts many rows, one by one in order: one array per stored column, in exactly the Arrow type of its column.
    /// The first key that exists is the error; the rows before it stay staged, as after any failed statement, until the
    /// caller rolls back to its mark.
    pub fn insert_batch(&mut self, t: &TableRef, columns: &[ArrayRef]) -> Result<()> {
        let rows = t.codec.encode_columns(columns);
        let mut key = Vec::new();
        for row in rows.iter() {
            t.keys.put_row(&t.codec, row, &mut key);
            self.insert_at(t, &key, row.into())?;
        }
        Ok(())
    }

    fn insert_at(&mut self, t: &TableRef, key: &[u8], row: Arc<[u8]>) -> Result<()> {
        let own = self.own_row(t, key)?.map(|staged| (staged.base, staged.row.is_some()));
        let staged = match own {
            Some((_, true)) => return Err(duplicate_key(t, key)),
            // Deleted before by this transaction, and locked since: what differs from the base is not known here.
            Some((base, false)) => Staged { base, row: Some(row), columns: all_columns(&t.codec) },
            None => {
                self.lock_key(t, key, LockMode::EXCLUSIVE, self.lock_wait())?;
                match t.table.newest(key)? {
                    Some(newest) if newest.insert_ts > self.read_ts && self.level == IsolationLevel::Serializable => {
                        return Err(changed_meanwhile(t, key));
                    }
                    Some(_) => return Err(duplicate_key(t, key)),
                    None => Staged { base: Base::Free, row: Some(row), columns: Vec::new() },
                }
            }
        };
        self.stage(t, key, staged)
    }

    /// Replaces the row of `key` by a whole new row, whose key may be another one.
    pub fn update(&mut self, t: &TableRef, key: &[u8], row: &[u8]) -> Result<()> {
        self.update_columns(t, key, row, LockMode::EXCLUSIVE)
    }

    /// Sets the columns `mode.writes` of the row of `key` to what they are in `row`, which is otherwise the row as the
    /// transaction sees it. `mode.reads` are the columns that the new values and the choice of the row depend on.
    /// Another transaction may set other columns at the same time; both survive.
    pub fn update_columns(&mut self, t: &TableRef, key: &[u8], row: &[u8], mode: LockMode) -> Result<()> {
        let new_key = t.keys.of_row(&t.codec, row);
        if new_key != key {
            if !self.delete(t, key)? {
                return Err(gone(t, key));
            }
            self.insert_at(t, &new_key, row.into())?;
            self.note_moved(t, key, &new_key);
            return Ok(());
        }
        if self.own_row(t, key)?.is_some() {
            self.widen(t, key, mode)?;
        }
        let staged = match self.own_copy(t, key)? {
            Some(Staged { row: None, .. }) => return Err(gone(t, key)),
            Some(Staged { base: Base::Free, .. }) => {
                Staged { base: Base::Free, row: Some(row.into()), columns: Vec::new() }
            }
            Some(Staged { base, row: Some(before), columns }) => {
                let columns = merge(&columns, &changed_columns(&t.codec, &before, row));
                Staged { base, row: Some(row.into()), columns }
            }
            None => {
                let (newest, before) = self.locked_row(t, key, mode)?.ok_or_else(|| changed_meanwhile(t, key))?;
                let columns = changed_columns(&t.codec, &before, row);
                Staged { base: version(&newest), row: Some(row.into()), columns }
            }
        };
        self.stage(t, key, staged)
    }

    /// Inserts a row, or replaces the row that its key has without reading it: all columns but the key's count as
    /// changed. `key` is the row's own. True when a row was replaced; a row that the snapshot does not show although it
    /// is there is [`Code::SerializationFailure`].
    pub fn upsert(&mut self, t: &TableRef, key: &[u8], row: &[u8]) -> Result<bool> {
        let columns = t.def.schema.columns_beside_key();
        if self.own_row(t, key)?.is_some() {
            self.widen(t, key, LockMode::EXCLUSIVE)?;
        }
        let staged = match self.own_copy(t, key)? {
            Some(Staged { row: None, .. }) => None,
            Some(Staged { base: Base::Free, .. }) => {
                Some(Staged { base: Base::Free, row: Some(row.into()), columns: Vec::new() })
            }
            Some(Staged { base, columns: before, .. }) => {
                Some(Staged { base, row: Some(row.into()), columns: merge(&before, &columns) })
            }
            None => match self.locked_version(t, key, LockMode::EXCLUSIVE, self.lock_wait())? {
                Some(newest) => Some(Staged { base: version(&newest), row: Some(row.into()), columns }),
                None if t.table.newest(key)?.is_some() => return Err(changed_meanwhile(t, key)),
                None => None,
            },
        };
        match staged {
            Some(staged) => self.stage(t, key, staged).map(|()| true),
            None => self.insert_at(t, key, row.into()).map(|()| false),
        }
    }

    /// Gives a key this row, whatever row it has. When the table takes blind writes and nobody asks for the row that is
    /// replaced, it is not looked for, but for a change of the key since the snapshot; else this is
    /// [`Transaction::upsert`].
    pub fn put(&mut self, t: &TableRef, key: &[u8], row: &[u8]) -> Result<()> {
        if let Some(blind) = t.table.blind()
            && self.own_row(t, key)?.is_none()
        {
            self.lock_key(t, key, LockMode::EXCLUSIVE, self.lock_wait())?;
            // Under the lock: a key that nobody has changed since then stays so.
            if !asks_for_old_rows(t) && !blind.may_have_changed(key, self.read_ts)? {
                let columns = t.def.schema.columns_beside_key();
                return self.stage(t, key, Staged { base: Base::Unseen, row: Some(row.into()), columns });
            }
        }
        self.upsert(t, key, row).map(|_| ())
    }

    /// Deletes the row of `key`; false when the transaction sees none.
    pub fn delete(&mut self, t: &TableRef, key: &[u8]) -> Result<bool> {
        if self.own_row(t, key)?.is_some() {
            self.widen(t, key, LockMode::EXCLUSIVE)?;
        }
        let base = match self.own_copy(t, key)? {
            Some(Staged { row: None, .. }) => return Ok(false),
            Some(Staged { base, .. }) => base,
            None => match self.locked_version(t, key, LockMode::EXCLUSIVE, self.lock_wait())? {
                Some(newest) => version(&newest),
                None => {
                    // That there is no row was read. The lock keeps others from adding one, but one may have been added
                    // since the snapshot.
                    if let Some(reads) = &self.reads {
                        reads.note_key(t.def.id, key, ColumnSet::ALL);
                    }
                    return Ok(false);
                }
            },
        };
        self.stage(t, key, Staged { base, row: None, columns: Vec::new() })?;
        Ok(true)
    }

    /// Locks a row against all others and reads it; none when the transaction sees none. A row that changed since the
    /// snapshot is [`Code::SerializationFailure`].
    pub fn get_for_update(&mut self, t: &TableRef, key: &[u8]) -> Result<Option<Arc<[u8]>>> {
        self.lock_row(t, key, LockMode::EXCLUSIVE, self.lock_wait())
    }

    /// As [`Transaction::get_for_update`]; a row that the snapshot does not show although it is there now is
    /// [`Code::SerializationFailure`], too: what INSERT ... ON CONFLICT must know.
    pub fn get_for_upsert(&mut self, t: &TableRef, key: &[u8]) -> Result<Option<Arc<[u8]>>> {
        let row = self.get_for_update(t, key)?;
        if row.is_none() && self.own_row(t, key)?.is_none() && t.table.newest(key)?.is_some() {
            return Err(changed_meanwhile(t, key));
        }
        Ok(row)
    }

    /// Locks some columns of a row and reads the row; none when the transaction sees none. When one of these columns
    /// changed since the snapshot, that is [`Code::SerializationFailure`].
    pub fn lock_row(&mut self, t: &TableRef, key: &[u8], mode: LockMode, wait: Wait) -> Result<Option<Arc<[u8]>>> {
        if let Some(reads) = &self.reads {
            reads.note_key(t.def.id, key, mode.reads);
        }
        if self.own_row(t, key)?.is_some() {
            self.widen(t, key, mode)?;
            return Ok(self.own_row(t, key)?.and_then(|staged| staged.row.clone()));
        }
        let Some((newest, row)) = self.locked_row_seen(t, key, mode, wait)? else { return Ok(None) };
        self.last_read = Some(LastRead { table: t.def.id, key: key.into(), mode, newest, row: row.clone() });
        Ok(Some(row))
    }

    /// How long this transaction waits for locks.
    pub fn lock_wait(&self) -> Wait {
        Wait::AtMost(self.lock_timeout)
    }

    /// Adds many rows at once as files of their own; the table is locked against other writers until the end. Batches
    /// have the stored columns in schema order. Returns the number of rows. May be called again for more rows, when
    /// [`Transaction::can_build_in_parts`]. Of a table that builds no files, or none
    /// for now, the rows are staged one by one.
    pub fn build(&mut self, t: &TableRef, batches: &[RecordBatch]) -> Result<u64> {
        if t.table.bulk().is_none() || !t.may_build_files() || self.makes_pages(t) {
            return self.insert_batches(t, batches);
        }
        self.core().check_writable()?;
        self.lock_table(t, LockMode::EXCLUSIVE)?;
        // Who had the table before may have made a column index of it.
        if !t.may_build_files() {
            return self.insert_batches(t, batches);
        }
        if let Err(error) = self.check_unwritten(t) {
            return Err(error.hint("run the bulk statement first, or insert row by row"));
        }
        if OwnDdl::alters(&self.ddl, t.id()) {
            let message = format!("table {:?} was altered by this transaction", t.def.name);
            let error = Error::new(Code::FeatureNotSupported, message).about(&t.def.name, None, None);
            return Err(error.hint("insert row by row, or commit first"));
        }
        self.check_buildable(t)?;
        self.check_built(t, batches)?;
        self.build_and_attach(t, batches, None)
    }

    /// What [`Transaction::build`] is for a table that builds no files: rows staged one by one, none after an error.
    fn insert_batches(&mut self, t: &TableRef, batches: &[RecordBatch]) -> Result<u64> {
        let mark = self.mark();
        let inserted = batches.iter().try_for_each(|batch| self.insert_batch(t, batch.columns()));
        if inserted.is_err() {
            self.rollback_to(mark);
        }
        inserted.map(|()| batches.iter().map(|batch| batch.num_rows() as u64).sum())
    }

    /// Builds files of rows, and of their entries in indexes, and stages them; `replaced` when they are not rows more.
    pub(super) fn build_and_attach(
        &mut self,
        t: &TableRef,
        batches: &[RecordBatch],
        replaced: Option<Arc<Replaced>>,
    ) -> Result<u64> {
        let (files, of_indexes) = self.build_files(t, batches, replaced.as_deref().map(Replaced::columns));
        // A table whose rows are on its pages writes edits for them.
        let stopped = |error| self.core().poison_if_stopped(error);
        match (files.map_err(stopped), of_indexes.map_err(stopped)) {
            (Ok(files), Ok(of_indexes)) => {
                let rows = files.rows;
                let given: usize = batches.iter().map(RecordBatch::num_rows).sum();
                assert!(rows == given as u64, "each row that was given is in the files that were built of them");
                of_indexes.into_iter().for_each(|(index, files)| self.journal.attach_entries(index, files));
                self.journal.attach(t, Attachment { replaced, ..files });
                Ok(rows)
            }
            (Ok(files), Err(error)) => {
                t.discard(&files);
                Err(error)
            }
            // The table's error comes first: it is the one about the primary key.
            (Err(error), of_indexes) => {
                of_indexes.iter().flatten().for_each(|(index, files)| index.index.discard(files));
                Err(error)
            }
        }
    }

    /// The files of the table, written by a thread of its own, and those of its indexes, written by this one meanwhile.
    fn build_files(
        &mut self,
        t: &TableRef,
        batches: &[RecordBatch],
        changed: Option<&[usize]>,
    ) -> (Result<Attachment>, Result<IndexFiles>) {
        let is_new = changed.is_none();
        let build = move |table: &TableRef, rows: &[RecordBatch]| match is_new {
            true => table.bulk()?.build(rows),
            false => table.bulk_replace()?.build_replacing(rows),
        };
        if t.indexes().is_empty() {
            return (build(t, batches), Ok(Vec::new()));
        }
        let built = Arc::new(Mutex::new(None));
        let (table, result, rows) = (t.clone(), built.clone(), batches.to_vec());
        let body = move || {
            let files = build(&table, &rows);
            *result.lock() = Some(files);
        };
        let thread = self.core().env.spawn.spawn("weft-load-table", Box::new(body));
        let of_indexes = self.build_indexes(t, batches, changed);
        let files = match thread.map(JoinHandle::join) {
            Ok(Ok(())) => built.lock().take().expect("the thread has ended, and not by a panic"),
            Ok(Err(text)) => Err(Error::internal(format!("the thread that loads rows panicked: {text}"))),
            Err(_) => build(t, batches),
        };
        (files, of_indexes)
    }

    /// Whether [`Transaction::build`] makes files: the table is able to, the transaction has not staged rows of it, and
    /// no foreign key of it asks for the rows one by one.
    pub fn can_build(&self, t: &TableRef) -> bool {
        let is_free = !OwnDdl::alters(&self.ddl, t.id()) && self.check_unwritten(t).is_ok();
        let can = t.table.bulk().is_some() && t.may_build_files() && !self.makes_pages(t);
        can && is_free && self.check_buildable(t).is_ok()
    }

    /// Whether the transaction makes the table, whose pages the log can have only when it has the table, or a column
    /// index of it, which is fed rows.
    fn makes_pages(&self, t: &TableRef) -> bool {
        let indexes = |ddl: &OwnDdl| matches!(ddl, OwnDdl::Create(Relation::Columns(made)) if made.table() == t.id());
        t.table.in_place().is_some() && (OwnDdl::creates(&self.ddl, t.id()) || self.ddl.iter().any(indexes))
    }

    /// Whether [`Transaction::build`] can be used several times: the table finds a key in what was built before, unique
    /// indexes do not.
    pub fn can_build_in_parts(&self, t: &TableRef) -> bool {
        self.can_build(t) && !has_unique_index(t)
    }

    /// A copy of what the transaction itself made of a key.
    fn own_copy(&self, t: &TableRef, key: &[u8]) -> Result<Option<Staged>> {
        Ok(self.own_row(t, key)?.map(Cow::into_owned))
    }

    /// Staged rows are invisible to the method's check of the keys, and built ones to unique indexes.
    fn check_unwritten(&self, t: &TableRef) -> Result<()> {
        let Some(state) = self.journal.find(t.def.id) else { return Ok(()) };
        if state.writes.is_empty() || (state.writes.rows.is_empty() && !has_unique_index(t)) {
            return Ok(());
        }
        let message = format!("table {:?} has uncommitted changes of this transaction", t.def.name);
        Err(Error::new(Code::FeatureNotSupported, message).about(&t.def.name, None, None))
    }

    /// The locked row of a key as the snapshot shows it.
    fn locked_row(&mut self, t: &TableRef, key: &[u8], mode: LockMode) -> Result<Option<(Newest, Arc<[u8]>)>> {
        if let Some(last) = self.last_read.take()
            && last.table == t.def.id
            && *last.key == *key
            && last.mode.covers(mode)
        {
            return Ok(Some((last.newest, last.row)));
        }
        // What was followed before is seen from here on, or is a conflict.
        self.settle_followed()?;
        self.locked_row_seen(t, key, mode, self.lock_wait())
    }

    /// As [`Transaction::locked_version`], with the row that the snapshot shows.
    fn locked_row_seen(
        &mut self,
        t: &TableRef,
        key: &[u8],
        mode: LockMode,
        wait: Wait,
    ) -> Result<Option<(Newest, Arc<[u8]>)>> {
        let mode = self.tested_mode(t, mode)?;
        self.lock_key(t, key, mode, wait)?;
        if let Some((newest, row)) = t.table.newest_row(key)?
            && newest.insert_ts <= self.read_ts
        {
            // It is alive, so the snapshot shows it: writers of other columns end it behind the snapshot, if at all.
            return Ok(Some((newest, row)));
        }
        match self.unchanged_version(t, key, mode)? {
            Some(newest) => Ok(Some((newest, self.row_seen(t, key)?))),
            None => Ok(None),
        }
    }

    /// The row of a key that the snapshot is known to show.
    fn row_seen(&self, t: &TableRef, key: &[u8]) -> Result<Arc<[u8]>> {
        let row = t.table.read_row(key, self.read_ts)?;
        row.ok_or_else(|| Error::internal(format!("the row of {} is newest but unseen", describe(t, key))))
    }

    /// Locks columns of a row; its newest version when they are in it what the snapshot shows, none when the snapshot
    /// shows no row. Anything else is a conflict (txn 5).
    fn locked_version(&mut self, t: &TableRef, key: &[u8], mode: LockMode, wait: Wait) -> Result<Option<Newest>> {
        let mode = self.tested_mode(t, mode)?;
        self.lock_key(t, key, mode, wait)?;
        self.unchanged_version(t, key, mode)
    }

    pub(super) fn unchanged_version(&mut self, t: &TableRef, key: &[u8], mode: LockMode) -> Result<Option<Newest>> {
        let mut newest = t.table.newest(key)?;
        if let Some(newest) = newest
            && newest.insert_ts <= self.read_ts
        {
            return Ok(Some(newest));
        }
        let Some(seen) = t.table.read_row(key, self.read_ts)? else { return Ok(None) };
        if newest.is_none() && self.has_mixed() {
            // Perhaps a writer of other columns is about to install: the old version is ended, the new one not there.
            self.core().timeline.settle()?;
            newest = t.table.newest(key)?;
        }
        let Some(newest) = newest else { return Err(changed_meanwhile(t, key)) };
        let mut now = t.table.read_row(key, Timestamp::MAX)?;
        if now.is_none() && self.has_mixed() {
            self.core().timeline.settle()?;
            now = t.table.read_row(key, Timestamp::MAX)?;
        }
        let Some(now) = now else { return Err(changed_meanwhile(t, key)) };
        let changed: ColumnSet = changed_columns(&t.codec, &seen, &now).into_iter().collect();
        if changed.meets(mode.reads.union(mode.writes)) && !active(Fault::MISS_COLUMN_CONFLICT) {
            return Err(changed_meanwhile(t, key));
        }
        self.staged_behind = true;
        Ok(Some(newest))
    }

    /// Locks more columns of a row that this transaction has written already.
    fn widen(&mut self, t: &TableRef, key: &[u8], mode: LockMode) -> Result<()> {
        let mode = self.tested_mode(t, mode)?;
        self.lock_key(t, key, mode, self.lock_wait())?;
        let base = self.own_row(t, key)?.and_then(|staged| staged.base.version());
        if base.is_some_and(|(base_ts, _)| self.has_followed(base_ts)) {
            // The snapshot does not show it: a conflict, and the statement runs again with one that does.
            self.settle_followed()?;
        }
        // The version it was staged on is in the snapshot and had no other writer since: nothing can have changed.
        if base.is_some_and(|(base_ts, _)| base_ts > self.read_ts || self.has_mixed()) {
            self.unchanged_version(t, key, mode)?;
        }
        Ok(())
    }

    /// The mode with the columns that indexes are asked about for the row as it will be. Under the table's lock, for a
    /// statement may have been planned before an index was made that it waited for.
    pub(super) fn tested_mode(&mut self, t: &TableRef, mode: LockMode) -> Result<LockMode> {
        self.lock_writes(t)?;
        let tested = t.columns_indexed_together(mode.writes);
        Ok(if tested.is_empty() { mode } else { LockMode::columns(mode.reads.union(tested), mode.writes) })
    }

    /// Keeps others from locking the table as a whole.
    pub(super) fn lock_writes(&mut self, t: &TableRef) -> Result<()> {
        self.core().check_writable()?;
        if !self.journal.state(t).locked {
            self.lock_table(t, LockMode::SHARED)?;
        } else if !self.ddl.is_empty() {
            self.check_alive(t)?;
        }
        Ok(())
    }

    pub(super) fn lock_key(&mut self, t: &TableRef, key: &[u8], mode: LockMode, wait: Wait) -> Result<()> {
        self.lock_key_as(t, key, mode, wait, false)
    }

    /// Locks a row. Who follows does not wait for commits that have handed it on.
    pub(super) fn lock_key_as(
        &mut self,
        t: &TableRef,
        key: &[u8],
        mode: LockMode,
        wait: Wait,
        follows: bool,
    ) -> Result<()> {
        self.lock_writes(t)?;
        if self.mixed_before.is_none() {
            self.mixed_before = Some(self.core().locks.mixed_count());
        }
        if active(Fault::SKIP_ROW_LOCK) {
            return Ok(());
        }
        self.lock_as(LockName::key(t.def.id, key), mode, wait, follows, &|| describe(t, key))
    }

    pub(super) fn lock_table(&mut self, t: &TableRef, mode: LockMode) -> Result<()> {
        self.lock(LockName::table(t.def.id), mode, self.lock_wait(), &|| format!("table {:?}", t.def.name))?;
        self.check_alive(t)?;
        self.check_kept(t)?;
        self.journal.state(t).locked = true;
        Ok(())
    }

    /// Takes a lock that lasts until the end.
    #[inline]
    pub(super) fn lock(&mut self, name: LockName, mode: LockMode, wait: Wait, what: &dyn Fn() -> String) -> Result<()> {
        self.lock_as(name, mode, wait, false, what)
    }

    #[inline]
    fn lock_as(
        &mut self,
        name: LockName,
        mode: LockMode,
        wait: Wait,
        follows: bool,
        what: &dyn Fn() -> String,
    ) -> Result<()> {
        if self.speculation.is_some() {
            self.settle_reads()?;
        }
        let before = self.locks.count();
        self.acquire(name, mode, wait, follows, what)?;
        if self.locks.count() == before {
            return Ok(());
        }
        self.journal.staged_bytes += LOCK_BYTES;
        self.charge(CHARGE_BYTES)
    }

    /// Takes a lock. While a query of the statement still runs, its slot is given back for as long as this waits
    /// (admission 3).
    #[inline]
    fn acquire(
        &mut self,
        name: LockName,
        mode: LockMode,
        wait: Wait,
        follows: bool,
        what: &dyn Fn() -> String,
    ) -> Result<()> {
        let core = &self.engine.core;
        let (cancel, holds_slot) = (self.cancel.as_ref(), self.query_slot.is_some());
        let clock = &*core.env.clock;
        let mut request = LockRequest { txn: self.id, mode, follows, wait, cancel, holds_slot, clock, what };
        if !holds_slot || active(Fault::HOLD_SLOT_WHILE_WAITING) {
            return core.locks.acquire(name, &request, &mut self.locks);
        }
        request.wait = Wait::Never;
        match core.locks.acquire(name, &request, &mut self.locks) {
            Err(error) if error.code() == Code::LockTimeout && wait != Wait::Never => {}
            outcome => return outcome,
        }
        self.query_slot = None;
        request = LockRequest { wait, holds_slot: false, ..request };
        core.locks.acquire(name, &request, &mut self.locks)?;
        self.admit_query()
    }

    fn stage(&mut self, t: &TableRef, key: &[u8], staged: Staged) -> Result<()> {
        assert!(self.locks.count() > 0, "nothing is staged without a lock, so nobody speculates (speculation 4)");
        if cfg!(debug_assertions) {
            self.check_staged(t, key, &staged);
        }
        self.check_drains(t)?;
        self.check_unique_indexes(t, key, &staged)?;
        if !t.def.foreign_keys.is_empty() || t.is_referenced() {
            self.journal.want_steps();
        }
        self.journal.stage(t, key, staged);
        self.charge(CHARGE_BYTES)
    }

    /// What holds of a row that is about to be staged.
    fn check_staged(&self, t: &TableRef, key: &[u8], staged: &Staged) {
        let is_locked = self.journal.find(t.id()).is_some_and(|state| state.locked);
        debug_assert!(is_locked, "who stages a row keeps others from altering and dropping its table");
        debug_assert!(staged.columns.is_sorted(), "the columns that differ from the base ascend");
        let has_columns = staged.columns.last().is_none_or(|&last| last < t.codec.column_count());
        debug_assert!(has_columns, "the columns that differ from the base are columns of the table");
        let has_key = staged.row.as_ref().is_none_or(|row| *t.keys.of_row(&t.codec, row) == *key);
        debug_assert!(has_key, "a row is staged under its own key");
    }

    /// Charges staged bytes to the row budget once `step_bytes` have come together, and waits when memory is short.
    pub(super) fn charge(&mut self, step_bytes: u64) -> Result<()> {
        let Journal { staged_bytes, .. } = self.journal;
        assert!(staged_bytes >= self.charged_bytes, "staged bytes are charged once and given back at the end only");
        let new_bytes = staged_bytes - self.charged_bytes;
        if new_bytes < step_bytes || active(Fault::FORGET_CHARGE) {
            return Ok(());
        }
        let core = &self.engine.core;
        core.services.row_budget.charge(new_bytes);
        self.charged_bytes = staged_bytes;
        core.admit(staged_bytes, || self.check_goes_on())
    }

    /// Fails for a table that cannot be used, whose installation would fail, and for one whose memory cannot be carried
    /// to files while memory is short: what it has cannot be freed, and others need the rest.
    #[inline]
    fn check_drains(&self, t: &TableRef) -> Result<()> {
        if let Some(error) = t.table.unavailable() {
            return Err(error.clone());
        }
        if self.engine.core.services.row_budget.is_short() { self.engine.core.check_drains(t) } else { Ok(()) }
    }
}

fn version(newest: &Newest) -> Base {
    Base::Version(newest.insert_ts, newest.location)
}

/// Whether something depends on the rows that are replaced.
fn asks_for_old_rows(t: &TableRef) -> bool {
    !t.indexes().is_empty() || !t.def.foreign_keys.is_empty() || t.is_referenced()
}

fn has_unique_index(t: &TableRef) -> bool {
    t.indexes().iter().any(|index| index.index.is_unique())
}

/// Ordinals of the columns whose stored values differ.
fn changed_columns(codec: &RowCodec, before: &[u8], after: &[u8]) -> Vec<usize> {
    (0..codec.column_count()).filter(|&column| !same(codec.get(before, column), codec.get(after, column))).collect()
}

/// Equal as stored: -0.0 is not 0.0, and a NaN is itself.
fn same(a: ValueRef<'_>, b: ValueRef<'_>) -> bool {
    match (a, b) {
        (ValueRef::Float(a), ValueRef::Float(b)) => a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    }
}

fn all_columns(codec: &RowCodec) -> Vec<usize> {
    (0..codec.column_count()).collect()
}

fn merge(a: &[usize], b: &[usize]) -> Vec<usize> {
    let mut merged: Vec<usize> = a.iter().chain(b).copied().collect();
    merged.sort_unstable();
    merged.dedup();
    merged
}

/// `key (7, 'a') of table "t"`
fn describe(t: &TableRef, key: &[u8]) -> String {
    let values = match t.keys.decode(key) {
        Ok(values) => values.iter().map(text_of).collect::<Vec<_>>().join(", "),
        Err(_) => format!("{key:02x?}"),
    };
    format!("key ({values}) of table {:?}", t.def.name)
}

pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Bool(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        Value::Decimal(v) => v.to_string(),
        Value::Text(v) => format!("'{v}'"),
        Value::Bytes(v) => weft_expr::text::print(ValueRef::Bytes(v), DataType::Bytea),
        Value::Uuid(v) => weft_expr::text::uuid_text(*v),
        Value::Interval(v) => weft_expr::text::print(ValueRef::Interval(*v), DataType::Interval),
        Value::Array(_) => "an array".into(),
    }
}

fn duplicate_key(t: &TableRef, key: &[u8]) -> Error {
    let schema = &t.def.schema;
    let names: Vec<&str> = schema.key.iter().map(|&at| schema.columns[at].name.as_str()).collect();
    let types = schema.key.iter().map(|&at| schema.columns[at].data_type);
    let Ok(values) = t.keys.decode(key) else {
        return Error::new(Code::UniqueViolation, format!("{} exists already", describe(t, key)));
    };
    let printed: Vec<String> = values.iter().zip(types).map(|(v, of)| weft_expr::text::print(v.as_ref(), of)).collect();
    let constraint = t.def.primary_key.clone().unwrap_or_else(|| format!("{}_pkey", t.def.name));
    Error::new(Code::UniqueViolation, format!("duplicate key value violates unique constraint \"{constraint}\""))
        .detail(format!("Key ({})=({}) already exists.", names.join(", "), printed.join(", ")))
        .about(&t.def.name, None, Some(&constraint))
}

pub(super) fn changed_meanwhile(t: &TableRef, key: &[u8]) -> Error {
    let message = format!("{} was changed by a concurrent transaction", describe(t, key));
    Error::new(Code::SerializationFailure, message)
        .about(&t.def.name, None, None)
        .hint("roll back and run the transaction again")
}

fn gone(t: &TableRef, key: &[u8]) -> Error {
    let message = format!("{} was deleted before by this transaction", describe(t, key));
    Error::new(Code::CardinalityViolation, message).about(&t.def.name, None, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_format::{Column, Schema};

    #[test]
    fn changed_columns_are_found_bit_by_bit() {
        let types = [DataType::Integer, DataType::DoublePrecision, DataType::Text];
        let column = |(i, &data_type): (usize, &DataType)| Column { name: format!("c{i}"), data_type, not_null: false };
        let codec = RowCodec::new(&Schema::new(types.iter().enumerate().map(column).collect(), vec![0]));
        let row = |float: f64, text| codec.encode([ValueRef::Int(1), ValueRef::Float(float), text]);
        let before = row(0.0, ValueRef::Text("a"));
        assert_eq!(changed_columns(&codec, &before, &before), Vec::<usize>::new());
        assert_eq!(changed_columns(&codec, &before, &row(-0.0, ValueRef::Null)), vec![1, 2]);
        let same = row(f64::NAN, ValueRef::Null);
        assert_eq!(changed_columns(&codec, &same, &same.clone()), Vec::<usize>::new());
    }
}
