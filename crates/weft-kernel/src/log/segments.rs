//! Which segments the log consists of, and until when each is needed.
//!
//! ```text
//!   segment   0        needed until ts 40     commits 1..=40
//!   segment   9000     needed until ts 95     commits 41..=70, and a chunk of the transaction that committed as 95
//!   segment  21000     chunk of transaction 12, still active: needed, whatever the cut
//!   segment  25000     record 812 changes a page that is not written yet: needed, whatever the cut
//!   segment  30000     written now
//!
//!   truncate_before(70): segment 0 goes. truncate_before(95): so does 9000. 21000 waits for transaction 12.
//!   a node is at 4000: segment 0 goes to the folder `followed`, which no opening reads, until the node is beyond 9000
//! ```
//!
//! 1. Segments go from the oldest, so what is kept is always one piece of the log.
//! 2. The last segment never goes.
//! 3. A segment that has something from the position on at which the hindmost follower is is not removed; when nobody
//!    else needs it, it is put aside: it is no part of the log that an opening reads, nor counts for its length.

use std::collections::{BTreeMap, HashMap, VecDeque};

use weft_format::{Lsn, RecordNo, Timestamp, TxnId};

use super::layout::SegmentName;
use super::record::Record;
use crate::fault::{Fault, active};

/// A file of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) start: Lsn,
    /// What its file is called.
    pub(crate) name: SegmentName,
    /// Which opening has written it.
    epoch: u32,
    /// The segment before it, as its header says: epoch and start; epoch 0: nobody said.
    before: (u32, Lsn),
    /// The highest commit timestamp that something in it belongs to.
    needed_until: Timestamp,
    /// The last change of a page in it; 0 when there is none.
    last_page: RecordNo,
}

/// For whom the log is kept beyond what recovery needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogKeeper {
    /// Read nodes.
    Nodes,
    /// An archive.
    Archive,
    /// A node that is fed over a connection, by a number that no other one has.
    Feed(u64),
}

/// From where on somebody needs the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeededFrom {
    /// Commits at or before this are in files, wherever they are needed.
    pub cut: Timestamp,
    /// Changes of pages with lower numbers are in pages on disk.
    pub page: RecordNo,
}

impl Segment {
    /// Whether a writer of that epoch has made its file: one of before may write into it once more.
    pub(crate) fn is_of(&self, epoch: u32) -> bool {
        self.epoch == epoch
    }
}

impl NeededFrom {
    /// Commits behind a cut are needed, and nothing of pages.
    pub fn commits_behind(cut: Timestamp) -> NeededFrom {
        NeededFrom { cut, page: RecordNo::MAX }
    }
}

/// The kept segments, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segments {
    kept: VecDeque<Segment>,
    /// Undecided transactions with chunks: the start of the segment that holds the first.
    undecided: HashMap<TxnId, Lsn>,
    /// Who follows needs everything from here on.
    followed_from: BTreeMap<LogKeeper, Lsn>,
    /// Segments that are put aside, oldest first (segments 3).
    aside: VecDeque<SegmentName>,
}

impl Segments {
    /// A new last segment of an epoch, which says what lies `before` it. One that starts at the same place was empty
    /// and is replaced.
    pub(crate) fn begin(&mut self, name: SegmentName, epoch: u32, before: (u32, Lsn)) {
        let start = name.start;
        if self.kept.back().is_some_and(|last| last.start == start) {
            self.kept.pop_back();
        }
        assert!(self.kept.back().is_none_or(|last| last.start < start), "segments start in order");
        self.kept.push_back(Segment { start, name, epoch, before, needed_until: Timestamp(0), last_page: RecordNo(0) });
        self.check();
    }

    /// A new epoch begins: what was undecided before is void.
    pub(crate) fn begin_epoch(&mut self) {
        self.undecided.clear();
    }

    /// What lies from a position on stays, for who follows from there. Those that were put aside and are not needed any
    /// more by anybody.
    pub(crate) fn keep_from(&mut self, keeper: LogKeeper, from: Option<Lsn>) -> Vec<SegmentName> {
        match from {
            Some(from) => self.followed_from.insert(keeper, from),
            None => self.followed_from.remove(&keeper),
        };
        let mut unneeded = Vec::new();
        while let Some(first) = self.aside.front().copied() {
            let end = self.aside.get(1).map(|next| next.start).or(self.first());
            if self.is_followed(end) {
                break;
            }
            self.aside.pop_front();
            unneeded.push(first);
        }
        unneeded
    }

    /// Whether a segment that ends there has something that a follower needs (segments 3): one that is at its end looks
    /// there first whether it goes on.
    pub(crate) fn is_followed(&self, end: Option<Lsn>) -> bool {
        let from = self.followed_from.values().min();
        from.is_some_and(|from| end.is_none_or(|end| end >= *from)) && !active(Fault::CUT_LOG_FOLLOWED)
    }

    /// A segment was put aside.
    pub(crate) fn put_aside(&mut self, name: SegmentName) {
        self.aside.push_back(name);
    }

    /// These were put aside by earlier openings.
    pub(crate) fn found_aside(&mut self, names: Vec<SegmentName>) {
        assert!(names.is_sorted(), "what was put aside is in the log's order (segments 3)");
        self.aside = names.into();
    }

    /// Bytes of log that were put aside.
    pub(crate) fn aside_bytes(&self) -> u64 {
        let bytes = |first: &SegmentName| self.first().map_or(0, |end| end.0.saturating_sub(first.start.0));
        self.aside.front().map_or(0, bytes)
    }

    /// A record was written to the last segment.
    pub(crate) fn note(&mut self, record: &Noted) {
        let last = self.kept.back_mut().expect("a record lies in a segment");
        match *record {
            Noted::Chunk(txn) => {
                self.undecided.entry(txn).or_insert(last.start);
            }
            Noted::Abort(txn) => {
                self.undecided.remove(&txn);
            }
            // Recovery has the manifest.
            Noted::Layout(_) => {}
            Noted::Page(number) => last.last_page = number,
            Noted::Commit(txn, ts) => {
                last.needed_until = last.needed_until.max(ts);
                if let Some(first) = self.undecided.remove(&txn) {
                    let first = self.kept.iter_mut().find(|segment| segment.start == first);
                    let first = first.expect("segments with undecided chunks are kept");
                    first.needed_until = first.needed_until.max(ts);
                }
            }
        }
    }

    /// The oldest segment, when nothing in it is needed.
    pub(crate) fn unneeded(&self, from: NeededFrom) -> Option<Lsn> {
        let first = *self.kept.front()?;
        let needed = self.kept.len() == 1
            || first.needed_until > from.cut
            || (first.last_page >= from.page && !active(Fault::CUT_LOG_UNDER_PAGES))
            || self.undecided.values().any(|&segment| segment == first.start);
        (!needed).then_some(first.start)
    }

    /// Takes out the oldest segment when nothing in it is needed.
    pub(crate) fn pop_before(&mut self, from: NeededFrom) -> Option<Segment> {
        self.unneeded(from)?;
        let popped = self.kept.pop_front();
        self.check();
        popped
    }

    /// Takes back what [`Segments::pop_before`] gave last: its file is still there.
    pub(crate) fn put_back(&mut self, segment: Segment) {
        assert!(self.first().is_none_or(|first| segment.start < first), "segments go from the oldest (invariant 1)");
        self.kept.push_front(segment);
        self.check();
    }

    fn check(&self) {
        assert!(!self.kept.is_empty(), "the last segment never goes (segments 2)");
        debug_assert!(self.kept.iter().is_sorted_by(|a, b| a.start < b.start), "segments are in the log's order");
        debug_assert!(
            self.undecided.values().all(|start| self.kept.iter().any(|segment| segment.start == *start)),
            "a segment with a chunk of an undecided transaction is kept"
        );
    }

    /// The start of the oldest kept segment.
    pub(crate) fn first(&self) -> Option<Lsn> {
        self.kept.front().map(|segment| segment.start)
    }

    /// The start of the last segment.
    pub(crate) fn last(&self) -> Option<Lsn> {
        self.kept.back().map(|segment| segment.start)
    }

    /// All kept segments, oldest first.
    pub(crate) fn names(&self) -> Vec<SegmentName> {
        self.kept.iter().map(|segment| segment.name).collect()
    }

    /// The segments that have something between two positions, with their ends, the last one's being `to`.
    pub(crate) fn since(&self, from: Lsn, to: Lsn) -> Vec<(SegmentName, Lsn)> {
        let first = self.kept.partition_point(|segment| segment.start <= from).saturating_sub(1);
        let ends = self.kept.iter().skip(first + 1).map(|next| next.start).chain([to]);
        let found = self.kept.iter().skip(first).zip(ends).map(|(segment, end)| (segment.name, end));
        found.filter(|(segment, end)| *end > from.max(segment.start)).collect()
    }

    /// Takes out those that end before a position, but for what undecided transactions have begun in.
    pub(crate) fn forget_before(&mut self, from: Lsn) {
        while self.kept.get(1).is_some_and(|next| next.start <= from) {
            let first = self.kept.front().expect("there are two").start;
            if self.undecided.values().any(|start| *start == first) {
                return;
            }
            self.kept.pop_front();
        }
        self.check();
    }

    /// What lies before a segment that begins at the end of the log: its epoch and its start; epoch 0: nobody knows. An
    /// empty one that it replaces knows it also when those before are needed no more.
    pub(crate) fn before(&self, start: Lsn) -> (u32, Lsn) {
        let replaced = self.kept.back().filter(|last| last.start == start && last.before.0 > 0);
        let before = self.kept.iter().rev().find(|segment| segment.start < start);
        let behind = || before.map_or((0, Lsn(0)), |segment| (segment.epoch, segment.start));
        replaced.map_or_else(behind, |replaced| replaced.before)
    }

    /// The last one.
    pub(crate) fn last_name(&self) -> Option<SegmentName> {
        self.kept.back().map(|segment| segment.name)
    }
}

/// What [`Segments`] has to know of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    Chunk(TxnId),
    Commit(TxnId, Timestamp),
    Abort(TxnId),
    /// Which edit of the manifest it tells of.
    Layout(u64),
    /// Its number.
    Page(RecordNo),
}

impl Noted {
    /// Of the record with this number.
    pub(crate) fn of(number: RecordNo, record: &Record<'_>) -> Noted {
        match *record {
            Record::Chunk { txn, .. } => Noted::Chunk(txn),
            Record::Commit { txn, ts, .. } => Noted::Commit(txn, ts),
            Record::Abort { txn } => Noted::Abort(txn),
            Record::Layout { edit, .. } => Noted::Layout(edit),
            Record::Page { .. } => Noted::Page(number),
        }
    }
}
