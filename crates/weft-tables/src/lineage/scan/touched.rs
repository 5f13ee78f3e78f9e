//! Rows that are read apart from the pages of their block: those that tails have something of, and the row of a key.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use weft_format::Result;

use super::assembled::Assembled;
use super::plan::{Plan, RowIds};

impl Plan {
    /// The rows among some with a record that the snapshot sees, ascending.
    pub(super) fn recorded(&self, rows: &RowIds) -> BTreeSet<u64> {
        let mut recorded = BTreeSet::new();
        self.add_recorded(rows, |row_id| {
            recorded.insert(row_id);
        });
        recorded
    }

    /// Rows among some with a record that the snapshot sees.
    pub(in crate::lineage) fn add_recorded(&self, rows: &RowIds, mut add: impl FnMut(u64)) {
        let read_ts = self.read_ts();
        for tails in self.tails_seen() {
            let range_rows = u64::from(tails.range_rows());
            for number in rows.start / range_rows..=(rows.end - 1) / range_rows {
                let Some(range) = tails.range(number).filter(|range| !range.is_after(read_ts)) else { continue };
                let first = number * range_rows;
                let slots = (rows.start.max(first) - first) as u32..(rows.end.min(first + range_rows) - first) as u32;
                let is_seen = |slot: &u32| range.find(*slot, read_ts).is_some();
                range.touched(slots).filter(is_seen).for_each(|slot| add(first + u64::from(slot)));
            }
        }
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

    /// The rows with records that the snapshot sees and that satisfy the predicates.
    pub(super) fn read_recorded(&self, recorded: &BTreeSet<u64>) -> Result<Option<RecordBatch>> {
        let is_shown = |row_id: &u64| self.hidden.binary_search(row_id).is_err();
        let version = |row_id: u64| self.layout.version_in_tails(row_id, self.read_ts()).flatten();
        let shown = recorded.iter().copied().filter(is_shown);
        Assembled::new(self, shown.filter_map(version).collect()).read()
    }
}
