//! The duties of a table, once for both rivals: keys, definitions, the cut; versions are [`Rows`]'s.
//!
//! ```text
//!   apply(ts 44)   k1: update of b, seen at row 4 ─▶ rows.update(4, 44, {b})
//!                  k2: new                        ─▶ rows.insert(9, 44, ...), then k2 → 9
//!   reopened       rows as of the last checkpoint's cut, then what the log has beyond it
//! ```
//!
//! 1. A row is there before its key is: who finds the key finds the row.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_contract::{
    Blind, Bulk, BulkReplace, Damage, FileSwitch, InPlace, Inspect, JobOffer, LayerStatus, Newest, PartStatus, Read,
    RecoveredTable, ScanOutput, ScanRequest, Table, TableDef, TableStatistics, TableWrites, Upkeep, Versions, Write,
};
use weft_env::sync::RwLock;
use weft_format::{Error, KeyCodec, Result, RowCodec, Schema, Timestamp, Value};
use weft_kernel::method::TableContext;

use crate::index::KeyIndex;
use crate::rows::{Rows, location_of, row_of};
use crate::saved::{SAVE, Saved, SavedRow};
use crate::scan;

/// See the module.
pub(crate) struct RivalTable<R> {
    context: TableContext,
    codec: RwLock<Arc<RowCodec>>,
    index: KeyIndex,
    rows: Arc<R>,
    /// The number of the next row that is new.
    next_row: AtomicU64,
    saved: Saved,
    /// The latest timestamp that changed the table.
    last_change: AtomicU64,
}

impl<R: Rows> RivalTable<R> {
    pub(crate) fn open(context: TableContext, recovered: &RecoveredTable, rows: R) -> Result<RivalTable<R>> {
        let (saved, found) = Saved::open(&context, recovered)?;
        let table = RivalTable {
            codec: RwLock::new(Arc::new(RowCodec::new(&context.def.schema))),
            index: KeyIndex::default(),
            rows: Arc::new(rows),
            next_row: AtomicU64::new(0),
            saved,
            last_change: AtomicU64::new(recovered.cut.0),
            context,
        };
        let (codec, schema) = (table.codec(), table.context.def.schema.clone());
        let keys = KeyCodec::new(&schema);
        for (since, mut values) in found {
            // Columns that were added since no row was changed.
            values.extend((values.len()..codec.column_count()).map(|column| codec.missing(column).to_value()));
            let key = keys.encode(schema.key.iter().map(|&column| values[column].as_ref()));
            table.insert(&key, since, &codec, values);
        }
        Ok(table)
    }

    /// A row of a key that never had one.
    fn insert(&self, key: &[u8], ts: Timestamp, codec: &RowCodec, values: Vec<Value>) {
        let row = self.next_row.fetch_add(1, Ordering::AcqRel);
        self.rows.insert(row, ts, codec, values);
        // Table 1.
        self.index.insert(key, row);
    }

    fn codec(&self) -> Arc<RowCodec> {
        self.codec.read().clone()
    }

    /// The whole row of a key, since when it is so, and its number.
    fn whole(&self, key: &[u8], read_ts: Timestamp) -> Option<(u64, Timestamp, Arc<[u8]>)> {
        let (row, codec) = (self.index.get(key)?, self.codec());
        let (since, values) = self.values(row, read_ts, &codec)?;
        Some((row, since, codec.encode(values.iter().map(Value::as_ref)).into()))
    }

    /// All columns of a row, and since when they are so.
    fn values(&self, row: u64, read_ts: Timestamp, codec: &RowCodec) -> Option<SavedRow> {
        let all: Vec<usize> = (0..codec.column_count()).collect();
        let mut values = Vec::with_capacity(all.len());
        let since = self.rows.find(row, read_ts, codec, &all, &mut values)?;
        Some((since, values))
    }

    fn save(&self, to: Timestamp) -> Result<()> {
        let codec = self.codec();
        let rows = || {
            let all = 0..self.next_row.load(Ordering::Acquire);
            all.filter_map(|row| self.values(row, to, &codec)).collect()
        };
        self.saved.save(&self.context, to, rows)
    }

    fn last_change(&self) -> Timestamp {
        Timestamp(self.last_change.load(Ordering::Acquire))
    }
}

impl<R> Drop for RivalTable<R> {
    fn drop(&mut self) {
        self.saved.end(&self.context);
    }
}

impl<R: Rows> Read for RivalTable<R> {
    fn read(
        &self,
        codec: &RowCodec,
        key: &[u8],
        read_ts: Timestamp,
        columns: &[usize],
        values: &mut Vec<Value>,
    ) -> Result<bool> {
        values.clear();
        let Some(row) = self.index.get(key) else { return Ok(false) };
        let found = self.rows.find(row, read_ts, codec, columns, values);
        if found.is_none() {
            values.clear();
        }
        Ok(found.is_some())
    }

    fn read_row(&self, key: &[u8], read_ts: Timestamp) -> Result<Option<Arc<[u8]>>> {
        Ok(self.whole(key, read_ts).map(|(_, _, row)| row))
    }

    fn newest(&self, key: &[u8]) -> Result<Option<Newest>> {
        let Some(row) = self.index.get(key) else { return Ok(None) };
        let since = self.rows.find(row, Timestamp::MAX, &self.codec(), &[], &mut Vec::new());
        Ok(since.map(|insert_ts| Newest { insert_ts, location: location_of(row) }))
    }

    fn newest_row(&self, key: &[u8]) -> Result<Option<(Newest, Arc<[u8]>)>> {
        let found = self.whole(key, Timestamp::MAX);
        Ok(found.map(|(row, insert_ts, bytes)| (Newest { insert_ts, location: location_of(row) }, bytes)))
    }

    fn greatest_key(&self) -> Result<Option<Vec<u8>>> {
        Ok(self.index.greatest())
    }

    fn scan(&self, schema: &Arc<Schema>, request: ScanRequest) -> Result<ScanOutput> {
        let own = request.view.own.clone().unwrap_or_default();
        let mut hidden: Vec<u64> = own.rows.keys().filter_map(|key| self.index.get(key)).collect();
        hidden.sort_unstable();
        // What comes in from now on the snapshot does not see.
        let end = self.next_row.load(Ordering::Acquire);
        Ok(scan::start(&self.rows, schema, request, hidden, end))
    }

    fn statistics(&self) -> TableStatistics {
        let (row_count, columns) = (self.index.len(), self.codec().column_count());
        TableStatistics { row_count, bytes: row_count * 8 * columns as u64, ranges: vec![None; columns] }
    }
}

impl<R: Rows> Write for RivalTable<R> {
    fn apply(&self, ts: Timestamp, writes: &TableWrites) -> Result<()> {
        assert!(writes.attachments.is_empty(), "a table that builds no files gets none (abilities 2)");
        if ts <= self.saved.cut() {
            return Ok(());
        }
        // Before anything is there: who publishes finds the log needed.
        self.last_change.fetch_max(ts.0, Ordering::AcqRel);
        let codec = self.codec();
        for (key, staged) in &writes.rows {
            let (replaces, seen) = match staged.base.version() {
                Some((_, location)) => (true, location.map(row_of)),
                None => (false, None),
            };
            let row = seen.or_else(|| self.index.get(key));
            match (&staged.row, row) {
                (Some(bytes), Some(row)) if replaces => self.rows.update(row, ts, &codec, bytes, &staged.columns),
                (None, Some(row)) if replaces => self.rows.delete(row, ts),
                (_, _) if replaces => panic!("what is replaced has a row (rivals 2)"),
                (Some(bytes), Some(row)) => self.rows.insert(row, ts, &codec, codec.decode(bytes)),
                (Some(bytes), None) => self.insert(key, ts, &codec, codec.decode(bytes)),
                (None, _) => {}
            }
        }
        if self.rows.is_due() {
            self.context.services.wake_jobs();
        }
        Ok(())
    }

    /// Nothing has to be read when a commit is applied.
    fn give_up(&self, _: Timestamp, _: &Error) -> bool {
        false
    }
}

impl<R: Rows> Upkeep for RivalTable<R> {
    fn jobs(&self) -> Vec<JobOffer> {
        self.saved.offer(&self.context).into_iter().chain(self.rows.offer()).collect()
    }

    fn run(&self, offer: &JobOffer) -> Result<()> {
        if offer.kind == SAVE {
            return self.save(Timestamp(offer.number));
        }
        self.rows.run(&self.codec(), &|| self.saved.needed_from());
        Ok(())
    }

    fn freeze(&self) {
        self.saved.freeze(&self.context, self.last_change());
        self.rows.freeze();
    }

    fn durable_cut(&self) -> Timestamp {
        let cut = self.saved.cut();
        if self.last_change() > cut { cut } else { Timestamp::MAX }
    }

    fn evolve(&self, def: &Arc<TableDef>) {
        *self.codec.write() = Arc::new(RowCodec::new(&def.schema));
    }

    fn drop_files(&self) {
        self.saved.drop_files();
    }

    fn check(&self) -> Result<Vec<String>> {
        Ok(self.rows.check())
    }

    fn damage(&self) -> Vec<Damage> {
        Vec::new()
    }

    fn unavailable(&self) -> Option<&Error> {
        None
    }

    fn follow(&self, switch: &FileSwitch) -> Result<()> {
        self.saved.follow(switch);
        Ok(())
    }
}

impl<R: Rows> Inspect for RivalTable<R> {
    fn layers(&self) -> Vec<LayerStatus> {
        self.rows.layers()
    }

    fn parts(&self) -> Vec<PartStatus> {
        Vec::new()
    }
}

impl<R: Rows> Table for RivalTable<R> {
    fn bulk(&self) -> Option<&dyn Bulk> {
        None
    }

    fn bulk_replace(&self) -> Option<&dyn BulkReplace> {
        None
    }

    fn blind(&self) -> Option<&dyn Blind> {
        None
    }

    fn versions(&self) -> Option<&dyn Versions> {
        None
    }

    fn in_place(&self) -> Option<&dyn InPlace> {
        None
    }
}
