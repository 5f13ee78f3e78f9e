//! No two rows with one value in a unique index, whatever happens at the same time.
//!
//! ```text
//!   INSERT (9, 'e@x')   lock of 'e@x' ─ index: 5 had it once ─ snapshot P: row 5 has it ─ lock of 5's email ─ snapshot
//!                                                                   │                                          │
//!                       no: another value by now, free ◀───────────┘        still: refused; gone: free  ◀─────┘
//!
//!   UPDATE 5 SET seen   ends 5's version ──── installs the new one ──── published      both snapshots show one of them
//! ```
//!
//! 1. Who gives a row a value of a unique index has the value's lock until that is published. So who has the lock finds
//!    an entry of every row that has the value, and its snapshot, registered under the lock, shows each of them.
//! 2. Rows are looked at through a registered snapshot of what is published, never as the newest there is: a commit
//!    that is being installed has ended old versions whose new ones are not there yet, one by one or, in bulk, all.
//! 3. What is sequenced and not published can only take the value away, or leave it: it has the lock of the row's
//!    deciding columns. The second look, under that lock, shows what became of the row.
//! 4. A row that this transaction wrote counts as it will be committed: as it is staged, with the columns that others
//!    have committed meanwhile. One whose deciding columns it left alone has what is committed; when it was staged on a
//!    commit that is followed, that is published first.
//!
//! A value that no other row ever had costs its lock and a lookup; no snapshot is registered. Nothing besides is needed
//! for column writers (who sets a deciding column has locked all of them), for bulk statements (they hold the rows or
//! the table), and for blind writes (there are none to a table with indexes).
//!
//! Crash: redo has nothing to test, for what is in the log was tested. [`Engine::check`](crate::Engine::check) tests
//! every unique index as a whole.

use std::ops::Bound;
use std::sync::Arc;

use weft_contract::Staged;
use weft_expr::text;
use weft_format::{Code, Error, Result, Timestamp, Value};

use super::own_ddl::OwnDdl;
use super::transaction::Transaction;
use crate::catalog::{IndexRef, TableRef};
use crate::fault::{Fault, active};
use crate::index::{Direction, Index};
use crate::lock::{ColumnSet, LockMode, LockName};
use crate::step::{Moment, passed};

/// Entries of an index between two looks whether the statement is to stop.
const CANCEL_ENTRIES: usize = 4096;

impl Transaction {
    /// Tests the unique indexes of a table for a row that is about to be staged.
    pub(super) fn check_unique_indexes(&mut self, t: &TableRef, key: &[u8], staged: &Staged) -> Result<()> {
        let indexes = t.indexes();
        if indexes.is_empty() {
            return Ok(());
        }
        let Some(row) = &staged.row else { return Ok(()) };
        for IndexRef { index, .. } in indexes.iter() {
            let moves = !staged.is_partial() || index.is_touched(&staged.columns);
            let is_tested = index.is_unique() || index.can_fail();
            if is_tested && moves && index.has_row(row) && !OwnDdl::drops(&self.ddl, index.id()) {
                self.check_value(t, index, key, row)?;
            }
        }
        Ok(())
    }

    /// Fails when the row, which the index has, has no value by it, or another row has the same in a unique index.
    /// Notes the value as one of this transaction.
    fn check_value(&mut self, t: &TableRef, index: &Arc<Index>, key: &[u8], row: &[u8]) -> Result<()> {
        let mut value = Vec::new();
        let has_null = index.put_row(row, &mut value)?;
        if has_null || !index.is_unique() {
            return Ok(());
        }
        self.check_only(t, index, key, row, &value)?;
        self.own_values.entry((index.id(), value.into())).or_default().push(key.into());
        Ok(())
    }

    /// Fails when a row beside that of `key` has a value of a unique index; nobody else gives it to one from here on.
    pub(super) fn check_only(
        &mut self,
        t: &TableRef,
        index: &Arc<Index>,
        key: &[u8],
        row: &[u8],
        value: &[u8],
    ) -> Result<()> {
        assert!(index.is_unique(), "only of a unique index a value is one row's alone");
        let lock = LockName::key(index.id(), value);
        if !active(Fault::SKIP_VALUE_LOCK) {
            let what = || format!("a value of index {:?}", index.name());
            self.lock(lock, LockMode::EXCLUSIVE, self.lock_wait(), &what)?;
        }
        let same = |row: &[u8]| index.has_row_by(row, value, &mut Vec::with_capacity(value.len()));
        let noted = self.own_values.get(&(index.id(), value.into())).into_iter().flatten();
        let own: Vec<Vec<u8>> = noted.filter(|other| ***other != *key).map(|other| other.to_vec()).collect();
        if !active(Fault::UNIQUE_BEFORE_FOLLOWED) {
            self.settle_own(t, &own)?;
        }
        for other in own {
            // What is noted may have been rolled back since.
            if self.own_row(t, &other)?.is_some() && self.current_row(t, &other)?.is_some_and(|row| same(&row)) {
                return Err(duplicate_value(t, index, row));
            }
        }
        let others = self.once_with_value(index, key, value)?;
        if others.is_empty() {
            return Ok(());
        }
        passed(Moment::UniqueCandidate);
        let is_alone = active(Fault::SKIP_VALUE_LOCK) || self.core().locks.handed_on(lock, self.id).is_empty();
        assert!(is_alone, "who gave the value of an index to a row before is published (unique 1)");
        self.settle_own(t, &others)?;
        for other in self.committed_with(t, index, others, &same)? {
            // Whoever holds the row may be about to change or delete it (unique 3).
            let mode = LockMode::columns(index.deciding().iter().copied().collect(), ColumnSet::NONE);
            self.lock_key(t, &other, mode, self.lock_wait())?;
            passed(Moment::UniqueWaited);
            if self.at_newest(|newest| self.row_published(t, &other, newest))?.is_some_and(|row| same(&row)) {
                passed(Moment::UniqueRefused);
                return Err(duplicate_value(t, index, row));
            }
            passed(Moment::UniqueGone);
        }
        Ok(())
    }

    /// The keys beside one whose rows have or had a value.
    fn once_with_value(&self, index: &Index, key: &[u8], value: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut others = Vec::new();
        let mut cursor = index.store().lookup(value)?;
        while let Some(entry) = cursor.next()? {
            if entry.key != key {
                others.push(entry.key.to_vec());
            }
        }
        Ok(others)
    }

    /// Waits for the commits that rows of these keys were staged on (unique 4).
    fn settle_own(&mut self, t: &TableRef, keys: &[Vec<u8>]) -> Result<()> {
        for key in keys {
            let base = self.own_row(t, key)?.and_then(|own| own.base.version());
            if base.is_some_and(|(base_ts, _)| self.has_followed(base_ts)) {
                passed(Moment::UniqueFollowed);
                return self.settle_followed();
            }
        }
        Ok(())
    }

    /// Those of some keys whose committed rows have a value, if this transaction left their deciding columns alone.
    fn committed_with(
        &self,
        t: &TableRef,
        index: &Index,
        mut keys: Vec<Vec<u8>>,
        same: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Vec<Vec<u8>>> {
        let is_beside = |own: &Staged| own.is_partial() && !index.is_touched(&own.columns);
        self.at_newest(|newest| {
            let mut error = None;
            keys.retain(|key| {
                let has_value = || -> Result<bool> {
                    // Own rows with the value were found by what is noted.
                    let is_own = self.own_row(t, key)?.is_some_and(|own| !is_beside(&own));
                    Ok(!is_own && self.row_published(t, key, newest)?.is_some_and(|row| same(&row)))
                };
                has_value().unwrap_or_else(|failed| {
                    error = Some(failed);
                    false
                })
            });
            error.map_or(Ok(keys), Err)
        })
    }

    /// The row of a key at a registered snapshot (unique 2).
    fn row_published(&self, t: &TableRef, key: &[u8], newest: Timestamp) -> Result<Option<Arc<[u8]>>> {
        let read_ts = if active(Fault::UNIQUE_LOOK_AT_MAXIMUM) { Timestamp::MAX } else { newest };
        t.table.read_row(key, read_ts)
    }

    /// Tests that all rows differ, own ones included. The caller has locked the table, so nobody else has any.
    pub(super) fn check_unique(&mut self, t: &TableRef, index: &Arc<Index>) -> Result<()> {
        // Installed or built, every committed row has its entry by now; neighbours of one value are compared.
        self.core().timeline.settle()?;
        let mut cursor = index.store().scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward)?;
        // Rows are read only where a value has several entries; some of those may be outdated.
        let (mut last, mut first): (Vec<u8>, Vec<u8>) = Default::default();
        let (mut entries, mut alive) = (0, 0);
        let mut value = Vec::new();
        let null = index.prefix(&[Value::Null]).ok_or_else(|| Error::internal("NULL has no place in an index"))?;
        let mut looked_at = 0_usize;
        while let Some(entry) = cursor.next()? {
            looked_at += 1;
            if looked_at.is_multiple_of(CANCEL_ENTRIES) {
                self.check_goes_on()?;
            }
            if entry.value.starts_with(&null) {
                continue;
            }
            if entry.value != last || entries == 0 {
                last.clear();
                last.extend_from_slice(entry.value);
                first.clear();
                first.extend_from_slice(entry.key);
                (entries, alive) = (1, 0);
                continue;
            }
            entries += 1;
            let both = [&first[..], entry.key];
            for key in &both[usize::from(entries > 2)..] {
                let row = self.current_row(t, key)?;
                let Some(row) = row.filter(|row| index.has_row(row)) else { continue };
                let has_null = index.put_row(&row, &mut value)?;
                if value == last && !has_null {
                    alive += 1;
                    if alive == 2 {
                        return Err(duplicate_value(t, index, &row));
                    }
                }
            }
        }
        let own = self.journal.find(t.id()).map(|state| Arc::clone(&state.writes));
        for key in own.iter().flat_map(|writes| writes.rows.keys()) {
            let Some(row) = self.current_row(t, key)?.filter(|row| index.has_row(row)) else { continue };
            self.check_value(t, index, key, &row)?;
        }
        Ok(())
    }
}

fn duplicate_value(t: &TableRef, index: &Index, row: &[u8]) -> Error {
    let schema = &t.def.schema;
    let names: Vec<String> = index.parts().iter().map(|part| part.text(schema)).collect();
    let values = index.row_values(row).unwrap_or_default();
    let printed =
        values.iter().zip(index.parts()).map(|(value, part)| text::print(value.as_ref(), part.data_type(schema)));
    let message = format!("duplicate key value violates unique constraint \"{}\"", index.name());
    Error::new(Code::UniqueViolation, message)
        .detail(format!("Key ({})=({}) already exists.", names.join(", "), printed.collect::<Vec<_>>().join(", ")))
        .about(&t.def.name, None, Some(&index.name()))
}
