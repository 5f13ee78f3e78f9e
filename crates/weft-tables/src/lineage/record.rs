//! A tail record: one change of one row by one commit, as it stays for ever.
//!
//! ```text
//!   insert @ 41               row (7, 'a', 1.5)
//!   update of c @ 44          set {c: 2.5}                                  row of 41
//!   update of b @ 47          set {b: 'x'}  repeated {c: 2.5}               row of 41      whole: one hop, or two
//!   delete @ 50
//! ```
//!
//! 1. `columns` are distinct; the first `own` of them were set by the commit, the others repeat what is unmerged of
//!    the records before it (the paper's cumulative updates).
//! 2. Of a whole record every column that it does not name is in `row`, or in the base when there is none. What it
//!    repeats is bounded; when more would have to be repeated the record is not whole, and who reads goes on to the
//!    one before it (the paper's reset).

use std::sync::Arc;

use weft_format::{RowCodec, Timestamp, Value, ValueRef};

/// A record repeats at most so many columns.
const REPEATED_MAX: usize = 16;
/// A value of more bytes is not repeated.
const REPEATED_BYTES_MAX: usize = 64;

/// What a record does to its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is there from now on, whole.
    Insert,
    /// Some columns are changed.
    Set,
    /// It is there no more.
    Delete,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) ts: Timestamp,
    /// The row, counted from the first of its range.
    pub(super) slot: u32,
    /// One more than the record before it of the same row and the same tails; 0: there is none.
    pub(super) prev: u32,
    pub(super) kind: Kind,
    /// See record 2.
    pub(super) is_whole: bool,
    own: u16,
    columns: Box<[u16]>,
    values: Box<[Value]>,
    /// The row (row codec) as it was inserted, while that is in no base page.
    row: Option<Arc<[u8]>>,
}

/// Where a value of a column is to be looked for.
pub(super) enum Found<'a> {
    Value(ValueRef<'a>),
    /// In the record before this one.
    Before,
    /// In the base.
    Base,
}

impl Record {
    /// A row that comes in.
    pub(super) fn insert(ts: Timestamp, slot: u32, row: Arc<[u8]>) -> Record {
        Record {
            ts,
            slot,
            prev: 0,
            kind: Kind::Insert,
            is_whole: true,
            own: 0,
            columns: Box::default(),
            values: Box::default(),
            row: Some(row),
        }
    }

    /// A row that goes.
    pub(super) fn delete(ts: Timestamp, slot: u32) -> Record {
        let (columns, values) = (Box::default(), Box::default());
        Record { ts, slot, prev: 0, kind: Kind::Delete, is_whole: true, own: 0, columns, values, row: None }
    }

    /// Columns that are set, by whom `before` is the newest record that is not in the base.
    pub(super) fn set(ts: Timestamp, slot: u32, set: Vec<(u16, Value)>, before: Option<&Record>) -> Record {
        debug_assert!(set.is_sorted_by(|a, b| a.0 < b.0), "columns are distinct (record 1)");
        let own = set.len() as u16;
        let (mut columns, mut values): (Vec<u16>, Vec<Value>) = set.into_iter().unzip();
        let mut is_whole = true;
        let mut row = None;
        if let Some(before) = before {
            assert!(before.kind != Kind::Delete, "what is updated is alive (lineage 2)");
            assert!(before.ts < ts, "the records of a row come in the order of their commits (lineage 2)");
            is_whole = before.is_whole;
            row = before.row.clone();
            for (&column, value) in before.columns.iter().zip(&before.values) {
                if columns[..usize::from(own)].binary_search(&column).is_ok() {
                    continue;
                }
                if columns.len() - usize::from(own) < REPEATED_MAX && value.memory_bytes() <= REPEATED_BYTES_MAX {
                    columns.push(column);
                    values.push(value.clone());
                } else {
                    is_whole = false;
                }
            }
        }
        let (columns, values) = (columns.into(), values.into());
        Record { ts, slot, prev: 0, kind: Kind::Set, is_whole, own, columns, values, row }
    }

    /// The columns that the commit set, with their values; none of an insert, which sets all.
    pub(super) fn own(&self) -> impl Iterator<Item = (usize, &Value)> {
        let own = usize::from(self.own);
        self.columns[..own].iter().map(|&column| usize::from(column)).zip(&self.values[..own])
    }

    /// The row that an insert brings.
    pub(super) fn inserted(&self) -> Option<&Arc<[u8]>> {
        self.row.as_ref().filter(|_| self.kind == Kind::Insert)
    }

    /// The row as it was inserted, while no base page has it.
    pub(super) fn root(&self) -> Option<&Arc<[u8]>> {
        self.row.as_ref()
    }

    /// A column's value as of this record.
    pub(super) fn find<'a>(&'a self, codec: &'a RowCodec, column: usize) -> Found<'a> {
        if let Some(at) = self.columns.iter().position(|&known| usize::from(known) == column) {
            return Found::Value(self.values[at].as_ref());
        }
        match &self.row {
            _ if !self.is_whole => Found::Before,
            Some(row) => Found::Value(codec.get(row, column)),
            None => Found::Base,
        }
    }

    /// Memory, about; of the row only for who brought it.
    pub(super) fn memory_bytes(&self) -> u64 {
        let values: usize = self.values.iter().map(|value| size_of::<Value>() + value.memory_bytes()).sum();
        let row = self.inserted().map_or(0, |row| row.len() + 16);
        (size_of::<Record>() + self.columns.len() * 2 + values + row) as u64
    }
}
