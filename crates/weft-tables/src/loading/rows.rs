//! Rows on their way into files, in key order.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_select::interleave::interleave;
use weft_format::{BLOCK_ROWS, Code, Error, KeyRows, Result, Schema};

/// See the module.
pub(crate) struct Rows {
    batches: Vec<RecordBatch>,
    /// First row of each batch.
    firsts: Vec<usize>,
    /// The order, when the batches are not in it.
    order: Option<Vec<u32>>,
    count: usize,
}

impl Rows {
    /// Takes batches (storage columns in schema order) and puts their rows in order. Also gives their keys, as they
    /// came; [`Rows::row`] says which is the `n`th.
    pub(crate) fn in_order(schema: &Schema, batches: &[RecordBatch]) -> Result<(Rows, KeyRows)> {
        let mut keys = KeyRows::default();
        let mut rows = Rows { batches: Vec::new(), firsts: Vec::new(), order: None, count: 0 };
        for batch in batches.iter().filter(|batch| batch.num_rows() > 0) {
            if batch.num_columns() != schema.columns.len() {
                let (found, expected) = (batch.num_columns(), schema.columns.len());
                return Err(Error::internal(format!("a batch of {found} columns for a table that stores {expected}")));
            }
            let key_columns: Vec<ArrayRef> = schema.key.iter().map(|&ordinal| batch.column(ordinal).clone()).collect();
            keys.push_columns(schema, &key_columns)?;
            rows.firsts.push(rows.count);
            rows.count += batch.num_rows();
            rows.batches.push(batch.clone());
        }
        if u32::try_from(rows.count).is_err() {
            return Err(Error::new(Code::ProgramLimit, "one bulk statement loads at most 4,294,967,295 rows"));
        }
        if !(1..rows.count).all(|row| keys.get(row - 1) <= keys.get(row)) {
            let mut order: Vec<u32> = (0..rows.count as u32).collect();
            order.sort_unstable_by(|&a, &b| keys.get(a as usize).cmp(keys.get(b as usize)));
            rows.order = Some(order);
        }
        Ok((rows, keys))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The row that comes `n`th, as they came.
    pub(crate) fn row(&self, n: usize) -> usize {
        self.order.as_ref().map_or(n, |order| order[n] as usize)
    }

    /// A key that is there twice, if one is.
    pub(crate) fn twice<'a>(&self, keys: &'a KeyRows) -> Option<&'a [u8]> {
        let mut pairs = (1..self.count).map(|n| (keys.get(self.row(n - 1)), keys.get(self.row(n))));
        pairs.find_map(|(before, key)| (before == key).then_some(key))
    }

    fn place(&self, row: usize) -> (usize, usize) {
        debug_assert!(row < self.count, "a place is asked for of rows that were taken");
        let batch = self.firsts.partition_point(|&first| first <= row) - 1;
        (batch, row - self.firsts[batch])
    }

    /// Hands out the columns of the rows that come at `range`, in pieces of at most a block.
    pub(crate) fn pieces(
        &self,
        range: std::ops::Range<usize>,
        take: &mut dyn FnMut(Vec<ArrayRef>) -> Result<()>,
    ) -> Result<()> {
        let mut start = range.start;
        while start < range.end {
            let mut end = (start + BLOCK_ROWS).min(range.end);
            let columns: Vec<ArrayRef>;
            if self.order.is_some() {
                columns = self.gather(start..end)?;
            } else {
                let (batch, row) = self.place(start);
                let len = (self.batches[batch].num_rows() - row).min(end - start);
                end = start + len;
                columns = self.batches[batch].columns().iter().map(|column| column.slice(row, len)).collect();
            }
            assert!(end > start && end <= range.end, "rows are added in pieces that end with the file");
            take(columns)?;
            start = end;
        }
        Ok(())
    }

    fn gather(&self, range: std::ops::Range<usize>) -> Result<Vec<ArrayRef>> {
        let indices: Vec<(usize, usize)> = range.map(|n| self.place(self.row(n))).collect();
        let column_count = self.batches[0].num_columns();
        let mut columns = Vec::with_capacity(column_count);
        for ordinal in 0..column_count {
            let arrays: Vec<&dyn Array> = self.batches.iter().map(|batch| batch.column(ordinal).as_ref()).collect();
            let column = interleave(&arrays, &indices);
            columns.push(column.map_err(|error| Error::internal(format!("ordering column {ordinal}: {error}")))?);
        }
        Ok(columns)
    }
}
