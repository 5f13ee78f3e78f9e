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

/// Where a version has the value of a column.
pub(super) enum Place<'a> {
    /// In a record.
    Record(ValueRef<'a>),
    /// In history.
    Replaced(Value),
    /// On the page, or nowhere: a column that was added later.
    Page,
}

/// See the module.
pub(super) struct Version<'a> {
    layout: &'a Layout,
    pub(super) row_id: u64,
    /// The commit that it began with.
    pub(super) since: Timestamp,
    head: Head<'a>,
    pub(super) page: Option<(&'a Arc<Segment>, u32)>,
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
        let mut since = segment.changed(slot)?;
        let mut past = Vec::new();
        let mut is_alive = false;
        if since > read_ts {
            past = past::of_row(&self.base.past, row_id, read_ts)?;
        }
        match past.first() {
            Some(first) => (since, is_alive) = (first.since, first.is_seen_at(read_ts)),
            // What nothing has replaced since is of the snapshot; a row that came later was nobody's (lineage 5).
            None if since <= read_ts => is_alive = segment.is_alive(slot)?,
            None => {}
        }
        let page = Some((segment, slot));
        Ok(is_alive.then_some(Version { layout: self, row_id, since, head: Head::Base(past), page }))
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
        Version { layout: self, row_id, since: record.ts, head: Head::Tail(at, record), page }
    }
}

impl Version<'_> {
    /// The value of a column.
    pub(super) fn value(&self, codec: &RowCodec, column: usize, hops: &Hops) -> Result<Value> {
        match (self.place(codec, column, hops)?, self.page) {
            (Place::Record(value), _) => Ok(value.to_value()),
            (Place::Replaced(value), _) => Ok(value),
            (Place::Page, Some((segment, slot))) => segment.value(codec, column, slot),
            (Place::Page, None) => Ok(codec.missing(column).to_value()),
        }
    }

    /// Where the value of a column is.
    pub(super) fn place<'s>(&'s self, codec: &'s RowCodec, column: usize, hops: &Hops) -> Result<Place<'s>> {
        match &self.head {
            Head::Tail(at, record) => {
                let found = self.find_in_tails(codec, column, (*at, record), hops);
                Ok(found.map_or(Place::Page, Place::Record))
            }
            Head::Base(past) => {
                for old in past {
                    if let Some(value) = old.value(column)? {
                        return Ok(Place::Replaced(value));
                    }
                }
                Ok(Place::Page)
            }
        }
    }

    /// The value that a record or one before it has; none: the base has it.
    fn find_in_tails<'s>(
        &'s self,
        codec: &'s RowCodec,
        column: usize,
        (mut at, mut record): (usize, &'s Record),
        hops: &Hops,
    ) -> Option<ValueRef<'s>> {
        let mut taken = 1;
        loop {
            let is_end = match record.find(codec, column, self.layout.base.cut) {
                Found::Value(value) => {
                    self.note(hops, record, taken);
                    return Some(value);
                }
                Found::Base => true,
                Found::Before => false,
            };
            let before = if is_end { None } else { self.before(&mut at, record) };
            let Some(before) = before else {
                self.note(hops, record, taken + 1);
                return None;
            };
            record = before;
            taken += 1;
        }
    }

    fn note(&self, hops: &Hops, last: &Record, taken: u64) {
        let Head::Tail(_, first) = &self.head else { return };
        if first.is_whole(self.layout.base.cut) {
            assert!(taken <= 2 && std::ptr::eq(*first, last), "the newest value is two hops away (version 1)");
            // Read first: threads that find nothing new do not take the line from each other.
            if hops.most.load(Ordering::Relaxed) < taken {
                hops.most.fetch_max(taken, Ordering::Relaxed);
            }
        } else {
            hops.beyond.fetch_add(taken, Ordering::Relaxed);
        }
    }

    /// The record before one, in the same tails or in older ones.
    fn before<'a>(&'a self, at: &mut usize, record: &'a Record) -> Option<&'a Record> {
        let mut tails = self.layout.tails().enumerate().skip(*at);
        if let Some((_, same)) = tails.next()
            && let Some(before) = same.before(self.row_id, record)
        {
            return Some(before);
        }
        let (place, before) =
            tails.find_map(|(place, tails)| Some((place, tails.find(self.row_id, Timestamp::MAX)?)))?;
        *at = place;
        Some(before)
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
