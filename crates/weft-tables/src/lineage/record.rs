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
//! 2. A record is whole as of a base that has everything up to `lost`: every column that the record does not name is
//!    then in `row`, as long as that is beyond the base's cut, or in the base. What is repeated is bounded; `lost` is
//!    the newest commit of which something was not, and who reads by an older base goes on to the record before (the
//!    paper's reset). So a row that is never at rest becomes whole again with the merge of what was too long.
//! 3. Of a column that is not in `touches` the base has the value as of this record, and the row is there: who wants
//!    none of the others need not read the record. What it touches, the unmerged records before it touch at most.

use std::sync::Arc;

use weft_format::{RowCodec, Timestamp, Value, ValueRef};
use weft_kernel::fault::active;

use super::columns::Columns;
use super::faults;

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
    /// See record 3.
    pub(super) touches: Columns,
    /// See record 2; 0: nothing was left out.
    lost: Timestamp,
    own: u16,
    columns: Box<[u16]>,
    values: Box<[Value]>,
    /// The row (row codec) as it was inserted, while that is in no base page, and when that was.
    row: Option<(Timestamp, Arc<[u8]>)>,
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
            touches: Columns::ALL,
            lost: Timestamp(0),
            own: 0,
            columns: Box::default(),
            values: Box::default(),
            row: Some((ts, row)),
        }
    }

    /// A row that goes.
    pub(super) fn delete(ts: Timestamp, slot: u32) -> Record {
        let (columns, values) = (Box::default(), Box::default());
        let (kind, touches, lost) = (Kind::Delete, Columns::ALL, Timestamp(0));
        Record { ts, slot, prev: 0, kind, touches, lost, own: 0, columns, values, row: None }
    }

    /// Columns that are set; `before` is the newest record that is not in the base, which has everything up to `cut`.
    pub(super) fn set(
        ts: Timestamp,
        slot: u32,
        set: Vec<(u16, Value)>,
        before: Option<&Record>,
        cut: Timestamp,
    ) -> Record {
        debug_assert!(set.is_sorted_by(|a, b| a.0 < b.0), "columns are distinct (record 1)");
        let own = set.len() as u16;
        let (mut columns, mut values): (Vec<u16>, Vec<Value>) = set.into_iter().unzip();
        let mut touches: Columns = columns.iter().map(|&column| usize::from(column)).collect();
        let mut lost = Timestamp(0);
        let mut row = None;
        if let Some(before) = before {
            assert!(before.kind != Kind::Delete, "what is updated is alive (lineage 2)");
            assert!(before.ts < ts, "the records of a row come in the order of their commits (lineage 2)");
            lost = if before.is_whole(cut) { lost } else { before.lost };
            row = before.row.clone().filter(|(inserted, _)| *inserted > cut);
            for (&column, value) in before.columns.iter().zip(&before.values) {
                if columns[..usize::from(own)].binary_search(&column).is_ok() {
                    continue;
                }
                if columns.len() - usize::from(own) < REPEATED_MAX && value.memory_bytes() <= REPEATED_BYTES_MAX {
                    columns.push(column);
                    values.push(value.clone());
                } else {
                    lost = lost.max(before.ts);
                }
            }
            // What is repeated, what is not because it is too much, and all columns of a row that no page has.
            if !active(faults::TOUCH_OWN_COLUMNS_ONLY) {
                touches = touches.and(before.touches_beyond(cut));
            }
        }
        let (columns, values) = (columns.into(), values.into());
        Record { ts, slot, prev: 0, kind: Kind::Set, touches, lost, own, columns, values, row }
    }

    /// The columns that the commit set, with their values; none of an insert, which sets all.
    pub(super) fn own(&self) -> impl Iterator<Item = (usize, &Value)> {
        let own = usize::from(self.own);
        self.columns[..own].iter().map(|&column| usize::from(column)).zip(&self.values[..own])
    }

    /// The row that an insert brings.
    pub(super) fn inserted(&self) -> Option<&Arc<[u8]>> {
        self.root().filter(|_| self.kind == Kind::Insert)
    }

    /// The row as it was inserted, while no base page has it.
    pub(super) fn root(&self) -> Option<&Arc<[u8]>> {
        self.row.as_ref().map(|(_, row)| row)
    }

    /// What it touches for who comes later, when the base has everything up to `cut`: a row that was inserted before
    /// that is on its page.
    fn touches_beyond(&self, cut: Timestamp) -> Columns {
        match &self.row {
            Some((inserted, _)) if *inserted <= cut && self.is_whole(cut) => {
                self.columns.iter().map(|&column| usize::from(column)).collect()
            }
            _ => self.touches,
        }
    }

    /// Whether nothing is to be looked for in the records before, by who reads with a base as of `cut` (record 2).
    pub(super) fn is_whole(&self, cut: Timestamp) -> bool {
        self.lost <= cut
    }

    /// A column's value as of this record, for who reads with a base as of `cut`.
    pub(super) fn find<'a>(&'a self, codec: &'a RowCodec, column: usize, cut: Timestamp) -> Found<'a> {
        if let Some(at) = self.columns.iter().position(|&known| usize::from(known) == column) {
            return Found::Value(self.values[at].as_ref());
        }
        match &self.row {
            _ if !self.is_whole(cut) => Found::Before,
            Some((inserted, row)) if *inserted > cut => Found::Value(codec.get(row, column)),
            _ => Found::Base,
        }
    }

    /// Memory, about; of the row only for who brought it.
    pub(super) fn memory_bytes(&self) -> u64 {
        let values: usize = self.values.iter().map(|value| size_of::<Value>() + value.memory_bytes()).sum();
        let row = self.inserted().map_or(0, |row| row.len() + 16);
        (size_of::<Record>() + self.columns.len() * 2 + values + row) as u64
    }
}

#[cfg(test)]
mod tests {
    use weft_format::{Column, DataType, Schema, ValueRef};

    use super::*;

    fn codec() -> RowCodec {
        let column = |n| Column { name: format!("c{n}"), data_type: DataType::BigInt, not_null: false };
        RowCodec::new(&Schema::new((0..40).map(column).collect(), vec![0]))
    }

    /// Where the value of a column is, as a number: of a record; -1: in the one before; -2: in the base.
    fn value(record: &Record, column: usize, cut: u64) -> i64 {
        match record.find(&codec(), column, Timestamp(cut)) {
            Found::Value(ValueRef::Int(number)) => number,
            Found::Value(_) => -3,
            Found::Before => -1,
            Found::Base => -2,
        }
    }

    #[test]
    fn what_is_too_much_to_repeat_is_looked_for_until_the_base_has_it() {
        let many = (1..=30).map(|column| (column, Value::Int(i64::from(column)))).collect();
        let first = Record::set(Timestamp(50), 0, many, None, Timestamp(40));
        let second = Record::set(Timestamp(51), 0, vec![(1, Value::Int(100))], Some(&first), Timestamp(40));
        assert_eq!([1, 2, 17, 18, 35].map(|column| value(&second, column, 40)), [100, 2, 17, -1, -1]);
        // The merge of the first record: the base has it, and the second is whole.
        assert_eq!([1, 2, 18, 35].map(|column| value(&second, column, 50)), [100, 2, -2, -2]);
        let third = Record::set(Timestamp(52), 0, vec![(1, Value::Int(101))], Some(&second), Timestamp(50));
        assert!(third.is_whole(Timestamp(50)), "a row that is never at rest becomes whole again");
        let long = Value::Text("x".repeat(REPEATED_BYTES_MAX + 1).into());
        let first = Record::set(Timestamp(60), 0, vec![(1, long)], None, Timestamp(50));
        let second = Record::set(Timestamp(61), 0, vec![(2, Value::Int(1))], Some(&first), Timestamp(50));
        assert_eq!((value(&second, 1, 50), value(&second, 1, 60), value(&second, 2, 50)), (-1, -2, 1));
    }

    #[test]
    fn the_row_as_it_was_inserted_stays_until_the_base_has_it() {
        let row: Arc<[u8]> = codec().encode((0..40).map(ValueRef::Int)).into();
        let insert = Record::insert(Timestamp(50), 0, row);
        let set = Record::set(Timestamp(51), 0, vec![(1, Value::Int(100))], Some(&insert), Timestamp(40));
        assert_eq!((value(&set, 1, 40), value(&set, 7, 40), value(&set, 7, 50)), (100, 7, -2));
        let later = Record::set(Timestamp(52), 0, vec![(2, Value::Int(200))], Some(&set), Timestamp(50));
        assert!(later.root().is_none(), "a row that is in the base is not kept");
        assert_eq!([1, 2, 7].map(|column| value(&later, column, 50)), [100, 200, -2]);
        assert_eq!(set.touches, Columns::ALL);
        assert_eq!(later.touches, [1, 2].into_iter().collect());
    }

    #[test]
    fn a_record_touches_what_it_repeats_and_what_it_lost() {
        let long = Value::Text("x".repeat(REPEATED_BYTES_MAX + 1).into());
        let first = Record::set(Timestamp(60), 0, vec![(1, long), (5, Value::Int(1))], None, Timestamp(50));
        let second = Record::set(Timestamp(61), 0, vec![(2, Value::Int(1))], Some(&first), Timestamp(50));
        let third = Record::set(Timestamp(62), 0, vec![(3, Value::Int(1))], Some(&second), Timestamp(50));
        assert_eq!(first.touches, [1, 5].into_iter().collect());
        assert_eq!(third.touches, [1, 2, 3, 5].into_iter().collect());
        assert_eq!(Record::delete(Timestamp(63), 0).touches, Columns::ALL);
    }
}
