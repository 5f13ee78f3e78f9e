//! Rows of a block whose version is not the one of the pages.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use weft_contract::LOCATION;
use weft_format::arrow_values::array_of;
use weft_format::{BLOCK_ROWS, Result, Value};
use weft_kernel::fault::active;

use super::super::faults;
use super::super::past::Old;
use super::super::read::location_of;
use super::super::segment::Segment;
use super::super::version::Version;
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
        if segment.last_change() <= read_ts {
            return Ok(());
        }
        let changed = segment.changed_block(slot as usize / BLOCK_ROWS)?;
        for at in 0..changed.len() {
            if changed.int_at(at).unwrap_or_default().cast_unsigned() > read_ts.0 {
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
        let projection = &self.request.projection;
        let mut row_ids: Vec<u64> = Vec::new();
        let mut columns: Vec<Vec<Value>> = projection.iter().map(|_| Vec::new()).collect();
        for (&row_id, olds) in touched.iter().filter(|(row_id, _)| self.hidden.binary_search(row_id).is_err()) {
            let Some(version) = self.version_of(row_id, olds) else { continue };
            let mut is_wanted = true;
            for predicate in &self.request.predicates {
                let value = version.value(&self.codec, predicate.column(), &self.hops)?;
                is_wanted = is_wanted && predicate.matches(value.as_ref());
            }
            if !is_wanted {
                continue;
            }
            for (values, &ordinal) in columns.iter_mut().zip(projection).filter(|(_, ordinal)| **ordinal != LOCATION) {
                values.push(version.value(&self.codec, ordinal, &self.hops)?);
            }
            row_ids.push(row_id);
        }
        if row_ids.is_empty() {
            return Ok(None);
        }
        let column = |(values, &ordinal): (&Vec<Value>, &usize)| match ordinal {
            LOCATION => locations(row_ids.iter().copied()),
            _ => array_of(self.schema.columns[ordinal].data_type, values.iter().map(Value::as_ref)),
        };
        self.batch(columns.iter().zip(projection).map(column).collect(), row_ids.len()).map(Some)
    }
}

/// Row ids as a column of a scan has them.
pub(super) fn locations(row_ids: impl Iterator<Item = u64>) -> ArrayRef {
    let places: Int64Array = row_ids.map(|row_id| location_of(row_id).map(|location| location.number())).collect();
    Arc::new(places)
}
