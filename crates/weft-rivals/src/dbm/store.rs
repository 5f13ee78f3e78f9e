//! The ranges of a table, and the merge of their deltas.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weft_contract::{JobKind, JobOffer, LayerStatus, Price};
use weft_format::{RowCodec, Timestamp, Value};
use weft_kernel::method::TableContext;
use weft_tables::lineage::buckets::Buckets;

use super::delta::Kind;
use super::generation::Main;
use super::range::Range;
use super::{DbmOptions, Gate};
use crate::rows::{Gathered, Rows, Wanted};

/// Deltas into main stores.
pub(crate) const MERGE: JobKind = JobKind::tidying("merge delta");

/// See the module.
pub(crate) struct Dbm {
    context: TableContext,
    options: DbmOptions,
    gate: Arc<Gate>,
    ranges: Buckets<Range>,
    /// Some delta has as many changes as make a merge due.
    is_due: AtomicBool,
    /// The next merge takes every delta that has a change.
    takes_all: AtomicBool,
    is_merging: AtomicBool,
}

/// A merge under way, however it ends.
struct Merging<'a>(&'a AtomicBool);

impl Drop for Merging<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Dbm {
    pub(crate) fn new(context: &TableContext, options: DbmOptions, gate: Arc<Gate>) -> Dbm {
        Dbm {
            context: context.clone(),
            options,
            gate,
            ranges: Buckets::default(),
            is_due: AtomicBool::new(false),
            takes_all: AtomicBool::new(false),
            is_merging: AtomicBool::new(false),
        }
    }

    fn place(&self, row: u64) -> (u32, usize) {
        let rows = u64::from(self.options.range_rows);
        ((row / rows) as u32, (row % rows) as usize)
    }

    fn append(&self, row: u64, ts: Timestamp, kind: Kind, set: impl Iterator<Item = (usize, Value)>) {
        let (number, slot) = self.place(row);
        let range = self.ranges.get_or_init(number, || Range::new(self.options.range_rows));
        let waiting = range.append(ts, |delta| delta.append(slot, ts, kind, set));
        self.note_waiting(waiting);
    }

    fn note_waiting(&self, changes: u32) {
        if changes >= self.options.merge_changes && !self.is_due.load(Ordering::Relaxed) {
            self.is_due.store(true, Ordering::Release);
        }
    }

    /// The ranges whose delta has ended and is complete (dbm 2).
    fn ended(&self) -> impl Iterator<Item = &Range> {
        let published = self.context.services.published();
        let is_complete = move |range: &Range| {
            range.layout().ended.as_ref().and_then(|ended| ended.ends_at()).is_some_and(|to| to <= published)
        };
        self.ranges.iter().map(|(_, range)| range).filter(move |range| is_complete(range))
    }

    fn merge(&self, codec: &RowCodec, needed_from: &dyn Fn() -> Timestamp) {
        let clock = &*self.context.env.clock;
        // What becomes due from here on is for the next.
        self.is_due.store(false, Ordering::Release);
        let changes = if self.takes_all.swap(false, Ordering::AcqRel) { 1 } else { self.options.merge_changes };
        {
            let _alone = self.gate.drain(clock);
            self.ranges.iter().for_each(|(_, range)| range.end(changes, || self.context.services.last_sequenced()));
        }
        let consolidated = |range| {
            let layout = Range::layout(range);
            let ended = layout.ended.as_ref().expect("only this merge takes it (dbm 1)");
            (range, Arc::new(Main::after(&layout.main, ended, codec)))
        };
        let mains: Vec<(&Range, Arc<Main>)> = self.ended().map(consolidated).collect();
        if mains.is_empty() {
            return;
        }
        let _alone = self.gate.drain(clock);
        // In this order: a freeze from here on needs nothing older than what is published now.
        let published = self.context.services.published();
        let limit = self.context.horizon.advance(published.min(needed_from()));
        for (range, main) in mains {
            self.note_waiting(range.switch(main, limit));
        }
    }
}

impl Rows for Dbm {
    fn block_rows(&self) -> u64 {
        u64::from(self.options.range_rows)
    }

    fn insert(&self, row: u64, ts: Timestamp, _: &RowCodec, values: Vec<Value>) {
        self.append(row, ts, Kind::Insert, values.into_iter().enumerate());
    }

    fn update(&self, row: u64, ts: Timestamp, codec: &RowCodec, bytes: &[u8], columns: &[usize]) {
        let set = columns.iter().map(|&column| (column, codec.get(bytes, column).to_value()));
        self.append(row, ts, Kind::Set, set);
    }

    fn delete(&self, row: u64, ts: Timestamp) {
        self.append(row, ts, Kind::Delete, std::iter::empty());
    }

    fn find(
        &self,
        row: u64,
        read_ts: Timestamp,
        codec: &RowCodec,
        columns: &[usize],
        values: &mut Vec<Value>,
    ) -> Option<Timestamp> {
        let (number, slot) = self.place(row);
        let layout = self.ranges.get(number)?.layout();
        layout.generation(read_ts)?.find(slot, read_ts, codec, columns, values)
    }

    fn gather(&self, block: u64, wanted: &Wanted, gathered: &mut Gathered) {
        let Some(range) = self.ranges.get(block as u32) else { return };
        let (layout, rows) = (range.layout(), self.options.range_rows as usize);
        let generation = layout.generation(wanted.read_ts).expect("a scan's snapshot is registered (rivals 4)");
        generation.gather(block * rows as u64, rows, wanted, gathered);
    }

    fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Acquire) && !self.is_merging.load(Ordering::Acquire)
    }

    fn offer(&self) -> Option<JobOffer> {
        if self.is_merging.load(Ordering::Acquire) {
            return None;
        }
        let is_wanted = self.is_due.load(Ordering::Acquire) || self.takes_all.load(Ordering::Acquire);
        if !is_wanted && self.ended().next().is_none() {
            return None;
        }
        let changes: u64 = self.ranges.iter().map(|(_, range)| u64::from(range.layout().active.len())).sum();
        let price = Price { cpu_us: changes, dead_rows: changes, ..Price::default() };
        let reason = format!("{changes} changes wait in deltas");
        Some(JobOffer { table: self.context.def.id, kind: MERGE, number: 0, price, reason })
    }

    fn run(&self, codec: &RowCodec, needed_from: &dyn Fn() -> Timestamp) {
        if !self.is_merging.swap(true, Ordering::AcqRel) {
            let _merging = Merging(&self.is_merging);
            self.merge(codec, needed_from);
        }
    }

    fn freeze(&self) {
        let has_changes = self.ranges.iter().any(|(_, range)| range.layout().active.len() > 0);
        self.takes_all.fetch_or(has_changes, Ordering::AcqRel);
    }

    fn check(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (number, range) in self.ranges.iter() {
            let layout = range.layout();
            let is_behind =
                layout.ended.as_ref().and_then(|ended| ended.ends_at()).is_some_and(|to| to < layout.main.cut);
            if is_behind {
                wrong.push(format!("range {number}: an ended delta is older than the main store"));
            }
        }
        wrong
    }

    fn layers(&self) -> Vec<LayerStatus> {
        let layer = |layer, parts, rows| LayerStatus {
            layer,
            bucket: None,
            parts,
            rows,
            dead_rows: 0,
            bytes: 0,
            key_min: None,
            key_max: None,
        };
        let layouts: Vec<_> = self.ranges.iter().map(|(_, range)| range.layout()).collect();
        let parts = layouts.len() as u64;
        let changes = layouts.iter().map(|layout| u64::from(layout.active.len())).sum();
        vec![
            layer("deltas", parts, changes),
            layer("main store", parts, layouts.iter().map(|layout| layout.main.rows()).sum()),
            layer("older generations", layouts.iter().map(|layout| layout.past_count()).sum(), 0),
        ]
    }
}
