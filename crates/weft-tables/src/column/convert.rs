//! Conversion: the oldest frozen row table becomes column tables, and its F the table's cut.
//!
//! ```text
//!   row table 7, F = 40, horizon 35          files                     marks
//!   a@12 alive                               a insert 0                            (12 ≤ 35: nobody can tell when)
//!   b@14..33                                 ─                                     (dead for every snapshot)
//!   c@20..38   c@38 alive                    c insert 0 · c insert 38  {1 @ 38}    (a snapshot at 36 still sees c@20)
//! ```
//!
//! 1. F is published, so the row table is complete: only delete timestamps change while the job reads.
//! 2. The horizon is taken before the list of new deletes begins: a version dropped for being dead by then died
//!    before the list, so no carried-over delete misses its row.
//! 3. Oldest first: the cut says "everything up to here", so F's become cuts in order.
//! 4. What the row table's blind writes replace is marked before the edit is put together (reconcile 2).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_format::{Result, Timestamp};
use weft_kernel::fault::active;

use super::faults;
use super::job_kinds::CONVERT;
use super::output::{Output, Written};
use super::payload::Layer;
use super::publish::{Change, Outcome};
use super::row_table::{Place, RowTable};
use super::steps::{JobStep, job_reached};
use super::store::Store;

/// An output row that is none: the version was dropped.
const DROPPED: u32 = u32::MAX;

/// A conversion under way, however it ends.
struct Converting<'a> {
    store: &'a Store,
    table: Option<Arc<RowTable>>,
}

impl Drop for Converting<'_> {
    fn drop(&mut self) {
        if let Some(table) = &self.table {
            table.end_carry();
        }
        self.store.converting.store(false, Ordering::Release);
    }
}

impl Store {
    /// Converts the oldest frozen row table when it is number `number` and complete.
    pub(crate) fn convert(&self, number: u64) -> Result<()> {
        if self.converting.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let mut converting = Converting { store: self, table: None };
        match self.convertible(&self.layout()) {
            Some(table) if table.number == number && !self.is_dropped() => {
                self.convert_table(converting.table.insert(table))
            }
            _ => Ok(()),
        }
    }

    fn convert_table(&self, table: &Arc<RowTable>) -> Result<()> {
        let to = table.frozen_at().expect("convertible tables are frozen (convert 1)");
        // Convert 4.
        if !active(faults::CONVERT_UNRECONCILED) {
            self.reconcile()?;
        }
        let limit = self.droppable(to);
        {
            let _marking = self.marking.lock();
            table.begin_carry();
        }
        let mut rows = Rows {
            table,
            limit,
            output: Output::new(self, self.shape(), CONVERT),
            places: vec![DROPPED; table.slot_count()],
            marks: Vec::new(),
            count: 0,
        };
        rows.read()?;
        job_reached(CONVERT, JobStep::InputsRead);
        let Rows { output, places, marks, .. } = rows;
        let written = output.finish()?;
        for (n, ts) in marks {
            let (part, position) = written.place(n);
            part.marks.set(position, ts);
        }
        let carry = || carry_over(table, &written, &places, limit);
        self.publish(&Outcome {
            kind: CONVERT,
            outputs: &written.parts,
            layer: Layer::Incremental,
            inputs: &[],
            row_table: Some(table),
            change: &Change::default(),
            carry: &carry,
        })
    }
}

fn carry_over(table: &RowTable, written: &Written, places: &[u32], limit: Timestamp) {
    for (slot, ts) in table.drain_carry() {
        let n = places[slot as usize];
        if n == DROPPED {
            assert!(ts <= limit, "a version that was dropped died before the job began (convert 2)");
            continue;
        }
        let (part, position) = written.place(n);
        part.marks.set(position, ts);
    }
}

/// The rows of a row table on their way out.
struct Rows<'a> {
    table: &'a RowTable,
    limit: Timestamp,
    output: Output,
    /// By slot: which output row it became.
    places: Vec<u32>,
    /// Output rows that are dead already.
    marks: Vec<(u32, Timestamp)>,
    count: u32,
}

impl Rows<'_> {
    fn read(&mut self) -> Result<()> {
        // Versions of a key come newest first and leave oldest first.
        let mut versions: Vec<Place> = Vec::new();
        let mut key: Vec<u8> = Vec::new();
        let mut result = Ok(());
        let table = self.table;
        table.for_each(|next, place| {
            if result.is_err() {
                return;
            }
            if next != key.as_slice() {
                result = self.take(&mut versions);
                key.clear();
                key.extend_from_slice(next);
            }
            versions.push(place.clone());
        });
        result?;
        self.take(&mut versions)
    }

    fn take(&mut self, versions: &mut Vec<Place>) -> Result<()> {
        for place in versions.drain(..).rev() {
            let deleted = place.chunk.delete_ts(place.slot);
            let inserted = place.chunk.insert_ts(place.slot);
            // Antimatter was seen by nobody, and has become marks (convert 4).
            if deleted <= self.limit || deleted == inserted {
                continue;
            }
            // Every reader is behind the limit: it need not be told when the row came in.
            let inserted = if inserted <= self.limit { Timestamp(0) } else { inserted };
            let to = &mut self.places[(place.chunk.first + place.slot) as usize];
            assert!(*to == DROPPED, "a version leaves its row table once");
            assert!(self.count < DROPPED, "an output row has another number than what is dropped");
            *to = self.count;
            if deleted != Timestamp::MAX {
                self.marks.push((self.count, deleted));
            }
            self.count += 1;
            self.output.push_row(place.chunk.row(place.slot), inserted)?;
        }
        Ok(())
    }
}
