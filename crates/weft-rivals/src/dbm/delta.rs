//! The changes of one range since its main store: only appended to, the new values column by column.
//!
//! ```text
//!   words     slot 4: 1   slot 7: 3                       one more than the number of the newest change
//!   changes   0: 4 @ 41 {column 1 at 0}   1: 7 @ 42 ...   2: 7 @ 44, before: 2
//!   columns   column 0: 3, 8      column 1: 20
//! ```
//!
//! 1. A change is whole before a word or another change names it, and never changes.
//! 2. The changes of a row are in the order of their timestamps (rows 1).
//!
//! Concurrency: appended to and read without a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use weft_format::{Timestamp, Value};
use weft_tables::lineage::buckets::Buckets;

/// A change of a row.
pub(super) struct Change {
    pub(super) ts: Timestamp,
    pub(super) kind: Kind,
    before: u32,
    /// Columns that were set, and where their new values are.
    set: Box<[(u16, u32)]>,
}

/// What a change does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A row that was not there; all columns are set.
    Insert,
    /// Some columns are set.
    Set,
    /// The row goes.
    Delete,
}

#[derive(Default)]
struct DeltaColumn {
    values: Buckets<Value>,
    count: AtomicU32,
}

/// See the module.
pub(super) struct Delta {
    words: Box<[AtomicU32]>,
    changes: Buckets<Change>,
    count: AtomicU32,
    columns: Buckets<DeltaColumn>,
    /// The latest timestamp of a change.
    last: AtomicU64,
    /// Its end; every timestamp in it is at or before it.
    to: OnceLock<Timestamp>,
}

/// What a walk through the changes of a row has found.
pub(super) struct Walk<'a> {
    pub(super) columns: &'a [usize],
    /// One for each of the columns; none: nothing set it so far.
    pub(super) found: Vec<Option<Value>>,
    /// The newest change: since when, and whether the row is alive.
    pub(super) newest: Option<(Timestamp, bool)>,
    /// Nothing older says anything of the row.
    pub(super) is_over: bool,
}

impl Delta {
    pub(super) fn new(rows: u32) -> Delta {
        Delta {
            words: (0..rows).map(|_| AtomicU32::new(0)).collect(),
            changes: Buckets::default(),
            count: AtomicU32::new(0),
            columns: Buckets::default(),
            last: AtomicU64::new(0),
            to: OnceLock::new(),
        }
    }

    /// Ends it at `to`, or at its last change: nobody appends meanwhile (dbm 1).
    pub(super) fn end(&self, to: Timestamp) {
        let to = to.max(Timestamp(self.last.load(Ordering::Acquire)));
        assert!(self.to.set(to).is_ok(), "a delta ends once");
    }

    pub(super) fn ends_at(&self) -> Option<Timestamp> {
        self.to.get().copied()
    }

    /// How many changes there are.
    pub(super) fn len(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    /// Adds a change of a row.
    pub(super) fn append(&self, slot: usize, ts: Timestamp, kind: Kind, set: impl Iterator<Item = (usize, Value)>) {
        assert!(self.ends_at().is_none_or(|to| ts <= to), "a delta has nothing beyond its end (dbm 1)");
        let place = |(ordinal, value): (usize, Value)| {
            let column = self.columns.get_or_init(ordinal as u32, DeltaColumn::default);
            let at = column.count.fetch_add(1, Ordering::Relaxed);
            column.values.fill(at, value);
            (ordinal as u16, at)
        };
        let set: Box<[(u16, u32)]> = set.map(place).collect();
        let before = self.words[slot].load(Ordering::Acquire);
        let is_in_order = self.numbered(before).is_none_or(|newest| newest.ts < ts);
        assert!(is_in_order, "the changes of a row come in the order of their commits (delta 2)");
        self.last.fetch_max(ts.0, Ordering::AcqRel);
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        assert!(number < u32::MAX - 1, "a delta is merged long before it has 2^32 changes");
        self.changes.fill(number, Change { ts, kind, before, set });
        // Delta 1.
        self.words[slot].store(number + 1, Ordering::Release);
    }

    fn numbered(&self, word: u32) -> Option<&Change> {
        let number = word.checked_sub(1)?;
        Some(self.changes.get(number).expect("a change is whole before a word names it (delta 1)"))
    }

    /// The newest change of a row at or before a timestamp.
    pub(super) fn newest(&self, slot: usize, read_ts: Timestamp) -> Option<&Change> {
        let mut change = self.numbered(self.words[slot].load(Ordering::Acquire))?;
        while change.ts > read_ts {
            let before = self.numbered(change.before)?;
            assert!(before.ts < change.ts, "the changes of a row are in the order of their commits (delta 2)");
            change = before;
        }
        Some(change)
    }

    /// Goes through the changes of a row up to a timestamp, from the newest on, as far as they say something new.
    pub(super) fn walk(&self, slot: usize, read_ts: Timestamp, walk: &mut Walk<'_>) {
        let mut next = self.newest(slot, read_ts);
        while let Some(change) = next.filter(|_| !walk.is_over) {
            walk.newest.get_or_insert((change.ts, change.kind != Kind::Delete));
            for (ordinal, at) in &change.set {
                for (column, found) in walk.columns.iter().zip(&mut walk.found) {
                    if *column == usize::from(*ordinal) && found.is_none() {
                        *found = Some(self.value(*ordinal, *at));
                    }
                }
            }
            walk.is_over = change.kind != Kind::Set || walk.found.iter().all(Option::is_some);
            next = self.numbered(change.before);
        }
    }

    fn value(&self, ordinal: u16, at: u32) -> Value {
        let column = self.columns.get(u32::from(ordinal)).expect("a column is there before a change names it");
        column.values.get(at).expect("a value is there before a change names it (delta 1)").clone()
    }

    /// The rows that have a change.
    pub(super) fn touched(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.words.len()).filter(|&slot| self.words[slot].load(Ordering::Relaxed) != 0)
    }
}
