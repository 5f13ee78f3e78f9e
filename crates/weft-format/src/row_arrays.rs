//! Columns of encoded rows as Arrow arrays.
//!
//! ```text
//!   rows (7, 'hi'), (8, NULL)    column 1    ▶    StringViewArray ["hi", NULL]
//! ```

use arrow_array::{ArrayRef, RecordBatch};

use crate::arrow_values::array_of;
use crate::error::{Error, Result};
use crate::row::RowCodec;
use crate::schema::Schema;
use crate::types::DataType;

/// What rows have in a column that they do not have, `count` times.
pub fn missing_column(codec: &RowCodec, data_type: DataType, ordinal: usize, count: usize) -> ArrayRef {
    const NO_COLUMNS: &[u8] = &[0, 0];
    column_of_rows(codec, data_type, ordinal, std::iter::repeat_n(NO_COLUMNS, count))
}

/// One column of some rows, in the Arrow type of its logical type.
pub fn column_of_rows<'a>(
    codec: &RowCodec,
    data_type: DataType,
    ordinal: usize,
    rows: impl ExactSizeIterator<Item = &'a [u8]>,
) -> ArrayRef {
    array_of(data_type, rows.map(|row| codec.get(row, ordinal)))
}

/// Encoded rows as a batch of all stored columns.
pub fn rows_to_batch<'a>(
    schema: &Schema,
    codec: &RowCodec,
    rows: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
) -> Result<RecordBatch> {
    let ordinals: Vec<usize> = (0..schema.columns.len()).collect();
    let columns = ordinals
        .iter()
        .map(|&ordinal| column_of_rows(codec, schema.columns[ordinal].data_type, ordinal, rows.clone()))
        .collect();
    RecordBatch::try_new(schema.arrow(&ordinals), columns)
        .map_err(|error| Error::internal(format!("rows do not fit their schema: {error}")))
}
