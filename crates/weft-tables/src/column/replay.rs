//! Redo: logged changes in log order, through the same locks and row tables as new commits.
//!
//! ```text
//!   cut 40:  insert k@38 ─ ignored: in a file   update k@41 ─ on the version alive   insert j@41 again ─ ignored
//! ```
//!
//! Redoing a change twice is harmless: at or below the cut it is in the files; above it, the version with exactly this
//! timestamp, or a later one of the key, is there already.

use std::sync::Arc;

use weft_contract::Change;
use weft_format::{Error, FileId, Result, Timestamp, ValueRef};
use weft_kernel::fault::active;

use super::faults;
use super::key_probe::KeyProbe;
use super::layout::{Layout, Site};
use super::replace::replaces;
use super::store::Store;

impl Store {
    /// See [`Write::replay`](weft_contract::Write::replay).
    pub(super) fn redo(&self, ts: Timestamp, change: &Change) -> Result<()> {
        let _marking = self.marking.lock();
        if ts <= self.cut() && !active(faults::REPLAY_TWICE_APPLIES) {
            return Ok(());
        }
        // All changes of one timestamp go into one row table, so F lies between two of them.
        if ts > self.last_change() && self.is_row_table_full(&self.layout()) {
            self.freeze_active(Timestamp(ts.0 - 1));
        }
        let layout = self.layout();
        match change {
            Change::Insert { key, row } => self.redo_insert(&layout, ts, key, row)?,
            Change::Update { key, values } => {
                let Some(old) = self.version_before(&layout, ts, key)? else { return Ok(()) };
                let row = self.row_of(&old)?;
                let shape = self.shape();
                let codec = &shape.codec;
                let mut new: Vec<ValueRef<'_>> =
                    (0..codec.column_count()).map(|column| codec.get(&row, column)).collect();
                for (column, value) in values {
                    let slot =
                        new.get_mut(*column).ok_or_else(|| self.damaged(ts, "updates a column that is not there"))?;
                    *slot = value.as_ref();
                }
                layout.row_table_of(ts).insert(key, ts, codec.encode(new).into());
                self.end(&old, ts);
            }
            Change::Delete { key } => {
                if let Some(old) = self.version_before(&layout, ts, key)? {
                    self.end(&old, ts);
                }
            }
            Change::Put { key, row } => {
                self.shape().codec.check(row)?;
                self.redo_blind(&layout, ts, key, Some(&row[..].into()))?;
            }
            Change::Clear { key } => self.redo_blind(&layout, ts, key, None)?,
            Change::Attach(files, payload) => self.redo_attach(&layout, ts, files, replaces(payload))?,
        }
        self.note_change(ts);
        Ok(())
    }

    fn redo_insert(&self, layout: &Layout, ts: Timestamp, key: &[u8], row: &[u8]) -> Result<()> {
        self.shape().codec.check(row)?;
        if layout.row_table_of(ts).contains(key, ts) {
            return Ok(());
        }
        if let Some(old) = layout.find(key, Timestamp::MAX)? {
            let old_ts = old.insert_ts()?;
            if old_ts > ts {
                return Ok(());
            }
            // A row of a file that the same transaction attached before it changed the row.
            if old_ts < ts {
                return Err(self.damaged(ts, "inserts a key that has a row"));
            }
            self.end(&old, ts);
        }
        layout.row_table_of(ts).insert(key, ts, row.into());
        Ok(())
    }

    fn redo_blind(&self, layout: &Layout, ts: Timestamp, key: &[u8], row: Option<&Arc<[u8]>>) -> Result<()> {
        let probe = KeyProbe::new(key);
        let newest = layout.row_tables().find_map(|table| table.newest(&probe, Timestamp::MAX));
        if newest.is_some_and(|place| place.chunk.insert_ts(place.slot) >= ts) {
            return Ok(());
        }
        self.install_blind(layout, &mut layout.row_table_of(ts).filling(), (key, ts), row)
    }

    fn redo_attach(&self, layout: &Layout, ts: Timestamp, files: &[FileId], replaces: bool) -> Result<()> {
        let mut attached = Vec::new();
        for &file in files.iter().filter(|file| layout.part(**file).is_none()) {
            attached.push(Arc::new(self.open_part(file, Some(ts))?));
        }
        if replaces {
            self.redo_replaced(layout, ts, &attached)?;
        }
        if !attached.is_empty() {
            self.attach(&attached);
        }
        Ok(())
    }

    /// The version that a change at `ts` ends; none when the change was applied before.
    fn version_before<'a>(&self, layout: &'a Layout, ts: Timestamp, key: &[u8]) -> Result<Option<Site<'a>>> {
        if layout.row_table_of(ts).contains(key, ts) {
            return Ok(None);
        }
        let Some(site) = layout.find(key, Timestamp::MAX)? else { return Ok(None) };
        Ok((site.insert_ts()? <= ts).then_some(site))
    }

    fn row_of(&self, site: &Site<'_>) -> Result<Arc<[u8]>> {
        Ok(match site {
            Site::Row(_, place) => place.chunk.row(place.slot).clone(),
            Site::Column(part, position) => part.table.row(part.cache(), *position)?.into(),
        })
    }

    pub(super) fn damaged(&self, ts: Timestamp, what: &str) -> Error {
        Error::corrupt(format!("the log's commit {ts} {what} in table \"{}\"", self.context.def.name))
            .hint("the log and the table's files do not belong together: restore both from one copy")
    }
}
