//! Merge on read: what blind writes replace in column tables is looked for when somebody scans, or before conversion.
//!
//! ```text
//!   put k5@41  put k2@43  clear k9@44  put k5@47       nobody looked into t12-7, which has k2, k5 and k9
//!   row table 8   k2@43   k5@41..47   k5@47   k9@44..44 (antimatter)          unseen [k5@41, k2@43, k9@44]
//!
//!   scan at 50 ─▶ unseen in key order: of t12-7 the keys are decoded, nothing else      k2 at 17, k5 at 40, k9 at 90
//!              ─▶ mark lock { 17 @ 43 · 40 @ 41 · 90 @ 44 }                             unseen []
//!              ─▶ pins the layout, and skips those rows of all other columns as it skips any marked row
//! ```
//!
//! A write is blind as to column tables only: a version of its key in a row table is found on the way and ended at
//! once. So what is waited for is one mark per key at most, with the timestamp of the blind write, whenever it is set.
//!
//! 1. A blind write is in `unseen` before its timestamp is published, and leaves it when the marks are set. A reader
//!    registers its timestamp, reconciles, and only then pins the layout: the layout it pins has every mark up to its
//!    timestamp (DESIGN invariant 1, a step longer).
//! 2. A row table is converted after its blind writes are reconciled: then its version, which hid what it replaced from
//!    point reads (layout 6), leaves the row tables, and the edit names the mark. Files never hold antimatter.
//! 3. What a blind write replaces began before it and is unmarked; whoever changes the key later finds the version in
//!    the row table. So nobody else marks it.
//!
//! Concurrency: one reconciles at a time and waits for blocks meanwhile; the mark lock is held for some marks at once.
//! The lock of those who reconcile comes after the edit lock and before the mark lock.
//!
//! Crash: redo makes blind writes blind writes again, and they wait anew.

use std::sync::Arc;

use weft_env::sync::MutexGuard;
use weft_format::bloom::hash_bytes;
use weft_format::{Result, Timestamp, Value};
use weft_kernel::step::reached;

use super::key_probe::KeyProbe;
use super::layout::{Layout, Site};
use super::part::Part;
use super::row_table::Filling;
use super::steps::RECONCILED;
use super::store::Store;
use super::version_key::VersionKey;

/// So many marks are set under the mark lock at once.
const MARKS_AT_ONCE: usize = 512;

/// A row that a blind write has replaced.
struct Replaced<'a> {
    part: Arc<Part>,
    position: u32,
    /// The timestamp of the write.
    ts: Timestamp,
    /// The blind writes of its key.
    writes: &'a [VersionKey],
}

impl Store {
    /// Puts a blind write into the row table of its timestamp: a row, or none. The caller holds the mark lock.
    pub(crate) fn install_blind(
        &self,
        layout: &Layout,
        filling: &mut Filling<'_>,
        (key, ts): (&[u8], Timestamp),
        row: Option<&Arc<[u8]>>,
    ) -> Result<()> {
        let probe = KeyProbe::new(key);
        let newest = layout.row_tables().find_map(|table| Some((table, table.newest(&probe, Timestamp::MAX)?)));
        let alive = newest.filter(|(_, place)| place.chunk.delete_ts(place.slot) == Timestamp::MAX);
        let hides = alive.is_none() && layout.columns.covering(key).next().is_some();
        if let Some((table, place)) = alive {
            table.end(&place, ts);
        }
        match row {
            Some(row) => filling.insert(key, ts, row.clone()),
            None if hides => filling.insert_antimatter(key, ts, self.row_of_key(key)?),
            None => {}
        }
        if hides {
            filling.charge((size_of::<VersionKey>() + key.len()) as u64);
            self.unseen.add(VersionKey::new(key, ts));
        }
        Ok(())
    }

    /// A row that has the key and nothing else.
    pub(crate) fn row_of_key(&self, key: &[u8]) -> Result<Arc<[u8]>> {
        let shape = self.shape();
        let mut values = vec![Value::Null; shape.codec.column_count()];
        for (&ordinal, value) in shape.schema.key.iter().zip(self.keys.decode(key)?) {
            values[ordinal] = value;
        }
        Ok(shape.codec.encode(values.iter().map(Value::as_ref)).into())
    }

    /// Marks what the blind writes that are installed by now have replaced in column tables (reconcile 1).
    pub(crate) fn reconcile(&self) -> Result<()> {
        if self.unseen.is_empty() {
            return Ok(());
        }
        let _reconciling = self.unseen.reconciling.lock();
        let writes = self.unseen.sorted();
        let replaced = replaced(&self.layout(), &writes)?;
        for some in replaced.chunks(MARKS_AT_ONCE) {
            let _marking = self.marking.lock();
            let layout = self.layout();
            some.iter().try_for_each(|replaced| self.end_unseen(&layout, replaced))?;
        }
        reached(RECONCILED);
        self.unseen.forget(writes.len());
        Ok(())
    }

    /// The mark lock, with nothing to reconcile; an error leaves it as it is.
    pub(crate) fn lock_reconciled(&self) -> (MutexGuard<'_, ()>, Result<()>) {
        loop {
            let reconciled = self.reconcile();
            let marking = self.marking.lock();
            if self.unseen.is_empty() || reconciled.is_err() {
                return (marking, reconciled);
            }
        }
    }

    /// Sets a mark; the caller holds the mark lock. A row that a job has moved meanwhile is looked for again.
    fn end_unseen(&self, layout: &Layout, replaced: &Replaced<'_>) -> Result<()> {
        let Replaced { part, position, ts, writes } = replaced;
        if layout.part(part.file).is_some() {
            self.end(&Site::Column(part, *position), *ts);
            return Ok(());
        }
        for part in layout.columns.covering(writes[0].key()) {
            if let Some((position, ts)) = replaced_in(part, writes)? {
                self.end(&Site::Column(part, position), ts);
            }
        }
        Ok(())
    }
}

/// What blind writes, by key, have replaced in the column tables of a layout.
fn replaced<'a>(layout: &Layout, writes: &'a [VersionKey]) -> Result<Vec<Replaced<'a>>> {
    let mut found = Vec::new();
    for part in layout.parts() {
        let first = writes.partition_point(|write| write.key() < part.key_min());
        let end = writes.partition_point(|write| write.key() <= part.key_max());
        for writes in writes[first..end.max(first)].chunk_by(|a, b| a.key() == b.key()) {
            if let Some((position, ts)) = replaced_in(part, writes)? {
                found.push(Replaced { part: part.clone(), position, ts, writes });
            }
        }
    }
    Ok(found)
}

/// The row that the first of some blind writes of one key behind it has replaced in a column table.
fn replaced_in(part: &Part, writes: &[VersionKey]) -> Result<Option<(u32, Timestamp)>> {
    let key = writes[0].key();
    debug_assert!(writes.iter().all(|write| write.key() == key), "what one row may be replaced by has one key");
    if !part.table.may_contain_key(hash_bytes(key)) {
        return Ok(None);
    }
    let versions = part.table.find_unfiltered(part.cache(), key)?;
    let Some(position) = versions.rev().find(|&position| !part.marks.is_marked(position)) else { return Ok(None) };
    let first = writes[0].insert_ts();
    if part.insert_ts_max() <= first {
        return Ok(Some((position, first)));
    }
    let began = part.insert_ts(position)?;
    let behind = writes.iter().map(VersionKey::insert_ts).find(|&ts| ts >= began);
    Ok(behind.map(|ts| (position, ts)))
}
