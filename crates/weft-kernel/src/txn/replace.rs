//! Large updates: the new rows are files of their own, the old ones end where a scan saw them.
//!
//! ```text
//!   scan at s     (k1, new row, t12-7:0)  (k2, new row, t12-7:1)  (k5, new row, nowhere)
//!   replace       lock k1 k2 k5 ─ unmarked still? ─▶ t12-7:0 t12-7:1     no place, or not there ─▶ newest(k5)
//!                 rows by key ─▶ files, entries of indexes whose columns are set ─▶ attachment { replaces k1 k2 k5 }
//!   own reads     k1 is in the files; k1 updated once more is staged as any row, and ends the one in the files
//!   log           attach [files] "replaces": redo looks the keys of the files up
//! ```
//!
//! 1. A place is asked for under the key's lock: who changed the row before has installed that, so the version is the
//!    newest when it has not ended, and it is in the snapshot that the scan read.
//! 2. No key, no value of a unique index and no column of a foreign key changes, so nothing but the rows themselves is
//!    in anybody's way.
//! 3. A key is replaced in bulk once per transaction: afterwards its rows are staged one by one.
//! 4. Indexes of the table are neither made nor dropped between the files and the commit: their lock is shared.
//! 5. Locks of rows are in memory, unlike the rows. When they take an eighth of the memory for rows, the lock of the
//!    whole table takes the place of those to come, if nobody else writes to it; from a third on it is waited for.
//!
//! Statements that need all changes as staged rows (DDL on the table) take the files apart first
//! ([`Transaction::unbuild`]).

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use weft_contract::{Base, Location, Replaced, Staged, TableWrites};
use weft_format::{Code, Error, KeyRows, Result};

use super::own_ddl::OwnDdl;
use super::stage::{LOCK_BYTES, changed_meanwhile};
use super::transaction::{Transaction, built};
use crate::catalog::{IndexRef, TableRef};
use crate::lock::{LockMode, LockName, Wait};
use crate::step::{Moment, passed};

/// Rows between two looks at the cancel token, and at how much the locks take.
const CANCEL_ROWS: usize = 256;
/// Parts of the memory for rows from which on locks of rows become one of the table: if it is free, and in any case
/// (replace 5).
const LOCKS_SHARE: u64 = 8;
const LOCKS_SHARE_MAX: u64 = 3;

impl Transaction {
    /// Whether [`Transaction::replace`] can be used for a statement that sets some columns of rows: the table is able
    /// to, and nobody asks for the rows one by one. When it can, the table's indexes stay what they are until the end.
    pub fn can_replace(&mut self, t: &TableRef, columns: &[usize]) -> Result<bool> {
        if t.table.bulk_replace().is_none() || !t.may_build_files() {
            return Ok(false);
        }
        if self.sets_what_is_tested(t, columns) || OwnDdl::alters(&self.ddl, t.id()) {
            return Ok(false);
        }
        if self.journal.find(t.id()).is_some_and(|state| !state.writes.is_empty()) {
            return Ok(false);
        }
        match self.lock_indexes(t, LockMode::SHARED, Wait::Never) {
            Err(error) if error.code() == Code::LockTimeout => return Ok(false),
            locked => locked?,
        }
        self.lock_writes(t)?;
        // Asked again: an index may have been made before the lock was there.
        Ok(!self.sets_what_is_tested(t, columns))
    }

    /// Whether columns decide more than their row (replace 2).
    fn sets_what_is_tested(&self, t: &TableRef, columns: &[usize]) -> bool {
        let sets = |tested: &[usize]| tested.iter().any(|column| columns.contains(column));
        sets(&t.def.schema.key)
            || t.indexes().iter().any(|IndexRef { index, .. }| index.is_unique() && index.is_touched(columns))
            || t.def.foreign_keys.iter().any(|foreign_key| sets(&foreign_key.columns))
            || self.references_to(t).iter().any(|(_, foreign_key)| sets(&foreign_key.parent_columns))
    }

    pub(super) fn lock_indexes(&mut self, t: &TableRef, mode: LockMode, wait: Wait) -> Result<()> {
        self.lock(LockName::indexes(t.id()), mode, wait, &|| format!("the indexes of table {:?}", t.def.name))
    }

    /// Replaces rows by whole new ones, of which `columns` may differ, as files of their own: batches have the stored
    /// columns in schema order, `places` says where the scan saw each old row. [`Transaction::can_replace`] was asked
    /// in this statement, and each row is given once. A row that has changed since the snapshot is
    /// [`Code::SerializationFailure`]. Returns the number of rows; may be called again for more rows.
    pub fn replace(
        &mut self,
        t: &TableRef,
        columns: &[usize],
        batches: &[RecordBatch],
        places: &[Option<Location>],
    ) -> Result<u64> {
        self.core().check_writable()?;
        t.bulk_replace()?;
        let keys = keys_of(t, batches)?;
        assert_eq!(keys.len(), places.len(), "each row has a place");
        let keeps_key = !columns.iter().any(|column| t.def.schema.key.contains(column));
        assert!(keeps_key, "no key changes in a large update (replace 2)");
        if keys.is_empty() {
            return Ok(0);
        }
        self.lock_rows(t, &keys)?;
        let places = self.newest_places(t, &keys, places)?;
        let replaced = self.in_order(t, &keys, &places, columns)?;
        drop((keys, places));
        let rows = self.build_and_attach(t, batches, Some(Arc::new(replaced)))?;
        self.charge(1)?;
        Ok(rows)
    }

    /// Locks rows, or the table once there are too many of them (replace 5).
    fn lock_rows(&mut self, t: &TableRef, keys: &KeyRows) -> Result<()> {
        for n in 0..keys.len() {
            if n.is_multiple_of(CANCEL_ROWS) {
                self.check_goes_on()?;
                if self.locks_table_instead(t)? {
                    return Ok(());
                }
            }
            self.lock_key(t, keys.get(n), LockMode::EXCLUSIVE, self.lock_wait())?;
        }
        Ok(())
    }

    /// Whether nobody else writes to the table until the end, for there would be too many locks of rows.
    fn locks_table_instead(&mut self, t: &TableRef) -> Result<bool> {
        let limit_bytes = self.core().services.row_budget.limit_bytes();
        let bytes = self.locks.count() as u64 * LOCK_BYTES;
        if bytes < limit_bytes / LOCKS_SHARE {
            return Ok(false);
        }
        let wait = if bytes < limit_bytes / LOCKS_SHARE_MAX { Wait::Never } else { self.lock_wait() };
        let what = || format!("table {:?}, of which many rows are updated", t.def.name);
        match self.lock(LockName::table(t.id()), LockMode::EXCLUSIVE, wait, &what) {
            Err(error) if error.code() == Code::LockTimeout && wait == Wait::Never => Ok(false),
            locked => locked.map(|()| {
                passed(Moment::TableLocked);
                true
            }),
        }
    }

    /// Where the newest versions of locked keys lie, which are those that the snapshot shows (replace 1).
    fn newest_places(
        &mut self,
        t: &TableRef,
        keys: &KeyRows,
        places: &[Option<Location>],
    ) -> Result<Vec<Option<Location>>> {
        let still_there = t.bulk_replace()?.still_there(places);
        assert_eq!(still_there.len(), places.len(), "of each place the table says whether its version is there");
        let mut newest = Vec::with_capacity(places.len());
        for (n, (place, still_there)) in places.iter().zip(still_there).enumerate() {
            newest.push(match place {
                Some(place) if still_there => Some(*place),
                _ => {
                    let found = self.unchanged_version(t, keys.get(n), LockMode::EXCLUSIVE)?;
                    found.ok_or_else(|| changed_meanwhile(t, keys.get(n)))?.location
                }
            });
        }
        Ok(newest)
    }

    fn in_order(
        &self,
        t: &TableRef,
        keys: &KeyRows,
        places: &[Option<Location>],
        columns: &[usize],
    ) -> Result<Replaced> {
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_by(|&a, &b| keys.get(a as usize).cmp(keys.get(b as usize)));
        let before = self.journal.find(t.id()).map(|state| state.writes.clone()).unwrap_or_default();
        let mut replaced = Replaced::new(columns.to_vec());
        let mut last: Option<&[u8]> = None;
        for n in order {
            let key = keys.get(n as usize);
            if last == Some(key) || find(&before, key).is_some() {
                return Err(Error::internal(format!("a row of table {:?} is replaced twice at once", t.def.name)));
            }
            last = Some(key);
            replaced.push(key, places[n as usize]);
        }
        Ok(replaced)
    }

    /// What the transaction made of a key of a table of which it has files: a staged row, else one in the files.
    #[cold]
    pub(super) fn own_row_beside_files<'a>(
        &self,
        t: &TableRef,
        writes: &'a TableWrites,
        key: &[u8],
    ) -> Result<Option<Cow<'a, Staged>>> {
        if writes.attachments.iter().any(|attachment| attachment.replaced.is_none()) {
            return Err(built(t));
        }
        if let Some(staged) = writes.rows.get(key) {
            return Ok(Some(Cow::Borrowed(staged)));
        }
        let Some((at, place)) = find(writes, key) else { return Ok(None) };
        let attachment = &writes.attachments[at];
        let row = t.bulk_replace()?.built_row(attachment, key)?;
        let row = row.ok_or_else(|| Error::internal(format!("a replaced row of {:?} is in no file", t.def.name)))?;
        let columns = attachment.replaced.as_ref().map_or_else(Vec::new, |replaced| replaced.columns().to_vec());
        Ok(Some(Cow::Owned(self.replaced_row(place, row, columns))))
    }

    fn replaced_row(&self, place: Option<Location>, row: Arc<[u8]>, columns: Vec<usize>) -> Staged {
        // It was in the snapshot that the statement read, which is this one's or before it (replace 1).
        Staged { base: Base::Version(self.read_ts, place), row: Some(row), columns }
    }

    /// Stages the rows of files that replace others one by one, and lets go of the files.
    pub(super) fn unbuild(&mut self, t: &TableRef) -> Result<()> {
        loop {
            let Some(state) = self.journal.find(t.id()) else { return Ok(()) };
            let replaces = |attachment: &weft_contract::Attachment| attachment.replaced.is_some();
            let Some(at) = state.writes.attachments.iter().position(replaces) else { return Ok(()) };
            // As it was defined when the files were built.
            let table = state.table.clone();
            let mut rows: Vec<(Vec<u8>, Arc<[u8]>)> = Vec::new();
            table.bulk_replace()?.built_rows(&state.writes.attachments[at], &mut |key, row| {
                if !state.writes.rows.contains_key(key) {
                    rows.push((key.to_vec(), row));
                }
                Ok(())
            })?;
            let attachment = self.journal.unbuild(&table, at);
            let Some(replaced) = attachment.replaced else { continue };
            for (key, row) in rows {
                let place = replaced.find(&key).flatten();
                let staged = self.replaced_row(place, row, replaced.columns().to_vec());
                self.journal.stage(&table, &key, staged);
            }
            self.charge(1)?;
        }
    }
}

/// The attachment that replaces a key, and where the old version was seen.
fn find(writes: &TableWrites, key: &[u8]) -> Option<(usize, Option<Location>)> {
    let found = |(at, attachment): (usize, &weft_contract::Attachment)| {
        attachment.replaced.as_ref()?.find(key).map(|place| (at, place))
    };
    writes.attachments.iter().enumerate().find_map(found)
}

/// The keys of rows.
fn keys_of(t: &TableRef, batches: &[RecordBatch]) -> Result<KeyRows> {
    let schema = &t.def.schema;
    let mut keys = KeyRows::default();
    for batch in batches {
        let columns: Vec<ArrayRef> = schema.key.iter().map(|&ordinal| batch.column(ordinal).clone()).collect();
        keys.push_columns(schema, &columns)?;
    }
    Ok(keys)
}
