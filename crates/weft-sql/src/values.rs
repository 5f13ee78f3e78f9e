//! Arrow arrays ↔ single values, in exactly the Arrow types of [`DataType::arrow`].

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use weft_format::{DataType, Error, Result, Value, arrow_values};

pub use weft_format::arrow_values::{value_at, value_ref_at};

/// An array of the Arrow type of `data_type`; the values are of that type already.
pub fn array_of<'a>(values: impl ExactSizeIterator<Item = &'a Value>, data_type: DataType) -> ArrayRef {
    arrow_values::array_of(data_type, values.map(Value::as_ref))
}

/// The columns of a batch as they are stored, so that values can be borrowed of all of them: the first column is of the
/// first type, and so on.
pub fn stored_columns(batch: &RecordBatch, types: impl IntoIterator<Item = DataType>) -> Vec<ArrayRef> {
    batch.columns().iter().zip(types).map(|(array, data_type)| arrow_values::stored(array, data_type)).collect()
}

/// The array with every value cast from one type to another.
pub fn cast_values(array: &ArrayRef, from: DataType, to: DataType) -> Result<ArrayRef> {
    if from == to || from.arrow() == to.arrow() && !matches!(to, DataType::Char(_) | DataType::Varchar(_)) {
        return Ok(Arc::clone(array));
    }
    if array.data_type() != &from.arrow() {
        return Err(Error::internal(format!("an array of {} was taken for {from}", array.data_type())));
    }
    let cast = |row| weft_expr::cast(value_at(array, row, from), from, to);
    let values = (0..array.len()).map(cast).collect::<Result<Vec<Value>>>()?;
    Ok(array_of(values.iter(), to))
}
