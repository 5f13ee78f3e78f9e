//! A block of a column table.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::Ordering;

use arrow_array::{ArrayRef, RecordBatch};
use weft_contract::{LOCATION, ScanField};
use weft_format::row_arrays::missing_column;
use weft_format::{ColumnStats, Mask, Predicate, Result};

use super::kept::Kept;
use super::locations::locations;
use super::plan::{BLOCK_WORDS, PartScan, Plan, hidden_between};

/// With at least this share of its rows selected (1 in so many), a block is decoded whole and then filtered.
const DENSE_ONE_IN: usize = 4;
/// A block of wide rows that is larger than this when it is decoded, about, is given out in pieces that are not.
const PIECE_BYTES: usize = 2 << 20;
/// Texts of so many bytes in all, decoded, make a row wide.
const WIDE_ROW_BYTES: usize = 2 << 10;
/// Lists of so many bytes are given out at a time: what is smaller than 128 KiB the allocator keeps for the next piece.
const LIST_BYTES: usize = 112 << 10;
/// Of lists a piece has at least so many rows: they are found every 128th row.
const LIST_ROWS_MIN: usize = 128;
/// A piece has at least so many rows, as a slice of a column has.
const PIECE_ROWS_MIN: usize = 64;

/// The rows of a block that a scan gives out.
pub(super) struct Selected {
    /// The place of the part among the plan's.
    place: usize,
    block: usize,
    /// The rows; none when all are.
    mask: Option<Mask>,
    /// Those that were not given out.
    left: Range<usize>,
    /// So many rows of the block are decoded at a time.
    step: usize,
}

impl Selected {
    /// Whether all rows are given out at once.
    pub(super) fn is_whole(&self) -> bool {
        self.step >= self.left.end
    }
}

/// Whether the statistics say that every row of a block satisfies a predicate: its values are not looked at, which of
/// documents would have to be assembled.
fn is_settled(predicate: &Predicate, stats: &ColumnStats) -> bool {
    match predicate {
        Predicate::IsNotNull { .. } => stats.null_count == 0,
        Predicate::IsNull { .. } => stats.null_count == stats.row_count,
        _ => false,
    }
}

impl Plan {
    /// Which rows of a block are visible and satisfy the predicates; none when there is no such row.
    pub(super) fn select(&self, place: usize, block: usize) -> Result<Option<Selected>> {
        let scan = &self.parts[place];
        let table = &scan.part.table;
        self.metrics.blocks.fetch_add(1, Ordering::Relaxed);
        if !table.block_may_match(block, &scan.predicates) || !self.fields_may_match(scan, block)? {
            self.metrics.blocks_pruned.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        }
        let rows = table.block_rows(block);
        let mut mask = self.visible_rows(scan, block)?;
        for predicate in &scan.predicates {
            if is_settled(predicate, table.block_stats(predicate.column(), block)) {
                continue;
            }
            let encoded = table.block_for(scan.part.cache(), predicate.column(), block, mask.as_ref())?;
            encoded.filter(predicate, mask.get_or_insert_with(|| Mask::all(rows)));
        }
        let selected = mask.as_ref().map_or(rows, Mask::count);
        if selected == 0 {
            return Ok(None);
        }
        Ok(Some(Selected { place, block, mask, left: 0..rows, step: self.rows_at_once(scan, block, selected)? }))
    }

    /// How many rows of a block, of which so many are selected, are decoded at a time: what reads batches holds
    /// several, and one of wide rows may be far larger than the file.
    fn rows_at_once(&self, scan: &PartScan, block: usize, selected: usize) -> Result<usize> {
        let table = &scan.part.table;
        let rows = table.block_rows(block);
        let (mut of_fields, mut of_list) = (0, 0);
        for ScanField { column, path } in &self.fields {
            if *column < table.column_count() {
                let bytes = table.field_bytes(scan.part.cache(), (*column, block), path)?;
                of_fields += bytes;
                of_list = if path.is_list() { bytes.max(of_list) } else { of_list };
            }
        }
        let most = match of_list > LIST_BYTES {
            true => 1 << (rows * LIST_BYTES / of_list).max(LIST_ROWS_MIN).ilog2(),
            false => rows,
        };
        let read: BTreeSet<usize> = self.request.projection.iter().copied().collect();
        let stored = read.into_iter().filter(|&ordinal| ordinal < table.column_count());
        // What has one slice is small, and in pieces it is decoded row by row, which takes longer.
        let cut = stored.filter(|&ordinal| !table.is_uncut_text(ordinal, block));
        let of_columns: usize = cut.map(|ordinal| table.decoded_text_bytes(ordinal, block)).sum();
        let bytes = of_columns + of_fields;
        let decoded_rows = if selected * DENSE_ONE_IN >= rows { rows } else { selected };
        if bytes * decoded_rows <= PIECE_BYTES * rows || bytes < rows * WIDE_ROW_BYTES {
            return Ok(most);
        }
        // As the rows of slices, a power of two: pieces share no slice.
        Ok(most.min(1 << (rows * PIECE_BYTES / bytes).max(PIECE_ROWS_MIN).ilog2()))
    }

    /// The next selected rows; none at the end of the block.
    pub(super) fn read_selected(&self, selected: &mut Selected) -> Result<Option<RecordBatch>> {
        let scan = &self.parts[selected.place];
        let (block, block_rows) = (selected.block, selected.left.end);
        assert!(selected.step > 0, "a piece has rows, or the reading of a block would not end");
        while !selected.left.is_empty() {
            let from = selected.left.start;
            let rows = from..block_rows.min(from + selected.step);
            selected.left.start = rows.end;
            let piece = (rows.len() < block_rows).then(|| {
                let mut piece = Mask::none(block_rows);
                piece.set_range(rows.start, rows.end);
                if let Some(mask) = &selected.mask {
                    piece.and(mask);
                }
                piece
            });
            let mask = piece.as_ref().or(selected.mask.as_ref());
            let count = mask.map_or(block_rows, Mask::count);
            if count > 0 {
                let columns = self.block_columns(scan, block, (rows, mask), count)?;
                return self.batch(columns, count).map(Some);
            }
        }
        Ok(None)
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

    /// The projected columns of a stretch of rows of a block, of which a mask selects so many; without a mask all rows
    /// of the block.
    fn block_columns(
        &self,
        scan: &PartScan,
        block: usize,
        (rows, mask): (Range<usize>, Option<&Mask>),
        selected: usize,
    ) -> Result<Vec<ArrayRef>> {
        let table = &scan.part.table;
        let projection = &self.request.projection;
        let (all, whole) = (selected == rows.len(), rows.len() == table.block_rows(block));
        let mask = mask.filter(|_| !all || !whole);
        let dense = mask.filter(|_| !all && selected * DENSE_ONE_IN >= rows.len());
        let kept = dense.map(|mask| Kept::new(mask, projection.len()));
        let positions = OnceCell::new();
        let positions = || positions.get_or_init(|| mask.map(Mask::positions).unwrap_or_default());
        let mut columns = Vec::with_capacity(projection.len() + self.fields.len());
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
            // Texts in one slice would be decoded whole for each piece.
            let row_by_row = !whole && table.is_uncut_text(ordinal, block);
            columns.push(match &kept {
                _ if row_by_row => encoded.decode_selected(data_type, positions()),
                _ if all && whole => encoded.decode(data_type),
                _ if all => encoded.decode(data_type).slice(rows.start, rows.len()),
                Some(kept) => kept.of_block(&encoded, data_type)?,
                None => encoded.decode_selected(data_type, positions()),
            });
        }
        for field in &self.fields {
            columns.push(self.field_of_block(scan, block, field, (mask, selected))?);
        }
        Ok(columns)
    }
}
