//! Rows of a block with more than the version of their page, or none on it; of these the rows that are walked.
//!
//! ```text
//!   there at 40, not at 50      a version that ended from 41 to 50: the row has a change there
//!   there at 50, not at 40      one that began there: the same
//! ```
//!
//! 1. A row that nothing happened to between the two moments has the same version at both: none of it is wanted.

use weft_format::{BLOCK_ROWS, Result, Timestamp};
use weft_kernel::fault::active;

use super::super::columns::Columns;
use super::super::faults;
use super::super::scan::RowIds;
use super::plan::VersionPlan;

/// See the module. Ascending.
pub(super) struct Touched {
    /// Those that the pages do not speak for.
    pub(super) rows: Vec<u64>,
    /// Those of them that may have a version that is wanted.
    pub(super) walked: Vec<u64>,
}

/// What is known of a row.
#[derive(Clone, Copy, Default)]
struct Row {
    is_touched: bool,
    /// By history something happened to it between the moments.
    is_changed: bool,
}

impl VersionPlan {
    /// Rows among some with a record that the snapshot sees, or with a change in history that the period looks behind.
    pub(super) fn touched(&self, rows: &RowIds) -> Result<Touched> {
        let place = |row_id: u64| (row_id - rows.start) as usize;
        let mut known = vec![Row::default(); place(rows.end)];
        self.scan.recorded(rows, Columns::ALL).iter().for_each(|row| known[place(row.row_id)].is_touched = true);
        let (between, after) = (self.between(), self.period.after);
        for past in self.scan.layout.base.past.iter().filter(|past| past.to > after) {
            past.spans(rows, &mut |row_id, since, until| {
                let row = &mut known[place(row_id)];
                row.is_touched |= until > after;
                row.is_changed |= between.is_some_and(|between| is_in(between, since) || is_in(between, until));
            })?;
        }
        let touched = (rows.start..rows.end).filter(|&row_id| known[place(row_id)].is_touched);
        let touched: Vec<u64> = touched.collect();
        let walked = match between {
            None => touched.clone(),
            Some(between) => {
                let is_changed = |row_id: u64| known[place(row_id)].is_changed;
                self.changed(rows, &touched, &is_changed, between)?
            }
        };
        Ok(Touched { rows: touched, walked })
    }

    /// Between which commits something happened to a row of which a version is wanted: behind the first, up to the
    /// second.
    fn between(&self) -> Option<(Timestamp, Timestamp)> {
        let except = self.period.except?;
        let (after, to) = (self.period.after, self.period.to);
        Some((after.min(except), to.max(except)))
    }

    /// Those of touched rows that something happened to: by history, by their page or by a record.
    fn changed(
        &self,
        rows: &RowIds,
        touched: &[u64],
        by_history: &dyn Fn(u64) -> bool,
        between: (Timestamp, Timestamp),
    ) -> Result<Vec<u64>> {
        let layout = &self.scan.layout;
        let page = match layout.base.place(rows.start) {
            Some((segment, slot)) => Some(segment.changed_block(slot as usize / BLOCK_ROWS)?),
            None => None,
        };
        let on_page = |row_id: u64| {
            let at = (row_id - rows.start) as usize;
            page.as_ref().is_some_and(|page| at < page.len() && is_in(between, page.at(at)))
        };
        let by_record = |row_id: u64| {
            let newest = layout.changes(row_id, between.1).next();
            newest.is_some_and(|(_, record)| record.ts > between.0) && !active(faults::DIFFER_BY_PAGES)
        };
        let is_changed = |row_id: &u64| by_history(*row_id) || on_page(*row_id) || by_record(*row_id);
        Ok(touched.iter().copied().filter(is_changed).collect())
    }
}

fn is_in((after, to): (Timestamp, Timestamp), at: Timestamp) -> bool {
    after < at && at <= to
}
