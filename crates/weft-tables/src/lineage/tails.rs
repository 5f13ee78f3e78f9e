//! The changes of a stretch of timestamps, in memory, by update range.
//!
//! ```text
//!   tails 3   (40, 52] frozen      range 0: 12 records   range 16: 3 records      keys k7 → 65,540
//!   tails 4   (52, ..) active      range 0: 2 records
//! ```
//!
//! 1. Once frozen they have an end, which is at or above every timestamp that was put in; no timestamp up to it is
//!    handed out any more. When it is published they are complete.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use weft_format::Timestamp;
use weft_kernel::budget::RowBudget;

use super::buckets::Buckets;
use super::keys::Keys;
use super::range::RangeTails;
use super::record::{Kind, Record};

/// Ranges of one page of the directory.
const PAGE: u64 = 256;
/// Rows of a range at most: finer than the segments that are merged, so that a lonely update takes some 2 KB of words
/// and places, and not 20. Finer ones make scans visit more of them, and cost more where updates are not lonely.
pub(super) const RANGE_ROWS_MAX: u32 = 256;

/// A page of the directory of ranges.
type Page = Box<[OnceLock<Box<RangeTails>>]>;

/// See the module.
pub(super) struct Tails {
    pub(super) number: u64,
    /// The first timestamp.
    pub(super) from: Timestamp,
    to: OnceLock<Timestamp>,
    range_rows: u32,
    ranges: Buckets<Page>,
    pub(super) keys: Keys,
    bytes: AtomicU64,
    records: AtomicU64,
    /// Rows that came, less rows that went.
    grown: AtomicI64,
    budget: Arc<RowBudget>,
}

impl Tails {
    pub(super) fn new(number: u64, from: Timestamp, range_rows: u32, budget: Arc<RowBudget>) -> Tails {
        assert!(range_rows.is_power_of_two(), "row ids are cut by shifts");
        Tails {
            number,
            from,
            to: OnceLock::new(),
            range_rows,
            ranges: Buckets::default(),
            keys: Keys::default(),
            bytes: AtomicU64::new(0),
            records: AtomicU64::new(0),
            grown: AtomicI64::new(0),
            budget,
        }
    }

    /// Ends them (tails 1).
    pub(super) fn freeze(&self, to: Timestamp) {
        assert!(to >= self.from, "tails end behind their beginning (tails 1)");
        assert!(self.to.set(to).is_ok(), "tails are frozen once (tails 1)");
    }

    /// Their end, once they are frozen.
    pub(super) fn frozen_at(&self) -> Option<Timestamp> {
        self.to.get().copied()
    }

    /// Adds a record of a row.
    pub(super) fn append(&self, row_id: u64, make: impl FnOnce(u32) -> Record) {
        let (number, slot) = (row_id / u64::from(self.range_rows), (row_id % u64::from(self.range_rows)) as u32);
        let record = make(slot);
        assert!(record.ts >= self.from, "a commit goes into the tails of its timestamp (lineage 2)");
        assert!(self.frozen_at().is_none_or(|to| record.ts <= to), "tails are complete at their end (tails 1)");
        let mut bytes = record.memory_bytes();
        let page = self.ranges.get_or_init((number / PAGE) as u32, || {
            bytes += PAGE * size_of::<OnceLock<Box<RangeTails>>>() as u64;
            (0..PAGE).map(|_| OnceLock::new()).collect()
        });
        let range = page[(number % PAGE) as usize].get_or_init(|| {
            let range = Box::new(RangeTails::new(self.range_rows));
            bytes += range.words_bytes();
            range
        });
        match record.kind {
            Kind::Insert => self.grown.fetch_add(1, Ordering::Relaxed),
            Kind::Delete => self.grown.fetch_sub(1, Ordering::Relaxed),
            Kind::Set => 0,
        };
        range.append(record);
        self.records.fetch_add(1, Ordering::Relaxed);
        self.charge(bytes);
    }

    /// Adds the key of a row that is new.
    pub(super) fn add_key(&self, key: &[u8], row_id: u64) {
        self.charge(self.keys.insert(key, row_id));
    }

    /// Notes that a commit of theirs has put files into the base: they have a change, and are to be merged.
    pub(super) fn note_loaded(&self, ts: Timestamp) {
        assert!(ts >= self.from, "a commit goes into the tails of its timestamp (lineage 2)");
        self.records.fetch_add(1, Ordering::Relaxed);
    }

    fn charge(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.budget.charge(bytes);
    }

    /// The tails of a range.
    pub(super) fn range(&self, number: u64) -> Option<&RangeTails> {
        self.ranges.get((number / PAGE) as u32)?[(number % PAGE) as usize].get().map(|range| &**range)
    }

    /// The tails of the range of a row, and its slot there.
    fn range_of(&self, row_id: u64) -> Option<(&RangeTails, u32)> {
        let range = self.range(row_id / u64::from(self.range_rows))?;
        Some((range, (row_id % u64::from(self.range_rows)) as u32))
    }

    /// The newest record of a row at or before a timestamp.
    pub(super) fn find(&self, row_id: u64, read_ts: Timestamp) -> Option<&Record> {
        let (range, slot) = self.range_of(row_id)?;
        range.find(slot, read_ts)
    }

    /// The record before one of a row.
    pub(super) fn before(&self, row_id: u64, record: &Record) -> Option<&Record> {
        self.range_of(row_id)?.0.before(record)
    }

    /// All ranges that have records, in order, with the row id of their first row.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (u64, &RangeTails)> {
        self.ranges.iter().flat_map(move |(page, ranges)| {
            let first = u64::from(page) * PAGE;
            let filled = ranges.iter().enumerate().filter_map(|(at, range)| Some((at as u64, range.get()?)));
            filled.map(move |(at, range)| ((first + at) * u64::from(self.range_rows), &**range))
        })
    }

    /// Rows of a range.
    pub(super) fn range_rows(&self) -> u32 {
        self.range_rows
    }

    /// Memory, about.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How many records there are, loads counted in.
    pub(super) fn record_count(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }

    /// Rows that came, less rows that went.
    pub(super) fn grown(&self) -> i64 {
        self.grown.load(Ordering::Relaxed)
    }
}

impl Drop for Tails {
    fn drop(&mut self) {
        self.budget.release(self.bytes());
    }
}
