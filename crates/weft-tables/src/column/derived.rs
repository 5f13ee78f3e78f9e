//! Rows of some columns of another table, kept as a table of this method keeps its own: a column index.
//!
//! ```text
//!   t (method row)   commit 45 sets c of k7          feed @45 { k7: (k 7, c 9) }
//!   x (here)         k7@30 in x-4 at 17   →  mark 17 @ 45 · k7@45 into the row table of 45
//!   scan, conversion, layers, marks, pruning, cut, switches of a follower: those of any table here
//! ```
//!
//! A table is told of each staged row which version it replaces. Here the version is always looked for by its key, and
//! three things are different:
//!
//! 1. A row that is fed ends the alive version of its key, if there is one (columns 3). In the ordinary course there is
//!    one exactly when the table says so; when not, the index is given up, and scans go to the table.
//! 2. Until all that the log has was fed ([`Columns::amend`]), nobody knows: rows may be missing that the table has in
//!    its pages. A row is looked for in any case then, and one that goes leaves antimatter.
//! 3. A follower that has joined may lack versions for good: it shows itself when a switch has brought them. What it
//!    has beyond the cut ends what the files have of these keys, as antimatter does, and of the parts that stay it
//!    takes the marks over that the switch names (`follow.rs`).
//!
//! Concurrency and crash: as the store. A commit's changes are put in under one mark lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow_array::RecordBatch;
use weft_contract::{
    Amendments, Attachment, Base, Bulk, Columns, Damage, Derived, FileSwitch, Inspect, JobOffer, LayerStatus,
    PartStatus, Read, RecoveredTable, ScanField, ScanOutput, ScanRequest, Summaries, TableDef, TableStatistics,
    TableWrites, Upkeep, Write,
};
use weft_format::{Error, FileId, Result, Schema, Timestamp};
use weft_kernel::method::TableContext;
use weft_kernel::read_again;

use super::layout::{Layout, Site};
use super::store::Store;

/// See above.
pub(crate) struct DerivedRows {
    store: Store,
    /// All that the log has was fed (derived 2).
    is_settled: AtomicBool,
    /// A follower's rows lack something up to here; 0: nothing.
    lacking: AtomicU64,
    /// Snapshots from here on see it whole; MAX while something is lacking.
    whole_from: AtomicU64,
}

/// What happens to the row of a key.
struct Change<'a> {
    key: &'a [u8],
    row: Option<&'a Arc<[u8]>>,
    /// What the table says that it replaces; none: nothing is known.
    base: Option<Base>,
}

impl DerivedRows {
    /// New, or as the manifest knows it.
    pub(crate) fn open(context: TableContext, recovered: &RecoveredTable) -> Result<DerivedRows> {
        let mut store = Store::open(context, recovered)?;
        store.is_derived = true;
        Ok(DerivedRows {
            store,
            is_settled: AtomicBool::new(false),
            lacking: AtomicU64::new(0),
            whole_from: AtomicU64::new(0),
        })
    }

    fn take_in(&self, ts: Timestamp, writes: &TableWrites) -> Result<()> {
        let store = &self.store;
        let _marking = store.marking.lock();
        if store.given_up.covers(ts) {
            return Ok(());
        }
        let is_settled = self.is_settled.load(Ordering::Acquire);
        let layout = store.layout();
        let mut filling = layout.row_table_of(ts).filling();
        for (key, staged) in &writes.rows {
            let base = is_settled.then_some(staged.base);
            let change = Change { key, row: staged.row.as_ref(), base };
            if !self.end(&layout, ts, &change)? {
                continue;
            }
            match change.row {
                Some(row) => filling.insert(key, ts, row.clone()),
                None => filling.insert_antimatter(key, ts, store.row_of_key(key)?),
            }
        }
        drop(filling);
        store.taken_in(ts)
    }

    /// Ends the version of a key; whether something is put in its place: the row, or antimatter (derived 2).
    fn end(&self, layout: &Layout, ts: Timestamp, change: &Change<'_>) -> Result<bool> {
        let found = match change.base {
            Some(Base::Free) => None,
            _ => self.find(layout, change.key)?,
        };
        match found {
            // The same once more.
            Some(site @ Site::Row(..)) if began(&site) >= ts => Ok(false),
            Some(site) => {
                self.store.end(&site, ts);
                // It may be an older one than the table had.
                Ok(change.row.is_some() || change.base.is_none())
            }
            None if matches!(change.base, Some(Base::Version(..))) => {
                let name = &self.store.context.def.name;
                let what = format!("column index \"{name}\" lacks a row that commit {ts} changes in its table");
                Err(Error::corrupt(what).hint("drop the index and make it again"))
            }
            None => Ok(change.row.is_some() || change.base.is_none()),
        }
    }

    fn find<'a>(&self, layout: &'a Layout, key: &[u8]) -> Result<Option<Site<'a>>> {
        read_again(&*self.store.context.env.clock, || layout.find_again(None, key))
    }

    fn put_right(&self, changes: &Amendments) -> Result<()> {
        let store = &self.store;
        let _marking = store.marking.lock();
        for (key, (ts, row)) in changes.iter().filter(|(_, (ts, _))| *ts > store.cut()) {
            let ts = *ts;
            if store.given_up.covers(ts) {
                continue;
            }
            let layout = store.layout();
            let change = Change { key, row: row.as_ref(), base: None };
            // What the table has already: fed later, or not changed in the columns that are here.
            let is_there = match self.find(&layout, key)? {
                Some(site @ Site::Row(..)) if began(&site) >= ts => true,
                Some(site) => row.as_deref() == Some(&*site.row()?),
                None => row.is_none(),
            };
            if is_there || !self.end(&layout, ts, &change)? {
                continue;
            }
            let mut filling = layout.row_table_of(ts).filling();
            match row {
                Some(row) => filling.insert(key, ts, row.clone()),
                None => filling.insert_antimatter(key, ts, store.row_of_key(key)?),
            }
            drop(filling);
            store.taken_in(ts)?;
        }
        Ok(())
    }
}

/// When a version in memory began; those in files were there before what is fed now.
fn began(site: &Site<'_>) -> Timestamp {
    match site {
        Site::Row(_, place) => place.chunk.insert_ts(place.slot),
        Site::Column(..) => Timestamp(0),
    }
}

impl Derived for DerivedRows {
    fn feed(&self, ts: Timestamp, writes: &TableWrites) {
        if ts <= self.store.cut() {
            return;
        }
        if let Err(error) = self.take_in(ts, writes) {
            self.give_up(ts, &error);
        }
    }

    fn attach(&self, ts: Timestamp, files: &[FileId]) -> Result<()> {
        let attachment = Attachment { files: files.to_vec(), rows: 0, payload: Vec::new(), replaced: None };
        self.store.apply(ts, &TableWrites { attachments: vec![attachment], ..TableWrites::default() })
    }

    fn discard(&self, attachment: &Attachment) {
        Bulk::discard(&self.store, attachment);
    }

    fn columns(&self) -> Option<&dyn Columns> {
        Some(self)
    }
}

impl Columns for DerivedRows {
    fn cut(&self) -> Timestamp {
        self.store.cut()
    }

    fn build(&self, batches: &[RecordBatch]) -> Result<Attachment> {
        self.store.build_files(batches, false)
    }

    fn amend(&self, changes: &Amendments) {
        if let Err(error) = self.put_right(changes) {
            let first = changes.values().map(|(ts, _)| *ts).min().unwrap_or_default();
            self.give_up(first.max(self.store.cut().next()), &error);
        }
        if self.lacking.load(Ordering::Acquire) == 0 {
            self.is_settled.store(true, Ordering::Release);
        }
    }

    fn lacks_up_to(&self, ts: Timestamp) {
        self.lacking.fetch_max(ts.0, Ordering::AcqRel);
        self.whole_from.store(u64::MAX, Ordering::Release);
    }

    fn give_up(&self, ts: Timestamp, error: &Error) {
        Write::give_up(&self.store, ts, error);
    }

    fn shows(&self, read_ts: Timestamp) -> bool {
        let floor = self.store.layout().floor.0.max(self.whole_from.load(Ordering::Acquire));
        // What is damaged is told, and the table answers.
        !self.store.given_up.covers(read_ts) && floor <= read_ts.0 && Upkeep::damage(&self.store).is_empty()
    }

    fn read_row(&self, key: &[u8], read_ts: Timestamp) -> Result<Option<Arc<[u8]>>> {
        self.store.read_row(key, read_ts)
    }

    fn scan(&self, schema: &Arc<Schema>, request: ScanRequest, fields: Vec<ScanField>) -> Result<ScanOutput> {
        self.store.start_scan(schema, request, (fields, Vec::new()))
    }

    fn statistics(&self) -> TableStatistics {
        self.store.estimates()
    }

    fn summaries(&self) -> Option<&dyn Summaries> {
        Some(&self.store)
    }

    fn layers(&self) -> Vec<LayerStatus> {
        Inspect::layers(&self.store)
    }

    fn parts(&self) -> Vec<PartStatus> {
        Inspect::parts(&self.store)
    }
}

impl Upkeep for DerivedRows {
    fn jobs(&self) -> Vec<JobOffer> {
        self.store.jobs()
    }

    fn run(&self, offer: &JobOffer) -> Result<()> {
        self.store.run(offer)
    }

    fn freeze(&self) {
        self.store.freeze();
    }

    fn durable_cut(&self) -> Timestamp {
        self.store.durable_cut()
    }

    fn evolve(&self, def: &Arc<TableDef>) {
        self.store.evolve(def);
    }

    fn drop_files(&self) {
        self.store.drop_files();
    }

    fn check(&self) -> Result<Vec<String>> {
        self.store.check()
    }

    fn damage(&self) -> Vec<Damage> {
        self.store.damage()
    }

    fn unavailable(&self) -> Option<&Error> {
        self.store.unavailable()
    }

    fn follow(&self, switch: &FileSwitch) -> Result<()> {
        self.store.follow(switch)?;
        let is_brought = switch.cut.0 >= self.lacking.load(Ordering::Acquire);
        if is_brought && self.whole_from.load(Ordering::Acquire) == u64::MAX {
            // Older snapshots may see ended what ended earlier.
            let last = self.store.context.services.last_sequenced().max(switch.cut);
            self.whole_from.store(last.0, Ordering::Release);
        }
        Ok(())
    }
}
