//! The transaction's own staged rows.

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use std::sync::Arc;

use weft_contract::LOCATION;
use weft_format::Result;
use weft_format::row_arrays::column_of_rows;

use super::plan::Plan;

impl Plan {
    /// Own rows that satisfy the predicates, as one batch.
    pub(super) fn read_own(&self) -> Result<Option<RecordBatch>> {
        let Some(own) = &self.request.view.own else { return Ok(None) };
        let matches = |row: &&[u8]| {
            self.request.predicates.iter().all(|predicate| predicate.matches(self.codec.get(row, predicate.column())))
        };
        let staged = own.rows.values().filter_map(|staged| staged.row.as_deref());
        let rows: Vec<&[u8]> = staged.filter(matches).collect();
        if rows.is_empty() {
            return Ok(None);
        }
        let column = |&ordinal: &usize| -> ArrayRef {
            if ordinal == LOCATION {
                return Arc::new(Int64Array::new_null(rows.len()));
            }
            let data_type = self.schema.columns[ordinal].data_type;
            column_of_rows(&self.codec, data_type, ordinal, rows.iter().copied())
        };
        self.batch(self.request.projection.iter().map(column).collect(), rows.len()).map(Some)
    }
}
