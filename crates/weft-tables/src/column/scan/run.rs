//! An encoded run of a chunk of a row table (`incremental = 'columns'`).

use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;
use weft_contract::LOCATION;
use weft_format::row_arrays::missing_column;
use weft_format::{Mask, Result};

use super::super::runs::Run;
use super::kept::Kept;
use super::locations::no_locations;
use super::plan::{ChunkScan, Plan, hidden_between};

impl Plan {
    /// The visible rows of a run that satisfy the predicates.
    pub(super) fn read_run(&self, scan: &ChunkScan, run: &Run) -> Result<Option<RecordBatch>> {
        self.metrics.blocks.fetch_add(1, Ordering::Relaxed);
        assert!(run.start + run.len <= scan.len, "a run covers slots that the scan looks at (runs 1)");
        let visible = scan.chunk.visible_at(self.read_ts(), run.start + run.len);
        let mut mask = visible.map(|words| part_of(&Mask::from_words(words, run.start + run.len), run));
        let first = scan.chunk.first + run.start as u32;
        for at in hidden_between(&scan.hidden, first, run.len) {
            mask.get_or_insert_with(|| Mask::all(run.len)).clear(at);
        }
        for predicate in &self.request.predicates {
            let column = predicate.column();
            match run.columns.get(column) {
                Some(block) => block.filter(predicate, mask.get_or_insert_with(|| Mask::all(run.len))),
                None if predicate.matches(self.codec.missing(column)) => {}
                None => return Ok(None),
            }
        }
        let selected = mask.as_ref().map_or(run.len, Mask::count);
        if selected == 0 {
            return Ok(None);
        }
        let projection = &self.request.projection;
        let kept = mask.as_ref().filter(|_| selected < run.len).map(|mask| Kept::new(mask, projection.len()));
        let column = |ordinal: usize| {
            if ordinal == LOCATION {
                return Ok(no_locations(selected));
            }
            let data_type = self.schema.columns[ordinal].data_type;
            match (run.columns.get(ordinal), &kept) {
                (None, _) => Ok(missing_column(&self.codec, data_type, ordinal, selected)),
                (Some(block), None) => Ok(block.decode(data_type)),
                (Some(block), Some(kept)) => kept.of_block(block, data_type),
            }
        };
        let mut columns = projection.iter().map(|&ordinal| column(ordinal)).collect::<Result<Vec<_>>>()?;
        self.push_fields(&mut columns, column)?;
        self.batch(columns, selected).map(Some)
    }
}

/// The rows of a run in a mask of its chunk.
fn part_of(mask: &Mask, run: &Run) -> Mask {
    let mut part = Mask::none(run.len);
    (0..run.len).filter(|row| mask.get(run.start + row)).for_each(|row| part.set(row));
    part
}
