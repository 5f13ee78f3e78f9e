//! UPDATE of few or of many rows: staged one by one, or replaced in bulk where the query saw them.
//!
//! ```text
//!   query    old key, new row, place ...     collected: 1 MiB 2 MiB 3 MiB
//!   ends     below bulk_bytes                ─▶ rows staged one by one
//!            the table does not replace in bulk                           ─▶ the same, however many
//!   reaches  bulk_bytes (4 MiB)              ─▶ Transaction::can_replace
//!     yes    at a quarter of the memory of queries, and at the end    ─▶ files (Transaction::replace)
//!     no     collected to the end, in row memory                     ─▶ rows staged one by one
//! ```
//!
//! The query's view is of the time when it began, so it never meets the files (dml 1).

use arrow::array::{Array, Int64Array, RecordBatch};
use weft_format::{Error, Result};
use weft_kernel::table::Location;

use super::stage::Stage;
use super::write::PreparedWrite;
use crate::context::StatementContext;
use crate::outcome::{Outcome, Tag};
use crate::queries::{Collected, Purpose, batch_bytes, pieces};
use crate::row::{bytes_as_rows, waiting_bytes_max};

/// How the rows of an UPDATE are written.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Undecided,
    OneByOne,
    InBulk,
}

/// An UPDATE under way.
struct Rows {
    waiting: Collected,
    way: Way,
    /// Rows that were written in bulk.
    count: u64,
}

impl PreparedWrite {
    /// Runs an UPDATE whose query says where the rows lie; one that runs out of memory begins again.
    pub(super) fn update(&self, columns: &[usize], context: &mut StatementContext<'_>) -> Result<Outcome> {
        loop {
            let mark = context.txn.mark();
            match self.update_once(columns, context) {
                Err(error) if context.engine.spares_after(&error, &self.query) => context.txn.rollback_to(mark),
                result => return result.map(|count| Outcome::done(Tag::Update(count))),
            }
        }
    }

    fn update_once(&self, columns: &[usize], context: &mut StatementContext<'_>) -> Result<u64> {
        let mut rows = Rows { waiting: context.engine.collected(Purpose::Written), way: Way::Undecided, count: 0 };
        context.txn.admit_query()?;
        let mut query = context.engine.execute(&self.query, context.binding(&self.query)?)?;
        while let Some(batch) = query.next_batch()? {
            self.push(&mut rows, batch, columns, context)?;
        }
        // Its memory, its threads and its slot are free before anything is waited for.
        drop(query);
        context.txn.end_query();
        if rows.way == Way::InBulk {
            self.replace(&mut rows, columns, context)?;
            return Ok(rows.count);
        }
        Ok(Stage::new(self, context).run(&rows.waiting.batches)?.0)
    }

    fn push(
        &self,
        rows: &mut Rows,
        batch: RecordBatch,
        columns: &[usize],
        context: &mut StatementContext<'_>,
    ) -> Result<()> {
        if rows.way == Way::Undecided {
            let row_count = rows.waiting.batches.iter().map(RecordBatch::num_rows).sum::<usize>() + batch.num_rows();
            let bytes = bytes_as_rows(row_count, rows.waiting.bytes() + batch_bytes(&batch));
            if self.table.table.bulk_replace().is_some_and(|bulk| bytes > bulk.bulk_bytes()) {
                let can_replace = context.txn.can_replace(&self.table, columns)?;
                rows.way = if can_replace { Way::InBulk } else { Way::OneByOne };
            }
        }
        let bytes_max = context.engine.memory_bytes();
        if rows.way == Way::InBulk {
            let waiting_bytes_max = waiting_bytes_max(bytes_max);
            for piece in pieces(batch, waiting_bytes_max) {
                if !rows.waiting.push(piece.clone(), waiting_bytes_max).unwrap_or(false) {
                    self.replace(rows, columns, context)?;
                    rows.waiting.push(piece, usize::MAX)?;
                }
            }
            return Ok(());
        }
        let row_memory_bytes = context.txn.engine().status().row_memory_limit_bytes;
        let most = usize::try_from(row_memory_bytes).unwrap_or(usize::MAX).min(bytes_max);
        if !rows.waiting.push(batch, most)? {
            return Err(self.too_large(row_memory_bytes, bytes_max as u64));
        }
        Ok(())
    }

    /// Replaces the rows that wait.
    fn replace(&self, rows: &mut Rows, columns: &[usize], context: &mut StatementContext<'_>) -> Result<()> {
        context.cancel.check()?;
        let waiting = std::mem::replace(&mut rows.waiting, context.engine.collected(Purpose::Written));
        let shape = context.shapes.shape(&self.table)?;
        let stage = Stage::new(self, context);
        waiting.batches.iter().try_for_each(|batch| stage.check(batch, &shape))?;
        let places = self.places(&waiting.batches)?;
        let stored = waiting.batches.iter().map(|batch| self.stored_rows(batch)).collect::<Result<Vec<_>>>()?;
        rows.count += context.txn.replace(&self.table, columns, &stored, &places)?;
        Ok(())
    }

    /// Where each row was seen.
    fn places(&self, batches: &[RecordBatch]) -> Result<Vec<Option<Location>>> {
        let mut places = Vec::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
        for batch in batches {
            let column = batch.column(self.behind_checks());
            let numbers = column.as_any().downcast_ref::<Int64Array>();
            let numbers = numbers.ok_or_else(|| Error::internal("places of rows are numbers"))?;
            places.extend(numbers.iter().map(|number| number.and_then(Location::of_number)));
        }
        Ok(places)
    }

    /// The new rows of a batch as they are stored.
    fn stored_rows(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let all: Vec<usize> = (0..self.row_columns).collect();
        let arrays = batch.columns()[self.key_columns..self.key_columns + self.row_columns].to_vec();
        RecordBatch::try_new(self.table.def.schema.arrow(&all), arrays)
            .map_err(|error| Error::internal(format!("new rows of \"{}\": {error}", self.table.def.name)))
    }
}
