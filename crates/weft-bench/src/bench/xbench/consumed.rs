//! Results are read to the last value before a query's clock stops: a batch may share its memory with a cache, and who
//! asks for rows looks at them.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::sum;
use arrow::datatypes::{DataType, Int32Type, Int64Type};
use weft::Rows;

/// How many rows there are, after each value was touched.
pub(super) fn consumed(rows: &Rows) -> u64 {
    if let Rows::Batches { batches, .. } = rows {
        let touched =
            batches.iter().flat_map(|batch| batch.columns()).fold(0, |all: i64, one| all.wrapping_add(touch(one)));
        std::hint::black_box(touched);
    }
    rows.len() as u64
}

/// Something that depends on all values.
fn touch(column: &ArrayRef) -> i64 {
    match column.data_type() {
        DataType::Int32 => sum(column.as_primitive::<Int32Type>()).unwrap_or(0).into(),
        DataType::Int64 => sum(column.as_primitive::<Int64Type>()).unwrap_or(0),
        DataType::Utf8View => {
            // The length of a text is in the low half of its view.
            let views = column.as_string_view().views();
            views.iter().fold(0, |all, view| all + i64::from(*view as u32))
        }
        DataType::Utf8 => column.as_string::<i32>().value_data().len() as i64,
        _ => column.len() as i64,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int32Array, StringViewArray};

    use super::*;

    #[test]
    fn touching_reads_all_values() {
        let integers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 39]));
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["a", "a longer text than a view holds"]));
        assert_eq!((touch(&integers), touch(&texts)), (42, 32));
    }
}
