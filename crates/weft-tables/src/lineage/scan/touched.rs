//! Rows that are read apart from the pages of their block: those that tails have something of, and the row of a key.

use arrow_array::RecordBatch;
use weft_format::Result;

use super::super::record::{Kind, Record};
use super::assembled::Assembled;
use super::plan::{Plan, RowIds};

/// The newest record of a row that a snapshot sees.
pub(in crate::lineage) struct Recorded<'a> {
    pub(in crate::lineage) row_id: u64,
    /// The place of its tails among the layout's, newest first.
    tails: usize,
    record: &'a Record,
}

impl Plan {
    /// The rows among some of a block with a record that the snapshot sees, ascending.
    pub(in crate::lineage) fn recorded(&self, rows: &RowIds) -> Vec<Recorded<'_>> {
        let read_ts = self.read_ts();
        let mut found: Vec<Option<(usize, &Record)>> = Vec::new();
        for (at, tails) in self.tails_seen() {
            let range_rows = u64::from(tails.range_rows());
            for number in rows.start / range_rows..=(rows.end - 1) / range_rows {
                let Some(range) = tails.range(number).filter(|range| !range.is_after(read_ts)) else { continue };
                let first = number * range_rows;
                let slots = (rows.start.max(first) - first) as u32..(rows.end.min(first + range_rows) - first) as u32;
                found.resize((rows.end - rows.start) as usize, None);
                for slot in range.touched(slots) {
                    let place = &mut found[(first + u64::from(slot) - rows.start) as usize];
                    if place.is_none() {
                        *place = range.find(slot, read_ts).map(|record| (at, record));
                    }
                }
            }
        }
        let row = |(place, found): (usize, Option<(usize, _)>)| {
            found.map(|(tails, record)| Recorded { row_id: rows.start + place as u64, tails, record })
        };
        found.into_iter().enumerate().filter_map(row).collect()
    }

    /// A row, if the snapshot sees it and it satisfies the predicates.
    pub(super) fn read_row(&self, row_id: u64) -> Result<Option<RecordBatch>> {
        if self.hidden.binary_search(&row_id).is_ok() {
            return Ok(None);
        }
        match self.layout.version(row_id, self.read_ts())? {
            Some(version) => Assembled::new(self, vec![version]).read(),
            None => Ok(None),
        }
    }

    /// The rows with records that are there and that satisfy the predicates.
    pub(super) fn read_recorded(&self, recorded: &[Recorded<'_>]) -> Result<Option<RecordBatch>> {
        let is_shown =
            |row: &&Recorded<'_>| row.record.kind != Kind::Delete && self.hidden.binary_search(&row.row_id).is_err();
        let shown = recorded.iter().filter(is_shown);
        let versions = shown.map(|row| self.layout.version_of_record(row.row_id, row.tails, row.record));
        Assembled::new(self, versions.collect()).read()
    }
}
