//! A block of a column table.

use std::sync::atomic::Ordering;

use arrow_array::{ArrayRef, RecordBatch};
use weft_format::row_arrays::missing_column;
use weft_format::{Mask, Result};
use weft_kernel::table::LOCATION;

use super::kept::Kept;
use super::locations::locations;
use super::plan::{BLOCK_WORDS, PartScan, Plan, hidden_between};

/// With at least this share of its rows selected (1 in so many), a block is decoded whole and then filtered.
const DENSE_ONE_IN: usize = 4;

impl Plan {
    /// The visible rows of a block that satisfy the predicates.
    pub(super) fn read_block(&self, scan: &PartScan, block: usize) -> Result<Option<RecordBatch>> {
        let table = &scan.part.table;
        self.metrics.blocks.fetch_add(1, Ordering::Relaxed);
        if !table.block_may_match(block, &scan.predicates) {
            self.metrics.blocks_pruned.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        }
        let rows = table.block_rows(block);
        let mut mask = self.visible_rows(scan, block)?;
        for predicate in &scan.predicates {
            let encoded = table.block_for(scan.part.cache(), predicate.column(), block, mask.as_ref())?;
            encoded.filter(predicate, mask.get_or_insert_with(|| Mask::all(rows)));
        }
        let selected = mask.as_ref().map_or(rows, Mask::count);
        if selected == 0 {
            return Ok(None);
        }
        let columns = self.block_columns(scan, block, mask.as_ref(), selected)?;
        self.batch(columns, selected).map(Some)
    }

    /// The rows that the snapshot sees; none when it sees all of them.
    fn visible_rows(&self, scan: &PartScan, block: usize) -> Result<Option<Mask>> {
        let (part, read_ts) = (&scan.part, self.read_ts());
        let rows = part.table.block_rows(block);
        let mut mask = None;
        if !scan.own && scan.dead.get().is_none() {
            // Two partitions may copy the same marks; whoever is second throws its copy away.
            let _ = scan.dead.set(part.marks.dead_at(read_ts));
        }
        if let Some(Some(dead)) = scan.dead.get() {
            let words = &dead[block * BLOCK_WORDS..][..rows.div_ceil(64)];
            if words.iter().any(|&word| word != 0) {
                mask = Some(Mask::from_words(words.iter().map(|word| !word).collect(), rows));
            }
        }
        let first = (block * weft_format::BLOCK_ROWS) as u32;
        for at in hidden_between(&scan.hidden, first, rows) {
            mask.get_or_insert_with(|| Mask::all(rows)).clear(at);
        }
        // DESIGN invariant 9. An attached part is visible as a whole or not in the plan.
        if !scan.own && part.insert_ts_max() > read_ts {
            let stamps = part.table.insert_ts_block(part.cache(), block)?;
            let mask = mask.get_or_insert_with(|| Mask::all(rows));
            for row in 0..rows {
                if stamps.int_at(row).unwrap_or(0) as u64 > read_ts.0 {
                    mask.clear(row);
                }
            }
        }
        Ok(mask)
    }

    fn block_columns(
        &self,
        scan: &PartScan,
        block: usize,
        mask: Option<&Mask>,
        selected: usize,
    ) -> Result<Vec<ArrayRef>> {
        let table = &scan.part.table;
        let projection = &self.request.projection;
        let mask = mask.filter(|mask| selected < mask.len());
        let dense = mask.filter(|mask| selected * DENSE_ONE_IN >= mask.len());
        let kept = dense.map(|mask| Kept::new(mask, projection.len()));
        let positions = if dense.is_none() { mask.map(Mask::positions) } else { None };
        let mut columns = Vec::with_capacity(projection.len());
        for &ordinal in projection {
            if ordinal == LOCATION {
                columns.push(locations(scan.part.file, block, mask, selected));
                continue;
            }
            let data_type = self.schema.columns[ordinal].data_type;
            if ordinal >= table.column_count() {
                columns.push(missing_column(&self.codec, data_type, ordinal, selected));
                continue;
            }
            let encoded = table.block_for(scan.part.cache(), ordinal, block, mask)?;
            columns.push(match (&kept, &positions) {
                (Some(kept), _) => kept.of_block(&encoded, data_type)?,
                (None, Some(positions)) => encoded.decode_selected(data_type, positions),
                (None, None) => encoded.decode(data_type),
            });
        }
        Ok(columns)
    }
}
