//! Rows replaced in bulk: files of new versions, and the ends of the old ones.
//!
//! ```text
//!   commit    @ 44    replaced  k1 t12-7:0   k2 t12-7:1   k5 row table 3
//!                     t12-7 is in the layout   ─▶ marks 0, 1 @ 44, under one lock of its marks
//!                     row table 3 was converted ─▶ k5 is looked for: t12-9:4 ─▶ mark 4 @ 44
//!   recovery  @ 44    the files' keys, each looked for in the layout without the files
//! ```
//!
//! 1. The layout asked for old versions is the one without the files: the new versions are not among what is found.
//! 2. The files come into the layout after all old versions have ended: files that are there have ended theirs.

use std::sync::Arc;

use arrow_array::RecordBatch;
use weft_contract::{Attachment, BulkReplace, Location, Replaced, VisitRow};
use weft_format::{BLOCK_ROWS, Error, FileId, KeyRows, Result, Timestamp};
use weft_kernel::fault::active;
use weft_kernel::read_again;

use super::faults;
use super::key_probe::KeyProbe;
use super::layout::Layout;
use super::part::Part;
use super::seen::Seen;
use super::store::Store;

/// The payload of a record of files whose rows replace those of their keys; that of rows more is empty.
const REPLACES: &[u8] = &[1];

/// Whether the rows of an attached file replace others.
pub(super) fn replaces(payload: &[u8]) -> bool {
    payload == REPLACES
}

impl BulkReplace for Store {
    fn still_there(&self, places: &[Option<Location>]) -> Vec<bool> {
        if !self.unseen.is_empty() {
            // What a blind write has replaced is not marked yet.
            return vec![false; places.len()];
        }
        let layout = self.layout();
        let mut part: Option<&Arc<Part>> = None;
        let is_there = |place: &Option<Location>| {
            let Some(Seen::ColumnTable(file, position)) = place.map(Seen::of) else { return false };
            if part.is_none_or(|part| part.file != file) {
                part = layout.part(file);
            }
            part.is_some_and(|part| !part.marks.is_marked(position))
        };
        places.iter().map(is_there).collect()
    }

    fn build_replacing(&self, batches: &[RecordBatch]) -> Result<Attachment> {
        Ok(Attachment { payload: REPLACES.to_vec(), ..self.build_files(batches, false)? })
    }

    fn built_row(&self, attachment: &Attachment, key: &[u8]) -> Result<Option<Arc<[u8]>>> {
        let probe = KeyProbe::new(key);
        for part in self.built_parts(&attachment.files)? {
            if let Some(position) = part.find(&probe, Timestamp::MAX)? {
                return Ok(Some(part.table.row(part.cache(), position)?.into()));
            }
        }
        Ok(None)
    }

    fn built_rows(&self, attachment: &Attachment, visit: &mut VisitRow<'_>) -> Result<()> {
        for part in self.built_parts(&attachment.files)? {
            for position in 0..part.row_count() {
                let row: Arc<[u8]> = part.table.row(part.cache(), position)?.into();
                visit(&self.keys.of_row(&self.shape().codec, &row), row)?;
            }
        }
        Ok(())
    }
}

impl Store {
    /// The parts of files that were built and are not installed yet.
    pub(super) fn built_parts(&self, files: &[FileId]) -> Result<Vec<Arc<Part>>> {
        let built = self.built.lock();
        let find = |file: &FileId| {
            let part = built.iter().find(|part| part.file == *file).cloned();
            part.ok_or_else(|| Error::internal(format!("the transaction's file {file} is not open any more")))
        };
        files.iter().map(find).collect()
    }

    /// Ends replaced versions; the caller holds the mark lock, and `layout` has not the new ones (replace 1).
    pub(super) fn end_replaced(&self, layout: &Layout, ts: Timestamp, replaced: &Replaced) -> Result<()> {
        let mut run = Run { store: self, layout, ts, part: None, positions: Vec::new() };
        for (key, place) in replaced.iter() {
            if let Some(Seen::ColumnTable(file, position)) = place.map(Seen::of)
                && run.takes(file, position)
            {
                continue;
            }
            let site = read_again(&*self.context.env.clock, || layout.find_again(place, key))?;
            let site = site.ok_or_else(|| {
                let name = &self.context.def.name;
                Error::internal(format!("table \"{name}\" lost a version that commit {ts} replaces"))
            })?;
            self.end(&site, ts);
        }
        run.end();
        Ok(())
    }

    /// Ends the versions that the keys of attached files have in a layout without them (replace 2).
    pub(super) fn end_keys_of(&self, layout: &Layout, ts: Timestamp, attached: &[Arc<Part>]) -> Result<()> {
        if active(faults::FORGET_REPLACED) {
            return Ok(());
        }
        let are_new = attached.iter().all(|part| layout.part(part.file).is_none());
        assert!(are_new, "the layout that is asked for old versions is without the files (replace 1)");
        for part in attached {
            for block in 0..part.table.block_count() {
                let keys = self.keys_of_block(part, block)?;
                for n in 0..keys.len() {
                    let site = layout.find(keys.get(n), Timestamp::MAX)?;
                    let site = site.ok_or_else(|| self.damaged(ts, "replaces a row that is not there"))?;
                    self.end(&site, ts);
                }
            }
        }
        Ok(())
    }

    fn damaged(&self, ts: Timestamp, what: &str) -> Error {
        Error::corrupt(format!("the log's commit {ts} {what} in table \"{}\"", self.context.def.name))
            .hint("the log and the table's files do not belong together: restore both from one copy")
    }

    pub(super) fn keys_of_block(&self, part: &Part, block: usize) -> Result<KeyRows> {
        let schema = self.schema();
        let column = |&ordinal: &usize| {
            let block = part.table.block(part.cache(), ordinal, block)?;
            Ok(block.decode(schema.columns[ordinal].data_type))
        };
        let columns = schema.key.iter().map(column).collect::<Result<Vec<_>>>()?;
        let mut keys = KeyRows::default();
        keys.push_columns(&schema, &columns)?;
        debug_assert!(keys.len() <= BLOCK_ROWS);
        Ok(keys)
    }
}

/// Positions of one part, marked at once.
struct Run<'a> {
    store: &'a Store,
    layout: &'a Layout,
    ts: Timestamp,
    part: Option<&'a Arc<Part>>,
    positions: Vec<u32>,
}

impl Run<'_> {
    /// Takes a position whose version has not ended; false when it has, or lies elsewhere by now.
    fn takes(&mut self, file: FileId, position: u32) -> bool {
        if self.part.is_none_or(|part| part.file != file) {
            self.end();
            self.part = self.layout.part(file);
        }
        let is_there = self.part.is_some_and(|part| !part.marks.is_marked(position));
        if is_there {
            self.positions.push(position);
        }
        is_there
    }

    fn end(&mut self) {
        let positions = std::mem::take(&mut self.positions);
        assert!(positions.is_empty() || self.part.is_some(), "positions are ended in the part that they were taken of");
        if let Some(part) = self.part
            && !positions.is_empty()
        {
            self.store.end_many(part, &positions, self.ts);
        }
    }
}

impl Store {
    /// Ends versions of a part; the caller holds the mark lock.
    fn end_many(&self, part: &Arc<Part>, positions: &[u32], ts: Timestamp) {
        part.marks.set_all(positions, ts);
        self.context.services.wake_jobs();
    }
}

#[cfg(test)]
mod tests;
