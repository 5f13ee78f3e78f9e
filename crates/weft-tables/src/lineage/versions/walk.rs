//! The versions of one row after the other, newest first.
//!
//! A walk goes back row by row, of a row from the newest record to the page, and on through what history says that
//! changes replaced. It can stop anywhere, and go on from there: in tails by the timestamp that it came to, in history
//! by the cursors and the values that the version after the next one has.

use std::sync::Arc;

use weft_format::{Result, Timestamp, Value};
use weft_kernel::fault::active;

use super::super::faults;
use super::super::record::Kind;
use super::super::scan::RowIds;
use super::super::segment::Segment;
use super::cursor::Cursors;
use super::output::Found;
use super::plan::VersionPlan;

/// Rows of a block that are walked, or one row.
#[derive(Default)]
pub(super) struct Walk {
    /// Those that were not begun, ascending: the last comes next.
    rows: Vec<u64>,
    cursors: Cursors,
    row: Option<Row>,
}

/// A row on the way.
struct Row {
    row_id: u64,
    /// Where the next version ends.
    until: Timestamp,
    stage: Stage,
}

/// Where in its past a row is.
enum Stage {
    /// The newest record at or before this timestamp comes next.
    Tails(Timestamp),
    /// The page comes next.
    Page,
    /// What a change replaced comes next.
    History(Later),
}

/// The version after the next one.
struct Later {
    since: Timestamp,
    /// By place among the columns that are looked at; none: as on the page.
    values: Vec<Option<Value>>,
}

impl Walk {
    /// Of some rows among these.
    pub(super) fn new(plan: &VersionPlan, within: &RowIds, rows: impl Iterator<Item = u64>) -> Result<Walk> {
        let rows: Vec<u64> = rows.collect();
        debug_assert!(rows.is_sorted(), "rows are walked from the last to the first");
        let cursors = match rows.is_empty() {
            true => Cursors::default(),
            false => Cursors::new(&plan.scan.layout.base.past, within, plan.period.after)?,
        };
        Ok(Walk { rows, cursors, row: None })
    }

    /// Goes on until the rows end, or so many versions are found; whether the rows have ended.
    pub(super) fn go_on(&mut self, plan: &VersionPlan, found: &mut Found, most: usize) -> Result<bool> {
        let columns = plan.columns();
        while found.len() < most {
            let Some(row) = self.row.take().or_else(|| self.rows.pop().map(|row_id| Row::new(plan, row_id))) else {
                return Ok(true);
            };
            if row.until > plan.period.after {
                self.row = row.step(plan, (&columns, &mut self.cursors), (found, most))?;
            }
        }
        Ok(false)
    }
}

impl Row {
    fn new(plan: &VersionPlan, row_id: u64) -> Row {
        let read_ts = plan.scan.read_ts();
        // A snapshot below the cut has no records (lineage 4).
        let stage = if plan.scan.layout.base.cut <= read_ts { Stage::Tails(read_ts) } else { Stage::Page };
        Row { row_id, until: Timestamp::MAX, stage }
    }

    /// One stage, or a part of it; none when the row has ended.
    fn step(
        self,
        plan: &VersionPlan,
        (columns, cursors): (&[usize], &mut Cursors),
        (found, most): (&mut Found, usize),
    ) -> Result<Option<Row>> {
        let row_id = self.row_id;
        match self.stage {
            Stage::Tails(upto) => Row::in_tails(plan, row_id, (self.until, upto), (found, most)).map(Some),
            Stage::Page => {
                let Some((segment, slot)) = plan.scan.layout.base.place(row_id) else { return Ok(None) };
                let since = segment.changed(slot)?;
                let until = if self.until == Timestamp::MAX { plan.end_of_page() } else { self.until };
                if segment.is_alive(slot)? && plan.wants(since, until) {
                    let value = |column| segment.value(&plan.scan.codec, column, slot);
                    found.push(&plan.scan, (since, plan.seen_end(until)), value)?;
                }
                let later = Later { since, values: vec![None; columns.len()] };
                Ok(Some(Row { row_id, until: since, stage: Stage::History(later) }))
            }
            Stage::History(mut later) => {
                let place = plan.scan.layout.base.place(row_id).expect("what history is of has a page (lineage 5)");
                match later.step(plan, (row_id, place), (columns, cursors), found)? {
                    Some(until) => Ok(Some(Row { row_id, until, stage: Stage::History(later) })),
                    None => Ok(None),
                }
            }
        }
    }

    /// Records that are at or before a timestamp; the newest of them is of a version that ends there.
    fn in_tails(
        plan: &VersionPlan,
        row_id: u64,
        (mut until, upto): (Timestamp, Timestamp),
        (found, most): (&mut Found, usize),
    ) -> Result<Row> {
        let (layout, codec, hops) = (&plan.scan.layout, &plan.scan.codec, &plan.scan.hops);
        for (at, record) in layout.changes(row_id, upto) {
            let since = record.ts;
            let is_kept = until == Timestamp::MAX || !active(faults::LOSE_ENDED_VERSIONS);
            if record.kind != Kind::Delete && plan.wants(since, until) && is_kept {
                let version = layout.version_of_record(row_id, at, record);
                let value = |column| version.value(codec, column, hops);
                found.push(&plan.scan, (since, plan.seen_end(until)), value)?;
            }
            until = since;
            if until <= plan.period.after || found.len() >= most {
                return Ok(Row { row_id, until, stage: Stage::Tails(Timestamp(since.0 - 1)) });
            }
        }
        Ok(Row { row_id, until, stage: Stage::Page })
    }
}

impl Later {
    /// The version before, which one change has replaced; when that began, or none when nothing is known before.
    fn step(
        &mut self,
        plan: &VersionPlan,
        (row_id, (segment, slot)): (u64, (&Arc<Segment>, u32)),
        (columns, cursors): (&[usize], &mut Cursors),
        found: &mut Found,
    ) -> Result<Option<Timestamp>> {
        let Some(old) = cursors.take(row_id)? else { return Ok(None) };
        if old.until < self.since {
            // It was dead, and the base forgot it, until its key came back: nobody looks behind that.
            assert!(old.until <= plan.period.after, "a version ends where the next begins (versions 1)");
            return Ok(None);
        }
        assert!(old.until == self.since, "a version begins before it ends (versions 1)");
        for (value, &column) in self.values.iter_mut().zip(columns) {
            if let Some(replaced) = old.value(column)? {
                *value = Some(replaced);
            }
        }
        if old.was_alive && plan.wants(old.since, old.until) {
            found.push(&plan.scan, (old.since, plan.seen_end(old.until)), |column| {
                let at = columns.binary_search(&column).expect("all that is looked at is among the columns");
                match &self.values[at] {
                    Some(value) => Ok(value.clone()),
                    None => segment.value(&plan.scan.codec, column, slot),
                }
            })?;
        }
        self.since = old.since;
        Ok(Some(old.since))
    }
}
