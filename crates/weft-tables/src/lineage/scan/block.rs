//! A block of pages, without the touched rows.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use weft_contract::{LOCATION, SINCE, UNTIL};
use weft_format::row_arrays::missing_column;
use weft_format::{BLOCK_ROWS, Block, DataType, Mask, Result, Timestamp};

use super::super::read::locations;
use super::super::segment::Segment;
use super::plan::{Plan, RowIds};

/// Selected rows are decoded one by one below this share of the block.
const DENSE_ONE_IN: usize = 8;

impl Plan {
    /// The rows of pages that satisfy the predicates, without the touched ones and those that own writes hide; with
    /// `begun` only those that were changed last beyond the first of these commits, and up to the second.
    pub(in crate::lineage) fn read_pages(
        &self,
        rows: RowIds,
        touched: impl Iterator<Item = u64>,
        begun: Option<(Timestamp, Timestamp)>,
    ) -> Result<Option<RecordBatch>> {
        let place = self.layout.base.place(rows.start).filter(|(segment, _)| segment.is_born(self.read_ts()));
        let Some((segment, slot)) = place else { return Ok(None) };
        let block = slot as usize / BLOCK_ROWS;
        self.metrics.blocks.fetch_add(1, Ordering::Relaxed);
        let is_too_old = begun.is_some_and(|(after, _)| segment.last_change() <= after);
        if is_too_old || !self.may_match(segment, block) {
            self.metrics.blocks_pruned.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        }
        let alive = segment.alive_block(block)?;
        let mut mask = Mask::all(alive.len());
        if segment.alive < segment.rows {
            let dead = |at: &usize| !alive.with_value(*at, |value| value == weft_format::ValueRef::Bool(true));
            (0..alive.len()).filter(dead).for_each(|at| mask.clear(at));
        }
        for row_id in touched.chain(self.hidden_in(&rows).iter().copied()) {
            let at = row_id.wrapping_sub(rows.start);
            if at < alive.len() as u64 {
                mask.clear(at as usize);
            }
        }
        if let Some((after, to)) = begun {
            let changed = segment.changed_block(block)?;
            let is_out = |at: &usize| changed.at(*at) <= after || changed.at(*at) > to;
            (0..changed.len()).filter(is_out).for_each(|at| mask.clear(at));
        }
        if self.filter(segment, block, &mut mask)? {
            self.selected(segment, block, Some(rows.start), &mask)
        } else {
            Ok(None)
        }
    }

    /// The rows of an own segment's block that satisfy the predicates; nobody knows where they will lie.
    pub(super) fn read_built(&self, segment: &Segment, block: usize) -> Result<Option<RecordBatch>> {
        self.metrics.blocks.fetch_add(1, Ordering::Relaxed);
        if !self.may_match(segment, block) {
            self.metrics.blocks_pruned.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        }
        let rows = (segment.rows as usize - block * BLOCK_ROWS).min(BLOCK_ROWS);
        let mut mask = Mask::all(rows);
        if self.filter(segment, block, &mut mask)? { self.selected(segment, block, None, &mask) } else { Ok(None) }
    }

    /// Whether rows of a block may satisfy the predicates; false is certain.
    fn may_match(&self, segment: &Segment, block: usize) -> bool {
        self.request.predicates.iter().all(|predicate| match segment.page(predicate.column()) {
            Some(page) => page.block_stats(block).may_match(predicate),
            None => predicate.matches(self.codec.missing(predicate.column())),
        })
    }

    /// Whether rows are left.
    fn filter(&self, segment: &Segment, block: usize, mask: &mut Mask) -> Result<bool> {
        for predicate in &self.request.predicates {
            if !mask.any() {
                return Ok(false);
            }
            // Rows of a column that the pages do not have all satisfy it, or the block was pruned.
            if let Some(page) = segment.page(predicate.column()) {
                page.block(block, Some(mask))?.filter(predicate, mask);
            }
        }
        Ok(mask.any())
    }

    /// `first`: the row id of the block's first row.
    fn selected(
        &self,
        segment: &Segment,
        block: usize,
        first: Option<u64>,
        mask: &Mask,
    ) -> Result<Option<RecordBatch>> {
        let count = mask.count();
        let positions = if count < mask.len() { Some(mask.positions()) } else { None };
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.request.projection.len());
        for &ordinal in &self.request.projection {
            let data_type = match ordinal {
                LOCATION | SINCE | UNTIL => DataType::BigInt,
                ordinal => self.schema.columns[ordinal].data_type,
            };
            columns.push(match segment.page(ordinal) {
                _ if ordinal == LOCATION => match first {
                    Some(first) => locations(mask.iter_ones().map(|at| first + at as u64)),
                    None => Arc::new(Int64Array::new_null(count)),
                },
                _ if ordinal == UNTIL => Arc::new(Int64Array::new_null(count)),
                _ if ordinal == SINCE => {
                    let changed = segment.changed_block(block)?;
                    let since = mask.iter_ones().map(|at| changed.at(at).0.cast_signed());
                    Arc::new(Int64Array::from_iter_values(since))
                }
                None => missing_column(&self.codec, data_type, ordinal, count),
                Some(page) => {
                    let encoded: Arc<Block> = page.block(block, Some(mask))?;
                    match &positions {
                        None => encoded.decode(data_type),
                        Some(positions) => match encoded.decode_kept(data_type, mask) {
                            Some(kept) if count * DENSE_ONE_IN >= mask.len() => kept,
                            _ => encoded.decode_selected(data_type, positions),
                        },
                    }
                }
            });
        }
        self.batch(columns, count).map(Some)
    }
}
