//! Bulk loads: rows go into the tree as they come, and are there when a commit says so.
//!
//! ```text
//!   build    rows in key order ─▶ record of 256 KiB of them ─▶ each into its leaf, since load 900 ─▶ ...
//!            so much has changed: pages are written meanwhile
//!            at the end: images in the log, pages written, synced                     durable, and seen by nobody
//!   commit   attaches 900: one number
//!   discard  #940 load 900 is gone                                              its cells go when their leaves change
//! ```
//!
//! 1. What a load has put into the tree is durable when it returns: recovery needs none of its records, but for their
//!    number (loads 3). Who follows has no pages of ours: it takes the rows from the records, when the commit comes.
//! 2. Memory: so much as changed pages may take beside what is loaded at once, however large the statement is.
//! 3. A key that is there already, or was loaded before by the same transaction, ends the load; what it has put into
//!    the tree is gone.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use weft_contract::{Attachment, Bulk, TableDef};
use weft_format::{Code, RecordNo, Result, RowCodec};
use weft_kernel::fault::active;
use weft_kernel::read_again;
use weft_kernel::step::reached;

use super::bytes::{LoadedRow, gone_record, rows_record};
use super::faults;
use super::loads::{Fate, load_of, mark_of, payload_of};
use super::pool::{Frame, Page};
use super::steps;
use super::store::Store;
use super::write::Done;
use crate::loading::{ALREADY, Rows, TWICE, duplicate_key};

/// Rows of so many bytes are one record.
const RECORD_BYTES: usize = 256 << 10;
/// A statement whose rows take more than this part of the memory of rows has the table for itself.
const LOADED_PART: u64 = 4;
/// So long a load waits for a backup that copies the pages,
const COPIED_NANOS_MAX: u64 = 60_000_000_000;
/// and looks again after this.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A load while it goes on.
struct Load<'a> {
    store: &'a Store,
    def: Arc<TableDef>,
    number: Option<RecordNo>,
    waiting: Vec<LoadedRow>,
    bytes: usize,
}

impl Bulk for Store {
    fn bulk_bytes(&self) -> u64 {
        self.context.services.options().row_memory_bytes / LOADED_PART
    }

    fn build(&self, batches: &[RecordBatch]) -> Result<Attachment> {
        let def = self.def.read().clone();
        let (rows, keys) = Rows::in_order(&def.schema, batches)?;
        let count = rows.count();
        let mut load = Load { store: self, def: def.clone(), number: None, waiting: Vec::new(), bytes: 0 };
        if let Some(key) = rows.twice(&keys) {
            return Err(duplicate_key(&def, &self.keys, key, TWICE));
        }
        let codec = RowCodec::new(&def.schema);
        let mut at = 0;
        let built = rows.pieces(0..count, &mut |columns| {
            let encoded = codec.encode_columns(&columns);
            encoded.iter().try_for_each(|row| {
                let key: Arc<[u8]> = keys.get(rows.row(at)).into();
                at += 1;
                load.push((key, row.into()))
            })
        });
        let built = built.and_then(|()| load.flush()).and_then(|()| match load.number {
            None => Ok(()),
            Some(_) => self.write_loaded(),
        });
        built?;
        let number = load.number.take();
        reached(steps::ROWS_LOADED);
        let payload = number.map_or_else(Vec::new, |number| payload_of(number, count as u64));
        Ok(Attachment { files: Vec::new(), rows: count as u64, payload, replaced: None })
    }

    fn discard(&self, attachment: &Attachment) {
        if let Ok((number, _)) = super::loads::read_payload(&attachment.payload) {
            self.let_go_of_load(number);
        }
    }
}

impl Load<'_> {
    fn push(&mut self, row: LoadedRow) -> Result<()> {
        self.bytes += row.0.len() + row.1.len();
        self.waiting.push(row);
        if self.bytes < RECORD_BYTES { Ok(()) } else { self.flush() }
    }

    /// Puts the rows that wait into the log and the tree.
    fn flush(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        if rows.is_empty() {
            return Ok(());
        }
        let (store, services) = (self.store, &self.store.context.services);
        services.wait_for_log_room()?;
        let number = {
            let mut changes = store.changes.lock();
            let record = services.log_page(store.context.def.id, &rows_record(self.number, &rows))?;
            changes.rows_from.get_or_insert(record);
            changes.rows_in_hand = Some(record);
            if self.number.is_none() {
                store.loads.write().begin(record);
                changes.loads_from.get_or_insert(record);
            }
            *self.number.get_or_insert(record)
        };
        for (key, row) in &rows {
            let put = || store.change_leaf(key, |frame, page| store.put_loaded(frame, page, number, (key, row)));
            let done = read_again(&*store.context.env.clock, put)?;
            let done = done.map_err(|what| duplicate_key(&self.def, &store.keys, key, what))?;
            if done.is_too_long {
                // A leaf that could not be split now is split by a later change.
                drop(store.split_around(key, done.comes_at_end));
            }
        }
        store.changes.lock().rows_in_hand = None;
        if store.pool.lent_bytes() > store.changed_bytes_max { store.write_loaded() } else { Ok(()) }
    }
}

/// What did not come to its end is gone.
impl Drop for Load<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.store.changes.lock().rows_in_hand = None;
            self.store.let_go_of_load(number);
        }
    }
}

impl Store {
    /// Writes all that has changed, when nobody copies the pages any more.
    fn write_loaded(&self) -> Result<()> {
        let clock = &self.context.env.clock;
        let last = clock.monotonic_nanos().saturating_add(COPIED_NANOS_MAX);
        loop {
            match self.write_back(None) {
                Err(error) if error.code() == Code::ObjectInUse && clock.monotonic_nanos() < last => {
                    clock.sleep(LOOK_AGAIN);
                }
                done => return done,
            }
        }
    }

    /// Puts a row of a load into its leaf; an error says where the key is already.
    fn put_loaded(
        &self,
        frame: &Frame,
        page: &mut Page,
        load: RecordNo,
        (key, row): (&Arc<[u8]>, &[u8]),
    ) -> std::result::Result<Done, &'static str> {
        let node = &mut page.node;
        let at = match node.find(key) {
            Err(at) => at,
            Ok(at) => {
                let cell = node.cell(at);
                let is_free = match load_of(cell.since).map(|before| self.loads.read().fate(before)) {
                    None => cell.is_dead,
                    Some(Fate::Gone) => true,
                    Some(Fate::Open) => return Err(TWICE),
                    Some(Fate::Committed(_)) => false,
                };
                if !is_free && !active(faults::LOAD_OVER_ROWS) {
                    return Err(ALREADY);
                }
                node.remove(at);
                at
            }
        };
        let comes_at_end = at == node.len() && node.high.is_none();
        node.insert(at, key, (mark_of(load), false), row);
        self.note_row(frame, node, false);
        Ok(Done { is_too_long: node.is_too_long(self.node_bytes_max()), comes_at_end, rows: 0 })
    }

    /// No commit will attach a load; the log says so before any commit that comes (loads 3).
    pub(super) fn let_go_of_load(&self, load: RecordNo) {
        let mut changes = self.changes.lock();
        self.loads.write().let_go(load);
        // Where the log has stopped there are no more commits.
        if let Ok(record) = self.context.services.log_page(self.context.def.id, &gone_record(load)) {
            changes.loads_from.get_or_insert(record);
        }
    }
}
