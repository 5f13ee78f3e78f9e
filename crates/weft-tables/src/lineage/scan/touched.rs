//! Rows that are read apart from the pages of their block: those of which tails have something that is wanted, and the
//! row of a key.
//!
//! ```text
//!   wanted: column b    row 4  record {b}     read apart
//!                       row 7  record {c}     untouched: b is as on the page
//!                       row 9  deleted        read apart, which gives nothing
//! ```

use arrow_array::{ArrayRef, RecordBatch};
use weft_contract::LOCATION;
use weft_format::arrow_values::array_of;
use weft_format::{Predicate, Result, Timestamp};

use super::super::columns::Columns;
use super::super::range::RangeTails;
use super::super::read::locations;
use super::super::record::Record;
use super::super::tails::Tails;
use super::plan::{Plan, RowIds};

/// The newest record of a row that a snapshot sees.
#[derive(Clone, Copy)]
pub(in crate::lineage) struct Recorded<'a> {
    pub(in crate::lineage) row_id: u64,
    /// The place of its tails among the layout's, newest first.
    pub(super) tails: usize,
    pub(super) record: &'a Record,
}

impl Plan {
    /// The rows among some of a block with a record that the snapshot sees and that touches some of these columns,
    /// ascending.
    pub(in crate::lineage) fn recorded(&self, rows: &RowIds, columns: Columns) -> Vec<Recorded<'_>> {
        let mut found = Vec::new();
        for (at, tails) in self.tails_seen() {
            found = newest_of(found, self.recorded_in(at, tails, rows, columns));
        }
        found
    }

    /// The same of some tails.
    fn recorded_in<'a>(&'a self, at: usize, tails: &'a Tails, rows: &RowIds, columns: Columns) -> Vec<Recorded<'a>> {
        let (read_ts, range_rows) = (self.read_ts(), u64::from(tails.range_rows()));
        let mut found = Vec::new();
        for number in rows.start / range_rows..=(rows.end - 1) / range_rows {
            let Some(range) = tails.range(number).filter(|range| is_read(range, read_ts, columns)) else { continue };
            let first = number * range_rows;
            let slots = (rows.start.max(first) - first) as u32..(rows.end.min(first + range_rows) - first) as u32;
            let recorded = |slot| {
                let record = range.find(slot, read_ts).filter(|record| record.touches.meets(columns))?;
                Some(Recorded { row_id: first + u64::from(slot), tails: at, record })
            };
            found.extend(range.touched(slots).filter_map(recorded));
        }
        found
    }

    /// A row, if the snapshot sees it and it satisfies the predicates.
    pub(super) fn read_row(&self, row_id: u64) -> Result<Option<RecordBatch>> {
        if self.hidden.binary_search(&row_id).is_ok() {
            return Ok(None);
        }
        let Some(version) = self.layout.version(row_id, self.read_ts())? else { return Ok(None) };
        let value = |ordinal| version.value(&self.codec, ordinal, &self.hops);
        for predicate in &self.request.predicates {
            if !predicate.matches(value(predicate.column())?.as_ref()) {
                return Ok(None);
            }
        }
        let column = |&ordinal: &usize| match ordinal {
            LOCATION => Ok(locations(std::iter::once(row_id))),
            _ => Ok(array_of(self.schema.columns[ordinal].data_type, std::iter::once(value(ordinal)?.as_ref()))),
        };
        self.batch(self.request.projection.iter().map(column).collect::<Result<Vec<ArrayRef>>>()?, 1).map(Some)
    }

    /// The columns that are read, and those that the predicates test.
    pub(super) fn wanted(&self) -> Columns {
        let tested = self.request.predicates.iter().map(Predicate::column);
        // A row's id is no matter of its record.
        let read = self.request.projection.iter().copied().filter(|&ordinal| ordinal != LOCATION);
        read.chain(tested).collect()
    }
}

/// Whether some record of a range is wanted.
fn is_read(range: &RangeTails, read_ts: Timestamp, columns: Columns) -> bool {
    range.touches(columns) && !range.is_after(read_ts)
}

/// Rows of newer tails and of older ones, ascending each: who is in both has its newest record in the newer.
fn newest_of<'a>(newer: Vec<Recorded<'a>>, older: Vec<Recorded<'a>>) -> Vec<Recorded<'a>> {
    if newer.is_empty() || older.is_empty() {
        return if newer.is_empty() { older } else { newer };
    }
    let mut found = Vec::with_capacity(newer.len() + older.len());
    let mut older = older.into_iter().peekable();
    for row in newer {
        while let Some(before) = older.next_if(|before| before.row_id < row.row_id) {
            found.push(before);
        }
        older.next_if(|before| before.row_id == row.row_id);
        found.push(row);
    }
    found.extend(older);
    found
}
