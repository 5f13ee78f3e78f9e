//! A chunk of a row table.
//!
//! Rows lie behind pointers, so a scan's first look at a column of a complete chunk costs a cache miss per row; what it
//! finds is kept as an Arrow array beside the chunk, and later scans cost what they do on column tables. That goes for
//! columns that are given out and for those that predicates ask about.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use weft_contract::LOCATION;
use weft_format::array_filter::{filter_array, filter_rows};
use weft_format::row_arrays::column_of_rows;
use weft_format::{Mask, Predicate, Result};

use super::kept::Kept;
use super::locations::no_locations;
use super::plan::{ChunkScan, Plan, hidden_between};

/// A column is built whole and kept when at least one row in so many is wanted.
const KEEP_ONE_IN: usize = 4;

impl Plan {
    /// The visible rows of a chunk that satisfy the predicates.
    pub(super) fn read_chunk(&self, scan: &ChunkScan) -> Result<Option<RecordBatch>> {
        self.metrics.blocks.fetch_add(1, Ordering::Relaxed);
        let visible = scan.chunk.visible_at(self.read_ts(), scan.len);
        let mut mask = visible.map(|words| Mask::from_words(words, scan.len));
        if scan.from > 0 {
            let mask = mask.get_or_insert_with(|| Mask::all(scan.len));
            (0..scan.from).for_each(|slot| mask.clear(slot));
        }
        for at in hidden_between(&scan.hidden, scan.chunk.first, scan.len) {
            mask.get_or_insert_with(|| Mask::all(scan.len)).clear(at);
        }
        for predicate in &self.request.predicates {
            self.filter_rows(scan, predicate, mask.get_or_insert_with(|| Mask::all(scan.len)));
        }
        let selected = mask.as_ref().map_or(scan.len, Mask::count);
        if selected == 0 {
            return Ok(None);
        }
        let mask = mask.filter(|_| selected < scan.len);
        let columns = self.chunk_columns(scan, mask.as_ref(), selected)?;
        self.batch(columns, selected).map(Some)
    }

    fn filter_rows(&self, scan: &ChunkScan, predicate: &Predicate, mask: &mut Mask) {
        let column = predicate.column();
        let data_type = self.schema.columns[column].data_type;
        // Arrays are kept as batches have them, not as they are compared.
        if data_type.element().is_none()
            && let Some(array) = self.chunk_array(scan, column, mask.count())
        {
            filter_array(predicate, &array, data_type, mask);
            return;
        }
        filter_rows(predicate, &self.codec, |slot| scan.chunk.row(slot), mask);
    }

    /// The kept array of a column; it is built when so many rows of a complete chunk are asked for that it pays.
    fn chunk_array(&self, scan: &ChunkScan, ordinal: usize, wanted: usize) -> Option<ArrayRef> {
        if !scan.complete {
            return None;
        }
        match scan.chunk.column(ordinal) {
            Some(array) => {
                assert!(array.len() == scan.len, "a kept column covers the slots that a scan looks at (chunk 2)");
                Some(array.clone())
            }
            None if wanted * KEEP_ONE_IN >= scan.len => Some(self.keep_column(scan, ordinal)),
            None => None,
        }
    }

    fn chunk_columns(&self, scan: &ChunkScan, mask: Option<&Mask>, selected: usize) -> Result<Vec<ArrayRef>> {
        let projection = &self.request.projection;
        let kept = mask.map(|mask| Kept::new(mask, projection.len()));
        let positions = mask.map(Mask::positions);
        let column = |ordinal: usize| {
            if ordinal == LOCATION {
                return Ok(no_locations(selected));
            }
            match (self.chunk_array(scan, ordinal, selected), &kept, &positions) {
                (Some(array), Some(kept), _) => kept.of(&array),
                (Some(array), None, _) => Ok(array),
                (None, _, Some(positions)) => Ok(self.column_of(scan, ordinal, positions)),
                (None, _, None) => Ok(self.whole_column(scan, ordinal)),
            }
        };
        let mut columns = projection.iter().map(|&ordinal| column(ordinal)).collect::<Result<Vec<_>>>()?;
        self.push_fields(&mut columns, column)?;
        Ok(columns)
    }

    fn keep_column(&self, scan: &ChunkScan, ordinal: usize) -> ArrayRef {
        let array = without_spare_room(self.whole_column(scan, ordinal));
        let bytes = array.get_array_memory_size() as u64;
        if scan.chunk.keep_column(ordinal, array.clone()) {
            scan.table.charge_cached(bytes);
        }
        array
    }

    fn whole_column(&self, scan: &ChunkScan, ordinal: usize) -> ArrayRef {
        let rows = (0..scan.len).map(|slot| &**scan.chunk.row(slot as u32));
        column_of_rows(&self.codec, self.schema.columns[ordinal].data_type, ordinal, rows)
    }

    fn column_of(&self, scan: &ChunkScan, ordinal: usize, positions: &[u32]) -> ArrayRef {
        let rows = positions.iter().map(|&slot| &**scan.chunk.row(slot));
        column_of_rows(&self.codec, self.schema.columns[ordinal].data_type, ordinal, rows)
    }
}

/// Texts in buffers of their size: those that grew while they were built may be twice as large, and these are kept.
fn without_spare_room(array: ArrayRef) -> ArrayRef {
    match array.as_string_view_opt() {
        Some(texts) => Arc::new(texts.gc()),
        None => array,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::StringViewArray;

    use super::*;

    #[test]
    fn kept_texts_have_no_spare_room() {
        let texts = StringViewArray::from_iter((0..700).map(|row| (row % 7 > 0).then(|| format!("{row:0>300}"))));
        let array: ArrayRef = Arc::new(texts);
        let kept = without_spare_room(array.clone());
        assert_eq!(&kept, &array);
        let bytes = |array: &ArrayRef| -> usize {
            array.as_string_view().data_buffers().iter().map(|buffer| buffer.capacity()).sum()
        };
        let used = 600 * 300;
        assert!(bytes(&kept) < used + used / 16, "{} bytes kept for {used}", bytes(&kept));
        assert!(bytes(&array) > used + used / 4, "{} bytes were built for {used}", bytes(&array));
    }
}
