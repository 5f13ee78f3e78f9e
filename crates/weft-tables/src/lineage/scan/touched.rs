//! Rows of a block whose version is not the one of the pages.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use weft_format::{BLOCK_ROWS, Result};
use weft_kernel::fault::active;

use super::super::faults;
use super::super::past::Old;
use super::super::segment::Segment;
use super::super::version::Version;
use super::assembled::Assembled;
use super::plan::{Plan, RowIds};

/// Row ids, ascending, each with what was replaced later than the snapshot; nothing for those that tails have.
pub(super) type Touched = BTreeMap<u64, Vec<Old>>;

impl Plan {
    /// The touched rows among some.
    pub(super) fn touched(&self, rows: RowIds) -> Result<Touched> {
        let mut touched = Touched::new();
        let read_ts = self.read_ts();
        self.add_recorded(&rows, |row_id| {
            touched.entry(row_id).or_default();
        });
        if read_ts < self.layout.base.cut && !active(faults::READ_TAILS_BELOW_CUT) {
            self.add_changed(&rows, &mut touched)?;
        }
        Ok(touched)
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

    /// Rows of pages that were changed later than the snapshot.
    fn add_changed(&self, rows: &RowIds, touched: &mut Touched) -> Result<()> {
        let Some((segment, slot)) = self.layout.base.place(rows.start) else { return Ok(()) };
        let read_ts = self.read_ts();
        if segment.last_change() <= read_ts || !segment.is_born(read_ts) {
            return Ok(());
        }
        let changed = segment.changed_block(slot as usize / BLOCK_ROWS)?;
        for at in 0..changed.len() {
            if changed.at(at) > read_ts {
                touched.insert(rows.start + at as u64, Vec::new());
            }
        }
        if touched.is_empty() {
            return Ok(());
        }
        for past in &self.layout.base.past {
            past.later(rows.clone(), read_ts, &mut |row_id, old| {
                // A row of a segment that is gone has no page, nor an entry here.
                if let Some(olds) = touched.get_mut(&row_id) {
                    assert!(olds.last().is_none_or(|last| last.until < old.until), "history is in order (past 1)");
                    olds.push(old);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The version of a touched row that the snapshot sees.
    fn version_of<'a>(&'a self, row_id: u64, olds: &[Old]) -> Option<Version<'a>> {
        let read_ts = self.read_ts();
        if read_ts >= self.layout.base.cut || active(faults::READ_TAILS_BELOW_CUT) {
            return self.layout.version_in_tails(row_id, read_ts).flatten();
        }
        let page: (&Arc<Segment>, u32) = self.layout.base.place(row_id)?;
        let is_seen = olds.first().is_some_and(|first| first.is_seen_at(read_ts));
        is_seen.then(|| self.layout.version_in_past(page, row_id, olds.to_vec()))
    }

    /// The touched rows that the snapshot sees and that satisfy the predicates.
    pub(super) fn read_touched(&self, touched: &Touched) -> Result<Option<RecordBatch>> {
        let is_shown = |row_id: u64| self.hidden.binary_search(&row_id).is_err();
        let shown = touched.iter().filter(|(row_id, _)| is_shown(**row_id));
        Assembled::new(self, shown.filter_map(|(&row_id, olds)| self.version_of(row_id, olds)).collect()).read()
    }
}
