//! The transaction's own staged rows.

use arrow_array::RecordBatch;
use weft_contract::LOCATION;
use weft_format::Result;
use weft_format::row_arrays::column_of_rows;

use super::locations::no_locations;
use super::plan::Plan;

impl Plan {
    /// Own rows that satisfy the predicates, in batches.
    pub(super) fn read_own(&self) -> Result<Vec<RecordBatch>> {
        let Some(own) = &self.request.view.own else { return Ok(Vec::new()) };
        let matches = |row: &&[u8]| {
            self.request.predicates.iter().all(|predicate| predicate.matches(self.codec.get(row, predicate.column())))
        };
        let staged = own.rows.values().filter_map(|staged| staged.row.as_deref());
        let rows: Vec<&[u8]> = staged.filter(matches).collect();
        let mut batches = Vec::new();
        for rows in rows.chunks(self.request.batch_rows.max(1)) {
            let column = |&ordinal: &usize| {
                if ordinal == LOCATION {
                    return no_locations(rows.len());
                }
                let data_type = self.schema.columns[ordinal].data_type;
                column_of_rows(&self.codec, data_type, ordinal, rows.iter().copied())
            };
            let mut columns: Vec<_> = self.request.projection.iter().map(column).collect();
            self.push_fields(&mut columns, |ordinal| Ok(column(&ordinal)))?;
            batches.push(self.batch(columns, rows.len())?);
        }
        Ok(batches)
    }
}
