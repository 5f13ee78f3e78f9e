//! Arrow arrays ↔ single values, in exactly the Arrow types of [`DataType::arrow`].

use arrow::array::{ArrayRef, RecordBatch};
use weft_format::{DataType, Value, arrow_values};

pub use weft_format::arrow_values::{value_at, value_ref_at};

/// An array of the Arrow type of `data_type`; the values are of that type already.
pub fn array_of<'a>(values: impl ExactSizeIterator<Item = &'a Value>, data_type: DataType) -> ArrayRef {
    arrow_values::array_of(data_type, values.map(Value::as_ref))
}

/// The columns of a batch as they are stored, so that values can be borrowed of all of them: the first column is of the
/// first type, and so on.
pub(crate) fn stored_columns(batch: &RecordBatch, types: impl IntoIterator<Item = DataType>) -> Vec<ArrayRef> {
    batch.columns().iter().zip(types).map(|(array, data_type)| arrow_values::stored(array, data_type)).collect()
}
