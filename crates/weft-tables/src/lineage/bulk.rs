//! Bulk load: Arrow batches become segments and a run of keys at once, without tails and without the log.
//!
//! ```text
//!   batches ─▶ keys ─▶ in order ─▶ twice? there already? ─▶ segments, in parallel ─▶ keys ─▶ synced ─▶ attachment
//!   commit  ─▶ row ids behind all others ─▶ base (loaded)
//! ```
//!
//! 1. Files of an attachment: the segments in order, then the keys.
//! 2. On an error nothing is left behind.
//! 3. What was built and not attached is of the one transaction that has the table for itself: what it loads next is
//!    tested against that, too.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch};
use weft_contract::{Attachment, Bulk};
use weft_format::table::InsertTimestamps;
use weft_format::{Error, FileId, KeyRows, Result, Timestamp};
use weft_kernel::method::TableContext;
use weft_kernel::step::reached;

use super::files::{OpenFile, paced_builder};
use super::loaded::Built;
use super::shapes::{self, FIRST_PAGE, Shape as FileShape};
use super::steps::BUILD_FILES_SYNCED;
use super::store::{Shape, Store};
use crate::loading::{ALREADY, Rows, TWICE, duplicate_key, in_parallel};

/// Rows that become segments.
struct Load {
    rows: Rows,
    context: TableContext,
    shape: Arc<Shape>,
    segment_rows: usize,
}

impl Load {
    fn write(&self, segment: usize) -> Result<OpenFile> {
        let schema = &self.shape.schema;
        let ordinals: Vec<usize> = (0..schema.columns.len()).collect();
        let file_schema = shapes::pages(schema, &ordinals);
        let mut builder = paced_builder(&self.context, file_schema.clone());
        let start = segment * self.segment_rows;
        let end = self.rows.count().min(start + self.segment_rows);
        let mut slot = 0;
        self.rows.pieces(start..end, &mut |columns| {
            let len = columns[0].len();
            let slots = Int64Array::from_iter_values(slot..slot + len as i64);
            slot += len as i64;
            // Segment 3: the commit is not known yet.
            let (changed, alive) = (Int64Array::from_value(0, len), BooleanArray::from(vec![true; len]));
            let own: [ArrayRef; FIRST_PAGE] = [Arc::new(slots), Arc::new(changed), Arc::new(alive)];
            let all: Vec<ArrayRef> = own.into_iter().chain(columns).collect();
            builder.push_batch(&all, InsertTimestamps::Same(Timestamp(0)))
        })?;
        OpenFile::write(&self.context, builder, &file_schema)
    }

    /// Row ids count from the first segment's first row.
    fn write_keys(&self) -> Result<OpenFile> {
        let schema = shapes::keys(&self.shape.schema);
        let mut builder = paced_builder(&self.context, schema.clone());
        let mut row_id = 0;
        self.rows.pieces(0..self.rows.count(), &mut |columns| {
            let row_ids = Int64Array::from_iter_values(row_id..row_id + columns[0].len() as i64);
            row_id += columns[0].len() as i64;
            let key = self.shape.schema.key.iter().map(|&ordinal| columns[ordinal].clone());
            let all: Vec<ArrayRef> = key.chain([Arc::new(row_ids) as ArrayRef]).collect();
            builder.push_batch(&all, InsertTimestamps::Same(Timestamp(0)))
        })?;
        OpenFile::write(&self.context, builder, &schema)
    }
}

impl Bulk for Store {
    fn bulk_bytes(&self) -> u64 {
        self.options.bulk_bytes
    }

    fn build(&self, batches: &[RecordBatch]) -> Result<Attachment> {
        let shape = self.shape();
        let (rows, keys) = Rows::in_order(&shape.schema, batches)?;
        if rows.count() == 0 {
            return Ok(Attachment { files: Vec::new(), rows: 0, payload: Vec::new(), replaced: None });
        }
        self.check_free(&keys, &rows)?;
        drop(keys);
        let row_count = rows.count() as u64;
        let built = self.write_files(rows, shape)?;
        let files = built.numbers();
        self.built.lock().push(Arc::new(built));
        Ok(Attachment { files, rows: row_count, payload: Vec::new(), replaced: None })
    }

    fn discard(&self, attachment: &Attachment) {
        let mut all = self.built.lock();
        if let Some(at) = all.iter().position(|built| built.numbers() == attachment.files) {
            all.remove(at).files().for_each(|file| file.retire());
        }
    }
}

impl Store {
    fn check_free(&self, keys: &KeyRows, rows: &Rows) -> Result<()> {
        let duplicate = |key, what| Err(duplicate_key(&self.context.def, &self.keys, key, what));
        if let Some(key) = rows.twice(keys) {
            return duplicate(key, TWICE);
        }
        let layout = self.layout();
        let (low, high) = (keys.get(rows.row(0)), keys.get(rows.row(rows.count() - 1)));
        let overlaps = |file: &OpenFile| file.table.min_key() <= high && file.table.max_key() >= low;
        // Bulk load 3.
        let own: Vec<Arc<Built>> = self.built.lock().iter().filter(|built| overlaps(&built.keys)).cloned().collect();
        let in_memory = layout.tails().any(|tails| tails.record_count() > 0);
        if !in_memory && own.is_empty() && !layout.base.keys.iter().any(|run| overlaps(&run.file)) {
            return Ok(());
        }
        for n in 0..rows.count() {
            let key = keys.get(n);
            if layout.find(key, Timestamp::MAX)?.is_some() {
                return duplicate(key, ALREADY);
            }
            for built in &own {
                let table = &built.keys.table;
                if !table.find(built.keys.cache(), key)?.is_empty() {
                    return duplicate(key, TWICE);
                }
            }
        }
        Ok(())
    }

    fn write_files(&self, rows: Rows, shape: Arc<Shape>) -> Result<Built> {
        let segment_rows = self.options.segment_rows as usize;
        let (count, columns) = (rows.count().div_ceil(segment_rows), shape.schema.columns.len());
        let load = Arc::new(Load { rows, context: self.context.clone(), shape, segment_rows });
        let shared = load.clone();
        let (pages, result) =
            in_parallel(&self.context.env, count, Box::new(move |segment| shared.write(segment).map(Arc::new)));
        let keys = result.and_then(|()| load.write_keys());
        let files = self.context.services.files();
        let keys = keys.and_then(|keys| match files.sync_names() {
            Ok(()) => Ok(keys),
            Err(error) => {
                keys.retire();
                Err(error)
            }
        });
        match keys {
            Ok(keys) => {
                reached(BUILD_FILES_SYNCED);
                Ok(Built { pages, keys: Arc::new(keys), columns })
            }
            Err(error) => {
                pages.iter().for_each(|file| file.retire());
                Err(error)
            }
        }
    }

    /// What an attachment names: which this process has built and kept open, or which is opened now.
    pub(super) fn built_of(&self, files: &[FileId]) -> Result<Arc<Built>> {
        let mut all = self.built.lock();
        if let Some(at) = all.iter().position(|built| built.numbers() == files) {
            return Ok(all.remove(at));
        }
        drop(all);
        let schema = self.shape().schema.clone();
        let open = |file: FileId, shape| OpenFile::open(&self.context, file, shape, &schema).map(Arc::new);
        let [pages @ .., keys] = files else {
            return Err(Error::corrupt("a load in the log names no files"));
        };
        let pages = pages.iter().map(|&file| open(file, FileShape::Pages)).collect::<Result<Vec<_>>>()?;
        let columns = pages.first().map_or(0, |file| file.table.column_count().saturating_sub(FIRST_PAGE));
        let is_whole = |(at, file): (usize, &Arc<OpenFile>)| {
            let rows = file.table.row_count();
            let is_full = rows == self.options.segment_rows || at + 1 == pages.len();
            is_full && rows <= self.options.segment_rows && file.table.column_count() == FIRST_PAGE + columns
        };
        if pages.is_empty() || !pages.iter().enumerate().all(is_whole) {
            return Err(Error::corrupt("a load in the log names files that are not one load's"));
        }
        Ok(Arc::new(Built { pages, keys: open(*keys, FileShape::Keys)?, columns }))
    }

    /// What the transaction's own attachments name, for its scans.
    pub(super) fn built_now(&self, attachments: &[Attachment]) -> Vec<Arc<Built>> {
        let all = self.built.lock();
        let is_named = |built: &&Arc<Built>| attachments.iter().any(|named| named.files == built.numbers());
        all.iter().filter(is_named).cloned().collect()
    }

    /// Puts what a commit attaches into the base; within the gate.
    pub(super) fn attach(&self, ts: Timestamp, built: &[Arc<Built>]) {
        for built in built {
            let first = self.take_segments(built.pages.len() as u64);
            self.switch(|layout| {
                let mut base = (*layout.base).clone();
                base.load(ts, first, built);
                layout.with_base(base)
            });
            self.layout().tails_of(ts).note_loaded(ts);
        }
    }
}
