//! The tails of one update range: records in the order in which they came, and a word per row that names its newest.
//!
//! ```text
//!   words     slot 0: 0   slot 1: 3   slot 2: 0   slot 3: 2      one more than the record's number
//!   records   0: slot 1 @ 41   1: slot 3 @ 42   2: slot 1 @ 44, prev 1
//!   touched   0101                                               a bit per row: scans look at no other words
//! ```
//!
//! 1. A word names a record that was filled before (lineage 3), and only ever a later one.
//! 2. The records of a row are in the order of their timestamps: the kernel installs one commit of a key at a time.
//!
//! Concurrency: writers of different rows take different numbers and swing different words; nobody waits. The swing is
//! a compare-and-exchange although a key has one writer at a time: that it never fails is what range 2 rests on.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use weft_format::Timestamp;

use super::buckets::Buckets;
use super::columns::Columns;
use super::record::Record;

/// See the module.
pub(super) struct RangeTails {
    words: Box<[AtomicU32]>,
    /// The rows that have a record, a bit each.
    touched: Box<[AtomicU64]>,
    /// The columns that some record touches (record 3).
    columns: AtomicU64,
    records: Buckets<Record>,
    count: AtomicU32,
    /// The lowest timestamp of a record; MAX: there is none.
    first_ts: AtomicU64,
}

impl RangeTails {
    /// Of so many rows.
    pub(super) fn new(rows: u32) -> RangeTails {
        RangeTails {
            words: (0..rows).map(|_| AtomicU32::new(0)).collect(),
            touched: (0..rows.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            columns: AtomicU64::new(0),
            records: Buckets::default(),
            count: AtomicU32::new(0),
            first_ts: AtomicU64::new(u64::MAX),
        }
    }

    /// Memory of the words, and of the first places of records.
    pub(super) fn words_bytes(&self) -> u64 {
        (self.words.len() * 4 + self.touched.len() * 8 + size_of::<RangeTails>() + Buckets::<Record>::FIRST_BYTES)
            as u64
    }

    /// Adds a record of a row, whose newest it is from now on. Returns how many there are.
    pub(super) fn append(&self, mut record: Record) -> &Record {
        let word = &self.words[record.slot as usize];
        let before = word.load(Ordering::Acquire);
        if let Some(newest) = self.numbered(before) {
            assert!(newest.ts < record.ts, "the records of a row come in the order of their commits (range 2)");
        }
        record.prev = before;
        self.first_ts.fetch_min(record.ts.0, Ordering::AcqRel);
        add_bits(&self.columns, record.touches.0);
        add_bits(&self.touched[record.slot as usize / 64], 1 << (record.slot % 64));
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        assert!(number < u32::MAX - 1, "tails are frozen at some MB, far below 2^32 records");
        let record = self.records.fill(number, record);
        let swung = word.compare_exchange(before, number + 1, Ordering::AcqRel, Ordering::Acquire);
        assert!(swung.is_ok(), "a row has one writer at a time (range 2)");
        record
    }

    /// The newest record of a row at or before a timestamp.
    pub(super) fn find(&self, slot: u32, read_ts: Timestamp) -> Option<&Record> {
        let mut record = self.newest(slot)?;
        while record.ts > read_ts {
            let before = self.before(record)?;
            assert!(before.ts < record.ts, "the records of a row are in the order of their commits (range 2)");
            record = before;
        }
        Some(record)
    }

    /// The newest record of a row.
    pub(super) fn newest(&self, slot: u32) -> Option<&Record> {
        self.numbered(self.words[slot as usize].load(Ordering::Acquire))
    }

    /// The record before one of the same row.
    pub(super) fn before(&self, record: &Record) -> Option<&Record> {
        self.numbered(record.prev)
    }

    fn numbered(&self, word: u32) -> Option<&Record> {
        let number = word.checked_sub(1)?;
        Some(self.records.get(number).expect("a word names a record that was filled before (range 1)"))
    }

    /// Whether no record is at or before a timestamp.
    pub(super) fn is_after(&self, ts: Timestamp) -> bool {
        self.first_ts.load(Ordering::Acquire) > ts.0
    }

    /// Whether some record touches a column.
    pub(super) fn touches(&self, columns: Columns) -> bool {
        Columns(self.columns.load(Ordering::Relaxed)).meets(columns)
    }

    /// The rows among some that have a record, ascending.
    pub(super) fn touched(&self, slots: std::ops::Range<u32>) -> impl Iterator<Item = u32> + '_ {
        let words = slots.start / 64..slots.end.div_ceil(64);
        words.flat_map(move |word| {
            let mut bits = self.touched[word as usize].load(Ordering::Relaxed);
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros())?;
                bits &= bits - 1;
                Some(word * 64 + bit)
            })
            .skip_while({
                let start = slots.start;
                move |slot| *slot < start
            })
            .take_while({
                let end = slots.end;
                move |slot| *slot < end
            })
        })
    }

    /// All records, in the order in which they came.
    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().map(|(_, record)| record)
    }
}

/// Sets bits; a word that has them stays with who has it.
fn add_bits(word: &AtomicU64, bits: u64) {
    if word.load(Ordering::Relaxed) & bits != bits {
        word.fetch_or(bits, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weft_format::Value;

    use super::*;
    use crate::lineage::record::Kind;

    #[test]
    fn a_row_is_found_as_of_each_of_its_commits() {
        let range = RangeTails::new(8);
        range.append(Record::insert(Timestamp(41), 1, Arc::from(&[0u8; 2][..])));
        range.append(Record::insert(Timestamp(42), 3, Arc::from(&[0u8; 2][..])));
        let set = Record::set(Timestamp(44), 1, vec![(2, Value::Int(7))], range.newest(1), Timestamp(40));
        range.append(set);
        range.append(Record::delete(Timestamp(50), 1));
        let kinds = [40, 41, 43, 44, 49, 50, 99].map(|ts| range.find(1, Timestamp(ts)).map(|record| record.kind));
        let (insert, set, delete) = (Some(Kind::Insert), Some(Kind::Set), Some(Kind::Delete));
        assert_eq!(kinds, [None, insert, insert, set, set, delete, delete]);
        assert_eq!(range.touched(0..8).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(range.touched(2..4).collect::<Vec<_>>(), [3]);
        assert_eq!(
            (range.records().count(), range.is_after(Timestamp(40)), range.is_after(Timestamp(41))),
            (4, true, false)
        );
    }

    #[test]
    fn a_range_knows_which_rows_and_columns_are_touched() {
        let range = RangeTails::new(256);
        let set = |slot, column| Record::set(Timestamp(44), slot, vec![(column, Value::Int(7))], None, Timestamp(40));
        let slots = [0, 63, 64, 130, 255];
        slots.iter().for_each(|&slot| _ = range.append(set(slot, 3)));
        assert_eq!(range.touched(0..256).collect::<Vec<_>>(), slots);
        assert_eq!(range.touched(63..255).collect::<Vec<_>>(), [63, 64, 130]);
        assert_eq!(range.touched(65..130).count(), 0);
        assert!(range.touches([1, 3].into_iter().collect()) && !range.touches([1, 4].into_iter().collect()));
    }

    #[test]
    #[should_panic(expected = "in the order of their commits")]
    fn a_row_takes_no_older_commit() {
        let range = RangeTails::new(1);
        range.append(Record::delete(Timestamp(5), 0));
        range.append(Record::delete(Timestamp(4), 0));
    }
}
