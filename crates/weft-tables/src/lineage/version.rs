//! The version of a row that a snapshot sees.
//!
//! ```text
//!   at or above the cut   newest record up to the snapshot ─▶ (those before it) ─▶ the base page
//!   below the cut         the base page, unless history says what it was before (past)
//! ```
//!
//! 1. The newest version takes two hops at most: its record, and the base page (lineage 6);
//!    records that are not whole take more, and are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_format::{Result, RowCodec, Timestamp, Value, ValueRef};

use super::layout::Layout;
use super::past::{self, Old};
use super::record::{Found, Kind, Record};
use super::segment::Segment;

/// Hops that were taken for values.
#[derive(Default)]
pub(super) struct Hops {
    /// The most for one value of a newest version whose records are whole.
    pub(super) most: AtomicU64,
    /// Records that were read beyond those.
    pub(super) beyond: AtomicU64,
}

/// Where a version begins.
enum Head<'a> {
    /// With a record, of the tails with this place among the layout's, newest first.
    Tail(usize, &'a Record),
    /// With what later changes have replaced, earliest first; without any, with the base.
    Base(Vec<Old>),
}

/// See the module.
pub(super) struct Version<'a> {
    layout: &'a Layout,
    row_id: u64,
    head: Head<'a>,
    page: Option<(&'a Arc<Segment>, u32)>,
}

impl Layout {
    /// The version of a row that a snapshot sees, if the row is there.
    pub(super) fn version(&self, row_id: u64, read_ts: Timestamp) -> Result<Option<Version<'_>>> {
        if read_ts >= self.base.cut
            && let Some(version) = self.version_in_tails(row_id, read_ts)
        {
            return Ok(version);
        }
        let place = self.base.place(row_id).filter(|(segment, _)| segment.is_born(read_ts));
        let Some((segment, slot)) = place else { return Ok(None) };
        let page = Some((segment, slot));
        // At or above the cut the page speaks for the snapshot, whenever the row was changed.
        if read_ts >= self.base.cut {
            let head = Head::Base(Vec::new());
            return Ok(segment.is_alive(slot)?.then_some(Version { layout: self, row_id, head, page }));
        }
        let since = segment.changed(slot)?;
        let past = if since > read_ts { past::of_row(&self.base.past, row_id, read_ts)? } else { Vec::new() };
        let is_alive = match past.first() {
            Some(first) => first.is_seen_at(read_ts),
            // What nothing has replaced since is of the snapshot; a row that came later was nobody's (lineage 5).
            None => since <= read_ts && segment.is_alive(slot)?,
        };
        Ok(is_alive.then_some(Version { layout: self, row_id, head: Head::Base(past), page }))
    }

    /// The same by what tails say; none: they say nothing.
    pub(super) fn version_in_tails(&self, row_id: u64, read_ts: Timestamp) -> Option<Option<Version<'_>>> {
        let tails = self.tails().enumerate().filter(|(_, tails)| tails.from <= read_ts);
        let (at, record) = tails.into_iter().find_map(|(at, tails)| Some((at, tails.find(row_id, read_ts)?)))?;
        if record.kind == Kind::Delete {
            return Some(None);
        }
        Some(Some(self.version_of_record(row_id, at, record)))
    }

    /// The changes of a row in tails at or before a timestamp, newest first, each with the place of its tails.
    pub(super) fn changes(&self, row_id: u64, upto: Timestamp) -> impl Iterator<Item = (usize, &Record)> {
        self.tails().enumerate().flat_map(move |(at, tails)| {
            let newest = tails.find(row_id, upto);
            std::iter::successors(newest, move |record| tails.before(row_id, record)).map(move |record| (at, record))
        })
    }

    /// The version that begins with a record of a row, which is no deletion.
    pub(super) fn version_of_record<'a>(&'a self, row_id: u64, at: usize, record: &'a Record) -> Version<'a> {
        let page = self.base.place(row_id);
        Version { layout: self, row_id, head: Head::Tail(at, record), page }
    }

    /// The value of a column that a record of a row or one before it has, as of that record; none: the base has it.
    /// `at`: the place of its tails among the layout's.
    pub(super) fn value_in_tails<'a>(
        &'a self,
        codec: &'a RowCodec,
        column: usize,
        row_id: u64,
        (mut at, first): (usize, &'a Record),
        hops: &Hops,
    ) -> Option<ValueRef<'a>> {
        let cut = self.base.cut;
        let mut record = first;
        let mut taken = 1;
        loop {
            let is_end = match record.find(codec, column, cut) {
                Found::Value(value) => {
                    hops.note((first, record), cut, taken);
                    return Some(value);
                }
                Found::Base => true,
                Found::Before => false,
            };
            let before = if is_end { None } else { self.before(row_id, &mut at, record) };
            let Some(before) = before else {
                hops.note((first, record), cut, taken + 1);
                return None;
            };
            record = before;
            taken += 1;
        }
    }

    /// The record before one of a row, in the same tails or in older ones.
    fn before<'a>(&'a self, row_id: u64, at: &mut usize, record: &'a Record) -> Option<&'a Record> {
        let mut tails = self.tails().enumerate().skip(*at);
        if let Some((_, same)) = tails.next()
            && let Some(before) = same.before(row_id, record)
        {
            return Some(before);
        }
        let (place, before) = tails.find_map(|(place, tails)| Some((place, tails.find(row_id, Timestamp::MAX)?)))?;
        *at = place;
        Some(before)
    }
}

impl Hops {
    /// Notes what a value took that was looked for from the first record to the last.
    fn note(&self, (first, last): (&Record, &Record), cut: Timestamp, taken: u64) {
        if first.is_whole(cut) {
            assert!(taken <= 2 && std::ptr::eq(first, last), "the newest value is two hops away (version 1)");
            // Read first: threads that find nothing new do not take the line from each other.
            if self.most.load(Ordering::Relaxed) < taken {
                self.most.fetch_max(taken, Ordering::Relaxed);
            }
        } else {
            self.beyond.fetch_add(taken, Ordering::Relaxed);
        }
    }
}

impl Version<'_> {
    /// The commit that it began with.
    pub(super) fn since(&self) -> Result<Timestamp> {
        match (&self.head, self.page) {
            (Head::Tail(_, record), _) => Ok(record.ts),
            (Head::Base(past), Some((segment, slot))) => {
                past.first().map_or_else(|| segment.changed(slot), |first| Ok(first.since))
            }
            (Head::Base(_), None) => unreachable!("a version without a record has a page"),
        }
    }

    /// The value of a column.
    pub(super) fn value(&self, codec: &RowCodec, column: usize, hops: &Hops) -> Result<Value> {
        match &self.head {
            Head::Tail(at, record) => {
                let found = self.layout.value_in_tails(codec, column, self.row_id, (*at, record), hops);
                if let Some(value) = found {
                    return Ok(value.to_value());
                }
            }
            Head::Base(past) => {
                for old in past {
                    if let Some(value) = old.value(column)? {
                        return Ok(value);
                    }
                }
            }
        }
        match self.page {
            Some((segment, slot)) => segment.value(codec, column, slot),
            None => Ok(codec.missing(column).to_value()),
        }
    }

    /// The whole row (row codec).
    pub(super) fn row(&self, codec: &RowCodec, hops: &Hops) -> Result<Arc<[u8]>> {
        if let Head::Tail(_, record) = &self.head
            && let Some(row) = record.inserted()
        {
            return Ok(row.clone());
        }
        let values = (0..codec.column_count()).map(|column| self.value(codec, column, hops));
        let values = values.collect::<Result<Vec<Value>>>()?;
        Ok(codec.encode(values.iter().map(Value::as_ref)).into())
    }
}
